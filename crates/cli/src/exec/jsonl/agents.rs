//! Other agents: their lives, and the calls by which one works with another.

use std::collections::BTreeMap;

use troupe_protocol::agent::{
    AgentStatus, CollabInteraction, CollabSpawnBegin, CollabSpawnEnd, CollabWaiting,
    SubagentLifecycle, SubagentSummary,
};
use troupe_protocol::{CallId, EventMsg, SessionId};

use super::line::{ItemStatus, JsonAgent, JsonAgentState, JsonItemDetails, JsonLine};

const SPAWN: &str = "spawn_agent";
const SEND: &str = "send_input";
const WAIT: &str = "wait";
const CLOSE: &str = "close_agent";
const RESUME: &str = "resume_agent";

/// The begin or the end of a call that works with another agent.
#[derive(Debug)]
pub struct CollaborationLine {
    pub call_id: CallId,
    pub is_begin: bool,
    pub details: JsonItemDetails,
}

impl CollaborationLine {
    pub fn of(msg: &EventMsg) -> Option<Self> {
        Some(match msg {
            EventMsg::CollabAgentSpawnBegin(begin) => spawn_begin(begin),
            EventMsg::CollabAgentSpawnEnd(end) => spawn_end(end),
            EventMsg::CollabAgentInteractionBegin(it) => interaction(SEND, true, it),
            EventMsg::CollabAgentInteractionEnd(it) => interaction(SEND, false, it),
            EventMsg::CollabCloseBegin(it) => interaction(CLOSE, true, it),
            EventMsg::CollabCloseEnd(it) => interaction(CLOSE, false, it),
            EventMsg::CollabResumeBegin(it) => interaction(RESUME, true, it),
            EventMsg::CollabResumeEnd(it) => interaction(RESUME, false, it),
            EventMsg::CollabWaitingBegin(it) => waiting(true, it),
            EventMsg::CollabWaitingEnd(it) => waiting(false, it),
            _ => return None,
        })
    }
}

/// The headline of an agent's reasoning is for screens.
pub fn lifecycle(event: &SubagentLifecycle) -> Option<JsonLine> {
    Some(match event {
        SubagentLifecycle::Created { subagent } => JsonLine::AgentCreated {
            agent: whole(subagent),
        },
        SubagentLifecycle::Restored { subagent } => JsonLine::AgentRestored {
            agent: whole(subagent),
        },
        SubagentLifecycle::Status {
            agent_id,
            session_id,
            status,
            ..
        } => JsonLine::AgentStatus {
            agent_id: *agent_id,
            thread_id: *session_id,
            state: state(status),
        },
        SubagentLifecycle::Deleted {
            agent_id,
            session_id,
            ..
        } => JsonLine::AgentDeleted {
            agent_id: *agent_id,
            thread_id: *session_id,
        },
        SubagentLifecycle::ReasoningHeader { .. } => return None,
    })
}

fn whole(subagent: &SubagentSummary) -> JsonAgent {
    JsonAgent {
        agent_id: subagent.agent_id,
        thread_id: subagent.session_id,
        parent_thread_id: subagent.parent_session_id,
        path: subagent.path.clone(),
        summary: subagent.summary.clone(),
        state: state(&subagent.status),
    }
}

fn spawn_begin(begin: &CollabSpawnBegin) -> CollaborationLine {
    CollaborationLine {
        call_id: begin.call_id.clone(),
        is_begin: true,
        details: JsonItemDetails::CollabToolCall {
            tool: SPAWN,
            sender_thread_id: begin.sender_thread_id,
            receiver_thread_ids: Vec::new(),
            prompt: Some(begin.prompt.clone()),
            agents_states: BTreeMap::new(),
            status: ItemStatus::InProgress,
        },
    }
}

fn spawn_end(end: &CollabSpawnEnd) -> CollaborationLine {
    let child = end.new_thread_id;
    CollaborationLine {
        call_id: end.call_id.clone(),
        is_begin: false,
        details: JsonItemDetails::CollabToolCall {
            tool: SPAWN,
            sender_thread_id: end.sender_thread_id,
            receiver_thread_ids: child.into_iter().collect(),
            prompt: Some(end.prompt.clone()),
            agents_states: child
                .map(|id| (id, state(&end.status)))
                .into_iter()
                .collect(),
            status: match child {
                Some(_) => ItemStatus::Completed,
                None => ItemStatus::Failed,
            },
        },
    }
}

fn interaction(tool: &'static str, is_begin: bool, it: &CollabInteraction) -> CollaborationLine {
    let receiver = it.receiver_thread_id;
    let status = match &it.status {
        None => ItemStatus::InProgress,
        Some(AgentStatus::NotFound | AgentStatus::Errored(_)) => ItemStatus::Failed,
        Some(_) => ItemStatus::Completed,
    };
    let states = it.status.iter().map(|status| (receiver, state(status)));
    CollaborationLine {
        call_id: it.call_id.clone(),
        is_begin,
        details: JsonItemDetails::CollabToolCall {
            tool,
            sender_thread_id: it.sender_thread_id,
            receiver_thread_ids: vec![receiver],
            prompt: it.prompt.clone(),
            agents_states: states.collect(),
            status,
        },
    }
}

fn waiting(is_begin: bool, it: &CollabWaiting) -> CollaborationLine {
    let states = it.statuses.iter();
    let states: BTreeMap<SessionId, JsonAgentState> =
        states.map(|(id, status)| (*id, state(status))).collect();
    CollaborationLine {
        call_id: it.call_id.clone(),
        is_begin,
        details: JsonItemDetails::CollabToolCall {
            tool: WAIT,
            sender_thread_id: it.sender_thread_id,
            receiver_thread_ids: it.receiver_thread_ids.clone(),
            prompt: None,
            agents_states: states,
            status: if is_begin {
                ItemStatus::InProgress
            } else {
                ItemStatus::Completed
            },
        },
    }
}

fn state(status: &AgentStatus) -> JsonAgentState {
    let (status, message, position) = match status {
        AgentStatus::PendingInit => ("pending_init", None, None),
        AgentStatus::Ready => ("ready", None, None),
        AgentStatus::Queued { position } => ("queued", None, Some(*position)),
        AgentStatus::Running => ("running", None, None),
        AgentStatus::Completed(message) => ("completed", message.clone(), None),
        AgentStatus::Errored(message) => ("errored", Some(message.clone()), None),
        AgentStatus::Interrupted => ("interrupted", None, None),
        AgentStatus::Cancelled => ("cancelled", None, None),
        AgentStatus::BudgetExceeded => ("budget_exceeded", None, None),
        AgentStatus::Shutdown => ("shutdown", None, None),
        AgentStatus::Lost(_) => ("lost", status.text().map(str::to_owned), None),
        AgentStatus::NotFound => ("not_found", None, None),
    };
    JsonAgentState {
        status,
        message,
        position,
    }
}
