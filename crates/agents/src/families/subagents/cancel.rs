//! `subagent_cancel`: the end of a child's work, with a reason.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Call, Concurrency, Tool, ToolOutput, arguments};

use crate::desk::{Desk, Trouble};
use crate::families::child::{self, Cancelled};
use crate::families::face;
use crate::rights::one_line;

use super::limits::REASON_CHARS_MAX;
use super::metadata::metadata;
use crate::families::address::Address;

const NAME: &str = "subagent_cancel";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<Arguments>(
        NAME,
        "Stops what a child and every agent below it are doing, kills their processes, and \
         returns when that is done. What was found so far stays in its result, and \
         `subagent_send_message` gives the child other work. Cancel what has become pointless, \
         not what is merely slow. `canceled` is false if there was nothing to stop.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The child: its number, or any address.
    agent_id: Address,
    /// Why, for the record.
    reason: Option<String>,
}

#[derive(Debug)]
pub(super) struct Cancel {
    desk: Desk,
}

impl Cancel {
    pub(super) fn new(desk: Desk) -> Self {
        Self { desk }
    }

    async fn cancel(
        &self,
        call: &Call,
        arguments: Arguments,
    ) -> Result<Map<String, Value>, Trouble> {
        let child = child::own(&self.desk, arguments.agent_id.as_str(), "cancel").await?;
        let reason = reason(arguments.reason);
        let cancelled = child::cancel(&self.desk, child, reason, &call.cancel).await?;
        Ok(described(&cancelled))
    }
}

#[async_trait]
impl Tool for Cancel {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> Concurrency {
        Concurrency::Shared
    }

    async fn call(&self, call: Call) -> ToolOutput {
        let call = &call;
        face::run(call, &SPEC, async |arguments| {
            face::answer(self.cancel(call, arguments).await)
        })
        .await
    }
}

fn reason(text: Option<String>) -> Option<String> {
    text.map(|text| one_line(&text, REASON_CHARS_MAX))
        .filter(|reason| !reason.is_empty())
}

fn described(cancelled: &Cancelled) -> Map<String, Value> {
    let mut object = metadata(cancelled.view());
    let (canceled, note) = match cancelled {
        Cancelled::WasDone(_) => (false, None),
        Cancelled::Now(_) => (true, None),
        Cancelled::Soon(_) => (true, Some("its processes are still being stopped")),
    };
    object.insert("canceled".to_owned(), json!(canceled));
    if let Some(note) = note {
        object.insert("note".to_owned(), json!(note));
    }
    object
}
