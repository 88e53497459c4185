//! `subagent_spawn`: a child with a prompt and no history.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use troupe_protocol::input::{UserInput, is_blank};
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{CallContext, Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};

use crate::families::tool_call;
use crate::tree_access::{SpawnContext, SpawnRequest, TreeAccess, TreeError};

use super::{metadata, sandbox_mode};

const NAME: &str = "subagent_spawn";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<SubagentSpawnArguments>(
        NAME,
        "Starts a child agent on a prompt of its own and returns at once with its agent_id. The \
         child sees your files but not this conversation: write down the goal, the files it may \
         change, how to check the work and what to report. Children work side by side; give them \
         disjoint files. When a child ends, `subagent_await` returns its last message, and if you \
         do not wait you are told in a message. With status `queued` it starts when a slot is \
         free. `effective` and `why` in the result say what it got of what you asked for.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubagentSpawnArguments {
    /// The task: the first message of the child.
    prompt: String,
    /// Only if the task needs another model than yours.
    model: Option<String>,
    /// A short name for lists.
    label: Option<String>,
    /// Another agent program that does it, by its name in the configuration.
    #[serde(alias = "agenticTool")]
    backend: Option<String>,
    /// `read-only`, `workspace-write` or `danger-full-access`; never more than you have.
    sandbox_mode: Option<String>,
}

#[derive(Debug)]
pub(super) struct SubagentSpawn {
    desk: TreeAccess,
}

impl SubagentSpawn {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn spawn(
        &self,
        call: &ToolInvocation,
        arguments: SubagentSpawnArguments,
    ) -> Result<Map<String, Value>, TreeError> {
        let request = request(&call.context, arguments)?;
        let spawned = self.desk.spawn(request).await?;
        Ok(metadata::newborn(&spawned))
    }
}

#[async_trait]
impl Tool for SubagentSpawn {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn makes_agents(&self) -> bool {
        true
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let call = &call;
        tool_call::run(call, &SPEC, async |arguments| {
            tool_call::answer(self.spawn(call, arguments).await)
        })
        .await
    }
}

fn request(
    context: &CallContext,
    arguments: SubagentSpawnArguments,
) -> Result<SpawnRequest, TreeError> {
    if is_blank(&arguments.prompt) {
        let problem = "prompt must not be empty; say what the child is to do";
        return Err(TreeError::Invalid(problem.to_owned()));
    }
    let items = vec![UserInput::text(arguments.prompt)];
    Ok(SpawnRequest {
        model: arguments.model,
        backend: arguments.backend,
        label: metadata::label(arguments.label),
        sandbox: sandbox_mode::parse(arguments.sandbox_mode.as_deref())?,
        ..SpawnRequest::new(NAME, items, SpawnContext::from(context))
    })
}
