//! `subagent_cancel`: the end of a child's work, with a reason.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_protocol::text::one_line;
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};

use crate::families::child::{self, CancelOutcome};
use crate::families::tool_call;
use crate::tree_access::{TreeAccess, TreeError};

use super::limits::REASON_CHARS_MAX;
use super::metadata::metadata;
use crate::families::address::AddressArgument;

const NAME: &str = "subagent_cancel";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<SubagentCancelArguments>(
        NAME,
        "Stops what a child and every agent below it are doing, kills their processes, and \
         returns when that is done. What was found so far stays in its result, and \
         `subagent_send_message` gives the child other work. Cancel what has become pointless, \
         not what is merely slow. `canceled` is false if there was nothing to stop.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubagentCancelArguments {
    /// The child: its number, or any address.
    agent_id: AddressArgument,
    /// Why, for the record.
    reason: Option<String>,
}

#[derive(Debug)]
pub(super) struct SubagentCancel {
    desk: TreeAccess,
}

impl SubagentCancel {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn cancel(
        &self,
        call: &ToolInvocation,
        arguments: SubagentCancelArguments,
    ) -> Result<Map<String, Value>, TreeError> {
        let child =
            child::find_below_caller(&self.desk, arguments.agent_id.as_str(), "cancel").await?;
        let reason = reason(arguments.reason);
        let cancelled = child::cancel(&self.desk, child, reason, &call.cancel).await?;
        Ok(described(&cancelled))
    }
}

#[async_trait]
impl Tool for SubagentCancel {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let call = &call;
        tool_call::run(call, &SPEC, async |arguments| {
            tool_call::answer(self.cancel(call, arguments).await)
        })
        .await
    }
}

fn reason(text: Option<String>) -> Option<String> {
    text.map(|text| one_line(&text, REASON_CHARS_MAX))
        .filter(|reason| !reason.is_empty())
}

fn described(cancelled: &CancelOutcome) -> Map<String, Value> {
    let mut object = metadata(cancelled.view());
    let (canceled, note) = match cancelled {
        CancelOutcome::WasDone(_) => (false, None),
        CancelOutcome::Now(_) => (true, None),
        CancelOutcome::Soon(_) => (true, Some("its processes are still being stopped")),
    };
    object.insert("canceled".to_owned(), json!(canceled));
    if let Some(note) = note {
        object.insert("note".to_owned(), json!(note));
    }
    object
}
