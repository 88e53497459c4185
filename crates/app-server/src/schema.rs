//! The types of the app-server for other languages, as they are generated from ours.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// All types in TypeScript.
pub const TYPESCRIPT: &str = include_str!("../schema/troupe-app-server.ts");

/// All types in one JSON Schema document.
pub const JSON_SCHEMA: &str = include_str!("../schema/troupe-app-server.schema.json");

/// Returns one JSON Schema per type, by its name, each with all that it refers to.
pub fn json_schemas() -> BTreeMap<String, Value> {
    let document: Value = serde_json::from_str(JSON_SCHEMA).unwrap_or_default();
    let Some(all) = document["$defs"].as_object() else {
        return BTreeMap::new();
    };
    all.iter()
        .map(|(name, schema)| (name.clone(), alone(&document["$schema"], schema, all)))
        .collect()
}

fn alone(dialect: &Value, schema: &Value, all: &Map<String, Value>) -> Value {
    let mut needed = BTreeSet::new();
    refer(schema, all, &mut needed);
    let mut schema = schema.clone();
    if let Value::Object(fields) = &mut schema {
        fields.insert("$schema".to_owned(), dialect.clone());
        let defs: Map<String, Value> = needed
            .into_iter()
            .filter_map(|name| Some((name.clone(), all.get(&name)?.clone())))
            .collect();
        if !defs.is_empty() {
            fields.insert("$defs".to_owned(), Value::Object(defs));
        }
    }
    schema
}

/// Collects the names of all types that a schema refers to, directly or not.
fn refer(schema: &Value, all: &Map<String, Value>, needed: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            let reference = fields.get("$ref").and_then(Value::as_str);
            if let Some(name) = reference.and_then(|it| it.strip_prefix("#/$defs/"))
                && needed.insert(name.to_owned())
                && let Some(schema) = all.get(name)
            {
                refer(schema, all, needed);
            }
            for value in fields.values() {
                refer(value, all, needed);
            }
        }
        Value::Array(values) => {
            for value in values {
                refer(value, all, needed);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod generated;
