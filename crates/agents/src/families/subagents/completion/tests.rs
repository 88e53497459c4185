use std::sync::Arc;

use expect_test::{Expect, expect};
use troupe_protocol::SubmissionId;
use troupe_protocol::result::Evidence;
use troupe_protocol::tree::Interruption;

use super::*;
use crate::families::example;

fn finished(status: Status, stop: Option<StopReason>) -> Finished {
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
    Finished {
        asked: "1".to_owned(),
        view: Some(example::view(1, status)),
        result,
    }
}

fn check(status: Status, stop: Option<StopReason>, expected: Expect) {
    let found = Completion::of(&finished(status, stop));
    let tag = found.as_ref().map(Completion::status);
    expected.assert_eq(&format!("{tag:?} {}", json!(found)));
}

#[test]
fn a_completed_task_has_its_last_message() {
    check(
        Status::Completed,
        Some(StopReason::Completed),
        expect![[r#"Some("completed") {"Completed":{"last_message":"42 words"}}"#]],
    );
    check(
        Status::Completed,
        None,
        expect![[r#"Some("completed") {"Completed":{"last_message":null}}"#]],
    );
    check(
        Status::Shutdown,
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
        Status::Errored,
        Some(errored.clone()),
        expect![[r#"Some("failed") {"Failed":{"message":"the model is gone"}}"#]],
    );
    check(
        Status::Errored,
        None,
        expect![[r#"Some("failed") {"Failed":{"message":"the task failed"}}"#]],
    );
    check(
        Status::Shutdown,
        Some(errored),
        expect![[r#"Some("failed") {"Failed":{"message":"the model is gone"}}"#]],
    );
    check(
        Status::BudgetExceeded,
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
        Status::Cancelled,
        Some(cancelled),
        expect![[r#"Some("canceled") {"Canceled":{"reason":"no longer needed"}}"#]],
    );
    check(
        Status::Cancelled,
        None,
        expect![[r#"Some("canceled") {"Canceled":{"reason":null}}"#]],
    );
    check(
        Status::Shutdown,
        None,
        expect![[r#"Some("canceled") {"Canceled":{"reason":null}}"#]],
    );
    let why = Interruption::Crash;
    check(
        Status::Interrupted { why },
        None,
        expect![[r#"Some("canceled") {"Canceled":{"reason":"the engine died while it ran"}}"#]],
    );
    let why = Interruption::Parent;
    check(
        Status::Interrupted { why },
        None,
        expect![[r#"Some("canceled") {"Canceled":{"reason":"interrupted by an agent above it"}}"#]],
    );
}

#[test]
fn what_has_not_ended_has_no_completion() {
    check(Status::Running, None, expect!["None null"]);
    check(
        Status::PendingInit,
        Some(StopReason::Replaced),
        expect!["None null"],
    );
    assert_eq!(
        message(&finished(Status::Running, None), AgentId::ROOT),
        None
    );
}

#[test]
fn an_end_is_a_message_too() {
    let done = finished(Status::Completed, Some(StopReason::Completed));
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
