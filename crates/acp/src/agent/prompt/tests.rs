use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::user_input;

fn check(prompt: Value, expected: Expect) {
    let prompt: Vec<_> = serde_json::from_value(prompt).unwrap();
    let shown = match user_input(&prompt) {
        Ok(items) => serde_json::to_string(&items).unwrap(),
        Err(problem) => format!("refused: {problem}"),
    };
    expected.assert_eq(&shown);
}

#[test]
fn text_stays_as_it_is() {
    check(
        json!([{"type": "text", "text": "fix it\n"}]),
        expect![[r#"[{"type":"text","text":"fix it\n"}]"#]],
    );
}

#[test]
fn a_picture_becomes_a_data_url() {
    check(
        json!([{"type": "image", "mimeType": "image/png", "data": "aGk="}]),
        expect![[r#"[{"type":"image","image_url":"data:image/png;base64,aGk="}]"#]],
    );
    check(
        json!([{"type": "resource", "resource": {"uri": "file:///a.png", "mimeType": "image/png", "blob": "aGk="}}]),
        expect![[r#"[{"type":"image","image_url":"data:image/png;base64,aGk="}]"#]],
    );
}

#[test]
fn a_file_is_quoted_or_named() {
    check(
        json!([{"type": "resource", "resource": {"uri": "file:///src/a.rs", "text": "fn a() {}\n"}}]),
        expect![[
            r#"[{"type":"text","text":"<resource uri=\"/src/a.rs\">\nfn a() {}\n</resource>"}]"#
        ]],
    );
    check(
        json!([{"type": "resource_link", "name": "a.rs", "uri": "file:///src/a.rs"}]),
        expect![[r#"[{"type":"text","text":"a.rs (/src/a.rs)"}]"#]],
    );
}

#[test]
fn what_cannot_be_taken_is_named() {
    check(
        json!([{"type": "text", "text": "hear:"}, {"type": "audio", "mimeType": "audio/wav", "data": ""}]),
        expect!["refused: prompt[1]: audio is not understood; the capabilities say so"],
    );
    check(
        json!([{"type": "resource", "resource": {"uri": "file:///a.bin", "blob": ""}}]),
        expect![
            "refused: prompt[0]: file:///a.bin is of no known type; only text and images can be taken along"
        ],
    );
    check(
        json!([]),
        expect!["refused: prompt: it is empty; say something"],
    );
}
