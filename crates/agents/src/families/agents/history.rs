//! How much of its parent's conversation a child gets, as models write it.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use troupe_protocol::spawn::HistoryShare;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct HistoryArgument(pub HistoryShare);

impl HistoryArgument {
    fn turns(turns: u64) -> Self {
        match u32::try_from(turns).unwrap_or(u32::MAX) {
            0 => Self(HistoryShare::None),
            turns => Self(HistoryShare::LastTurns(turns)),
        }
    }
}

impl<'de> Deserialize<'de> for HistoryArgument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(HistoryVisitor)
    }
}

struct HistoryVisitor;

impl Visitor<'_> for HistoryVisitor {
    type Value = HistoryArgument;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"none\", \"all\" or a number of turns")
    }

    fn visit_u64<E: Error>(self, turns: u64) -> Result<HistoryArgument, E> {
        Ok(HistoryArgument::turns(turns))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<HistoryArgument, E> {
        match text.trim() {
            "none" => Ok(HistoryArgument(HistoryShare::None)),
            "all" => Ok(HistoryArgument(HistoryShare::All)),
            number => match number.parse() {
                Ok(turns) => Ok(HistoryArgument::turns(turns)),
                Err(_) => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
            },
        }
    }
}

impl JsonSchema for HistoryArgument {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "History".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "integer"]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: &str) {
        let found = match serde_json::from_str::<HistoryArgument>(json) {
            Ok(HistoryArgument(share)) => format!("{share:?}"),
            Err(error) => error.to_string(),
        };
        assert!(found.starts_with(expected), "{json}: {found}");
    }

    #[test]
    fn words_numbers_and_numbers_as_words() {
        check(r#""none""#, "None");
        check(r#""all""#, "All");
        check("3", "LastTurns(3)");
        check(r#"" 3 ""#, "LastTurns(3)");
        check("0", "None");
        check("99999999999", "LastTurns(4294967295)");
        check(
            "-1",
            "invalid type: integer `-1`, expected \"none\", \"all\" or a number of turns",
        );
        check(
            r#""some""#,
            "invalid value: string \"some\", expected \"none\", \"all\" or",
        );
        check("true", "invalid type: boolean `true`, expected \"none\"");
    }
}
