//! The mode: chosen per turn, told to the model once, kept across resume and compaction.

use expect_test::expect;
use troupe_agents::Family;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::EventMsg;
use troupe_protocol::op::Op;
use troupe_protocol::policy::{
    CollaborationMode, ModeChoice, ModeSettings, ModeWithSettings, ReasoningEffort,
};
use troupe_testkit::Stage;

use super::{in_mode, lines, start_planning, turn_with};

const ANSWERS: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "one" }]
[[scene.turn]]
steps = [{ say = "two" }]
[[scene.turn]]
steps = [{ say = "three" }]
[[scene.turn]]
steps = [{ say = "four" }]
"#;

/// Shows the notes about the mode in the n-th request, by their titles.
fn notes(stage: &Stage, n: usize) -> Vec<String> {
    let input = stage.input_of(n);
    let texts = input
        .iter()
        .filter_map(|item| item["content"][0]["text"].as_str());
    texts
        .filter(|text| text.starts_with("<collaboration_mode>"))
        .filter_map(|text| text.lines().nth(1).map(str::to_owned))
        .collect()
}

fn mode_of(msgs: &[EventMsg]) -> Option<CollaborationMode> {
    msgs.iter().find_map(|msg| match msg {
        EventMsg::TurnStarted(started) => Some(started.collaboration_mode_kind),
        _ => None,
    })
}

#[tokio::test]
async fn a_turn_chooses_the_mode_for_itself_and_those_after_it() {
    let stage = Stage::new(ANSWERS).await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    let msgs = actor.turn("first").await;
    assert_eq!(mode_of(&msgs), Some(CollaborationMode::Default));
    assert_eq!(notes(&stage, 0), Vec::<String>::new());

    let msgs = turn_with(&mut actor, "second", in_mode(CollaborationMode::Plan)).await;
    assert_eq!(mode_of(&msgs), Some(CollaborationMode::Plan));
    assert_eq!(notes(&stage, 1), ["# Plan mode"]);
    actor.shut_down().await;

    let mut actor = stage.resume(session).await;
    let msgs = actor.turn("third").await;
    assert_eq!(mode_of(&msgs), Some(CollaborationMode::Plan));
    assert_eq!(notes(&stage, 2), ["# Plan mode"]);

    let msgs = turn_with(&mut actor, "fourth", in_mode(CollaborationMode::Default)).await;
    assert_eq!(mode_of(&msgs), Some(CollaborationMode::Default));
    assert_eq!(notes(&stage, 3), ["# Plan mode", "# Default mode"]);
}

#[tokio::test]
async fn what_was_sent_before_a_switch_is_sent_again_as_it_was() {
    let stage = Stage::new(ANSWERS).await;
    let mut actor = stage.start().await;
    actor.turn("first").await;
    turn_with(&mut actor, "second", in_mode(CollaborationMode::Plan)).await;
    let (before, after) = (stage.input_of(0), stage.input_of(1));
    assert_eq!(after[..before.len()], before[..]);
    let instructions = |n: usize| -> serde_json::Value {
        let body: serde_json::Value = serde_json::from_slice(&stage.requests()[n].body).unwrap();
        body["instructions"].clone()
    };
    assert_eq!(instructions(0), instructions(1));
}

#[tokio::test]
async fn a_rollback_takes_the_note_back_with_its_turn() {
    let stage = Stage::new(ANSWERS).await;
    let mut actor = stage.start().await;
    actor.turn("first").await;
    turn_with(&mut actor, "second", in_mode(CollaborationMode::Plan)).await;
    actor.submit(Op::ThreadRollback { num_turns: 1 }).await;
    actor
        .until(|msg| matches!(msg, EventMsg::ThreadRolledBack { .. }))
        .await;
    actor.turn("third").await;
    // The setting stays; the model, which no longer knows of it, is told again.
    assert_eq!(notes(&stage, 2), ["# Plan mode"]);
}

#[tokio::test]
async fn a_compaction_keeps_the_mode() {
    let stage = Stage::new(ANSWERS).await;
    let mut actor = start_planning(&stage).await;
    actor.turn("first").await;
    actor.submit(Op::Compact).await;
    actor.until_task_ends().await;
    actor.turn("second").await;
    assert_eq!(notes(&stage, 2), ["# Plan mode"]);
}

#[tokio::test]
async fn the_settings_of_a_mode_are_honoured() {
    let stage = Stage::new(ANSWERS).await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    let choice = ModeChoice::Full(ModeWithSettings {
        mode: CollaborationMode::Plan,
        settings: ModeSettings {
            model: Some("scripted-2".to_owned()),
            reasoning_effort: Some(ReasoningEffort::High),
            developer_instructions: Some("Plan in verse.".to_owned()),
        },
    });
    turn_with(&mut actor, "first", in_mode(choice)).await;
    assert_eq!(notes(&stage, 0), ["Plan in verse."]);
    let body: serde_json::Value = serde_json::from_slice(&stage.requests()[0].body).unwrap();
    assert_eq!(body["model"], "scripted-2");
    assert_eq!(body["reasoning"]["effort"], "high");
    actor.shut_down().await;

    let mut actor = stage.resume(session).await;
    let EventMsg::SessionConfigured(configured) = &actor.seen()[0].msg else {
        panic!("a session is configured first");
    };
    let context = &configured.context;
    assert_eq!(context.model, "scripted-2");
    assert_eq!(context.effort, Some(ReasoningEffort::High));
    assert_eq!(context.mode_instructions.as_deref(), Some("Plan in verse."));
    // The name alone brings the mode's own instructions back.
    turn_with(&mut actor, "second", in_mode(CollaborationMode::Plan)).await;
    assert_eq!(notes(&stage, 1), ["Plan in verse.", "# Plan mode"]);
}

#[tokio::test]
async fn update_plan_is_refused_while_a_plan_is_being_made() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
response_id = "resp_1"
steps = [{ call = "update_plan", arguments = { plan = [{ step = "x", status = "pending" }] } }]
[[scene.turn]]
response_id = "resp_2"
expect = "not available in plan mode"
steps = [{ say = "Right." }]
"#,
    )
    .await;
    let mut actor = start_planning(&stage).await;
    let msgs = actor.turn("plan it").await;
    expect![[r#"
        task_started
        item_started UserMessage
        item_completed UserMessage
        user_message "plan it"
        token_count
        item_started ToolCall update_plan InProgress
        item_completed ToolCall update_plan Failed
        response_completed resp_1
        item_started AgentMessage ""
        agent_message_content_delta "Right."
        item_completed AgentMessage "Right."
        agent_message "Right."
        token_count
        response_completed resp_2
        task_complete Some("resp_2") Some("Right.")"#]]
    .assert_eq(&lines(&msgs));
}

#[tokio::test]
async fn a_mode_changes_while_a_task_runs_for_those_after_it() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "<proposed_plan>\nslow" , unfinished = true }, { end = "stall" }]
[[scene.turn]]
steps = [{ say = "two" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    actor.say("first").await;
    actor
        .until(|msg| matches!(msg, EventMsg::AgentMessageContentDelta(_)))
        .await;
    actor
        .submit(Op::OverrideTurnContext {
            overrides: in_mode(CollaborationMode::Plan),
        })
        .await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::TurnContextUpdated(_)))
        .await;
    assert!(!lines(&msgs).contains("plan_delta"), "{}", lines(&msgs));
    actor.submit(Op::Interrupt).await;
    let msgs = actor.until_task_ends().await;
    let interrupted = msgs.iter().any(|msg| {
        matches!(msg, EventMsg::Error(error) if error.error_info == Some(ErrorInfo::Interrupted))
    });
    assert!(interrupted, "{}", lines(&msgs));
    let msgs = actor.turn("second").await;
    assert_eq!(mode_of(&msgs), Some(CollaborationMode::Plan));
    assert_eq!(notes(&stage, 1), ["# Plan mode"]);
}

#[tokio::test]
async fn a_child_does_what_it_is_asked_and_makes_no_plans() {
    let stage = Stage::new(
        r#"
[[scene]]
when = "the errand"
[[scene.turn]]
steps = [{ say = "found it" }]
[[scene]]
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "the errand", task_name = "a" } }]
[[scene.turn]]
steps = [{ say = "spawned" }]
[[scene.turn]]
steps = [{ say = "heard" }]
"#,
    )
    .await
    .with_agents(&[Family::Agents]);
    let mut actor = start_planning(&stage).await;
    actor.turn("begin").await;
    actor.until_task_ends().await;
    let inputs: Vec<String> = (0..stage.requests().len())
        .map(|n| serde_json::to_string(&stage.input_of(n)).unwrap())
        .collect();
    let (parents, children): (Vec<_>, Vec<_>) =
        inputs.iter().partition(|input| input.contains("begin"));
    assert_eq!(children.len(), 1, "{inputs:?}");
    assert!(!children[0].contains("Plan mode"), "{children:?}");
    assert!(
        parents.iter().all(|input| input.contains("Plan mode")),
        "{parents:?}"
    );
}
