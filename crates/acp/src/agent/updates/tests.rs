use expect_test::{Expect, expect};
use serde_json::{Value, json};
use troupe_protocol::EventMsg;
use troupe_protocol::policy::CollaborationMode;

use super::{NoticeStyle, ReplayMode, UpdateTranslator};

const THREAD: &str = "00000000-0000-4000-8000-000000000001";

fn told(updates: &mut UpdateTranslator, events: &[Value]) -> String {
    let lines = events.iter().flat_map(|event| {
        let msg: EventMsg = serde_json::from_value(event.clone()).unwrap();
        updates.of(&msg)
    });
    let lines: Vec<String> = lines
        .map(|update| serde_json::to_string(&update).unwrap())
        .collect();
    lines.join("\n")
}

fn check(events: &[Value], expected: Expect) {
    let mut updates = UpdateTranslator::new(
        ReplayMode::Live,
        NoticeStyle::Own,
        CollaborationMode::Default,
    );
    expected.assert_eq(&told(&mut updates, events));
}

fn delta(text: &str) -> Value {
    json!({"type": "agent_message_content_delta", "thread_id": THREAD, "turn_id": "t", "item_id": "m", "delta": text})
}

fn snapshot(text: &str) -> Value {
    let mut event = delta(text);
    event["snapshot"] = true.into();
    event
}

fn item(kind: &str, item: Value) -> Value {
    let time = if kind == "item_started" {
        "started_at_ms"
    } else {
        "completed_at_ms"
    };
    json!({"type": kind, "thread_id": THREAD, "turn_id": "t", "item": item, time: 0})
}

fn message(text: &str) -> Value {
    item(
        "item_completed",
        json!({"type": "AgentMessage", "id": "m", "text": text}),
    )
}

#[test]
fn a_message_is_told_piece_by_piece_and_once() {
    check(
        &[delta("Hel"), delta("lo."), message("Hello.")],
        expect![[r#"
            {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hel"},"messageId":"m"}
            {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"lo."},"messageId":"m"}"#]],
    );
}

#[test]
fn what_a_client_missed_is_told_in_the_end() {
    check(
        &[delta("Hel"), message("Hello.")],
        expect![[r#"
            {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hel"},"messageId":"m"}
            {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"lo."},"messageId":"m"}"#]],
    );
    check(
        &[delta("Hel"), snapshot("Hello, ")],
        expect![[r#"
            {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hel"},"messageId":"m"}
            {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"lo, "},"messageId":"m"}"#]],
    );
}

#[test]
fn a_message_that_begins_anew_is_another_one() {
    check(
        &[
            delta("Helo"),
            snapshot(""),
            delta("Hello"),
            message("Hello"),
        ],
        expect![[r#"
            {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Helo"},"messageId":"m"}
            {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello"},"messageId":"m-1"}"#]],
    );
}

#[test]
fn a_command_is_a_call_with_its_output() {
    let command = |status: &str, outcome: Value| {
        let mut item = json!({"type": "CommandExecution", "id": "c", "command": ["bash", "-lc", "cat a.txt"], "cwd": "/w",
            "parsed_cmd": [{"type": "read", "cmd": "cat a.txt", "name": "a.txt", "path": "a.txt"}], "status": status});
        if !outcome.is_null() {
            item["outcome"] = outcome;
        }
        item
    };
    let outcome = json!({"exit_code": 0, "stdout": "hi\n", "stderr": "", "aggregated_output": "hi\n", "formatted_output": "hi", "duration_ms": 5});
    check(
        &[
            item("item_started", command("in_progress", Value::Null)),
            json!({"type": "exec_command_output_delta", "call_id": "c", "stream": "stdout", "chunk": "aGkK"}),
            item("item_completed", command("completed", outcome)),
        ],
        expect![[r#"
            {"sessionUpdate":"tool_call","toolCallId":"c","title":"cat a.txt","kind":"read","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"$ cat a.txt"}}],"locations":[{"path":"/w/a.txt"}],"rawInput":{"command":["bash","-lc","cat a.txt"],"cwd":"/w"}}
            {"sessionUpdate":"tool_call_update","toolCallId":"c","content":[{"type":"content","content":{"type":"text","text":"```\nhi\n```"}}]}
            {"sessionUpdate":"tool_call_update","toolCallId":"c","kind":"read","status":"completed","title":"cat a.txt","content":[{"type":"content","content":{"type":"text","text":"```\nhi\n```"}}],"locations":[{"path":"/w/a.txt"}],"rawInput":{"command":["bash","-lc","cat a.txt"],"cwd":"/w"},"rawOutput":{"exit_code":0,"duration_ms":5}}"#]],
    );
}

#[test]
fn a_patch_is_a_call_with_diffs() {
    check(
        &[item(
            "item_completed",
            json!({"type": "FileChange", "id": "p", "status": "completed", "auto_approved": true, "changes": {
                "/w/a.rs": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+b\n"},
            }}),
        )],
        expect![[
            r#"{"sessionUpdate":"tool_call","toolCallId":"p","title":"Edit /w/a.rs","kind":"edit","status":"completed","content":[{"type":"diff","path":"/w/a.rs","oldText":"a\n","newText":"b\n"}],"locations":[{"path":"/w/a.rs"}]}"#
        ]],
    );
}

#[test]
fn a_plan_a_mode_and_a_window() {
    check(
        &[
            json!({"type": "plan_update", "plan": [{"step": "look", "status": "completed"}, {"step": "act", "status": "in_progress"}]}),
            json!({"type": "task_started", "turn_id": "t", "started_at_ms": 0, "collaboration_mode_kind": "plan"}),
            json!({"type": "token_count", "info": {"total_token_usage": {}, "last_token_usage": {"total_tokens": 12}, "model_context_window": 1000}}),
        ],
        expect![[r#"
            {"sessionUpdate":"plan","entries":[{"content":"look","priority":"medium","status":"completed"},{"content":"act","priority":"medium","status":"in_progress"}]}
            {"sessionUpdate":"current_mode_update","currentModeId":"plan"}
            {"sessionUpdate":"usage_update","used":12,"size":1000}"#]],
    );
}

#[test]
fn a_notice_is_for_those_who_know_notices() {
    let warning = [json!({"type": "warning", "message": "no sandbox"})];
    check(
        &warning,
        expect![[r#"{"sessionUpdate":"notice","severity":"warning","title":"no sandbox"}"#]],
    );
    let mut updates = UpdateTranslator::new(
        ReplayMode::Live,
        NoticeStyle::Thoughts,
        CollaborationMode::Default,
    );
    expect![[r#"{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"no sandbox\n\n"}}"#]]
        .assert_eq(&told(&mut updates, &warning));
}

#[test]
fn the_users_words_are_told_of_the_past_only() {
    let said = [item(
        "item_completed",
        json!({"type": "UserMessage", "id": "u", "content": [{"type": "text", "text": "hello"}]}),
    )];
    check(&said, expect![""]);
    let mut updates = UpdateTranslator::new(
        ReplayMode::Past,
        NoticeStyle::Own,
        CollaborationMode::Default,
    );
    expect![[r#"{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"hello"},"messageId":"u"}"#]]
        .assert_eq(&told(&mut updates, &said));
}
