use expect_test::{Expect, expect};
use troupe_engine::ActivityKind;
use troupe_protocol::StopVerb;
use troupe_protocol::tree::Interruption;
use troupe_tree::status::CurrentStatus;

use super::*;
use crate::families::example::{check, pulse, view};
use crate::tree_access::{StopEntry, StopOutcome};

#[test]
fn a_running_agent_tells_what_it_does() {
    let mut running = view(3, CurrentStatus::Running);
    running.pulse = Some(pulse(ActivityKind::Tools(vec![
        "shell_command".into(),
        "read_file".into(),
    ])));
    check(
        standing(&running),
        expect![[r#"
            {
              "status": "running",
              "status_duration_sec": 60,
              "waiting_on": "tool",
              "current_tool": "shell_command, read_file",
              "last_progress_sec": 7,
              "pending_messages": 0
            }"#]],
    );
    running.pulse = Some(pulse(ActivityKind::Model));
    running.reasoning_header = Some("Reading the parser".to_owned());
    running.pending.messages = 2;
    check(
        standing(&running),
        expect![[r#"
            {
              "status": "running",
              "status_duration_sec": 60,
              "waiting_on": "model",
              "last_progress_sec": 7,
              "reasoning_header": "Reading the parser",
              "pending_messages": 2
            }"#]],
    );
}

#[test]
fn what_the_tree_knows_beats_what_the_session_does() {
    let mut waiting = view(
        3,
        CurrentStatus::Waiting {
            on: WaitingOn::Child,
        },
    );
    waiting.pulse = Some(pulse(ActivityKind::Tools(vec!["wait".into()])));
    check(
        standing(&waiting),
        expect![[r#"
            {
              "status": "running",
              "status_duration_sec": 60,
              "waiting_on": "child",
              "current_tool": "wait",
              "last_progress_sec": 7,
              "pending_messages": 0
            }"#]],
    );
    check(
        standing(&view(3, CurrentStatus::Queued { position: 2 })),
        expect![[r#"
            {
              "status": {
                "queued": {
                  "position": 2
                }
              },
              "status_duration_sec": 60,
              "waiting_on": "slot",
              "pending_messages": 0
            }"#]],
    );
}

#[test]
fn a_finished_agent_does_nothing() {
    let mut done = view(3, CurrentStatus::Completed);
    done.preview = Some("all tests pass".to_owned());
    // Its session is still in memory.
    done.pulse = Some(pulse(ActivityKind::Idle));
    check(
        standing(&done),
        expect![[r#"
            {
              "status": {
                "completed": "all tests pass"
              },
              "status_duration_sec": 60,
              "pending_messages": 0
            }"#]],
    );
    let why = Interruption::Crash;
    check(
        standing(&view(3, CurrentStatus::Interrupted { why })),
        expect![[r#"
            {
              "status": "interrupted",
              "reason": "crash",
              "status_duration_sec": 60,
              "pending_messages": 0
            }"#]],
    );
}

#[test]
fn receipts_say_what_to_do() {
    let check = |given: DeliveryReceipt, expected: Expect| {
        expected.assert_eq(&receipt(given).to_string());
    };
    check(
        DeliveryReceipt::Delivered,
        expect![[r#"{"status":"delivered"}"#]],
    );
    check(
        DeliveryReceipt::Queued { position: 2 },
        expect![[r#"{"status":"queued","position":2}"#]],
    );
    check(
        DeliveryReceipt::Held {
            why: HoldReason::Waiting(WaitingOn::Approval),
        },
        expect![[
            r#"{"status":"held","why":"the agent waits on an approval; it reads the message after that"}"#
        ]],
    );
    check(
        DeliveryReceipt::Held {
            why: HoldReason::Stopping,
        },
        expect![[
            r#"{"status":"held","why":"the agent's task is being interrupted; the message is next"}"#
        ]],
    );
    check(
        DeliveryReceipt::Dead {
            why: UndeliverableReason::Closed,
        },
        expect![[r#"{"status":"dead","why":"the agent is closed; resume it and send again"}"#]],
    );
    check(
        DeliveryReceipt::Dead {
            why: UndeliverableReason::Pruned,
        },
        expect![[r#"{"status":"dead","why":"the agent was pruned; only its result is left"}"#]],
    );
    check(
        DeliveryReceipt::Dead {
            why: UndeliverableReason::Stopping,
        },
        expect![[
            r#"{"status":"dead","why":"the agent is being stopped; send again when it has ended"}"#
        ]],
    );
}

#[test]
fn a_stop_names_everyone_it_touches() {
    let plan = StopOutcome {
        touched: vec![StopEntry {
            view: view(3, CurrentStatus::Running),
            what: StopVerb::Close,
        }],
        skipped: vec![StopEntry {
            view: view(4, CurrentStatus::Shutdown),
            what: StopSkipReason::AlreadyDone,
        }],
        unknown: Vec::new(),
    };
    check(
        stopped(&plan),
        expect![[r#"
            {
              "touched": [
                {
                  "agent_id": "00000000-0000-4000-8000-000000000003",
                  "agent_number": 3,
                  "path": "/root/worker_3",
                  "action": "close",
                  "status": "running"
                }
              ],
              "skipped": [
                {
                  "agent_id": "00000000-0000-4000-8000-000000000004",
                  "agent_number": 4,
                  "path": "/root/worker_4",
                  "why": "already_done",
                  "status": "shutdown"
                }
              ]
            }"#]],
    );
}

#[test]
fn moments_are_rfc_3339() {
    assert_eq!(timestamp(1_794_823_200_007), "2026-11-16T10:00:00.007Z");
}
