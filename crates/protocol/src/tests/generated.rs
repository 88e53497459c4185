//! The files in `schema/`, written from the types and compared with them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use ts_rs::{Config, TS, TypeVisitor};

use crate::link::{ClientRequest, ServerNotice};
use crate::rollout::RolloutRecord;
use crate::tests::links::{notices, requests};
use crate::tests::variant_docs::with_variant_docs;
use crate::tests::{events, items, ops, records};
use crate::tool::ToolSpec;
use crate::{Event, Submission};

/// One line of a rollout, as the store writes it.
#[derive(serde::Serialize, JsonSchema, TS)]
struct RolloutLine {
    /// RFC 3339 with milliseconds, UTC.
    timestamp: String,
    #[serde(flatten)]
    record: RolloutRecord,
}

#[test]
fn the_json_schema_is_fresh() {
    let schema = serde_json::to_string_pretty(&json_schema()).unwrap();
    assert_fresh("troupe-protocol.schema.json", &(schema + "\n"));
}

#[test]
fn the_typescript_types_are_fresh() {
    assert_fresh("troupe-protocol.ts", &typescript());
}

#[test]
fn the_typescript_types_say_what_may_change() {
    let file = typescript();
    for variant in [r#"{ "type": "plan_delta" }"#, r#"{ "type": "Plan" }"#] {
        let (before, _) = file.split_once(variant).unwrap();
        let (_, doc) = before.rsplit_once("/**").unwrap();
        assert!(doc.starts_with("\n   * EXPERIMENTAL: "), "{variant}: {doc}");
    }
}

/// Compares a checked-in file with what it should be, or rewrites it if `UPDATE_SCHEMA` is set.
fn assert_fresh(name: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("schema")
        .join(name);
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "schema/{name} is stale: run `cargo xtask codegen` and commit what it writes",
    );
}

#[test]
fn the_json_schema_describes_every_example() {
    check_described("Op", ops::LINES);
    check_described("EventMsg", events::LINES);
    check_described("TurnItem", items::LINES);
    check_described("RolloutLine", records::LINES);
    check_described("ClientRequest", requests::LINES);
    check_described("ServerNotice", notices::LINES);
}

fn check_described(name: &str, lines: &[&str]) {
    let mut schema = json_schema();
    schema["$ref"] = format!("#/$defs/{name}").into();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for line in lines {
        let mut value: Value = serde_json::from_str(line).unwrap();
        value["timestamp"] = "2026-01-02T03:04:05.678Z".into();
        assert!(validator.is_valid(&value), "{name} does not allow {line}");
        value["type"] = "no_such_thing".into();
        assert!(!validator.is_valid(&value), "{name} allows any type");
    }
}

/// Returns one document that defines every type which crosses a boundary.
pub fn json_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    define::<Submission>(&mut generator);
    define::<Event>(&mut generator);
    define::<RolloutLine>(&mut generator);
    define::<ToolSpec>(&mut generator);
    define::<ClientRequest>(&mut generator);
    define::<ServerNotice>(&mut generator);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Troupe protocol",
        "description": "Generated from the Rust types; do not edit.",
        "$defs": generator.take_definitions(true),
    })
}

fn define<T: JsonSchema>(generator: &mut schemars::SchemaGenerator) {
    generator.subschema_for::<T>();
}

fn typescript() -> String {
    let schemas = json_schema();
    let mut types = Declarations {
        schemas: &schemas["$defs"],
        // On the wire these are plain JSON numbers.
        config: Config::new().with_large_int("number"),
        by_name: BTreeMap::new(),
    };
    types.visit::<Submission>();
    types.visit::<Event>();
    types.visit::<RolloutLine>();
    types.visit::<ToolSpec>();
    types.visit::<ClientRequest>();
    types.visit::<ServerNotice>();
    let mut file = "// Generated from the Rust types; do not edit.\n".to_owned();
    for declaration in types.by_name.values() {
        file += "\n";
        file += declaration;
    }
    file
}

/// Collects the declarations of a type and of all that it is made of.
struct Declarations<'a> {
    schemas: &'a Value,
    config: Config,
    by_name: BTreeMap<String, String>,
}

impl TypeVisitor for Declarations<'_> {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        // Types without a file of their own are built in.
        if T::output_path().is_none() {
            return T::visit_generics(self);
        }
        let name = T::ident(&self.config);
        if self.by_name.contains_key(&name) {
            return;
        }
        let docs = T::docs().unwrap_or_default();
        let declaration = format!("{docs}export {}\n", T::decl(&self.config))
            // One variant per line, so that a change is a change of one line.
            .replace(" | {", "\n  | {")
            .replace(" \n", "\n");
        let declaration = with_variant_docs(&declaration, &self.schemas[&name]);
        self.by_name.insert(name, declaration);
        T::visit_dependencies(self);
    }
}
