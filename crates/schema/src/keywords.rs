//! The words that schemas are made of.

use super::problem::{SchemaDefect, SchemaError};
use super::source::SchemaSource;

/// Says something to people, or only holds what others refer to.
const NO_RULE: &[&str] = &[
    "$comment",
    "$schema",
    "default",
    "deprecated",
    "description",
    "examples",
    "format",
    "readOnly",
    "title",
    "writeOnly",
];

const RULES: &[&str] = &[
    "$defs",
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "definitions",
    "dependentRequired",
    "else",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "if",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "then",
    "type",
    "uniqueItems",
];

/// Refuses keywords that are not known. `$id` gives the whole a name; further in it would
/// change what references mean.
pub(super) fn refuse_unknown(source: SchemaSource<'_, '_>) -> Result<(), SchemaError> {
    for keyword in source.keywords.keys() {
        let known = RULES.contains(&keyword.as_str())
            || NO_RULE.contains(&keyword.as_str())
            || (keyword == "$id" && source.place.is_empty());
        if !known {
            return Err(SchemaDefect::Unsupported(keyword.clone()).at(source.place));
        }
    }
    Ok(())
}
