//! Pictures, mentions and marked text: what a message may carry besides words.

use std::fs;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use troupe_protocol::EventMsg;
use troupe_protocol::event::ErrorEvent;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::Op;
use troupe_testkit::{Actor, Stage};

const TALK: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "one" }]
[[scene.turn]]
steps = [{ say = "two" }]
"#;

/// A PNG of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn png() -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD
        .decode(PNG)
        .unwrap()
}

async fn submit(actor: &mut Actor, items: Value) {
    let items: Vec<UserInput> = serde_json::from_value(items).unwrap();
    actor
        .submit(Op::UserInput {
            items,
            final_output_json_schema: None,
            last_response_id: None,
        })
        .await;
}

async fn refused(actor: &mut Actor, items: Value) -> ErrorEvent {
    submit(actor, items).await;
    let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    match msgs.into_iter().next_back() {
        Some(EventMsg::Error(error)) => error,
        other => panic!("until returns what it waited for: {other:?}"),
    }
}

/// Returns the content of the last message of the n-th request.
fn content(stage: &Stage, n: usize) -> Value {
    let input = stage.input_of(n);
    input[input.len() - 1]["content"].clone()
}

fn user_messages(msgs: &[EventMsg]) -> Vec<Vec<UserInput>> {
    let messages = msgs.iter().filter_map(|msg| match msg {
        EventMsg::UserMessage { content, .. } => Some(content.clone()),
        _ => None,
    });
    messages.collect()
}

/// What is asked meanwhile is answered before the message with the picture begins its task, and
/// an interrupt ends the waiting.
#[tokio::test]
async fn a_large_picture_is_decoded_beside_the_session() {
    let stage = Stage::new(TALK).await;
    let large = image::GrayImage::new(4_000, 4_000);
    large.save(stage.cwd().join("large.png")).unwrap();
    let mut actor = stage.start().await;
    let message = json!([{"type": "local_image", "path": "large.png"}]);
    submit(&mut actor, message.clone()).await;
    actor.submit(Op::ListModels { refresh: false }).await;
    actor.say("and then?").await;
    let name = "pictures".to_owned();
    actor.submit(Op::SetThreadName { name }).await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::ThreadNameUpdated { .. }))
        .await;
    let is_list = |msg: &EventMsg| matches!(msg, EventMsg::ListModelsResponse(_));
    assert!(msgs.iter().any(is_list), "{msgs:?}");
    let is_start = |msg: &EventMsg| matches!(msg, EventMsg::TurnStarted(_));
    assert!(!msgs.iter().any(is_start), "{msgs:?}");
    // The order of messages is kept: the second replaces the first.
    let msgs = actor.until_task_ends().await;
    assert!(
        matches!(msgs.last(), Some(EventMsg::TurnAborted(_))),
        "{msgs:?}"
    );
    actor.until_task_ends().await;
    assert_eq!(
        content(&stage, stage.requests().len() - 1)[0]["text"],
        "and then?"
    );

    submit(&mut actor, message).await;
    actor.submit(Op::Interrupt).await;
    let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    let Some(EventMsg::Error(error)) = msgs.last() else {
        panic!("until returns what it waited for: {msgs:?}");
    };
    assert!(
        error.message.contains("interrupted before its pictures"),
        "{error:?}"
    );
    assert!(!msgs.iter().any(is_start), "{msgs:?}");
}

#[tokio::test]
async fn a_picture_is_sent_and_resumed() {
    let stage = Stage::new(TALK).await;
    fs::write(stage.cwd().join("dot.jpg"), png()).unwrap();
    let mut actor = stage.start().await;
    let session = actor.session_id();
    let items = json!([
        {"type": "local_image", "path": "dot.jpg", "detail": "high"},
        {"type": "image", "image_url": "https://example.org/a.png"},
        {"type": "text", "text": "what is this?"},
    ]);
    submit(&mut actor, items.clone()).await;
    let msgs = actor.until_task_ends().await;
    let sent = content(&stage, 0);
    let url = format!("data:image/png;base64,{PNG}");
    assert_eq!(
        sent,
        json!([
            {"type": "input_image", "image_url": url, "detail": "high"},
            {"type": "input_image", "image_url": "https://example.org/a.png"},
            {"type": "input_text", "text": "what is this?"},
        ])
    );
    let shown = &user_messages(&msgs)[0];
    assert_eq!(serde_json::to_value(shown).unwrap(), items);
    actor.shut_down().await;
    fs::remove_file(stage.cwd().join("dot.jpg")).unwrap();
    let mut actor = stage.resume(session).await;
    actor.turn("and now?").await;
    let input = stage.input_of(1);
    assert!(input.iter().any(|item| item["content"] == sent));
}

#[tokio::test]
async fn a_picture_that_cannot_be_shown_is_refused_and_loses_nothing() {
    let stage = Stage::new(TALK).await;
    fs::write(stage.cwd().join("half.png"), &png()[..50]).unwrap();
    fs::write(stage.cwd().join("words.png"), "words").unwrap();
    let mut actor = stage.start().await;
    let mut check = async |item: Value, expected: Expect| {
        let error = refused(&mut actor, json!([item])).await;
        let cwd = stage.cwd().display().to_string();
        expected.assert_eq(&error.message.replace(&cwd, "CWD"));
    };
    check(
        json!({"type": "local_image", "path": "half.png"}),
        expect!["local_image: CWD/half.png cannot be decoded: unexpected end of file"],
    )
    .await;
    check(
        json!({"type": "local_image", "path": "words.png"}),
        expect![
            "local_image: CWD/words.png is not a PNG, JPEG, GIF or WebP image, by its first bytes"
        ],
    )
    .await;
    check(
        json!({"type": "local_image", "path": "none.png"}),
        expect!["local_image: cannot open CWD/none.png: it does not exist"],
    )
    .await;
    check(
        json!({"type": "local_image", "path": "."}),
        expect!["local_image: CWD/. is a directory, not a file; list it with list_dir"],
    )
    .await;
    check(
        json!({"type": "image", "image_url": "words"}),
        expect![
            "image_url begins with neither https:, http: nor data:; send a file as local_image"
        ],
    )
    .await;
    actor.turn("hi").await;
    assert_eq!(stage.requests().len(), 1);
}

#[tokio::test]
async fn a_mention_tells_where_it_leads() {
    let stage = Stage::new(TALK).await;
    stage.write("plan.md", "the plan");
    let mut actor = stage.start().await;
    let items = json!([
        {"type": "text", "text": "ask them about it"},
        {"type": "mention", "name": "Calendar", "path": "app://cal_1"},
        {"type": "mention", "name": "the plan", "path": "plan.md"},
    ]);
    submit(&mut actor, items.clone()).await;
    let msgs = actor.until_task_ends().await;
    let plan = stage.cwd().join("plan.md");
    let plan = format!("<mention name=\"the plan\">{}</mention>", plan.display());
    assert_eq!(
        content(&stage, 0),
        json!([
            {"type": "input_text", "text": "ask them about it"},
            {"type": "input_text", "text": "<mention name=\"Calendar\">app://cal_1</mention>"},
            {"type": "input_text", "text": plan},
        ])
    );
    assert_eq!(
        serde_json::to_value(&user_messages(&msgs)[0]).unwrap(),
        items
    );
    let item = json!([{"type": "mention", "name": "x", "path": "nowhere.md"}]);
    let error = refused(&mut actor, item).await;
    assert!(
        error.message.contains("which is not there"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn marks_in_a_text_are_for_people() {
    let stage = Stage::new(TALK).await;
    let mut actor = stage.start().await;
    let items = json!([{"type": "text", "text": "see paste", "text_elements": [
        {"byte_range": {"start": 4, "end": 9}, "placeholder": "[9 lines]"},
    ]}]);
    submit(&mut actor, items.clone()).await;
    let msgs = actor.until_task_ends().await;
    assert_eq!(
        content(&stage, 0),
        json!([{"type": "input_text", "text": "see paste"}])
    );
    assert_eq!(
        serde_json::to_value(&user_messages(&msgs)[0]).unwrap(),
        items
    );
    let beyond = json!([{"type": "text", "text": "x", "text_elements": [
        {"byte_range": {"start": 0, "end": 2}},
    ]}]);
    let error = refused(&mut actor, beyond).await;
    assert!(
        error.message.starts_with("text_elements[0] is no part"),
        "{}",
        error.message
    );
}
