//! `subagent_await`: the next news of one child, or of any.
//!
//! Without an agent each completion is returned once, in the order of the ends: what was told
//! before, by this call or by a message, is not news. A message of a child ends the wait too,
//! and is not delivered a second time. An agent that is named tells of its last task, so a child that
//! was given new work answers with the outcome of that, never with the older one.

use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_protocol::AgentId;
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};
use troupe_tree::TreeRefusal;
use troupe_tree::effect::WaitEnd;

use crate::families::address::AddressArgument;
use crate::families::{child, shape, tool_call};
use crate::tree_access::{
    AgentScope, AgentView, ReceivedMessage, TreeAccess, TreeError, WaitReport, WaitTargets,
};

use super::completion::{self, SubagentCompletion};
use super::limits::{AWAIT_DEFAULT_S, AWAIT_MAX_S, AWAIT_MIN_S};
use super::metadata;

const NAME: &str = "subagent_await";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<SubagentAwaitArguments>(
        NAME,
        "Waits until a child has ended and returns its outcome as `completion`; what else it has \
         not told yet, and outcomes of other children, are in `messages`. A child that writes to \
         you ends the wait too: its message is in `messages`, and it goes on. Waiting costs \
         nothing. Use timeouts of 5 to 30 \
         minutes and longer ones each time (300, 600, 1200), so that in between you can look after \
         the children; a timeout says nothing about a child that makes progress. You need not wait \
         at all: an outcome that nobody waited for arrives as a message.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubagentAwaitArguments {
    /// Wait for this one; any child if left out.
    agent_id: Option<AddressArgument>,
    /// 300 to 1800; more counts as 1800, which it also is if left out or 0.
    timeout_s: Option<i64>,
}

#[derive(Debug)]
pub(super) struct SubagentAwait {
    desk: TreeAccess,
}

impl SubagentAwait {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn wait(
        &self,
        call: &ToolInvocation,
        arguments: SubagentAwaitArguments,
    ) -> Result<ToolOutput, TreeError> {
        let AwaitTime { time, note } = await_time(arguments.timeout_s)?;
        let on = match &arguments.agent_id {
            None => WaitTargets::AnyChild,
            Some(address) => {
                let one =
                    child::find_below_caller(&self.desk, address.as_str(), "wait for").await?;
                WaitTargets::Addresses(vec![one.session.to_string()])
            }
        };
        let waited = match self.desk.listen(on, time, &call.cancel).await {
            Ok(waited) => waited,
            Err(TreeError::Refused(refusal @ TreeRefusal::NothingToWaitFor)) => {
                return Err(self.explain(refusal).await);
            }
            Err(trouble) => return Err(trouble),
        };
        let whose = match arguments.agent_id {
            None => AwaitTarget::AnyChild,
            Some(_) => AwaitTarget::One,
        };
        let mut object = described(&waited, whose, self.desk.caller().log_owner());
        if let Some(note) = note {
            object.insert("timeout_note".to_owned(), json!(note));
        }
        let output = ToolOutput::success(Value::Object(object).to_string());
        Ok(match waited.claim {
            Some(claim) => output.with_claim(claim),
            None => output,
        })
    }

    /// Names the children that have nothing new to tell, and how to hear them again.
    async fn explain(&self, refusal: TreeRefusal) -> TreeError {
        let include_closed = false;
        match self.desk.list(AgentScope::Children, include_closed).await {
            Ok(children) if !children.is_empty() => {
                TreeError::Invalid(format!("{refusal}; {}", ended(&children)))
            }
            Ok(_) | Err(_) => refusal.into(),
        }
    }
}

#[async_trait]
impl Tool for SubagentAwait {
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

/// Whether the call named the agent that it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AwaitTarget {
    One,
    AnyChild,
}

/// How long to wait, and what the model is told of a time that was changed.
#[derive(Debug)]
struct AwaitTime {
    time: Duration,
    note: Option<String>,
}

fn await_time(timeout_s: Option<i64>) -> Result<AwaitTime, TreeError> {
    let asked = match timeout_s {
        None | Some(0) => AWAIT_DEFAULT_S,
        Some(seconds @ AWAIT_MIN_S..) => seconds,
        Some(other) => {
            return Err(TreeError::Invalid(format!(
                "timeout_s must be at least {AWAIT_MIN_S} and at most {AWAIT_MAX_S} seconds, or 0 \
                 for the default of {AWAIT_DEFAULT_S}; got {other}"
            )));
        }
    };
    let seconds = asked.min(AWAIT_MAX_S);
    let cut = || format!("timeout_s {asked} was changed to {seconds}, the longest wait");
    Ok(AwaitTime {
        time: Duration::from_secs(seconds.unsigned_abs()),
        note: (seconds != asked).then(cut),
    })
}

fn ended(children: &[AgentView]) -> String {
    let names: Vec<String> = children
        .iter()
        .map(|child| format!("{} ({})", child.agent, child.status.row().subagents))
        .collect();
    format!(
        "your children are {}; give agent_id to hear the last outcome of one again",
        names.join(", ")
    )
}

fn described(waited: &WaitReport, whose: AwaitTarget, caller: AgentId) -> Map<String, Value> {
    let mut finished = waited.finished.iter();
    let first = finished.next();
    // The claim covers all of them, so all of them are told.
    let outcomes = finished.filter_map(|other| completion::message(other, caller));
    let mail = waited.mail.iter().map(|heard| letter(heard, caller));
    let messages: Vec<_> = mail.chain(outcomes).collect();
    let pending: Vec<&AgentView> = waited
        .unfinished
        .iter()
        .filter(|view| whose == AwaitTarget::One || view.parent == Some(caller))
        .collect();
    let completion = first.and_then(SubagentCompletion::of);
    let about = match whose {
        AwaitTarget::One => first
            .and_then(|first| first.view.as_ref())
            .or(pending.first().copied()),
        AwaitTarget::AnyChild => first
            .and_then(|first| first.view.as_ref())
            .or(waited.mail.first().map(|heard| &heard.from)),
    };
    let mut object = Map::new();
    for (name, value) in [
        ("session_id", json!(about.map(|view| view.session))),
        ("agent_id", json!(about.map(|view| view.agent))),
        (
            "completion_status",
            json!(completion.as_ref().map(SubagentCompletion::status)),
        ),
        (
            "lifecycle_status",
            json!(about.map(|view| view.status.row().subagents)),
        ),
        ("started_at_ms", json!(about.map(|view| view.born_at_ms))),
        ("timed_out", json!(waited.end == WaitEnd::TimedOut)),
        ("messages", json!(messages)),
        ("completion", json!(completion)),
        ("metadata", json!(about.map(metadata::standing))),
        ("injected", json!(false)),
    ] {
        object.insert(name.to_owned(), value);
    }
    if waited.end == WaitEnd::Stopped {
        object.insert("stopped".to_owned(), json!(true));
    }
    if waited.end == WaitEnd::Mail && waited.mail.is_empty() {
        let note = "a message of a child follows this answer; wait again when you have read it";
        object.insert("note".to_owned(), json!(note));
    }
    if whose == AwaitTarget::AnyChild && !pending.is_empty() {
        let pending: Vec<_> = pending.into_iter().map(metadata::standing).collect();
        object.extend(shape::present([("pending", json!(pending))]));
    }
    object
}

fn letter(heard: &ReceivedMessage, recipient: AgentId) -> Map<String, Value> {
    let ReceivedMessage { from, message } = heard;
    shape::present([
        ("sender_agent_id", json!(from.agent)),
        ("recipient_agent_id", json!(recipient)),
        ("session_id", json!(from.session)),
        ("interrupt", json!(false)),
        ("prompt", json!(message.plain_text())),
        ("timestamp_ms", json!(from.now_ms)),
    ])
}

#[cfg(test)]
mod tests;
