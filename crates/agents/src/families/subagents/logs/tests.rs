use expect_test::{Expect, expect};

use super::*;
use crate::families::example;

fn check(arguments: Value, expected: Expect) {
    let found = match serde_json::from_value::<SubagentLogsArguments>(arguments) {
        Ok(arguments) => format!("{:?}", query(&arguments)),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&found);
}

#[test]
fn how_much_is_read_is_bounded() {
    check(
        json!({"agent_id": 3}),
        expect!["LogsQuery { limit: 5, bytes_max: Some(65536), since_ms: None, before_ms: None }"],
    );
    check(
        json!({"agent_id": 3, "limit": 1000, "max_bytes": 1_000_000}),
        expect![
            "LogsQuery { limit: 200, bytes_max: Some(65536), since_ms: None, before_ms: None }"
        ],
    );
    check(
        json!({"agent_id": 3, "limit": 0, "max_bytes": 10, "since_ms": 1, "before_ms": 9}),
        expect![
            "LogsQuery { limit: 1, bytes_max: Some(10), since_ms: Some(1), before_ms: Some(9) }"
        ],
    );
    check(json!({"limit": 1}), expect!["missing field `agent_id`"]);
    check(
        json!({"agent_id": 3, "limit": -1}),
        expect!["invalid value: integer `-1`, expected usize"],
    );
}

fn logs(events: Vec<LoggedEvent>, total_available: usize) -> AgentLogs {
    AgentLogs {
        session: example::session(3),
        events,
        total_available,
    }
}

fn event(timestamp_ms: i64, text: &str) -> LoggedEvent {
    LoggedEvent {
        timestamp_ms,
        event: json!({"type": "warning", "message": text}),
    }
}

#[test]
fn events_come_with_their_span_and_what_is_left() {
    let some = logs(vec![event(5, "first"), event(9, "second")], 7);
    example::check(
        described(some),
        expect![[r#"
            {
              "session_id": "00000000-0000-4000-8000-000000000003",
              "returned": 2,
              "total_available": 7,
              "more_available": true,
              "earliest_ms": 5,
              "latest_ms": 9,
              "events": [
                {
                  "timestamp_ms": 5,
                  "event": {
                    "type": "warning",
                    "message": "first"
                  }
                },
                {
                  "timestamp_ms": 9,
                  "event": {
                    "type": "warning",
                    "message": "second"
                  }
                }
              ]
            }"#]],
    );
    example::check(
        described(logs(Vec::new(), 0)),
        expect![[r#"
            {
              "session_id": "00000000-0000-4000-8000-000000000003",
              "returned": 0,
              "total_available": 0,
              "more_available": false,
              "earliest_ms": null,
              "latest_ms": null,
              "events": []
            }"#]],
    );
}

#[test]
fn long_texts_are_cut_and_say_so() {
    let long = "ü".repeat(LOGS_TEXT_CHARS_MAX + 3);
    let object = described(logs(vec![event(5, &long)], 1));
    let text = object["events"][0]["event"]["message"].as_str().unwrap();
    expect!["… (6 more bytes)"].assert_eq(text.trim_start_matches('ü'));
}
