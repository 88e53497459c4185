//! `wait`: until one of several agents has ended.

use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_protocol::EventMsg;
use troupe_protocol::agent::CollabWaiting;
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};
use troupe_tree::effect::WaitEnd;

use crate::families::address::AddressArgument;
use crate::families::{shape, tool_call};
use crate::tree_access::{
    AgentView, FinishedTarget, TreeAccess, TreeError, WaitReport, WaitTargets,
};

use super::collab;
use super::limits::{WAIT_IDS_MAX, WAIT_MS_DEFAULT, WAIT_MS_MAX, WAIT_MS_MIN};

const NAME: &str = "wait";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<AgentWaitArguments>(
        NAME,
        "Waits until one of the given agents has ended, or the time is up. Returns the final \
         status of each that has ended by then, with its whole last message; that delivers the \
         result, no further message comes for it. `pending` tells what the others do: current \
         tool, seconds since the last progress, what they wait on. A time-out says nothing about \
         an agent that makes progress: let it work. Wait for several agents in one call and for \
         minutes rather than seconds. You need not wait at all to get results: without it they \
         arrive as messages, so wait only when you can do nothing else.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AgentWaitArguments {
    /// The agents: ids, numbers or paths. Whichever ends first ends the wait.
    ids: Vec<AddressArgument>,
    /// Default 300000, at least 10000, at most 1800000.
    timeout_ms: Option<i64>,
}

/// How long a wait lasts, and what the caller must know about that.
#[derive(Debug, PartialEq, Eq)]
struct WaitTimeout {
    time_ms: u64,
    note: Option<String>,
}

#[derive(Debug)]
pub(super) struct AgentWaitTool {
    desk: TreeAccess,
}

impl AgentWaitTool {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn wait(
        &self,
        call: &ToolInvocation,
        arguments: AgentWaitArguments,
    ) -> Result<ToolOutput, TreeError> {
        let patience = patience(arguments.timeout_ms);
        let ids = checked(arguments.ids)?;
        let mut event = CollabWaiting {
            call_id: call.id.clone(),
            sender_thread_id: call.context.session_id,
            receiver_thread_ids: self.sessions(&ids).await,
            statuses: std::collections::BTreeMap::new(),
        };
        collab::tell(call, EventMsg::CollabWaitingBegin(event.clone())).await;
        let time = Duration::from_millis(patience.time_ms);
        let waited = self
            .desk
            .wait(WaitTargets::Addresses(ids), time, &call.cancel)
            .await;
        if let Ok(waited) = &waited {
            let sessions = waited.finished.iter().filter_map(|finished| {
                let view = finished.view.as_ref()?;
                Some((view.session, finished.wire_status()))
            });
            event.statuses = sessions.collect();
        }
        collab::tell(call, EventMsg::CollabWaitingEnd(event)).await;
        let waited = waited?;
        let object = described(&waited, patience);
        let output = ToolOutput::success(Value::Object(object).to_string());
        Ok(match waited.claim {
            Some(claim) => output.with_claim(claim),
            None => output,
        })
    }

    /// The sessions behind the addresses that mean somebody; the wait itself tells of the rest.
    async fn sessions(&self, ids: &[String]) -> Vec<troupe_protocol::SessionId> {
        let mut sessions = Vec::with_capacity(ids.len());
        for id in ids {
            if let Ok((_, session)) = self.desk.resolve(id).await {
                sessions.push(session);
            }
        }
        sessions
    }
}

#[async_trait]
impl Tool for AgentWaitTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let call = &call;
        tool_call::run(call, &SPEC, async |arguments| {
            self.wait(call, arguments)
                .await
                .unwrap_or_else(|trouble| ToolOutput::failure(trouble.to_string()))
        })
        .await
    }
}

fn patience(timeout_ms: Option<i64>) -> WaitTimeout {
    let Some(asked) = timeout_ms else {
        let time_ms = WAIT_MS_DEFAULT;
        return WaitTimeout {
            time_ms,
            note: None,
        };
    };
    let time_ms = u64::try_from(asked)
        .unwrap_or(0)
        .clamp(WAIT_MS_MIN, WAIT_MS_MAX);
    let note = (i64::try_from(time_ms) != Ok(asked)).then(|| {
        format!(
            "timeout_ms {asked} was changed to {time_ms}; it must lie between {WAIT_MS_MIN} and \
             {WAIT_MS_MAX}"
        )
    });
    WaitTimeout { time_ms, note }
}

fn checked(ids: Vec<AddressArgument>) -> Result<Vec<String>, TreeError> {
    match ids.len() {
        0 => Err(TreeError::Invalid("ids must not be empty".to_owned())),
        1..=WAIT_IDS_MAX => Ok(ids.into_iter().map(|AddressArgument(id)| id).collect()),
        many => Err(TreeError::Invalid(format!(
            "{many} ids are too many; wait for at most {WAIT_IDS_MAX} agents in one call"
        ))),
    }
}

fn described(waited: &WaitReport, patience: WaitTimeout) -> Map<String, Value> {
    let status: Map<String, Value> = waited.finished.iter().map(final_status).collect();
    let pending: Vec<Map<String, Value>> = waited.unfinished.iter().map(pending).collect();
    let mut object = shape::present([
        ("status", Value::Object(status)),
        ("timed_out", json!(waited.end == WaitEnd::TimedOut)),
        ("note", json!(patience.note)),
    ]);
    if waited.end == WaitEnd::Stopped {
        object.insert("stopped".to_owned(), json!(true));
    }
    if !pending.is_empty() {
        object.insert("pending".to_owned(), json!(pending));
    }
    object
}

fn final_status(finished: &FinishedTarget) -> (String, Value) {
    let key = match &finished.view {
        Some(view) => view.session.to_string(),
        None => finished.asked.clone(),
    };
    (key, shape::status(&finished.wire_status()))
}

fn pending(view: &AgentView) -> Map<String, Value> {
    let mut object = shape::names(view);
    object.append(&mut shape::standing(view));
    object
}

#[cfg(test)]
mod tests;
