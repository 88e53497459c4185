//! Logs that cannot be written, and logs that cannot be read.

use std::io::Write as _;
use std::sync::Arc;

use troupe_agents::{Family, RecoveryPolicy};
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::result::StopReason;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tree::TreeFact;
use troupe_protocol::{AgentId, EventMsg, SessionId};
use troupe_testkit::{Actor, Stage};
use troupe_tree::CurrentStatus;

use super::logs;
use super::play::{GATE, invoke, numbered, said, say, scene_of};
use crate::it::faulty::Faulty;

/// A root that makes two children in its first task and a third in its second, and waits
/// for each.
async fn stage() -> Stage {
    let spawn = |name: &str| {
        let arguments = format!(r#"message = "errand", task_name = "{name}""#);
        invoke("spawn_agent", &arguments)
    };
    let scenes = [
        scene_of("errand", &numbered(5, "found")),
        scene_of(
            "",
            &[
                vec![
                    spawn("a"),
                    invoke("wait", r#"ids = ["a"]"#),
                    spawn("b"),
                    invoke("wait", r#"ids = ["b"]"#),
                    say("made two"),
                    spawn("c"),
                    invoke("wait", r#"ids = ["c"]"#),
                ],
                numbered(9, "done"),
            ]
            .concat(),
        ),
    ];
    let stage = Stage::new(&scenes.concat()).await;
    let mut options = stage.tree_options(&[Family::Agents]);
    options.recovery = RecoveryPolicy::ContinueChildren;
    stage.with_tree(options)
}

/// Plays it and returns the sessions of the root and its children.
async fn play(stage: &Stage) -> [SessionId; 3] {
    let mut actor = stage.start().await;
    let root = actor.session_id();
    let events = actor.turn("begin").await;
    assert_eq!(said(&events), Some("made two"));
    actor.shut_down().await;
    let lines = logs::read(&*stage.store(), root).await;
    let child = |number| logs::session_of(&lines, AgentId(number));
    [root, child(1), child(2)]
}

/// Resumes, and returns what was warned of by the end of a task.
async fn resume(stage: &Stage, root: SessionId) -> (Actor, String) {
    let mut actor = stage.resume(root).await;
    actor.turn("look around").await;
    let events = actor.seen().iter();
    let warnings = events.filter_map(|event| match &event.msg {
        EventMsg::Warning { message } => Some(message.clone()),
        _ => None,
    });
    let warnings = warnings.collect::<Vec<_>>().join("\n");
    (actor, warnings)
}

async fn assert_found(actor: &Actor, agent: &str) {
    let desk = actor.agents().user();
    let view = desk.view(agent).await;
    let view = view.expect("the agent is one of the tree");
    assert_eq!(view.status, CurrentStatus::Completed);
    let result = desk.result(agent, None).await;
    let result = result.expect("its result is kept");
    assert_eq!(result.last_message.as_deref(), Some("found 0"));
}

fn tear(stage: &Stage, session: SessionId) {
    let path = logs::path_of(stage, session);
    let log = std::fs::OpenOptions::new().append(true).open(path);
    let mut log = log.expect("the log is there");
    log.write_all(br#"{"timestamp":"2026-01-01T00:00:00Z","type":"agent","pay"#)
        .expect("the log can be written");
}

/// Changes the last such line of a log, and returns its number.
fn damage(stage: &Stage, session: SessionId, of: &str) -> usize {
    let path = logs::path_of(stage, session);
    let text = std::fs::read_to_string(&path).expect("the log can be read");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = lines.iter().rposition(|line| line.contains(of));
    let at = at.expect("the log has such a line");
    lines[at] = lines[at].replace("\"fact\"", "\"f\u{0}ct\"");
    std::fs::write(&path, lines.join("\n") + "\n").expect("the log can be written");
    at + 1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn torn_last_lines_are_told_and_the_tree_stands() {
    let stage = stage().await;
    let [root, a, b] = play(&stage).await;
    tear(&stage, root);
    tear(&stage, a);
    let (mut actor, warnings) = resume(&stage, root).await;
    assert!(
        warnings.contains("torn") || warnings.contains("cut"),
        "{warnings}"
    );
    assert_found(&actor, "/root/a").await;
    assert_found(&actor, "/root/b").await;
    // The child whose log was torn goes on in it.
    let desk = actor.agents().user();
    let message = troupe_protocol::tree::AgentMessage {
        items: vec![troupe_protocol::input::UserInput::text("again")],
        metadata: None,
        client_id: None,
    };
    let urgency = troupe_tree::command::SendUrgency::Regular;
    desk.send("/root/a", message, urgency).await.unwrap();
    actor.until_task_ends().await;
    let result = desk.result("/root/a", None).await.unwrap();
    assert_eq!(result.last_message.as_deref(), Some("found 1"));
    let view = desk.view("/root/b").await.unwrap();
    assert_eq!(view.session, b);
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_line_is_told_with_its_number_and_left_out() {
    let stage = stage().await;
    let [root, a, _] = play(&stage).await;
    let number = damage(&stage, a, "\"fact\":\"ended\"");
    let (actor, warnings) = resume(&stage, root).await;
    assert!(warnings.contains(&format!("line {number}")), "{warnings}");
    assert_found(&actor, "/root/b").await;
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_whose_birth_was_damaged_is_gone_and_its_number_is_not_used_again() {
    let stage = stage().await;
    let [root, _, _] = play(&stage).await;
    let number = damage(&stage, root, "\"fact\":\"born\"");
    let (actor, warnings) = resume(&stage, root).await;
    assert!(warnings.contains(&format!("line {number}")), "{warnings}");
    assert_found(&actor, "/root/a").await;
    let desk = actor.agents().user();
    assert!(desk.view("/root/b").await.is_err());
    let third = desk.view("/root/c").await.unwrap();
    assert_eq!(third.agent, AgentId(3));
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_log_costs_its_child_and_nobody_else() {
    let stage = stage().await;
    let [root, a, _] = play(&stage).await;
    std::fs::remove_file(logs::path_of(&stage, a)).unwrap();
    let (actor, _) = resume(&stage, root).await;
    actor.agents().wait_until_idle().await;
    assert_found(&actor, "/root/b").await;
    actor.shut_down().await;
}

fn is_end_of_child(record: &RolloutRecord) -> bool {
    let RolloutRecord::Agent(line) = record else {
        return false;
    };
    matches!(line.record.fact, TreeFact::Ended { agent, .. } if agent == AgentId(1))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_that_does_not_fit_in_its_own_log_is_kept_in_the_roots() {
    let store = Faulty::default();
    let stage = stage().await.keeping_in(Arc::new(store.clone()));
    let mut actor = stage.start().await;
    let root = actor.session_id();
    store.spare(root);
    store.refuse(is_end_of_child);
    let events = actor.turn("begin").await;
    assert_eq!(said(&events), Some("made two"));
    let desk = actor.agents().user();
    let live = desk.result("/root/a", None).await.unwrap();
    assert_found(&actor, "/root/b").await;
    actor.shut_down().await;
    store.heal();
    let (actor, warnings) = resume(&stage, root).await;
    assert_eq!(warnings, "");
    let read = actor.agents().user().result("/root/a", None).await.unwrap();
    assert_eq!(read, live);
    let lines = logs::read(&store, root).await;
    assert_eq!(logs::ends_of(&lines, AgentId(1)).len(), 1);
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_no_log_takes_an_end_the_tree_stops_and_is_resumed_from_what_is_written() {
    let store = Faulty::default();
    let stage = stage().await.keeping_in(Arc::new(store.clone()));
    let mut actor = stage.start().await;
    let root = actor.session_id();
    store.refuse(is_end_of_child);
    actor.say("begin").await;
    actor
        .until(|msg| {
            matches!(msg, EventMsg::Warning { message }
                if message.contains("make room on the disk and resume the session"))
        })
        .await;
    // Nothing is left to wait for.
    actor.finish().await;
    store.heal();
    let (actor, _) = resume(&stage, root).await;
    actor.agents().wait_until_idle().await;
    let desk = actor.agents().user();
    let view = desk.view("/root/a").await.unwrap();
    assert_eq!(
        view.status,
        CurrentStatus::Completed,
        "it was asked to go on"
    );
    let lines = logs::read(&store, root).await;
    // A wait and the inbox tell of them, in whatever order.
    let mut owed = logs::callbacks_for(&lines, AgentId::ROOT);
    let mut heard = logs::begun_with(&lines, AgentId::ROOT);
    heard.extend(logs::consumed(&lines));
    owed.sort_by_key(ToString::to_string);
    heard.sort_by_key(ToString::to_string);
    assert_eq!(owed, heard, "each result once");
    actor.shut_down().await;
}

fn says_something(record: &RolloutRecord) -> bool {
    matches!(record, RolloutRecord::ResponseItem(item) if item.assistant_message().is_some())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_whose_work_cannot_be_kept_has_failed_and_who_waits_for_it_hears_so() {
    let store = Faulty::default();
    let stage = stage().await.keeping_in(Arc::new(store.clone()));
    let mut actor = stage.start().await;
    let root = actor.session_id();
    store.spare(root);
    store.refuse(says_something);
    let events = actor.turn("begin").await;
    assert_eq!(said(&events), Some("made two"));
    let desk = actor.agents().user();
    for agent in ["/root/a", "/root/b"] {
        let view = desk.view(agent).await.unwrap();
        assert_eq!(view.status, CurrentStatus::Errored, "{agent}");
        let StopReason::Errored { info, .. } = desk.result(agent, None).await.unwrap().stop else {
            panic!("{agent} has not failed");
        };
        assert_eq!(info, Some(ErrorInfo::StorageFailed), "{agent}");
    }
    actor.agents().wait_until_idle().await;
    actor.shut_down().await;
}

fn begins(record: &RolloutRecord) -> bool {
    matches!(record, RolloutRecord::EventMsg(event)
        if matches!(event.msg, EventMsg::TurnStarted(_)))
}

fn is_breakdown(msg: &EventMsg) -> bool {
    matches!(msg, EventMsg::Warning { message }
        if message.contains("make room on the disk and resume the session"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callback_whose_task_cannot_begin_waits_for_the_next_process() {
    let scenes = [
        scene_of("errand", &[invoke("shell_command", GATE), say("found it")]),
        scene_of(
            "",
            &[
                vec![
                    invoke("spawn_agent", r#"message = "errand", task_name = "a""#),
                    say("spawned"),
                ],
                numbered(5, "heard"),
            ]
            .concat(),
        ),
    ];
    let store = Faulty::default();
    let stage = Stage::new(&scenes.concat()).await;
    let options = stage.tree_options(&[Family::Agents]);
    let stage = stage.with_tree(options).keeping_in(Arc::new(store.clone()));
    let mut actor = stage.start().await;
    let root = actor.session_id();
    actor.turn("begin").await;
    let desk = actor.agents().user();
    while desk
        .view("/root/a")
        .await
        .unwrap()
        .current_tools()
        .is_empty()
    {
        tokio::task::yield_now().await;
    }
    store.refuse(begins);
    stage.write("go", "");
    actor.until(is_breakdown).await;
    let failed = actor.seen().iter().any(|event| {
        matches!(&event.msg, EventMsg::Error(error)
            if error.error_info == Some(ErrorInfo::StorageFailed))
    });
    assert!(failed, "{:#?}", actor.seen());
    actor.agents().wait_until_idle().await;
    actor.finish().await;
    store.heal();

    let mut actor = stage.resume(root).await;
    let events = actor.until_task_ends().await;
    assert_eq!(said(&events), Some("heard 0"));
    actor.shut_down().await;
    let lines = logs::read(&store, root).await;
    let owed = logs::callbacks_for(&lines, AgentId::ROOT);
    assert_eq!(owed.len(), 1);
    assert_eq!(logs::begun_with(&lines, AgentId::ROOT), owed);
}
