//! `subagent_logs`: what an agent did last. Reading changes nothing.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};

use crate::families::tool_call;
use crate::tree_access::{AgentLogs, LoggedEvent, LogsQuery, TreeAccess, TreeError};

use super::limits::{LOGS_BYTES_MAX, LOGS_EVENTS_DEFAULT, LOGS_EVENTS_MAX, LOGS_TEXT_CHARS_MAX};
use crate::families::address::AddressArgument;

const NAME: &str = "subagent_logs";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<SubagentLogsArguments>(
        NAME,
        "Returns the newest events of an agent, oldest first, without touching it: messages, tool \
         calls, errors. Use it to look into a child that seems stuck or that failed; its outcome \
         comes by `subagent_await`. Page back with before_ms: earliest_ms of the last answer.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubagentLogsArguments {
    /// The agent: its number, or any address.
    agent_id: AddressArgument,
    /// How many events: 5 if left out, at most 200. The events of one moment come together,
    /// so there may be a few less, and more if the newest moment alone has more.
    limit: Option<usize>,
    /// How many bytes of events; the newest moment is always there. At most 65536.
    max_bytes: Option<usize>,
    /// Not older than this moment, in Unix milliseconds. Inclusive.
    since_ms: Option<i64>,
    /// Older than this moment, in Unix milliseconds.
    before_ms: Option<i64>,
}

#[derive(Debug)]
pub(super) struct ReadLogs {
    desk: TreeAccess,
}

impl ReadLogs {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn read(
        &self,
        arguments: SubagentLogsArguments,
    ) -> Result<Map<String, Value>, TreeError> {
        let query = query(&arguments);
        let logs = self.desk.logs(arguments.agent_id.as_str(), query).await?;
        Ok(described(logs))
    }
}

#[async_trait]
impl Tool for ReadLogs {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        tool_call::run(&call, &SPEC, async |arguments| {
            tool_call::answer(self.read(arguments).await)
        })
        .await
    }
}

fn query(arguments: &SubagentLogsArguments) -> LogsQuery {
    let limit = arguments.limit.unwrap_or(LOGS_EVENTS_DEFAULT);
    let bytes = arguments.max_bytes.unwrap_or(LOGS_BYTES_MAX);
    LogsQuery {
        limit: limit.clamp(1, LOGS_EVENTS_MAX),
        bytes_max: Some(bytes.min(LOGS_BYTES_MAX)),
        since_ms: arguments.since_ms,
        before_ms: arguments.before_ms,
    }
}

fn described(logs: AgentLogs) -> Map<String, Value> {
    let at = |event: Option<&LoggedEvent>| event.map(|event| event.timestamp_ms);
    let earliest_ms = at(logs.events.first());
    let latest_ms = at(logs.events.last());
    let returned = logs.events.len();
    let events: Vec<Value> = logs
        .events
        .into_iter()
        .map(|logged| {
            let mut event = logged.event;
            shorten(&mut event);
            json!({"timestamp_ms": logged.timestamp_ms, "event": event})
        })
        .collect();
    let mut object = Map::new();
    for (name, value) in [
        ("session_id", json!(logs.session)),
        ("returned", json!(returned)),
        ("total_available", json!(logs.total_available)),
        ("more_available", json!(logs.total_available > returned)),
        ("earliest_ms", json!(earliest_ms)),
        ("latest_ms", json!(latest_ms)),
        ("events", json!(events)),
    ] {
        object.insert(name.to_owned(), value);
    }
    object
}

/// Cuts long texts inside of an event, and says how much is gone.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(LOGS_TEXT_CHARS_MAX) {
                let left_out = text.len() - end;
                *text = format!("{}… ({left_out} more bytes)", &text[..end]);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests;
