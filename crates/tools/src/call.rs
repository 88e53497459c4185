//! One call of a tool: what the model wrote, where it runs, and whom it talks to.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use troupe_protocol::approval::{
    ExecApprovalRequest, PatchApprovalRequest, ReviewDecision, UserInputRequest, UserInputResponse,
};
use troupe_protocol::command::{OutputStream, PlanStep};
use troupe_protocol::event::AbortReason;
use troupe_protocol::id::{CallId, ItemId, SessionId, SubmissionId};
use troupe_protocol::item::TurnItem;
use troupe_protocol::mcp::{ElicitationRequest, ElicitationResponse};
use troupe_protocol::op::ElicitationDecision;
use troupe_protocol::policy::{ApprovalPolicy, CollaborationMode, ReasoningEffort, SandboxPolicy};
use troupe_protocol::undo::FileFact;
use troupe_protocol::{EventMsg, PendingQuestion};

use crate::digest::FileDigest;

/// One call, as it is handed to a tool.
#[derive(Debug, Clone)]
pub struct ToolInvocation {
    pub id: CallId,
    pub input: ToolInput,
    pub context: Arc<CallContext>,
    pub channel: Arc<dyn CallChannel>,
    /// Ends the call early. The tool stops what it started and still answers.
    pub cancel: CancellationToken,
    /// Why the task ends, if that is why the call is to end.
    pub aborted: Arc<OnceLock<AbortReason>>,
}

/// What the model wrote, untouched: it may be anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolInput {
    /// The arguments of a function tool.
    Json(String),
    /// The text of a freeform tool.
    Text(String),
}

impl ToolInput {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Json(text) | Self::Text(text) => text,
        }
    }
}

/// The settings of the turn that a call belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallContext {
    pub session_id: SessionId,
    pub turn_id: SubmissionId,
    pub cwd: PathBuf,
    pub approval_policy: ApprovalPolicy,
    pub sandbox_policy: SandboxPolicy,
    /// Why nothing leaves that sandbox, whoever agrees. Set by the session's registry.
    pub sandbox_held: Option<Arc<str>>,
    pub collaboration_mode: CollaborationMode,
    pub model: String,
    pub effort: Option<ReasoningEffort>,
    /// How many items the conversation has.
    pub message_index: u32,
}

impl CallContext {
    /// Returns by which policy a command that the sandbox stopped may run without it.
    pub(crate) fn leaving_policy(&self) -> ApprovalPolicy {
        match self.sandbox_held {
            Some(_) => ApprovalPolicy::Never,
            None => self.approval_policy,
        }
    }

    /// Returns the path as the model means it: relative paths start at the working directory.
    pub fn resolve(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        if path == Path::new(".") || path.as_os_str().is_empty() {
            self.cwd.clone()
        } else {
            self.cwd.join(path)
        }
    }
}

/// What a running call says to its session. Implemented by the engine.
#[async_trait]
pub trait CallChannel: Send + Sync + Debug {
    /// Tells what happens. Events of one call arrive in the order they were reported.
    async fn report(&self, event: ToolEvent);

    /// Asks a person and waits for the word. A call that is cancelled stops waiting by itself.
    async fn ask(&self, ask: ApprovalQuestion) -> ReviewDecision;

    /// Asks as [`Self::ask`] does. Where the same was agreed to elsewhere meanwhile, that is
    /// the word.
    async fn ask_unless_settled(
        &self,
        ask: ApprovalQuestion,
        settled: oneshot::Receiver<ReviewDecision>,
    ) -> ReviewDecision {
        tokio::select! {
            decision = self.ask(ask) => decision,
            Ok(decision) = settled => decision,
        }
    }

    /// Puts questions to a person and waits for the answers. There are none if nobody is
    /// there to answer, or if the questions are withdrawn.
    async fn question(&self, request: UserInputRequest) -> Option<UserInputResponse>;

    /// Puts a server's question to a person and waits for the answer. Who cannot be asked
    /// declines.
    async fn elicit(&self, _: ElicitationRequest) -> ElicitationResponse {
        ElicitationResponse::without_content(ElicitationDecision::Decline)
    }
}

/// News from a running call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolEvent {
    Started(TurnItem),
    /// A piece of what the call's command wrote.
    Output {
        stream: OutputStream,
        bytes: Bytes,
    },
    /// Each started item is completed exactly once, with the same id.
    Completed(TurnItem),
    Plan {
        explanation: Option<String>,
        plan: Vec<PlanStep>,
    },
    /// Something was typed into a command that runs in the background.
    TerminalInteraction {
        process_id: String,
        stdin: String,
    },
    /// Something a person should know; the call goes on.
    Warning(String),
    /// The word of a hook of the user's against something, or that a hook failed. Who looks at
    /// the tree hears of it too, whatever the model makes of it.
    HookWarning(String),
    /// These files, as they are, may be changed next.
    Editing(Vec<FileDigest>),
    /// What files are before they are changed, for the log.
    Files(FileFact),
    /// An event that is passed on as it is, such as one about another agent.
    Other(Box<EventMsg>),
}

/// A question to a person that is answered with yes or no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalQuestion {
    Exec(ExecApprovalRequest),
    Patch(PatchApprovalRequest),
}

impl From<ApprovalQuestion> for PendingQuestion {
    fn from(ask: ApprovalQuestion) -> Self {
        match ask {
            ApprovalQuestion::Exec(request) => Self::Command(request),
            ApprovalQuestion::Patch(request) => Self::Patch(request),
        }
    }
}

impl ToolInvocation {
    /// Returns the id of the item that shows this call to people.
    pub fn item_id(&self) -> ItemId {
        ItemId(self.id.0.clone())
    }
}
