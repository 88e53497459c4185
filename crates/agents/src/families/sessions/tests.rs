use std::sync::Arc;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use troupe_engine::ActivityKind;
use troupe_protocol::SubmissionId;
use troupe_protocol::result::{Evidence, StopReason, TaskResult};
use troupe_protocol::tree::Interruption;
use troupe_tools::DeliveryClaim;
use troupe_tree::effect::WaitEnd;
use troupe_tree::status::CurrentStatus;

use super::wait_session::{self, WaitSessionArguments};
use super::{create_session, *};
use crate::families::child::ChildDisposition;
use crate::families::example;
use crate::tree_access::{FinishedTarget, SpawnedAgent, WaitReport};

const CLAIM: DeliveryClaim = DeliveryClaim(7);

fn ended(
    status: CurrentStatus,
    stop: Option<StopReason>,
    last_message: Option<&str>,
) -> WaitReport {
    let result = stop.map(|stop| {
        Arc::new(TaskResult {
            session_id: example::session(1),
            task_id: SubmissionId("task".to_owned()),
            stop,
            last_message: last_message.map(str::to_owned),
            output: None,
            evidence: Evidence::default(),
        })
    });
    let finished = FinishedTarget {
        asked: example::session(1).to_string(),
        view: Some(example::view(1, status)),
        result,
    };
    WaitReport {
        end: WaitEnd::Final,
        finished: vec![finished],
        unfinished: Vec::new(),
        mail: Vec::new(),
        claim: Some(CLAIM),
    }
}

fn errored(message: &str) -> StopReason {
    StopReason::Errored {
        message: message.to_owned(),
        info: None,
    }
}

/// Whatever is told of a child's end counts as delivered.
fn check(waited: WaitReport, expected: Expect) {
    let child = example::view(1, CurrentStatus::Running);
    let output = wait_session::answered(&child, &waited, 250, ChildDisposition::GoesOn);
    assert_eq!(output.claim, waited.claim);
    let verdict = if output.success { "ok" } else { "failed" };
    expected.assert_eq(&format!("{verdict}: {}", output.text().unwrap()));
}

#[test]
fn a_completed_session_returns_its_last_message() {
    let completed = Some(StopReason::Completed);
    check(
        ended(CurrentStatus::Completed, completed.clone(), Some("42")),
        expect![[r#"ok: {"result":"42"}"#]],
    );
    check(
        ended(CurrentStatus::Completed, completed, None),
        expect![[r#"ok: {"result":null}"#]],
    );
}

#[test]
fn a_failed_session_returns_its_error() {
    check(
        ended(
            CurrentStatus::Errored,
            Some(errored("the model is gone")),
            Some("so far"),
        ),
        expect!["failed: the model is gone"],
    );
    check(
        ended(CurrentStatus::Errored, None, None),
        expect!["failed: child session 00000000-0000-4000-8000-000000000001 failed"],
    );
    check(
        ended(
            CurrentStatus::BudgetExceeded,
            Some(StopReason::BudgetExceeded),
            Some("half"),
        ),
        expect![[r#"
            failed: child session 00000000-0000-4000-8000-000000000001 used up its budget
            its last message was: half"#]],
    );
}

#[test]
fn a_cancelled_session_says_so_and_keeps_what_it_had() {
    let cancelled = StopReason::Cancelled { note: None };
    check(
        ended(CurrentStatus::Cancelled, None, None),
        expect!["failed: child session 00000000-0000-4000-8000-000000000001 cancelled"],
    );
    check(
        ended(CurrentStatus::Cancelled, Some(cancelled), Some("half")),
        expect![[r#"
            failed: child session 00000000-0000-4000-8000-000000000001 cancelled
            its last message was: half"#]],
    );
}

#[test]
fn a_session_that_nobody_cancelled_says_why_it_ended() {
    let interrupted = |why| ended(CurrentStatus::Interrupted { why }, None, Some("half"));
    check(
        interrupted(Interruption::Crash),
        expect![
            "failed: child session 00000000-0000-4000-8000-000000000001 ended early: the engine died while it ran"
        ],
    );
    check(
        interrupted(Interruption::User),
        expect![
            "failed: child session 00000000-0000-4000-8000-000000000001 ended early: interrupted by the user"
        ],
    );
    check(
        ended(CurrentStatus::Shutdown, Some(StopReason::Crash), None),
        expect![
            "failed: child session 00000000-0000-4000-8000-000000000001 ended early: the engine died while it ran"
        ],
    );
    check(
        ended(
            CurrentStatus::Shutdown,
            Some(StopReason::BudgetExceeded),
            None,
        ),
        expect!["failed: child session 00000000-0000-4000-8000-000000000001 used up its budget"],
    );
}

#[test]
fn a_wait_that_was_stopped_says_what_becomes_of_the_session() {
    let stopped = WaitReport {
        end: WaitEnd::Stopped,
        finished: Vec::new(),
        unfinished: Vec::new(),
        mail: Vec::new(),
        claim: None,
    };
    let child = example::view(1, CurrentStatus::Running);
    let said = [
        ChildDisposition::GoesOn,
        ChildDisposition::Cancelled,
        ChildDisposition::Suspended,
    ]
    .map(|fate| {
        let output = wait_session::answered(&child, &stopped, 250, fate);
        output.text().unwrap_or_default().to_owned()
    });
    expect![[r#"
        the wait was stopped; session 00000000-0000-4000-8000-000000000001 goes on
        the wait was stopped; session 00000000-0000-4000-8000-000000000001 was cancelled with the task
        the wait was stopped; session 00000000-0000-4000-8000-000000000001 was interrupted too: the engine is being shut down"#]]
    .assert_eq(&said.join("\n"));
}

#[test]
fn a_closed_session_still_has_its_result() {
    check(
        ended(
            CurrentStatus::Shutdown,
            Some(StopReason::Completed),
            Some("42"),
        ),
        expect![[r#"ok: {"result":"42"}"#]],
    );
    check(
        ended(CurrentStatus::Shutdown, Some(errored("no")), None),
        expect!["failed: no"],
    );
    check(
        ended(CurrentStatus::Shutdown, None, None),
        expect!["failed: child session 00000000-0000-4000-8000-000000000001 cancelled"],
    );
}

#[test]
fn a_session_that_is_not_done_tells_what_it_does() {
    let mut busy = example::view(1, CurrentStatus::Running);
    busy.pulse = Some(example::pulse(ActivityKind::Tools(vec![
        "shell_command".to_owned(),
    ])));
    let not_done = |end, unfinished| WaitReport {
        end,
        finished: Vec::new(),
        unfinished,
        mail: Vec::new(),
        claim: None,
    };
    check(
        not_done(WaitEnd::TimedOut, vec![busy.clone()]),
        expect![[r#"
            failed: session 00000000-0000-4000-8000-000000000001 did not complete within 250ms
            {"status":"running","status_duration_sec":60,"waiting_on":"tool","current_tool":"shell_command","last_progress_sec":7,"pending_messages":0}"#]],
    );
    check(
        not_done(WaitEnd::Stopped, vec![busy]),
        expect![
            "failed: the wait was stopped; session 00000000-0000-4000-8000-000000000001 goes on"
        ],
    );
    let looked = not_done(
        WaitEnd::TimedOut,
        vec![example::view(1, CurrentStatus::Queued { position: 2 })],
    );
    let output = wait_session::answered(
        &example::view(1, CurrentStatus::Running),
        &looked,
        0,
        ChildDisposition::GoesOn,
    );
    expect![[r#"
        session 00000000-0000-4000-8000-000000000001 is still running
        {"status":{"queued":{"position":2}},"status_duration_sec":60,"waiting_on":"slot","pending_messages":0}"#]].assert_eq(output.text().unwrap());
}

fn check_arguments(arguments: Value, expected: Expect) {
    let found = match serde_json::from_value::<WaitSessionArguments>(arguments) {
        Ok(arguments) => format!(
            "{} {:?}",
            arguments.timeout_ms,
            parse(&arguments.session_id)
        ),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&found);
}

#[test]
fn a_wait_names_a_session_and_a_time() {
    let id = example::session(1);
    check_arguments(
        json!({"session_id": id, "timeout_ms": 1000}),
        expect!["1000 Ok(SessionId(00000000-0000-4000-8000-000000000001))"],
    );
    check_arguments(
        json!({"session_id": id, "timeout_ms": -1}),
        expect!["-1 Ok(SessionId(00000000-0000-4000-8000-000000000001))"],
    );
    check_arguments(
        json!({"session_id": id}),
        expect!["missing field `timeout_ms`"],
    );
    check_arguments(
        json!({"session_id": "7", "timeout_ms": 0}),
        expect![[r#"0 Err("invalid session_id 7: invalid length: found 1")"#]],
    );
    check_arguments(
        json!({"session_id": id, "timeout_ms": 3_000_000_000_u32}),
        expect!["invalid value: integer `3000000000`, expected i32"],
    );
    check_arguments(
        json!({"session_id": id, "timeout_ms": 1, "session": id}),
        expect!["unknown field `session`, expected `session_id` or `timeout_ms`"],
    );
}

#[test]
fn a_session_that_nobody_knows_is_an_error() {
    let id = example::session(9);
    let unknown = TreeError::from(AgentAddressError::Unknown(id.to_string()));
    expect!["unknown session 00000000-0000-4000-8000-000000000009"]
        .assert_eq(&explain(id, &unknown));
    expect!["the tree has ended"].assert_eq(&explain(id, &TreeError::Ended));
}

#[test]
fn an_unknown_type_is_answered_with_the_known_ones() {
    let text = create_session::unknown_type("testr", &["default", "tester"]);
    expect!["unknown session_type testr; there are default, tester"].assert_eq(&text);
}

fn spawned(why: &[&str]) -> SpawnedAgent {
    SpawnedAgent {
        view: example::view(1, CurrentStatus::Running),
        requested: json!({"agent_type": "tester"}),
        effective: json!({"agent_type": "tester", "sandbox_mode": "read-only"}),
        why: why.iter().map(|&why| why.to_owned()).collect(),
    }
}

#[test]
fn a_new_session_is_told_by_its_id_and_by_what_it_did_not_get() {
    example::check(
        create_session::described(&spawned(&[])),
        expect![[r#"
        {
          "session_id": "00000000-0000-4000-8000-000000000001"
        }"#]],
    );
    example::check(
        create_session::described(&spawned(&["the role reviewer is read-only"])),
        expect![[r#"
            {
              "session_id": "00000000-0000-4000-8000-000000000001",
              "effective": {
                "agent_type": "tester",
                "sandbox_mode": "read-only"
              },
              "why": [
                "the role reviewer is read-only"
              ]
            }"#]],
    );
}
