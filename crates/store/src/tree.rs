//! What can be asked about agent trees, from outside of them and across a whole home.
//!
//! These are the facts of the logs put together, for lists and for people. Who goes on with
//! a tree folds the facts themselves ([`Store::agent_lines`](crate::Store::agent_lines)).

use troupe_protocol::agent::AgentOrigin;
use troupe_protocol::result::StopReason;
use troupe_protocol::tree::{MailKind, MessageId, TaskEnding};
use troupe_protocol::{AgentId, CallId, SessionId, SubmissionId};

use crate::clock::UnixMillis;
use crate::store::LogPosition;

/// A place in a tree, which is named after the session of its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentLocation {
    pub root: SessionId,
    pub agent: AgentId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeRow {
    pub root: SessionId,
    pub began: UnixMillis,
    /// When the status of an agent changed last.
    pub updated: UnixMillis,
    /// The root among them.
    pub agents: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRow {
    pub agent: AgentId,
    pub session: SessionId,
    /// `None` for the root and for the released.
    pub parent: Option<AgentId>,
    pub path: String,
    /// `None` for the root, as are role and label.
    pub origin: Option<AgentOrigin>,
    pub role: Option<String>,
    pub label: Option<String>,
    pub born: UnixMillis,
    pub standing: RecordedStatus,
    pub since: UnixMillis,
    /// The task that runs or ran last.
    pub last_task: Option<SubmissionId>,
    /// How the last task that ended did.
    pub last_end: Option<TaskEnding>,
    /// Only its results are left.
    pub is_pruned: bool,
    /// Regular messages and callbacks that wait.
    pub pending_messages: u32,
    pub pending_interrupts: u32,
}

/// How an agent stands, as far as it is written: whether a task that began still runs, only
/// its process knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedStatus {
    PendingInit,
    Running,
    Ended(TaskEnding),
    Shutdown,
}

/// A task of a member of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    pub at: AgentLocation,
    pub task: SubmissionId,
    /// `None` if it ended before it began.
    pub started: Option<UnixMillis>,
    /// `None` if its end is not written; so are the reason and the rest then.
    pub ended: Option<UnixMillis>,
    pub stop: Option<StopReason>,
    /// The beginning of the last thing that the model said.
    pub last_message: Option<String>,
    pub tokens: u64,
    /// Where the line with the result begins in the log of the session.
    pub result_at: Option<LogPosition>,
}

/// A message to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailRow {
    pub message: MessageId,
    /// `None`, as is the time, while only the recipient's log tells of the message.
    pub kind: Option<MailKind>,
    pub queued: Option<UnixMillis>,
    pub state: MailState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailState {
    Waiting,
    /// It began a task or joined one.
    Taken,
    /// A callback that a wait delivered.
    Consumed,
    /// The task that it was for, or the whole inbox, was stopped first.
    Dropped,
}

/// A question that nobody has answered yet, as the log of the one who asks has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRow {
    pub session: SessionId,
    pub agent: AgentId,
    pub path: String,
    pub call_id: CallId,
    pub task: SubmissionId,
    pub kind: ApprovalKind,
    /// The beginning of the command, the files or the question, in one line. Not enough to
    /// agree to anything: [`Store::question`](crate::Store::question) has the whole.
    pub what: String,
    pub asked: UnixMillis,
    /// Where the line that asks begins in the log of the session.
    pub position: LogPosition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalKind {
    Exec,
    Patch,
    /// The model asks the user something.
    Question,
}

impl ApprovalKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exec => "exec",
            Self::Patch => "patch",
            Self::Question => "question",
        }
    }

    pub(crate) fn named(name: &str) -> Self {
        let kinds = [Self::Exec, Self::Question];
        let found = kinds.into_iter().find(|kind| kind.as_str() == name);
        found.unwrap_or(Self::Patch)
    }
}
