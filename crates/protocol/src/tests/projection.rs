//! Items, and the older events that follow them.

use expect_test::{Expect, expect};

use crate::item::TurnItem;
use crate::project::{on_completed, on_started};
use crate::{EventMsg, SubmissionId};

fn check(item: &str, expected: Expect) {
    let item: TurnItem = serde_json::from_str(item).unwrap();
    let turn_id = SubmissionId::from("1");
    let shown = |when: &str, events: Vec<EventMsg>| -> String {
        let line = |event| format!("{when} {}\n", serde_json::to_string(&event).unwrap());
        events.into_iter().map(line).collect()
    };
    let started = shown("started:", on_started(&item, &turn_id));
    let completed = shown("completed:", on_completed(&item, &turn_id));
    expected.assert_eq(&(started + &completed));
}

#[test]
fn messages_and_reasoning_follow_their_completion() {
    check(
        r#"{"type":"UserMessage","id":"i","content":[{"type":"text","text":"a"},{"type":"local_image","path":"/p"},{"type":"text","text":"b"}]}"#,
        expect![[r#"
            completed: {"type":"user_message","message":"a\nb","content":[{"type":"text","text":"a"},{"type":"local_image","path":"/p"},{"type":"text","text":"b"}]}
        "#]],
    );
    check(
        r#"{"type":"AgentMessage","id":"i","text":"hi"}"#,
        expect![[r#"
            completed: {"type":"agent_message","message":"hi"}
        "#]],
    );
    check(
        r#"{"type":"Reasoning","id":"i","summary_text":["a","b"],"raw_content":["c"]}"#,
        expect![[r#"
            completed: {"type":"agent_reasoning","text":"a"}
            completed: {"type":"agent_reasoning","text":"b"}
            completed: {"type":"agent_reasoning_raw_content","text":"c"}
        "#]],
    );
}

#[test]
fn commands_and_patches_begin_and_end() {
    check(
        r#"{"type":"CommandExecution","id":"c","command":["ls"],"cwd":"/","parsed_cmd":[],"status":"completed","outcome":{"exit_code":0,"stdout":"a","stderr":"","aggregated_output":"a","formatted_output":"a","duration_ms":2}}"#,
        expect![[r#"
            started: {"type":"exec_command_begin","call_id":"c","turn_id":"1","command":["ls"],"cwd":"/","parsed_cmd":[],"source":"agent"}
            completed: {"type":"exec_command_end","call_id":"c","turn_id":"1","command":["ls"],"cwd":"/","parsed_cmd":[],"source":"agent","exit_code":0,"stdout":"a","stderr":"","aggregated_output":"a","formatted_output":"a","duration_ms":2,"status":"completed"}
        "#]],
    );
    check(
        r#"{"type":"FileChange","id":"c","changes":{"/a":{"type":"add","content":"x"}},"status":"failed","auto_approved":true,"stderr":"no"}"#,
        expect![[r#"
            started: {"type":"patch_apply_begin","call_id":"c","turn_id":"1","auto_approved":true,"changes":{"/a":{"type":"add","content":"x"}}}
            completed: {"type":"patch_apply_end","call_id":"c","turn_id":"1","stdout":"","stderr":"no","success":false,"changes":{"/a":{"type":"add","content":"x"}},"status":"failed"}
        "#]],
    );
}

#[test]
fn a_command_that_was_not_run_still_ends() {
    check(
        r#"{"type":"CommandExecution","id":"c","command":["rm"],"cwd":"/","parsed_cmd":[],"status":"declined"}"#,
        expect![[r#"
            started: {"type":"exec_command_begin","call_id":"c","turn_id":"1","command":["rm"],"cwd":"/","parsed_cmd":[],"source":"agent"}
            completed: {"type":"exec_command_end","call_id":"c","turn_id":"1","command":["rm"],"cwd":"/","parsed_cmd":[],"source":"agent","exit_code":-1,"stdout":"","stderr":"","aggregated_output":"","formatted_output":"","duration_ms":0,"status":"declined"}
        "#]],
    );
}

#[test]
fn other_tools_have_older_names_or_none() {
    check(
        r#"{"type":"McpToolCall","id":"c","server":"s","tool":"t","arguments":{},"status":"completed","result":1,"duration_ms":5}"#,
        expect![[r#"
            started: {"type":"mcp_tool_call_begin","call_id":"c","invocation":{"server":"s","tool":"t","arguments":{}}}
            completed: {"type":"mcp_tool_call_end","call_id":"c","invocation":{"server":"s","tool":"t","arguments":{}},"duration_ms":5,"result":1}
        "#]],
    );
    check(
        r#"{"type":"ImageView","id":"c","path":"/p.png"}"#,
        expect![[r#"
            completed: {"type":"view_image_tool_call","call_id":"c","path":"/p.png"}
        "#]],
    );
    check(
        r#"{"type":"ContextCompaction","id":"c"}"#,
        expect![[r#"
        completed: {"type":"context_compacted"}
    "#]],
    );
    check(
        r#"{"type":"ContextCompaction","id":"c","status":"failed"}"#,
        expect![""],
    );
    check(r#"{"type":"Plan","id":"c","text":"p"}"#, expect![""]);
    check(
        r#"{"type":"ToolCall","id":"c","tool":"t","arguments":{},"status":"completed"}"#,
        expect![""],
    );
}
