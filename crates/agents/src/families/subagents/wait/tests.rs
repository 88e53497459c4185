use std::sync::Arc;

use expect_test::{Expect, expect};
use troupe_protocol::SubmissionId;
use troupe_protocol::result::{Evidence, StopReason, TaskResult};
use troupe_protocol::tree::AgentMessage;
use troupe_tree::status::CurrentStatus;

use super::*;
use crate::families::example;
use crate::tree_access::FinishedTarget;

fn check(arguments: Value, expected: Expect) {
    let found = serde_json::from_value::<SubagentAwaitArguments>(arguments)
        .map_err(|error| error.to_string())
        .and_then(|arguments| await_time(arguments.timeout_s).map_err(|it| it.to_string()));
    expected.assert_eq(&match found {
        Ok(AwaitTime { time, note: None }) => format!("{} s", time.as_secs()),
        Ok(AwaitTime {
            time,
            note: Some(note),
        }) => format!("{} s: {note}", time.as_secs()),
        Err(problem) => problem,
    });
}

#[test]
fn a_wait_lasts_five_to_thirty_minutes() {
    check(json!({}), expect!["1800 s"]);
    check(json!({"timeout_s": 0}), expect!["1800 s"]);
    check(json!({"timeout_s": 300, "agent_id": 3}), expect!["300 s"]);
    check(
        json!({"timeout_s": 1800, "agent_id": "/root/a"}),
        expect!["1800 s"],
    );
    check(
        json!({"timeout_s": 299}),
        expect![
            "timeout_s must be at least 300 and at most 1800 seconds, or 0 for the default of 1800; got 299"
        ],
    );
    check(
        json!({"timeout_s": 1801}),
        expect!["1800 s: timeout_s 1801 was changed to 1800, the longest wait"],
    );
    check(
        json!({"timeout_s": -1}),
        expect![
            "timeout_s must be at least 300 and at most 1800 seconds, or 0 for the default of 1800; got -1"
        ],
    );
    check(
        json!({"timeout_ms": 300_000}),
        expect!["unknown field `timeout_ms`, expected `agent_id` or `timeout_s`"],
    );
}

fn done(number: u32, message: &str) -> FinishedTarget {
    let view = example::view(number, CurrentStatus::Completed);
    let result = TaskResult {
        session_id: view.session,
        task_id: SubmissionId("task".to_owned()),
        stop: StopReason::Completed,
        last_message: Some(message.to_owned()),
        output: None,
        evidence: Evidence::default(),
    };
    FinishedTarget {
        asked: number.to_string(),
        view: Some(view),
        result: Some(Arc::new(result)),
    }
}

fn told(waited: &WaitReport, whose: AwaitTarget) -> Map<String, Value> {
    let mut object = described(waited, whose, AgentId::ROOT);
    if let Some(view) = object["metadata"].as_object_mut() {
        view.retain(|key, _| key == "status" || key == "agent_id");
    }
    if let Some(Value::Array(pending)) = object.get_mut("pending") {
        for view in pending.iter_mut().filter_map(Value::as_object_mut) {
            view.retain(|key, _| key == "status" || key == "agent_id");
        }
    }
    object
}

#[test]
fn the_first_that_ended_is_the_answer_and_none_is_left_out() {
    let waited = WaitReport {
        end: WaitEnd::Final,
        finished: vec![done(1, "one"), done(2, "two")],
        unfinished: vec![example::view(3, CurrentStatus::Running)],
        mail: Vec::new(),
        claim: None,
    };
    example::check(
        told(&waited, AwaitTarget::AnyChild),
        expect![[r#"
            {
              "session_id": "00000000-0000-4000-8000-000000000001",
              "agent_id": 1,
              "completion_status": "completed",
              "lifecycle_status": "idle",
              "started_at_ms": 1794823110000,
              "timed_out": false,
              "messages": [
                {
                  "sender_agent_id": 2,
                  "recipient_agent_id": 0,
                  "session_id": "00000000-0000-4000-8000-000000000002",
                  "interrupt": false,
                  "prompt": "two",
                  "completion_status": "completed",
                  "timestamp_ms": 0
                }
              ],
              "completion": {
                "Completed": {
                  "last_message": "one"
                }
              },
              "metadata": {
                "status": "idle",
                "agent_id": 1
              },
              "injected": false,
              "pending": [
                {
                  "status": "running",
                  "agent_id": 3
                }
              ]
            }"#]],
    );
}

#[test]
fn a_timeout_tells_what_the_children_do() {
    let mut stranger = example::view(4, CurrentStatus::Running);
    stranger.parent = Some(AgentId(3));
    let waited = |unfinished| WaitReport {
        end: WaitEnd::TimedOut,
        finished: Vec::new(),
        unfinished,
        mail: Vec::new(),
        claim: None,
    };
    let running = example::view(3, CurrentStatus::Running);
    example::check(
        told(
            &waited(vec![running.clone(), stranger]),
            AwaitTarget::AnyChild,
        ),
        expect![[r#"
            {
              "session_id": null,
              "agent_id": null,
              "completion_status": null,
              "lifecycle_status": null,
              "started_at_ms": null,
              "timed_out": true,
              "messages": [],
              "completion": null,
              "metadata": null,
              "injected": false,
              "pending": [
                {
                  "status": "running",
                  "agent_id": 3
                }
              ]
            }"#]],
    );
    example::check(
        told(&waited(vec![running]), AwaitTarget::One),
        expect![[r#"
            {
              "session_id": "00000000-0000-4000-8000-000000000003",
              "agent_id": 3,
              "completion_status": null,
              "lifecycle_status": "running",
              "started_at_ms": 1794823110000,
              "timed_out": true,
              "messages": [],
              "completion": null,
              "metadata": {
                "status": "running",
                "agent_id": 3
              },
              "injected": false
            }"#]],
    );
}

#[test]
fn nothing_new_names_who_could_be_asked_again() {
    let children = [
        example::view(1, CurrentStatus::Completed),
        example::view(2, CurrentStatus::Cancelled),
    ];
    expect!["your children are 1 (idle), 2 (canceled); give agent_id to hear the last outcome of one again"].assert_eq(&ended(&children));
}

#[test]
fn a_message_is_told_and_its_sender_goes_on() {
    let asks = example::view(3, CurrentStatus::Running);
    let waited = WaitReport {
        end: WaitEnd::Mail,
        finished: Vec::new(),
        unfinished: vec![asks.clone()],
        mail: vec![ReceivedMessage {
            from: asks,
            message: AgentMessage::text("which file?"),
        }],
        claim: None,
    };
    let told = described(&waited, AwaitTarget::AnyChild, AgentId::ROOT);
    assert_eq!(told["agent_id"], 3);
    assert_eq!(told["completion"], Value::Null);
    assert_eq!(told["messages"][0]["sender_agent_id"], 3);
    assert_eq!(told["messages"][0]["recipient_agent_id"], 0);
    assert_eq!(told["messages"][0]["prompt"], "which file?");
    assert_eq!(told["messages"][0]["interrupt"], false);
}
