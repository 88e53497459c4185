use expect_test::{Expect, expect};
use serde_json::{Value, json};
use troupe_protocol::approval::Question;
use troupe_protocol::tool::ToolSpec;

use super::{RequestUserInputArguments, check as problem_with};

/// Shows what is wrong with questions.
fn check(questions: &Value, expected: Expect) {
    let arguments: RequestUserInputArguments =
        serde_json::from_value(json!({ "questions": questions })).unwrap();
    let questions: Vec<Question> = arguments
        .questions
        .into_iter()
        .map(Question::from)
        .collect();
    let shown = match problem_with(&questions) {
        Ok(()) => "fine".to_owned(),
        Err(problem) => problem,
    };
    expected.assert_eq(&shown);
}

fn free(id: &str, header: &str, question: &str) -> Value {
    json!({"id": id, "header": header, "question": question})
}

fn choice(values: &[&str]) -> Value {
    let option = |value: &&str| json!({"value": value, "label": "L", "description": "d"});
    let options: Vec<Value> = values.iter().map(option).collect();
    json!({"id": "a", "header": "H", "question": "Which?", "options": options})
}

#[test]
fn the_schema_that_a_model_reads_has_the_bounds() {
    let ToolSpec::Function { parameters, .. } = &*super::SPEC else {
        panic!("it takes a JSON object");
    };
    let bounds = |at: &str| {
        let part = parameters.pointer(at).unwrap();
        (part["minItems"].clone(), part["maxItems"].clone())
    };
    assert_eq!(bounds("/properties/questions"), (json!(1), json!(3)));
    let question = "/properties/questions/items/properties";
    assert_eq!(bounds(&format!("{question}/options")), (json!(2), json!(3)));
    let header = parameters.pointer(&format!("{question}/header")).unwrap();
    assert_eq!(header["maxLength"], 12);
    assert!(parameters.to_string().contains("(Recommended)"));
}

#[test]
fn there_are_one_to_three_questions_with_names_of_their_own() {
    let one = free("a", "H", "Which?");
    check(&json!([]), expect!["there are 0 questions; ask 1 to 3"]);
    check(&json!([one]), expect!["fine"]);
    check(
        &json!([one, one]),
        expect![[r#"questions[1].id "a" is taken; give each its own"#]],
    );
    let four: Vec<Value> = ["a", "b", "c", "d"]
        .map(|id| free(id, "H", "Which?"))
        .into();
    check(&json!(four), expect!["there are 4 questions; ask 1 to 3"]);
    check(&json!(four[..3]), expect!["fine"]);
}

#[test]
fn an_id_is_snake_case() {
    let wrong = |id: &str, expected: Expect| check(&json!([free(id, "H", "Which?")]), expected);
    wrong("the_2nd_colour", expect!["fine"]);
    wrong(
        "",
        expect![[
            r#"questions[0].id "" is not snake_case; use a to z, 0 to 9 and _, beginning with a letter"#
        ]],
    );
    wrong(
        "2nd",
        expect![[
            r#"questions[0].id "2nd" is not snake_case; use a to z, 0 to 9 and _, beginning with a letter"#
        ]],
    );
    wrong(
        "theColour",
        expect![[
            r#"questions[0].id "theColour" is not snake_case; use a to z, 0 to 9 and _, beginning with a letter"#
        ]],
    );
    wrong(
        &"a".repeat(65),
        expect!["questions[0].id has 65 characters; use at most 64"],
    );
}

#[test]
fn texts_are_one_line_that_fits() {
    let wrong = |header: &str, question: &str, expected: Expect| {
        check(
            &json!([free("a", "H", "Which?"), free("b", header, question)]),
            expected,
        );
    };
    wrong("zwölf Laute!", "Which?", expect!["fine"]);
    wrong(
        "thirteen here",
        "Which?",
        expect!["questions[1].header has 13 characters; use at most 12"],
    );
    wrong(" ", "Which?", expect!["questions[1].header is empty"]);
    wrong("H", "", expect!["questions[1].question is empty"]);
    wrong(
        "H",
        "Which?\nAnd why?",
        expect![
            "questions[1].question has line breaks or other control characters; write one line"
        ],
    );
}

#[test]
fn options_are_two_or_three_that_differ() {
    check(&json!([choice(&["x", "y", "z"])]), expect!["fine"]);
    check(
        &json!([choice(&[])]),
        expect!["questions[0].options has 0; give 2 or 3, or leave them out for a free answer"],
    );
    check(
        &json!([choice(&["x"])]),
        expect!["questions[0].options has 1; give 2 or 3, or leave them out for a free answer"],
    );
    check(
        &json!([choice(&["w", "x", "y", "z"])]),
        expect!["questions[0].options has 4; give 2 or 3, or leave them out for a free answer"],
    );
    check(
        &json!([choice(&["x", "x"])]),
        expect![[r#"questions[0].options[1].value "x" is taken; give each its own"#]],
    );
    check(
        &json!([choice(&["x", ""])]),
        expect!["questions[0].options[1].value is empty"],
    );
}
