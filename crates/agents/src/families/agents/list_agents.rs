//! `list_agents`: the roles that a child can have.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};

use crate::families::{shape, tool_call};
use crate::roles::{AgentRole, Persona, RoleCatalogue, RoleLibrary};
use crate::tree_access::TreeError;

const NAME: &str = "list_agents";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<ListAgentsArguments>(
        NAME,
        "Lists the roles for `spawn_agent`: what each is for, which tools it has, its personas. \
         `allow_list` and `deny_list` are names of tools, with `*` and `?`; deny wins, and no \
         `allow_list` means every tool. Role files that cannot be used are under `errors`. To see \
         agents that were spawned, use `list_active_agents`.",
    )
});

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListAgentsArguments {
    /// Only this role.
    agent_type: Option<String>,
    /// Adds model, effort and prompt of each role and persona.
    #[serde(default)]
    expanded: bool,
}

/// How much is told of a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RoleDetail {
    Brief,
    Expanded,
}

#[derive(Debug)]
pub(super) struct ListAgents {
    roles: Arc<RoleLibrary>,
}

impl ListAgents {
    pub(super) fn new(roles: Arc<RoleLibrary>) -> Self {
        Self { roles }
    }

    /// Looks from where the turn works, as a spawn does.
    async fn list(
        &self,
        call: &ToolInvocation,
        arguments: ListAgentsArguments,
    ) -> Result<Map<String, Value>, TreeError> {
        let (roles, cwd) = (Arc::clone(&self.roles), call.context.cwd.clone());
        // Role files are read anew each time, and disks can be slow.
        tokio::task::spawn_blocking(move || listed(&roles, &cwd, &arguments))
            .await
            .unwrap_or(Err(TreeError::Ended))
    }
}

#[async_trait]
impl Tool for ListAgents {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let call = &call;
        tool_call::run(call, &SPEC, async |arguments| {
            tool_call::answer(self.list(call, arguments).await)
        })
        .await
    }
}

fn listed(
    roles: &RoleLibrary,
    cwd: &Path,
    arguments: &ListAgentsArguments,
) -> Result<Map<String, Value>, TreeError> {
    let detail = if arguments.expanded {
        RoleDetail::Expanded
    } else {
        RoleDetail::Brief
    };
    let catalogue = match &arguments.agent_type {
        None => roles.catalogue(cwd),
        Some(name) => RoleCatalogue {
            roles: vec![roles.resolve(cwd, name)?],
            broken: Vec::new(),
        },
    };
    Ok(described(&catalogue, detail))
}

fn described(catalogue: &RoleCatalogue, detail: RoleDetail) -> Map<String, Value> {
    let agents: Vec<Map<String, Value>> = catalogue
        .roles
        .iter()
        .map(|role| line(role, detail))
        .collect();
    let errors: Vec<Value> = catalogue
        .broken
        .iter()
        .map(|broken| {
            json!({
                "path": broken.path.display().to_string(),
                "error": broken.error.to_string(),
            })
        })
        .collect();
    let mut object = shape::present([("agents", json!(agents))]);
    if !errors.is_empty() {
        object.insert("errors".to_owned(), json!(errors));
    }
    object
}

fn line(role: &AgentRole, detail: RoleDetail) -> Map<String, Value> {
    let personas: Vec<Map<String, Value>> = role
        .personas
        .iter()
        .map(|persona| persona_line(persona, detail))
        .collect();
    let mut object = shape::present([
        ("agent_type", json!(role.name)),
        ("description", json!(role.description)),
        ("allow_list", json!(role.tools.allow)),
        ("deny_list", json!(role.tools.deny)),
        ("read_only", json!(role.read_only.then_some(true))),
        (
            "agent_names",
            json!((!personas.is_empty()).then_some(personas)),
        ),
    ]);
    if detail == RoleDetail::Expanded {
        object.extend(shape::present([
            ("model", json!(role.choice.model)),
            ("reasoning_effort", json!(role.choice.reasoning_effort)),
            ("default_prompt", json!(role.prompt)),
            ("output_schema", json!(role.output_schema)),
        ]));
    }
    object
}

fn persona_line(persona: &Persona, detail: RoleDetail) -> Map<String, Value> {
    let mut object = shape::present([
        ("name", json!(persona.name)),
        ("description", json!(persona.description)),
    ]);
    if detail == RoleDetail::Expanded {
        object.extend(shape::present([
            ("model", json!(persona.choice.model)),
            ("reasoning_effort", json!(persona.choice.reasoning_effort)),
            ("prompt", json!(persona.prompt)),
        ]));
    }
    object
}

#[cfg(test)]
mod tests;
