use std::sync::Arc;

use expect_test::{Expect, expect};
use serde_json::json;
use troupe_engine::ActivityKind;
use troupe_protocol::AgentId;
use troupe_protocol::agent::WaitingOn;
use troupe_protocol::tree::Interruption;

use super::*;
use crate::families::example;
use crate::families::subagents::list;

#[test]
fn an_agent_has_all_its_names() {
    let mut view = example::view(3, CurrentStatus::Queued { position: 2 });
    let mut spec = view.spec.as_deref().unwrap().clone();
    spec.label = Some("word counter".to_owned());
    view.spec = Some(Arc::new(spec));
    view.pending.messages = 1;
    example::check(
        metadata(&view),
        expect![[r#"
            {
              "session_id": "00000000-0000-4000-8000-000000000003",
              "agent_id": 3,
              "parent_agent_id": 0,
              "parent_session_id": "00000000-0000-4000-8000-000000000000",
              "path": "/root/worker_3",
              "origin": "spawn",
              "status": "queued",
              "queue_position": 2,
              "model": "deep",
              "label": "word counter",
              "summary": "count the words",
              "started_at_ms": 1794823110000,
              "initial_message_count": 0,
              "pending_messages": 1,
              "pending_interrupts": 0
            }"#]],
    );
}

#[test]
fn an_active_agent_tells_what_it_does() {
    let mut view = example::view(3, CurrentStatus::Running);
    view.pulse = Some(example::pulse(ActivityKind::Tools(vec![
        "shell_command".to_owned(),
    ])));
    view.reasoning_header = Some("Counting".to_owned());
    let mut object = standing(&view);
    for known in metadata(&view).keys().filter(|key| *key != "status") {
        object.remove(known);
    }
    example::check(
        object,
        expect![[r#"
            {
              "status": "running",
              "status_duration_sec": 60,
              "waiting_on": "tool",
              "current_tool": "shell_command",
              "last_progress_sec": 7,
              "reasoning_header": "Counting"
            }"#]],
    );
}

#[test]
fn a_newborn_is_told_with_its_rights() {
    let spawned = SpawnedAgent {
        view: example::view(1, CurrentStatus::PendingInit),
        requested: json!({"sandbox_mode": "workspace-write"}),
        effective: json!({"sandbox_mode": "read-only"}),
        why: vec!["the turn is read-only".to_owned()],
    };
    let mut object = newborn(&spawned);
    object.retain(|key, _| !metadata(&spawned.view).contains_key(key));
    example::check(
        object,
        expect![[r#"
            {
              "requested": {
                "sandbox_mode": "workspace-write"
              },
              "effective": {
                "sandbox_mode": "read-only"
              },
              "why": [
                "the turn is read-only"
              ]
            }"#]],
    );
}

#[test]
fn statuses_have_the_names_of_this_family() {
    let name = |status| metadata(&example::view(1, status))["status"].clone();
    let names: Vec<String> = [
        CurrentStatus::PendingInit,
        CurrentStatus::Queued { position: 1 },
        CurrentStatus::Running,
        CurrentStatus::Waiting {
            on: WaitingOn::Approval,
        },
        CurrentStatus::Completed,
        CurrentStatus::Errored,
        CurrentStatus::Interrupted {
            why: Interruption::User,
        },
        CurrentStatus::Cancelled,
        CurrentStatus::BudgetExceeded,
    ]
    .into_iter()
    .map(|status| format!("{status:?}: {}", name(status)))
    .collect();
    expect![[r#"
        PendingInit: "queued"
        Queued { position: 1 }: "queued"
        Running: "running"
        Waiting { on: Approval }: "running"
        Completed: "idle"
        Errored: "failed"
        Interrupted { why: User }: "canceled"
        Cancelled: "canceled"
        BudgetExceeded: "failed""#]]
    .assert_eq(&names.join("\n"));
}

#[test]
fn labels_are_one_line_or_absent() {
    let check = |text: &str, expected: Expect| {
        expected.assert_eq(&format!("{:?}", label(Some(text.to_owned()))));
    };
    check("  word \n counter ", expect![[r#"Some("word counter")"#]]);
    check(" \t", expect!["None"]);
    check(
        &"long ".repeat(40),
        expect![[
            r#"Some("long long long long long long long long long long long long long long long long…")"#
        ]],
    );
}

#[test]
fn lists_are_sorted_by_the_start() {
    let mut late = example::view(1, CurrentStatus::Running);
    late.born_at_ms += 5;
    let children = vec![
        late,
        example::view(3, CurrentStatus::Completed),
        example::view(2, CurrentStatus::Running),
    ];
    let object = list::described(children);
    let ids: Vec<&Value> = object["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| &session["agent_id"])
        .collect();
    assert_eq!(
        ids,
        [&json!(AgentId(2)), &json!(AgentId(3)), &json!(AgentId(1))]
    );
    example::check(
        list::described(Vec::new()),
        expect![[r#"
        {
          "sessions": []
        }"#]],
    );
}
