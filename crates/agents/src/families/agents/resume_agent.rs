//! `resume_agent`: a closed agent comes back.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};

use crate::families::address::AddressArgument;
use crate::families::{shape, tool_call};
use crate::tree_access::{TreeAccess, TreeError};

use super::collab::{CollabAction, PendingCollab};

const NAME: &str = "resume_agent";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<ResumeAgentArguments>(
        NAME,
        "Brings a closed agent back with everything it knew, so that it can be sent input again. \
         It starts nothing by itself; on an agent that was not closed it does nothing. Finished \
         and cancelled agents need no resuming: `send_input` gives them more work.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ResumeAgentArguments {
    /// The agent: its id, number or path.
    id: AddressArgument,
}

#[derive(Debug)]
pub(super) struct ResumeAgent {
    desk: TreeAccess,
}

impl ResumeAgent {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn resume(
        &self,
        call: &ToolInvocation,
        ResumeAgentArguments {
            id: AddressArgument(id),
        }: ResumeAgentArguments,
    ) -> Result<Map<String, Value>, TreeError> {
        let before = self.desk.view(&id).await?;
        let begun = PendingCollab::tell(call, CollabAction::Resume, before.session, None).await;
        let resumed = self.desk.resume(&id).await;
        let after = resumed.as_ref().unwrap_or(&before).wire_status();
        begun.end(call, after).await;
        let view = resumed?;
        let mut object = shape::names(&view);
        object.insert("status".to_owned(), shape::status(&view.wire_status()));
        Ok(object)
    }
}

#[async_trait]
impl Tool for ResumeAgent {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let call = &call;
        tool_call::run(call, &SPEC, async |arguments| {
            tool_call::answer(self.resume(call, arguments).await)
        })
        .await
    }
}
