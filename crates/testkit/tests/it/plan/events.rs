//! What clients see of a plan, live, after a broken stream, and afterwards.

use expect_test::expect;
use troupe_engine::events::expand;
use troupe_protocol::event::EventMsg;
use troupe_protocol::op::Op;
use troupe_protocol::policy::CollaborationMode;
use troupe_protocol::rollout::RolloutRecord;
use troupe_store::LogPosition;
use troupe_testkit::Stage;

use super::{in_mode, lines, plans, start_planning, turn_with};

const PLAN: &str = r#"
[[scene]]
[[scene.turn]]
response_id = "resp_1"
steps = [{ say = """
I looked.
<proposed_plan>
1. Read
2. Write
</proposed_plan>
Tell me.""", chunks = 6 }]
[[scene.turn]]
response_id = "resp_2"
steps = [{ say = "Done." }]
"#;

#[tokio::test]
async fn a_plan_is_streamed_and_completed_beside_the_message() {
    let stage = Stage::new(PLAN).await;
    let mut actor = start_planning(&stage).await;
    let msgs = actor.turn("how would you do it?").await;
    expect![[r#"
        task_started
        item_started UserMessage
        item_completed UserMessage
        user_message "how would you do it?"
        item_started AgentMessage ""
        agent_message_content_delta "I looked.\n"
        item_started Plan ""
        plan_delta "1. Read\n2."
        plan_delta " Write\n"
        agent_message_content_delta "Tell me."
        item_completed AgentMessage "I looked.\nTell me."
        agent_message "I looked.\nTell me."
        item_completed Plan "1. Read\n2. Write\n"
        token_count
        response_completed resp_1
        task_complete Some("resp_1") Some("I looked.\n1. Read\n2. Write\nTell me.")"#]]
    .assert_eq(&lines(&msgs));
}

#[tokio::test]
async fn the_plan_is_in_the_rollout_and_the_model_is_sent_what_it_said() {
    let stage = Stage::new(PLAN).await;
    let mut actor = start_planning(&stage).await;
    let session = actor.session_id();
    let live = actor.turn("how would you do it?").await;
    actor.shut_down().await;

    // Whoever comes later reads the same items, with their older names.
    let batch = stage
        .store()
        .read_all(session, LogPosition(0))
        .await
        .unwrap();
    let records = batch.lines.iter().map(|line| line.record().unwrap().record);
    let replayed: Vec<EventMsg> = records
        .filter_map(|record| match record {
            RolloutRecord::EventMsg(event) => Some(event),
            _ => None,
        })
        .flat_map(expand)
        .map(|event| event.msg)
        .collect();
    assert_eq!(plans(&replayed), plans(&live));
    assert_eq!(plans(&replayed), ["1. Read\n2. Write\n"]);
    assert!(
        lines(&replayed).contains(r#"agent_message "I looked.\nTell me.""#),
        "{}",
        lines(&replayed)
    );

    let mut actor = stage.resume(session).await;
    let EventMsg::SessionConfigured(configured) = &actor.seen()[0].msg else {
        panic!("a session is configured first");
    };
    assert_eq!(
        configured.context.collaboration_mode,
        CollaborationMode::Plan
    );
    actor.turn("do it").await;
    let input = serde_json::to_string(&stage.input_of(1)).unwrap();
    assert!(
        input
            .contains(r"I looked.\n<proposed_plan>\n1. Read\n2. Write\n</proposed_plan>\nTell me."),
        "{input}"
    );
}

#[tokio::test]
async fn a_broken_stream_resets_the_plan() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = """
So:
<proposed_plan>
1. Wrong
2. Wr""", unfinished = true }, { end = "drop" }]
[[scene.turn]]
steps = [{ say = """
So:
<proposed_plan>
1. Right
</proposed_plan>""" }]
"#,
    )
    .await;
    let mut actor = start_planning(&stage).await;
    let msgs = actor.turn("plan it").await;
    let mut plan = String::new();
    let mut message = String::new();
    for msg in &msgs {
        let (shown, delta) = match msg {
            EventMsg::PlanDelta(delta) => (&mut plan, delta),
            EventMsg::AgentMessageContentDelta(delta) => (&mut message, delta),
            _ => continue,
        };
        if delta.snapshot {
            shown.clear();
        }
        shown.push_str(&delta.delta);
    }
    assert_eq!(plan, "1. Right\n", "{}", lines(&msgs));
    assert_eq!(message, "So:\n", "{}", lines(&msgs));
    assert_eq!(plans(&msgs), ["1. Right\n"]);
    let begun = msgs.iter().filter(|msg| {
        matches!(
            msg,
            EventMsg::ItemStarted {
                item: troupe_protocol::TurnItem::Plan(_),
                ..
            }
        )
    });
    assert_eq!(begun.count(), 1, "{}", lines(&msgs));
}

#[tokio::test]
async fn an_interrupted_plan_is_kept_as_far_as_it_came() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = """
<proposed_plan>
1. Half
""", unfinished = true }, { end = "stall" }]
[[scene.turn]]
steps = [{ say = "again" }]
"#,
    )
    .await;
    let mut actor = start_planning(&stage).await;
    actor.say("plan it").await;
    actor
        .until(|msg| matches!(msg, EventMsg::PlanDelta(delta) if delta.delta.contains("Half")))
        .await;
    actor.submit(Op::Interrupt).await;
    let msgs = actor.until_task_ends().await;
    assert_eq!(plans(&msgs).len(), 1, "{}", lines(&msgs));
    assert!(plans(&msgs)[0].starts_with("1. Half"), "{}", lines(&msgs));
    actor.turn("and?").await;
    let input = serde_json::to_string(&stage.input_of(1)).unwrap();
    assert!(input.contains(r"<proposed_plan>\n1. Half"), "{input}");
}

#[tokio::test]
async fn outside_of_plan_mode_there_are_no_plans() {
    let stage = Stage::new(PLAN).await;
    let mut actor = stage.start().await;
    let msgs = turn_with(&mut actor, "hi", in_mode(CollaborationMode::Default)).await;
    assert_eq!(plans(&msgs), Vec::<&str>::new());
    assert!(lines(&msgs).contains("<proposed_plan>"), "{}", lines(&msgs));
}
