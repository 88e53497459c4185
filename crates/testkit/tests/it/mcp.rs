//! Servers of the Model Context Protocol: real processes, good ones and bad ones.

mod children;
mod refresh;
mod rights;
mod servers;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use troupe_mcp::{McpServerPool, McpServerPoolDeps, ServerConfig, ServerList};
use troupe_process::{Launcher, LauncherOptions};
use troupe_protocol::EventMsg;
use troupe_protocol::command::WorkStatus;
use troupe_protocol::item::{McpToolCallItem, TurnItem};
use troupe_testkit::Stage;

pub(crate) use crate::it::agents::play::scene;

/// A stage whose sessions have servers, and the files that these write to.
pub(crate) struct Works {
    pub(crate) stage: Stage,
    /// Gets a line for each start of a server.
    starts: PathBuf,
    cancelled: PathBuf,
}

/// Plays `screenplay` with one server, `ore`. `keys` are added to its configuration.
pub(crate) async fn works(screenplay: &str, keys: Value) -> Works {
    let stage = Stage::new(screenplay).await;
    let (starts, cancelled) = (stage.cwd().join("starts"), stage.cwd().join("cancelled"));
    let mut config = json!({
        "command": env!("CARGO_BIN_EXE_mcp-server"),
        "env": {"STARTS": starts, "CANCELLED": cancelled},
    });
    merge(&mut config, keys);
    let stage = with_servers(stage, &json!({ "ore": config }));
    Works {
        stage,
        starts,
        cancelled,
    }
}

/// A configuration that a scenario can change.
#[derive(Debug, Default)]
pub(crate) struct Configured(Mutex<Value>);

impl Configured {
    pub(crate) fn set(&self, servers: Value) {
        *self.0.lock().unwrap() = servers;
    }
}

impl ServerList for Configured {
    fn read(&self) -> Result<BTreeMap<String, ServerConfig>, String> {
        let servers = self.0.lock().unwrap().clone();
        serde_json::from_value(servers).map_err(|error| error.to_string())
    }
}

/// Gives the sessions of a stage these servers.
fn with_servers(stage: Stage, servers: &Value) -> Stage {
    let configured = Configured::default();
    configured.set(servers.clone());
    with_list(stage, Arc::new(configured))
}

/// Gives the sessions of a stage the servers of a list, which they share.
pub(crate) fn with_list(stage: Stage, list: Arc<Configured>) -> Stage {
    let configs = list.read().expect("the configuration is well-formed");
    let hub = Arc::new(McpServerPool::new(McpServerPoolDeps {
        launcher: Launcher::new(LauncherOptions::default()),
        environment: std::env::vars()
            .chain([("A_SECRET".to_owned(), "s".to_owned())])
            .collect(),
        cwd: stage.cwd(),
        logins: None,
    }));
    let roster = hub.roster(&configs, list);
    stage.adjusting(move |setup| setup.tools.set_source(Arc::new(roster.servers())))
}

fn merge(config: &mut Value, keys: Value) {
    if let (Some(config), Value::Object(keys)) = (config.as_object_mut(), keys) {
        config.extend(keys);
    }
}

impl Works {
    fn lines(path: &PathBuf) -> Vec<String> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().map(ToOwned::to_owned).collect()
    }

    fn starts(&self) -> usize {
        Self::lines(&self.starts).len()
    }
}

/// Calls a tool of the server, under its own name as id.
pub(crate) fn call(tool: &str, arguments: &Value) -> String {
    named(&format!("mcp__ore__{tool}"), tool, arguments)
}

fn named(tool: &str, id: &str, arguments: &Value) -> String {
    format!("{{ call = '{tool}', call_id = '{id}', arguments = '''{arguments}''' }}")
}

/// A model that calls one tool and then is done.
fn one_call(tool: &str) -> String {
    scene(
        "",
        &[&call(tool, &json!({"text": "gold"})), "{ say = 'done' }"],
    )
}

/// Returns the names of the tools that the model was offered in the n-th request.
pub(crate) fn offered(stage: &Stage, n: usize) -> Vec<String> {
    let body: Value = serde_json::from_slice(&stage.requests()[n].body).expect("JSON");
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| tool["name"].as_str().unwrap_or_default().to_owned();
    let names = tools.iter().map(name);
    names.filter(|name| name.contains("mcp")).collect()
}

/// Returns what the model was answered in the last request, by call.
fn told(stage: &Stage) -> BTreeMap<String, String> {
    let last = stage.requests().len() - 1;
    let outputs = stage.input_of(last).into_iter();
    let outputs = outputs.filter(|item| item["type"] == "function_call_output");
    let answer = |item: Value| {
        let id = item["call_id"].as_str().unwrap_or_default().to_owned();
        let output = match &item["output"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        (id, output)
    };
    outputs.map(answer).collect()
}

/// Returns the calls of servers that were completed.
fn calls(msgs: &[EventMsg]) -> Vec<McpToolCallItem> {
    let item = |msg: &EventMsg| match msg {
        EventMsg::ItemCompleted {
            item: TurnItem::McpToolCall(item),
            ..
        } => Some(item.clone()),
        _ => None,
    };
    msgs.iter().filter_map(item).collect()
}

/// Returns how the only call ended.
fn status(msgs: &[EventMsg]) -> WorkStatus {
    match calls(msgs).as_slice() {
        [only] => only.status,
        others => panic!("one call was expected: {others:?}"),
    }
}

fn warnings(msgs: &[EventMsg]) -> Vec<String> {
    let warning = |msg: &EventMsg| match msg {
        EventMsg::Warning { message } => Some(message.clone()),
        _ => None,
    };
    msgs.iter().filter_map(warning).collect()
}
