//! `subagent_send_message`: words for another agent, or the end of what it is doing.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_protocol::input::{UserInput, is_blank};
use troupe_protocol::text::one_line;
use troupe_protocol::tool::ToolSpec;
use troupe_protocol::tree::AgentMessage;
use troupe_protocol::{AgentId, StopVerb};
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};
use troupe_tree::command::{SendUrgency, StopMode};
use troupe_tree::effect::DeliveryReceipt;

use crate::families::address::AddressArgument;
use crate::families::{shape, tool_call};
use crate::tree_access::{AgentView, SendOutcome, TreeAccess, TreeError, TreeStopRequest};

use super::limits::SUMMARY_CHARS_MAX;
use super::metadata;

const NAME: &str = "subagent_send_message";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<SubagentMessageArguments>(
        NAME,
        "Sends a message to a child, also to one that has ended: it goes on from where it was, \
         with all it knows. A child that works reads the message at its next step; with \
         `interrupt` it drops what it is doing and starts with the message. `interrupt` without a \
         prompt only stops its current task. Agent 0, the root, cannot be interrupted. `receipt` \
         tells whether the message was delivered, is queued, is held, or is dead because nobody \
         will read it.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubagentMessageArguments {
    /// The agent: its number, or any address (`parent` for the one who made you).
    agent_id: AddressArgument,
    /// The message. May be left out with `interrupt`.
    prompt: Option<String>,
    /// What the message is about, in a few words; stands before it.
    label: Option<String>,
    /// Aborts what the agent is doing first.
    #[serde(default)]
    interrupt: bool,
}

/// What a call asks for, once it makes sense.
#[derive(Debug, PartialEq, Eq)]
enum SendIntent {
    Send {
        text: String,
        /// Of the prompt alone: the label stands beside it.
        summary: String,
        urgency: SendUrgency,
    },
    InterruptOnly,
}

#[derive(Debug)]
pub(super) struct SendMessage {
    desk: TreeAccess,
}

impl SendMessage {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn send(&self, arguments: SubagentMessageArguments) -> Result<ToolOutput, TreeError> {
        let label = metadata::label(arguments.label);
        let wish = wish(arguments.prompt, label.as_deref(), arguments.interrupt)?;
        let to = arguments.agent_id.as_str();
        match wish {
            SendIntent::InterruptOnly => {
                self.interrupt(to).await.map(|object| answer(object, true))
            }
            SendIntent::Send {
                text,
                summary,
                urgency,
            } => {
                let message = AgentMessage {
                    items: vec![UserInput::text(text)],
                    metadata: None,
                    client_id: None,
                };
                let sent = self.desk.send(to, message, urgency).await?;
                let is_read = !matches!(sent.receipt, DeliveryReceipt::Dead { .. });
                Ok(answer(described(&sent, label, summary), is_read))
            }
        }
    }

    async fn interrupt(&self, to: &str) -> Result<Map<String, Value>, TreeError> {
        let before = self.desk.view(to).await?;
        let request = TreeStopRequest {
            verb: StopVerb::Interrupt,
            targets: vec![before.session.to_string()],
            mode: StopMode::Act,
            note: None,
        };
        let stopped = self.desk.stop(request).await?;
        let mut touched = stopped.touched.iter();
        let interrupted = touched.any(|planned| planned.view.agent == before.agent);
        let mut object = metadata::metadata(&before);
        object.insert("interrupted".to_owned(), json!(interrupted));
        Ok(object)
    }
}

#[async_trait]
impl Tool for SendMessage {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        tool_call::run(&call, &SPEC, async |arguments| {
            self.send(arguments)
                .await
                .unwrap_or_else(|trouble| ToolOutput::failure(trouble.to_string()))
        })
        .await
    }
}

fn wish(
    prompt: Option<String>,
    label: Option<&str>,
    interrupt: bool,
) -> Result<SendIntent, TreeError> {
    let prompt = prompt.filter(|prompt| !is_blank(prompt));
    match (prompt, interrupt) {
        (Some(prompt), _) => Ok(SendIntent::Send {
            summary: one_line(&prompt, SUMMARY_CHARS_MAX),
            text: match label {
                Some(label) => format!("[{label}] {prompt}"),
                None => prompt,
            },
            urgency: if interrupt {
                SendUrgency::Interrupt
            } else {
                SendUrgency::Regular
            },
        }),
        (None, true) => Ok(SendIntent::InterruptOnly),
        (None, false) => Err(TreeError::Invalid(
            "there is nothing to send; give a prompt, or interrupt: true to stop the agent's task"
                .to_owned(),
        )),
    }
}

/// A message that nobody will read is a failed call, with the receipt that says why.
fn answer(object: Map<String, Value>, is_read: bool) -> ToolOutput {
    let body = Value::Object(object).to_string();
    if is_read {
        ToolOutput::success(body)
    } else {
        ToolOutput::failure(body)
    }
}

fn described(sent: &SendOutcome, label: Option<String>, summary: String) -> Map<String, Value> {
    let mut object = recipient(&sent.view, label, summary);
    object.extend(shape::present([
        ("message_id", json!(sent.message)),
        ("receipt", shape::receipt(sent.receipt)),
    ]));
    object
}

/// The root is not one of the caller's agents: it is named, not described.
fn recipient(view: &AgentView, label: Option<String>, summary: String) -> Map<String, Value> {
    if view.agent != AgentId::ROOT {
        return metadata::metadata(view);
    }
    shape::present([
        ("session_id", json!(view.session)),
        ("agent_id", json!(view.agent)),
        ("label", json!(label)),
        ("summary", json!(summary)),
    ])
}

#[cfg(test)]
mod tests;
