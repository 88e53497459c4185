//! `cancel_session`: the end of a child's work.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};

use crate::families::child::{self, CancelOutcome};
use crate::families::tool_call;
use crate::tree_access::TreeAccess;

const NAME: &str = "cancel_session";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<CancelSessionArguments>(
        NAME,
        "Cancels a child session and everything that it started. `cancelled` is true if it was \
         still running; false if it had ended already, and then its result is still there for \
         `wait_session`.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CancelSessionArguments {
    /// As `create_session` returned it.
    session_id: String,
}

#[derive(Debug)]
pub(super) struct CancelSession {
    desk: TreeAccess,
}

impl CancelSession {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn cancel(
        &self,
        call: &ToolInvocation,
        arguments: CancelSessionArguments,
    ) -> Result<bool, String> {
        let child = super::find(&self.desk, &arguments.session_id, "cancel").await?;
        let id = child.session;
        let cancelled = child::cancel(&self.desk, child, None, &call.cancel).await;
        match cancelled {
            Ok(CancelOutcome::Now(_) | CancelOutcome::Soon(_)) => Ok(true),
            Ok(CancelOutcome::WasDone(_)) => Ok(false),
            Err(trouble) => Err(super::explain(id, &trouble)),
        }
    }
}

#[async_trait]
impl Tool for CancelSession {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let call = &call;
        tool_call::run(call, &SPEC, async |arguments| {
            match self.cancel(call, arguments).await {
                Ok(cancelled) => ToolOutput::success(json!({"cancelled": cancelled}).to_string()),
                Err(problem) => ToolOutput::failure(problem),
            }
        })
        .await
    }
}
