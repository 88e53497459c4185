//! A task from its beginning to its end.

use std::sync::Arc;

use troupe_agents::Family;
use troupe_model::WireApi;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::{ConfigureSession, Op, Submission};
use troupe_protocol::{Event, EventMsg, SubmissionId, TurnItem};
use troupe_testkit::Stage;

use super::{GO, kept, play, told};

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
        "agent_reasoning_section_break",
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

/// This wire gives the reasoning itself, and no summary of it.
#[tokio::test]
async fn raw_reasoning_is_told_as_that() {
    let stage = Stage::new(&play(&["{ think = 'one' }, { say = 'two' }"]))
        .await
        .wire(WireApi::Chat);
    let mut actor = stage.start().await;
    let tags = [
        "reasoning_raw_content_delta",
        "agent_reasoning_raw_content",
        "task_complete",
    ];
    told(&mut actor, GO, &tags).await;
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
    actor.agents().wait_until_idle().await;
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
async fn the_end_is_told() {
    let stage = Stage::new(&play(&[])).await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    told(&mut actor, r#"{"type":"shutdown"}"#, &["shutdown_complete"]).await;
    drop(actor);
    let actor = stage.resume(session).await;
    assert_eq!(actor.session_id(), session);
}

/// A task goes by the id of its submission.
#[tokio::test]
async fn a_submission_without_an_id_is_refused_and_a_repeated_one_is_known() {
    let stage = Stage::new("[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'hi' }]").await;
    let (handle, mut events) = stage.queue_pair();
    let submit = async |id: &str, op: Op| {
        let id = SubmissionId(id.to_owned());
        handle.submit(Submission { id, op }).await.unwrap();
    };
    let hello = || Op::UserInput {
        items: vec![UserInput::text("hello")],
        final_output_json_schema: None,
        last_response_id: None,
    };
    submit("  ", Op::ConfigureSession(ConfigureSession::default())).await;
    let EventMsg::Error(error) = &events.next().await.unwrap().msg else {
        panic!("an empty id is refused");
    };
    assert!(error.message.contains("empty id"), "{}", error.message);
    submit("1", Op::ConfigureSession(ConfigureSession::default())).await;
    submit("2", hello()).await;
    submit("2", hello()).await;
    submit("3", Op::Shutdown).await;
    let mut told = Vec::new();
    while let Some(event) = events.next().await {
        told.push(Arc::clone(&event));
    }
    let started = |event: &Arc<Event>| matches!(event.msg, EventMsg::TurnStarted(_));
    assert_eq!(told.iter().filter(|event| started(event)).count(), 1);
    let known = told.iter().filter(
        |event| matches!(&event.msg, EventMsg::Warning { message } if message.contains("is known")),
    );
    let known: Vec<&str> = known.map(|event| event.id.as_str()).collect();
    assert_eq!(known, ["2"]);
}
