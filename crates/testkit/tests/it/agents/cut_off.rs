//! What was under way when the engine died, and who hears of it afterwards.

use serde_json::json;
use troupe_agents::{Family, RecoveryPolicy};
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_protocol::result::StopReason;
use troupe_protocol::{CallId, EventMsg, SessionId};
use troupe_testkit::{Actor, Stage};
use troupe_tools::digest;

use super::cast::{self, plot};
use super::hands::Hands;
use super::play::{agent, answers_of, call, end, requests_of, scene, until_there};
use super::resume::{Wreck, asked};

fn spawn(message: &str, name: &str) -> String {
    call(&(
        "spawn_agent",
        json!({"message": message, "task_name": name, "approvals": "route"}),
    ))
}

/// A root whose child waits for a person's word; returns the id under which it is asked.
async fn asking(question: &str) -> (Stage, Actor, CallId) {
    let children = scene("ask first", &[question]);
    let root = [&*spawn("ask first", "asker"), "{ say = 'later' }"];
    let stage = cast::stage(&children, &root, &[Family::Agents])
        .await
        .approval(ApprovalPolicy::Untrusted)
        .sandbox(SandboxPolicy::workspace_write());
    let mut actor = stage.start().await;
    actor.say(cast::OPENING).await;
    let events = actor.until(|msg| shown(msg).is_some()).await;
    let id = events.last().and_then(shown);
    let id = id.expect("until returns what it waited for");
    while !agent(&actor, "root").await.status.is_final() {
        tokio::task::yield_now().await;
    }
    (stage, actor, id)
}

fn shown(msg: &EventMsg) -> Option<CallId> {
    match msg {
        EventMsg::ExecApprovalRequest(request) => Some(request.call_id.clone()),
        EventMsg::RequestUserInput(request) => Some(request.call_id.clone()),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_that_was_open_is_withdrawn_and_asked_for_again() {
    let touch = call(&("shell_command", json!({"command": "touch made"})));
    let (stage, actor, id) = asking(&touch).await;
    let root = actor.session_id();
    let wreck = Wreck::of(&stage);
    let open = wreck.store.open_approvals(root).await.unwrap();
    assert_eq!(open.len(), 1, "{open:?}");
    actor.shut_down().await;

    let children = scene("ask first", &[&touch, "{ say = 'done' }"]);
    let after = wreck
        .stage(&plot(&children, &[]), |options| {
            options.recovery = RecoveryPolicy::ContinueChildren;
        })
        .await
        .approval(ApprovalPolicy::Untrusted)
        .sandbox(SandboxPolicy::workspace_write());
    let mut actor = after.resume(root).await;
    actor.until(|msg| shown(msg).is_some()).await;
    let ended = actor.seen().iter().any(|event| {
        matches!(&event.msg, EventMsg::ApprovalResolved { call_id, decision }
            if *call_id == id && *decision == ReviewDecision::Abort)
    });
    assert!(ended, "who was shown the question hears that it is over");
    let open = wreck.store.open_approvals(root).await.unwrap();
    assert_eq!(open.len(), 1, "only the new question waits: {open:?}");
    let asker = agent(&actor, "asker").await;
    let told = answers_of(&after, asker.session);
    assert!(told[0].contains("nothing was decided"), "{told:?}");
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_was_open_is_a_row_until_the_tree_is_taken_up() {
    let question = json!({"questions": [{
        "id": "which", "header": "Which", "question": "Which one?",
        "options": [
            {"value": "a", "label": "A", "description": "the first"},
            {"value": "b", "label": "B", "description": "the second"},
        ],
    }]});
    let (stage, actor, id) = asking(&call(&("request_user_input", question))).await;
    let root = actor.session_id();
    let wreck = Wreck::of(&stage);
    actor.shut_down().await;
    let open = wreck.store.open_approvals(root).await.unwrap();
    let open: Vec<_> = open
        .iter()
        .map(|row| (&*row.path, row.kind.as_str(), &*row.what))
        .collect();
    assert_eq!(open, [("/root/asker", "question", "Which one?")]);

    let after = wreck.stage(&plot("", &[]), |_| ()).await;
    let actor = after.resume(root).await;
    let withdrawn = actor.seen().iter().any(|event| {
        matches!(&event.msg, EventMsg::UserInputResolved { call_id, response: None }
            if *call_id == id)
    });
    assert!(withdrawn, "{:?}", actor.seen());
    end(actor).await;
    assert_eq!(wreck.store.open_approvals(root).await.unwrap(), []);
}

/// A tree whose child has patched a file and is in a command that does not end.
async fn at_work() -> (Stage, Actor) {
    let patch = "{ custom = 'apply_patch', input = '''\n*** Begin Patch\n*** Add File: \
                 half\n+one\n*** End Patch''' }";
    let children = scene("patch it", &[patch, &until_there("never")]);
    let root = [&*spawn("patch it", "worker"), "{ say = 'later' }"];
    let stage = cast::stage(&children, &root, &[Family::Agents]).await;
    let mut actor = stage.start().await;
    actor.turn(cast::OPENING).await;
    asked(&stage, &actor, 1, 2).await;
    (stage, actor)
}

/// Waits until the end of the crashed task is told, and returns what is told of it.
async fn settled(actor: &mut Actor) -> String {
    let end = |msg: &EventMsg| match msg {
        EventMsg::BackgroundEvent(event) if event.is_final => Some(event.message.clone()),
        _ => None,
    };
    if let Some(told) = actor.seen().iter().find_map(|event| end(&event.msg)) {
        return told;
    }
    let events = actor.until(|msg| end(msg).is_some()).await;
    let told = events.last().and_then(end);
    told.expect("until returns what it waited for")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_crashed_task_patched_is_in_its_result() {
    let (stage, actor) = at_work().await;
    let root = actor.session_id();
    let wreck = Wreck::of(&stage);
    actor.shut_down().await;
    let after = wreck.stage(&plot("", &[]), |_| ()).await;
    let mut actor = after.resume(root).await;
    settled(&mut actor).await;
    let result = actor.agents().user().result("worker", None).await.unwrap();
    assert_eq!(result.stop, StopReason::Crash);
    let files = &result.evidence.files;
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(files[0].path.ends_with("half"), "{files:?}");
    assert_eq!(files[0].before, None);
    assert_eq!(files[0].after, Some(digest::of_bytes(b"one\n")));
    end(actor).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_time_that_the_engine_was_dead_is_not_the_tasks_own() {
    let (stage, actor) = at_work().await;
    let root = actor.session_id();
    let wreck = Wreck::of(&stage);
    actor.shut_down().await;
    let an_hour_later = Hands::ahead_by(3_600);
    let after = wreck.stage(&plot("", &[]), |_| ()).await;
    let after = after.clock(an_hour_later.clock());
    let mut actor = after.resume(root).await;
    let told = settled(&mut actor).await;
    let worker = agent(&actor, "worker").await;
    let result = actor.agents().result(worker.session, None).await.unwrap();
    let lived_s = (result.evidence.ended_at_ms - worker.born_at_ms) / 1_000;
    // A task begins a moment after its agent was born.
    let expected = [lived_s - 1, lived_s].map(|seconds| format!("interrupted in {seconds}s"));
    let is_told = expected.iter().any(|time| told.ends_with(time));
    assert!(is_told, "{told}, not {expected:?}");
    end(actor).await;
}

/// How often the root's model was told of its child in its last request.
fn mentions(stage: &Stage, root: SessionId) -> usize {
    let requests = requests_of(stage, root);
    let last = requests.last().expect("the root asked its model");
    let input = last["input"].to_string();
    input.matches("/root/worker (agent 1").count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parent_is_told_once_with_its_next_task_whom_the_crash_cut_off() {
    let (stage, actor) = at_work().await;
    let root = actor.session_id();
    let wreck = Wreck::of(&stage);
    actor.shut_down().await;
    // Who only looks changes nothing.
    let after = wreck.stage(&plot("", &[]), |_| ()).await;
    end(after.resume(root).await).await;
    for _ in 0..2 {
        let after = wreck
            .stage(&plot("", &["{ say = 'well' }"; 2]), |_| ())
            .await;
        let mut actor = after.resume(root).await;
        for _ in 0..2 {
            actor.turn("what now?").await;
            assert_eq!(mentions(&after, root), 1);
        }
        end(actor).await;
    }
}
