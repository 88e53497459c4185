use expect_test::{Expect, expect};
use troupe_protocol::tool::ToolSpec;

use super::*;

/// Each line is the data of one event.
#[track_caller]
fn check(stream: &str, expected: Expect) {
    let tools = ToolSet::new(vec![ToolSpec::Freeform {
        name: "apply_patch".into(),
        description: String::new(),
        grammar: String::new(),
    }]);
    let mut decoder = ChatDecoder {
        response_id: "chat_1".into(),
        ..ChatDecoder::new(Arc::new(tools))
    };
    let mut out = Vec::new();
    let mut result = Ok(());
    for data in stream
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        result = result.and_then(|()| decoder.event(SseEvent { name: "", data }, &mut out));
    }
    let result = result.and_then(|()| decoder.finish(&mut out));
    let mut shown: String = out
        .iter()
        .map(|event| serde_json::to_string(event).unwrap() + "\n")
        .collect();
    if let Err(error) = result {
        shown = format!("{shown}{:?}: {error}\n", error.kind);
    }
    expected.assert_eq(&shown);
}

#[test]
fn text_reasoning_and_usage() {
    check(
        r#"
        {"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":null},"finish_reason":null}]}
        {"choices":[{"delta":{"reasoning_content":"hm"}}]}
        {"choices":[{"delta":{"content":"Hel"}}]}
        {"choices":[{"delta":{"content":"lo"},"finish_reason":"stop"}]}
        {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9,"prompt_tokens_details":{"cached_tokens":4}}}
        [DONE]
        "#,
        expect![[r#"
            {"type":"created","response_id":"chat_1"}
            {"type":"item_started","item_id":"reasoning","kind":{"kind":"reasoning"}}
            {"type":"reasoning_text_delta","item_id":"reasoning","content_index":0,"delta":"hm"}
            {"type":"item_started","item_id":"message","kind":{"kind":"message"}}
            {"type":"text_delta","item_id":"message","delta":"Hel"}
            {"type":"text_delta","item_id":"message","delta":"lo"}
            {"type":"item_done","item_id":"reasoning","item":{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}}
            {"type":"item_done","item_id":"message","item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello"}]}}
            {"type":"completed","response_id":"chat_1","usage":{"input_tokens":7,"cached_input_tokens":4,"cache_write_input_tokens":0,"output_tokens":2,"reasoning_output_tokens":0,"total_tokens":9}}
        "#]],
    );
}

#[test]
fn calls_grow_by_index() {
    check(
        r#"
        {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"shell","arguments":"{\"c"}}]}}]}
        {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"apply_patch","arguments":"{\"input\":"}}]}}]}
        {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\":1}"}},{"index":1,"function":{"arguments":"\"***\"}"}}]}}]}
        {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}
        [DONE]
        "#,
        expect![[r#"
            {"type":"created","response_id":"chat_1"}
            {"type":"item_started","item_id":"call_0","kind":{"kind":"function_call","name":"shell"}}
            {"type":"item_started","item_id":"call_1","kind":{"kind":"custom_tool_call","name":"apply_patch"}}
            {"type":"item_done","item_id":"call_0","item":{"type":"function_call","name":"shell","arguments":"{\"c\":1}","call_id":"a"}}
            {"type":"item_done","item_id":"call_1","item":{"type":"custom_tool_call","name":"apply_patch","input":"***","call_id":"b"}}
            {"type":"completed","response_id":"chat_1","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":0}}
        "#]],
    );
}

#[test]
fn calls_without_an_index() {
    check(
        r#"
        {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"shell","arguments":"{}"}}]}}]}
        {"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"shell","arguments":"{"}}]}}]}
        {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]},"finish_reason":"stop"}]}
        "#,
        expect![[r#"
            {"type":"created","response_id":"chat_1"}
            {"type":"item_started","item_id":"call_0","kind":{"kind":"function_call","name":"shell"}}
            {"type":"item_started","item_id":"call_1","kind":{"kind":"function_call","name":"shell"}}
            {"type":"item_done","item_id":"call_0","item":{"type":"function_call","name":"shell","arguments":"{}","call_id":"a"}}
            {"type":"item_done","item_id":"call_1","item":{"type":"function_call","name":"shell","arguments":"{}","call_id":"b"}}
            {"type":"completed","response_id":"chat_1","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":0}}
        "#]],
    );
}

#[test]
fn calls_that_are_all_numbered_zero_are_told_apart_by_id() {
    check(
        r#"
        {"choices":[{"delta":{"reasoning":"hm","reasoning_content":"hm","tool_calls":[{"index":0,"id":"a","function":{"name":"shell","arguments":"{}"}}]}}]}
        {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"shell","arguments":"{}"}}]},"finish_reason":"stop"}]}
        "#,
        expect![[r#"
            {"type":"created","response_id":"chat_1"}
            {"type":"item_started","item_id":"reasoning","kind":{"kind":"reasoning"}}
            {"type":"reasoning_text_delta","item_id":"reasoning","content_index":0,"delta":"hm"}
            {"type":"item_started","item_id":"call_0","kind":{"kind":"function_call","name":"shell"}}
            {"type":"item_started","item_id":"call_1","kind":{"kind":"function_call","name":"shell"}}
            {"type":"item_done","item_id":"reasoning","item":{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}}
            {"type":"item_done","item_id":"call_0","item":{"type":"function_call","name":"shell","arguments":"{}","call_id":"a"}}
            {"type":"item_done","item_id":"call_1","item":{"type":"function_call","name":"shell","arguments":"{}","call_id":"b"}}
            {"type":"completed","response_id":"chat_1","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":0}}
        "#]],
    );
}

#[test]
fn an_answer_without_its_end_is_broken() {
    check(
        r#"{"choices":[{"delta":{"content":"Hel"}}]}"#,
        expect![[r#"
            {"type":"created","response_id":"chat_1"}
            {"type":"item_started","item_id":"message","kind":{"kind":"message"}}
            {"type":"text_delta","item_id":"message","delta":"Hel"}
            StreamDisconnected: the stream ended before the response was complete
        "#]],
    );
    check(
        "[DONE]",
        expect![[r#"
        StreamDisconnected: the stream ended before the response was complete
    "#]],
    );
    check(
        "{",
        expect![[r#"
        StreamDisconnected: malformed event chat chunk: EOF while parsing an object at line 1 column 1
    "#]],
    );
}

#[test]
fn a_cut_answer_keeps_its_text_but_no_torn_call() {
    check(
        r#"
        {"choices":[{"delta":{"content":"Hel","tool_calls":[{"index":0,"id":"a","function":{"name":"shell","arguments":"{"}}]},"finish_reason":"length"}]}
        "#,
        expect![[r#"
            {"type":"created","response_id":"chat_1"}
            {"type":"item_started","item_id":"message","kind":{"kind":"message"}}
            {"type":"text_delta","item_id":"message","delta":"Hel"}
            {"type":"item_started","item_id":"call_0","kind":{"kind":"function_call","name":"shell"}}
            {"type":"item_done","item_id":"message","item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hel"}]}}
            Incomplete: the response was cut at the model's output limit
        "#]],
    );
}

#[test]
fn an_error_inside_the_stream() {
    check(
        r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
        expect![[r#"
            ContextWindowExceeded: the request exceeds the available context size (exceed_context_size_error)
        "#]],
    );
}

#[test]
fn more_calls_than_anyone_makes_are_refused() {
    let mut decoder = ChatDecoder::new(Arc::default());
    let mut out = Vec::new();
    let mut results = (0..=CALLS_PER_RESPONSE_MAX).map(|index| {
        let data = format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{index},"function":{{"name":"f"}}}}]}}}}]}}"#
        );
        decoder.event(SseEvent { name: "", data: &data }, &mut out)
    });
    assert!(
        results
            .by_ref()
            .take(CALLS_PER_RESPONSE_MAX)
            .all(|it| it.is_ok())
    );
    assert!(results.next().unwrap().is_err());
}
