//! The keywords of one schema, read as what each of them must be.

use serde_json::{Map, Number, Value};

use super::problem::{SchemaDefect, SchemaError};
use super::{CountRange, place};

const COUNT: &str = "a whole number, 0 or more";
const STRINGS: &str = "a list of strings";
const OBJECT: &str = "an object of schemas";
const TYPES: &str = "the name of a type, or a list of them";
const SCHEMAS: &str = "a list of schemas that is not empty";

/// Keys, and the keys that each of them asks for.
pub(super) type KeyLists = Vec<(String, Vec<String>)>;

/// A schema that is an object, and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaSource<'p, 'v> {
    pub place: &'p str,
    pub keywords: &'v Map<String, Value>,
}

/// A part of the text that has to be a schema.
#[derive(Debug)]
pub(super) struct SchemaPart<'v> {
    pub place: String,
    pub value: &'v Value,
}

impl<'v> SchemaSource<'_, 'v> {
    pub(super) fn get(self, keyword: &'static str) -> Option<&'v Value> {
        self.keywords.get(keyword)
    }

    /// Returns the place of a keyword.
    pub(super) fn at(self, keyword: &str) -> String {
        place::below(self.place, keyword)
    }

    pub(super) fn expected(self, keyword: &'static str, expected: &'static str) -> SchemaError {
        SchemaDefect::Expected { keyword, expected }.at(self.place)
    }

    /// Reads a keyword if it is there.
    fn read<T>(
        self,
        keyword: &'static str,
        expected: &'static str,
        read: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Result<Option<T>, SchemaError> {
        let Some(value) = self.get(keyword) else {
            return Ok(None);
        };
        match read(value) {
            Some(read) => Ok(Some(read)),
            None => Err(self.expected(keyword, expected)),
        }
    }

    pub(super) fn number(self, keyword: &'static str) -> Result<Option<&'v Number>, SchemaError> {
        self.read(keyword, "a number", Value::as_number)
    }

    pub(super) fn text(self, keyword: &'static str) -> Result<Option<&'v str>, SchemaError> {
        self.read(keyword, "a string", Value::as_str)
    }

    pub(super) fn flag(self, keyword: &'static str) -> Result<Option<bool>, SchemaError> {
        self.read(keyword, "true or false", Value::as_bool)
    }

    pub(super) fn list(self, keyword: &'static str) -> Result<Option<&'v [Value]>, SchemaError> {
        self.read(keyword, "a list", |value| {
            Some(value.as_array()?.as_slice())
        })
    }

    pub(super) fn strings(self, keyword: &'static str) -> Result<Option<Vec<String>>, SchemaError> {
        self.read(keyword, STRINGS, strings_in)
    }

    /// Reads the names of types, of which there is at least one.
    pub(super) fn type_names(self) -> Result<Option<Vec<String>>, SchemaError> {
        self.read("type", TYPES, |value| match value {
            Value::String(name) => Some(vec![name.clone()]),
            list => strings_in(list).filter(|names| !names.is_empty()),
        })
    }

    /// Reads lists of keys by the key that asks for them.
    pub(super) fn string_lists(
        self,
        keyword: &'static str,
    ) -> Result<Option<KeyLists>, SchemaError> {
        self.read(keyword, "an object of lists of strings", |value| {
            let lists = value.as_object()?.iter();
            let lists = lists.map(|(key, list)| Some((key.clone(), strings_in(list)?)));
            lists.collect()
        })
    }

    /// Reads two bounds, if one of them is there.
    pub(super) fn range(
        self,
        min: &'static str,
        max: &'static str,
    ) -> Result<Option<CountRange>, SchemaError> {
        let low = self.read(min, COUNT, count)?;
        let high = self.read(max, COUNT, count)?;
        Ok((low.is_some() || high.is_some()).then_some(CountRange {
            min: low.unwrap_or(0),
            max: high,
        }))
    }

    pub(super) fn part(self, keyword: &'static str) -> Option<SchemaPart<'v>> {
        let value = self.get(keyword)?;
        Some(SchemaPart {
            place: self.at(keyword),
            value,
        })
    }

    /// Reads the schemas of a list.
    pub(super) fn parts(
        self,
        keyword: &'static str,
    ) -> Result<Option<Vec<SchemaPart<'v>>>, SchemaError> {
        let filled = |value: &'v Value| value.as_array().filter(|list| !list.is_empty());
        let list = self.read(keyword, SCHEMAS, filled)?;
        Ok(list.map(|list| {
            let place = self.at(keyword);
            let numbered = list.iter().enumerate();
            let parts = numbered.map(|(index, value)| SchemaPart {
                place: place::below(&place, &index.to_string()),
                value,
            });
            parts.collect()
        }))
    }

    /// Reads the schemas of an object, with their keys.
    pub(super) fn named_parts(
        self,
        keyword: &'static str,
    ) -> Result<Option<Vec<(&'v str, SchemaPart<'v>)>>, SchemaError> {
        let object = self.read(keyword, OBJECT, Value::as_object)?;
        Ok(object.map(|object| {
            let place = self.at(keyword);
            let parts = object.iter().map(|(key, value)| {
                let place = place::below(&place, key);
                (key.as_str(), SchemaPart { place, value })
            });
            parts.collect()
        }))
    }
}

fn strings_in(value: &Value) -> Option<Vec<String>> {
    let strings = value.as_array()?.iter();
    strings
        .map(|item| item.as_str().map(str::to_owned))
        .collect()
}

/// Reads a count; 2.0 is one, and what is larger than any count is the largest.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the float is whole and not negative; larger ones become the largest count"
)]
fn count(value: &Value) -> Option<u64> {
    if let Some(count) = value.as_u64() {
        return Some(count);
    }
    let float = value.as_f64()?;
    (float >= 0.0 && float.fract() == 0.0).then_some(float as u64)
}
