#![expect(
    clippy::needless_raw_string_hashes,
    reason = "expectations are written by the tool in this form"
)]

use expect_test::{Expect, expect};
use jiff::Timestamp;
use serde_json::{Value, json};
use troupe_engine::SessionClock;
use troupe_protocol::{Event, EventMsg};

use super::HumanOutput;
use crate::style::TextStyle;

/// Feeds events, written as on the wire, and compares what a person sees.
fn check(events: Value, expected: Expect) {
    expected.assert_eq(&shown(events, TextStyle::Plain));
}

fn shown(events: Value, style: TextStyle) -> String {
    let clock = SessionClock::new(|| Timestamp::UNIX_EPOCH);
    let mut human = HumanOutput::new(style, clock);
    let events = events.as_array().unwrap().iter().map(|msg| Event {
        id: "1".into(),
        seq: 1,
        msg: serde_json::from_value::<EventMsg>(msg.clone()).unwrap(),
    });
    events.map(|event| human.project(&event)).collect()
}

const THREAD: &str = "00000000-0000-4000-8000-000000000001";

fn configured() -> Value {
    json!({
        "type": "session_configured", "session_id": THREAD, "model_provider_id": "local",
        "cwd": "/w", "approval_policy": "never", "sandbox_policy": {"type": "workspace-write"},
        "model": "m", "effort": "high", "history_entry_count": 0,
    })
}

fn item(state: &str, item: Value) -> Value {
    json!({
        "type": format!("item_{state}"), "thread_id": THREAD, "turn_id": "1",
        "item": item, "started_at_ms": 0, "completed_at_ms": 0,
    })
}

fn message(id: &str, text: &str) -> Value {
    item(
        "completed",
        json!({"type": "AgentMessage", "id": id, "text": text}),
    )
}

fn command(status: &str, output: &str, exit_code: Value) -> Value {
    json!({"type": "CommandExecution", "id": "c", "command": ["bash", "-c", "sh test.sh"],
        "cwd": "/w", "parsed_cmd": [], "status": status,
        "outcome": {"exit_code": exit_code, "stdout": "", "stderr": "", "aggregated_output": output,
            "formatted_output": "", "duration_ms": 1234}})
}

#[test]
fn the_final_message_is_not_repeated_here() {
    check(
        json!([
            configured(),
            message("a", "I will run the tests."),
            item("started", command("in_progress", "", json!(null))),
            item("completed", command("failed", "1 passed\n2 failed\n", json!(1))),
            message("b", "They fail."),
            {"type": "token_count", "info": {"last_token_usage": {}, "total_token_usage":
                {"input_tokens": 50, "cached_input_tokens": 40, "output_tokens": 7}}},
            {"type": "task_complete", "turn_id": "1", "duration_ms": 9,
             "last_agent_message": "They fail."},
        ]),
        expect![[r#"
              session  00000000-0000-4000-8000-000000000001
                model  m (local, effort high)
              sandbox  workspace-write, no network
            directory  /w
            I will run the tests.
            $ sh test.sh
              1 passed
              2 failed
              exit 1 in 1.2 s
        "#]],
    );
}

#[test]
fn edits_are_shown_as_diffs() {
    let diff = "--- a/x.sh\n+++ b/x.sh\n@@ -1 +1 @@\n-old\n+new\n";
    check(
        json!([
            configured(),
            item(
                "completed",
                json!({"type": "FileChange", "id": "p", "auto_approved": true,
                "status": "completed", "changes": {
                    "/w/x.sh": {"type": "update", "unified_diff": diff},
                    "/w/y": {"type": "add", "content": "one\ntwo\n"},
                    "/z": {"type": "delete", "content": "gone"}}})
            ),
            item(
                "completed",
                json!({"type": "FileChange", "id": "q", "auto_approved": true,
                "status": "failed", "changes": {}, "stderr": "no such file\n"})
            ),
        ]),
        expect![[r#"
              session  00000000-0000-4000-8000-000000000001
                model  m (local, effort high)
              sandbox  workspace-write, no network
            directory  /w
            edit x.sh
              @@ -1 +1 @@
              -old
              +new
            add y
              +one
              +two
            delete /z
              failed no such file
        "#]],
    );
}

#[test]
fn long_output_keeps_its_end_and_says_what_is_hidden() {
    let lines: Vec<String> = (1..=20).map(|number| format!("line {number}")).collect();
    let output = lines.join("\n");
    check(
        json!([
            item("started", command("in_progress", "", json!(null))),
            item("completed", command("completed", &output, json!(0))),
        ]),
        expect![[r#"
            $ sh test.sh
              … 8 lines before
              line 9
              line 10
              line 11
              line 12
              line 13
              line 14
              line 15
              line 16
              line 17
              line 18
              line 19
              line 20
              ok in 1.2 s
        "#]],
    );
}

#[test]
fn output_cannot_move_the_cursor() {
    let shown = shown(
        json!([item(
            "completed",
            command("completed", "\u{1b}[2Jgone\rover", json!(0))
        )]),
        TextStyle::Plain,
    );
    assert!(
        !shown.contains('\u{1b}') && !shown.contains('\r'),
        "{shown:?}"
    );
}

#[test]
fn tools_plans_and_troubles() {
    check(
        json!([
            {"type": "task_started", "turn_id": "1", "started_at_ms": 0},
            item("completed", json!({"type": "Reasoning", "id": "r", "summary_text": ["First", "then"]})),
            item("completed", json!({"type": "ToolCall", "id": "t", "tool": "read_file",
                "arguments": {"path": "a"}, "status": "completed"})),
            item("completed", json!({"type": "ToolCall", "id": "u", "tool": "read_file",
                "arguments": {"path": "b"}, "status": "failed", "output": "no such file\nmore"})),
            {"type": "plan_update", "plan": [{"step": "read", "status": "completed"},
                {"step": "fix", "status": "in_progress"}, {"step": "test", "status": "pending"}]},
            {"type": "warning", "message": "careful"},
            message("m", "half an answer"),
            {"type": "error", "message": "the server is gone", "fatal": true},
            {"type": "turn_aborted", "turn_id": "1", "reason": "error"},
        ]),
        expect![[r#"
            First
            then
            tool read_file {"path":"a"}
            tool read_file {"path":"b"}
              failed no such file
            plan
              x read
              > fix
              - test
            warning: careful
            half an answer
            error: the server is gone
            Stopped by this error; what was done before it is kept.
        "#]],
    );
}

#[test]
fn colour_only_when_asked_for() {
    let event = json!([{"type": "warning", "message": "careful"}]);
    assert_eq!(shown(event.clone(), TextStyle::Plain), "warning: careful\n");
    assert_eq!(
        shown(event, TextStyle::Ansi),
        "\u{1b}[33mwarning:\u{1b}[0m careful\n"
    );
}

fn child(number: u32, path: &str, status: &Value) -> Value {
    let session = format!("00000000-0000-4000-8000-00000000000{}", number + 1);
    json!({"type": "subagent_lifecycle", "event": "created", "subagent": {
        "agent_id": number, "parent_agent_id": 0, "session_id": session, "path": path,
        "origin": "spawn", "status": status, "summary": "count the files",
        "started_at_ms": 0, "pending_messages": 0, "pending_interrupts": 0}})
}

fn status(number: u32, status: &Value) -> Value {
    let session = format!("00000000-0000-4000-8000-00000000000{}", number + 1);
    json!({"type": "subagent_lifecycle", "event": "status", "agent_id": number,
        "session_id": session, "status": status})
}

#[test]
fn children_are_told_by_their_place() {
    check(
        json!([
            child(1, "/root/files", &json!("pending_init")),
            child(2, "/root/files/deep", &json!({"queued": {"position": 1}})),
            status(1, &json!({"queued": {"position": 2}})),
            status(1, &json!("running")),
            status(1, &json!("running")),
            {"type": "collab_waiting_begin", "call_id": "w", "sender_thread_id": THREAD,
             "receiver_thread_ids": ["00000000-0000-4000-8000-000000000002"]},
            status(2, &json!({"errored": "no space\nleft"})),
            status(1, &json!({"completed": "3 files"})),
            status(1, &json!("cancelled")),
            status(7, &json!("interrupted")),
        ]),
        expect![[r#"
            agent /root/files count the files
              agent /root/files/deep count the files (number 1 in line)
            agent /root/files queued, number 2 in line
            agent /root/files running
            waiting for /root/files
              agent /root/files/deep failed after 0.0 s: no space
            agent /root/files completed in 0.0 s: 3 files
            agent /root/files cancelled after 0.0 s
            agent 7 interrupted after 0.0 s
        "#]],
    );
}

#[test]
fn what_a_child_was_told_is_shown_if_it_could_hear_it() {
    let interaction = |event: &str, prompt: &str, status: Value| {
        json!({"type": event, "call_id": "s", "sender_thread_id": THREAD,
            "receiver_thread_id": "00000000-0000-4000-8000-000000000002",
            "prompt": prompt, "status": status})
    };
    let (begin, end) = (
        "collab_agent_interaction_begin",
        "collab_agent_interaction_end",
    );
    check(
        json!([
            child(1, "/root/files", &json!("running")),
            interaction(begin, "count again", json!(null)),
            interaction(end, "count again", json!("running")),
            interaction(begin, "are you there?", json!(null)),
            interaction(end, "are you there?", json!("shutdown")),
        ]),
        expect![[r#"
            agent /root/files count the files
            agent /root/files told: count again
        "#]],
    );
}

#[test]
fn questions_of_children_are_told_with_their_answers() {
    let label = json!({"agent_id": 1, "path": "/root/files", "session_id": THREAD});
    check(
        json!([
            {"type": "exec_approval_request", "call_id": "/root/files#c", "turn_id": "1",
             "command": ["bash", "-c", "git push"], "cwd": "/w", "parsed_cmd": [],
             "available_decisions": [], "agent": label},
            {"type": "approval_resolved", "call_id": "/root/files#c", "decision": "denied"},
            {"type": "request_user_input", "call_id": "/root/files#q", "turn_id": "1",
             "questions": [{"id": "which", "header": "h", "question": "Which?", "options": []}],
             "agent": label},
            {"type": "user_input_resolved", "call_id": "/root/files#q"},
            {"type": "exec_approval_request", "call_id": "own", "turn_id": "1",
             "command": ["ls"], "cwd": "/w", "parsed_cmd": [], "available_decisions": []},
            {"type": "approval_resolved", "call_id": "own", "decision": "approved"},
        ]),
        expect![[r#"
            agent /root/files asks to run git push
            agent /root/files refused
            agent /root/files asks to know: Which?
            agent /root/files got no answer
        "#]],
    );
}

/// A child that is done begins another turn; only the message of the last one is final.
#[test]
fn an_earlier_turns_message_is_shown_when_another_turn_begins() {
    let clock = SessionClock::new(|| Timestamp::UNIX_EPOCH);
    let mut human = HumanOutput::new(TextStyle::Plain, clock);
    let mut show = |msg: Value| {
        let msg = serde_json::from_value(msg).unwrap();
        let (id, seq) = ("1".into(), 1);
        human.project(&Event { id, seq, msg })
    };
    let complete = |text: &str| {
        json!({"type": "task_complete", "turn_id": "1", "duration_ms": 9,
            "last_agent_message": text})
    };
    assert_eq!(show(complete("I began.")), "");
    let running = status(1, &json!("running"));
    assert_eq!(show(running), "agent 1 running\n");
    let started = json!({"type": "task_started", "turn_id": "2", "started_at_ms": 0});
    assert_eq!(show(started), "I began.\n");
    assert_eq!(show(complete("It is done.")), "");
    assert_eq!(human.take_final_message().as_deref(), Some("It is done."));
}

fn plan(text: &str) -> Value {
    item(
        "completed",
        json!({"type": "Plan", "id": "p", "text": text}),
    )
}

#[test]
fn a_plan_is_held_back_with_its_message() {
    // The last answer goes to standard output, whole.
    check(
        json!([
            message("a", "I looked.\n"),
            plan("1. Cut\n"),
            {"type": "task_complete", "turn_id": "1", "duration_ms": 9,
             "last_agent_message": "I looked.\n1. Cut"},
        ]),
        expect![[""]],
    );
    // One that something follows is shown, plan first or last.
    check(
        json!([
            plan("1. Cut\n"),
            message("a", "Like this?"),
            {"type": "warning", "message": "careful"},
            plan("1. Glue\n"),
            {"type": "task_complete", "turn_id": "1", "duration_ms": 9,
             "last_agent_message": "something else"},
        ]),
        expect![[r#"
            Like this?
            plan
            1. Cut
            warning: careful
            plan
            1. Glue
        "#]],
    );
}

fn command_called(id: &str, line: &str, output: Option<&str>) -> Value {
    let (state, status) = match output {
        None => ("started", "in_progress"),
        Some(_) => ("completed", "completed"),
    };
    let mut call = command(status, output.unwrap_or_default(), json!(0));
    call["id"] = json!(id);
    call["command"] = json!(["bash", "-c", line]);
    item(state, call)
}

#[test]
fn results_of_parallel_commands_carry_their_command() {
    check(
        json!([
            command_called("a", "make a", None),
            command_called("b", "make b", None),
            command_called("a", "make a", Some("a is made\n")),
            command_called("b", "make b", Some("b is made\n")),
            command_called("c", "make c", None),
            command_called("c", "make c", Some("c is made\n")),
        ]),
        expect![[r#"
            $ make a
            $ make b
              of make a:
              a is made
              ok in 1.2 s
              of make b:
              b is made
              ok in 1.2 s
            $ make c
              c is made
              ok in 1.2 s
        "#]],
    );
}

#[test]
fn the_models_words_come_before_what_they_announce() {
    check(
        json!([
            message("a", "I have somebody count."),
            child(1, "/root/files", &json!("pending_init")),
            message("b", "I wait."),
            {"type": "collab_waiting_begin", "call_id": "w", "sender_thread_id": THREAD,
             "receiver_thread_ids": ["00000000-0000-4000-8000-000000000002"]},
            message("c", "It may be the last word."),
            status(1, &json!({"completed": "3"})),
        ]),
        expect![[r#"
            I have somebody count.
            agent /root/files count the files
            I wait.
            waiting for /root/files
            agent /root/files completed in 0.0 s: 3
        "#]],
    );
}
