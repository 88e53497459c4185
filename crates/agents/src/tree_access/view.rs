//! Answers of a tree: views of agents, results of spawns, sends, waits and stops.

use std::sync::Arc;

use serde_json::Value;
use troupe_engine::{ActivityKind, SessionActivity};
use troupe_protocol::agent::{AgentOrigin, AgentStatus, PendingMail, SubagentSummary};
use troupe_protocol::result::TaskResult;
use troupe_protocol::spawn::SpawnSpec;
use troupe_protocol::tree::{AgentMessage, MessageId, OnParentInterrupt};
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{AgentId, SessionId, StopVerb, SubmissionId};
use troupe_tools::DeliveryClaim;
use troupe_tree::effect::{DeliveryReceipt, StopSkipReason, WaitEnd};
use troupe_tree::status::CurrentStatus;

/// How an agent of a running tree stands at one moment, with all that the tool families tell
/// of it. Lists for others are made of its [card](AgentView::card).
#[derive(Debug, Clone)]
pub struct AgentView {
    pub agent: AgentId,
    pub session: SessionId,
    pub parent: Option<AgentId>,
    pub parent_session: Option<SessionId>,
    pub path: String,
    pub depth: u32,
    pub origin: Option<AgentOrigin>,
    pub on_parent_interrupt: OnParentInterrupt,
    /// How it was made; none for the root.
    pub spec: Option<Arc<SpawnSpec>>,
    pub note: Option<String>,
    /// What its conversation is called, if somebody gave it a name.
    pub name: Option<String>,
    pub status: CurrentStatus,
    /// How it stood when the root's log told of it last, for one that is lost.
    pub last_told: Option<AgentStatus>,
    /// The beginning of the last message or the error, in one line.
    pub preview: Option<String>,
    /// When the status changed last.
    pub since_ms: i64,
    pub born_at_ms: i64,
    /// How long its last task ran that has ended; absent for the root.
    pub ran_ms: Option<u64>,
    pub now_ms: i64,
    pub pending: PendingMail,
    pub last_task: Option<SubmissionId>,
    /// What it does, while it is in memory.
    pub pulse: Option<SessionActivity>,
    pub reasoning_header: Option<String>,
    pub usage: TokenUsage,
    /// Of the agent and everything below it.
    pub subtree_usage: TokenUsage,
    /// Items of its parent's that its conversation began with; none if only the last turns
    /// were shared, which nobody has counted.
    pub initial_message_count: Option<u32>,
    pub pruned: bool,
}

impl AgentView {
    /// Returns the wire form of the status, with the preview as its text.
    pub fn wire_status(&self) -> AgentStatus {
        self.status_saying(self.preview.clone())
    }

    fn status_saying(&self, text: Option<String>) -> AgentStatus {
        match self.status {
            CurrentStatus::Lost => AgentStatus::Lost(self.last_told.clone().map(Box::new)),
            status => status.to_wire(text),
        }
    }

    /// Returns the wire form of the whole.
    pub fn summary(&self) -> SubagentSummary {
        let spec = self.spec.as_ref();
        SubagentSummary {
            agent_id: self.agent,
            parent_agent_id: self.parent,
            session_id: self.session,
            parent_session_id: self.parent_session,
            path: Some(self.path.clone()),
            origin: self.origin.unwrap_or(AgentOrigin::Spawn),
            status: self.wire_status(),
            label: spec.and_then(|spec| spec.label.clone()),
            summary: spec.and_then(|spec| spec.summary()),
            reasoning_header: self.reasoning_header.clone(),
            started_at_ms: self.born_at_ms,
            pending_messages: self.pending.messages,
            pending_interrupts: self.pending.interrupts,
        }
    }

    pub fn status_duration_s(&self) -> u64 {
        u64::try_from((self.now_ms - self.since_ms) / 1000).unwrap_or(0)
    }

    /// Returns what its session does, while it is in memory.
    pub fn doing(&self) -> Option<&ActivityKind> {
        self.pulse.as_ref().map(|pulse| &pulse.doing)
    }

    /// Returns the tools that run now.
    pub fn current_tools(&self) -> &[String] {
        match self.doing() {
            Some(ActivityKind::Tools(names)) => names,
            Some(ActivityKind::Idle | ActivityKind::Model | ActivityKind::Compacting) | None => &[],
        }
    }

    pub fn updated_at_ms(&self) -> i64 {
        let progress = self.pulse.as_ref().map_or(0, |pulse| pulse.progress_at_ms);
        self.since_ms.max(progress)
    }
}

#[derive(Debug, Clone)]
pub struct SpawnedAgent {
    pub view: AgentView,
    /// What was asked for, what it got, and one sentence for each difference.
    pub requested: Value,
    pub effective: Value,
    pub why: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct SendOutcome {
    pub message: MessageId,
    pub receipt: DeliveryReceipt,
    /// The task that takes it, as things stood then. A stop may keep it from beginning.
    pub task: SubmissionId,
    /// The recipient, afterwards.
    pub view: AgentView,
}

#[derive(Debug, Clone)]
pub struct WaitReport {
    pub end: WaitEnd,
    /// Who had ended at that moment, in the order of the request.
    pub finished: Vec<FinishedTarget>,
    /// The others that were waited for.
    pub unfinished: Vec<AgentView>,
    /// What those wrote that were waited for. Empty in an answer that ended by mail which the
    /// caller has been handed already, and reads next.
    pub mail: Vec<ReceivedMessage>,
    /// To be given to the tool's output: it marks the callbacks as delivered.
    pub claim: Option<DeliveryClaim>,
}

/// A message that a wait brings.
#[derive(Debug, Clone)]
pub struct ReceivedMessage {
    pub from: AgentView,
    pub message: AgentMessage,
}

#[derive(Debug, Clone)]
pub struct FinishedTarget {
    /// As the caller named it; the session id if it named nobody.
    pub asked: String,
    /// None for an agent that never was.
    pub view: Option<AgentView>,
    pub result: Option<Arc<TaskResult>>,
}

impl FinishedTarget {
    /// Returns the wire form of the status, with the whole last message as its text.
    pub fn wire_status(&self) -> AgentStatus {
        let Some(view) = &self.view else {
            return AgentStatus::NotFound;
        };
        let text = self.result.as_ref().and_then(|result| result.text());
        view.status_saying(text.or_else(|| view.preview.clone()))
    }
}

#[derive(Debug, Clone)]
pub struct StopOutcome {
    pub touched: Vec<StopEntry<StopVerb>>,
    pub skipped: Vec<StopEntry<StopSkipReason>>,
    /// Addresses that mean nobody.
    pub unknown: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct StopEntry<T> {
    /// As it was before the stop.
    pub view: AgentView,
    pub what: T,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteSet {
    pub submission_id: SubmissionId,
    pub thread_note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchdogOutcome {
    pub agent: AgentId,
    pub interval_s: u64,
    pub message: String,
    pub action: WatchdogAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchdogAction {
    Started,
    Replaced,
    Canceled,
    NotFound,
}
