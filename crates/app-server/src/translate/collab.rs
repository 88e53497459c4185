//! Work with other agents, as items of the thread that does it.

use std::collections::BTreeMap;

use troupe_protocol::agent::{
    AgentStatus as Status, CollabInteraction, CollabSpawnBegin, CollabSpawnEnd, CollabWaiting,
};
use troupe_protocol::{CallId, EventMsg, SessionId};

use crate::wire::item::{AgentState, AgentStatus, CollabTool, ThreadItem, ToolStatus};
use crate::wire::policy::ReasoningEffort;

/// The begin or the end of a call that works with another agent.
pub(crate) enum CollaborationItem {
    Begun(CallId, ThreadItem),
    Ended(CallId, ThreadItem),
}

/// Tells whether calls of this tool are told as collaboration, if they begin at all.
pub(crate) fn collaborates(tool: &str) -> bool {
    matches!(
        tool,
        "spawn_agent" | "send_input" | "wait" | "close_agent" | "resume_agent"
    )
}

impl CollaborationItem {
    pub(crate) fn of(msg: &EventMsg) -> Option<Self> {
        use CollabTool::{CloseAgent, ResumeAgent, SendInput};
        let begun = |id: &CallId, item| Self::Begun(id.clone(), item);
        let ended = |id: &CallId, item| Self::Ended(id.clone(), item);
        Some(match msg {
            EventMsg::CollabAgentSpawnBegin(it) => begun(&it.call_id, spawning(it)),
            EventMsg::CollabAgentSpawnEnd(it) => ended(&it.call_id, spawn_item(it)),
            EventMsg::CollabAgentInteractionBegin(it) => {
                begun(&it.call_id, interaction_item(SendInput, it))
            }
            EventMsg::CollabAgentInteractionEnd(it) => {
                ended(&it.call_id, interaction_item(SendInput, it))
            }
            EventMsg::CollabCloseBegin(it) => begun(&it.call_id, interaction_item(CloseAgent, it)),
            EventMsg::CollabCloseEnd(it) => ended(&it.call_id, interaction_item(CloseAgent, it)),
            EventMsg::CollabResumeBegin(it) => {
                begun(&it.call_id, interaction_item(ResumeAgent, it))
            }
            EventMsg::CollabResumeEnd(it) => ended(&it.call_id, interaction_item(ResumeAgent, it)),
            EventMsg::CollabWaitingBegin(it) => {
                begun(&it.call_id, waiting(it, ToolStatus::InProgress))
            }
            EventMsg::CollabWaitingEnd(it) => {
                ended(&it.call_id, waiting(it, ToolStatus::Completed))
            }
            _ => return None,
        })
    }
}

fn spawning(it: &CollabSpawnBegin) -> ThreadItem {
    ThreadItem::CollabAgentToolCall {
        id: it.call_id.0.clone(),
        tool: CollabTool::SpawnAgent,
        status: ToolStatus::InProgress,
        sender_thread_id: it.sender_thread_id.to_string(),
        receiver_thread_ids: Vec::new(),
        prompt: Some(it.prompt.clone()),
        model: Some(it.model.clone()),
        reasoning_effort: it.reasoning_effort.map(ReasoningEffort),
        agents_states: BTreeMap::new(),
    }
}

fn spawn_item(it: &CollabSpawnEnd) -> ThreadItem {
    let child = it.new_thread_id;
    ThreadItem::CollabAgentToolCall {
        id: it.call_id.0.clone(),
        tool: CollabTool::SpawnAgent,
        status: match child {
            Some(_) => ToolStatus::Completed,
            None => ToolStatus::Failed,
        },
        sender_thread_id: it.sender_thread_id.to_string(),
        receiver_thread_ids: child.iter().map(ToString::to_string).collect(),
        prompt: Some(it.prompt.clone()),
        model: None,
        reasoning_effort: None,
        agents_states: states(child.map(|child| (child, &it.status))),
    }
}

fn interaction_item(tool: CollabTool, it: &CollabInteraction) -> ThreadItem {
    let receiver = it.receiver_thread_id;
    ThreadItem::CollabAgentToolCall {
        id: it.call_id.0.clone(),
        tool,
        status: match &it.status {
            None => ToolStatus::InProgress,
            Some(Status::Lost(_) | Status::NotFound | Status::Errored(_)) => ToolStatus::Failed,
            Some(_) => ToolStatus::Completed,
        },
        sender_thread_id: it.sender_thread_id.to_string(),
        receiver_thread_ids: vec![receiver.to_string()],
        prompt: it.prompt.clone(),
        model: None,
        reasoning_effort: None,
        agents_states: states(it.status.as_ref().map(|status| (receiver, status))),
    }
}

fn waiting(it: &CollabWaiting, status: ToolStatus) -> ThreadItem {
    let receivers = it.receiver_thread_ids.iter();
    ThreadItem::CollabAgentToolCall {
        id: it.call_id.0.clone(),
        tool: CollabTool::Wait,
        status,
        sender_thread_id: it.sender_thread_id.to_string(),
        receiver_thread_ids: receivers.map(ToString::to_string).collect(),
        prompt: None,
        model: None,
        reasoning_effort: None,
        agents_states: states(it.statuses.iter().map(|(id, status)| (*id, status))),
    }
}

fn states<'a>(
    agents: impl IntoIterator<Item = (SessionId, &'a Status)>,
) -> BTreeMap<String, AgentState> {
    let agents = agents.into_iter();
    agents
        .map(|(id, status)| (id.to_string(), state(status)))
        .collect()
}

/// Clients know fewer states than there are; what is lost goes into the message.
fn state(status: &Status) -> AgentState {
    let (status, message) = match status {
        Status::PendingInit => (AgentStatus::PendingInit, None),
        Status::Queued { position } => {
            let message = format!("queued at position {position}");
            (AgentStatus::PendingInit, Some(message))
        }
        Status::Ready => (AgentStatus::PendingInit, Some("ready".to_owned())),
        Status::Running => (AgentStatus::Running, None),
        Status::Completed(message) => (AgentStatus::Completed, message.clone()),
        Status::Errored(message) => (AgentStatus::Errored, Some(message.clone())),
        Status::Interrupted => (AgentStatus::Interrupted, None),
        Status::Cancelled => (AgentStatus::Interrupted, Some("cancelled".to_owned())),
        Status::BudgetExceeded => {
            let message = "out of its budget".to_owned();
            (AgentStatus::Errored, Some(message))
        }
        Status::Shutdown => (AgentStatus::Shutdown, None),
        Status::Lost(last) => (
            AgentStatus::NotFound,
            Some(last_status_text(last.as_deref())),
        ),
        Status::NotFound => (AgentStatus::NotFound, None),
    };
    AgentState { status, message }
}

fn last_status_text(last: Option<&Status>) -> String {
    let gone = "lost: its log is gone";
    match last {
        None => gone.to_owned(),
        Some(last) => {
            let told = last.row().agents;
            match last.text() {
                Some(text) => format!("{gone}; last told as {told}: {text}"),
                None => format!("{gone}; last told as {told}"),
            }
        }
    }
}
