use expect_test::{Expect, expect};
use troupe_protocol::AgentId;

use super::*;
use crate::families::example;

fn check(arguments: Value, expected: Expect) {
    let found = serde_json::from_value::<SubagentWatchdogArguments>(arguments).map(request);
    expected.assert_eq(&match found {
        Ok(WatchdogRequest::Start {
            interval_s,
            message,
        }) if message == MESSAGE_DEFAULT => format!("every {interval_s} s, the default message"),
        Ok(request) => format!("{request:?}"),
        Err(error) => error.to_string(),
    });
}

#[test]
fn interval_and_message_have_defaults() {
    check(
        json!({"agent_id": 3}),
        expect!["every 300 s, the default message"],
    );
    check(
        json!({"agent_id": 3, "interval_s": 60, "message": " "}),
        expect!["every 60 s, the default message"],
    );
    check(
        json!({"agent_id": 3, "message": "how far?"}),
        expect![[r#"Start { interval_s: 300, message: "how far?" }"#]],
    );
    check(
        json!({"agent_id": 3, "cancel": true, "interval_s": 60}),
        expect!["Cancel"],
    );
    check(
        json!({"agent_id": 3, "interval_s": -5}),
        expect!["invalid value: integer `-5`, expected u64"],
    );
    check(json!({}), expect!["missing field `agent_id`"]);
}

#[test]
fn the_action_says_what_became_of_it() {
    let watched = |action| {
        described(&WatchdogOutcome {
            agent: AgentId(3),
            interval_s: 300,
            message: "how far?".to_owned(),
            action,
        })
    };
    example::check(
        watched(WatchdogAction::Started),
        expect![[r#"
            {
              "agent_id": 3,
              "interval_s": 300,
              "message": "how far?",
              "action": "started"
            }"#]],
    );
    assert_eq!(watched(WatchdogAction::Replaced)["action"], "replaced");
    assert_eq!(watched(WatchdogAction::Canceled)["action"], "canceled");
    example::check(
        watched(WatchdogAction::NotFound),
        expect![[r#"
            {
              "agent_id": 3,
              "action": "not_found"
            }"#]],
    );
}
