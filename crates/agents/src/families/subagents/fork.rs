//! `subagent_fork`: a child that begins with the whole conversation.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use troupe_protocol::CallId;
use troupe_protocol::agent::AgentOrigin;
use troupe_protocol::input::{UserInput, is_blank};
use troupe_protocol::spawn::HistoryShare;
use troupe_protocol::text::one_line;
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{CallContext, Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};

use crate::families::tool_call;
use crate::tree_access::{ForkAnswer, ForkSide, SpawnContext, SpawnRequest, TreeAccess, TreeError};

use super::limits::SUMMARY_CHARS_MAX;
use super::{metadata, sandbox_mode};

const NAME: &str = "subagent_fork";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<SubagentForkArguments>(
        NAME,
        "Starts a child agent that begins with this whole conversation, and returns at once. Both \
         of you find this call in your history: `payload.role` in its answer is `parent` for you \
         and `child` for the child. Fork when the child needs what was said and found here; \
         otherwise `subagent_spawn` is cheaper. In all else it is a child like a spawned one.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubagentForkArguments {
    /// What the child is to do. If left out it waits, as `ready`, for a message of yours.
    prompt: Option<String>,
    /// Only if the task needs another model than yours; it cannot share your prompt cache.
    model: Option<String>,
    /// A short name for lists.
    label: Option<String>,
    /// `read-only`, `workspace-write` or `danger-full-access`; never more than you have.
    sandbox_mode: Option<String>,
}

#[derive(Debug)]
pub(super) struct SubagentFork {
    desk: TreeAccess,
}

impl SubagentFork {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn fork(
        &self,
        call: &ToolInvocation,
        arguments: SubagentForkArguments,
    ) -> Result<Map<String, Value>, TreeError> {
        let (request, answer) = request(&call.id, &call.context, arguments)?;
        let spawned = self.desk.spawn(request).await?;
        let (child, parent) = (spawned.view.session, call.context.session_id);
        let mut object = metadata::newborn(&spawned);
        let payload = answer.payload(ForkSide::Parent, child, parent);
        object.insert("payload".to_owned(), payload);
        Ok(object)
    }
}

#[async_trait]
impl Tool for SubagentFork {
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
            tool_call::answer(self.fork(call, arguments).await)
        })
        .await
    }
}

fn request(
    call: &CallId,
    context: &CallContext,
    arguments: SubagentForkArguments,
) -> Result<(SpawnRequest, ForkAnswer), TreeError> {
    let prompt = arguments.prompt.filter(|prompt| !is_blank(prompt));
    let label = metadata::label(arguments.label);
    let summary = prompt
        .as_deref()
        .map(|prompt| one_line(prompt, SUMMARY_CHARS_MAX));
    let answer = ForkAnswer {
        call: call.clone(),
        label: label.clone(),
        summary,
        prompt: prompt.clone(),
    };
    // Without a prompt the child waits to be told.
    let items = prompt.map(UserInput::text).into_iter().collect();
    let request = SpawnRequest {
        origin: AgentOrigin::Fork,
        model: arguments.model,
        label,
        sandbox: sandbox_mode::parse(arguments.sandbox_mode.as_deref())?,
        history: HistoryShare::All,
        fork_answer: Some(answer.clone()),
        ..SpawnRequest::new(NAME, items, SpawnContext::from(context))
    };
    Ok((request, answer))
}

#[cfg(test)]
mod tests;
