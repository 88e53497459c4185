use expect_test::{Expect, expect};
use serde_json::{Value, json};
use troupe_protocol::history::{ContentItem, ToolOutputBody};

use super::{McpAnswer, of_call, of_resource};

fn shown(answer: &McpAnswer) -> String {
    let body = match &answer.body {
        ToolOutputBody::Text(text) => text.clone(),
        ToolOutputBody::Parts(parts) => {
            let part = |part: &ContentItem| match part {
                ContentItem::InputImage { image_url, .. } => format!("<{image_url}>"),
                other => other.text().unwrap_or_default().to_owned(),
            };
            parts.iter().map(part).collect::<Vec<_>>().join("\n")
        }
    };
    if answer.is_error {
        format!("error: {body}")
    } else {
        body
    }
}

fn check(result: Value, expected: Expect) {
    expected.assert_eq(&shown(&of_call(result)));
}

#[test]
fn texts_follow_one_another() {
    check(
        json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
        expect![[r#"
            a
            b"#]],
    );
    check(json!({"content": []}), expect!["the answer is empty"]);
    check(
        json!({"content": [{"type": "text", "text": "no"}], "isError": true}),
        expect!["error: no"],
    );
}

#[test]
fn what_is_structured_is_told_once() {
    check(
        json!({"content": [], "structuredContent": {"a": 1}}),
        expect![[r#"{"a":1}"#]],
    );
    check(
        json!({"content": [{"type": "text", "text": "a is 1"}], "structuredContent": {"a": 1}}),
        expect!["a is 1"],
    );
}

#[test]
fn pictures_are_shown_and_sounds_are_not() {
    check(
        json!({"content": [
            {"type": "text", "text": "look"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "image", "data": "AAAA", "mimeType": "image/svg+xml"},
            {"type": "audio", "data": "AAAAAAAA", "mimeType": "audio/wav"},
        ]}),
        expect![[r#"
            look
            [image, image/svg+xml, 3 bytes: left out]
            [audio, audio/wav, 6 bytes: left out]
            <data:image/png;base64,AAAA>"#]],
    );
}

#[tokio::test]
async fn a_picture_that_cannot_be_decoded_is_told_as_text() {
    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let image = |data: &str| json!({"type": "image", "data": data, "mimeType": "image/png"});
    let result = json!({"content": [image("AAAA"), image(PNG), image(&PNG[..60]), image("%")]});
    let shown = shown(&of_call(result).decoded().await);
    expect![[r#"
        [image: left out, the picture of the data URL is not a PNG, JPEG, GIF or WebP image, by its first bytes]
        <data:image/png;base64,PNG>
        [image: left out, the picture of the data URL cannot be decoded: unexpected end of file]
        [image: left out, the data URL is not base64: Invalid symbol 37, offset 0.]"#]].assert_eq(&shown.replace(PNG, "PNG"));
}

#[test]
fn resources_say_where_they_are_from() {
    check(
        json!({"content": [
            {"type": "resource_link", "uri": "a://b", "name": "b", "mimeType": "text/plain", "description": "The b."},
            {"type": "resource", "resource": {"uri": "a://c", "text": "see"}},
            {"type": "resource", "resource": {"uri": "a://d", "blob": "AAAA", "mimeType": "application/zip"}},
        ]}),
        expect![[r#"
            [resource b: a://b (text/plain)] The b.
            [resource a://c]
            see
            [resource a://d, application/zip, 3 bytes: left out]"#]],
    );
    let read = of_resource(json!({"contents": [{"uri": "a://c", "text": "see"}]}));
    assert_eq!(shown(&read), "[resource a://c]\nsee");
}

#[test]
fn what_nobody_knows_is_told_as_it_is() {
    check(
        json!({"content": [{"type": "smell", "of": "roses"}]}),
        expect![[r#"{"type":"smell","of":"roses"}"#]],
    );
    check(json!(7), expect!["the answer is empty"]);
}

#[test]
fn a_long_answer_is_cut_and_says_so() {
    let long = of_call(json!({"content": [{"type": "text", "text": "x".repeat(100_000)}]}));
    let shown = shown(&long);
    assert!(shown.len() < 41_000, "{}", shown.len());
    assert!(shown.contains("tokens truncated"));
    assert!(long.kept.to_string().len() < 50_000);
}
