//! Whom a call means: a number, or any other address.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Spelling")]
pub(super) struct Address(String);

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected an agent's number or address")]
enum Spelling {
    Number(u32),
    Text(String),
}

impl Address {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Spelling> for Address {
    fn from(spelling: Spelling) -> Self {
        match spelling {
            Spelling::Number(number) => Self(number.to_string()),
            Spelling::Text(text) => Self(text),
        }
    }
}

impl JsonSchema for Address {
    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["integer", "string"]})
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::*;

    fn check(value: Value, expected: Expect) {
        let found = match serde_json::from_value::<Address>(value) {
            Ok(address) => address.as_str().to_owned(),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&found);
    }

    #[test]
    fn numbers_and_texts_are_addresses() {
        check(json!(3), expect!["3"]);
        check(json!("3"), expect!["3"]);
        check(json!("/root/tester"), expect!["/root/tester"]);
        check(json!(-1), expect!["expected an agent's number or address"]);
        check(
            json!(null),
            expect!["expected an agent's number or address"],
        );
        check(json!([3]), expect!["expected an agent's number or address"]);
    }
}
