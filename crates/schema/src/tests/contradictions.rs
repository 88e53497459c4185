use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{AnswerSchema, SchemaDefect};

#[track_caller]
fn refused(schema: Value, place: Expect) {
    match AnswerSchema::compile(&schema) {
        Ok(_) => panic!("{schema} is taken"),
        Err(error) => place.assert_eq(&error.place),
    }
}

#[test]
fn a_schema_that_no_value_fits_is_refused() {
    for schema in [
        json!(false),
        json!({"not": {}}),
        json!({"not": true}),
        json!({"enum": []}),
        json!({"type": "object", "minProperties": 2, "maxProperties": 1}),
        json!({"type": "string", "minLength": 3, "maxLength": 2}),
        json!({"type": "number", "minimum": 2, "maximum": 1}),
        json!({"type": "integer", "minimum": 1, "exclusiveMaximum": 1}),
        json!({"type": "array", "minItems": 2, "maxItems": 1}),
        json!({"allOf": [{"type": "string"}, {"type": "object"}]}),
        json!({"type": "object", "allOf": [{"type": "array"}]}),
        json!({"type": "string", "not": {"type": "string"}}),
        json!({"type": "string", "enum": [1, 2]}),
        json!({"type": "integer", "enum": [1, 2], "minimum": 3}),
        json!({"const": 1, "enum": [2]}),
        json!({"anyOf": [false, {"type": "string", "enum": []}]}),
        json!({"type": "object", "required": ["a"], "additionalProperties": false}),
        json!({"type": "object", "minProperties": 1, "additionalProperties": false}),
        json!({"type": "object", "required": ["a", "b"], "maxProperties": 1}),
        json!({"type": "object", "required": ["a"], "propertyNames": false}),
        json!({"type": "array", "contains": false}),
        json!({"type": "array", "minItems": 1, "items": false}),
    ] {
        let error = AnswerSchema::compile(&schema).map(|_| ()).unwrap_err();
        assert_eq!(error.defect, SchemaDefect::Impossible, "{schema}");
    }
}

/// The place is that of the contradiction, not of all that needs it.
#[test]
fn the_place_of_a_contradiction_is_told() {
    let wrong = json!({"type": "string", "minLength": 2, "maxLength": 1});
    let needed = json!({"type": "object", "properties": {"a": wrong}, "required": ["a"]});
    refused(needed, expect!["/properties/a"]);
    refused(
        json!({"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/x"}, "$defs": {"x": false}}),
        expect!["/items"],
    );
    // It would have to stand in itself for ever.
    refused(
        json!({"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}),
        expect!["/properties/next"],
    );
}

#[test]
fn what_can_be_fitted_is_taken() {
    for schema in [
        json!({}),
        json!({"type": "object", "properties": {"secret": false}}),
        json!({"type": "array", "items": false}),
        json!({"minimum": 2, "maximum": 1}),
        json!({"type": "integer", "minimum": 1, "maximum": 1}),
        json!({"type": ["string", "null"], "not": {"type": "null"}}),
        json!({"allOf": [{"type": "number"}, {"type": "integer"}]}),
        json!({"anyOf": [false, {"type": "null"}]}),
        json!({"oneOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b"]}]}),
        json!({"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["next"]}),
        json!({"type": "object", "patternProperties": {"^a": {}}, "required": ["ab"], "additionalProperties": false}),
        json!({"type": "array", "prefixItems": [{}, {}], "items": false, "minItems": 2}),
        json!({"if": {"type": "string"}, "then": false, "else": true}),
        json!({"enum": [1.0], "type": "integer"}),
    ] {
        if let Err(error) = AnswerSchema::compile(&schema) {
            panic!("{schema}: {error}");
        }
    }
}
