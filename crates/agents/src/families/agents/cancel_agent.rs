//! `cancel_agent`: the work of an agent and of everything below it.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use troupe_protocol::StopVerb;
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};
use troupe_tree::command::StopMode;

use crate::families::address::AddressArgument;
use crate::families::{shape, tool_call};
use crate::tree_access::{TreeAccess, TreeError, TreeStopRequest};

const NAME: &str = "cancel_agent";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<CancelAgentArguments>(
        NAME,
        "Stops what an agent and every agent below it are doing, and kills their processes. What \
         they have found so far is kept: `agent_result` returns it, and `send_input` gives the \
         agent other work. Cancel an agent whose task has become pointless or cannot succeed, not \
         one that is merely slow: look at its last progress first. `dry_run` only tells what \
         would be touched.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CancelAgentArguments {
    /// The agent: its id, number or path. From a child, only itself and agents below it.
    id: AddressArgument,
    /// Why, for the record.
    reason: Option<String>,
    /// Touches nothing, and tells what it would touch.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug)]
pub(super) struct CancelAgent {
    desk: TreeAccess,
}

impl CancelAgent {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn cancel(
        &self,
        arguments: CancelAgentArguments,
    ) -> Result<Map<String, Value>, TreeError> {
        let AddressArgument(id) = arguments.id;
        let before = self.desk.view(&id).await?;
        let mode = if arguments.dry_run {
            StopMode::DryRun
        } else {
            StopMode::Act
        };
        let request = TreeStopRequest {
            verb: StopVerb::Cancel,
            targets: vec![id],
            mode,
            note: arguments.reason,
        };
        let stopped = self.desk.stop(request).await?;
        let mut object = shape::names(&before);
        object.insert("status".to_owned(), shape::status(&before.wire_status()));
        object.append(&mut shape::stopped(&stopped));
        shape::mark_dry_run(&mut object, arguments.dry_run);
        Ok(object)
    }
}

#[async_trait]
impl Tool for CancelAgent {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        tool_call::run(&call, &SPEC, async |arguments| {
            tool_call::answer(self.cancel(arguments).await)
        })
        .await
    }
}
