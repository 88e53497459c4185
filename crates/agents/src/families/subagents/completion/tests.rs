use std::sync::Arc;

use expect_test::{Expect, expect};
use troupe_protocol::SubmissionId;
use troupe_protocol::result::Evidence;
use troupe_protocol::tree::Interruption;

use super::*;
use crate::families::example;

fn finished(status: CurrentStatus, stop: Option<StopReason>) -> FinishedTarget {
    let result = stop.map(|stop| {
        Arc::new(TaskResult {
            session_id: example::session(1),
            task_id: SubmissionId("task".to_owned()),
            stop,
            last_message: Some("42 words".to_owned()),
            output: None,
            evidence: Evidence {
                ended_at_ms: 1_794_823_100_000,
                ..Evidence::default()
            },
        })
    });
    FinishedTarget {
        asked: "1".to_owned(),
        view: Some(example::view(1, status)),
        result,
    }
}

fn check(status: CurrentStatus, stop: Option<StopReason>, expected: Expect) {
    let found = SubagentCompletion::of(&finished(status, stop));
    let tag = found.as_ref().map(SubagentCompletion::status);
    expected.assert_eq(&format!("{tag:?} {}", json!(found)));
}

#[test]
fn a_completed_task_has_its_last_message() {
    check(
        CurrentStatus::Completed,
        Some(StopReason::Completed),
        expect![[r#"Some("completed") {"Completed":{"last_message":"42 words"}}"#]],
    );
    check(
        CurrentStatus::Completed,
        None,
        expect![[r#"Some("completed") {"Completed":{"last_message":null}}"#]],
    );
    check(
        CurrentStatus::Shutdown,
        Some(StopReason::Completed),
        expect![[r#"Some("completed") {"Completed":{"last_message":"42 words"}}"#]],
    );
}

#[test]
fn a_failed_task_has_its_error() {
    let errored = StopReason::Errored {
        message: "the model is gone".to_owned(),
        info: None,
    };
    check(
        CurrentStatus::Errored,
        Some(errored.clone()),
        expect![[r#"Some("failed") {"Failed":{"message":"the model is gone"}}"#]],
    );
    check(
        CurrentStatus::Errored,
        None,
        expect![[r#"Some("failed") {"Failed":{"message":"the task failed"}}"#]],
    );
    check(
        CurrentStatus::Shutdown,
        Some(errored),
        expect![[r#"Some("failed") {"Failed":{"message":"the model is gone"}}"#]],
    );
    check(
        CurrentStatus::BudgetExceeded,
        Some(StopReason::BudgetExceeded),
        expect![[
            r#"Some("failed") {"Failed":{"message":"the budget is used up; last message: 42 words"}}"#
        ]],
    );
}

#[test]
fn a_canceled_task_keeps_the_reason() {
    let cancelled = StopReason::Cancelled {
        note: Some("no longer needed".to_owned()),
    };
    check(
        CurrentStatus::Cancelled,
        Some(cancelled),
        expect![[r#"Some("canceled") {"Canceled":{"reason":"no longer needed"}}"#]],
    );
    check(
        CurrentStatus::Cancelled,
        None,
        expect![[r#"Some("canceled") {"Canceled":{"reason":null}}"#]],
    );
    check(
        CurrentStatus::Shutdown,
        None,
        expect![[r#"Some("canceled") {"Canceled":{"reason":null}}"#]],
    );
    let why = Interruption::Crash;
    check(
        CurrentStatus::Interrupted { why },
        None,
        expect![[r#"Some("canceled") {"Canceled":{"reason":"the engine died while it ran"}}"#]],
    );
    let why = Interruption::Parent;
    check(
        CurrentStatus::Interrupted { why },
        None,
        expect![[r#"Some("canceled") {"Canceled":{"reason":"interrupted by an agent above it"}}"#]],
    );
}

#[test]
fn what_has_not_ended_has_no_completion() {
    check(CurrentStatus::Running, None, expect!["None null"]);
    check(
        CurrentStatus::PendingInit,
        Some(StopReason::Replaced),
        expect!["None null"],
    );
    assert_eq!(
        message(&finished(CurrentStatus::Running, None), AgentId::ROOT),
        None
    );
}

#[test]
fn an_end_is_a_message_too() {
    let done = finished(CurrentStatus::Completed, Some(StopReason::Completed));
    example::check(
        message(&done, AgentId::ROOT).unwrap(),
        expect![[r#"
            {
              "sender_agent_id": 1,
              "recipient_agent_id": 0,
              "session_id": "00000000-0000-4000-8000-000000000001",
              "interrupt": false,
              "prompt": "42 words",
              "completion_status": "completed",
              "timestamp_ms": 1794823100000
            }"#]],
    );
}
