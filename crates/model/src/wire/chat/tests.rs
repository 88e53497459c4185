use std::sync::Arc;

use expect_test::{Expect, expect};
use serde_json::json;
use troupe_protocol::policy::{ReasoningEffort, ReasoningSummary};

use super::*;
use crate::EncodedInstructions;
use crate::request::{ModelToolChoice, ToolSet};

fn request(items: Vec<ResponseItem>) -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        instructions: Arc::new(EncodedInstructions::new("Be brief.")),
        input: items
            .into_iter()
            .map(|item| Arc::new(item.into()))
            .collect(),
        tools: Arc::default(),
        tool_choice: ModelToolChoice::Auto,
        parallel_tool_calls: true,
        effort: None,
        summary: ReasoningSummary::Auto,
        output_schema: None,
        previous: None,
        prompt_cache_key: None,
        conversation: None,
    }
}

/// Compares the messages only, one per line.
#[track_caller]
fn check(items: Vec<ResponseItem>, expected: Expect) {
    let text = body(&request(items), None).to_text();
    let value: Value = serde_json::from_str(&text).expect("a body is JSON");
    let messages = value["messages"].as_array().unwrap();
    let lines: String = messages
        .iter()
        .map(|message| message.to_string() + "\n")
        .collect();
    expected.assert_eq(&lines);
}

fn developer(text: &str) -> ResponseItem {
    ResponseItem::Message {
        id: None,
        role: Role::Developer,
        content: vec![ContentItem::InputText { text: text.into() }],
        metadata: None,
        said: false,
    }
}

fn call(call_id: &str) -> ResponseItem {
    ResponseItem::FunctionCall {
        id: None,
        name: "shell".into(),
        arguments: "{}".into(),
        call_id: call_id.into(),
    }
}

fn output(call_id: &str, output: impl Into<ToolOutputBody>) -> ResponseItem {
    ResponseItem::FunctionCallOutput {
        call_id: call_id.into(),
        output: output.into(),
    }
}

fn image() -> ContentItem {
    ContentItem::InputImage {
        image_url: "data:image/png;base64,AAAA".into(),
        detail: None,
    }
}

#[test]
fn a_message_and_its_calls_are_one() {
    check(
        vec![
            ResponseItem::user_text("go"),
            ResponseItem::assistant_text("looking"),
            call("1"),
            call("2"),
            output("1", "one"),
            output("2", "two"),
            ResponseItem::assistant_text("done"),
            ResponseItem::user_text("thanks"),
        ],
        expect![[r#"
            {"role":"system","content":"Be brief."}
            {"role":"user","content":"go"}
            {"role":"assistant","content":"looking","tool_calls":[{"id":"1","type":"function","function":{"name":"shell","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"shell","arguments":"{}"}}]}
            {"role":"tool","tool_call_id":"1","content":"one"}
            {"role":"tool","tool_call_id":"2","content":"two"}
            {"role":"assistant","content":"done"}
            {"role":"user","content":"thanks"}
        "#]],
    );
}

#[test]
fn calls_without_a_message_and_one_after_the_other() {
    check(
        vec![call("1"), output("1", "one"), call("2"), output("2", "two")],
        expect![[r#"
            {"role":"system","content":"Be brief."}
            {"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"shell","arguments":"{}"}}]}
            {"role":"tool","tool_call_id":"1","content":"one"}
            {"role":"assistant","content":null,"tool_calls":[{"id":"2","type":"function","function":{"name":"shell","arguments":"{}"}}]}
            {"role":"tool","tool_call_id":"2","content":"two"}
        "#]],
    );
}

#[test]
fn images_and_late_words_wait_for_the_answers() {
    let with_image = ToolOutputBody::Parts(vec![
        ContentItem::InputText {
            text: "seen".into(),
        },
        image(),
    ]);
    check(
        vec![
            call("1"),
            call("2"),
            ResponseItem::assistant_text("meanwhile"),
            output("1", with_image),
            output("2", "two"),
            ResponseItem::user_text("and?"),
        ],
        expect![[r#"
            {"role":"system","content":"Be brief."}
            {"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"shell","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"shell","arguments":"{}"}}]}
            {"role":"tool","tool_call_id":"1","content":"seen\n[image: see the message below]"}
            {"role":"tool","tool_call_id":"2","content":"two"}
            {"role":"assistant","content":"meanwhile"}
            {"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}
            {"role":"user","content":"and?"}
        "#]],
    );
}

#[test]
fn developer_messages_join_the_instructions_or_speak_as_the_user() {
    check(
        vec![
            developer("First rule."),
            ResponseItem::user_text("go"),
            developer("Later rule."),
        ],
        expect![[r#"
            {"role":"system","content":"Be brief.\n\nFirst rule."}
            {"role":"user","content":"go"}
            {"role":"user","content":"Later rule."}
        "#]],
    );
}

#[test]
fn free_text_calls_are_functions_and_reasoning_stays_here() {
    check(
        vec![
            ResponseItem::Reasoning {
                id: None,
                summary: Vec::new(),
                content: None,
                encrypted_content: Some("x".into()),
            },
            ResponseItem::CustomToolCall {
                id: None,
                name: "apply_patch".into(),
                input: "*** Begin".into(),
                call_id: "1".into(),
            },
            ResponseItem::CustomToolCallOutput {
                call_id: "1".into(),
                output: "ok".into(),
            },
            ResponseItem::Other(json!({ "type": "web_search_call" })),
        ],
        expect![[r#"
            {"role":"system","content":"Be brief."}
            {"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"apply_patch","arguments":"{\"input\":\"*** Begin\"}"}}]}
            {"role":"tool","tool_call_id":"1","content":"ok"}
        "#]],
    );
}

#[test]
fn pictures_of_the_user() {
    check(
        vec![ResponseItem::Message {
            id: None,
            role: Role::User,
            content: vec![
                ContentItem::InputText {
                    text: "what?".into(),
                },
                image(),
            ],
            metadata: None,
            said: false,
        }],
        expect![[r#"
            {"role":"system","content":"Be brief."}
            {"role":"user","content":[{"type":"text","text":"what?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}
        "#]],
    );
}

#[test]
fn settings_and_tools() {
    let tools = vec![
        ToolSpec::Function {
            name: "shell".into(),
            description: "Runs.".into(),
            parameters: json!({ "type": "object" }).into(),
        },
        ToolSpec::Freeform {
            name: "apply_patch".into(),
            description: "Edits.".into(),
            grammar: "g".into(),
        },
    ];
    let request = ModelRequest {
        instructions: Arc::new(EncodedInstructions::new("")),
        tools: Arc::new(ToolSet::new(tools)),
        parallel_tool_calls: false,
        effort: Some(ReasoningEffort::Low),
        output_schema: Some(Arc::new(json!({ "type": "object" }))),
        ..request(vec![])
    };
    expect![[r#"
        {"model":"m",
        "messages":[],
        "tools":[{"type":"function",
        "function":{"name":"shell",
        "description":"Runs.",
        "parameters":{"type":"object"}}},{"type":"function",
        "function":{"name":"apply_patch",
        "description":"Edits.",
        "parameters":{"type":"object",
        "properties":{"input":{"type":"string"}},
        "required":["input"],
        "additionalProperties":false}}}],
        "tool_choice":"auto",
        "parallel_tool_calls":false,
        "reasoning_effort":"low",
        "response_format":{"type":"json_schema",
        "json_schema":{"name":"output",
        "strict":true,
        "schema":{"type":"object"}}},
        "stream":true,
        "stream_options":{"include_usage":true}}"#]]
    .assert_eq(&body(&request, None).to_text().replace(",\"", ",\n\""));
}
