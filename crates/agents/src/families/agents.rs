//! The family `agents`: children that are spawned, written to, waited for and closed.

mod agent_result;
mod cancel_agent;
mod close_agent;
mod collab;
mod directory;
mod history;
mod limits;
mod list_active_agents;
mod list_agents;
mod resume_agent;
mod send_input;
mod set_thread_note;
mod spawn_agent;
mod wait;

use std::sync::Arc;

use troupe_tools::Tool;

use crate::tree_access::{RolePlace, TreeAccess};

use self::agent_result::AgentResultTool;
use self::cancel_agent::CancelAgent;
use self::close_agent::CloseAgent;
use self::list_active_agents::ListActiveAgents;
use self::list_agents::ListAgents;
use self::resume_agent::ResumeAgent;
use self::send_input::SendInput;
use self::set_thread_note::SetThreadNote;
use self::spawn_agent::SpawnAgent;
use self::wait::AgentWaitTool;

pub(super) fn tools(desk: &TreeAccess, place: &RolePlace) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(SpawnAgent::new(desk.clone())),
        Arc::new(SendInput::new(desk.clone())),
        Arc::new(AgentWaitTool::new(desk.clone())),
        Arc::new(AgentResultTool::new(desk.clone())),
        Arc::new(CancelAgent::new(desk.clone())),
        Arc::new(CloseAgent::new(desk.clone())),
        Arc::new(ResumeAgent::new(desk.clone())),
        Arc::new(ListAgents::new(Arc::clone(&place.roles))),
        Arc::new(ListActiveAgents::new(desk.clone())),
        Arc::new(SetThreadNote::new(desk.clone())),
    ]
}

/// The tool that fetches results, for families that have none of their own.
pub(super) fn result_tool(desk: &TreeAccess) -> Arc<dyn Tool> {
    Arc::new(AgentResultTool::new(desk.clone()))
}
