use expect_test::{Expect, expect};

use crate::history::ResponseItem;
use crate::rollout::RolloutRecord;
use crate::session::SessionSource;
use crate::tests::example;
use crate::tree::AgentLine;
use crate::usage::TokenUsage;

examples! { RolloutRecord:
    RolloutRecord::SessionMeta(_) =>
        r#"{"type":"session_meta","payload":{"id":"67e55044-10b1-426f-9247-bb680e5fe0c8","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/repo","originator":"troupe","cli_version":"0.0.0","source":{"sub_session":{"parent":"67e55044-10b1-426f-9247-bb680e5fe0c9","depth":1,"origin":"spawn"}},"model_provider":"openai","personality":"friendly","git":{"commit_hash":"abc","branch":"main"}}}"#,
    RolloutRecord::TurnContext(_) =>
        r#"{"type":"turn_context","payload":{"cwd":"/repo","approval_policy":"on-failure","sandbox_policy":{"type":"read-only","network_access":true},"model":"m-1","summary":"auto","collaboration_mode":"default"}}"#,
    RolloutRecord::ResponseItem(_) =>
        r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}}"#,
    RolloutRecord::Compacted(_) =>
        r#"{"type":"compacted","payload":{"message":"So far: …","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"So far: …"}]}],"carried":{"turn_context":{"cwd":"/repo","approval_policy":"never","sandbox_policy":{"type":"danger-full-access"},"model":"m-1","summary":"auto","collaboration_mode":"default"},"total_token_usage":{"input_tokens":1,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":1,"reasoning_output_tokens":0,"total_tokens":2},"seq_reserved_until":1024,"last_response_id":"resp_1"}}}"#,
    RolloutRecord::EventMsg(_) =>
        r#"{"type":"event_msg","payload":{"id":"1","seq":7,"msg":{"type":"task_complete","turn_id":"1","duration_ms":3}}}"#,
    RolloutRecord::Rewind(_) =>
        r#"{"type":"rewind","payload":{"to":512,"reason":{"rollback":{"num_turns":1}},"carried":{"turn_context":{"cwd":"/repo","approval_policy":"never","sandbox_policy":{"type":"danger-full-access"},"model":"m-1","summary":"auto","collaboration_mode":"default"},"total_token_usage":{"input_tokens":1,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":1,"reasoning_output_tokens":0,"total_tokens":2},"seq_reserved_until":1024}}}"#,
    RolloutRecord::Agent(_) =>
        r#"{"type":"agent","payload":{"tree":"67e55044-10b1-426f-9247-bb680e5fe0c8","order":7,"at":1760000000000,"log":3,"fact":"ended","agent":3,"task":"t1","end":"completed","callback":{"id":"67e55044-10b1-426f-9247-bb680e5fe0c9","target":0},"mail":{"items":[{"type":"text","text":"done"}],"metadata":{"is_callback":true,"source":"troupe","child_session_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","child_task_id":"t1"}},"result":{"session_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","task_id":"t1","stop":{"reason":"completed"},"last_message":"4","evidence":{"started_at_ms":1,"ended_at_ms":2,"usage":{"input_tokens":1,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":1,"reasoning_output_tokens":0,"total_tokens":2},"messages":1}}}}"#,
    RolloutRecord::Files(_) =>
        r#"{"type":"files","payload":{"fact":"changed","turn_id":"1","files":[{"path":"/repo/a","before":{"kind":"file","sha256":"ab","mode":420},"after":{"kind":"absent"}}],"unseen":["too many files"]}}"#,
    RolloutRecord::SeqReserved { .. } =>
        r#"{"type":"seq_reserved","payload":{"until":2048}}"#,
    RolloutRecord::Submitted(_) =>
        r#"{"type":"submitted","payload":{"id":"1","client":"desk","secret_digest":"5f36b2ea290645ee34d943220a14b54e"}}"#,
    RolloutRecord::AnswerShape { .. } =>
        r#"{"type":"answer_shape","payload":{"output_schema":{"type":"object"}}}"#,
}

#[test]
fn kind_is_the_tag() {
    for (line, tag) in LINES.iter().zip(example::tags(LINES)) {
        assert_eq!(example::round_trip::<RolloutRecord>(line).kind(), tag);
    }
}

/// The keys of a fact, of its place and of what it comes with are those of one object.
#[test]
fn facts_with_messages_of_their_own_round_trip() {
    for line in [
        r#"{"tree":"67e55044-10b1-426f-9247-bb680e5fe0c8","order":7,"at":1,"log":3,"fact":"started","agent":3,"task":"t1","message":"67e55044-10b1-426f-9247-bb680e5fe0c9"}"#,
        r#"{"tree":"67e55044-10b1-426f-9247-bb680e5fe0c8","order":8,"at":1,"log":3,"fact":"kept","keepsake":"watchdog","by":"user","target":3,"interval_s":60,"message":"look"}"#,
    ] {
        example::round_trip::<AgentLine>(line);
    }
}

fn check_item(line: &str, expected: Expect) {
    let item: ResponseItem = serde_json::from_str(line).unwrap();
    expected.assert_eq(&format!("{item:?}"));
}

#[test]
fn items_of_the_model_round_trip() {
    for line in [
        r#"{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"no"}]}"#,
        r#"{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:","detail":"original"}]}"#,
        r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],"content":[{"type":"reasoning_text","text":"r"},{"type":"text","text":"t"}],"encrypted_content":"x"}"#,
        r#"{"type":"function_call","id":"fc_1","name":"shell","arguments":"{not json","call_id":"call_1"}"#,
        r#"{"type":"function_call_output","call_id":"call_1","output":"text"}"#,
        r#"{"type":"function_call_output","call_id":"call_1","output":[{"type":"input_image","image_url":"data:"}]}"#,
        r#"{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch","call_id":"call_1"}"#,
        r#"{"type":"custom_tool_call_output","call_id":"call_1","output":"done"}"#,
    ] {
        let item: ResponseItem = example::round_trip(line);
        assert!(!matches!(item, ResponseItem::Other(_)), "{line}");
    }
}

#[test]
fn an_item_of_an_unknown_kind_is_kept_as_it_came() {
    check_item(
        r#"{"type":"web_search_call","id":"ws_1","n":1.5}"#,
        expect![[
            r#"Other(Object {"type": String("web_search_call"), "id": String("ws_1"), "n": Number(1.5)})"#
        ]],
    );
    check_item(
        r#"{"type":"message","role":"tool","content":[]}"#,
        expect![[
            r#"Other(Object {"type": String("message"), "role": String("tool"), "content": Array []})"#
        ]],
    );
    example::round_trip::<ResponseItem>(
        r#"{"action":{"q":"x"},"id":"ws_1","type":"web_search_call"}"#,
    );
}

#[test]
fn a_source_of_an_unknown_kind_is_kept_as_it_came() {
    for line in [r#""exec""#, r#""from_the_future""#, r#"{"custom":"x"}"#] {
        example::round_trip::<SessionSource>(line);
    }
}

#[test]
fn token_counts_that_nobody_can_have_used_do_not_overflow() {
    let mut sum = TokenUsage {
        total_tokens: u64::MAX,
        ..TokenUsage::default()
    };
    sum += TokenUsage {
        input_tokens: 1,
        total_tokens: 1,
        ..TokenUsage::default()
    };
    assert_eq!((sum.input_tokens, sum.total_tokens), (1, u64::MAX));
}
