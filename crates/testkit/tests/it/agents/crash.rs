//! Ends that nobody asked for, and what is left of a tree afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use troupe_agents::{Family, RecoveryPolicy};
use troupe_protocol::op::Op;
use troupe_protocol::result::StopReason;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tree::{Interruption, TaskEnding, TreeFact};
use troupe_protocol::{AgentId, EventMsg};
use troupe_testkit::{Actor, Stage};
use troupe_tree::CurrentStatus;

use super::logs;
use super::play::{GATE, invoke, numbered, said, say, scene_of};
use crate::it::faulty::Faulty;

const CHILD: AgentId = AgentId(1);

async fn stage_with(scenes: &[String], recovery: RecoveryPolicy) -> Stage {
    let stage = Stage::new(&scenes.concat()).await;
    let mut options = stage.tree_options(&[Family::Agents, Family::Sessions]);
    options.recovery = recovery;
    stage.with_tree(options)
}

async fn status_of(actor: &Actor, agent: &str) -> CurrentStatus {
    let view = actor.agents().user().view(agent).await;
    view.expect("the agent is one of the tree").status
}

fn spawned(msg: &EventMsg) -> bool {
    matches!(msg, EventMsg::ExecCommandBegin(_))
}

/// Waits until an agent's command is at the gate.
async fn until_at_gate(actor: &Actor, agent: &str) {
    let desk = actor.agents().user();
    while desk
        .view(agent)
        .await
        .expect("the agent is one of the tree")
        .current_tools()
        .is_empty()
    {
        tokio::task::yield_now().await;
    }
}

fn processes_with(word: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc")
        .expect("proc is mounted")
        .flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(word)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compacted_parent_still_has_its_children_and_hears_of_them() {
    let stage = stage_with(
        &[
            scene_of("errand", &[invoke("shell_command", GATE), say("found it")]),
            scene_of(
                "",
                &[
                    vec![
                        invoke("spawn_agent", r#"message = "errand", task_name = "a""#),
                        say("spawned"),
                        say("SUMMARY"),
                    ],
                    numbered(5, "heard"),
                ]
                .concat(),
            ),
        ],
        RecoveryPolicy::ContinueChildren,
    )
    .await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("begin").await;
    until_at_gate(&actor, "/root/a").await;
    actor.submit(Op::Compact).await;
    actor
        .until(|msg| matches!(msg, EventMsg::ContextCompacted))
        .await;
    actor.shut_down().await;

    let mut actor = stage.resume(session).await;
    assert!(actor.agents().is_planted(), "the tree is known again");
    stage.write("go", "");
    let events = actor.until_task_ends().await;
    assert_eq!(said(&events), Some("heard 0"));
    let told = logs::texts(&logs::last_request(&stage, session), "message");
    let callbacks = told.iter().filter(|text| text.contains("[Troupe]"));
    assert_eq!(callbacks.count(), 1, "{told:?}");
    assert_eq!(status_of(&actor, "/root/a").await, CurrentStatus::Completed);
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn taking_back_a_turn_takes_back_no_child() {
    let stage = stage_with(
        &[
            scene_of("errand", &numbered(2, "found")),
            scene_of(
                "",
                &[
                    vec![
                        invoke("spawn_agent", r#"message = "errand", task_name = "a""#),
                        invoke("wait", r#"ids = ["a"]"#),
                    ],
                    numbered(5, "heard"),
                ]
                .concat(),
            ),
        ],
        RecoveryPolicy::Leave,
    )
    .await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("begin").await;
    actor.submit(Op::ThreadRollback { num_turns: 1 }).await;
    actor
        .until(|msg| matches!(msg, EventMsg::ThreadRolledBack { .. }))
        .await;
    assert_eq!(status_of(&actor, "/root/a").await, CurrentStatus::Completed);
    actor.shut_down().await;

    let mut actor = stage.resume(session).await;
    assert_eq!(status_of(&actor, "/root/a").await, CurrentStatus::Completed);
    let result = actor.agents().user().result("/root/a", None).await.unwrap();
    assert_eq!(result.last_message.as_deref(), Some("found 0"));
    let events = actor.turn("what now?").await;
    assert_eq!(said(&events), Some("heard 1"));
    actor.agents().wait_until_idle().await;
    let lines = logs::read(&*stage.store(), session).await;
    assert_eq!(logs::consumed(&lines).len(), 1);
    assert_eq!(logs::begun_with(&lines, AgentId::ROOT), []);
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_that_cannot_be_set_up_has_failed_to_start_and_the_others_go_on() {
    let configured = AtomicUsize::new(0);
    let stage = stage_with(
        &[
            scene_of("errand", &numbered(2, "found")),
            scene_of(
                "",
                &[
                    vec![
                        [
                            invoke("spawn_agent", r#"message = "errand", task_name = "a""#),
                            invoke("spawn_agent", r#"message = "errand", task_name = "b""#),
                        ]
                        .join(", "),
                    ],
                    numbered(5, "heard"),
                ]
                .concat(),
            ),
        ],
        RecoveryPolicy::Leave,
    )
    .await
    .adjusting(move |_| {
        // The root is configured first, then the child that was born first, again and again.
        assert_ne!(configured.fetch_add(1, Ordering::Relaxed), 1, "no luck");
    });
    let mut actor = stage.start().await;
    let root = actor.session_id();
    actor.turn("begin").await;
    actor.until_task_ends().await;
    actor.until_task_ends().await;
    let desk = actor.agents().user();
    let mut messages = Vec::new();
    for agent in ["/root/a", "/root/b"] {
        let view = desk.view(agent).await.unwrap();
        let result = desk.result(agent, None).await.unwrap();
        assert_eq!(result.session_id, view.session);
        messages.push((view.status, result.stop));
    }
    messages.sort_by_key(|(status, _)| *status == CurrentStatus::Completed);
    assert_eq!(messages[0].0, CurrentStatus::Errored, "{messages:?}");
    let StopReason::FailedToStart { message } = &messages[0].1 else {
        panic!("{messages:?}");
    };
    assert!(!message.is_empty());
    assert_eq!(messages[1].1, StopReason::Completed);
    actor.shut_down().await;
    let lines = logs::read(&*stage.store(), root).await;
    let owed = logs::callbacks_for(&lines, AgentId::ROOT);
    assert_eq!(owed.len(), 2);
    assert_eq!(logs::begun_with(&lines, AgentId::ROOT), owed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_panics_has_failed_and_its_parent_is_called_back() {
    let store = Faulty::default();
    let stage = stage_with(
        &[
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
        ],
        RecoveryPolicy::Leave,
    )
    .await
    .keeping_in(Arc::new(store.clone()));
    let mut actor = stage.start().await;
    store.spare(actor.session_id());
    actor.turn("begin").await;
    until_at_gate(&actor, "/root/a").await;
    store.refuse(|record| {
        let output = matches!(record, RolloutRecord::ResponseItem(_));
        assert!(!output, "the child's session has a defect");
        false
    });
    stage.write("go", "");
    let events = actor.until_task_ends().await;
    assert_eq!(said(&events), Some("heard 0"));
    assert_eq!(status_of(&actor, "/root/a").await, CurrentStatus::Errored);
    let result = actor.agents().user().result("/root/a", None).await.unwrap();
    assert_ne!(result.stop, StopReason::Completed);
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_parent_takes_its_sessions_along_and_leaves_its_agents_at_work() {
    let stage = stage_with(
        &[
            scene_of(
                "bound",
                &[
                    invoke("shell_command", r#"command = "sleep 86422""#),
                    say("slept"),
                ],
            ),
            scene_of("free", &[invoke("shell_command", GATE), say("found it")]),
            scene_of(
                "",
                &[
                    vec![
                        invoke(
                            "create_session",
                            r#"session_type = "default", prompt = "bound""#,
                        ),
                        invoke("spawn_agent", r#"message = "free", task_name = "free""#),
                        invoke("shell_command", r#"command = "sleep 86423""#),
                    ],
                    numbered(5, "heard"),
                ]
                .concat(),
            ),
        ],
        RecoveryPolicy::Leave,
    )
    .await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.say("begin").await;
    actor.until(spawned).await;
    until_at_gate(&actor, "1").await;
    until_at_gate(&actor, "2").await;
    while processes_with("sleep 86422").is_empty() {
        tokio::task::yield_now().await;
    }
    actor.submit(Op::Interrupt).await;
    actor.until_task_ends().await;
    let desk = actor.agents().user();
    while !desk.view("1").await.unwrap().status.is_final() {
        tokio::task::yield_now().await;
    }
    assert_eq!(status_of(&actor, "1").await, CurrentStatus::Cancelled);
    assert_eq!(processes_with("sleep 86422"), [""; 0]);
    assert_eq!(processes_with("sleep 86423"), [""; 0]);
    assert!(!status_of(&actor, "2").await.is_final());
    stage.write("go", "");
    actor.agents().wait_until_idle().await;
    assert_eq!(status_of(&actor, "2").await, CurrentStatus::Completed);
    let result = desk.result("1", None).await.unwrap();
    assert!(matches!(result.stop, StopReason::Cancelled { .. }));
    actor.shut_down().await;
    let lines = logs::read(&*stage.store(), session).await;
    assert!(matches!(
        logs::ends_of(&lines, CHILD)[..],
        [TaskEnding::Cancelled { .. }]
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_shutdown_cut_off_goes_on_when_it_is_asked_to() {
    let stage = stage_with(
        &[
            scene_of(
                "errand",
                &[
                    invoke("shell_command", r#"command = "sleep 86424""#),
                    say("went on"),
                ],
            ),
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
        ],
        RecoveryPolicy::ContinueChildren,
    )
    .await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("begin").await;
    until_at_gate(&actor, "/root/a").await;
    actor.shut_down().await;
    assert_eq!(processes_with("sleep 86424"), [""; 0]);
    let lines = logs::read(&*stage.store(), session).await;
    let why = Interruption::Shutdown;
    assert_eq!(
        logs::ends_of(&lines, CHILD),
        [TaskEnding::Interrupted { why }]
    );

    let mut actor = stage.resume(session).await;
    let events = actor.until_task_ends().await;
    assert_eq!(said(&events), Some("heard 0"));
    assert_eq!(status_of(&actor, "/root/a").await, CurrentStatus::Completed);
    let view = actor.agents().user().view("/root/a").await.unwrap();
    let asked = logs::texts(&logs::last_request(&stage, view.session), "message");
    assert!(asked.concat().contains("go on with your task"), "{asked:?}");
    actor.shut_down().await;

    // What is finished is not asked again.
    let actor = stage.resume(session).await;
    actor.agents().wait_until_idle().await;
    actor.shut_down().await;
    let lines = logs::read(&*stage.store(), session).await;
    assert_eq!(logs::ends_of(&lines, CHILD).len(), 2);
    let sent = |line: &&troupe_protocol::tree::AgentLine| {
        matches!(line.record.fact, TreeFact::Sent { .. })
    };
    assert_eq!(lines.iter().filter(sent).count(), 1);
}
