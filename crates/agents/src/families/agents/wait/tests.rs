use expect_test::{Expect, expect};
use serde_json::json;
use troupe_engine::ActivityKind;
use troupe_tree::status::CurrentStatus;

use super::*;
use crate::families::example;

fn check(arguments: Value, expected: Expect) {
    let found = serde_json::from_value::<AgentWaitArguments>(arguments)
        .map_err(|error| error.to_string())
        .and_then(|arguments| {
            checked(arguments.ids).map_err(|trouble| trouble.to_string())?;
            Ok(patience(arguments.timeout_ms))
        });
    expected.assert_eq(&match found {
        Ok(WaitTimeout { time_ms, note }) => format!("{time_ms} {}", note.unwrap_or_default()),
        Err(problem) => problem,
    });
}

#[test]
fn the_time_is_clamped_and_the_answer_says_so() {
    check(json!({"ids": ["1"]}), expect!["300000 "]);
    check(
        json!({"ids": ["1"], "timeout_ms": 10_000}),
        expect!["10000 "],
    );
    check(
        json!({"ids": ["1"], "timeout_ms": 1_800_000}),
        expect!["1800000 "],
    );
    check(
        json!({"ids": ["1"], "timeout_ms": 1}),
        expect!["10000 timeout_ms 1 was changed to 10000; it must lie between 10000 and 1800000"],
    );
    check(
        json!({"ids": ["1"], "timeout_ms": i64::MAX}),
        expect![
            "1800000 timeout_ms 9223372036854775807 was changed to 1800000; it must lie between 10000 and 1800000"
        ],
    );
    check(
        json!({"ids": ["1"], "timeout_ms": 0}),
        expect!["10000 timeout_ms 0 was changed to 10000; it must lie between 10000 and 1800000"],
    );
    check(
        json!({"ids": ["1"], "timeout_ms": -5}),
        expect!["10000 timeout_ms -5 was changed to 10000; it must lie between 10000 and 1800000"],
    );
}

#[test]
fn somebody_must_be_waited_for() {
    check(json!({"ids": []}), expect!["ids must not be empty"]);
    check(json!({}), expect!["missing field `ids`"]);
    check(
        json!({"ids": ["1"], "id": "2"}),
        expect!["unknown field `id`, expected `ids` or `timeout_ms`"],
    );
    check(
        json!({"ids": vec!["1"; WAIT_IDS_MAX + 1]}),
        expect!["4097 ids are too many; wait for at most 4096 agents in one call"],
    );
}

fn finished(asked: &str, view: Option<AgentView>) -> FinishedTarget {
    FinishedTarget {
        asked: asked.to_owned(),
        view,
        result: None,
    }
}

fn described_for(waited: &WaitReport) -> Map<String, Value> {
    described(waited, patience(None))
}

#[test]
fn the_first_to_end_is_told_by_session_and_the_others_with_what_they_do() {
    let mut done = example::view(1, CurrentStatus::Completed);
    done.preview = Some("42 words".to_owned());
    let mut busy = example::view(2, CurrentStatus::Running);
    busy.pulse = Some(example::pulse(ActivityKind::Tools(vec![
        "shell_command".to_owned(),
    ])));
    let waited = WaitReport {
        end: WaitEnd::Final,
        finished: vec![finished("worker_1", Some(done)), finished("nobody", None)],
        unfinished: vec![busy],
        mail: Vec::new(),
        claim: None,
    };
    example::check(
        described_for(&waited),
        expect![[r#"
            {
              "status": {
                "00000000-0000-4000-8000-000000000001": {
                  "completed": "42 words"
                },
                "nobody": "not_found"
              },
              "timed_out": false,
              "pending": [
                {
                  "agent_id": "00000000-0000-4000-8000-000000000002",
                  "agent_number": 2,
                  "path": "/root/worker_2",
                  "status": "running",
                  "status_duration_sec": 60,
                  "waiting_on": "tool",
                  "current_tool": "shell_command",
                  "last_progress_sec": 7,
                  "pending_messages": 0
                }
              ]
            }"#]],
    );
}

#[test]
fn a_timeout_has_an_empty_status() {
    let waited = WaitReport {
        end: WaitEnd::TimedOut,
        finished: Vec::new(),
        unfinished: Vec::new(),
        mail: Vec::new(),
        claim: None,
    };
    example::check(
        described_for(&waited),
        expect![[r#"
        {
          "status": {},
          "timed_out": true
        }"#]],
    );
}

#[test]
fn a_wait_that_was_stopped_says_so() {
    let waited = WaitReport {
        end: WaitEnd::Stopped,
        finished: Vec::new(),
        unfinished: Vec::new(),
        mail: Vec::new(),
        claim: None,
    };
    example::check(
        described_for(&waited),
        expect![[r#"
            {
              "status": {},
              "timed_out": false,
              "stopped": true
            }"#]],
    );
}
