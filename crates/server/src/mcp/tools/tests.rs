use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{SessionToolCall, cards};

/// Reads a call and shows what is wrong with it.
fn check(tool: &str, arguments: Value, expected: Expect) {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    let told = match SessionToolCall::read(tool, arguments) {
        None => "no such tool".to_owned(),
        Some(Ok(call)) => format!("{call:?}"),
        Some(Err(trouble)) => trouble.to_string(),
    };
    expected.assert_eq(&told);
}

#[test]
fn arguments_have_the_names_that_agents_know() {
    let arguments = json!({
        "prompt": "count", "agenticTool": "troupe", "enableCallback": false,
        "includeLastMessage": true, "includeOriginalPrompt": true, "extraInstructions": "slowly",
    });
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    let read = SessionToolCall::read("troupe_sessions_spawn", arguments);
    let Some(Ok(SessionToolCall::Spawn(spawn))) = read else {
        panic!("{read:?}");
    };
    assert_eq!(spawn.agentic_tool.as_deref(), Some("troupe"));
    assert_eq!(spawn.enable_callback, Some(false));
    assert_eq!(spawn.include_last_message, Some(true));
    assert_eq!(spawn.include_original_prompt, Some(true));
    assert_eq!(spawn.extra_instructions.as_deref(), Some("slowly"));
}

#[test]
fn one_id_is_as_good_as_a_list() {
    check(
        "troupe_sessions_wait",
        json!({"sessionId": "abcd", "timeoutMs": 5}),
        expect![[
            r#"Wait(WaitArguments { session_ids: ["abcd"], all: false, timeout_ms: 5, include_last_message: true })"#
        ]],
    );
    check(
        "troupe_sessions_wait",
        json!({"sessionIds": 7}),
        expect!["troupe_sessions_wait: expected a session id or a list of them"],
    );
}

#[test]
fn what_is_wrong_is_named() {
    check(
        "troupe_sessions_get",
        json!({"sessionId": "abcd", "verbose": true}),
        expect![
            "troupe_sessions_get: unknown field `verbose`, expected `sessionId` or `includeLastMessage`"
        ],
    );
    check(
        "troupe_sessions_prompt",
        json!({"sessionId": "abcd"}),
        expect!["troupe_sessions_prompt: missing field `prompt`"],
    );
    check("troupe_sessions_fly", json!({}), expect!["no such tool"]);
}

/// Not every client resolves references or knows Rust's numbers.
#[test]
fn schemas_are_plain_objects() {
    for card in cards() {
        let output = card.output.expect("every tool has a structured answer");
        for schema in [card.input, output] {
            assert_eq!(schema["type"], "object", "{}", card.name);
            let text = Value::Object(schema).to_string();
            for foreign in ["$ref", "uint", "\"null\"", "$schema"] {
                assert!(!text.contains(foreign), "{}: {text}", card.name);
            }
        }
    }
}

#[test]
fn the_card_of_a_small_tool() {
    let card = cards()
        .into_iter()
        .find(|card| card.name == "troupe_tasks_get");
    let input = serde_json::to_string_pretty(&card.expect("it is there").input);
    expect![[r#"
        {
          "type": "object",
          "additionalProperties": false,
          "properties": {
            "taskId": {
              "type": "string"
            },
            "sessionId": {
              "type": "string",
              "description": "Whose task it is. Without it: any session that this server has in memory."
            }
          },
          "required": [
            "taskId"
          ]
        }"#]].assert_eq(&input.expect("it is JSON"));
}
