//! Schemas that are not understood.

use super::*;

fn check(schema: Value, expected: Expect) {
    match AnswerSchema::understand(&schema) {
        Ok(_) => expected.assert_eq("understood"),
        Err(error) => expected.assert_eq(&error.to_string()),
    }
}

#[test]
fn unknown_keywords_are_named_with_their_place() {
    check(
        json!({"properties": {"a": {"unevaluatedProperties": false}}}),
        expect![[
            r#"at /properties/a: the keyword "unevaluatedProperties" is not supported; leave it out or say it otherwise"#
        ]],
    );
    check(
        json!({"anyOf": [true, {"items": {"nullable": true}}]}),
        expect![[
            r#"at /anyOf/1/items: the keyword "nullable" is not supported; leave it out or say it otherwise"#
        ]],
    );
    check(
        json!({"$defs": {"unused": {"$dynamicRef": "#x"}}}),
        expect![[
            r#"at /$defs/unused: the keyword "$dynamicRef" is not supported; leave it out or say it otherwise"#
        ]],
    );
    check(
        json!({"items": {"$id": "other"}}),
        expect![[
            r#"at /items: the keyword "$id" is not supported; leave it out or say it otherwise"#
        ]],
    );
    check(
        json!({"properties": {"a\u{1b}[2J/b": {"\u{1b}[2J": 1}}}),
        expect![[
            r#"at /properties/a\u{1b}[2J~1b: the keyword "\u{1b}[2J" is not supported; leave it out or say it otherwise"#
        ]],
    );
}

#[test]
fn keywords_have_the_values_that_they_must_have() {
    check(
        json!([]),
        expect!["at the top: expected a schema: an object of keywords, true or false"],
    );
    check(
        json!({"properties": {"a": "string"}}),
        expect!["at /properties/a: expected a schema: an object of keywords, true or false"],
    );
    check(
        json!({"type": "text"}),
        expect![[
            r#"at the top: "text" is no type; use null, boolean, integer, number, string, array or object"#
        ]],
    );
    check(
        json!({"type": []}),
        expect!["at the top: `type` must be the name of a type, or a list of them"],
    );
    check(
        json!({"items": [{}]}),
        expect!["at the top: `items` must be one schema; use `prefixItems` for a list of them"],
    );
    check(
        json!({"exclusiveMinimum": true}),
        expect!["at the top: `exclusiveMinimum` must be a number"],
    );
    check(
        json!({"minLength": -1}),
        expect!["at the top: `minLength` must be a whole number, 0 or more"],
    );
    check(
        json!({"maxItems": 1.5}),
        expect!["at the top: `maxItems` must be a whole number, 0 or more"],
    );
    check(
        json!({"multipleOf": 0}),
        expect!["at the top: `multipleOf` must be a number above 0"],
    );
    check(
        json!({"required": true}),
        expect!["at the top: `required` must be a list of strings"],
    );
    check(
        json!({"properties": []}),
        expect!["at the top: `properties` must be an object of schemas"],
    );
    check(
        json!({"oneOf": []}),
        expect!["at the top: `oneOf` must be a list of schemas that is not empty"],
    );
    check(
        json!({"dependentRequired": {"a": "b"}}),
        expect!["at the top: `dependentRequired` must be an object of lists of strings"],
    );
    check(
        json!({"enum": "a"}),
        expect!["at the top: `enum` must be a list"],
    );
    check(
        json!({"uniqueItems": 1}),
        expect!["at the top: `uniqueItems` must be true or false"],
    );
}

#[test]
fn references_stay_in_the_schema_and_lead_somewhere() {
    check(
        json!({"items": {"$ref": "https://example.com/a.json"}}),
        expect![[
            r##"at /items: `$ref` "https://example.com/a.json" is not supported; refer to a place in this schema, such as #/$defs/name"##
        ]],
    );
    check(
        json!({"$ref": "#anchor"}),
        expect![[
            r##"at the top: `$ref` "#anchor" is not supported; refer to a place in this schema, such as #/$defs/name"##
        ]],
    );
    check(
        json!({"$ref": "#/$defs/a"}),
        expect![[r##"at the top: `$ref` "#/$defs/a" leads nowhere; add what it refers to"##]],
    );
    check(
        json!({"$ref": "#/title", "title": "t"}),
        expect!["at /title: expected a schema: an object of keywords, true or false"],
    );
    check(
        json!({"$ref": 1}),
        expect!["at the top: `$ref` must be a string"],
    );
}

#[test]
fn a_schema_does_not_refer_to_itself_for_the_same_value() {
    check(
        json!({"$ref": "#"}),
        expect![
            "at the top: the schema refers to itself for the same value, which never ends; let it refer to itself from a property or an item"
        ],
    );
    check(
        json!({"anyOf": [true, {"not": {"$ref": "#"}}]}),
        expect![
            "at the top: the schema refers to itself for the same value, which never ends; let it refer to itself from a property or an item"
        ],
    );
    check(
        json!({"$defs": {
            "a": {"allOf": [{"$ref": "#/$defs/b"}]},
            "b": {"if": true, "then": {"$ref": "#/$defs/a"}},
        }}),
        expect![
            "at /$defs/a: the schema refers to itself for the same value, which never ends; let it refer to itself from a property or an item"
        ],
    );
    check(
        json!({"properties": {"a": {"$ref": "#"}}, "items": {"anyOf": [{"$ref": "#"}]}}),
        expect!["understood"],
    );
}

#[test]
fn patterns_that_take_unbounded_time_are_refused() {
    check(
        json!({"pattern": "^(?=a)b"}),
        expect![[
            r#"at the top: the pattern "^(?=a)b" is not supported: look-around, including look-ahead and look-behind, is not supported"#
        ]],
    );
    check(
        json!({"properties": {"a": {"pattern": r"(a)\1"}}}),
        expect![[
            r#"at /properties/a: the pattern "(a)\\1" is not supported: backreferences are not supported"#
        ]],
    );
    check(
        json!({"patternProperties": {"(": true}}),
        expect![[r#"at the top: the pattern "(" is not supported: unclosed group"#]],
    );
    check(
        json!({"pattern": r"\p{L}"}),
        expect![[
            r#"at the top: the pattern "\\p{L}" is not supported: name the characters of a class, not a property of them"#
        ]],
    );
    check(
        json!({"pattern": "[]"}),
        expect![[r#"at the top: the pattern "[]" is not supported: a class must not be empty"#]],
    );
    check(
        json!({"pattern": "[+--]"}),
        expect![[
            r#"at the top: the pattern "[+--]" is not supported: write `\-` for one of two `-` in a class"#
        ]],
    );
    check(
        json!({"pattern": "a\\"}),
        expect![[r#"at the top: the pattern "a\\" is not supported: it ends with `\`"#]],
    );
    check(
        json!({"pattern": "((a{500}){500}){500}"}),
        expect![[
            r#"at the top: the pattern "((a{500}){500}){500}" is not supported: it needs more than 524288 bytes; make it simpler"#
        ]],
    );
}
