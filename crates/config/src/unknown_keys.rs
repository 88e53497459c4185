//! Keys that nobody reads, found with the JSON Schema of all settings.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value as Json;

use crate::entry::{ConfigEntry, ConfigValue, ValueLayer, ValueOrigin};
use crate::key::KeyPath;
use crate::nearest::nearest;

/// A key that the program does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    pub key: KeyPath,
    pub origin: ValueOrigin,
    /// The known key next to it that was probably meant.
    pub nearest: Option<KeyPath>,
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key,
            origin,
            nearest,
        } = self;
        let hint = did_you_mean(nearest.as_ref());
        write!(f, "{origin}: unknown key {key}{hint}")
    }
}

/// Lists the keys of `root` that `schema` has no place for.
pub fn unknown_keys(root: &ConfigEntry, schema: &Json) -> Vec<UnknownKey> {
    let mut search = KeySearch {
        schema,
        found: Vec::new(),
    };
    search.walk(root, &KeyPath::root(), &[schema]);
    search.found
}

/// A key that somebody asked for and that no setting has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no key {key}{}", did_you_mean(.nearest.as_ref()))]
pub struct NoSuchKey {
    pub key: KeyPath,
    pub nearest: Option<KeyPath>,
}

/// Tells whether `schema` has a place for `key`, a table or a value.
pub fn check_key(schema: &Json, key: &KeyPath) -> Result<(), NoSuchKey> {
    let search = KeySearch {
        schema,
        found: Vec::new(),
    };
    let mut schemas = vec![schema];
    let mut parent = KeyPath::root();
    for part in key.parts() {
        let keys = search.keys(&schemas);
        schemas = match keys.below(part) {
            KeySchemas::Schemas(schemas) => schemas,
            KeySchemas::Anything => return Ok(()),
            KeySchemas::Nothing => {
                return Err(NoSuchKey {
                    nearest: keys.nearest(part).map(|name| parent.child(name)),
                    key: key.clone(),
                });
            }
        };
        parent = parent.child(part);
    }
    Ok(())
}

fn did_you_mean(nearest: Option<&KeyPath>) -> String {
    nearest.map_or_else(String::new, |key| format!(" (did you mean {key}?)"))
}

struct KeySearch<'a> {
    schema: &'a Json,
    found: Vec<UnknownKey>,
}

/// What a schema says about the keys of a table.
#[derive(Default)]
struct SchemaKeys<'a> {
    named: Vec<(&'a str, &'a Json)>,
    /// The schema of keys that are not named, such as the entries of a map.
    rest: Vec<&'a Json>,
    /// Anything may stand here.
    open: bool,
}

/// What a schema says about one key of a table.
enum KeySchemas<'a> {
    Schemas(Vec<&'a Json>),
    Anything,
    Nothing,
}

impl<'a> SchemaKeys<'a> {
    fn below(&self, name: &str) -> KeySchemas<'a> {
        let named: Vec<&Json> = self
            .named
            .iter()
            .filter(|(known, _)| *known == name)
            .map(|(_, schema)| *schema)
            .collect();
        if !named.is_empty() {
            KeySchemas::Schemas(named)
        } else if !self.rest.is_empty() {
            KeySchemas::Schemas(self.rest.clone())
        } else if self.open {
            KeySchemas::Anything
        } else {
            KeySchemas::Nothing
        }
    }

    fn nearest(&self, name: &str) -> Option<&'a str> {
        let candidates: BTreeSet<&str> = self.named.iter().map(|(known, _)| *known).collect();
        nearest(name, candidates)
    }
}

impl<'a> KeySearch<'a> {
    fn walk(&mut self, entry: &ConfigEntry, key: &KeyPath, schemas: &[&'a Json]) {
        match &entry.value {
            ConfigValue::Table(table) => {
                let keys = self.keys(schemas);
                for (name, child) in table {
                    self.visit(name, child, key, &keys);
                }
            }
            ConfigValue::Array(items) => {
                let schemas: Vec<&Json> = schemas
                    .iter()
                    .flat_map(|schema| self.resolve(schema))
                    .filter_map(|schema| schema.get("items"))
                    .collect();
                for (index, item) in items.iter().enumerate() {
                    if !schemas.is_empty() {
                        self.walk(item, &key.child(&index.to_string()), &schemas);
                    }
                }
            }
            _ => {}
        }
    }

    fn visit(&mut self, name: &str, child: &ConfigEntry, parent: &KeyPath, keys: &SchemaKeys<'a>) {
        // What a profile sets is reported once, where the profile stands.
        if child.origin.layer == ValueLayer::Profile {
            return;
        }
        let key = parent.child(name);
        match keys.below(name) {
            KeySchemas::Schemas(schemas) => self.walk(child, &key, &schemas),
            KeySchemas::Anything => {}
            KeySchemas::Nothing => self.found.push(UnknownKey {
                nearest: keys.nearest(name).map(|name| parent.child(name)),
                key,
                origin: child.origin.clone(),
            }),
        }
    }

    fn keys(&self, schemas: &[&'a Json]) -> SchemaKeys<'a> {
        let mut keys = SchemaKeys::default();
        for schema in schemas.iter().flat_map(|schema| self.resolve(schema)) {
            let properties = schema.get("properties").and_then(Json::as_object);
            if let Some(properties) = properties {
                keys.named.extend(
                    properties
                        .iter()
                        .map(|(name, schema)| (name.as_str(), schema)),
                );
            }
            match schema.get("additionalProperties") {
                Some(rest @ Json::Object(_)) => keys.rest.push(rest),
                Some(Json::Bool(true)) => keys.open = true,
                // Without properties the schema does not speak of keys at all.
                None if properties.is_none() => keys.open = true,
                _ => {}
            }
        }
        keys
    }

    /// Follows references, and opens alternatives and combinations. The depth is that of
    /// the schema's own nesting without entering properties, so recursion ends.
    fn resolve(&self, schema: &'a Json) -> Vec<&'a Json> {
        if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
            let target = reference
                .strip_prefix('#')
                .and_then(|pointer| self.schema.pointer(pointer));
            return target.map_or_else(Vec::new, |target| self.resolve(target));
        }
        let combined: Vec<&Json> = ["anyOf", "oneOf", "allOf"]
            .iter()
            .filter_map(|word| schema.get(word)?.as_array())
            .flatten()
            .filter(|part| part.get("type").and_then(Json::as_str) != Some("null"))
            .flat_map(|part| self.resolve(part))
            .collect();
        match schema.get("properties") {
            None if !combined.is_empty() => combined,
            _ => std::iter::once(schema).chain(combined).collect(),
        }
    }
}
