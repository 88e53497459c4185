use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;

mod bounds;
mod contradictions;
mod oracle;
mod refusals;

fn compiled(schema: Value) -> AnswerSchema {
    AnswerSchema::understand(&schema).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

/// Shows what is wrong with a value, or that nothing is.
fn check(schema: Value, value: Value, expected: Expect) {
    let problems = compiled(schema).check(&value, 20);
    let told: Vec<String> = problems.iter().map(ValueProblem::to_string).collect();
    match told.as_slice() {
        [] => expected.assert_eq("fits"),
        told => expected.assert_eq(&told.join("\n")),
    }
}

/// Checks values of which it is enough to know whether they fit.
fn check_each(schema: Value, fitting: &[Value], others: &[Value]) {
    let compiled = compiled(schema.clone());
    for value in fitting {
        let problems = compiled.check(value, 1);
        assert!(problems.is_empty(), "{value} fits {schema}: {problems:?}");
    }
    for value in others {
        assert!(
            !compiled.check(value, 1).is_empty(),
            "{value} does not fit {schema}"
        );
    }
}

#[test]
fn schemas_can_be_true_or_false() {
    check(json!(true), json!([1]), expect!["fits"]);
    check(json!({}), json!(null), expect!["fits"]);
    check(
        json!(false),
        json!(1),
        expect!["at the top: nothing is allowed here"],
    );
    check(
        json!({"properties": {"secret": false}}),
        json!({"secret": 1}),
        expect!["at /secret: nothing is allowed here"],
    );
}

#[test]
fn types_are_named_as_people_say_them() {
    check(
        json!({"type": "integer"}),
        json!("three"),
        expect![[r#"at the top: expected an integer, found "three""#]],
    );
    check(
        json!({"type": ["string", "null"]}),
        json!([1, 2]),
        expect!["at the top: expected a string or null, found an array of 2"],
    );
    check_each(
        json!({"type": "integer"}),
        &[
            json!(1),
            json!(1.0),
            json!(-0.0),
            json!(u64::MAX),
            json!(1e300),
        ],
        &[json!(1.5), json!("1"), json!(true), json!(1e-300)],
    );
    check_each(
        json!({"type": "number"}),
        &[json!(1), json!(1.5)],
        &[json!("1"), json!(null)],
    );
}

#[test]
fn choices_are_equal_as_json_is() {
    check(
        json!({"enum": ["red", "green"]}),
        json!("blue"),
        expect![[r#"at the top: expected one of "red", "green", found "blue""#]],
    );
    check(
        json!({"const": "go"}),
        json!("stop"),
        expect![[r#"at the top: expected "go", found "stop""#]],
    );
    check(
        json!({"enum": []}),
        json!(1),
        expect!["at the top: nothing is allowed here: the list of choices is empty"],
    );
    check_each(
        json!({"enum": [1, [2.0], {"a": 1, "b": 2}, 9_007_199_254_740_993_u64]}),
        &[
            json!(1.0),
            json!([2]),
            json!({"b": 2.0, "a": 1}),
            json!(9_007_199_254_740_993_u64),
        ],
        &[
            json!("1"),
            json!(true),
            json!([2, 2]),
            json!({"a": 1}),
            json!(9_007_199_254_740_992_u64),
        ],
    );
}

#[test]
fn numbers_are_compared_exactly() {
    check(
        json!({"minimum": 1}),
        json!(0),
        expect!["at the top: expected at least 1, found 0"],
    );
    check(
        json!({"exclusiveMinimum": 0, "exclusiveMaximum": 1}),
        json!(1),
        expect!["at the top: expected less than 1, found 1"],
    );
    // As floats all of these are equal.
    check_each(
        json!({"exclusiveMaximum": u64::MAX}),
        &[json!(u64::MAX - 1), json!(0.5), json!(i64::MIN)],
        &[
            json!(u64::MAX),
            json!(1.844_674_407_370_955_2e19),
            json!(1e300),
        ],
    );
    check_each(
        json!({"minimum": 9_007_199_254_740_993_i64}),
        &[
            json!(9_007_199_254_740_993_i64),
            json!(9_007_199_254_740_994.0),
        ],
        &[json!(9_007_199_254_740_992.0), json!(-1e300)],
    );
    check_each(
        json!({"maximum": 2.5}),
        &[json!(2), json!(2.5), json!(-3), json!(i64::MIN)],
        &[json!(3), json!(2.500_001), json!(u64::MAX)],
    );
    check_each(
        json!({"minimum": -2.5}),
        &[json!(-2), json!(-2.5)],
        &[json!(-3), json!(i64::MIN), json!(-1e40)],
    );
}

#[test]
fn multiples_are_those_of_what_is_written() {
    check(
        json!({"multipleOf": 5}),
        json!(12),
        expect!["at the top: expected a multiple of 5, found 12"],
    );
    check_each(
        json!({"multipleOf": 0.1}),
        &[json!(0.3), json!(7), json!(-1.1), json!(0), json!(1e300)],
        &[json!(0.35), json!(0.01), json!(1e-300)],
    );
    check_each(
        json!({"multipleOf": 3}),
        &[json!(u64::MAX), json!(6.0), json!(-9)],
        &[json!(u64::MAX - 1), json!(6.5), json!(1e300)],
    );
    check_each(
        json!({"multipleOf": 1e20}),
        &[json!(3e20), json!(0)],
        &[json!(1), json!(1.5e20)],
    );
}

#[test]
fn texts_are_counted_in_characters() {
    check(
        json!({"minLength": 2, "maxLength": 3}),
        json!("äöüß"),
        expect!["at the top: expected 2 to 3 characters, found 4"],
    );
    check_each(
        json!({"maxLength": 2.0}),
        &[json!("🦀🦀"), json!(12345)],
        &[json!("abc")],
    );
    check(
        json!({"minLength": 1}),
        json!(""),
        expect!["at the top: expected at least 1 character, found 0"],
    );
}

#[test]
fn patterns_are_those_of_javascript() {
    check(
        json!({"pattern": "^v[0-9]+$"}),
        json!("v1.2"),
        expect![[r#"at the top: expected a text that matches ^v[0-9]+$, found "v1.2""#]],
    );
    check_each(
        json!({"pattern": r"^\d\w\/[\d_&&[~]$"}),
        &[json!("1a/2"), json!("1_/["), json!("1_/&"), json!("1_/~")],
        // Digits and letters are those of ASCII.
        &[json!("٣a/2"), json!("1ä/2"), json!("1a/2\n")],
    );
    check_each(
        json!({"pattern": r"^.[^\S\n]\bx\B"}),
        &[json!("é xy"), json!("a\u{feff}xy")],
        &[json!("\r xy"), json!("a\nxy"), json!("a x")],
    );
    check_each(json!({"pattern": "b"}), &[json!("abc")], &[json!("ac")]);
}

#[test]
fn objects_have_the_keys_that_were_asked_for() {
    let person = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": false,
    });
    check(
        person.clone(),
        json!({"name": "Ada", "age": 36}),
        expect!["fits"],
    );
    check(
        person,
        json!({"name": 1, "born": 1815}),
        expect![[r#"
            at the top: the key "age" is missing
            at /name: expected a string, found 1
            at the top: the key "born" is not allowed; expected only "age", "name""#]],
    );
    check(
        json!({"additionalProperties": {"type": "integer"}}),
        json!({"a/b": 1, "c~d": "x"}),
        expect![[r#"at /c~0d: expected an integer, found "x""#]],
    );
    check(
        json!({"minProperties": 1, "maxProperties": 1}),
        json!({}),
        expect!["at the top: expected 1 key, found 0"],
    );
    check(
        json!({"dependentRequired": {"card": ["address", "name"]}}),
        json!({"card": 1, "name": 2}),
        expect![[r#"at the top: the key "address" is missing"#]],
    );
    check(
        json!({"propertyNames": {"pattern": "^[a-z]+$"}}),
        json!({"ok": 1, "Not Ok": 2}),
        expect![[
            r#"at the top: the key "Not Ok" is not allowed: expected a text that matches ^[a-z]+$, found "Not Ok""#
        ]],
    );
}

#[test]
fn keys_can_be_described_by_patterns() {
    let schema = json!({
        "properties": {"x_id": {"minimum": 1}},
        "patternProperties": {"^x_": {"type": "integer"}, "_id$": {"maximum": 9}},
        "additionalProperties": false,
    });
    check_each(
        schema,
        &[json!({"x_id": 5, "x_a": 0, "a_id": "any"})],
        &[
            json!({"x_id": 0}),
            json!({"x_id": 10}),
            json!({"x_a": "1"}),
            json!({"other": 1}),
        ],
    );
}

#[test]
fn arrays_have_a_beginning_and_a_rest() {
    check(
        json!({"items": {"type": "integer"}, "maxItems": 2}),
        json!([1, "2", 3]),
        expect![[r#"
            at the top: expected at most 2 items, found 3
            at /1: expected an integer, found "2""#]],
    );
    check(
        json!({"prefixItems": [{"const": "point"}, {"type": "number"}], "items": false}),
        json!(["point", 1, 2]),
        expect!["at the top: expected at most 2 items, found 3"],
    );
    check_each(
        json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}),
        &[json!([]), json!(["a"]), json!(["a", 1, 2])],
        &[json!([1]), json!(["a", "b"])],
    );
    check(
        json!({"contains": {"type": "integer"}, "minContains": 2, "maxContains": 3}),
        json!([1, "a"]),
        expect!["at the top: expected 2 to 3 items that `contains` asks for, found 1"],
    );
    check_each(
        json!({"contains": {"type": "integer"}, "minContains": 0, "maxContains": 1}),
        &[json!([]), json!([1])],
        &[json!([1, 2])],
    );
    check(
        json!({"uniqueItems": true}),
        json!([1, {"a": 1, "b": 2}, {"b": 2, "a": 1.0}]),
        expect!["at the top: expected different items, found the same at 1 and 2"],
    );
}

#[test]
fn alternatives_are_told_with_what_is_wrong_with_each() {
    let any = json!({"anyOf": [
        {"type": "integer"},
        {"properties": {"kind": {"const": "a"}}, "required": ["kind"], "type": "object"},
    ]});
    check(
        any,
        json!({"kind": "b"}),
        expect![[
            r#"at the top: it fits no alternative of `anyOf`: (1) at the top: expected an integer, found an object; (2) at /kind: expected "a", found "b""#
        ]],
    );
    let one = json!({"oneOf": [{"type": "integer"}, {"minimum": 2}]});
    check_each(one.clone(), &[json!(1), json!(2.5)], &[json!(1.5)]);
    check(
        one,
        json!(3),
        expect!["at the top: it fits the alternatives 1 and 2 of `oneOf`; expected exactly one"],
    );
    let many: Vec<Value> = (0..7).map(|number| json!({"const": number})).collect();
    check(
        json!({"oneOf": many}),
        json!(9),
        expect![
            "at the top: it fits no alternative of `oneOf`: (1) at the top: expected 0, found 9; (2) at the top: expected 1, found 9; (3) at the top: expected 2, found 9; (4) at the top: expected 3, found 9; and 3 more"
        ],
    );
    check(
        json!({"allOf": [{"minimum": 1}, {"maximum": 2}], "not": {"const": 0}}),
        json!(0),
        expect![[r#"
            at the top: expected at least 1, found 0
            at the top: it is what `not` excludes"#]],
    );
}

#[test]
fn conditions_choose_what_counts() {
    check_each(
        json!({
            "if": {"properties": {"kind": {"const": "file"}}},
            "then": {"required": ["path"]},
            "else": {"required": ["url"]},
        }),
        &[
            json!({"kind": "file", "path": 1}),
            json!({"kind": "page", "url": 1}),
        ],
        &[json!({"kind": "file", "url": 1}), json!({"kind": "page"})],
    );
    check_each(
        json!({"then": false, "if": {"type": "null"}}),
        &[json!(1)],
        &[json!(null)],
    );
    // Alone they say nothing.
    check(
        json!({"then": false, "else": false, "minContains": 3}),
        json!([]),
        expect!["fits"],
    );
}

#[test]
fn references_lead_to_other_parts_of_the_schema() {
    let tree = json!({
        "$id": "https://example.com/tree",
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "required": ["value"],
                "properties": {
                    "value": {"$ref": "#/definitions/a%20name~1with~0signs"},
                    "children": {"type": "array", "items": {"$ref": "#"}},
                },
            },
        },
        "definitions": {"a name/with~signs": {"type": "integer"}},
    });
    check(
        tree.clone(),
        json!({"value": 1, "children": [{"value": 2, "children": []}]}),
        expect!["fits"],
    );
    check(
        tree,
        json!({"value": 1, "children": [{"value": 2, "children": [{"value": "3"}, {}]}]}),
        expect![[r#"
            at /children/0/children/0/value: expected an integer, found "3"
            at /children/0/children/1: the key "value" is missing"#]],
    );
    check(
        json!({"properties": {"a": {"type": "integer"}, "b": {"$ref": "#/properties/a", "minimum": 2}}}),
        json!({"b": 1}),
        expect!["at /b: expected at least 2, found 1"],
    );
}

#[test]
fn what_is_said_to_people_is_no_rule() {
    check(
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$comment": "c", "title": "t", "description": "d", "default": 1, "examples": [1],
            "format": "email", "deprecated": true, "readOnly": true, "writeOnly": true,
        }),
        json!("not an address"),
        expect!["fits"],
    );
}
