//! The files in `schema/`, written from the types and compared with them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use ts_rs::{Config, TS, TypeVisitor};

use crate::app::wire::{
    Empty, account, approval, catalogue, config, files, initialize, notification, thread, tree,
    turn,
};

/// Does something with every type that crosses the wire by itself; those that they are made of
/// come along.
macro_rules! for_each_type {
    ($each:ident) => {
        $each!(
            Empty,
            initialize::InitializeParams,
            initialize::InitializeResponse,
            thread::ThreadStartParams,
            thread::ThreadResumeParams,
            thread::ThreadForkParams,
            thread::ThreadOpenResponse,
            thread::ThreadIdParams,
            thread::ThreadResponse,
            thread::ThreadReadParams,
            thread::ThreadListParams,
            thread::ThreadListResponse,
            thread::ThreadLoadedListParams,
            thread::ThreadLoadedListResponse,
            thread::ThreadSetNameParams,
            thread::ThreadSetNoteParams,
            thread::ThreadRollbackParams,
            thread::ThreadUnsubscribeResponse,
            turn::TurnStartParams,
            turn::TurnStartResponse,
            turn::TurnSteerParams,
            turn::TurnSteerResponse,
            turn::TurnInterruptParams,
            approval::CommandApprovalParams,
            approval::FileChangeApprovalParams,
            approval::ApprovalResponse,
            approval::UserInputParams,
            approval::UserInputResponse,
            approval::ElicitationParams,
            approval::ElicitationResponse,
            notification::ServerNotification,
            catalogue::ModelListParams,
            catalogue::ModelListResponse,
            catalogue::ModelProviderCapabilitiesResponse,
            catalogue::CollaborationModeListResponse,
            catalogue::SkillsListParams,
            catalogue::SkillsListResponse,
            catalogue::McpServerStatusListParams,
            catalogue::McpServerStatusListResponse,
            config::ConfigReadParams,
            config::ConfigReadResponse,
            account::AccountReadResponse,
            account::AuthStatusResponse,
            account::RateLimitsResponse,
            files::FsPathParams,
            files::FsReadFileResponse,
            files::FsWriteFileParams,
            files::FsCreateDirectoryParams,
            files::FsGetMetadataResponse,
            files::FsReadDirectoryResponse,
            files::FsRemoveParams,
            tree::TreeListResponse,
            tree::TreeReadParams,
            tree::TreeReadResponse,
            tree::AgentSpawnParams,
            tree::AgentSpawnResponse,
            tree::AgentSendParams,
            tree::AgentSendResponse,
            tree::AgentWaitParams,
            tree::AgentWaitResponse,
            tree::AgentResultParams,
            tree::AgentResultResponse,
            tree::AgentNoteSetParams,
            tree::AgentStopParams,
            tree::AgentStopResponse,
        )
    };
}

#[test]
fn the_json_schema_is_fresh() {
    let schema = serde_json::to_string_pretty(&json_schema()).unwrap();
    assert_fresh("troupe-app-server.schema.json", &(schema + "\n"));
}

#[test]
fn the_typescript_types_are_fresh() {
    assert_fresh("troupe-app-server.ts", &typescript());
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
fn each_type_has_a_schema_that_stands_alone() {
    let schemas = super::json_schemas();
    let params = &schemas["TurnStartParams"];
    assert!(params["properties"]["threadId"].is_object());
    let validator = jsonschema::validator_for(params).unwrap();
    let input = json!([{"type": "text", "text": "hi"}]);
    assert!(validator.is_valid(&json!({"threadId": "t", "input": input})));
    assert!(!validator.is_valid(&json!({"threadId": 5, "input": input})));
}

fn json_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    macro_rules! define {
        ($($type:ty,)*) => { $(define::<$type>(&mut generator);)* };
    }
    for_each_type!(define);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Troupe app-server",
        "description": "Generated from the Rust types; do not edit.",
        "$defs": generator.take_definitions(true),
    })
}

fn define<T: JsonSchema>(generator: &mut schemars::SchemaGenerator) {
    generator.subschema_for::<T>();
}

fn typescript() -> String {
    let mut types = Declarations {
        // On the wire these are plain JSON numbers.
        config: Config::new().with_large_int("number"),
        by_name: BTreeMap::new(),
    };
    macro_rules! visit {
        ($($type:ty,)*) => { $(types.visit::<$type>();)* };
    }
    for_each_type!(visit);
    let mut file = "// Generated from the Rust types; do not edit.\n".to_owned();
    for declaration in types.by_name.values() {
        file += "\n";
        file += declaration;
    }
    file
}

/// Collects the declarations of a type and of all that it is made of.
struct Declarations {
    config: Config,
    by_name: BTreeMap<String, String>,
}

impl TypeVisitor for Declarations {
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
        self.by_name.insert(name, declaration);
        T::visit_dependencies(self);
    }
}
