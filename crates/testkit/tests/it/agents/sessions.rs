//! `create_session`, `wait_session` and `cancel_session`: a child whose last message is its
//! result.

use std::collections::BTreeSet;

use expect_test::expect;
use serde_json::json;
use troupe_agents::Family;
use troupe_agents::tree_access::{AgentView, TreeStopRequest};
use troupe_protocol::agent::AgentStatus;
use troupe_protocol::op::Op;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::session::SessionSource;
use troupe_protocol::{EventMsg, SessionId, StopVerb, TurnItem};
use troupe_testkit::{Actor, Stage};
use troupe_tree::command::StopMode;

use super::play::{
    Cue, agents, answer, answers, backgrounds, begin, call, empty_stage, end, named, play,
    recorded, records, requests_of, scene, seen,
};

async fn stage(children: &str, cues: &[Cue]) -> Stage {
    let stage = empty_stage(children, cues).await;
    stage.with_agents(&[Family::Sessions])
}

fn create(prompt: &str) -> Cue {
    (
        "create_session",
        json!({"session_type": "default", "prompt": prompt}),
    )
}

/// Waits for the session that the n-th call created.
fn wait(n: usize, timeout_ms: i32) -> Cue {
    let id = format!("{{{{output.{n}.session_id}}}}");
    (
        "wait_session",
        json!({"session_id": id, "timeout_ms": timeout_ms}),
    )
}

fn cancel(n: usize) -> Cue {
    let id = format!("{{{{output.{n}.session_id}}}}");
    ("cancel_session", json!({"session_id": id}))
}

fn busy() -> String {
    let held = "touch here; until [ -e gate ]; do sleep 0.02; done";
    let held = call(&("shell_command", json!({"command": held})));
    scene("be busy", &[&held, "{ say = 'free' }"])
}

fn until_here() -> Cue {
    (
        "shell_command",
        json!({"command": "until [ -e here ]; do sleep 0.02; done"}),
    )
}

/// The first lines of the answers; what follows tells how a child gets on.
async fn first_lines(stage: &Stage, actor: &Actor) -> Vec<String> {
    let answers = answers(stage, actor).await;
    let lines = answers
        .iter()
        .map(|text| text.lines().next().unwrap_or_default().to_owned());
    lines.collect()
}

#[tokio::test]
async fn the_result_of_a_session_is_its_last_message_and_nothing_else() {
    let look = call(&("shell_command", json!({"command": "echo looked"})));
    let first = format!("{{ say = 'let me look' }}, {look}");
    let children = scene("look", &[&first, "{ say = 'all is well' }"]);
    let stage = stage(
        &children,
        &[create("look"), wait(1, 20_000), wait(1, 20_000)],
    )
    .await;
    let actor = play(&stage).await;
    expect![[r#"
        {"session_id":"/root/default"}
        {"result":"all is well"}
        {"result":"all is well"}"#]]
    .assert_eq(&answers(&stage, &actor).await.join("\n"));
    end(actor).await;
}

#[tokio::test]
async fn the_parent_hears_of_creation_and_completion() {
    let stage = stage("", &[create("work"), wait(1, 20_000)]).await;
    let actor = play(&stage).await;
    let told = backgrounds(&seen(&actor)).join("\n");
    expect![[r"
        spawned child session /root/default with model scripted-1
        *child session /root/default completed"]]
    .assert_eq(&named(&stage, &agents(&actor).await, &told));
    end(actor).await;
}

#[tokio::test]
async fn who_does_not_wait_learns_whether_it_is_done() {
    let cues = [
        create("be busy"),
        until_here(),
        wait(1, 0),
        wait(1, -1),
        ("shell_command", json!({"command": "touch gate"})),
        wait(1, 20_000),
        wait(1, 0),
    ];
    let stage = stage(&busy(), &cues).await;
    let actor = play(&stage).await;
    let lines = first_lines(&stage, &actor).await;
    assert_eq!(lines[2], "session /root/default is still running");
    assert_eq!(lines[3], "session /root/default is still running");
    assert_eq!(lines[6], r#"{"result":"free"}"#);
    end(actor).await;
}

#[tokio::test]
async fn a_session_that_takes_longer_is_a_timeout_and_goes_on() {
    let cues = [
        create("be busy"),
        wait(1, 50),
        ("shell_command", json!({"command": "touch gate"})),
        wait(1, 20_000),
    ];
    let stage = stage(&busy(), &cues).await;
    let actor = play(&stage).await;
    let lines = first_lines(&stage, &actor).await;
    assert_eq!(
        lines[1],
        "session /root/default did not complete within 50ms"
    );
    assert_eq!(lines[3], r#"{"result":"free"}"#);
    end(actor).await;
}

#[tokio::test]
async fn a_session_that_said_nothing_has_a_null_result() {
    let children = scene("be silent", &["{ think = 'hm' }"]);
    let stage = stage(&children, &[create("be silent"), wait(1, 20_000)]).await;
    let actor = play(&stage).await;
    assert_eq!(answers(&stage, &actor).await[1], r#"{"result":null}"#);
    end(actor).await;
}

#[tokio::test]
async fn a_failed_session_answers_with_its_error() {
    let children = scene("fail", &["{ status = 400, message = 'the model is out' }"]);
    let stage = stage(&children, &[create("fail"), wait(1, 20_000)]).await;
    let actor = play(&stage).await;
    let error = &answers(&stage, &actor).await[1];
    assert!(error.contains("the model is out"), "{error}");
    let told = backgrounds(&seen(&actor)).pop().unwrap();
    assert_eq!(
        named(&stage, &agents(&actor).await, &told),
        "*child session /root/default failed"
    );
    end(actor).await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_in_words() {
    let nobody = SessionId(uuid::Uuid::from_u128(7));
    let cues = [
        (
            "create_session",
            json!({"session_type": "plumber", "prompt": "work"}),
        ),
        (
            "create_session",
            json!({"session_type": "default", "prompt": " "}),
        ),
        (
            "wait_session",
            json!({"session_id": nobody, "timeout_ms": 5}),
        ),
        (
            "wait_session",
            json!({"session_id": "kid", "timeout_ms": 5}),
        ),
        ("cancel_session", json!({"session_id": nobody})),
        ("cancel_session", json!({"session_id": "kid"})),
        ("wait_session", json!({"session_id": nobody})),
    ];
    let stage = stage("", &cues).await;
    let actor = play(&stage).await;
    expect![[r#"
        unknown session_type plumber; there are architect, default, explorer, linter_fixer, mathematician, orchestrator, reviewer, tester, worker
        prompt must not be empty; say what the child is to do
        unknown session 00000000-0000-0000-0000-000000000007
        invalid session_id kid: invalid character: found `k` at 0
        unknown session 00000000-0000-0000-0000-000000000007
        invalid session_id kid: invalid character: found `k` at 0
        wait_session: missing field `timeout_ms`. Call it again with: {session_id: string, timeout_ms: integer}"#]].assert_eq(&answers(&stage, &actor).await.join("\n"));
    end(actor).await;
}

#[tokio::test]
async fn a_session_that_cannot_be_made_is_an_error_that_says_why() {
    let stage = empty_stage("", &[create("work")]).await;
    let mut options = stage.tree_options(&[Family::Sessions]);
    options.limits.max_agents = 1;
    let stage = stage.with_tree(options);
    let actor = play(&stage).await;
    let error = &answers(&stage, &actor).await[0];
    assert!(
        error.starts_with("failed to spawn child session: the tree has 1 agents already"),
        "{error}"
    );
    end(actor).await;
}

#[tokio::test]
async fn nobody_is_asked_for_a_session_whatever_its_parent_would_be() {
    let touch = call(&("shell_command", json!({"command": "touch made"})));
    let children = scene("make a file", &[&touch, "{ say = 'I could not' }"]);
    let cues = [create("make a file"), wait(1, 20_000)];
    let stage = stage(&children, &cues)
        .await
        .approval(ApprovalPolicy::Untrusted)
        .sandbox(SandboxPolicy::read_only());
    let actor = play(&stage).await;
    assert_eq!(
        answers(&stage, &actor).await[1],
        r#"{"result":"I could not"}"#
    );
    let asked = |msg: &EventMsg| matches!(msg, EventMsg::ExecApprovalRequest(_));
    assert!(!seen(&actor).iter().any(asked));
    assert!(!stage.cwd().join("made").exists());
    end(actor).await;
}

#[tokio::test]
async fn a_session_is_cancelled_once_and_says_so_for_ever() {
    let cues = [
        create("be busy"),
        until_here(),
        cancel(1),
        wait(1, 20_000),
        cancel(1),
        // What would have let it complete comes too late.
        ("shell_command", json!({"command": "touch gate"})),
        wait(1, 0),
    ];
    let stage = stage(&busy(), &cues).await;
    let actor = play(&stage).await;
    let agents = agents(&actor).await;
    expect![[r#"
        {"cancelled":true}
        child session /root/default cancelled
        {"cancelled":false}
        Exit code: 0
        child session /root/default cancelled"#]]
    .assert_eq(&first_lines(&stage, &actor).await[2..].join("\n"));
    let told = backgrounds(&seen(&actor)).pop().unwrap();
    assert_eq!(
        named(&stage, &agents, &told),
        "*child session /root/default cancelled"
    );
    assert_eq!(agents[0].wire_status(), AgentStatus::Cancelled);
    end(actor).await;
}

#[tokio::test]
async fn a_session_that_is_done_cannot_be_cancelled_and_keeps_its_result() {
    let cues = [create("work"), wait(1, 20_000), cancel(1), wait(1, 0)];
    let stage = stage("", &cues).await;
    let actor = play(&stage).await;
    let answers = answers(&stage, &actor).await;
    assert_eq!(
        answers[2..],
        [r#"{"cancelled":false}"#, r#"{"result":"ok"}"#]
    );
    end(actor).await;
}

#[tokio::test]
async fn a_cancelled_session_takes_along_those_that_it_created() {
    let make = call(&create("be busy"));
    let children = busy() + &scene("delegate", &[&make, &call(&wait(1, 60_000))]);
    let cues = [create("delegate"), until_here(), cancel(1), wait(1, 20_000)];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let answers = first_lines(&stage, &actor).await;
    assert_eq!(
        answers[2..],
        [
            r#"{"cancelled":true}"#,
            "child session /root/default cancelled"
        ]
    );
    actor.agents().wait_until_idle().await;
    let statuses: Vec<AgentStatus> = agents(&actor)
        .await
        .iter()
        .map(AgentView::wire_status)
        .collect();
    assert_eq!(statuses, [AgentStatus::Cancelled, AgentStatus::Cancelled]);
    end(actor).await;
}

#[tokio::test]
async fn interrupting_the_parent_cancels_the_sessions_that_it_created() {
    let hang = (
        "shell_command",
        json!({"command": "touch waiting; until [ -e gate ]; do sleep 0.02; done"}),
    );
    let stage = stage(&busy(), &[create("be busy"), until_here(), hang]).await;
    let mut actor = begin(&stage).await;
    let is_waiting = |msg: &EventMsg| match msg {
        EventMsg::ExecCommandBegin(begin) => {
            begin.command.iter().any(|word| word.contains("waiting"))
        }
        _ => false,
    };
    actor.until(is_waiting).await;
    actor.submit(Op::Interrupt).await;
    actor
        .until(|msg| matches!(msg, EventMsg::BackgroundEvent(event) if event.is_final))
        .await;
    let agents = agents(&actor).await;
    assert_eq!(agents[0].wire_status(), AgentStatus::Cancelled);
    let told = backgrounds(&seen(&actor));
    let told: Vec<String> = told
        .iter()
        .map(|line| named(&stage, &agents, line))
        .collect();
    assert_eq!(
        told[told.len() - 2..],
        [
            "aborted all child sessions",
            "*child session /root/default cancelled"
        ]
    );
    end(actor).await;
}

#[tokio::test]
async fn who_waits_for_a_session_and_is_interrupted_learns_that_it_was_cancelled() {
    let stage = stage(&busy(), &[create("be busy"), until_here(), wait(1, 60_000)]).await;
    let mut actor = begin(&stage).await;
    let waits = |msg: &EventMsg| {
        matches!(msg, EventMsg::ItemStarted { item: TurnItem::ToolCall(call), .. }
            if call.tool == "wait_session")
    };
    actor.until(waits).await;
    actor.submit(Op::Interrupt).await;
    actor.until_task_ends().await;
    actor.turn("and now?").await;
    let answers = answers(&stage, &actor).await;
    assert_eq!(
        answers[2],
        "the wait was stopped; session /root/default was cancelled with the task"
    );
    end(actor).await;
}

#[tokio::test]
async fn who_waits_for_a_session_and_is_replaced_learns_that_it_goes_on() {
    let stage = stage(&busy(), &[create("be busy"), until_here(), wait(1, 60_000)]).await;
    let mut actor = begin(&stage).await;
    let waits = |msg: &EventMsg| {
        matches!(msg, EventMsg::ItemStarted { item: TurnItem::ToolCall(call), .. }
            if call.tool == "wait_session")
    };
    actor.until(waits).await;
    actor.say("something else").await;
    actor.until_task_ends().await;
    actor.until_task_ends().await;
    let answers = answers(&stage, &actor).await;
    assert_eq!(
        answers[2],
        "the wait was stopped; session /root/default goes on"
    );
    stage.write("gate", "");
    end(actor).await;
}

#[tokio::test]
async fn shutting_the_parent_down_ends_its_sessions_and_their_commands() {
    let held = "echo $$ > pid; touch here; until [ -e gate ]; do sleep 0.02; done";
    let held = call(&("shell_command", json!({"command": held})));
    let children = scene("be held", &[&held]);
    let stage = stage(&children, &[create("be held"), until_here()]).await;
    let actor = play(&stage).await;
    actor.shut_down().await;
    let pid = stage.read("pid");
    let process = std::path::Path::new("/proc").join(pid.trim());
    assert!(!process.exists(), "{} is still there", process.display());
}

#[tokio::test]
async fn sessions_create_sessions_three_deep() {
    let inner = |next: &str| {
        let made = call(&create(next));
        let waited = call(&wait(1, 20_000));
        [
            made,
            waited,
            format!("{{ say = '{next} said: {{{{last_output}}}}' }}"),
        ]
    };
    let (one, two) = (inner("level two"), inner("level three"));
    let children = scene("level three", &["{ say = 'the ground' }"])
        + &scene("level two", &two.each_ref().map(String::as_str))
        + &scene("level one", &one.each_ref().map(String::as_str));
    let stage = stage(&children, &[create("level one"), wait(1, 20_000)]).await;
    let actor = play(&stage).await;
    let result = answer(&stage, &actor, 1).await["result"].take();
    assert_eq!(
        result,
        r#"level two said: {"result":"level three said: {\"result\":\"the ground\"}"}"#
    );
    let paths: Vec<String> = agents(&actor)
        .await
        .into_iter()
        .map(|view| view.path)
        .collect();
    assert_eq!(
        paths,
        [
            "/root/default",
            "/root/default/default",
            "/root/default/default/default"
        ]
    );
    end(actor).await;
}

/// A child that completes between the look at its status and the wait for it.
#[tokio::test]
async fn no_completion_is_missed_however_quick_the_session_is() {
    const SESSIONS: usize = 12;
    let cues: Vec<Cue> = (0..SESSIONS)
        .flat_map(|n| [create("work"), wait(2 * n + 1, 20_000)])
        .collect();
    let stage = stage("", &cues).await;
    let actor = play(&stage).await;
    let answers = answers(&stage, &actor).await;
    let results: Vec<&String> = answers.iter().skip(1).step_by(2).collect();
    assert_eq!(results, [r#"{"result":"ok"}"#; SESSIONS]);
    end(actor).await;
}

#[tokio::test]
async fn each_type_has_a_prompt_of_its_own() {
    let types = ["tester", "mathematician", "linter_fixer", "default"];
    let create = |kind: &&str| {
        (
            "create_session",
            json!({"session_type": kind, "prompt": "work"}),
        )
    };
    let cues: Vec<Cue> = types.iter().map(create).collect();
    let stage = stage("", &cues).await;
    let actor = play(&stage).await;
    actor.agents().wait_until_idle().await;
    let mut prompts = BTreeSet::new();
    for view in agents(&actor).await {
        let first = &requests_of(&stage, view.session)[0];
        prompts.insert(first["instructions"].to_string());
    }
    assert_eq!(prompts.len(), types.len());
    end(actor).await;
}

#[tokio::test]
async fn a_session_knows_nothing_of_its_parent_but_where_it_works() {
    let look = call(&("shell_command", json!({"command": "pwd"})));
    let children = scene("look around", &[&look, "{ say = '{{last_output}}' }"]);
    let stage = stage(&children, &[create("look around"), wait(1, 20_000)]).await;
    let actor = play(&stage).await;
    let result = answer(&stage, &actor, 1).await["result"].to_string();
    assert!(result.contains("CWD"), "{result}");
    let view = agents(&actor).await.remove(0);
    let first = &requests_of(&stage, view.session)[0];
    let input = first["input"].to_string();
    assert!(!input.contains("curtain up"), "{input}");
    let root = actor.session_id();
    end(actor).await;
    let lines = records(&stage, view.session).await;
    let Some(RolloutRecord::SessionMeta(meta)) = lines.first() else {
        panic!("{lines:#?}");
    };
    assert_eq!(
        meta.source,
        SessionSource::SubSession {
            parent: root,
            depth: 1,
            origin: "create_session".to_owned(),
        }
    );
}

/// Finished children leave memory, and are there again when they are meant.
#[tokio::test]
async fn finished_sessions_do_not_pile_up_in_memory() {
    const SESSIONS: usize = 70;
    let many: Vec<String> = (0..SESSIONS).map(|_| call(&create("work"))).collect();
    let many = many.join(", ");
    let root = scene("all at once", &[&many, "{ say = 'made' }"]);
    let extra = scene("", &["{ say = 'ok' }"; 2]);
    let stage = Stage::new(&(root + &extra)).await;
    let mut options = stage.tree_options(&[Family::Sessions]);
    options.limits.max_spawns_per_minute = SESSIONS;
    options.callback.enabled = false;
    let stage = stage.with_tree(options);
    let mut actor = stage.start().await;
    actor.turn("all at once").await;
    actor.agents().wait_until_idle().await;
    let views = agents(&actor).await;
    let done = AgentStatus::Completed(Some("ok".to_owned()));
    assert!(views.iter().all(|view| view.wire_status() == done));
    let resident = views.iter().filter(|view| view.pulse.is_some()).count();
    assert!(resident < SESSIONS, "{resident}");
    let first = actor.agents().user().result("1", None).await.unwrap();
    assert_eq!(first.last_message.as_deref(), Some("ok"));
    end(actor).await;
}

const ENDED_UNFETCHED: &str = "you have not fetched their results";

#[tokio::test]
async fn the_end_of_a_session_starts_no_turn_and_is_told_with_the_next_task() {
    let stage = stage("", &[create("work")]).await;
    let mut actor = play(&stage).await;
    actor.agents().wait_until_idle().await;
    let kid = agents(&actor).await.remove(0);
    let session = actor.session_id();
    assert_eq!(
        requests_of(&stage, session).len(),
        2,
        "nobody asked for more"
    );
    actor.turn("and now?").await;
    let told = requests_of(&stage, session)[2]["input"].to_string();
    assert_eq!(told.matches(ENDED_UNFETCHED).count(), 1, "{told}");
    let line = format!("session {}: completed", kid.session);
    assert!(told.contains(&line), "{told}");
    // Once.
    actor.turn("and then?").await;
    end(actor).await;
    let mut actor = stage.resume(session).await;
    actor.turn("well?").await;
    let told = requests_of(&stage, session).pop().unwrap()["input"].to_string();
    assert_eq!(told.matches(ENDED_UNFETCHED).count(), 1, "{told}");
    end(actor).await;
}

#[tokio::test]
async fn a_session_that_was_waited_for_is_not_told_of_again() {
    let stage = stage("", &[create("work"), wait(1, 20_000)]).await;
    let mut actor = play(&stage).await;
    actor.turn("and now?").await;
    let requests = requests_of(&stage, actor.session_id());
    let told = requests.last().unwrap()["input"].to_string();
    assert!(!told.contains(ENDED_UNFETCHED), "{told}");
    end(actor).await;
}

#[tokio::test]
async fn a_session_calls_back_if_its_creator_asks_for_it() {
    let create = (
        "create_session",
        json!({"session_type": "default", "prompt": "work", "enable_callback": true}),
    );
    let stage = stage("", &[create]).await;
    let actor = play(&stage).await;
    actor.agents().wait_until_idle().await;
    let requests = requests_of(&stage, actor.session_id());
    assert_eq!(requests.len(), 3, "the callback began a task");
    let told = requests[2]["input"].to_string();
    assert!(!told.contains(ENDED_UNFETCHED), "{told}");
    end(actor).await;
}

#[tokio::test]
async fn a_session_that_was_interrupted_is_not_told_as_cancelled() {
    let stage = stage(&busy(), &[create("be busy"), until_here()]).await;
    let actor = play(&stage).await;
    let desk = actor.agents().user();
    desk.stop(TreeStopRequest {
        verb: StopVerb::Interrupt,
        targets: vec!["1".to_owned()],
        mode: StopMode::Act,
        note: None,
    })
    .await
    .unwrap();
    actor.agents().wait_until_idle().await;
    let session = actor.session_id();
    end(actor).await;
    let told = backgrounds(&recorded(&stage, session).await).pop().unwrap();
    assert!(told.ends_with(" interrupted"), "{told}");
}
