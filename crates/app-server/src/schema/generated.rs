//! The files in `schema/`, written from the types and compared with them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use ts_rs::{Config, TS, TypeVisitor};

use crate::wire::{
    Empty, account, approval, catalogue, command, config, files, git, initialize, mcp,
    notification, review, search, thread, tool, tree, turn,
};

#[path = "../../../protocol/src/tests/variant_docs.rs"]
mod variant_docs;

use variant_docs::with_variant_docs;

/// Does something with every type that clients send; those that they are made of come along.
/// What has a default may be absent there.
macro_rules! for_each_input {
    ($each:ident) => {
        $each!(
            initialize::InitializeParams,
            thread::ThreadStartParams,
            thread::ThreadResumeParams,
            thread::ThreadForkParams,
            thread::ThreadIdParams,
            thread::ThreadReadParams,
            thread::ThreadListParams,
            thread::ThreadLoadedListParams,
            thread::ThreadSetNameParams,
            thread::ThreadSetNoteParams,
            thread::ThreadRollbackParams,
            turn::TurnStartParams,
            turn::TurnSteerParams,
            turn::TurnInterruptParams,
            review::ReviewStartParams,
            approval::ApprovalResponse,
            approval::UserInputResponse,
            approval::ElicitationResponse,
            tool::DynamicToolCallResponse,
            catalogue::ModelListParams,
            catalogue::SkillsListParams,
            catalogue::McpServerStatusListParams,
            config::ConfigReadParams,
            config::ConfigValueWriteParams,
            config::ConfigBatchWriteParams,
            files::FsPathParams,
            files::FsWriteFileParams,
            files::FsCreateDirectoryParams,
            files::FsRemoveParams,
            files::FsCopyParams,
            files::FsWatchParams,
            files::FsUnwatchParams,
            search::FuzzyFileSearchParams,
            search::FuzzyFileSearchSessionStartParams,
            search::FuzzyFileSearchSessionUpdateParams,
            search::FuzzyFileSearchSessionStopParams,
            git::GitDiffToRemoteParams,
            mcp::McpResourceReadParams,
            mcp::McpServerToolCallParams,
            command::CommandExecParams,
            command::CommandExecWriteParams,
            command::CommandExecTerminateParams,
            command::CommandExecResizeParams,
            tree::TreeReadParams,
            tree::AgentSpawnParams,
            tree::AgentSendParams,
            tree::AgentWaitParams,
            tree::AgentResultParams,
            tree::AgentNoteSetParams,
            tree::AgentStopParams,
        )
    };
}

/// Does something with every type that the server sends. What it always writes is never absent.
macro_rules! for_each_output {
    ($each:ident) => {
        $each!(
            Empty,
            initialize::InitializeResponse,
            thread::ThreadOpenResponse,
            thread::ThreadResponse,
            thread::ThreadListResponse,
            thread::ThreadLoadedListResponse,
            thread::ThreadUnsubscribeResponse,
            turn::TurnStartResponse,
            turn::TurnSteerResponse,
            review::ReviewStartResponse,
            approval::CommandApprovalParams,
            approval::FileChangeApprovalParams,
            approval::UserInputParams,
            approval::ElicitationParams,
            tool::DynamicToolCallParams,
            notification::ServerNotification,
            catalogue::ModelListResponse,
            catalogue::ModelProviderCapabilitiesResponse,
            catalogue::CollaborationModeListResponse,
            catalogue::SkillsListResponse,
            catalogue::McpServerStatusListResponse,
            config::ConfigReadResponse,
            config::ConfigWriteResponse,
            account::AccountReadResponse,
            account::AuthStatusResponse,
            account::RateLimitsResponse,
            account::AccountUsageResponse,
            files::FsReadFileResponse,
            files::FsGetMetadataResponse,
            files::FsReadDirectoryResponse,
            files::FsWatchResponse,
            search::FuzzyFileSearchResponse,
            git::GitDiffToRemoteResponse,
            mcp::McpResourceReadResponse,
            mcp::McpServerToolCallResponse,
            command::CommandExecResponse,
            tree::TreeListResponse,
            tree::TreeReadResponse,
            tree::AgentSpawnResponse,
            tree::AgentSendResponse,
            tree::AgentWaitResponse,
            tree::AgentResultResponse,
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

#[test]
fn the_typescript_types_say_what_may_change() {
    let file = typescript();
    let (before, _) = file.split_once(r#"{ "type": "plan","#).unwrap();
    let (_, doc) = before.rsplit_once("/**").unwrap();
    assert!(doc.starts_with("\n   * EXPERIMENTAL: "), "{doc}");
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
    let mut inputs = SchemaSettings::draft2020_12().into_generator();
    let mut outputs = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    macro_rules! define_inputs {
        ($($type:ty,)*) => { $(define::<$type>(&mut inputs);)* };
    }
    macro_rules! define_outputs {
        ($($type:ty,)*) => { $(define::<$type>(&mut outputs);)* };
    }
    for_each_input!(define_inputs);
    for_each_output!(define_outputs);
    let mut defs: BTreeMap<String, Value> = outputs.take_definitions(true).into_iter().collect();
    // What goes both ways is described as clients may send it.
    for (name, input) in inputs.take_definitions(true) {
        if let Some(output) = defs.get(&name) {
            assert_eq!(
                fields(&input),
                fields(output),
                "two types are called {name}"
            );
        }
        defs.insert(name, input);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Troupe app-server",
        "description": "Generated from the Rust types; do not edit.",
        "$defs": defs,
    })
}

fn fields(schema: &Value) -> Vec<&String> {
    let properties = schema["properties"].as_object();
    properties
        .into_iter()
        .flat_map(|fields| fields.keys())
        .collect()
}

fn define<T: JsonSchema>(generator: &mut schemars::SchemaGenerator) {
    generator.subschema_for::<T>();
}

fn typescript() -> String {
    let schemas = json_schema();
    let mut types = TypeDeclarations {
        schemas: &schemas["$defs"],
        // On the wire these are plain JSON numbers.
        config: Config::new().with_large_int("number"),
        by_name: BTreeMap::new(),
    };
    macro_rules! visit {
        ($($type:ty,)*) => { $(types.visit::<$type>();)* };
    }
    for_each_input!(visit);
    for_each_output!(visit);
    let mut file = "// Generated from the Rust types; do not edit.\n".to_owned();
    for declaration in types.by_name.values() {
        file += "\n";
        file += declaration;
    }
    file
}

/// Collects the declarations of a type and of all that it is made of.
struct TypeDeclarations<'a> {
    schemas: &'a Value,
    config: Config,
    by_name: BTreeMap<String, String>,
}

impl TypeVisitor for TypeDeclarations<'_> {
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
