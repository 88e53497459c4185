use expect_test::{Expect, expect};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::*;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only read from JSON and described")]
struct Example {
    /// The file.
    path: String,
    /// How many.
    limit: Option<usize>,
    mode: Option<Mode>,
    steps: Option<Vec<Step>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Fast,
    Slow,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only read from JSON and described")]
struct Step {
    name: String,
}

fn check(arguments: &str, expect: Expect) {
    let problem = read::<Example>(arguments).expect_err("the arguments are bad");
    expect.assert_eq(&problem);
}

#[test]
fn problems_name_the_field() {
    check("ls -l", expect!["the arguments are not a JSON object"]);
    check("[\"a\"]", expect!["the arguments are not a JSON object"]);
    check(
        r#"{"path": "a""#,
        expect![
            "the arguments are not valid JSON: EOF while parsing an object at line 1 column 12"
        ],
    );
    check(
        r#"{"path": "a"} {}"#,
        expect!["the arguments go on after the end of the JSON object"],
    );
    check("{}", expect!["missing field `path`"]);
    check("", expect!["missing field `path`"]);
    check(
        r#"{"path": 3}"#,
        expect![[r#"field "path": invalid type: integer `3`, expected a string"#]],
    );
    check(
        r#"{"path": "a", "limit": "3"}"#,
        expect![[r#"field "limit": invalid type: string "3", expected a whole number, 0 or more"#]],
    );
    check(
        r#"{"path": "a", "limit": -1}"#,
        expect![[
            r#"field "limit": invalid value: integer `-1`, expected a whole number, 0 or more"#
        ]],
    );
    check(
        r#"{"file": "a"}"#,
        expect![[
            r#"field "file": unknown field `file`, expected one of `path`, `limit`, `mode`, `steps`"#
        ]],
    );
    check(
        r#"{"path": "a", "mode": "quick"}"#,
        expect![[r#"field "mode": unknown variant `quick`, expected `fast` or `slow`"#]],
    );
    check(
        r#"{"path": "a", "steps": [{"name": "x"}, {}]}"#,
        expect![[r#"field "steps[1]": missing field `name`"#]],
    );
}

#[test]
fn deep_nesting_is_an_answer_not_a_crash() {
    let deep = format!("{{\"path\": {}", "[".repeat(100_000));
    assert!(read::<Example>(&deep).is_err());
}

#[test]
fn null_is_as_good_as_absent() {
    let example: Example = read(r#"{"path": "a", "limit": null, "mode": null}"#).unwrap();
    assert!(example.limit.is_none());
}

#[test]
fn the_expected_shape_is_short() {
    let spec = function::<Example>("example", "An example.");
    expect!["example: missing field `path`. Call it again with: {path: string, limit?: integer, mode?: \"fast\" | \"slow\", steps?: [{name: string}]}"]
        .assert_eq(&explain(&spec, "missing field `path`"));
}

#[test]
fn schemas_carry_no_noise() {
    let ToolSpec::Function { parameters, .. } = function::<Example>("example", "") else {
        panic!("a function was described");
    };
    let expected = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["path"],
        "properties": {
            "path": {"type": "string", "description": "The file."},
            "limit": {"type": "integer", "minimum": 0, "description": "How many."},
            "mode": {"type": "string", "enum": ["fast", "slow"]},
            "steps": {"type": "array", "items": {
                "type": "object",
                "additionalProperties": false,
                "required": ["name"],
                "properties": {"name": {"type": "string"}},
            }},
        },
    });
    assert_eq!(*parameters, expected);
}
