//! Schemas and values that are made to cost much.

use super::*;
use crate::limits::{DEPTH_MAX, NODES_MAX, PATTERNS_MAX};

#[test]
fn a_schema_has_so_many_parts() {
    let of = |parts: usize| {
        let parts: Vec<Value> = (0..parts).map(|_| json!({})).collect();
        AnswerSchema::understand(&json!({"allOf": parts})).map_err(|error| error.to_string())
    };
    assert!(of(NODES_MAX - 1).is_ok());
    expect!["at the top: there are more than 4096 schemas in this one; make it smaller"]
        .assert_eq(&of(NODES_MAX).unwrap_err());
}

#[test]
fn a_schema_has_so_many_patterns() {
    let of = |patterns: usize| {
        let parts: Vec<Value> = (0..patterns).map(|_| json!({"pattern": "a"})).collect();
        AnswerSchema::understand(&json!({"allOf": parts})).map_err(|error| error.to_string())
    };
    assert!(of(PATTERNS_MAX).is_ok());
    expect!["at the top: there are more than 64 patterns; use fewer"]
        .assert_eq(&of(PATTERNS_MAX + 1).unwrap_err());
}

/// Each definition asks twice for the next one.
fn doubling(keyword: &str, last: Value) -> Value {
    let mut definitions = json!({"d40": last});
    for number in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
        definitions[format!("d{number}")] = json!({keyword: [next.clone(), next]});
    }
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

#[test]
fn a_check_takes_so_many_steps() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        check(
            doubling(keyword, json!({"type": "string", "minLength": 1})),
            if keyword == "anyOf" {
                json!(1)
            } else {
                json!("a")
            },
            expect!["at the top: to check it takes more than 1000000 steps; answer with less"],
        );
    }
    // What stopped is not what `not` excludes, and no reason to pass.
    let mut excluding = doubling("allOf", json!({"minimum": 0}));
    excluding["not"] = json!({"$ref": "#/$defs/d1"});
    excluding["$ref"] = json!("#/$defs/d40");
    check(
        excluding,
        json!(1),
        expect!["at the top: to check it takes more than 1000000 steps; answer with less"],
    );
}

#[test]
fn problems_that_were_found_before_are_told() {
    let mut schema = doubling("allOf", json!({"type": "string"}));
    schema["maxLength"] = json!(0);
    check(
        schema,
        json!("a"),
        expect![[r#"
            at the top: expected at most 0 characters, found 1
            at the top: to check it takes more than 1000000 steps; answer with less"#]],
    );
}

#[test]
fn texts_of_alternatives_stay_short() {
    let mut schema = json!({"const": "x".repeat(1_000)});
    for _ in 0..5 {
        schema = json!({"anyOf": [schema, schema, schema, schema]});
    }
    let problems = compiled(schema).check(&json!("y".repeat(1_000)), 1);
    assert!(problems[0].text.len() < 1_000, "{}", problems[0]);
}

#[test]
fn depth_is_bounded() {
    let list = json!({"type": "array", "items": {"$ref": "#"}});
    let nested = |levels: usize| (1..levels).fold(json!([]), |inner, _| json!([inner]));
    // Each level of the value takes two of the schema.
    check(list.clone(), nested(DEPTH_MAX / 2), expect!["fits"]);
    check(
        list,
        nested(DEPTH_MAX / 2 + 1),
        expect![
            "at the top: value and schema are nested more than 256 levels deep; answer with less nesting"
        ],
    );
    let mut definitions = json!({"d1000": {}});
    for number in 0..1_000 {
        definitions[format!("d{number}")] = json!({"$ref": format!("#/$defs/d{}", number + 1)});
    }
    check(
        json!({"$ref": "#/$defs/d0", "$defs": definitions}),
        json!(1),
        expect![
            "at the top: value and schema are nested more than 256 levels deep; answer with less nesting"
        ],
    );
}

#[test]
fn many_different_items_are_no_problem() {
    let items: Vec<Value> = (0..100_000).map(Value::from).collect();
    check(
        json!({"uniqueItems": true, "items": {"type": "integer", "minimum": 0}}),
        Value::Array(items),
        expect!["fits"],
    );
}

#[test]
fn no_more_problems_are_told_than_asked_for() {
    let schema = compiled(json!({"items": {"type": "string"}}));
    let value = json!([1, 2, 3, 4]);
    assert_eq!(schema.check(&value, 3).len(), 3);
    assert_eq!(schema.check(&value, 0).len(), 1);
}
