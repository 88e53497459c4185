//! One agent: what is printed, what is live.

use expect_test::expect;

use super::*;

fn a_task(screen: &mut Screen) {
    screen.task_starts();
    screen.item(json!({"type": "UserMessage", "id": "u", "content": [
        {"type": "text", "text": "fix the flaky parser test"},
    ]}));
    screen.item(
        json!({"type": "Reasoning", "id": "r", "summary_text": ["**Looking at spans**\n\nlong"]}),
    );
    screen.item(json!({"type": "CommandExecution", "id": "c", "command": ["bash", "-lc", "cargo test -p parser"],
        "cwd": "/w", "parsed_cmd": [], "status": "failed", "outcome": {
            "exit_code": 101, "stdout": "", "stderr": "", "formatted_output": "", "duration_ms": 3100,
            "aggregated_output": "running 3 tests\n\u{1b}[31mtest span ... FAILED\u{1b}[0m\nfailures:\n    span\n1 failed\n2 passed\nend\n"}}));
    screen.item(json!({"type": "FileChange", "id": "f", "status": "completed", "auto_approved": true, "changes": {
        "/w/src/span.rs": {"type": "update", "unified_diff": "@@ -1,2 +1,2 @@\n fn end() {\n-    end - 1\n+    end\n"}}}));
    screen.event(json!({"type": "plan_update", "plan": [
        {"step": "Reproduce", "status": "completed"}, {"step": "Repair", "status": "in_progress"},
        {"step": "Document", "status": "pending"}]}));
    screen.item(json!({"type": "AgentMessage", "id": "a", "text": "Repaired `span`:\n\n- off by one\n- a test"}));
}

#[test]
fn a_task_is_printed_cell_by_cell() {
    let mut screen = Screen::new(60, 24);
    a_task(&mut screen);
    expect![[r#"

        › fix the flaky parser test

        Looking at spans

        • Ran cargo test -p parser  ✗ exit 101  3.1 s
        … 2 lines above
        failures:
            span
        1 failed
        2 passed
        end

        • Edited /w/src/span.rs  +1 -1
        @@ -1,2 +1,2 @@
         fn end() {
        -    end - 1
        +    end

        • Plan
          [x] Reproduce
          [>] Repair
          [ ] Document

        Repaired span:

        - off by one
        - a test"#]]
    .assert_eq(&screen.history());
}

#[test]
fn every_width_has_its_rows() {
    for (columns, rows) in [(1, 1), (2, 3), (40, 12), (80, 24), (200, 60)] {
        let mut screen = Screen::new(columns, rows);
        a_task(&mut screen);
        screen.child(1, "tester", json!("running"));
        screen.asks("c1", Some((1, "tester")), &["cargo", "test"]);
        screen.begins(json!({"type": "AgentMessage", "id": "b", "text": ""}));
        screen.delta(
            "b",
            "日本語 👩\u{200d}💻 | a | b |\n|---|---|\n| \u{1b}[2J | x |",
        );
        screen.history();
        screen.shown();
        for key in [
            "ctrl-t", "ctrl-t", "alt-a", "enter", "ctrl-a", "f1", "esc", "esc",
        ] {
            screen.key(key);
            screen.shown();
        }
    }
}

#[test]
fn what_runs_is_live_and_its_stable_part_is_printed() {
    let mut screen = Screen::new(60, 24);
    screen.task_starts();
    screen.begins(json!({"type": "AgentMessage", "id": "a", "text": ""}));
    screen.delta("a", "First paragraph.\n\nSecond par");
    assert_eq!(screen.history().trim(), "First paragraph.");
    screen.later(65_000);
    expect![[r#"

        Second par

        › Enter: with the next request   Tab: after this task
        sol·high | /home/me/parser | 1 m 5 s"#]]
    .assert_eq(&screen.shown());
    screen.item(
        json!({"type": "AgentMessage", "id": "a", "text": "First paragraph.\n\nSecond paragraph."}),
    );
    assert_eq!(
        screen.history().trim(),
        "First paragraph.\n\nSecond paragraph."
    );
    screen.begins(
        json!({"type": "CommandExecution", "id": "c", "command": ["make"], "cwd": "/w",
        "parsed_cmd": [], "status": "in_progress"}),
    );
    let chunk = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, "cc a.c\ncc b.c\n");
    screen.event(json!({"type": "exec_command_output_delta", "call_id": "c", "stream": "stdout", "chunk": chunk}));
    screen.later(2_000);
    assert!(
        screen
            .shown()
            .starts_with("\n• Runs make  2 s\ncc a.c\ncc b.c\n"),
        "{}",
        screen.shown()
    );
}

#[test]
fn text_of_a_model_never_acts_on_the_terminal() {
    let mut screen = Screen::new(60, 24);
    screen.item(
        json!({"type": "AgentMessage", "id": "a", "text": "x\u{1b}]0;evil\u{7} \u{202e}abc"}),
    );
    screen.asks("c1", None, &["echo", "\u{1b}[2J\u{9b}H"]);
    let all = format!("{}{}", screen.history(), screen.shown());
    let is_hostile = |letter: char| letter != '\n' && letter.is_control() || letter == '\u{202e}';
    assert!(!all.contains(is_hostile), "{all:?}");
}

#[test]
fn a_line_of_a_megabyte_is_a_folded_row() {
    let mut screen = Screen::new(80, 24);
    screen.item(
        json!({"type": "CommandExecution", "id": "c", "command": ["cat", "x"], "cwd": "/w",
        "parsed_cmd": [], "status": "completed", "outcome": {
            "exit_code": 0, "stdout": "", "stderr": "", "formatted_output": "", "duration_ms": 1,
            "aggregated_output": "x".repeat(1_000_000)}}),
    );
    assert_eq!(screen.history().lines().count(), 3);
}

#[test]
fn a_plan_is_offered_only_if_there_is_one() {
    let mut screen = Screen::new(80, 24);
    screen.event(json!({"type": "turn_context_updated", "cwd": "/w", "approval_policy": "on-request",
        "sandbox_policy": {"type": "workspace-write"}, "model": "sol", "collaboration_mode": "plan"}));
    screen.task_starts();
    screen.task_ends();
    assert!(!screen.state.plan_offered);
    screen.task_starts();
    screen.item(json!({"type": "Plan", "id": "p", "text": "1. Reproduce\n2. Repair"}));
    screen.task_ends();
    let last = screen.state.transcript.cells().last().unwrap();
    let rows = last.rows(20, crate::cells::CellFold::Folded);
    assert!(
        rows[2..]
            .iter()
            .all(|row| row.shade == crate::text::RowShade::Block && row.width() == 20)
    );
    expect![[r#"

        Implement this plan?  1 yes  2 yes, fresh context  3 no, stay in plan
        › Message, /command, !shell, @file, ? for keys
        sol | /w | plan"#]]
    .assert_eq(&screen.shown());
    screen.later(2_000);
    screen.submitted();
    screen.types("1");
    let ops = screen.submitted();
    let Some(Op::UserTurn { items, .. }) = ops.last() else {
        panic!("{ops:?}");
    };
    assert_eq!(
        *items,
        [troupe_protocol::input::UserInput::text(
            "Implement the plan."
        )]
    );
}

impl Screen {
    fn delta(&mut self, item: &str, delta: &str) {
        self.event(
            json!({"type": "agent_message_content_delta", "thread_id": SESSION,
            "turn_id": "task", "item_id": item, "delta": delta}),
        );
    }
}
