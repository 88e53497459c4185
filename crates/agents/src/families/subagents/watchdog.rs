//! `subagent_watchdog`: a timer that asks a child how it gets on.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_protocol::input::is_blank;
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};

use crate::families::{child, shape, tool_call};
use crate::tree_access::{TreeAccess, TreeError, WatchdogAction, WatchdogOutcome, WatchdogRequest};
use crate::watchdog::{INTERVAL_DEFAULT_S, MESSAGE_DEFAULT};

use crate::families::address::AddressArgument;

const NAME: &str = "subagent_watchdog";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<SubagentWatchdogArguments>(
        NAME,
        "Sends a message to a child again and again, to be told of its status and next step. Each \
         one costs the child a step and starts a child that is idle, so set it up for long work \
         only, and cancel it when that is done. There is one for each child; another call replaces \
         it. At most 16 run at a time.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubagentWatchdogArguments {
    /// The child: its number, or any address.
    agent_id: AddressArgument,
    /// Seconds between two messages: at least 30, 300 if left out.
    interval_s: Option<u64>,
    /// What is sent; asks for status and next step if left out.
    message: Option<String>,
    /// Ends the watchdog of this child instead.
    #[serde(default)]
    cancel: bool,
}

#[derive(Debug)]
pub(super) struct SubagentWatchdog {
    desk: TreeAccess,
}

impl SubagentWatchdog {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn set_up(
        &self,
        arguments: SubagentWatchdogArguments,
    ) -> Result<Map<String, Value>, TreeError> {
        let child =
            child::find_below_caller(&self.desk, arguments.agent_id.as_str(), "watch").await?;
        let address = child.session.to_string();
        let watched = self.desk.watchdog(&address, request(arguments)).await?;
        Ok(described(&watched))
    }
}

#[async_trait]
impl Tool for SubagentWatchdog {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        tool_call::run(&call, &SPEC, async |arguments| {
            tool_call::answer(self.set_up(arguments).await)
        })
        .await
    }
}

fn request(arguments: SubagentWatchdogArguments) -> WatchdogRequest {
    if arguments.cancel {
        return WatchdogRequest::Cancel;
    }
    let message = arguments.message.filter(|text| !is_blank(text));
    WatchdogRequest::Start {
        interval_s: arguments.interval_s.unwrap_or(INTERVAL_DEFAULT_S),
        message: message.unwrap_or_else(|| MESSAGE_DEFAULT.to_owned()),
    }
}

fn described(watched: &WatchdogOutcome) -> Map<String, Value> {
    let (action, runs) = match watched.action {
        WatchdogAction::Started => ("started", true),
        WatchdogAction::Replaced => ("replaced", true),
        WatchdogAction::Canceled => ("canceled", false),
        WatchdogAction::NotFound => ("not_found", false),
    };
    shape::present([
        ("agent_id", json!(watched.agent)),
        ("interval_s", json!(runs.then_some(watched.interval_s))),
        ("message", json!(runs.then_some(&watched.message))),
        ("action", json!(action)),
    ])
}

#[cfg(test)]
mod tests;
