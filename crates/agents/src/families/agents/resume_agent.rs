//! `resume_agent`: a closed agent comes back.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Call, Concurrency, Tool, ToolOutput, arguments};

use crate::desk::{Desk, Trouble};
use crate::families::address::Address;
use crate::families::{face, shape};

use super::collab::{Begun, Deed};

const NAME: &str = "resume_agent";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<Arguments>(
        NAME,
        "Brings a closed agent back with everything it knew, so that it can be sent input again. \
         It starts nothing by itself; on an agent that was not closed it does nothing. Finished \
         and cancelled agents need no resuming: `send_input` gives them more work.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The agent: its id, number or path.
    id: Address,
}

#[derive(Debug)]
pub(super) struct ResumeAgent {
    desk: Desk,
}

impl ResumeAgent {
    pub(super) fn new(desk: Desk) -> Self {
        Self { desk }
    }

    async fn resume(
        &self,
        call: &Call,
        Arguments { id: Address(id) }: Arguments,
    ) -> Result<Map<String, Value>, Trouble> {
        let before = self.desk.view(&id).await?;
        let begun = Begun::tell(call, Deed::Resume, before.session, None).await;
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

    fn concurrency(&self) -> Concurrency {
        Concurrency::Shared
    }

    async fn call(&self, call: Call) -> ToolOutput {
        let call = &call;
        face::run(call, &SPEC, async |arguments| {
            face::answer(self.resume(call, arguments).await)
        })
        .await
    }
}
