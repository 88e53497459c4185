//! Histories that no longer fit.

use troupe_engine::WindowSettings;
use troupe_protocol::EventMsg;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::op::Op;
use troupe_testkit::Stage;

fn small_window() -> WindowSettings {
    WindowSettings {
        context_window: Some(10_000),
        auto_compact_token_limit: None,
    }
}

fn compactions(msgs: &[EventMsg]) -> usize {
    msgs.iter()
        .filter(|msg| matches!(msg, EventMsg::ContextCompacted))
        .count()
}

#[tokio::test]
async fn a_full_context_is_compacted_before_the_next_request() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
usage = { input = 9500, output = 100 }
steps = [{ say = "a very long answer" }]
[[scene.turn]]
expect = "hand-over"
steps = [{ say = "SUMMARY: the user likes cats" }]
[[scene.turn]]
steps = [{ say = "second" }]
[[scene.turn]]
steps = [{ say = "third" }]
"#,
    )
    .await
    .window(small_window());
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("I like cats").await;
    let msgs = actor.turn("what do I like?").await;
    assert_eq!(compactions(&msgs), 1, "{msgs:?}");
    let input = serde_json::to_string(&stage.input_of(2)).unwrap();
    assert!(input.contains("SUMMARY: the user likes cats"), "{input}");
    assert!(input.contains("what do I like?"), "{input}");
    assert!(!input.contains("a very long answer"), "{input}");
    actor.shut_down().await;

    let mut actor = stage.resume(session).await;
    actor.turn("and now?").await;
    let input = serde_json::to_string(&stage.input_of(3)).unwrap();
    assert!(
        input.contains("SUMMARY") && input.contains("second"),
        "{input}"
    );
    assert!(!input.contains("a very long answer"), "{input}");
}

#[tokio::test]
async fn a_request_that_the_server_finds_too_long_is_compacted_and_sent_again() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ status = 400, code = "context_length_exceeded", message = "too long" }]
[[scene.turn]]
steps = [{ say = "SUMMARY" }]
[[scene.turn]]
steps = [{ say = "fits now" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    let msgs = actor.turn("hello").await;
    assert_eq!(compactions(&msgs), 1, "{msgs:?}");
    let Some(EventMsg::TurnComplete(done)) = msgs.last() else {
        panic!("the task completes: {msgs:?}");
    };
    assert_eq!(done.last_agent_message.as_deref(), Some("fits now"));
}

#[tokio::test]
async fn a_context_that_never_fits_is_a_clear_error() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ status = 400, code = "context_length_exceeded", message = "too long" }]
[[scene.turn]]
steps = [{ say = "SUMMARY" }]
[[scene.turn]]
steps = [{ status = 400, code = "context_length_exceeded", message = "too long" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    let msgs = actor.turn("hello").await;
    let [.., EventMsg::Error(error), EventMsg::TurnAborted(_)] = &msgs[..] else {
        panic!("the task ends with an error: {msgs:?}");
    };
    assert_eq!(error.error_info, Some(ErrorInfo::ContextWindowExceeded));
}

#[tokio::test]
async fn the_user_can_ask_for_a_compaction() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "one" }]
[[scene.turn]]
steps = [{ say = "SUMMARY of one" }]
[[scene.turn]]
steps = [{ say = "two" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    actor.turn("first").await;
    actor.submit(Op::Compact).await;
    let msgs = actor.until_task_ends().await;
    assert_eq!(compactions(&msgs), 1, "{msgs:?}");
    actor.turn("second").await;
    let input = serde_json::to_string(&stage.input_of(2)).unwrap();
    assert!(input.contains("SUMMARY of one"), "{input}");
}
