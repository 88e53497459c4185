//! Every op as a client writes it, every event as it is told, kept and resumed.
//!
//! `docs/protocol.md` lists which test sends or provokes what; a tidy test holds it to the
//! types. What a feature means is told by the tests of that feature.

use std::collections::BTreeMap;
use std::sync::Arc;

use expect_test::expect;
use troupe_agents::Family;
use troupe_protocol::op::Op;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_protocol::rollout::{EventRecord, RolloutRecord};
use troupe_protocol::session::TurnContext;
use troupe_protocol::{Event, EventMsg, SessionId, TurnItem, project};
use troupe_store::Position;
use troupe_testkit::{Actor, Stage};
use troupe_transport::{Frame, SubmissionReader};

const GO: &str = r#"{"type":"user_turn","items":[{"type":"text","text":"go"}]}"#;

/// A model that answers with these steps, turn by turn.
fn play(turns: &[&str]) -> String {
    let turns = turns
        .iter()
        .map(|steps| format!("[[scene.turn]]\nsteps = [{steps}]\n"));
    format!("[[scene]]\n{}", turns.collect::<String>())
}

fn tag(msg: &EventMsg) -> String {
    let value = serde_json::to_value(msg).unwrap();
    value["type"].as_str().unwrap().to_owned()
}

/// Reads an op as the engine's end of a transport does.
async fn read(op: &str) -> Op {
    let line = format!("{{\"id\":\"x\",\"op\":{op}}}\n");
    match SubmissionReader::new(line.as_bytes()).next().await.unwrap() {
        Some(Frame::Submission(submission)) => submission.op,
        other => panic!("{op}: {other:?}"),
    }
}

/// Sends an op and waits until the last of the events was told; the others come on the way.
async fn told(actor: &mut Actor, op: &str, tags: &[&str]) -> Vec<EventMsg> {
    let op = read(op).await;
    actor.submit(op).await;
    hear(actor, tags).await
}

async fn hear(actor: &mut Actor, tags: &[&str]) -> Vec<EventMsg> {
    let last = tags.last().expect("something is waited for");
    let msgs = actor.until(|msg| tag(msg) == *last).await;
    let heard: Vec<String> = msgs.iter().map(tag).collect();
    for wanted in tags {
        assert!(heard.iter().any(|tag| tag == wanted), "{wanted}: {heard:?}");
    }
    msgs
}

/// Checks that everything that was told stands in the log, under the same number, and that
/// the session comes back with the settings, name and note that were told last.
async fn kept(stage: &Stage, actor: Actor) {
    let session = actor.session_id();
    let seen: Vec<Arc<Event>> = actor.seen().to_vec();
    actor.shut_down().await;
    let recorded = recorded(stage, session).await;
    for event in seen.iter().filter(|event| !is_live(&event.msg)) {
        assert_eq!(
            recorded.get(&event.seq),
            Some(&event.msg),
            "seq {}",
            event.seq
        );
    }
    let before = State::after(&seen);
    let actor = stage.resume(session).await;
    assert_eq!(State::after(actor.seen()), before);
    let next = actor.seen().last().map(|event| event.seq);
    let last = seen.last().map(|event| event.seq);
    assert!(next > last, "a number is never used again");
}

/// Tells whether an event is only for who listens at the moment: a piece of what comes whole
/// later, or how full an inbox is, which the log says in other words.
fn is_live(msg: &EventMsg) -> bool {
    msg.is_delta() || matches!(msg, EventMsg::AgentInbox(_))
}

/// Returns the events of a log, with the older names that follow from them.
async fn recorded(stage: &Stage, session: SessionId) -> BTreeMap<u64, EventMsg> {
    let mut events = BTreeMap::new();
    let mut from = Position(0);
    loop {
        let batch = stage.store().read_all(session, from).await.unwrap();
        for line in &batch.lines {
            if let RolloutRecord::EventMsg(EventRecord { seq, msg, .. }) =
                line.record().unwrap().record
            {
                let older = match &msg {
                    EventMsg::ItemStarted { item, turn_id, .. } => {
                        project::on_started(item, turn_id)
                    }
                    EventMsg::ItemCompleted { item, turn_id, .. } => {
                        project::on_completed(item, turn_id)
                    }
                    _ => Vec::new(),
                };
                events.extend((seq..).zip(std::iter::once(msg).chain(older)));
            }
        }
        if batch.at_end {
            return events;
        }
        from = batch.next;
    }
}

/// What a client knows of a session's settings.
#[derive(Debug, Default, PartialEq)]
struct State {
    context: Option<TurnContext>,
    name: Option<String>,
    note: Option<String>,
}

impl State {
    fn after(events: &[Arc<Event>]) -> Self {
        let mut state = Self::default();
        for event in events {
            match &event.msg {
                EventMsg::SessionConfigured(configured) => {
                    state.context = Some(configured.context.clone());
                    state.name.clone_from(&configured.thread_name);
                    state.note.clone_from(&configured.thread_note);
                }
                EventMsg::TurnContextUpdated(context) => state.context = Some(context.clone()),
                EventMsg::ThreadNameUpdated { thread_name } => state.name.clone_from(thread_name),
                EventMsg::ThreadNoteUpdated { thread_note } => state.note.clone_from(thread_note),
                _ => {}
            }
        }
        state
    }
}

#[tokio::test]
async fn a_task_with_reasoning_and_words() {
    let stage = Stage::new(&play(&[
        "{ think = 'one' }, { say = 'two words' }",
        "{ say = 'on' }",
    ]))
    .await;
    let mut actor = stage.enter();
    told(
        &mut actor,
        r#"{"type":"configure_session"}"#,
        &["session_configured"],
    )
    .await;
    let tags = [
        "task_started",
        "item_started",
        "user_message",
        "reasoning_content_delta",
        "agent_reasoning",
        "agent_message_content_delta",
        "item_completed",
        "agent_message",
        "token_count",
        "response_completed",
        "task_complete",
    ];
    told(&mut actor, GO, &tags).await;
    let op = r#"{"type":"user_input","items":[{"type":"text","text":"on"}]}"#;
    told(&mut actor, op, &["task_started", "task_complete"]).await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn tools_and_what_they_tell() {
    let steps = [
        "{ call = 'shell_command', arguments = { command = 'echo out' } }",
        "{ call = 'update_plan', arguments = { plan = [{ step = 'one', status = 'in_progress' }] } }",
        "{ custom = 'apply_patch', input = \"*** Begin Patch\\n*** Add File: a\\n+a\\n*** End Patch\" }",
        "{ call = 'view_image', arguments = { path = 'dot.png' } }",
        "{ call = 'exec_command', arguments = { cmd = 'cat', tty = true, yield_time_ms = 250 } }",
        "{ call = 'write_stdin', arguments = { session_id = 1, chars = \"\\u0004\" } }",
        "{ say = 'done' }",
    ];
    let stage = Stage::new(&play(&steps)).await;
    std::fs::write(stage.cwd().join("dot.png"), DOT).unwrap();
    let mut actor = stage.start().await;
    let tags = [
        "exec_command_begin",
        "exec_command_output_delta",
        "exec_command_end",
        "plan_update",
        "patch_apply_begin",
        "patch_apply_end",
        "view_image_tool_call",
        "terminal_interaction",
        "task_complete",
    ];
    told(&mut actor, GO, &tags).await;
    kept(&stage, actor).await;
}

/// A picture of one point.
const DOT: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 0, 0, 0, 0, 0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0, 10, b'I', b'D', b'A', b'T',
    0x78, 0x9c, 0x63, 0x60, 0, 0, 0, 2, 0, 1, 0x48, 0xaf, 0xa4, 0x71, 0, 0, 0, 0, b'I', b'E', b'N',
    b'D', 0xae, 0x42, 0x60, 0x82,
];

#[tokio::test]
async fn approvals_are_asked_and_answered() {
    let steps = [
        "{ call = 'shell_command', call_id = 'c1', arguments = { command = 'touch made' } }",
        "{ custom = 'apply_patch', call_id = 'c2', input = \"*** Begin Patch\\n*** Add File: a\\n+a\\n*** End Patch\" }",
        "{ say = 'done' }",
    ];
    let stage = Stage::new(&play(&steps))
        .await
        .approval(ApprovalPolicy::Untrusted)
        .sandbox(SandboxPolicy::workspace_write());
    let mut actor = stage.start().await;
    told(&mut actor, GO, &["exec_approval_request"]).await;
    let op = r#"{"type":"exec_approval","id":"c1","decision":"approved"}"#;
    told(
        &mut actor,
        op,
        &["approval_resolved", "apply_patch_approval_request"],
    )
    .await;
    let op = r#"{"type":"patch_approval","id":"c2","decision":"denied"}"#;
    told(&mut actor, op, &["approval_resolved", "task_complete"]).await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn questions_are_put_and_answered() {
    let arguments =
        r#"{"questions":[{"id":"name","header":"Name","question":"What is it called?"}]}"#;
    let ask =
        format!("{{ call = 'request_user_input', call_id = 'q', arguments = '''{arguments}''' }}");
    let stage = Stage::new(&play(&[&ask, "{ say = 'done' }"])).await;
    let mut actor = stage.start().await;
    told(&mut actor, GO, &["request_user_input"]).await;
    let op = r#"{"type":"user_input_answer","id":"q","response":{"answers":{"name":{"selected":[],"other":"Bob"}}}}"#;
    told(&mut actor, op, &["user_input_resolved", "task_complete"]).await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn a_running_task_is_steered_and_interrupted() {
    let steps = ["{ call = 'shell_command', arguments = { command = 'echo begun; sleep 600' } }"];
    let stage = Stage::new(&play(&steps)).await;
    let mut actor = stage.start().await;
    told(&mut actor, GO, &["exec_command_output_delta"]).await;
    let op = r#"{"type":"steer","items":[{"type":"text","text":"left"}]}"#;
    told(&mut actor, op, &["steer_receipt"]).await;
    told(
        &mut actor,
        r#"{"type":"interrupt"}"#,
        &["error", "turn_aborted"],
    )
    .await;
    told(&mut actor, r#"{"type":"interrupt"}"#, &["warning"]).await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn a_broken_stream_is_told() {
    let steps = [
        "{ say = 'half', unfinished = true }, { end = 'drop' }",
        "{ say = 'whole' }",
    ];
    let stage = Stage::new(&play(&steps)).await;
    let mut actor = stage.start().await;
    told(&mut actor, GO, &["stream_error", "task_complete"]).await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn settings_name_and_note_are_told_and_come_back() {
    let stage = Stage::new(&play(&[])).await;
    let mut actor = stage.start().await;
    let op = r#"{"type":"override_turn_context","approval_policy":"on-request","effort":"high"}"#;
    told(&mut actor, op, &["turn_context_updated"]).await;
    let op = r#"{"type":"set_thread_name","name":"parser"}"#;
    told(&mut actor, op, &["thread_name_updated"]).await;
    let op = r#"{"type":"set_thread_note","note":"slow"}"#;
    told(&mut actor, op, &["thread_note_updated"]).await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn going_back_and_making_smaller() {
    let patch = "{ custom = 'apply_patch', input = \"*** Begin Patch\\n*** Add File: a\\n+a\\n*** End Patch\" }";
    let stage = Stage::new(&play(&[
        patch,
        "{ say = 'done' }",
        "{ say = 'on' }",
        "{ say = 'summary' }",
    ]))
    .await;
    let mut actor = stage.start().await;
    told(&mut actor, GO, &["task_complete"]).await;
    told(&mut actor, GO, &["task_complete"]).await;
    let op = r#"{"type":"thread_rollback","num_turns":1}"#;
    told(&mut actor, op, &["thread_rolled_back"]).await;
    // What was taken out of the history is still what was done to files.
    told(
        &mut actor,
        r#"{"type":"undo"}"#,
        &["undo_started", "undo_completed"],
    )
    .await;
    assert!(!stage.cwd().join("a").exists());
    let op = r#"{"type":"compact"}"#;
    told(&mut actor, op, &["context_compacted", "task_complete"]).await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn work_with_other_agents_is_told() {
    let child = "[[scene]]\nwhen = \"errand\"\n[[scene.turn]]\nsteps = [{ say = \"fetched\" }]\n[[scene.turn]]\nsteps = [{ say = \"again\" }]\n[[scene.turn]]\nsteps = [{ say = \"once more\" }]\n";
    let root = play(&[
        "{ call = 'spawn_agent', arguments = { message = 'errand' } }",
        "{ call = 'wait', arguments = { ids = ['1'] } }",
        "{ call = 'send_input', arguments = { id = '1', message = 'errand two' } }",
        "{ call = 'wait', arguments = { ids = ['1'] } }",
        "{ call = 'close_agent', arguments = { id = '1' } }",
        "{ call = 'resume_agent', arguments = { id = '1' } }",
        "{ say = 'done' }",
        "{ say = 'done' }",
    ]);
    let stage = Stage::new(&(child.to_owned() + &root))
        .await
        .with_agents(&[Family::Agents]);
    let mut actor = stage.start().await;
    let msgs = told(&mut actor, GO, &["task_complete"]).await;
    let mut heard: Vec<String> = msgs.iter().map(tag).collect();
    heard.retain(|tag| {
        tag.starts_with("collab")
            || tag.starts_with("subagent")
            || tag == "agent_inbox"
            || tag == "background_event"
    });
    heard.sort();
    heard.dedup();
    expect![[r#"
        agent_inbox
        background_event
        collab_agent_interaction_begin
        collab_agent_interaction_end
        collab_agent_spawn_begin
        collab_agent_spawn_end
        collab_close_begin
        collab_close_end
        collab_resume_begin
        collab_resume_end
        collab_waiting_begin
        collab_waiting_end
        subagent_lifecycle"#]]
    .assert_eq(&heard.join("\n"));
    actor.agents().quiet().await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn a_review_is_entered_and_left() {
    let stage = Stage::new(&play(&[
        "{ say = 'nothing to say' }",
        "{ say = 'still nothing' }",
    ]))
    .await
    .with_agents(&[Family::Agents]);
    let mut actor = stage.start().await;
    let op =
        r#"{"type":"review","review_request":{"target":{"type":"custom","instructions":"look"}}}"#;
    told(
        &mut actor,
        op,
        &["entered_review_mode", "exited_review_mode"],
    )
    .await;
    actor.agents().quiet().await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn a_plan_is_proposed() {
    let say = r#"{ say = "Look:\n<proposed_plan>\n1. Read\n</proposed_plan>\n" }"#;
    let stage = Stage::new(&play(&[say])).await;
    let mut actor = stage.enter();
    let op = r#"{"type":"configure_session","collaboration_mode":"plan"}"#;
    told(&mut actor, op, &["session_configured"]).await;
    let tags = ["plan_delta", "item_completed", "task_complete"];
    let msgs = told(&mut actor, GO, &tags).await;
    let is_plan = |msg: &EventMsg| {
        matches!(msg, EventMsg::ItemCompleted { item: TurnItem::Plan(plan), .. }
            if plan.text == "1. Read\n")
    };
    assert!(msgs.iter().any(is_plan), "{msgs:?}");
    kept(&stage, actor).await;
}

#[tokio::test]
async fn models_are_listed() {
    let stage = Stage::new(&play(&[])).await;
    let mut actor = stage.start().await;
    let op = r#"{"type":"list_models"}"#;
    told(&mut actor, op, &["list_models_response"]).await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn skills_are_listed() {
    let stage = Stage::new(&play(&[])).await;
    let mut actor = stage.start().await;
    let op = r#"{"type":"list_skills","cwds":[],"force_reload":true}"#;
    told(&mut actor, op, &["list_skills_response"]).await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn the_user_runs_a_command() {
    let stage = Stage::new(&play(&[])).await;
    let mut actor = stage.start().await;
    let op = r#"{"type":"run_user_shell_command","command":"echo mine"}"#;
    let tags = [
        "task_started",
        "exec_command_begin",
        "exec_command_end",
        "task_complete",
    ];
    told(&mut actor, op, &tags).await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn the_end_is_told() {
    let stage = Stage::new(&play(&[])).await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    told(&mut actor, r#"{"type":"shutdown"}"#, &["shutdown_complete"]).await;
    drop(actor);
    let actor = stage.resume(session).await;
    assert_eq!(actor.session_id(), session);
}
