//! Servers of the Model Context Protocol: real processes, good ones and bad ones.

mod children;
mod rights;
mod servers;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use troupe_mcp::{Hub, HubDeps, ServerConfig};
use troupe_process::{Launcher, LauncherOptions};
use troupe_protocol::EventMsg;
use troupe_protocol::command::WorkStatus;
use troupe_protocol::item::{McpToolCallItem, TurnItem};
use troupe_testkit::Stage;

/// A stage whose sessions have servers, and the files that these write to.
struct Works {
    stage: Stage,
    /// Gets a line for each start of a server.
    starts: PathBuf,
    cancelled: PathBuf,
}

/// Plays `screenplay` with one server, `ore`. `keys` are added to its configuration.
async fn works(screenplay: &str, keys: Value) -> Works {
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

/// Gives the sessions of a stage these servers.
fn with_servers(stage: Stage, servers: &Value) -> Stage {
    let configs: BTreeMap<String, ServerConfig> =
        serde_json::from_value(servers.clone()).expect("the configuration is well-formed");
    let hub = Hub::new(HubDeps {
        launcher: Launcher::new(LauncherOptions::default()),
        environment: std::env::vars()
            .chain([("A_SECRET".to_owned(), "s".to_owned())])
            .collect(),
        cwd: stage.cwd(),
    });
    stage.adjusting(move |setup| setup.tools.set_source(Arc::new(hub.servers(&configs))))
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

/// What a model does that hears `when`, turn by turn.
fn scene(when: &str, turns: &[&str]) -> String {
    let turn = |steps: &&str| format!("[[scene.turn]]\nsteps = [{steps}]\n");
    let turns: String = turns.iter().map(turn).collect();
    format!("[[scene]]\nwhen = '{when}'\n{turns}")
}

/// Calls a tool of the server, under its own name as id.
fn call(tool: &str, arguments: &Value) -> String {
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
fn offered(stage: &Stage, n: usize) -> Vec<String> {
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
