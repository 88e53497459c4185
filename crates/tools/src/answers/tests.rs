use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::check_answers;

/// Shows what is wrong with the answers to a choice, a choice with a free answer, and a free
/// question.
fn check(answers: &Value, expected: Expect) {
    let options = json!([
        {"value": "red", "label": "Red", "description": "warm"},
        {"value": "blue", "label": "Blue", "description": "cold"},
    ]);
    let questions = json!([
        {"id": "colour", "header": "Colour", "question": "Which?", "options": options},
        {"id": "paint", "header": "Paint", "question": "Which?", "options": options, "isOther": true},
        {"id": "name", "header": "Name", "question": "Whose?"},
    ]);
    let questions: Vec<_> = serde_json::from_value(questions).unwrap();
    let response = serde_json::from_value(json!({ "answers": answers })).unwrap();
    let shown = match check_answers(&questions, &response) {
        Ok(()) => "fine".to_owned(),
        Err(problem) => problem,
    };
    expected.assert_eq(&shown);
}

#[test]
fn what_fits() {
    check(&json!({}), expect!["fine"]);
    check(&json!({"colour": {"selected": ["red"]}}), expect!["fine"]);
    check(&json!({"colour": {"selected": []}}), expect!["fine"]);
    check(
        &json!({"paint": {"selected": [], "other": "mauve"}}),
        expect!["fine"],
    );
    check(
        &json!({"paint": {"selected": ["red"], "other": "a dark one"}}),
        expect!["fine"],
    );
    check(&json!({"name": {"other": "mine"}}), expect!["fine"]);
}

#[test]
fn what_does_not() {
    check(
        &json!({"size": {"selected": ["red"]}}),
        expect![[r#"there is no question "size"; the questions are: colour, paint, name"#]],
    );
    check(
        &json!({"colour": {"selected": ["green"]}}),
        expect![[r#"the answer "colour" selects "green"; the options are: red, blue"#]],
    );
    check(
        &json!({"colour": {"selected": ["red", "blue"]}}),
        expect![[r#"the answer "colour" selects several options, which exclude each other"#]],
    );
    check(
        &json!({"colour": {"selected": [], "other": "mauve"}}),
        expect![[r#"the answer "colour" has a text, and the question offers only its options"#]],
    );
    check(
        &json!({"name": {"selected": ["red"]}}),
        expect![[
            r#"the answer "name" selects an option of a question that has none; answer in other"#
        ]],
    );
    check(
        &json!({"name": {"other": "x".repeat(20_000)}}),
        expect![[r#"the answer "name" has 20000 bytes; at most 16384 are passed on"#]],
    );
}
