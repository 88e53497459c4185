use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn contract() -> AnswerFormat {
    AnswerFormat::checked(Some(json!({
        "type": "object",
        "required": ["count"],
        "properties": { "count": { "type": "integer", "minimum": 1 } },
    })))
    .unwrap()
}

fn check(answers: &[&str], expected: Expect) {
    let mut output = contract();
    let verdicts: Vec<String> = answers
        .iter()
        .map(|answer| match output.judge(Some(answer)) {
            AnswerVerdict::Accepted => "accepted".to_owned(),
            AnswerVerdict::Repair(request) => format!("repair: {request}"),
            AnswerVerdict::Rejected(message) => format!("rejected: {message}"),
        })
        .collect();
    expected.assert_eq(&format!(
        "{}\n{:?}",
        verdicts.join("\n"),
        output.structured_output()
    ));
}

#[test]
fn an_answer_that_fits_is_kept_as_json() {
    check(
        &[r#"{"count": 3}"#],
        expect![[r#"
            accepted
            Some(Valid { value: Object {"count": Number(3)} })"#]],
    );
    check(
        &["```json\n{\"count\": 3}\n```"],
        expect![[r#"
            accepted
            Some(Valid { value: Object {"count": Number(3)} })"#]],
    );
}

#[test]
fn the_model_is_told_once_what_is_wrong() {
    check(
        &[r#"{"count": 0}"#, r#"{"count": 1}"#],
        expect![[r#"
            repair: Your answer does not fit the JSON schema that was asked for. What is wrong with it:
            - at /count: expected at least 1, found 0
            Answer again with the corrected JSON only, without any other text.
            accepted
            Some(Valid { value: Object {"count": Number(1)} })"#]],
    );
}

#[test]
fn a_second_answer_that_does_not_fit_is_the_end() {
    check(
        &["three", r#"{"total": 3}"#],
        expect![[r#"
            repair: Your answer does not fit the JSON schema that was asked for. What is wrong with it:
            - it is not JSON: expected ident at line 1 column 2
            Answer again with the corrected JSON only, without any other text.
            rejected: the answer does not fit its output schema, also not after it was asked for again: at the top: the key "count" is missing
            Some(Invalid { problems: ["at the top: the key \"count\" is missing"] })"#]],
    );
}

#[test]
fn what_only_asks_for_a_shape_is_not_checked() {
    let mut output = AnswerFormat::shaped(Some(json!({ "type": "object" })));
    assert_eq!(output.judge(Some("no")), AnswerVerdict::Accepted);
    assert_eq!(output.structured_output(), None);
    assert!(output.schema().is_some());
}

#[test]
fn no_answer_is_none_that_fits() {
    let mut output = contract();
    assert!(matches!(output.judge(None), AnswerVerdict::Repair(_)));
    assert!(matches!(output.judge(None), AnswerVerdict::Rejected(_)));
}

#[test]
fn a_schema_that_is_not_understood_is_refused_before_anything_is_asked() {
    let refusal = AnswerFormat::checked(Some(json!({ "type": 7 }))).unwrap_err();
    expect!["at the top: `type` must be the name of a type, or a list of them"]
        .assert_eq(&refusal.to_string());
}
