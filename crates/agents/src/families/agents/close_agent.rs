//! `close_agent`: an agent and everything below it, for good.

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
use crate::tree_access::{StopOutcome, TreeAccess, TreeError, TreeStopRequest};

use super::collab::{CollabAction, PendingCollab};

const NAME: &str = "close_agent";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<CloseAgentArguments>(
        NAME,
        "Closes an agent that is no longer needed, and every agent below it: what runs is \
         stopped, its processes are killed, partial results are kept. Returns the status that it \
         had and all that was touched. Finished agents hold no slot, so there is no hurry; close \
         none whose result you still want to discuss. `dry_run` only tells what would be \
         touched. `cancel_agent` stops the work but leaves the agents open.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CloseAgentArguments {
    /// The agent: its id, number or path. From a child, only itself and agents below it.
    id: AddressArgument,
    /// Touches nothing, and tells what it would touch.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug)]
pub(super) struct CloseAgent {
    desk: TreeAccess,
}

impl CloseAgent {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn close(
        &self,
        call: &ToolInvocation,
        arguments: CloseAgentArguments,
    ) -> Result<Map<String, Value>, TreeError> {
        let AddressArgument(id) = arguments.id;
        let before = self.desk.view(&id).await?;
        let stopped = if arguments.dry_run {
            self.stop(&id, StopMode::DryRun).await?
        } else {
            let begun = PendingCollab::tell(call, CollabAction::Close, before.session, None).await;
            let stopped = self.stop(&id, StopMode::Act).await;
            begun.end(call, before.wire_status()).await;
            stopped?
        };
        let mut object = shape::names(&before);
        object.insert("status".to_owned(), shape::status(&before.wire_status()));
        object.append(&mut shape::stopped(&stopped));
        shape::mark_dry_run(&mut object, arguments.dry_run);
        Ok(object)
    }

    async fn stop(&self, id: &str, mode: StopMode) -> Result<StopOutcome, TreeError> {
        let request = TreeStopRequest {
            verb: StopVerb::Close,
            targets: vec![id.to_owned()],
            mode,
            note: None,
        };
        self.desk.stop(request).await
    }
}

#[async_trait]
impl Tool for CloseAgent {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let call = &call;
        tool_call::run(call, &SPEC, async |arguments| {
            tool_call::answer(self.close(call, arguments).await)
        })
        .await
    }
}
