//! Servers and models that misbehave, over a real socket.

use troupe_engine::limits::{BROKEN_OFF_TEXT_BYTES_MAX, PAUSES_MAX};
use troupe_model::WireApi;
use troupe_model::limits::RESPONSE_HELD_BYTES_MAX;
use troupe_protocol::EventMsg;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::item::TurnItem;
use troupe_protocol::rollout::RolloutRecord;
use troupe_store::LogPosition;
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

fn warnings(msgs: &[EventMsg]) -> Vec<&str> {
    msgs.iter()
        .filter_map(|msg| match msg {
            EventMsg::Warning { message } => Some(message.as_str()),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn an_answer_that_never_ends_is_cut_told_and_kept() {
    // It does not repeat itself: one that does is stopped earlier.
    let piece: Vec<String> = (0..800).map(|number| format!("w{number} ")).collect();
    let piece = piece.concat();
    let stage = Stage::new(&format!(
        r#"
[[scene]]
[[scene.turn]]
steps = [{{ say = "{piece}", deltas = 4096, unfinished = true }}]
[[scene.turn]]
steps = [{{ say = "all is well" }}]
"#
    ))
    .await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    let msgs = actor.turn("hello").await;
    let [.., EventMsg::Error(error), EventMsg::TurnAborted(_)] = &msgs[..] else {
        panic!("the task ends with an error: {:?}", msgs.last());
    };
    let told = &error.message;
    assert!(told.contains("holds more than 8388608 bytes"), "{told}");
    let said = messages(&msgs);
    let [said] = &said[..] else {
        panic!("one message was completed: {}", said.len());
    };
    let half = RESPONSE_HELD_BYTES_MAX / 2;
    assert!(
        (half..=RESPONSE_HELD_BYTES_MAX + 65_536).contains(&said.len()),
        "{}",
        said.len()
    );
    assert_eq!(stage.requests().len(), 1, "it is not tried again");

    let msgs = actor.turn("and on").await;
    assert_eq!(messages(&msgs), ["all is well"]);
    let request = String::from_utf8_lossy(&stage.requests()[1].body).into_owned();
    assert!(
        request.len() < 2 * BROKEN_OFF_TEXT_BYTES_MAX,
        "{}",
        request.len()
    );
    assert!(request.contains("more bytes of this message were left out"));
    actor.shut_down().await;
    // The log has all of it.
    let log = stage
        .store()
        .read_all(session, LogPosition::default())
        .await
        .unwrap();
    let lines = log.lines.iter().map(|line| line.record().unwrap().record);
    let kept = lines.filter(|record| matches!(record, RolloutRecord::EventMsg(event) if matches!(&event.msg, EventMsg::ItemCompleted { item: TurnItem::AgentMessage(item), .. } if item.text == **said)));
    assert_eq!(kept.count(), 1);
}

/// A small model that has got stuck would go on until its window is full.
#[tokio::test]
async fn a_model_that_repeats_itself_is_stopped_with_a_reason_of_its_own() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "Let me look at the file again. ", deltas = 4096, unfinished = true }, { end = "stall" }]
[[scene.turn]]
steps = [{ say = "all is well" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    let msgs = actor.turn("hello").await;
    let [.., EventMsg::Error(error), EventMsg::TurnAborted(_)] = &msgs[..] else {
        panic!("the task ends with an error: {:?}", msgs.last());
    };
    assert_eq!(error.error_info, Some(ErrorInfo::ModelRepeatsItself));
    assert!(
        error.message.contains("the model repeats itself"),
        "{error:?}"
    );
    assert_eq!(retries(&msgs), 0);
    assert!(messages(&msgs)[0].starts_with("Let me look"), "it is kept");
    assert_eq!(stage.requests().len(), 1, "it is not tried again");
    let msgs = actor.turn("and on").await;
    assert_eq!(messages(&msgs), ["all is well"]);
}

#[tokio::test]
async fn a_response_that_the_provider_lost_is_made_up_for_by_the_whole_history() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
response_id = "resp_1"
steps = [{ say = "one" }]
[[scene.turn]]
steps = [{ status = 400, code = "previous_response_not_found", message = "Previous response with id 'resp_1' not found." }]
[[scene.turn]]
response_id = "resp_2"
steps = [{ say = "two" }]
[[scene.turn]]
steps = [{ say = "three" }]
"#,
    )
    .await
    .stateful();
    let mut actor = stage.start().await;
    actor.turn("first").await;
    let msgs = actor.turn("the middle turn").await;
    assert_eq!(messages(&msgs), ["two"], "{msgs:?}");
    let [warning] = &warnings(&msgs)[..] else {
        panic!("one warning: {msgs:?}");
    };
    assert!(
        warning.contains("the whole conversation is sent"),
        "{warning}"
    );
    let sent = |n: usize| String::from_utf8_lossy(&stage.requests()[n].body).into_owned();
    assert!(sent(1).contains("\"previous_response_id\":\"resp_1\""));
    assert!(!sent(2).contains("previous_response_id") && sent(2).contains("first"));
    // What the provider has again is gone on from.
    let msgs = actor.turn("third").await;
    assert_eq!(warnings(&msgs), Vec::<&str>::new());
    assert!(
        sent(3).contains("\"previous_response_id\":\"resp_2\""),
        "{}",
        sent(3)
    );
    assert!(!sent(3).contains("the middle turn"), "{}", sent(3));
}

#[tokio::test]
async fn a_picture_that_the_provider_cannot_fetch_is_taken_out_with_a_warning() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ status = 400, code = "invalid_image_url", message = "Error while downloading https://example.org/gone.png." }]
[[scene.turn]]
steps = [{ say = "I see one" }]
[[scene.turn]]
steps = [{ say = "still" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    actor
        .submit_json(
            r#"{"type":"user_input","items":[
                {"type":"text","text":"what is this?"},
                {"type":"image","image_url":"https://example.org/gone.png"},
                {"type":"image","image_url":"https://example.org/there.png"}]}"#,
        )
        .await;
    let msgs = actor.until_task_ends().await;
    assert_eq!(messages(&msgs), ["I see one"], "{msgs:?}");
    let [warning] = &warnings(&msgs)[..] else {
        panic!("one warning: {msgs:?}");
    };
    assert!(
        warning.contains("taken out of the conversation: https://example.org/gone.png"),
        "{warning}"
    );
    actor.turn("and now?").await;
    for n in [1, 2] {
        let pictures: Vec<String> = stage
            .input_of(n)
            .iter()
            .filter_map(|item| item["content"].as_array())
            .flatten()
            .filter_map(|part| Some(part["image_url"].as_str()?.to_owned()))
            .collect();
        assert_eq!(pictures, ["https://example.org/there.png"]);
    }
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
