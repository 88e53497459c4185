//! A child's rights: its parent's, narrowed by its role and by the request.
//!
//! Rights only shrink on the way down. The one thing that is added is what a person granted:
//! the working directory of a child that may write. Model and effort are nobody's right;
//! they follow the call, the persona, the role and the turn, in this order.
//!
//! Deliberately absent: enforcement. The kernel holds a child to its sandbox, the registry
//! to its tools.

mod ceiling;
mod model;
pub(crate) mod program;
mod report;
mod sandbox;

use std::sync::Arc;

use serde_json::Value;
use troupe_protocol::input::UserInput;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_protocol::spawn::{
    ApprovalRoute, CallbackConfig, CallbackWish, ChildInstructions, HistoryShare, SpawnSpec,
    ToolLists,
};
use troupe_protocol::text::one_line;

use crate::callback::PROMPT_CHARS_MAX;
use crate::roles::{AgentRole, Persona, RoleApprovals, ToolPattern, ToolPolicy};
use crate::tree_access::{SpawnCatalogue, SpawnRequest, TreeError};

pub(crate) use ceiling::RightsCeilings;

/// What the one who asks can hand down.
#[derive(Debug, Clone)]
pub(crate) struct ParentRights {
    /// How it was made itself; none for the root.
    pub spec: Option<Arc<SpawnSpec>>,
    /// The lists of every role from the root down to it.
    pub tools: Vec<ToolLists>,
    pub callback: CallbackConfig,
}

/// A child as it will be, next to what was asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SettledSpawn {
    pub spec: SpawnSpec,
    pub requested: Value,
    pub effective: Value,
    /// One sentence for each difference.
    pub why: Vec<String>,
}

/// Decides what a child gets of what there is.
pub(crate) fn settle(
    parent: &ParentRights,
    role: &AgentRole,
    persona: Option<&Persona>,
    request: &SpawnRequest,
    offers: &dyn SpawnCatalogue,
) -> Result<SettledSpawn, TreeError> {
    let mut why = Vec::new();
    let sandbox_policy = sandbox::settle(role, request, &mut why)?;
    let models = offers.models();
    let chosen = model::settle(role, persona, request, models.as_deref(), &mut why)?;
    let (approvals, approval_policy) = approvals(role, request, &mut why);
    let cwd = request.working_directory.as_ref();
    let spec = SpawnSpec {
        tool: request.tool.to_owned(),
        call_id: request.turn.call.clone(),
        agent_type: role.name.as_str().to_owned(),
        agent_name: persona.map(|persona| persona.name.as_str().to_owned()),
        label: request.label.clone(),
        summary: summary(&request.items),
        instructions: instructions(role, persona, request),
        cwd: cwd.unwrap_or(&request.turn.cwd).clone(),
        model: chosen.model,
        model_provider: backend(role, request)?
            .or_else(|| parent.spec.as_ref()?.model_provider.clone()),
        reasoning_effort: chosen.reasoning_effort,
        approval_policy,
        approvals,
        sandbox_policy,
        sandbox_held: sandbox::held(parent, role, request),
        tools: tools(parent, role, &mut why),
        history: request.history,
        // Names the child, which has no name yet.
        forking_call: None,
        output_schema: request
            .output_schema
            .as_ref()
            .or(role.output_schema.as_ref())
            .cloned(),
        callback: callback(parent, request),
        callback_wish: Some(CallbackWish {
            mode: request.callback.mode,
            inherits: request.callback.config.is_none(),
        }),
    };
    let enforced = enforced(&spec, offers, &mut why)?;
    Ok(SettledSpawn {
        requested: report::requested(request),
        effective: report::effective(&spec, &enforced),
        spec,
        why,
    })
}

/// Returns the sandbox that the kernel will hold the child to. That of a program is the
/// child's own, as far as the user's configuration does not say otherwise.
fn enforced(
    spec: &SpawnSpec,
    offers: &dyn SpawnCatalogue,
    why: &mut Vec<String>,
) -> Result<SandboxPolicy, TreeError> {
    let own = &spec.sandbox_policy;
    let provider = spec.model_provider.as_deref();
    let program = provider.and_then(|name| Some((name, offers.backend_sandbox(name, own)?)));
    let Some((name, policy)) = program else {
        return Ok(own.clone());
    };
    program::check(name, &spec.tools, own)?;
    program::explain(name, own, &policy, why);
    Ok(policy)
}

/// Returns the program that is to be the child. It knows nothing of the conversation.
fn backend(role: &AgentRole, request: &SpawnRequest) -> Result<Option<String>, TreeError> {
    let backend = request.backend.as_ref().or(role.backend.as_ref());
    if let Some(name) = backend
        && request.history != HistoryShare::None
    {
        return Err(TreeError::Invalid(format!(
            "backend {name} cannot begin with your conversation; leave history out and write what \
             it must know into the message"
        )));
    }
    Ok(backend.cloned())
}

/// `never` asks nothing; otherwise the child asks whenever its parent would have.
fn approvals(
    role: &AgentRole,
    request: &SpawnRequest,
    why: &mut Vec<String>,
) -> (ApprovalRoute, ApprovalPolicy) {
    let inherited = request.turn.approval_policy;
    let of_role = role.approvals.map(|approvals| match approvals {
        RoleApprovals::Never => ApprovalRoute::Never,
        RoleApprovals::Route => ApprovalRoute::Route,
        RoleApprovals::Parent => ApprovalRoute::Parent,
    });
    // A role that lets nobody be asked is a lock: the call chooses among the rest.
    let route = match of_role {
        Some(ApprovalRoute::Never) => ApprovalRoute::Never,
        of_role => request
            .approvals
            .or(of_role)
            .unwrap_or(ApprovalRoute::Route),
    };
    let policy = match route {
        ApprovalRoute::Never => ApprovalPolicy::Never,
        ApprovalRoute::Route | ApprovalRoute::Parent => inherited,
    };
    let asks_otherwise = request
        .approvals
        .is_some_and(|asked| asked != ApprovalRoute::Never);
    let differs = match request.approvals {
        None => policy != inherited,
        Some(_) => asks_otherwise,
    };
    if of_role == Some(ApprovalRoute::Never) && differs {
        why.push(format!(
            "nobody is asked for approval: the role {} says so",
            role.name
        ));
    } else if asks_otherwise && policy == ApprovalPolicy::Never {
        why.push("nobody is asked for approval: the policy of this turn is never".to_owned());
    }
    (route, policy)
}

fn tools(parent: &ParentRights, role: &AgentRole, why: &mut Vec<String>) -> Vec<ToolLists> {
    let mut tools = parent.tools.clone();
    if role.tools != ToolPolicy::default() || role.mcp_servers.is_some() {
        let texts =
            |patterns: &[ToolPattern]| patterns.iter().map(ToolPattern::to_string).collect();
        tools.push(ToolLists {
            allow: role.tools.allow.as_deref().map(texts),
            deny: texts(&role.tools.deny),
            mcp_servers: role.mcp_servers.clone(),
        });
        why.push(format!("tools are limited by the role {}", role.name));
    }
    tools
}

/// A whole conversation goes on under the instructions that it began with, so that both
/// begin with the same bytes; a role has its own.
fn instructions(
    role: &AgentRole,
    persona: Option<&Persona>,
    request: &SpawnRequest,
) -> ChildInstructions {
    let names_role = request.agent_type.is_some() || persona.is_some();
    match request.history {
        HistoryShare::All if !names_role => ChildInstructions::Inherited,
        HistoryShare::None | HistoryShare::All | HistoryShare::LastTurns(_) => {
            ChildInstructions::Role(Arc::clone(role.prompt(persona)))
        }
    }
}

fn callback(parent: &ParentRights, request: &SpawnRequest) -> CallbackConfig {
    // Whether this caller is called is its own wish, kept in the link between the two; those
    // that the child makes inherit what holds for the session.
    let config = request.callback.config.as_ref();
    config.unwrap_or(&parent.callback).clone()
}

fn summary(items: &[UserInput]) -> String {
    let texts = items.iter().filter_map(|item| match item {
        UserInput::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    one_line(&texts.collect::<Vec<_>>().join(" "), PROMPT_CHARS_MAX)
}

#[cfg(test)]
mod tests;
