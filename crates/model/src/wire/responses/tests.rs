use std::sync::Arc;

use expect_test::{Expect, expect};
use serde_json::json;
use troupe_protocol::policy::ReasoningEffort;

use super::*;
use crate::EncodedInstructions;
use crate::request::{HistoryItem, ModelToolChoice, ToolSet};

fn request(items: Vec<ResponseItem>) -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        instructions: Arc::new(EncodedInstructions::new("Be \"brief\".")),
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

#[track_caller]
fn check(request: &ModelRequest, freeform: FreeformOffer, stateful: bool, expected: Expect) {
    let text = body(request, freeform, stateful, None).to_text();
    serde_json::from_str::<Value>(&text).expect("a body is JSON");
    expected.assert_eq(&text.replace(",{\"type\"", ",\n{\"type\""));
}

fn conversation() -> Vec<ResponseItem> {
    vec![
        ResponseItem::user_text("hi"),
        ResponseItem::Reasoning {
            id: Some("rs_1".into()),
            summary: vec![SummaryPart::SummaryText { text: "hm".into() }],
            content: None,
            encrypted_content: Some("secret".into()),
        },
        ResponseItem::Reasoning {
            id: Some("rs_2".into()),
            summary: Vec::new(),
            content: None,
            encrypted_content: None,
        },
        ResponseItem::FunctionCall {
            id: Some("fc_1".into()),
            name: "shell".into(),
            arguments: "{broken".into(),
            call_id: "c1".into(),
        },
        ResponseItem::FunctionCallOutput {
            call_id: "c1".into(),
            output: "not JSON".into(),
        },
        ResponseItem::CustomToolCall {
            id: None,
            name: "apply_patch".into(),
            input: "*** Begin".into(),
            call_id: "c2".into(),
        },
        ResponseItem::CustomToolCallOutput {
            call_id: "c2".into(),
            output: ToolOutputBody::Parts(vec![ContentItem::InputText { text: "ok".into() }]),
        },
        ResponseItem::Other(json!({ "type": "web_search_call", "id": "ws_1" })),
    ]
}

#[test]
fn an_empty_request() {
    check(
        &request(vec![]),
        FreeformOffer::Native,
        false,
        expect![[
            r#"{"model":"m","instructions":"Be \"brief\".","input":[],"reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"],"store":false,"stream":true}"#
        ]],
    );
}

#[test]
fn a_conversation_without_the_servers_ids() {
    check(
        &request(conversation()),
        FreeformOffer::Native,
        false,
        expect![[r#"
            {"model":"m","instructions":"Be \"brief\".","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},
            {"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"secret"},
            {"type":"function_call","name":"shell","arguments":"{broken","call_id":"c1"},
            {"type":"function_call_output","call_id":"c1","output":"not JSON"},
            {"type":"custom_tool_call","name":"apply_patch","input":"*** Begin","call_id":"c2"},
            {"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"ok"}]},
            {"type":"web_search_call","id":"ws_1"}],"reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"],"store":false,"stream":true}"#]],
    );
}

#[test]
fn a_server_without_free_text_tools_sees_functions() {
    check(
        &request(conversation()),
        FreeformOffer::AsFunction,
        false,
        expect![[r#"
            {"model":"m","instructions":"Be \"brief\".","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},
            {"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"secret"},
            {"type":"function_call","name":"shell","arguments":"{broken","call_id":"c1"},
            {"type":"function_call_output","call_id":"c1","output":"not JSON"},
            {"type":"function_call","name":"apply_patch","arguments":"{\"input\":\"*** Begin\"}","call_id":"c2"},
            {"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"ok"}]},
            {"type":"web_search_call","id":"ws_1"}],"reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"],"store":false,"stream":true}"#]],
    );
}

#[test]
fn only_a_stateful_server_is_spared_the_history() {
    let mut request = request(conversation());
    request.previous = Some(PreviousResponse {
        response_id: "resp_1".into(),
        covers: 7,
    });
    check(
        &request,
        FreeformOffer::Native,
        true,
        expect![[
            r#"{"model":"m","instructions":"Be \"brief\".","input":[{"type":"web_search_call","id":"ws_1"}],"reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"],"previous_response_id":"resp_1","store":true,"stream":true}"#
        ]],
    );
    let stateless = body(&request, FreeformOffer::Native, false, None).to_text();
    assert!(stateless.contains("\"hi\"") && !stateless.contains("resp_1"));
    request.previous = Some(PreviousResponse {
        response_id: "resp_1".into(),
        covers: 700,
    });
    check(
        &request,
        FreeformOffer::Native,
        true,
        expect![[
            r#"{"model":"m","instructions":"Be \"brief\".","input":[],"reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"],"previous_response_id":"resp_1","store":true,"stream":true}"#
        ]],
    );
}

#[test]
fn settings_are_sent_when_they_are_set() {
    let request = ModelRequest {
        effort: Some(ReasoningEffort::High),
        output_schema: Some(Arc::new(json!({ "type": "object" }))),
        prompt_cache_key: Some("session".into()),
        ..request(vec![])
    };
    check(
        &request,
        FreeformOffer::Native,
        false,
        expect![[
            r#"{"model":"m","instructions":"Be \"brief\".","input":[],"reasoning":{"effort":"high","summary":"auto"},"include":["reasoning.encrypted_content"],"text":{"format":{"type":"json_schema","name":"output","strict":true,"schema":{"type":"object"}}},"prompt_cache_key":"session","store":false,"stream":true}"#
        ]],
    );
}

#[test]
fn a_model_known_to_reason_is_asked_for_its_summary() {
    let mut request = request(vec![]);
    request.model = "gpt-5".into();
    check(
        &request,
        FreeformOffer::Native,
        false,
        expect![[
            r#"{"model":"gpt-5","instructions":"Be \"brief\".","input":[],"reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"],"store":false,"stream":true}"#
        ]],
    );
    request.summary = ReasoningSummary::None;
    check(
        &request,
        FreeformOffer::Native,
        false,
        expect![[
            r#"{"model":"gpt-5","instructions":"Be \"brief\".","input":[],"include":["reasoning.encrypted_content"],"store":false,"stream":true}"#
        ]],
    );
}

#[test]
fn a_model_that_nobody_knows_gets_its_thoughts_back() {
    let mut request = request(vec![]);
    request.model = "gpt-7-nova".into();
    request.summary = ReasoningSummary::None;
    check(
        &request,
        FreeformOffer::Native,
        false,
        expect![[
            r#"{"model":"gpt-7-nova","instructions":"Be \"brief\".","input":[],"include":["reasoning.encrypted_content"],"store":false,"stream":true}"#
        ]],
    );
    request.model = "gpt-4-turbo".into();
    check(
        &request,
        FreeformOffer::Native,
        false,
        expect![[
            r#"{"model":"gpt-4-turbo","instructions":"Be \"brief\".","input":[],"store":false,"stream":true}"#
        ]],
    );
}

#[test]
fn tools_of_both_kinds() {
    let mut request = request(vec![]);
    request.tools = Arc::new(ToolSet::new(vec![
        ToolSpec::Function {
            name: "shell".into(),
            description: "Runs.".into(),
            parameters: json!({ "type": "object" }).into(),
        },
        ToolSpec::Freeform {
            name: "apply_patch".into(),
            description: "Edits.".into(),
            grammar: "start: \"x\"".into(),
        },
    ]));
    check(
        &request,
        FreeformOffer::Native,
        false,
        expect![[r#"
            {"model":"m","instructions":"Be \"brief\".","input":[],"tools":[{"type":"function","name":"shell","description":"Runs.","parameters":{"type":"object"},"strict":false},
            {"type":"custom","name":"apply_patch","description":"Edits.","format":{"type":"grammar","syntax":"lark","definition":"start: \"x\""}}],"tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"],"store":false,"stream":true}"#]],
    );
    check(
        &request,
        FreeformOffer::AsFunction,
        false,
        expect![[r#"
            {"model":"m","instructions":"Be \"brief\".","input":[],"tools":[{"type":"function","name":"shell","description":"Runs.","parameters":{"type":"object"},"strict":false},
            {"type":"function","name":"apply_patch","description":"Edits.","parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false},"strict":false}],"tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"],"store":false,"stream":true}"#]],
    );
}

#[test]
fn an_item_is_encoded_once() {
    let item = HistoryItem::new(ResponseItem::user_text("hi"));
    let first = item.encoded(WireEncoding::Responses).as_ptr();
    assert_eq!(item.encoded(WireEncoding::Responses).as_ptr(), first);
}

#[test]
fn free_text_survives_the_disguise() {
    let input = "*** \"quoted\"\nä";
    assert_eq!(arguments_as_input(input_as_arguments(input)), input);
    assert_eq!(
        arguments_as_input("*** Begin Patch".into()),
        "*** Begin Patch"
    );
    assert_eq!(arguments_as_input("{\"patch\":1}".into()), "{\"patch\":1}");
}

#[test]
fn a_long_history_is_sent_in_blocks_and_reads_the_same() {
    let texts = |request: &ModelRequest| -> Vec<Value> {
        let text = body(request, FreeformOffer::Native, false, None).to_text();
        let body: Value = serde_json::from_str(&text).unwrap();
        let input = body["input"].as_array().unwrap().iter();
        input
            .map(|item| item["content"][0]["text"].clone())
            .collect()
    };
    let said = |numbers: std::ops::Range<usize>| -> Vec<ResponseItem> {
        numbers
            .map(|number| ResponseItem::user_text(number.to_string()))
            .collect()
    };
    let numbers = |range: std::ops::Range<usize>| -> Vec<Value> {
        range.map(|number| json!(number.to_string())).collect()
    };
    let count = 2 * BODY_BLOCK_ITEMS + 5;
    let mut request = request(said(0..count));
    assert_eq!(texts(&request), numbers(0..count));
    assert_eq!(texts(&request), numbers(0..count), "from the blocks");
    // A history that lost its first item has the same items in other blocks.
    request.input.remove(0);
    assert_eq!(texts(&request), numbers(1..count));
    let as_function = body(&request, FreeformOffer::AsFunction, false, None).to_text();
    assert_eq!(as_function.matches("input_text").count(), count - 1);
    request.input.truncate(BODY_BLOCK_ITEMS - 1);
    assert_eq!(texts(&request), numbers(1..BODY_BLOCK_ITEMS));
}
