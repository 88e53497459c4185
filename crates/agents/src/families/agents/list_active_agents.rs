//! `list_active_agents`: who is there, and how they get on.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_protocol::AgentId;
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};

use crate::families::{shape, tool_call};
use crate::tree_access::{self, AgentView, TreeAccess, TreeError};

const NAME: &str = "list_active_agents";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<ListActiveAgentsArguments>(
        NAME,
        "Lists the agents that were spawned, by number: status and for how long, current tool, \
         seconds since the last progress, what they wait on, unread messages, model, tokens. \
         Finished ones are listed too, since they take new input. Agents report by themselves \
         when they end; look here when you wonder who does what, not to wait.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListActiveAgentsArguments {
    /// Whose agents; `children` if absent.
    #[serde(default)]
    scope: ScopeArgument,
    /// Adds `parent_thread_id` and `depth`.
    #[serde(default)]
    include_tree: bool,
    /// Lists closed agents as well.
    #[serde(default)]
    include_closed: bool,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ScopeArgument {
    /// The agents that you spawned.
    #[default]
    Children,
    /// And those that they spawned.
    Descendants,
    /// All agents of the tree.
    All,
}

impl From<ScopeArgument> for tree_access::AgentScope {
    fn from(scope: ScopeArgument) -> Self {
        match scope {
            ScopeArgument::Children => Self::Children,
            ScopeArgument::Descendants => Self::Descendants,
            ScopeArgument::All => Self::All,
        }
    }
}

/// Whether a line tells where the agent stands in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TreePlace {
    Told,
    Left,
}

#[derive(Debug)]
pub(super) struct ListActiveAgents {
    desk: TreeAccess,
}

impl ListActiveAgents {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn list(
        &self,
        arguments: ListActiveAgentsArguments,
    ) -> Result<Map<String, Value>, TreeError> {
        let views = self
            .desk
            .list(arguments.scope.into(), arguments.include_closed)
            .await?;
        let place = if arguments.include_tree {
            TreePlace::Told
        } else {
            TreePlace::Left
        };
        Ok(described(&views, place))
    }
}

#[async_trait]
impl Tool for ListActiveAgents {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        tool_call::run(&call, &SPEC, async |arguments| {
            tool_call::answer(self.list(arguments).await)
        })
        .await
    }
}

fn described(views: &[AgentView], place: TreePlace) -> Map<String, Value> {
    let agents: Vec<Map<String, Value>> = views
        .iter()
        // The root was not spawned; the user's own conversation is nobody's agent.
        .filter(|view| view.agent != AgentId::ROOT)
        .map(|view| line(view, place))
        .collect();
    shape::present([("agents", json!(agents))])
}

fn line(view: &AgentView, place: TreePlace) -> Map<String, Value> {
    let spec = view.spec.as_deref();
    let label = spec.and_then(|spec| spec.label.as_deref());
    let path_name = view.path.rsplit('/').next();
    let name = view.name.as_deref().or(label).or(path_name);
    let effort = spec.and_then(|spec| spec.reasoning_effort);
    let mut object = shape::present([
        ("thread_id", json!(view.session)),
        ("agent_number", json!(view.agent)),
        ("path", json!(view.path)),
        ("thread_name", json!(name)),
        ("thread_note", json!(view.note)),
        ("agent_type", json!(spec.map(|spec| &spec.agent_type))),
        (
            "agent_name",
            json!(spec.and_then(|spec| spec.agent_name.as_ref())),
        ),
        ("model", json!(spec.map(|spec| &spec.model))),
        ("reasoning_effort", json!(effort)),
    ]);
    object.append(&mut shape::standing(view));
    object.extend(shape::present([
        ("updated_at", json!(shape::timestamp(view.updated_at_ms()))),
        (
            "tokens",
            json!({
                "own": view.usage.total_tokens,
                "subtree": view.subtree_usage.total_tokens,
            }),
        ),
    ]));
    if place == TreePlace::Told {
        object.insert("parent_thread_id".to_owned(), json!(view.parent_session));
        object.insert("depth".to_owned(), json!(view.depth));
    }
    object
}

#[cfg(test)]
mod tests;
