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
    let mut decoder = MessagesDecoder::new(Arc::new(tools));
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
fn thinking_text_and_usage() {
    check(
        r#"
        {"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":5,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":1}}}
        {"type":"ping"}
        {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
        {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let "}}
        {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"me."}}
        {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}
        {"type":"content_block_stop","index":0}
        {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xyz"}}
        {"type":"content_block_stop","index":1}
        {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}
        {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Hel"}}
        {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"lo"}}
        {"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{}}}
        {"type":"content_block_stop","index":2}
        {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":12,"output_tokens_details":{"thinking_tokens":7}}}
        {"type":"message_stop"}
        "#,
        expect![[r#"
            {"type":"created","response_id":"msg_1"}
            {"type":"item_started","item_id":"block_0","kind":{"kind":"reasoning"}}
            {"type":"reasoning_summary_part","item_id":"block_0","summary_index":0}
            {"type":"reasoning_summary_delta","item_id":"block_0","summary_index":0,"delta":"Let "}
            {"type":"reasoning_summary_delta","item_id":"block_0","summary_index":0,"delta":"me."}
            {"type":"item_done","item_id":"block_0","item":{"type":"reasoning","summary":[{"type":"summary_text","text":"Let me."}],"encrypted_content":"anthropic-signature:sig"}}
            {"type":"item_started","item_id":"block_1","kind":{"kind":"reasoning"}}
            {"type":"item_done","item_id":"block_1","item":{"type":"reasoning","summary":[],"encrypted_content":"anthropic-redacted:xyz"}}
            {"type":"item_started","item_id":"block_2","kind":{"kind":"message"}}
            {"type":"text_delta","item_id":"block_2","delta":"Hel"}
            {"type":"text_delta","item_id":"block_2","delta":"lo"}
            {"type":"item_done","item_id":"block_2","item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello"}]}}
            {"type":"completed","response_id":"msg_1","usage":{"input_tokens":325,"cached_input_tokens":300,"cache_write_input_tokens":20,"output_tokens":12,"reasoning_output_tokens":7,"total_tokens":337}}
        "#]],
    );
}

#[test]
fn calls_grow_or_come_whole() {
    check(
        r#"
        {"type":"message_start","message":{"id":"msg_1"}}
        {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"shell","input":{}}}
        {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"c"}}
        {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\":1}"}}
        {"type":"content_block_stop","index":0}
        {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"apply_patch","input":{"input":"***"}}}
        {"type":"content_block_stop","index":1}
        {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c","name":"list","input":{}}}
        {"type":"content_block_stop","index":2}
        {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":3}}
        {"type":"message_stop"}
        "#,
        expect![[r#"
            {"type":"created","response_id":"msg_1"}
            {"type":"item_started","item_id":"block_0","kind":{"kind":"function_call","name":"shell"}}
            {"type":"item_done","item_id":"block_0","item":{"type":"function_call","name":"shell","arguments":"{\"c\":1}","call_id":"a"}}
            {"type":"item_started","item_id":"block_1","kind":{"kind":"custom_tool_call","name":"apply_patch"}}
            {"type":"item_done","item_id":"block_1","item":{"type":"custom_tool_call","name":"apply_patch","input":"***","call_id":"b"}}
            {"type":"item_started","item_id":"block_2","kind":{"kind":"function_call","name":"list"}}
            {"type":"item_done","item_id":"block_2","item":{"type":"function_call","name":"list","arguments":"{}","call_id":"c"}}
            {"type":"completed","response_id":"msg_1","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":3,"reasoning_output_tokens":0,"total_tokens":3}}
        "#]],
    );
}

/// llama.cpp ends all blocks together, signs nothing and begins with an empty text.
#[test]
fn blocks_that_overlap() {
    check(
        r#"
        {"type":"message_start","message":{"id":"x","usage":{"input_tokens":4}}}
        {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}
        {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}
        {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}
        {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"shell"}}
        {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{}"}}
        {"type":"content_block_stop","index":0}
        {"type":"content_block_stop","index":1}
        {"type":"content_block_stop","index":2}
        {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":9,"output_tokens":3}}
        {"type":"message_stop"}
        "#,
        expect![[r#"
            {"type":"created","response_id":"x"}
            {"type":"item_started","item_id":"block_0","kind":{"kind":"reasoning"}}
            {"type":"reasoning_summary_part","item_id":"block_0","summary_index":0}
            {"type":"reasoning_summary_delta","item_id":"block_0","summary_index":0,"delta":"hm"}
            {"type":"item_started","item_id":"block_2","kind":{"kind":"function_call","name":"shell"}}
            {"type":"item_done","item_id":"block_0","item":{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}}
            {"type":"item_done","item_id":"block_2","item":{"type":"function_call","name":"shell","arguments":"{}","call_id":"a"}}
            {"type":"completed","response_id":"x","usage":{"input_tokens":9,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":3,"reasoning_output_tokens":0,"total_tokens":12}}
        "#]],
    );
}

#[test]
fn an_answer_without_its_end_is_broken() {
    check(
        r#"
        {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hel"}}
        {"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"lost"}}
        "#,
        expect![[r#"
            {"type":"created","response_id":null}
            {"type":"item_started","item_id":"block_0","kind":{"kind":"message"}}
            {"type":"text_delta","item_id":"block_0","delta":"Hel"}
            StreamDisconnected: the stream ended before the response was complete
        "#]],
    );
    check(
        r#"{"type":"message_stop"}"#,
        expect![[r#"
        StreamDisconnected: the stream ended before the response was complete
    "#]],
    );
    check(
        "{",
        expect![[r#"
        StreamDisconnected: malformed event without a type: EOF while parsing an object at line 1 column 1
    "#]],
    );
    check(
        r#"{"type":"content_block_delta","index":"first"}"#,
        expect![[r#"
            StreamDisconnected: malformed event content_block_delta: invalid type: string "first", expected u64 at line 1 column 45
        "#]],
    );
}

#[test]
fn bad_ends_keep_the_text_but_no_torn_call() {
    check(
        r#"
        {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hel"}}
        {"type":"content_block_stop","index":0}
        {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"shell","input":{}}}
        {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"c"}}
        {"type":"content_block_stop","index":1}
        {"type":"message_delta","delta":{"stop_reason":"max_tokens"}}
        "#,
        expect![[r#"
            {"type":"created","response_id":null}
            {"type":"item_started","item_id":"block_0","kind":{"kind":"message"}}
            {"type":"text_delta","item_id":"block_0","delta":"Hel"}
            {"type":"item_done","item_id":"block_0","item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hel"}]}}
            {"type":"item_started","item_id":"block_1","kind":{"kind":"function_call","name":"shell"}}
            Incomplete: the response was cut at the model's output limit
        "#]],
    );
    let last_line = |reason: &str| {
        let mut decoder = MessagesDecoder::new(Arc::default());
        let ending = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#);
        let event = SseEvent {
            name: "message_delta",
            data: &ending,
        };
        let error = decoder.event(event, &mut Vec::new()).unwrap_err();
        format!("{:?}: {error}", error.kind)
    };
    expect!["Refused: the model refused to answer; word the request differently, or take back the turns that it objects to"].assert_eq(&last_line("refusal"));
    expect!["ContextWindowExceeded: the answer did not fit into what was left of the model's context window"].assert_eq(&last_line("model_context_window_exceeded"));
    expect!["StreamDisconnected: the response is incomplete: something_new"]
        .assert_eq(&last_line("something_new"));
}

#[test]
fn a_pause_is_a_good_end() {
    check(
        r#"
        {"type":"message_start","message":{"id":"msg_1"}}
        {"type":"message_delta","delta":{"stop_reason":"pause_turn"}}
        {"type":"message_stop"}
        "#,
        expect![[r#"
            {"type":"created","response_id":"msg_1"}
            {"type":"paused"}
            {"type":"completed","response_id":"msg_1","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":0}}
        "#]],
    );
}

#[test]
fn an_error_inside_the_stream() {
    check(
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        expect![[r#"
            ServerOverloaded: Overloaded (overloaded_error)
        "#]],
    );
    check(
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#,
        expect![[r#"
            ContextWindowExceeded: prompt is too long: 208310 tokens > 200000 maximum (invalid_request_error)
        "#]],
    );
}

#[test]
fn more_blocks_than_anyone_sends_are_refused() {
    let mut decoder = MessagesDecoder::new(Arc::default());
    let mut out = Vec::new();
    let data =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let mut results =
        (0..=ITEMS_PER_RESPONSE_MAX).map(|_| decoder.event(SseEvent { name: "", data }, &mut out));
    assert!(
        results
            .by_ref()
            .take(ITEMS_PER_RESPONSE_MAX)
            .all(|it| it.is_ok())
    );
    assert!(results.next().unwrap().is_err());
}
