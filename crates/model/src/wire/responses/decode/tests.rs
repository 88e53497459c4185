use expect_test::{Expect, expect};
use troupe_protocol::tool::ToolSpec;

use super::*;

/// Shows events one per line, shortened to what differs.
pub(crate) fn show(events: &[ModelEvent]) -> String {
    let line = |event: &ModelEvent| serde_json::to_string(event).unwrap() + "\n";
    events.iter().map(line).collect()
}

/// Each line is `name|data`; without a `|` it is data alone.
#[track_caller]
fn check_with(mut decoder: ResponsesDecoder, stream: &str, expected: Expect) {
    let mut out = Vec::new();
    let mut failure = String::new();
    for line in stream
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let (name, data) = match line.split_once('|') {
            Some((name, data)) => (name, data),
            None => ("", line),
        };
        if let Err(error) = decoder.event(SseEvent { name, data }, &mut out) {
            failure = format!("{:?}: {error}\n", error.kind);
            break;
        }
    }
    expected.assert_eq(&(show(&out) + &failure));
}

#[track_caller]
fn check(stream: &str, expected: Expect) {
    let decoder = ResponsesDecoder::new(FreeformOffer::Native, Arc::default());
    check_with(decoder, stream, expected);
}

#[test]
fn a_text_turn_of_openai() {
    check(
        r#"
        response.created|{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","error":null,"incomplete_details":null,"output":[],"usage":null}}
        response.in_progress|{"type":"response.in_progress"}
        response.output_item.added|{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}
        response.content_part.added|{"type":"response.content_part.added"}
        response.output_text.delta|{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hello \"you\"","logprobs":[]}
        response.output_text.done|{"type":"response.output_text.done"}
        response.output_item.done|{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Hello \"you\""}],"role":"assistant"}}
        response.completed|{"type":"response.completed","response":{"id":"resp_1","output":[{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello \"you\""}]}],"usage":{"input_tokens":36,"input_tokens_details":{"cached_tokens":12},"output_tokens":87,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":123}}}
        "#,
        expect![[r#"
            {"type":"created","response_id":"resp_1"}
            {"type":"item_started","item_id":"msg_1","kind":{"kind":"message"}}
            {"type":"text_delta","item_id":"msg_1","delta":"Hello \"you\""}
            {"type":"item_done","item_id":"msg_1","item":{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Hello \"you\""}]}}
            {"type":"completed","response_id":"resp_1","usage":{"input_tokens":36,"cached_input_tokens":12,"cache_write_input_tokens":0,"output_tokens":87,"reasoning_output_tokens":3,"total_tokens":123}}
        "#]],
    );
}

#[test]
fn a_text_turn_of_llama_cpp_has_no_indexes() {
    check(
        r#"
        response.created|{"type":"response.created","response":{"id":"resp_1","object":"response","status":"in_progress"}}
        response.output_item.added|{"type":"response.output_item.added","item":{"content":[],"id":"msg_1","role":"assistant","status":"in_progress","type":"message"}}
        response.output_text.delta|{"type":"response.output_text.delta","item_id":"msg_1","delta":"Hi"}
        response.output_item.done|{"type":"response.output_item.done","item":{"type":"message","status":"completed","id":"msg_1","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Hi"}],"role":"assistant"}}
        response.completed|{"type":"response.completed","response":{"id":"resp_1","output":[],"usage":{"input_tokens":5,"output_tokens":1,"total_tokens":6}}}
        "#,
        expect![[r#"
            {"type":"created","response_id":"resp_1"}
            {"type":"item_started","item_id":"msg_1","kind":{"kind":"message"}}
            {"type":"text_delta","item_id":"msg_1","delta":"Hi"}
            {"type":"item_done","item_id":"msg_1","item":{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}}
            {"type":"completed","response_id":"resp_1","usage":{"input_tokens":5,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":1,"reasoning_output_tokens":0,"total_tokens":6}}
        "#]],
    );
}

#[test]
fn reasoning_and_calls() {
    check(
        r#"
        {"type":"response.output_item.added","item":{"id":"rs_1","type":"reasoning","summary":[]}}
        {"type":"response.reasoning_summary_part.added","item_id":"rs_1","summary_index":0,"part":{"type":"summary_text","text":""}}
        {"type":"response.reasoning_summary_text.delta","item_id":"rs_1","summary_index":0,"delta":"hm"}
        {"type":"response.reasoning_text.delta","item_id":"rs_1","content_index":0,"delta":"raw"}
        {"type":"response.output_item.done","item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"content":null,"encrypted_content":"abc"}}
        {"type":"response.output_item.added","item":{"id":"fc_1","type":"function_call","name":"shell","arguments":"","call_id":"c1"}}
        {"type":"response.function_call_arguments.delta","item_id":"fc_1","delta":"{"}
        {"type":"response.output_item.done","item":{"id":"fc_1","type":"function_call","name":"shell","arguments":"{\"a\":1}","call_id":"c1"}}
        {"type":"response.output_item.done","item":{"id":"ctc_1","type":"custom_tool_call","name":"apply_patch","input":"***","call_id":"c2"}}
        {"type":"response.output_item.done","item":{"id":"ws_1","type":"web_search_call","status":"completed"}}
        "#,
        expect![[r#"
            {"type":"item_started","item_id":"rs_1","kind":{"kind":"reasoning"}}
            {"type":"reasoning_summary_part","item_id":"rs_1","summary_index":0}
            {"type":"reasoning_summary_delta","item_id":"rs_1","summary_index":0,"delta":"hm"}
            {"type":"reasoning_text_delta","item_id":"rs_1","content_index":0,"delta":"raw"}
            {"type":"item_done","item_id":"rs_1","item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"abc"}}
            {"type":"item_started","item_id":"fc_1","kind":{"kind":"function_call","name":"shell"}}
            {"type":"item_done","item_id":"fc_1","item":{"type":"function_call","id":"fc_1","name":"shell","arguments":"{\"a\":1}","call_id":"c1"}}
            {"type":"item_started","item_id":"ctc_1","kind":{"kind":"custom_tool_call","name":"apply_patch"}}
            {"type":"item_done","item_id":"ctc_1","item":{"type":"custom_tool_call","id":"ctc_1","name":"apply_patch","input":"***","call_id":"c2"}}
            {"type":"item_started","item_id":"ws_1","kind":{"kind":"other"}}
            {"type":"item_done","item_id":"ws_1","item":{"id":"ws_1","type":"web_search_call","status":"completed"}}
        "#]],
    );
}

#[test]
fn repeated_ids_change_nothing_but_a_second_call_is_kept() {
    check(
        r#"
        {"type":"response.output_item.added","item":{"id":"m","type":"message"}}
        {"type":"response.output_item.added","item":{"id":"m","type":"message"}}
        {"type":"response.output_item.done","item":{"id":"m","type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}}
        {"type":"response.output_item.done","item":{"id":"m","type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}}
        {"type":"response.output_text.delta","item_id":"m","delta":"late"}
        {"type":"response.output_item.done","item":{"id":"fc","type":"function_call","name":"f","arguments":"{}","call_id":"c1"}}
        {"type":"response.output_item.done","item":{"id":"fc","type":"function_call","name":"f","arguments":"{}","call_id":"c2"}}
        "#,
        expect![[r#"
            {"type":"item_started","item_id":"m","kind":{"kind":"message"}}
            {"type":"item_done","item_id":"m","item":{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"a"}]}}
            {"type":"item_started","item_id":"fc","kind":{"kind":"function_call","name":"f"}}
            {"type":"item_done","item_id":"fc","item":{"type":"function_call","id":"fc","name":"f","arguments":"{}","call_id":"c1"}}
            {"type":"item_started","item_id":"local_2","kind":{"kind":"function_call","name":"f"}}
            {"type":"item_done","item_id":"local_2","item":{"type":"function_call","id":"fc","name":"f","arguments":"{}","call_id":"c2"}}
        "#]],
    );
}

#[test]
fn items_that_only_the_end_lists() {
    check(
        r#"
        {"type":"response.completed","response":{"id":"r","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]},{"type":"function_call","name":"f","arguments":{"x":1},"call_id":"c"}]}}
        "#,
        expect![[r#"
            {"type":"item_started","item_id":"local_0","kind":{"kind":"message"}}
            {"type":"item_done","item_id":"local_0","item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}}
            {"type":"item_started","item_id":"local_1","kind":{"kind":"function_call","name":"f"}}
            {"type":"item_done","item_id":"local_1","item":{"type":"function_call","name":"f","arguments":"{\"x\":1}","call_id":"c"}}
            {"type":"completed","response_id":"r","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":0}}
        "#]],
    );
}

#[test]
fn deltas_without_an_item_open_one_that_the_end_closes() {
    check(
        r#"
        {"type":"response.output_text.delta","delta":"a"}
        {"type":"response.output_text.delta","delta":"b"}
        {"type":"response.completed","response":{"id":"r"}}
        "#,
        expect![[r#"
            {"type":"item_started","item_id":"local_0","kind":{"kind":"message"}}
            {"type":"text_delta","item_id":"local_0","delta":"a"}
            {"type":"text_delta","item_id":"local_0","delta":"b"}
            {"type":"item_done","item_id":"local_0","item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ab"}]}}
            {"type":"completed","response_id":"r","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":0}}
        "#]],
    );
    check(
        r#"
        {"type":"response.output_text.delta","delta":"a"}
        {"type":"response.completed","response":{"id":"r","output":[{"id":"msg_9","type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]}}
        "#,
        expect![[r#"
            {"type":"item_started","item_id":"local_0","kind":{"kind":"message"}}
            {"type":"text_delta","item_id":"local_0","delta":"a"}
            {"type":"item_done","item_id":"local_0","item":{"type":"message","id":"msg_9","role":"assistant","content":[{"type":"output_text","text":"a"}]}}
            {"type":"completed","response_id":"r","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":0}}
        "#]],
    );
}

#[test]
fn a_list_with_new_ids_repeats_nothing() {
    check(
        r#"
        {"type":"response.output_item.done","item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}}
        {"type":"response.completed","response":{"id":"r","output":[{"id":"other","type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]}}
        "#,
        expect![[r#"
            {"type":"item_started","item_id":"local_0","kind":{"kind":"message"}}
            {"type":"item_done","item_id":"local_0","item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}}
            {"type":"completed","response_id":"r","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":0}}
        "#]],
    );
}

#[test]
fn a_call_that_never_ends_is_a_broken_stream() {
    check(
        r#"
        {"type":"response.output_item.added","item":{"id":"fc","type":"function_call","name":"f"}}
        {"type":"response.completed","response":{"id":"r"}}
        "#,
        expect![[r#"
            {"type":"item_started","item_id":"fc","kind":{"kind":"function_call","name":"f"}}
            StreamDisconnected: the response ended without finishing item fc
        "#]],
    );
}

#[test]
fn failures_are_typed() {
    check(
        r#"response.failed|{"type":"response.failed","response":{"id":"r","error":{"code":"rate_limit_exceeded","message":"Please try again in 2s."}}}"#,
        expect![[r#"
            RateLimited: Please try again in 2s. (rate_limit_exceeded)
        "#]],
    );
    check(
        r#"response.incomplete|{"response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#,
        expect![[r#"
            Incomplete: the response was cut at the model's output limit
        "#]],
    );
    check(
        r#"error|{"code":"server_error","message":"sorry"}"#,
        expect![[r#"
            StreamDisconnected: sorry (server_error)
        "#]],
    );
    check(
        r#"{"error":{"code":500,"message":"boom","type":"server_error"}}"#,
        expect![[r#"
            StreamDisconnected: boom (server_error)
        "#]],
    );
    check(
        "response.output_text.delta|{\"delta\":",
        expect![[r#"
        StreamDisconnected: malformed event response.output_text.delta: EOF while parsing a value at line 1 column 9
    "#]],
    );
    check(
        "not json",
        expect![[r#"
        StreamDisconnected: malformed event without a type: expected ident at line 1 column 2
    "#]],
    );
}

#[test]
fn unknown_events_and_done_markers_are_nothing() {
    check(
        "response.new_thing|whatever\n[DONE]\n{\"type\":\"keepalive\"}",
        expect![[""]],
    );
}

#[test]
fn a_function_in_disguise_is_a_free_text_call() {
    let tools = Arc::new(ToolSet::new(vec![ToolSpec::Freeform {
        name: "apply_patch".into(),
        description: String::new(),
        grammar: String::new(),
    }]));
    check_with(
        ResponsesDecoder::new(FreeformOffer::AsFunction, tools),
        r#"
        {"type":"response.output_item.added","item":{"id":"fc","type":"function_call","name":"apply_patch"}}
        {"type":"response.output_item.done","item":{"id":"fc","type":"function_call","name":"apply_patch","arguments":"{\"input\":\"*** Begin\"}","call_id":"c"}}
        "#,
        expect![[r#"
            {"type":"item_started","item_id":"fc","kind":{"kind":"custom_tool_call","name":"apply_patch"}}
            {"type":"item_done","item_id":"fc","item":{"type":"custom_tool_call","id":"fc","name":"apply_patch","input":"*** Begin","call_id":"c"}}
        "#]],
    );
}
