//! The protocol's two sequence diagrams, played over `troupe proto`.

use serde_json::json;
use troupe_protocol::Event;

use crate::client::{Client, user_turn};
use crate::machine::Machine;

/// The events that the diagrams draw, in order, each with the id of its task.
fn drawn(events: &[Event]) -> Vec<String> {
    const DRAWN: [&str; 12] = [
        "session_configured",
        "task_started",
        "exec_approval_request",
        "exec_command_begin",
        "exec_command_end",
        "patch_apply_begin",
        "patch_apply_end",
        "agent_message",
        "response_completed",
        "error",
        "turn_aborted",
        "task_complete",
    ];
    let drawn = events.iter().filter_map(|event| {
        let msg = serde_json::to_value(&event.msg).unwrap();
        let kind = msg["type"].as_str()?;
        DRAWN
            .contains(&kind)
            .then(|| format!("{} {kind}", event.id))
    });
    drawn.collect()
}

fn check(client: Client, expected: &[&str]) {
    assert_eq!(drawn(&client.seen), expected);
    let numbers: Vec<u64> = client.seen.iter().map(|event| event.seq).collect();
    let growing: Vec<u64> = (numbers[0]..).take(numbers.len()).collect();
    assert_eq!(numbers, growing, "seq grows by one");
    client.end();
}

#[test]
fn a_two_turn_task_with_an_approval() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch asked", sandbox_permissions = "require_escalated", justification = "to draw the diagram" } }]
[[scene.turn]]
steps = [{ custom = "apply_patch", input = "*** Begin Patch\n*** Add File: patched\n+yes\n*** End Patch\n" }]
[[scene.turn]]
steps = [{ say = "Done." }]
"#,
    );
    let mut client = Client::start(machine.troupe(&["proto"]));
    client.send(
        "0",
        &json!({"type": "configure_session", "approval_policy": "on-request"}),
    );
    client.until("session_configured");
    client.send("1", &user_turn("do it"));
    let request = client.until("exec_approval_request");
    assert!(!machine.path("project/asked").exists());
    client.send(
        "2",
        &json!({"type": "exec_approval", "id": request["msg"]["call_id"], "decision": "allow"}),
    );
    let complete = client.until("task_complete");
    assert_eq!(complete["msg"]["last_agent_message"], "Done.");
    assert!(machine.path("project/asked").exists());
    assert!(machine.path("project/patched").exists());
    check(
        client,
        &[
            "0 session_configured",
            "1 task_started",
            "1 exec_approval_request",
            "1 exec_command_begin",
            "1 exec_command_end",
            "1 response_completed",
            "1 patch_apply_begin",
            "1 patch_apply_end",
            "1 response_completed",
            "1 agent_message",
            "1 response_completed",
            "1 task_complete",
        ],
    );
}

#[test]
fn an_interrupt_and_a_task_that_continues_from_the_bookmark() {
    let machine = Machine::playing(
        r#"
[[scene]]
[[scene.turn]]
response_id = "resp_bookmark"
steps = [{ call = "shell_command", arguments = { command = "echo first" } }]
[[scene.turn]]
expect = "first"
steps = [{ call = "shell_command", arguments = { command = "sleep 600" } }]
[[scene.turn]]
expect = "go another way"
steps = [{ call = "shell_command", arguments = { command = "echo second" } }]
[[scene.turn]]
expect = "second"
steps = [{ say = "Another way it is." }]
"#,
    );
    let mut client = Client::start(machine.troupe(&["proto"]));
    client.send("0", &json!({"type": "configure_session"}));
    client.send("1", &user_turn("begin"));
    let bookmark = client.until("response_completed");
    assert_eq!(bookmark["msg"]["response_id"], "resp_bookmark");
    client.until("exec_command_begin");
    client.send("2", &json!({"type": "interrupt"}));
    let error = client.until("error");
    assert_eq!(error["msg"]["message"], "interrupted");
    assert_eq!(error["msg"]["fatal"], true);
    client.until("turn_aborted");

    let mut again = user_turn("go another way");
    again["last_response_id"] = bookmark["msg"]["response_id"].clone();
    client.send("3", &again);
    client.until("task_complete");
    check(
        client,
        &[
            "0 session_configured",
            "1 task_started",
            "1 exec_command_begin",
            "1 exec_command_end",
            "1 response_completed",
            "1 exec_command_begin",
            "1 exec_command_end",
            "1 error",
            "1 turn_aborted",
            "3 task_started",
            "3 exec_command_begin",
            "3 exec_command_end",
            "3 response_completed",
            "3 agent_message",
            "3 response_completed",
            "3 task_complete",
        ],
    );
}
