//! Three tool families, one tree: thin faces over a [`TreeAccess`].
//!
//! A tool is one file: arguments, what the model is told, and one verb of the desk. Its
//! description is made once per process, so that a child costs no schema. Arguments and
//! results are the ones that models know from elsewhere; what an agent looks like is said
//! in [`shape`] alone.
//!
//! Deliberately absent: decisions. Who may do what to whom is the tree's, what a child may
//! do is [`rights`](crate::rights)'.

mod address;
mod agents;
mod child;
#[cfg(test)]
mod example;
mod input;
mod sessions;
mod shape;
mod subagents;
mod tool_call;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troupe_tools::Tool;

use crate::tree_access::{RolePlace, TreeAccess};

/// A set of tools for working with other agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// `spawn_agent`, `wait`, ….
    Agents,
    /// `create_session`, `wait_session`, `cancel_session`.
    Sessions,
    /// `subagent_spawn`, `subagent_await`, ….
    Subagents,
}

impl Family {
    const ALL: [Self; 3] = [Self::Agents, Self::Sessions, Self::Subagents];

    fn tools(self, desk: &TreeAccess, place: &RolePlace) -> Vec<Arc<dyn Tool>> {
        match self {
            Self::Agents => agents::tools(desk, place),
            Self::Sessions => sessions::tools(desk, place),
            Self::Subagents => subagents::tools(desk, place),
        }
    }
}

/// Returns the tools of these families for one caller. Their order is always the same and
/// each comes once, however the families were listed: equal lists are equal prompts.
///
/// `agent_result` comes with every family, because callbacks name it.
pub fn tools(families: &[Family], desk: &TreeAccess, place: &RolePlace) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = Family::ALL
        .into_iter()
        .filter(|family| families.contains(family))
        .flat_map(|family| family.tools(desk, place))
        .collect();
    if !tools.is_empty() && !families.contains(&Family::Agents) {
        tools.push(agents::result_tool(desk));
    }
    tools
}

#[cfg(test)]
mod tests;
