use std::sync::Arc;

use expect_test::{Expect, expect};
use serde_json::json;
use troupe_protocol::history::{SummaryPart, ToolOutputBody};
use troupe_protocol::policy::{ReasoningEffort, ReasoningSummary};
use troupe_protocol::tool::ToolSpec;

use super::*;
use crate::EncodedInstructions;
use crate::request::ToolSet;

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

fn json_of(request: &ModelRequest) -> Value {
    serde_json::from_str(&body(request, None).to_text()).expect("a body is JSON")
}

/// Compares the messages only: one per line, its blocks below it, a cache mark as `◆`.
#[track_caller]
fn check(items: Vec<ResponseItem>, expected: Expect) {
    let body = json_of(&request(items));
    let mut lines = String::new();
    for message in body["messages"].as_array().unwrap() {
        lines += message["role"].as_str().unwrap();
        lines += "\n";
        for block in message["content"].as_array().unwrap() {
            let mut block = block.clone();
            let mark = block.as_object_mut().unwrap().remove("cache_control");
            let mark = if mark.is_some() { "◆ " } else { "" };
            lines.extend(["  ", mark, &block.to_string(), "\n"]);
        }
    }
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

fn call(call_id: &str, arguments: &str) -> ResponseItem {
    ResponseItem::FunctionCall {
        id: None,
        name: "shell".into(),
        arguments: arguments.into(),
        call_id: call_id.into(),
    }
}

fn output(call_id: &str, output: impl Into<ToolOutputBody>) -> ResponseItem {
    ResponseItem::FunctionCallOutput {
        call_id: call_id.into(),
        output: output.into(),
    }
}

fn reasoning(text: &str, sealed: Option<String>) -> ResponseItem {
    ResponseItem::Reasoning {
        id: None,
        summary: vec![SummaryPart::SummaryText { text: text.into() }],
        content: None,
        encrypted_content: sealed,
    }
}

fn image(url: &str) -> ContentItem {
    ContentItem::InputImage {
        image_url: url.into(),
        detail: None,
    }
}

#[test]
fn neighbours_of_one_side_are_one_message() {
    check(
        vec![
            ResponseItem::user_text("where"),
            ResponseItem::user_text("go"),
            ResponseItem::assistant_text("looking"),
            call("1", r#"{"b":1, "a":2}"#),
            call("2", ""),
            output("1", "one"),
            output("2", "two"),
            ResponseItem::assistant_text("done"),
            ResponseItem::user_text("thanks"),
        ],
        expect![[r#"
            user
              {"type":"text","text":"where"}
              {"type":"text","text":"go"}
            assistant
              {"type":"text","text":"looking"}
              {"type":"tool_use","id":"1","name":"shell","input":{"b":1,"a":2}}
              {"type":"tool_use","id":"2","name":"shell","input":{}}
            user
              {"type":"tool_result","tool_use_id":"1","content":"one"}
              ◆ {"type":"tool_result","tool_use_id":"2","content":"two"}
            assistant
              {"type":"text","text":"done"}
            user
              ◆ {"type":"text","text":"thanks"}
        "#]],
    );
}

#[test]
fn answers_come_before_what_else_the_user_says() {
    check(
        vec![
            ResponseItem::user_text("go"),
            call("1", "{}"),
            call("2", "{}"),
            output("1", "one"),
            ResponseItem::user_text("hurry"),
            output("2", "two"),
        ],
        expect![[r#"
            user
              ◆ {"type":"text","text":"go"}
            assistant
              {"type":"tool_use","id":"1","name":"shell","input":{}}
              {"type":"tool_use","id":"2","name":"shell","input":{}}
            user
              {"type":"tool_result","tool_use_id":"1","content":"one"}
              {"type":"tool_result","tool_use_id":"2","content":"two"}
              ◆ {"type":"text","text":"hurry"}
        "#]],
    );
}

#[test]
fn reasoning_goes_back_with_its_seal_or_not_at_all() {
    check(
        vec![
            ResponseItem::user_text("go"),
            reasoning("hm", Some(ReasoningSeal::Signature("sig").to_string())),
            reasoning("", Some(ReasoningSeal::Redacted("xyz").to_string())),
            reasoning("of another provider", Some("gAAAA".into())),
            reasoning("of a server without seals", None),
            call("1", "{}"),
            output("1", "one"),
        ],
        expect![[r#"
            user
              ◆ {"type":"text","text":"go"}
            assistant
              {"type":"thinking","thinking":"hm","signature":"sig"}
              {"type":"redacted_thinking","data":"xyz"}
              {"type":"tool_use","id":"1","name":"shell","input":{}}
            user
              ◆ {"type":"tool_result","tool_use_id":"1","content":"one"}
        "#]],
    );
}

#[test]
fn images_of_the_user_and_of_tools() {
    let with_image = ToolOutputBody::Parts(vec![
        ContentItem::InputText {
            text: "seen".into(),
        },
        image("data:image/png;base64,AAAA"),
    ]);
    check(
        vec![
            ResponseItem::Message {
                id: None,
                role: Role::User,
                content: vec![image("https://example.com/a.png")],
                metadata: None,
                said: false,
            },
            call("1", "{}"),
            output("1", with_image),
        ],
        expect![[r#"
            user
              ◆ {"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}
            assistant
              {"type":"tool_use","id":"1","name":"shell","input":{}}
            user
              ◆ {"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"seen"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}
        "#]],
    );
}

#[test]
fn what_the_server_would_refuse_is_put_differently() {
    check(
        vec![
            ResponseItem::assistant_text("earlier"),
            ResponseItem::user_text(" \n"),
            ResponseItem::CustomToolCall {
                id: None,
                name: "apply_patch".into(),
                input: "*** Begin".into(),
                call_id: "functions.apply:0".into(),
            },
            call("2", "{not json"),
            call("3", "[1]"),
            output("functions.apply:0", ""),
            output("2", "no"),
            output("3", "no"),
            ResponseItem::Other(json!({ "type": "web_search_call" })),
        ],
        expect![[r#"
            user
              ◆ {"type":"text","text":"(What was said before is left out.)"}
            assistant
              {"type":"text","text":"earlier"}
              {"type":"tool_use","id":"functions_apply_0","name":"apply_patch","input":{"input":"*** Begin"}}
              {"type":"tool_use","id":"2","name":"shell","input":{"arguments":"{not json"}}
              {"type":"tool_use","id":"3","name":"shell","input":{"arguments":"[1]"}}
            user
              {"type":"tool_result","tool_use_id":"functions_apply_0","content":""}
              {"type":"tool_result","tool_use_id":"2","content":"no"}
              ◆ {"type":"tool_result","tool_use_id":"3","content":"no"}
        "#]],
    );
}

#[test]
fn developer_messages_join_the_instructions_or_speak_as_the_user() {
    let request = request(vec![
        developer("First rule."),
        ResponseItem::user_text("go"),
        developer("Later rule."),
    ]);
    let body = json_of(&request);
    expect![[r#"[{"type":"text","text":"Be brief.\n\nFirst rule.","cache_control":{"type":"ephemeral"}}]"#]].assert_eq(&body["system"].to_string());
    let said = &body["messages"][0]["content"];
    assert_eq!(said[0]["text"], "go");
    assert_eq!(said[1]["text"], "Later rule.");
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
        output_schema: Some(Arc::new(json!({ "type": "object" }))),
        ..request(vec![])
    };
    expect![[r#"
        {"model":"m",
        "max_tokens":500,
        "tools":[{"name":"shell",
        "description":"Runs.",
        "input_schema":{"type":"object"}},{"name":"apply_patch",
        "description":"Edits.",
        "input_schema":{"type":"object",
        "properties":{"input":{"type":"string"}},
        "required":["input"],
        "additionalProperties":false},
        "cache_control":{"type":"ephemeral"}}],
        "tool_choice":{"type":"auto",
        "disable_parallel_tool_use":true},
        "system":[{"type":"text",
        "text":"Your final answer must be one JSON value that follows this JSON Schema, with nothing before or after it:\n{\"type\":\"object\"}"}],
        "messages":[],
        "stream":true}"#]].assert_eq(&body(&request, Some(500)).to_text().replace(",\"", ",\n\""));
}

#[track_caller]
fn check_thinking(model: &str, effort: Option<ReasoningEffort>, expected: Expect) {
    let body = json_of(&ModelRequest {
        model: model.into(),
        effort,
        output_schema: Some(Arc::new(json!({}))),
        ..request(vec![])
    });
    expected.assert_eq(&format!(
        "{} {} {}",
        body["max_tokens"], body["thinking"], body["output_config"]
    ));
}

#[test]
fn each_generation_is_told_in_its_own_words() {
    use ReasoningEffort::{High, Max, Medium, Minimal, None as Off, Ultra, Xhigh};
    check_thinking(
        "claude-opus-5-5",
        None,
        expect![[
            r#"128000 {"type":"adaptive","display":"summarized"} {"format":{"type":"json_schema","schema":{}}}"#
        ]],
    );
    check_thinking(
        "claude-opus-5-5",
        Some(Medium),
        expect![[
            r#"128000 {"type":"adaptive","display":"summarized"} {"effort":"medium","format":{"type":"json_schema","schema":{}}}"#
        ]],
    );
    check_thinking(
        "claude-opus-5-5",
        Some(Minimal),
        expect![[
            r#"128000 {"type":"adaptive","display":"summarized"} {"effort":"low","format":{"type":"json_schema","schema":{}}}"#
        ]],
    );
    check_thinking(
        "claude-opus-5-5",
        Some(Off),
        expect![[
            r#"128000 {"type":"adaptive","display":"summarized"} {"effort":"low","format":{"type":"json_schema","schema":{}}}"#
        ]],
    );
    check_thinking(
        "claude-sonnet-5",
        Some(Off),
        expect![[r#"128000 {"type":"disabled"} {"format":{"type":"json_schema","schema":{}}}"#]],
    );
    check_thinking(
        "claude-opus-4-6",
        Some(Xhigh),
        expect![[
            r#"128000 {"type":"adaptive","display":"summarized"} {"effort":"high","format":{"type":"json_schema","schema":{}}}"#
        ]],
    );
    check_thinking(
        "claude-opus-4-6",
        Some(Ultra),
        expect![[
            r#"128000 {"type":"adaptive","display":"summarized"} {"effort":"max","format":{"type":"json_schema","schema":{}}}"#
        ]],
    );
    check_thinking(
        "claude-haiku-4-5-20251001",
        None,
        expect![[r#"64000 null {"format":{"type":"json_schema","schema":{}}}"#]],
    );
    check_thinking(
        "claude-haiku-4-5",
        Some(High),
        expect![[
            r#"64000 {"type":"enabled","budget_tokens":20480} {"format":{"type":"json_schema","schema":{}}}"#
        ]],
    );
    check_thinking(
        "claude-next",
        None,
        expect![[r#"32000 null {"format":{"type":"json_schema","schema":{}}}"#]],
    );
    check_thinking(
        "claude-next",
        Some(Max),
        expect![[
            r#"32000 {"type":"adaptive","display":"summarized"} {"effort":"max","format":{"type":"json_schema","schema":{}}}"#
        ]],
    );
    check_thinking("qwen", Some(Off), expect!["32000 null null"]);
}

#[test]
fn a_budget_leaves_room_for_the_answer() {
    let request = ModelRequest {
        model: "claude-haiku-4-5".into(),
        effort: Some(ReasoningEffort::High),
        ..request(vec![])
    };
    let small = body(&request, Some(4_000)).to_text();
    assert!(small.contains("\"budget_tokens\":2976"), "{small}");
    let tiny = body(&request, Some(2_000)).to_text();
    assert!(!tiny.contains("thinking"), "{tiny}");
}

#[test]
fn hidden_thinking_is_asked_for_as_such() {
    let request = ModelRequest {
        model: "claude-opus-5-5".into(),
        summary: ReasoningSummary::None,
        ..request(vec![])
    };
    assert_eq!(json_of(&request)["thinking"]["display"], "omitted");
}
