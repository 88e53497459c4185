use expect_test::{Expect, expect};
use serde_json::{Map, Value, json};
use troupe_mcp::serve::FormReply;
use troupe_protocol::EventMsg;
use troupe_protocol::PendingQuestion;

use super::{answer, form};

fn exec() -> EventMsg {
    event(json!({
        "type": "exec_approval_request", "call_id": "call-1", "turn_id": "t", "command": ["rm", "-r", "build"],
        "cwd": "/work", "reason": "the sandbox stopped it", "parsed_cmd": [],
        "available_decisions": ["approved", "denied"],
        "agent": {"agent_id": 3, "path": "/root/cleaner", "session_id": "00000000-0000-4000-8000-000000000000"},
    }))
}

fn questions() -> EventMsg {
    event(json!({
        "type": "request_user_input", "call_id": "call-2", "turn_id": "t",
        "questions": [
            {"id": "colour", "header": "Colour", "question": "Which colour?", "isOther": true,
             "options": [{"value": "red", "label": "Red", "description": "like fire"}]},
            {"id": "name", "header": "Name", "question": "Which name?"},
        ],
    }))
}

fn event(value: Value) -> EventMsg {
    serde_json::from_value(value).expect("an event")
}

fn check_form(msg: &EventMsg, expected: Expect) {
    let form = form(&PendingQuestion::of(msg).expect("it asks")).expect("it is a form");
    expected.assert_eq(&format!("{}\n{}", form.message, form.schema));
}

fn check_answer(msg: &EventMsg, reply: FormReply, expected: Expect) {
    let op = answer(&PendingQuestion::of(msg).expect("it asks"), reply);
    expected.assert_eq(&serde_json::to_string(&op).expect("an op is JSON"));
}

fn filled(fields: Value) -> FormReply {
    match fields {
        Value::Object(fields) => FormReply::Filled(fields),
        _ => FormReply::Filled(Map::new()),
    }
}

#[test]
fn a_command_is_shown_with_who_wants_it_and_why() {
    check_form(
        &exec(),
        expect![[r#"
            [/root/cleaner] Run this command?
            in /work
            $ rm -r build
            why: the sandbox stopped it
            {"type":"object","properties":{"decision":{"type":"string","title":"Decision","oneOf":[{"const":"approved","title":"Yes, this once"},{"const":"denied","title":"No, go on without it"}]}},"required":["decision"]}"#]],
    );
}

#[test]
fn only_a_decision_that_was_made_grants_anything() {
    let allowed = filled(json!({"decision": "approved"}));
    check_answer(
        &exec(),
        allowed,
        expect![[r#"{"type":"exec_approval","id":"call-1","decision":"approved"}"#]],
    );
    let nonsense = filled(json!({"decision": "whatever"}));
    check_answer(
        &exec(),
        nonsense,
        expect![[r#"{"type":"exec_approval","id":"call-1","decision":"denied"}"#]],
    );
    check_answer(
        &exec(),
        filled(json!({})),
        expect![[r#"{"type":"exec_approval","id":"call-1","decision":"denied"}"#]],
    );
    check_answer(
        &exec(),
        FormReply::Dismissed,
        expect![[r#"{"type":"exec_approval","id":"call-1","decision":"denied"}"#]],
    );
}

#[test]
fn questions_are_fields() {
    check_form(
        &questions(),
        expect![[r#"
            Which colour?
            Which name?
            {"type":"object","properties":{"colour":{"type":"string","title":"Colour","description":"Which colour?","oneOf":[{"const":"red","title":"Red"}]},"colour_other":{"type":"string","title":"Colour (other)"},"name":{"type":"string","title":"Name","description":"Which name?"}}}"#]],
    );
    let chosen = filled(json!({"colour": "red", "name": "Ada"}));
    check_answer(
        &questions(),
        chosen,
        expect![[
            r#"{"type":"user_input_answer","id":"call-2","response":{"answers":{"colour":{"selected":["red"]},"name":{"selected":[],"other":"Ada"}}}}"#
        ]],
    );
    let own_words = filled(json!({"colour_other": "teal", "name": " "}));
    check_answer(
        &questions(),
        own_words,
        expect![[
            r#"{"type":"user_input_answer","id":"call-2","response":{"answers":{"colour":{"selected":[],"other":"teal"}}}}"#
        ]],
    );
    check_answer(
        &questions(),
        FormReply::Declined,
        expect![[r#"{"type":"user_input_answer","id":"call-2","response":{"answers":{}}}"#]],
    );
}

#[test]
fn an_answer_to_a_question_that_nobody_asked_is_left_to_the_session_to_refuse() {
    check_answer(
        &questions(),
        filled(json!({"colour": "red", "nowhere": "x"})),
        expect![[
            r#"{"type":"user_input_answer","id":"call-2","response":{"answers":{"colour":{"selected":["red"]},"nowhere":{"selected":[],"other":"x"}}}}"#
        ]],
    );
}

#[test]
fn an_option_is_kept_beside_free_text() {
    let both = filled(json!({"colour": "red", "colour_other": "a dark one"}));
    check_answer(
        &questions(),
        both,
        expect![[
            r#"{"type":"user_input_answer","id":"call-2","response":{"answers":{"colour":{"selected":["red"],"other":"a dark one"}}}}"#
        ]],
    );
}

/// A page to visit cannot be shown as a form, and nobody visits it in a person's name.
#[test]
fn a_page_to_visit_is_declined() {
    let msg = event(json!({
        "type": "elicitation_request", "server_name": "shop", "id": "call-3",
        "request": {"mode": "url", "message": "pay", "url": "https://example.org"},
    }));
    let ask = PendingQuestion::of(&msg).expect("it asks");
    assert!(form(&ask).is_none());
    let op = serde_json::to_string(&ask.deny()).expect("an op is JSON");
    expect![[r#"{"type":"resolve_elicitation","server_name":"shop","request_id":"call-3","decision":"decline"}"#]].assert_eq(&op);
}
