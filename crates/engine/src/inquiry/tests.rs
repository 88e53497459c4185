use expect_test::{Expect, expect};
use serde_json::{Value, json};
use troupe_protocol::PendingQuestion;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::mcp::ElicitationResponse;
use troupe_protocol::op::ElicitationDecision;

use super::InquiryAnswer;

/// Shows what becomes of a word.
fn check(question: &PendingQuestion, word: &InquiryAnswer, expected: Expect) {
    let shown = match word.check(question, "call_1") {
        Ok(()) => "taken".to_owned(),
        Err(not_taken) => not_taken.to_string(),
    };
    expected.assert_eq(&shown);
}

fn approval() -> PendingQuestion {
    let request = json!({
        "call_id": "call_1", "turn_id": "1", "command": ["make"], "cwd": "/", "parsed_cmd": [],
        "available_decisions": [],
    });
    PendingQuestion::Command(serde_json::from_value(request).unwrap())
}

fn question() -> PendingQuestion {
    let questions = json!([{"id": "name", "header": "Name", "question": "Whose?"}]);
    let request = json!({"call_id": "call_1", "turn_id": "1", "questions": questions});
    PendingQuestion::UserInput(serde_json::from_value(request).unwrap())
}

fn elicitation() -> PendingQuestion {
    let request = json!({"mode": "form", "message": "Name?", "requestedSchema": {}});
    let request = json!({"server_name": "s", "id": "call_1", "request": request});
    PendingQuestion::Elicitation(serde_json::from_value(request).unwrap())
}

fn told(server_name: &str, decision: ElicitationDecision, content: Option<Value>) -> InquiryAnswer {
    InquiryAnswer::Elicitation {
        server_name: server_name.to_owned(),
        response: ElicitationResponse { decision, content },
    }
}

fn answers(answers: &Value) -> InquiryAnswer {
    InquiryAnswer::Input(serde_json::from_value(json!({ "answers": answers })).unwrap())
}

#[test]
fn a_word_is_of_the_kind_that_was_asked_for() {
    let yes = InquiryAnswer::Decision(ReviewDecision::Approved);
    let mine = answers(&json!({"name": {"other": "mine"}}));
    check(&approval(), &yes, expect!["taken"]);
    check(&question(), &mine, expect!["taken"]);
    check(
        &approval(),
        &mine,
        expect!["call_1 is not answered by this: it asks for an approval, not for user input"],
    );
    check(
        &question(),
        &yes,
        expect!["call_1 is not answered by this: it asks for user input; send a user_input_answer"],
    );
}

#[test]
fn answers_fit_the_questions() {
    check(&question(), &answers(&json!({})), expect!["taken"]);
    check(
        &question(),
        &answers(&json!({"age": {"other": "7"}})),
        expect![[
            r#"call_1 is not answered by this: there is no question "age"; the questions are: name"#
        ]],
    );
}

#[test]
fn a_server_is_told_what_it_asked_for() {
    let accept = ElicitationDecision::Accept;
    let filled = Some(json!({"name": "x"}));
    check(
        &elicitation(),
        &told("s", accept, filled.clone()),
        expect!["taken"],
    );
    check(
        &elicitation(),
        &told("other", accept, filled),
        expect!["call_1 is not answered by this: the server s asks it"],
    );
    check(
        &elicitation(),
        &told("s", accept, None),
        expect![
            "call_1 is not answered by this: a form that is accepted needs its fields as an object in content"
        ],
    );
    check(
        &elicitation(),
        &InquiryAnswer::Decision(ReviewDecision::Approved),
        expect!["call_1 is not answered by this: a server asks; send a resolve_elicitation"],
    );
}

#[test]
fn every_inquiry_takes_its_refusal_and_its_withdrawal() {
    for question in [approval(), question(), elicitation()] {
        check(
            &question,
            &InquiryAnswer::refusal(&question),
            expect!["taken"],
        );
        check(
            &question,
            &InquiryAnswer::withdrawal(&question),
            expect!["taken"],
        );
    }
}
