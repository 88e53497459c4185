use expect_test::{Expect, expect};
use troupe_protocol::tree::MessageId;
use troupe_tree::effect::UndeliverableReason;
use troupe_tree::status::CurrentStatus;
use uuid::Uuid;

use super::*;
use crate::families::example;

fn check(arguments: Value, expected: Expect) {
    let found = serde_json::from_value::<SubagentMessageArguments>(arguments)
        .map_err(|error| error.to_string())
        .and_then(|arguments| {
            let label = metadata::label(arguments.label);
            wish(arguments.prompt, label.as_deref(), arguments.interrupt)
                .map_err(|trouble| trouble.to_string())
        });
    expected.assert_eq(&match found {
        Ok(wish) => format!("{wish:?}"),
        Err(problem) => problem,
    });
}

#[test]
fn a_call_sends_or_interrupts_or_both() {
    check(
        json!({"agent_id": 3, "prompt": "hurry"}),
        expect![[r#"Send { text: "hurry", summary: "hurry", urgency: Regular }"#]],
    );
    check(
        json!({"agent_id": "/root/a", "prompt": "stop that", "interrupt": true}),
        expect![[r#"Send { text: "stop that", summary: "stop that", urgency: Interrupt }"#]],
    );
    check(
        json!({"agent_id": 3, "prompt": "use rg", "label": " a \n hint "}),
        expect![[r#"Send { text: "[a hint] use rg", summary: "use rg", urgency: Regular }"#]],
    );
    check(
        json!({"agent_id": 3, "interrupt": true}),
        expect!["InterruptOnly"],
    );
    check(
        json!({"agent_id": 3, "prompt": " "}),
        expect![
            "there is nothing to send; give a prompt, or interrupt: true to stop the agent's task"
        ],
    );
    check(
        json!({"prompt": "hurry"}),
        expect!["missing field `agent_id`"],
    );
}

fn sent(number: u32, receipt: DeliveryReceipt) -> SendOutcome {
    SendOutcome {
        message: MessageId(Uuid::nil()),
        receipt,
        task: troupe_protocol::SubmissionId::default(),
        view: example::view(number, CurrentStatus::Running),
    }
}

#[test]
fn a_child_is_described_and_the_root_is_named() {
    let child = described(
        &sent(3, DeliveryReceipt::Delivered),
        None,
        "hurry".to_owned(),
    );
    let mut expected = metadata::metadata(&example::view(3, CurrentStatus::Running));
    expected.insert("message_id".to_owned(), json!(Uuid::nil()));
    expected.insert("receipt".to_owned(), json!({"status": "delivered"}));
    assert_eq!(child, expected);
    let label = Some("news".to_owned());
    let root = described(
        &sent(0, DeliveryReceipt::Queued { position: 1 }),
        label,
        "done".to_owned(),
    );
    example::check(
        root,
        expect![[r#"
            {
              "session_id": "00000000-0000-4000-8000-000000000000",
              "agent_id": 0,
              "label": "news",
              "summary": "done",
              "message_id": "00000000-0000-0000-0000-000000000000",
              "receipt": {
                "status": "queued",
                "position": 1
              }
            }"#]],
    );
}

#[test]
fn a_message_that_nobody_will_read_is_a_failure() {
    let dead = sent(
        3,
        DeliveryReceipt::Dead {
            why: UndeliverableReason::Closed,
        },
    );
    let object = described(&dead, None, String::new());
    assert!(!answer(object.clone(), false).success);
    expect![[r#"{"status":"dead","why":"the agent is closed; resume it and send again"}"#]]
        .assert_eq(&object["receipt"].to_string());
}
