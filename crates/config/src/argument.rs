//! `-c key=value`: a dotted key, and a value that is TOML or else plain text.

use std::sync::Arc;

use toml::de::DeValue;

use crate::entry::{ConfigEntry, ConfigValue, Table, ValueLayer, ValueOrigin, ValuePlace};
use crate::error::ConfigError;
use crate::key::KeyPath;
use crate::parse;

/// A command-line flag that sets a key, such as `--model`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFlag {
    pub name: &'static str,
    pub key: KeyPath,
    pub value: String,
}

/// Reads one argument to the tree that holds only its value.
pub fn of_argument(argument: &str) -> Result<ConfigEntry, ConfigError> {
    let refused = || ConfigError::Argument {
        argument: argument.to_owned(),
    };
    let split = equals_sign(argument).ok_or_else(refused)?;
    let key = KeyPath::parse(&argument[..split]).ok_or_else(refused)?;
    let text = argument[split + 1..].trim();
    let origin = ValueOrigin {
        layer: ValueLayer::Argument,
        place: ValuePlace::CommandLine(format!("-c {argument}").into()),
    };
    let value = toml_value(text, &origin).unwrap_or_else(|| ConfigValue::String(text.to_owned()));
    Ok(nest(&key, value, &origin))
}

/// Builds the tree for a flag that stands for a key.
pub fn of_flag(flag: &ConfigFlag) -> ConfigEntry {
    let origin = ValueOrigin {
        layer: ValueLayer::Flag,
        place: ValuePlace::CommandLine(Arc::from(flag.name)),
    };
    nest(&flag.key, ConfigValue::String(flag.value.clone()), &origin)
}

/// Finds the first `=` that is not inside a quoted part of the key.
fn equals_sign(argument: &str) -> Option<usize> {
    let mut quote = None;
    for (index, byte) in argument.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'=') => return Some(index),
            _ => {}
        }
    }
    None
}

fn nest(key: &KeyPath, value: ConfigValue, origin: &ValueOrigin) -> ConfigEntry {
    let leaf = ConfigEntry {
        value,
        origin: origin.clone(),
    };
    key.parts()
        .iter()
        .rev()
        .fold(leaf, |entry, part| ConfigEntry {
            value: ConfigValue::Table(Table::from([(part.clone(), entry)])),
            origin: origin.clone(),
        })
}

fn toml_value(text: &str, origin: &ValueOrigin) -> Option<ConfigValue> {
    let value = DeValue::parse(text).ok()?;
    parse::convert(value, &|_| origin.clone()).ok()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::of_argument;

    fn check(argument: &str, expected: Expect) {
        let shown = match of_argument(argument) {
            Ok(entry) => entry.value.to_string(),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn values_are_toml_else_text() {
        check("model=gpt-5", expect![[r#"{ model = "gpt-5" }"#]]);
        check(r#"model="gpt-5""#, expect![[r#"{ model = "gpt-5" }"#]]);
        check("a.b=true", expect!["{ a = { b = true } }"]);
        check("n=1_000", expect!["{ n = 1000 }"]);
        check("f=0.5", expect!["{ f = 0.5 }"]);
        check("when=2026-01-01", expect!["{ when = 2026-01-01 }"]);
        check(r#"x=["a", 2]"#, expect![[r#"{ x = ["a", 2] }"#]]);
        check(
            "x={a=1, b={c=2}}",
            expect!["{ x = { a = 1, b = { c = 2 } } }"],
        );
        check("x=", expect![[r#"{ x = "" }"#]]);
        check(
            "url=http://h/?a=b",
            expect![[r#"{ url = "http://h/?a=b" }"#]],
        );
        check(
            "x=99999999999999999999",
            expect![[r#"{ x = "99999999999999999999" }"#]],
        );
        check("x=[1,", expect![[r#"{ x = "[1," }"#]]);
        check(
            "x=1\ny=2",
            expect![[r#"
            { x = """
            1
            y=2""" }"#]],
        );
        check(
            r#"projects."/a=b".trust_level=trusted"#,
            expect![[r#"{ projects = { "/a=b" = { trust_level = "trusted" } } }"#]],
        );
    }

    #[test]
    fn a_key_is_needed() {
        check(
            "model",
            expect![[
                r#"-c model: expected key=value with a dotted key, such as -c model="gpt-5""#
            ]],
        );
        check(
            "=x",
            expect![[r#"-c =x: expected key=value with a dotted key, such as -c model="gpt-5""#]],
        );
        check(
            "a b=x",
            expect![[
                r#"-c a b=x: expected key=value with a dotted key, such as -c model="gpt-5""#
            ]],
        );
    }
}
