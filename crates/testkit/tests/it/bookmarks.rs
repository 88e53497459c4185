//! Going back: bookmarks, branches, rollback, forks.

use troupe_protocol::error::ErrorInfo;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::{ConfigureSession, ForkPoint, Op};
use troupe_protocol::{EventMsg, ResponseId};
use troupe_testkit::{Actor, Stage};

const FOUR: &str = r#"
[[scene]]
[[scene.turn]]
response_id = "resp_1"
steps = [{ say = "answer one" }]
[[scene.turn]]
response_id = "resp_2"
steps = [{ say = "answer two" }]
[[scene.turn]]
response_id = "resp_3"
steps = [{ say = "answer three" }]
[[scene.turn]]
response_id = "resp_4"
steps = [{ say = "answer four" }]
"#;

async fn turn_from(actor: &mut Actor, text: &str, bookmark: &str) -> Vec<EventMsg> {
    actor
        .submit(Op::UserInput {
            items: vec![UserInput::text(text)],
            final_output_json_schema: None,
            last_response_id: Some(ResponseId::from(bookmark)),
        })
        .await;
    actor
        .until(|msg| {
            matches!(
                msg,
                EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_) | EventMsg::Error(_)
            )
        })
        .await
}

fn input_text(stage: &Stage, n: usize) -> String {
    serde_json::to_string(&stage.input_of(n)).expect("JSON is written as JSON")
}

#[tokio::test]
async fn a_task_continues_from_a_bookmark_and_so_does_a_resumed_session() {
    let stage = Stage::new(FOUR).await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("one").await;
    actor.turn("two").await;
    turn_from(&mut actor, "three", "resp_1").await;
    let input = input_text(&stage, 2);
    assert!(
        input.contains("answer one") && !input.contains("answer two"),
        "{input}"
    );
    actor.shut_down().await;

    let mut actor = stage.resume(session).await;
    actor.turn("four").await;
    let input = input_text(&stage, 3);
    assert!(
        input.contains("answer one")
            && input.contains("answer three")
            && !input.contains("answer two"),
        "{input}"
    );
}

#[tokio::test]
async fn a_branch_that_was_left_can_be_taken_up_again() {
    let stage = Stage::new(FOUR).await;
    let mut actor = stage.start().await;
    actor.turn("one").await;
    actor.turn("two").await;
    turn_from(&mut actor, "three", "resp_1").await;
    turn_from(&mut actor, "four", "resp_2").await;
    let input = input_text(&stage, 3);
    assert!(
        input.contains("answer one")
            && input.contains("answer two")
            && !input.contains("answer three"),
        "{input}"
    );
}

#[tokio::test]
async fn an_unknown_bookmark_aborts_nothing() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "one two" }, { end = "stall" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    actor.say("one").await;
    actor
        .until(|msg| matches!(msg, EventMsg::AgentMessageContentDelta(_)))
        .await;
    let msgs = turn_from(&mut actor, "two", "resp_nowhere").await;
    let Some(EventMsg::Error(error)) = msgs.last() else {
        panic!("an error is told, and nothing else happens: {msgs:?}");
    };
    assert_eq!(error.error_info, Some(ErrorInfo::NotFound));
    assert!(!error.fatal);
}

#[tokio::test]
async fn a_bookmark_of_another_session_makes_a_fork_of_it() {
    let stage = Stage::new(FOUR).await;
    let mut first = stage.start().await;
    first.turn("one").await;
    first.turn("two").await;
    let source = first.session_id();
    first.shut_down().await;

    let mut second = stage.start().await;
    let before = second.session_id();
    turn_from(&mut second, "three", "resp_1").await;
    let configured = second
        .seen()
        .iter()
        .rev()
        .find_map(|event| match &event.msg {
            EventMsg::SessionConfigured(configured) => Some(configured.clone()),
            _ => None,
        });
    let configured = configured.unwrap();
    assert_eq!(configured.forked_from_id, Some(source));
    assert_ne!(configured.session_id, before);
    assert_ne!(configured.session_id, source);
    let last = stage.requests().len() - 1;
    let input = input_text(&stage, last);
    assert!(
        input.contains("answer one") && !input.contains("answer two"),
        "{input}"
    );
}

#[tokio::test]
async fn a_rollback_takes_turns_out_of_the_history() {
    let stage = Stage::new(FOUR).await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("one").await;
    actor.turn("two").await;
    actor.submit(Op::ThreadRollback { num_turns: 1 }).await;
    actor
        .until(|msg| matches!(msg, EventMsg::ThreadRolledBack { .. }))
        .await;
    actor.turn("three").await;
    let input = input_text(&stage, 2);
    assert!(
        input.contains("answer one") && !input.contains("answer two"),
        "{input}"
    );
    actor.shut_down().await;

    let mut actor = stage.resume(session).await;
    actor.turn("four").await;
    let input = input_text(&stage, 3);
    assert!(
        input.contains("answer one")
            && input.contains("answer three")
            && !input.contains("answer two"),
        "{input}"
    );
}

#[tokio::test]
async fn a_rollback_that_goes_too_far_says_how_far_one_can_go() {
    let stage = Stage::new(FOUR).await;
    let mut actor = stage.start().await;
    actor.turn("one").await;
    for num_turns in [0, 2] {
        actor.submit(Op::ThreadRollback { num_turns }).await;
        let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
        let Some(EventMsg::Error(error)) = msgs.last() else {
            panic!("until returns the event it waited for");
        };
        assert_eq!(error.error_info, Some(ErrorInfo::ThreadRollbackFailed));
        assert!(
            error.message.contains("between 1 and 1"),
            "{}",
            error.message
        );
    }
}

#[tokio::test]
async fn a_fork_goes_on_by_itself() {
    let stage = Stage::new(FOUR).await;
    let mut first = stage.start().await;
    first.turn("one").await;
    first.turn("two").await;
    let source = first.session_id();
    let mut fork = stage
        .start_with(ConfigureSession {
            fork: Some(ForkPoint {
                session_id: source,
                last_response_id: None,
                turns: None,
                turn: None,
            }),
            ..ConfigureSession::default()
        })
        .await;
    assert_ne!(fork.session_id(), source);
    fork.turn("three").await;
    let last = stage.requests().len() - 1;
    let input = input_text(&stage, last);
    assert!(
        input.contains("answer one") && input.contains("answer two"),
        "{input}"
    );
    let first_usage = first.turn("three").await;
    assert!(matches!(
        first_usage.last(),
        Some(EventMsg::TurnComplete(_))
    ));
}
