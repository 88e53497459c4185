//! Servers and models that misbehave, over a real socket.

use troupe_engine::limits::PAUSES_MAX;
use troupe_model::WireApi;
use troupe_protocol::EventMsg;
use troupe_protocol::error::ErrorInfo;
use troupe_testkit::Stage;

fn retries(msgs: &[EventMsg]) -> usize {
    msgs.iter()
        .filter(|msg| matches!(msg, EventMsg::StreamError(_)))
        .count()
}

fn messages(msgs: &[EventMsg]) -> Vec<&str> {
    msgs.iter()
        .filter_map(|msg| match msg {
            EventMsg::AgentMessage { message } => Some(message.as_str()),
            _ => None,
        })
        .collect()
}

/// Puts together what a client shows that follows deltas and snapshots.
fn shown(msgs: &[EventMsg]) -> String {
    let mut text = String::new();
    for msg in msgs {
        if let EventMsg::AgentMessageContentDelta(delta) = msg {
            if delta.snapshot {
                text.clear();
            }
            text.push_str(&delta.delta);
        }
    }
    text
}

async fn play(first: &str) -> Vec<EventMsg> {
    let stage = Stage::new(&format!(
        r#"
[[scene]]
[[scene.turn]]
{first}
[[scene.turn]]
steps = [{{ say = "all is well" }}]
"#
    ))
    .await
    .idle_timeout_ms(300);
    let mut actor = stage.start().await;
    actor.turn("hello").await
}

#[tokio::test]
async fn a_stream_that_breaks_is_tried_again_and_nothing_is_shown_twice() {
    for first in [
        r#"steps = [{ say = "all is" }, { end = "drop" }]"#,
        r#"steps = [{ say = "all is" }, { end = "stall" }]"#,
        r#"steps = [{ say = "all is" }, { malformed = "{not json" }]"#,
        r#"steps = [{ status = 429, retry_after = 0, message = "slow down" }]"#,
        r#"steps = [{ status = 500, message = "oops" }]"#,
    ] {
        let msgs = play(first).await;
        assert!(retries(&msgs) >= 1, "{first}: {msgs:?}");
        assert_eq!(messages(&msgs), ["all is well"], "{first}");
        assert_eq!(shown(&msgs), "all is well", "{first}");
        assert!(
            matches!(msgs.last(), Some(EventMsg::TurnComplete(_))),
            "{first}"
        );
    }
}

#[tokio::test]
async fn after_the_limit_the_error_is_fatal_and_clear_and_the_session_goes_on() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ status = 500, message = "oops" }]
[[scene.turn]]
steps = [{ status = 500, message = "oops" }]
[[scene.turn]]
steps = [{ status = 500, message = "oops" }]
[[scene.turn]]
steps = [{ say = "back again" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    let msgs = actor.turn("hello").await;
    let [.., EventMsg::Error(error), EventMsg::TurnAborted(_)] = &msgs[..] else {
        panic!("the task ends with an error: {msgs:?}");
    };
    assert!(error.fatal);
    assert!(error.message.contains("oops"), "{}", error.message);
    let msgs = actor.turn("again").await;
    assert_eq!(messages(&msgs), ["back again"]);
}

#[tokio::test]
async fn a_refused_key_is_not_tried_again() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ status = 401, message = "bad key" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    let msgs = actor.turn("hello").await;
    assert_eq!(retries(&msgs), 0);
    let [.., EventMsg::Error(error), EventMsg::TurnAborted(_)] = &msgs[..] else {
        panic!("the task ends with an error: {msgs:?}");
    };
    assert_eq!(error.error_info, Some(ErrorInfo::Unauthorized));
}

#[tokio::test]
async fn an_item_that_is_repeated_counts_once() {
    let msgs = play(r#"steps = [{ say = "just once" }, { repeat = true }]"#).await;
    assert_eq!(messages(&msgs), ["just once"]);
}

#[tokio::test]
async fn arguments_that_are_not_json_are_told_to_the_model() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = "{\"command\": " }]
[[scene.turn]]
steps = [{ call = "no_such_tool", arguments = {} }]
[[scene.turn]]
steps = [{ say = "sorry" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    let msgs = actor.turn("hello").await;
    assert_eq!(messages(&msgs), ["sorry"]);
    let output = |n: usize| {
        let input = stage.input_of(n);
        let last = input.last().unwrap();
        last["output"].as_str().unwrap().to_owned()
    };
    assert!(output(1).contains("JSON"), "{}", output(1));
    assert!(output(2).contains("no_such_tool"), "{}", output(2));
}

#[tokio::test]
async fn a_repeated_call_id_leaves_no_call_without_an_answer() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [
    { call = "shell_command", call_id = "same", arguments = { command = "echo one" } },
    { call = "shell_command", call_id = "same", arguments = { command = "echo two" } },
]
[[scene.turn]]
steps = [{ say = "done" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    actor.turn("hello").await;
    let input = stage.input_of(1);
    let ids = |kind: &str| -> Vec<String> {
        let items = input.iter().filter(|item| item["type"] == kind);
        items
            .map(|item| item["call_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids("function_call"), ["same", "same_2"]);
    assert_eq!(ids("function_call_output"), ["same", "same_2"]);
}

/// A model that pauses so often, and then is done.
async fn pausing(times: u32) -> (Stage, Vec<EventMsg>) {
    let pause = "[[scene.turn]]\nsteps = [{ say = 'half ' }, { incomplete = 'pause_turn' }]\n";
    let pauses = pause.repeat(usize::try_from(times).unwrap());
    let done = "[[scene.turn]]\nsteps = [{ say = 'done' }]\n";
    let stage = Stage::new(&format!("[[scene]]\n{pauses}{done}")).await;
    let stage = stage.wire(WireApi::Messages);
    let msgs = stage.start().await.turn("go").await;
    (stage, msgs)
}

#[tokio::test]
async fn a_model_that_pauses_goes_on_from_what_it_said() {
    let (stage, msgs) = pausing(2).await;
    assert_eq!(messages(&msgs), ["half ", "half ", "done"]);
    assert!(matches!(msgs.last(), Some(EventMsg::TurnComplete(_))));
    let body: serde_json::Value = serde_json::from_slice(&stage.requests()[1].body).unwrap();
    let last = body["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["role"], "assistant");
}

#[tokio::test]
async fn a_model_that_only_pauses_is_stopped() {
    let (stage, msgs) = pausing(PAUSES_MAX + 1).await;
    let told = |msg: &EventMsg| matches!(msg, EventMsg::Error(error) if error.fatal && error.message.contains("paused"));
    assert!(msgs.iter().any(told), "{msgs:#?}");
    assert_eq!(stage.requests().len(), PAUSES_MAX as usize + 1);
}
