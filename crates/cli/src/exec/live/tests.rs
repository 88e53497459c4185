use serde_json::json;

use super::*;

fn event(value: serde_json::Value) -> EventMsg {
    serde_json::from_value(value).unwrap()
}

fn delta(text: &str) -> EventMsg {
    let id = "0a0a0a0a-0000-4000-8000-000000000000";
    event(
        json!({"type": "agent_message_content_delta", "thread_id": id, "turn_id": "t",
        "item_id": "m", "delta": text}),
    )
}

fn command(kind: &str, status: &str) -> EventMsg {
    let id = "0a0a0a0a-0000-4000-8000-000000000000";
    event(
        json!({"type": kind, "thread_id": id, "turn_id": "t", "started_at_ms": 0,
        "completed_at_ms": 0, "item": {
            "type": "CommandExecution", "id": "c", "command": ["bash", "-lc", "cargo test"],
            "cwd": "/w", "parsed_cmd": [], "status": status,
        }}),
    )
}

fn began() -> LiveStatus {
    let mut live = LiveStatus::default();
    let started = json!({"type": "task_started", "turn_id": "t", "started_at_ms": 0,
        "collaboration_mode_kind": "default"});
    live.apply(&event(started), 0);
    live
}

#[test]
fn a_silent_model_is_seen_to_think_and_a_writing_one_is_read_along() {
    let mut live = began();
    assert_eq!(live.rows(80, 12_400), ["thinking 12 s · Ctrl-C stops"]);
    live.apply(&delta("First line.\nSecond"), 0);
    live.apply(&delta(" line"), 0);
    assert_eq!(
        live.rows(80, 12_400),
        [
            "  First line.",
            "  Second line",
            "answering 12 s · about 5 tokens · Ctrl-C stops"
        ]
    );
}

#[test]
fn a_running_command_shows_its_last_lines_and_its_time() {
    let mut live = began();
    live.apply(&command("item_started", "in_progress"), 1_000);
    let chunk = BASE64_STANDARD.encode("a\nb\nc\nd\ne\nf\ng\n");
    live.apply(
        &event(
            json!({"type": "exec_command_output_delta", "call_id": "c", "stream": "stdout",
            "chunk": chunk}),
        ),
        1_000,
    );
    let rows = live.rows(80, 42_000);
    assert_eq!(rows.len(), LIVE_ROWS_MAX + 1);
    assert_eq!(rows[LIVE_ROWS_MAX - 1], "  g");
    assert_eq!(
        rows[LIVE_ROWS_MAX],
        "running cargo test 0:41 · Ctrl-C stops"
    );
    live.apply(&command("item_completed", "completed"), 42_000);
    assert_eq!(live.rows(80, 43_000), ["thinking 43 s · Ctrl-C stops"]);
}

#[test]
fn nothing_is_shown_between_tasks() {
    let mut live = began();
    let complete = json!({"type": "task_complete", "turn_id": "t", "duration_ms": 5_000});
    live.apply(&event(complete), 5_000);
    assert!(live.rows(80, 6_000).is_empty());
}

#[test]
fn rows_fit_whatever_their_letters_are_and_act_on_nothing() {
    assert_eq!(fitted("abcdef", 4), "abc…");
    assert_eq!(fitted("日本語", 4), "日…");
    assert_eq!(fitted("a\u{1b}[2Jb", 10), "a\u{fffd}[2Jb");
    assert_eq!(fitted("ab", 2), "ab");
    assert_eq!(wrapped("abcde", 2), ["ab", "cd", "e"]);
    assert_eq!(wrapped("日本", 3), ["日", "本"]);
}
