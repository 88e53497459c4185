//! `cancel_session`: the end of a child's work.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Call, Concurrency, Tool, ToolOutput, arguments};

use crate::desk::Desk;
use crate::families::child::{self, Cancelled};
use crate::families::face;

const NAME: &str = "cancel_session";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<Arguments>(
        NAME,
        "Cancels a child session and everything that it started. `cancelled` is true if it was \
         still running; false if it had ended already, and then its result is still there for \
         `wait_session`.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// As `create_session` returned it.
    session_id: String,
}

#[derive(Debug)]
pub(super) struct CancelSession {
    desk: Desk,
}

impl CancelSession {
    pub(super) fn new(desk: Desk) -> Self {
        Self { desk }
    }

    async fn cancel(&self, call: &Call, arguments: Arguments) -> Result<bool, String> {
        let child = super::find(&self.desk, &arguments.session_id, "cancel").await?;
        let id = child.session;
        let cancelled = child::cancel(&self.desk, child, None, &call.cancel).await;
        match cancelled {
            Ok(Cancelled::Now(_) | Cancelled::Soon(_)) => Ok(true),
            Ok(Cancelled::WasDone(_)) => Ok(false),
            Err(trouble) => Err(super::explain(id, &trouble)),
        }
    }
}

#[async_trait]
impl Tool for CancelSession {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> Concurrency {
        Concurrency::Shared
    }

    async fn call(&self, call: Call) -> ToolOutput {
        let call = &call;
        face::run(call, &SPEC, async |arguments| {
            match self.cancel(call, arguments).await {
                Ok(cancelled) => ToolOutput::success(json!({"cancelled": cancelled}).to_string()),
                Err(problem) => ToolOutput::failure(problem),
            }
        })
        .await
    }
}
