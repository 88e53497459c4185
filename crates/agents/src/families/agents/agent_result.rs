//! `agent_result`: the whole record of what a task came to.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_protocol::SubmissionId;
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};

use crate::families::address::AddressArgument;
use crate::families::{shape, tool_call};
use crate::tree_access::{TreeAccess, TreeError};

const NAME: &str = "agent_result";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<AgentResultArguments>(
        NAME,
        "Fetches the result of an agent's finished task, as often as you like, also after the \
         agent was closed or pruned. Besides the last message it has why the task stopped, the \
         structured output if a schema was asked for, and evidence that the engine recorded \
         itself: commands with exit codes, files changed, tool calls, tokens, times, children. \
         Check what an agent claims against it.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AgentResultArguments {
    /// The agent: its id, number or path.
    id: AddressArgument,
    /// One of its tasks; its last finished one if absent.
    task_id: Option<String>,
}

#[derive(Debug)]
pub(super) struct AgentResultTool {
    desk: TreeAccess,
}

impl AgentResultTool {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn fetch(
        &self,
        arguments: AgentResultArguments,
    ) -> Result<Map<String, Value>, TreeError> {
        let AddressArgument(id) = arguments.id;
        let view = self.desk.view(&id).await?;
        let task = arguments.task_id.map(SubmissionId);
        let mut object = shape::names(&view);
        object.insert("status".to_owned(), shape::status(&view.wire_status()));
        let record = match self.desk.result(&id, task).await {
            Ok(result) => serde_json::to_value(result)
                .map_err(|error| TreeError::Storage(error.to_string()))?,
            // The status has what is known of its end.
            Err(lost @ TreeError::ResultLost { .. }) => {
                object.insert("note".to_owned(), json!(lost.to_string()));
                Value::Null
            }
            Err(trouble) => return Err(trouble),
        };
        object.insert("result".to_owned(), record);
        Ok(object)
    }
}

#[async_trait]
impl Tool for AgentResultTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        tool_call::run(&call, &SPEC, async |arguments| {
            tool_call::answer(self.fetch(arguments).await)
        })
        .await
    }
}
