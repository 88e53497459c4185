//! Entries → typed settings.
//!
//! A `serde` deserializer over [`ConfigEntry`] whose errors know the key and the place of the
//! value they are about: the innermost table or array that fails adds the origin, the
//! ones around it add their keys on the way out.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::entry::{ConfigEntry, ConfigValue, Table, ValueOrigin};
use crate::error::BadValue;
use crate::key::KeyPath;
use crate::nearest::nearest;

/// Reads a value at `key` (which is only used to name it in errors).
pub fn read<T: DeserializeOwned>(entry: &ConfigEntry, key: &KeyPath) -> Result<T, BadValue> {
    T::deserialize(EntryReader(entry)).map_err(|failure| BadValue {
        key: failure.key.under(key),
        origin: failure.origin.unwrap_or_else(|| entry.origin.clone()),
        problem: failure.problem,
    })
}

/// A [`BadValue`] in the making.
#[derive(Debug)]
struct EntryReadError {
    problem: String,
    key: KeyPath,
    origin: Option<ValueOrigin>,
}

impl EntryReadError {
    fn new(problem: String) -> Self {
        Self {
            problem,
            key: KeyPath::root(),
            origin: None,
        }
    }

    /// Adds a step on the way out.
    fn inside(mut self, name: &str, entry: &ConfigEntry) -> Self {
        self.key.prepend(name);
        self.origin.get_or_insert_with(|| entry.origin.clone());
        self
    }
}

impl fmt::Display for EntryReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for EntryReadError {}

impl serde::de::Error for EntryReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("expected {expected}, found {found}"))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("expected {expected}, found {found}"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let hint = hint(variant, expected);
        let expected = alternatives(expected);
        Self::new(format!("expected {expected}, found {variant:?}{hint}"))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let hint = hint(field, expected);
        Self::new(format!("there is no key {field:?} here{hint}"))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("the key {field:?} is missing"))
    }
}

fn hint(name: &str, expected: &[&str]) -> String {
    match nearest(name, expected.iter().copied()) {
        Some(name) => format!(" (did you mean {name:?}?)"),
        None => String::new(),
    }
}

fn alternatives(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        many => format!("one of {}", many.join(", ")),
    }
}

#[derive(Clone, Copy)]
struct EntryReader<'a>(&'a ConfigEntry);

impl<'de> Deserializer<'de> for EntryReader<'de> {
    type Error = EntryReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, EntryReadError> {
        match &self.0.value {
            ConfigValue::String(text) => visitor.visit_borrowed_str(text),
            ConfigValue::Integer(number) => visitor.visit_i64(*number),
            ConfigValue::Float(number) => visitor.visit_f64(*number),
            ConfigValue::Boolean(flag) => visitor.visit_bool(*flag),
            ConfigValue::Datetime(time) => visitor.visit_string(time.to_string()),
            ConfigValue::Array(items) => visitor.visit_seq(ArrayReader {
                items: items.iter().enumerate(),
            }),
            ConfigValue::Table(table) => visitor.visit_map(TableReader::new(table)),
        }
    }

    // TOML has no null: what is there is there.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, EntryReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, EntryReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, EntryReadError> {
        match &self.0.value {
            ConfigValue::String(name) => {
                visitor.visit_enum(StrDeserializer::<EntryReadError>::new(name))
            }
            ConfigValue::Table(table) if table.len() == 1 => match table.iter().next() {
                Some((name, content)) => visitor.visit_enum(VariantReader { name, content }),
                None => Err(EntryReadError::new(format!(
                    "expected {}",
                    alternatives(variants)
                ))),
            },
            other => Err(EntryReadError::new(format!(
                "expected {}, found {other}",
                alternatives(variants)
            ))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string
        bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct TableReader<'a> {
    pairs: std::collections::btree_map::Iter<'a, String, ConfigEntry>,
    pending: Option<(&'a str, &'a ConfigEntry)>,
}

impl<'a> TableReader<'a> {
    fn new(table: &'a Table) -> Self {
        Self {
            pairs: table.iter(),
            pending: None,
        }
    }
}

impl<'de> MapAccess<'de> for TableReader<'de> {
    type Error = EntryReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, EntryReadError> {
        let Some((name, entry)) = self.pairs.next() else {
            return Ok(None);
        };
        self.pending = Some((name, entry));
        seed.deserialize(StrDeserializer::new(name))
            .map(Some)
            .map_err(|failure: EntryReadError| failure.inside(name, entry))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, EntryReadError> {
        let (name, entry) = self
            .pending
            .take()
            .expect("a visitor asks for a value only after its key");
        seed.deserialize(EntryReader(entry))
            .map_err(|failure| failure.inside(name, entry))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.pairs.len())
    }
}

struct ArrayReader<'a> {
    items: std::iter::Enumerate<std::slice::Iter<'a, ConfigEntry>>,
}

impl<'de> SeqAccess<'de> for ArrayReader<'de> {
    type Error = EntryReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, EntryReadError> {
        let Some((index, entry)) = self.items.next() else {
            return Ok(None);
        };
        seed.deserialize(EntryReader(entry))
            .map(Some)
            .map_err(|failure| failure.inside(&index.to_string(), entry))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// An enum variant with content, written as a table of one key.
struct VariantReader<'a> {
    name: &'a str,
    content: &'a ConfigEntry,
}

impl<'de> EnumAccess<'de> for VariantReader<'de> {
    type Error = EntryReadError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self::Variant), EntryReadError> {
        let variant = seed.deserialize(StrDeserializer::<EntryReadError>::new(self.name))?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for VariantReader<'de> {
    type Error = EntryReadError;

    fn unit_variant(self) -> Result<(), EntryReadError> {
        Err(EntryReadError::new(format!(
            "{:?} takes no content",
            self.name
        )))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, EntryReadError> {
        seed.deserialize(EntryReader(self.content))
            .map_err(|failure| failure.inside(self.name, self.content))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, EntryReadError> {
        EntryReader(self.content)
            .deserialize_any(visitor)
            .map_err(|failure| failure.inside(self.name, self.content))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, EntryReadError> {
        self.tuple_variant(0, visitor)
    }
}
