use expect_test::{Expect, expect};
use serde_json::{Value, json};
use troupe_protocol::approval::ReviewDecision;
use troupe_tools::Ask;

use super::{Inquiry, Word};

/// Shows what becomes of a word.
fn check(inquiry: &Inquiry, word: &Word, expected: Expect) {
    let shown = match inquiry.check("call_1", word) {
        Ok(()) => "taken".to_owned(),
        Err(not_taken) => not_taken.to_string(),
    };
    expected.assert_eq(&shown);
}

fn approval() -> Inquiry {
    let request = json!({
        "call_id": "call_1", "turn_id": "1", "command": ["make"], "cwd": "/", "parsed_cmd": [],
        "available_decisions": [],
    });
    Inquiry::Approval(Ask::Exec(serde_json::from_value(request).unwrap()))
}

fn question() -> Inquiry {
    let questions = json!([{"id": "name", "header": "Name", "question": "Whose?"}]);
    let request = json!({"call_id": "call_1", "turn_id": "1", "questions": questions});
    Inquiry::UserInput(serde_json::from_value(request).unwrap())
}

fn answers(answers: &Value) -> Word {
    Word::Input(serde_json::from_value(json!({ "answers": answers })).unwrap())
}

#[test]
fn a_word_is_of_the_kind_that_was_asked_for() {
    let yes = Word::Decision(ReviewDecision::Approved);
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
fn every_inquiry_takes_its_refusal_and_its_withdrawal() {
    for inquiry in [approval(), question()] {
        check(&inquiry, &inquiry.refusal(), expect!["taken"]);
        check(&inquiry, &inquiry.withdrawal(), expect!["taken"]);
    }
}
