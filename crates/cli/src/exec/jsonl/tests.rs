use expect_test::{Expect, expect};
use serde_json::json;
use troupe_protocol::{Event, EventMsg};

use super::JsonlOutput;

/// Feeds events, written as on the wire, and compares the lines they become.
fn check(events: serde_json::Value, expected: Expect) {
    expected.assert_eq(&project(&mut JsonlOutput::default(), &events));
}

fn project(jsonl: &mut JsonlOutput, events: &serde_json::Value) -> String {
    let mut lines = String::new();
    for msg in events.as_array().unwrap() {
        let msg: EventMsg = serde_json::from_value(msg.clone()).unwrap();
        let event = Event {
            id: "1".into(),
            seq: 1,
            msg,
        };
        for line in jsonl.project(&event) {
            lines.push_str(&serde_json::to_string(&line).unwrap());
            lines.push('\n');
        }
    }
    lines
}

const THREAD: &str = "00000000-0000-4000-8000-000000000001";

fn started() -> serde_json::Value {
    json!({"type": "task_started", "turn_id": "1", "started_at_ms": 0})
}

fn complete() -> serde_json::Value {
    json!({"type": "task_complete", "turn_id": "1", "duration_ms": 1})
}

fn item(state: &str, item: serde_json::Value) -> serde_json::Value {
    json!({
        "type": format!("item_{state}"), "thread_id": THREAD, "turn_id": "1",
        "item": item, "started_at_ms": 0, "completed_at_ms": 0,
    })
}

fn response(input: u64) -> serde_json::Value {
    json!({"type": "response_completed", "turn_id": "1", "response_id": "r",
        "usage": {"input_tokens": input, "output_tokens": 2, "total_tokens": input}})
}

fn tokens(total: u64) -> serde_json::Value {
    json!({"type": "token_count", "info": {
        "total_token_usage": {"input_tokens": total, "output_tokens": 1, "total_tokens": total},
        "last_token_usage": {},
    }})
}

#[test]
fn a_turn_with_a_message() {
    check(
        json!([
            {
                "type": "session_configured", "session_id": THREAD, "model_provider_id": "p",
                "cwd": "/w", "approval_policy": "never", "sandbox_policy": {"type": "read-only"},
                "model": "m", "history_entry_count": 0,
            },
            started(),
            item("started", json!({"type": "AgentMessage", "id": "m1", "text": ""})),
            {"type": "agent_message_content_delta", "thread_id": THREAD, "turn_id": "1",
             "item_id": "m1", "delta": "hel"},
            item("completed", json!({"type": "AgentMessage", "id": "m1", "text": "hello"})),
            {"type": "agent_message", "message": "hello"},
            tokens(9),
            complete(),
        ]),
        expect![[r#"
            {"type":"thread.started","thread_id":"00000000-0000-4000-8000-000000000001"}
            {"type":"turn.started"}
            {"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"hello"}}
            {"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":1,"reasoning_output_tokens":0},"turn_usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0}}
        "#]],
    );
}

#[test]
fn usage_is_the_threads_and_turn_usage_the_turns() {
    check(
        json!([
            started(),
            tokens(110),
            response(10),
            tokens(130),
            response(20),
            complete(),
        ]),
        expect![[r#"
            {"type":"turn.started"}
            {"type":"turn.completed","usage":{"input_tokens":130,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":1,"reasoning_output_tokens":0},"turn_usage":{"input_tokens":30,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":4,"reasoning_output_tokens":0}}
        "#]],
    );
}

#[test]
fn commands_keep_their_id_from_start_to_end() {
    let running = json!({"type": "CommandExecution", "id": "c1", "command": ["bash", "-c", "ls -l"],
        "cwd": "/w", "parsed_cmd": [], "status": "in_progress"});
    let mut done = running.clone();
    done["status"] = json!("failed");
    done["outcome"] = json!({"exit_code": 2, "stdout": "", "stderr": "no", "aggregated_output": "no",
        "formatted_output": "no", "duration_ms": 3});
    check(
        json!([
            item(
                "completed",
                json!({"type": "Reasoning", "id": "r", "summary_text": ["a", "b"]})
            ),
            item(
                "completed",
                json!({"type": "Reasoning", "id": "r2", "summary_text": []})
            ),
            item("started", running),
            item("completed", done),
        ]),
        expect![[r#"
            {"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"a\nb"}}
            {"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"bash -c 'ls -l'","aggregated_output":"","exit_code":null,"status":"in_progress"}}
            {"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"bash -c 'ls -l'","aggregated_output":"no","exit_code":2,"status":"failed"}}
        "#]],
    );
}

#[test]
fn file_changes_know_no_declined() {
    let change = json!({"type": "FileChange", "id": "p", "status": "declined", "auto_approved": false,
        "changes": {"/w/a": {"type": "add", "content": "x"},
                    "/w/b": {"type": "update", "unified_diff": "d"},
                    "/w/c": {"type": "delete", "content": "y"}}});
    check(
        json!([item("completed", change)]),
        expect![[r#"
            {"type":"item.completed","item":{"id":"item_0","type":"file_change","changes":[{"path":"/w/a","kind":"add"},{"path":"/w/b","kind":"update"},{"path":"/w/c","kind":"delete"}],"status":"failed"}}
        "#]],
    );
}

#[test]
fn other_tools() {
    check(
        json!([
            item(
                "started",
                json!({"type": "ToolCall", "id": "t", "tool": "read_file",
                "arguments": {"path": "a"}, "status": "in_progress"})
            ),
            item(
                "completed",
                json!({"type": "ToolCall", "id": "t", "tool": "read_file",
                "arguments": {"path": "a"}, "status": "completed", "output": "text"})
            ),
            item(
                "completed",
                json!({"type": "McpToolCall", "id": "m", "server": "s", "tool": "t",
                "arguments": {}, "status": "completed",
                "result": {"content": [{"type": "text", "text": "x"}], "structuredContent": {"a": 1}}})
            ),
            item(
                "completed",
                json!({"type": "McpToolCall", "id": "m2", "server": "s", "tool": "t",
                "arguments": {}, "status": "failed", "error": "gone"})
            ),
        ]),
        expect![[r#"
            {"type":"item.started","item":{"id":"item_0","type":"tool_call","tool":"read_file","arguments":{"path":"a"},"status":"in_progress"}}
            {"type":"item.completed","item":{"id":"item_0","type":"tool_call","tool":"read_file","arguments":{"path":"a"},"status":"completed"}}
            {"type":"item.completed","item":{"id":"item_1","type":"mcp_tool_call","server":"s","tool":"t","arguments":{},"result":{"content":[{"type":"text","text":"x"}],"structured_content":{"a":1}},"status":"completed"}}
            {"type":"item.completed","item":{"id":"item_2","type":"mcp_tool_call","server":"s","tool":"t","arguments":{},"error":{"message":"gone"},"status":"failed"}}
        "#]],
    );
}

#[test]
fn the_plan_is_one_item_that_ends_with_the_turn() {
    let plan = |first: &str, second: &str| {
        json!({"type": "plan_update", "plan": [
            {"step": "read", "status": first}, {"step": "fix", "status": second}]})
    };
    check(
        json!([
            started(),
            plan("in_progress", "pending"),
            plan("completed", "in_progress"),
            {"type": "turn_aborted", "turn_id": "1", "reason": "replaced"},
        ]),
        expect![[r#"
            {"type":"turn.started"}
            {"type":"item.started","item":{"id":"item_0","type":"todo_list","items":[{"text":"read","completed":false},{"text":"fix","completed":false}]}}
            {"type":"item.updated","item":{"id":"item_0","type":"todo_list","items":[{"text":"read","completed":true},{"text":"fix","completed":false}]}}
            {"type":"item.completed","item":{"id":"item_0","type":"todo_list","items":[{"text":"read","completed":true},{"text":"fix","completed":false}]}}
            {"type":"turn.failed","error":{"message":"the turn was aborted: replaced"}}
        "#]],
    );
}

#[test]
fn a_proposed_plan_is_an_item() {
    check(
        json!([item(
            "completed",
            json!({"type": "Plan", "id": "p", "text": "1. Cut\n"})
        )]),
        expect![[r#"
            {"type":"item.completed","item":{"id":"item_0","type":"plan","text":"1. Cut\n"}}
        "#]],
    );
}

#[test]
fn troubles() {
    check(
        json!([
            started(),
            {"type": "warning", "message": "careful"},
            {"type": "stream_error", "message": "again in 1 s", "attempt": 1, "attempts_max": 5,
             "retry_in_ms": 1000},
            {"type": "error", "message": "no more attempts", "fatal": true},
            {"type": "turn_aborted", "turn_id": "1", "reason": "error"},
        ]),
        expect![[r#"
            {"type":"turn.started"}
            {"type":"item.completed","item":{"id":"item_0","type":"error","message":"careful"}}
            {"type":"error","message":"again in 1 s"}
            {"type":"error","message":"no more attempts"}
            {"type":"turn.failed","error":{"message":"no more attempts"}}
        "#]],
    );
}

#[test]
fn an_interrupted_turn_has_a_last_line() {
    check(
        json!([
            started(),
            {"type": "error", "message": "interrupted", "fatal": true, "error_info": "interrupted"},
            {"type": "turn_aborted", "turn_id": "1", "reason": "interrupted"},
        ]),
        expect![[r#"
            {"type":"turn.started"}
            {"type":"error","message":"interrupted"}
            {"type":"turn.failed","error":{"message":"interrupted"}}
        "#]],
    );
}

const CHILD: &str = "00000000-0000-4000-8000-000000000002";

fn call(state: &str, tool: &str, status: &str) -> serde_json::Value {
    let call = json!({"type": "ToolCall", "id": tool, "tool": tool, "arguments": {},
        "status": status});
    item(state, call)
}

#[test]
fn work_with_other_agents_is_told_by_items_of_its_own() {
    check(
        json!([
            started(),
            call("started", "spawn_agent", "in_progress"),
            {"type": "collab_agent_spawn_begin", "call_id": "spawn_agent",
             "sender_thread_id": THREAD, "prompt": "count", "model": "m"},
            {"type": "collab_agent_spawn_end", "call_id": "spawn_agent",
             "sender_thread_id": THREAD, "new_thread_id": CHILD, "prompt": "count",
             "status": "pending_init"},
            call("completed", "spawn_agent", "completed"),
            {"type": "collab_agent_interaction_begin", "call_id": "s", "sender_thread_id": THREAD,
             "receiver_thread_id": CHILD, "prompt": "faster"},
            {"type": "collab_agent_interaction_end", "call_id": "s", "sender_thread_id": THREAD,
             "receiver_thread_id": CHILD, "prompt": "faster", "status": "running"},
            {"type": "collab_waiting_begin", "call_id": "w", "sender_thread_id": THREAD,
             "receiver_thread_ids": [CHILD]},
            {"type": "collab_waiting_end", "call_id": "w", "sender_thread_id": THREAD,
             "receiver_thread_ids": [CHILD], "statuses": {CHILD: {"completed": "3 files"}}},
        ]),
        expect![[r#"
            {"type":"turn.started"}
            {"type":"item.started","item":{"id":"item_0","type":"collab_tool_call","tool":"spawn_agent","sender_thread_id":"00000000-0000-4000-8000-000000000001","receiver_thread_ids":[],"prompt":"count","agents_states":{},"status":"in_progress"}}
            {"type":"item.completed","item":{"id":"item_0","type":"collab_tool_call","tool":"spawn_agent","sender_thread_id":"00000000-0000-4000-8000-000000000001","receiver_thread_ids":["00000000-0000-4000-8000-000000000002"],"prompt":"count","agents_states":{"00000000-0000-4000-8000-000000000002":{"status":"pending_init","message":null}},"status":"completed"}}
            {"type":"item.started","item":{"id":"item_1","type":"collab_tool_call","tool":"send_input","sender_thread_id":"00000000-0000-4000-8000-000000000001","receiver_thread_ids":["00000000-0000-4000-8000-000000000002"],"prompt":"faster","agents_states":{},"status":"in_progress"}}
            {"type":"item.completed","item":{"id":"item_1","type":"collab_tool_call","tool":"send_input","sender_thread_id":"00000000-0000-4000-8000-000000000001","receiver_thread_ids":["00000000-0000-4000-8000-000000000002"],"prompt":"faster","agents_states":{"00000000-0000-4000-8000-000000000002":{"status":"running","message":null}},"status":"completed"}}
            {"type":"item.started","item":{"id":"item_2","type":"collab_tool_call","tool":"wait","sender_thread_id":"00000000-0000-4000-8000-000000000001","receiver_thread_ids":["00000000-0000-4000-8000-000000000002"],"prompt":null,"agents_states":{},"status":"in_progress"}}
            {"type":"item.completed","item":{"id":"item_2","type":"collab_tool_call","tool":"wait","sender_thread_id":"00000000-0000-4000-8000-000000000001","receiver_thread_ids":["00000000-0000-4000-8000-000000000002"],"prompt":null,"agents_states":{"00000000-0000-4000-8000-000000000002":{"status":"completed","message":"3 files"}},"status":"completed"}}
        "#]],
    );
}

/// One with bad arguments never begins, so it would not be told at all.
#[test]
fn a_refused_call_is_an_item_like_any_other() {
    check(
        json!([
            started(),
            call("started", "wait", "in_progress"),
            call("completed", "wait", "failed"),
        ]),
        expect![[r#"
            {"type":"turn.started"}
            {"type":"item.completed","item":{"id":"item_0","type":"tool_call","tool":"wait","arguments":{},"status":"failed"}}
        "#]],
    );
}

#[test]
fn troubles_between_turns_are_items() {
    check(
        json!([
            started(),
            complete(),
            {"type": "warning", "message": "a template failed"},
            {"type": "stream_error", "message": "once more", "attempt": 1, "attempts_max": 2,
             "retry_in_ms": 0},
            {"type": "error", "message": "no such question", "fatal": false},
            {"type": "agent_message", "message": "for nobody"},
        ]),
        expect![[r#"
            {"type":"turn.started"}
            {"type":"turn.completed","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0},"turn_usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0}}
            {"type":"item.completed","item":{"id":"item_0","type":"error","message":"a template failed"}}
            {"type":"item.completed","item":{"id":"item_1","type":"error","message":"once more"}}
            {"type":"item.completed","item":{"id":"item_2","type":"error","message":"no such question"}}
        "#]],
    );
}

#[test]
fn the_lives_of_agents_are_told_between_turns_too() {
    check(
        json!([
            started(),
            {"type": "subagent_lifecycle", "event": "created", "subagent": {
                "agent_id": 1, "parent_agent_id": 0, "session_id": CHILD,
                "parent_session_id": THREAD, "path": "/root/files", "origin": "spawn",
                "status": {"queued": {"position": 1}}, "summary": "count", "started_at_ms": 0,
                "pending_messages": 0, "pending_interrupts": 0}},
            complete(),
            {"type": "subagent_lifecycle", "event": "status", "agent_id": 1,
             "session_id": CHILD, "status": {"completed": "3 files"}},
            started(),
            complete(),
            {"type": "subagent_lifecycle", "event": "deleted", "agent_id": 1,
             "session_id": CHILD},
        ]),
        expect![[r#"
            {"type":"turn.started"}
            {"type":"agent.created","agent":{"agent_id":1,"thread_id":"00000000-0000-4000-8000-000000000002","parent_thread_id":"00000000-0000-4000-8000-000000000001","path":"/root/files","summary":"count","status":"queued","message":null,"position":1}}
            {"type":"turn.completed","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0},"turn_usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0}}
            {"type":"agent.status","agent_id":1,"thread_id":"00000000-0000-4000-8000-000000000002","status":"completed","message":"3 files"}
            {"type":"turn.started"}
            {"type":"turn.completed","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0},"turn_usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0}}
            {"type":"agent.deleted","agent_id":1,"thread_id":"00000000-0000-4000-8000-000000000002"}
        "#]],
    );
}

/// A full disk may be told once more when the session is closed.
#[test]
fn nothing_follows_the_last_line() {
    let mut jsonl = JsonlOutput::default();
    let aborted = json!({"type": "turn_aborted", "turn_id": "1", "reason": "error"});
    project(&mut jsonl, &json!([started(), aborted]));
    jsonl.close();
    let late = json!([
        {"type": "error", "message": "no space left", "fatal": true},
        {"type": "warning", "message": "late"},
    ]);
    assert_eq!(project(&mut jsonl, &late), "");
}

#[test]
fn the_end_of_an_earlier_turn_is_not_ours() {
    check(
        json!([{"type": "turn_aborted", "turn_id": "0", "reason": "crash"}, started()]),
        expect![[r#"
            {"type":"turn.started"}
        "#]],
    );
}
