//! `send_input`: a message to an agent that is there.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_protocol::tool::ToolSpec;
use troupe_protocol::tree::AgentMessage;
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};
use troupe_tree::command::SendUrgency;
use troupe_tree::effect::DeliveryReceipt;

use crate::families::address::AddressArgument;
use crate::families::input::{self, InputItem};
use crate::families::{shape, tool_call};
use crate::tree_access::{SendOutcome, TreeAccess, TreeError};

use super::collab::{CollabAction, PendingCollab};

const NAME: &str = "send_input";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<SendInputArguments>(
        NAME,
        "Sends a message to an agent. A running agent reads it before its next step and keeps \
         its progress; an idle one starts a new task with it and still knows what it did before. \
         Use it to answer, to correct, to give a finished agent more work. `interrupt: true` \
         throws the running task away and starts with this message instead: only for an agent \
         that does the wrong thing. The receipt says what became of the message: delivered, \
         queued at a position, held and why, or dead and why.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SendInputArguments {
    /// The agent: its id, number or path, `parent` or `root`.
    id: AddressArgument,
    /// The message, as plain text. Give exactly one of `message` and `items`.
    message: Option<String>,
    /// The message, in parts, if it has images, skills or mentions.
    items: Option<Vec<InputItem>>,
    /// Aborts what the agent is doing first.
    #[serde(default)]
    interrupt: bool,
}

#[derive(Debug)]
pub(super) struct SendInput {
    desk: TreeAccess,
}

impl SendInput {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn send(
        &self,
        call: &ToolInvocation,
        arguments: SendInputArguments,
    ) -> Result<SendOutcome, TreeError> {
        let items = input::either(arguments.message, arguments.items)?;
        let urgency = if arguments.interrupt {
            SendUrgency::Interrupt
        } else {
            SendUrgency::Regular
        };
        let AddressArgument(id) = arguments.id;
        let before = self.desk.view(&id).await?;
        let prompt = Some(input::as_text(&items));
        let begun = PendingCollab::tell(call, CollabAction::Message, before.session, prompt).await;
        let message = AgentMessage {
            items,
            metadata: None,
            client_id: None,
        };
        let sent = self.desk.send(&id, message, urgency).await;
        let after = sent.as_ref().map_or(&before, |sent| &sent.view);
        begun.end(call, after.wire_status()).await;
        sent
    }
}

#[async_trait]
impl Tool for SendInput {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let call = &call;
        tool_call::run(call, &SPEC, async |arguments| {
            match self.send(call, arguments).await {
                Ok(sent) => answered(&sent),
                Err(trouble) => ToolOutput::failure(trouble.to_string()),
            }
        })
        .await
    }
}

/// A message that nobody will read is a failed call, with the receipt that says why.
fn answered(sent: &SendOutcome) -> ToolOutput {
    let body = Value::Object(described(sent)).to_string();
    match sent.receipt {
        DeliveryReceipt::Delivered
        | DeliveryReceipt::Queued { .. }
        | DeliveryReceipt::Held { .. } => ToolOutput::success(body),
        DeliveryReceipt::Dead { .. } => ToolOutput::failure(body),
    }
}

fn described(sent: &SendOutcome) -> Map<String, Value> {
    shape::present([
        ("submission_id", json!(sent.message)),
        ("receipt", shape::receipt(sent.receipt)),
        ("agent_id", json!(sent.view.session)),
        ("status", shape::status(&sent.view.wire_status())),
    ])
}
