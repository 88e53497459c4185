//! Requests to a tree: spawn, wait, stop and list, as callers state them.

use std::path::PathBuf;

use serde_json::Value;
use troupe_protocol::agent::AgentOrigin;
use troupe_protocol::input::UserInput;
use troupe_protocol::policy::{
    ApprovalPolicy, CollaborationMode, ReasoningEffort, SandboxMode, SandboxPolicy,
};
use troupe_protocol::session::TurnContext;
use troupe_protocol::spawn::{ApprovalRoute, CallbackConfig, HistoryShare, SpawnSpec};
use troupe_protocol::tree::{CallbackMode, OnParentInterrupt};
use troupe_protocol::{CallId, StopVerb, SubmissionId};
use troupe_tools::CallContext;
use troupe_tree::command::StopMode;

use super::ForkAnswer;

/// A wish for a child. What is absent is the role's, or inherited.
#[derive(Debug, Clone)]
pub struct SpawnRequest {
    /// The tool that asks, such as `spawn_agent`.
    pub tool: &'static str,
    pub origin: AgentOrigin,
    pub items: Vec<UserInput>,
    /// The role; `default` if absent.
    pub agent_type: Option<String>,
    /// The persona.
    pub agent_name: Option<String>,
    /// A wish for the last part of the path.
    pub name: Option<String>,
    pub label: Option<String>,
    /// Absolute, and granted by a person if it is not the caller's own.
    pub working_directory: Option<PathBuf>,
    pub model: Option<String>,
    /// Another program in the place of a model: a name in `[backends]`.
    pub backend: Option<String>,
    pub reasoning_effort: Option<ReasoningEffort>,
    pub sandbox: Option<SandboxMode>,
    pub history: HistoryShare,
    /// What the call that makes the child is answered with in a history that the child
    /// shares.
    pub fork_answer: Option<ForkAnswer>,
    pub output_schema: Option<Value>,
    pub approvals: Option<ApprovalRoute>,
    pub on_parent_interrupt: OnParentInterrupt,
    pub callback: CallbackChoice,
    pub thread_note: Option<String>,
    pub turn: SpawnContext,
}

impl SpawnRequest {
    /// Asks for a child without history that goes on when its parent is interrupted. What is not
    /// asked for is the default role's, or inherited.
    pub fn new(tool: &'static str, items: Vec<UserInput>, turn: SpawnContext) -> Self {
        Self {
            tool,
            origin: AgentOrigin::Spawn,
            items,
            agent_type: None,
            agent_name: None,
            name: None,
            label: None,
            working_directory: None,
            model: None,
            backend: None,
            reasoning_effort: None,
            sandbox: None,
            history: HistoryShare::None,
            fork_answer: None,
            output_schema: None,
            approvals: None,
            on_parent_interrupt: OnParentInterrupt::KeepRunning,
            callback: CallbackChoice::default(),
            thread_note: None,
            turn,
        }
    }
}

/// How the parent is to be told; what is absent is inherited from its own configuration.
#[derive(Debug, Clone, Default)]
pub struct CallbackChoice {
    pub mode: CallbackMode,
    pub config: Option<CallbackConfig>,
}

impl CallbackChoice {
    /// Whether the parent is told of every end, in the words of its own configuration.
    pub fn each_end(is_told: bool) -> Self {
        Self {
            mode: if is_told {
                CallbackMode::Persistent
            } else {
                CallbackMode::Off
            },
            config: None,
        }
    }
}

/// The turn in which a child is asked for: what it inherits, and where it branches off.
#[derive(Debug, Clone)]
pub struct SpawnContext {
    pub task: SubmissionId,
    /// The call that asks, if it is to be told of.
    pub call: Option<CallId>,
    pub message_index: u32,
    pub cwd: PathBuf,
    pub model: String,
    pub reasoning_effort: Option<ReasoningEffort>,
    pub approval_policy: ApprovalPolicy,
    pub sandbox_policy: SandboxPolicy,
    pub collaboration_mode: CollaborationMode,
}

impl SpawnContext {
    /// Returns what a child inherits that a person makes, outside of any turn.
    pub fn outside_task(context: &TurnContext) -> Self {
        Self {
            task: SubmissionId::default(),
            call: None,
            message_index: 0,
            cwd: context.cwd.clone(),
            model: context.model.clone(),
            reasoning_effort: context.effort,
            approval_policy: context.approval_policy,
            sandbox_policy: context.sandbox_policy.clone(),
            // A person who makes a child does not plan with it.
            collaboration_mode: CollaborationMode::Default,
        }
    }
}

impl SpawnContext {
    /// Says where in the parent's conversation the child branches off: the task that runs, or ran
    /// last, and how much was said by then.
    #[must_use]
    pub fn at(self, task: SubmissionId, message_index: u32) -> Self {
        Self {
            task,
            message_index,
            ..self
        }
    }
}

/// What a child of a child inherits that a person makes, outside of any turn.
impl From<&SpawnSpec> for SpawnContext {
    fn from(parent: &SpawnSpec) -> Self {
        Self {
            task: SubmissionId::default(),
            call: None,
            message_index: 0,
            cwd: parent.cwd.clone(),
            model: parent.model.clone(),
            reasoning_effort: parent.reasoning_effort,
            approval_policy: parent.approval_policy,
            sandbox_policy: parent.sandbox_policy.clone(),
            collaboration_mode: CollaborationMode::Default,
        }
    }
}

impl From<&CallContext> for SpawnContext {
    fn from(context: &CallContext) -> Self {
        Self {
            task: context.turn_id.clone(),
            call: None,
            message_index: context.message_index,
            cwd: context.cwd.clone(),
            model: context.model.clone(),
            reasoning_effort: context.effort,
            approval_policy: context.approval_policy,
            sandbox_policy: context.sandbox_policy.clone(),
            collaboration_mode: context.collaboration_mode,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitTargets {
    /// Any of these addresses. An unknown one counts as ended.
    Addresses(Vec<String>),
    AnyChild,
}

#[derive(Debug, Clone)]
pub struct TreeStopRequest {
    pub verb: StopVerb,
    pub targets: Vec<String>,
    pub mode: StopMode,
    /// Why, for the record.
    pub note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentScope {
    Children,
    Descendants,
    All,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchdogRequest {
    /// Sets up a timer, or replaces the caller's one for this target.
    Start {
        interval_s: u64,
        message: String,
    },
    Cancel,
}
