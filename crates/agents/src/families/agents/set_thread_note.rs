//! `set_thread_note`: a line that lists show for an agent.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};

use crate::families::address::AddressArgument;
use crate::families::tool_call;
use crate::tree_access::{NoteSet, TreeAccess};

const NAME: &str = "set_thread_note";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<SetThreadNoteArguments>(
        NAME,
        "Sets the note of an agent, a line that lists and the user's screen show beside it. An \
         empty note clears it. The agent itself is not told.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SetThreadNoteArguments {
    /// The agent: its id, number or path.
    id: AddressArgument,
    /// One line; empty to clear the note.
    note: String,
}

#[derive(Debug)]
pub(super) struct SetThreadNote {
    desk: TreeAccess,
}

impl SetThreadNote {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }
}

#[async_trait]
impl Tool for SetThreadNote {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        tool_call::run(&call, &SPEC, async |SetThreadNoteArguments { id, note }| {
            tool_call::answer(self.desk.set_note(&id.0, &note).await.map(described))
        })
        .await
    }
}

/// A cleared note is told as null.
fn described(set: NoteSet) -> Map<String, Value> {
    let fields = [
        ("submission_id", json!(set.submission_id)),
        ("thread_note", json!(set.thread_note)),
    ];
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}
