//! Whom a call means: an agent's number, or any other address.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// An address as a model wrote it; the tree resolves it. Answers show numbers as numbers, so
/// they come back as numbers too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AddressArgument(pub String);

impl AddressArgument {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for AddressArgument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AddressVisitor)
    }
}

struct AddressVisitor;

impl Visitor<'_> for AddressVisitor {
    type Value = AddressArgument;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an agent's id, number or path")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<AddressArgument, E> {
        Ok(AddressArgument(number.to_string()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<AddressArgument, E> {
        Ok(AddressArgument(text.to_owned()))
    }
}

impl JsonSchema for AddressArgument {
    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }

    // Numbers are taken but not offered: one type is easier for models than two.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: &str) {
        let found = match serde_json::from_str::<AddressArgument>(json) {
            Ok(AddressArgument(text)) => text,
            Err(error) => error.to_string(),
        };
        assert!(found.starts_with(expected), "{json}: {found}");
    }

    #[test]
    fn numbers_and_texts_are_addresses() {
        check("3", "3");
        check(r#""3""#, "3");
        check(r#""/root/tester""#, "/root/tester");
        check(
            "-1",
            "invalid type: integer `-1`, expected an agent's id, number or path",
        );
        check(
            "[3]",
            "invalid type: sequence, expected an agent's id, number or path",
        );
    }
}
