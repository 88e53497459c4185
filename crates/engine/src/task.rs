//! The state of the work on one user input.
//!
//! ```text
//!            ┌────────────── a call was made, or input was steered in ─────────────┐
//!            ▼                                                                     │
//! start ─► Sampling ── response complete ─► Calling ── every call answered ─► cycle over ─► end
//!            │  ▲                              │
//!   too full │  │ summarised                   │ interrupt · replace · shutdown · fatal error
//!            ▼  │                              ▼
//!          Compacting ───────────────────► Stopping ── tools have cleaned up ─► aborted
//!
//! start ─► Shell ── the user's command has ended ─► end
//! ```
//!
//! Who drives it (`conversation`): Sampling begins in `sample`, Calling in `cycle_answered`,
//! Compacting in `start_compaction`, Stopping in `stop`; the end is `complete_task` or
//! `finish_stop`, after which it is [`TaskPhase::Over`] and dropped.

use std::collections::{HashSet, VecDeque};
use std::time::Instant;

use tokio_util::task::AbortOnDropHandle;
use troupe_model::{ModelEvent, ModelStream};
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{AbortReason, ErrorEvent, TurnAborted, TurnComplete};
use troupe_protocol::input::UserInput;
use troupe_protocol::session::TurnContext;
use troupe_protocol::tree::MessageId;
use troupe_protocol::{ItemId, ResponseId, SessionId, SubmissionId};
use troupe_tools::CallContext;

use crate::calls::CycleCalls;
use crate::evidence::EvidenceCollector;
use crate::host::StopRequester;
use crate::output::AnswerFormat;
use crate::response::IncomingResponse;
use crate::user_input::CheckedMessage;

#[derive(Debug)]
pub(crate) struct Task {
    pub id: SubmissionId,
    /// Tells signals of this task from late ones of an earlier task.
    pub epoch: u64,
    /// What the model was told of its surroundings holds until the task is over.
    pub context: TurnContext,
    pub started: Instant,
    pub phase: TaskPhase,
    pub steered: VecDeque<SteeredMessage>,
    pub output: AnswerFormat,
    pub last_message: Option<String>,
    pub last_response: Option<ResponseId>,
    pub cycles: u32,
    pub room: CompactionBudget,
    /// How many messages it was told: the one that it began with, and those that joined it. No
    /// compaction cuts them.
    pub said: usize,
    /// How often the history was compacted to make room.
    pub compactions: u32,
    pub seen: EvidenceCollector,
    /// Messages of the inbox that it has heard of: the one it began with, those that wait, and
    /// those it took.
    pub heard: HashSet<MessageId>,
    /// The newest headline of the model's reasoning.
    pub headline: Option<String>,
    /// How often hooks had the task go on.
    pub stops_refused: u32,
    /// How many responses in a row the model has paused.
    pub pauses: u32,
    /// The tree was told how it ended, whether or not that could be written down.
    pub is_told: bool,
    /// What happens for the task is logged within it.
    pub span: tracing::Span,
}

#[derive(Debug)]
pub(crate) enum TaskPhase {
    /// Between two phases, while the next is being made.
    Starting,
    /// Further tools are being found out.
    Equipping {
        /// Dropping it stops the waiting.
        _work: AbortOnDropHandle<()>,
    },
    Sampling {
        stream: ModelStream,
        response: IncomingResponse,
    },
    Calling(CycleCalls),
    Compacting(RunningCompaction),
    /// The task is a command of the user's own.
    Shell,
    /// The model is done, and the user's hooks are asked whether the task is.
    Leaving {
        /// Dropping it ends them.
        _asking: AbortOnDropHandle<()>,
    },
    Stopping(StoppingTask),
    /// Its end is in the log.
    Over,
}

impl TaskPhase {
    /// Returns what the diagnostic log calls it.
    fn name(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Equipping { .. } => "equipping",
            Self::Sampling { .. } => "sampling",
            Self::Calling(_) => "calling",
            Self::Compacting(_) => "compacting",
            Self::Shell => "shell",
            Self::Leaving { .. } => "leaving",
            Self::Stopping(_) => "stopping",
            Self::Over => "over",
        }
    }
}

/// Whether a compaction makes room for the task, so that a history that cannot be made
/// smaller is not summarised again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompactionBudget {
    /// A compaction is worth trying.
    Unknown,
    /// The history was compacted, and no response has told yet what is left.
    JustMade,
    /// What cannot be compacted is too much already. No further compaction is tried.
    Never,
}

impl CompactionBudget {
    pub(crate) fn after_compaction(self) -> Self {
        match self {
            Self::Unknown | Self::JustMade => Self::JustMade,
            Self::Never => Self::Never,
        }
    }

    /// Takes notice of how many tokens a response's request had.
    pub(crate) fn after_response(self, sent: u64, limit: u64) -> Self {
        match self {
            Self::JustMade if sent >= limit => Self::Never,
            Self::Unknown | Self::JustMade => Self::Unknown,
            Self::Never => Self::Never,
        }
    }
}

/// A message that waits for the next model request.
#[derive(Debug)]
pub(crate) struct SteeredMessage {
    pub sender: MessageSource,
    pub items: Vec<UserInput>,
    pub message: CheckedMessage,
}

impl SteeredMessage {
    /// Returns the id of a message of the inbox.
    pub(crate) fn message_id(&self) -> Option<MessageId> {
        match &self.sender {
            MessageSource::Client(_) => None,
            MessageSource::Inbox(id) => Some(*id),
        }
    }
}

/// The sender of a message, who is told what became of it.
#[derive(Debug)]
pub(crate) enum MessageSource {
    Client(SubmissionId),
    Inbox(MessageId),
}

#[derive(Debug)]
pub(crate) struct RunningCompaction {
    pub stream: ModelStream,
    pub item: ItemId,
    pub summary: String,
    pub attempt: u32,
    pub then: AfterCompaction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterCompaction {
    /// The task goes on.
    Sample,
    /// The compaction was the task.
    Finish,
}

/// A task that waits for its tools to clean up.
#[derive(Debug)]
pub(crate) struct StoppingTask {
    pub why: StopCause,
    pub calls: CycleCalls,
    pub deadline: tokio::time::Instant,
}

/// Why a task is stopped.
#[derive(Debug, Clone)]
pub(crate) struct StopCause {
    pub reason: AbortReason,
    /// The requester of the stop; counts for an interrupt.
    pub by: StopRequester,
    /// Told directly before `turn_aborted`.
    pub error: Option<ErrorEvent>,
}

impl StopCause {
    /// A stop that somebody else's wish explains.
    pub(crate) fn quietly(reason: AbortReason) -> Self {
        Self {
            reason,
            by: StopRequester::default(),
            error: None,
        }
    }

    /// A stop that a person or an agent asked for.
    pub(crate) fn interrupted(by: StopRequester) -> Self {
        let stop = Self::fatal(
            AbortReason::Interrupted,
            "interrupted".to_owned(),
            ErrorInfo::Interrupted,
        );
        Self { by, ..stop }
    }

    /// A stop that an error explains.
    pub(crate) fn fatal(reason: AbortReason, message: String, info: ErrorInfo) -> Self {
        Self {
            reason,
            by: StopRequester::default(),
            error: Some(ErrorEvent {
                message,
                fatal: true,
                error_info: Some(info),
            }),
        }
    }
}

impl Task {
    pub(crate) fn new(
        id: SubmissionId,
        epoch: u64,
        context: TurnContext,
        started_at_ms: i64,
        output: AnswerFormat,
    ) -> Self {
        let span = tracing::info_span!("task", %id);
        Self {
            id,
            epoch,
            context,
            started: Instant::now(),
            phase: TaskPhase::Starting,
            steered: VecDeque::new(),
            output,
            last_message: None,
            last_response: None,
            cycles: 0,
            room: CompactionBudget::Unknown,
            said: 0,
            compactions: 0,
            seen: EvidenceCollector::since(started_at_ms),
            heard: HashSet::new(),
            headline: None,
            stops_refused: 0,
            pauses: 0,
            is_told: false,
            span,
        }
    }

    /// Changes the phase.
    pub(crate) fn enter(&mut self, phase: TaskPhase) {
        self.span.in_scope(|| {
            tracing::debug!(
                from = self.phase.name(),
                to = phase.name(),
                "the phase changes"
            );
        });
        self.phase = phase;
    }

    pub(crate) fn call_context(&self, session_id: SessionId, items: usize) -> CallContext {
        CallContext {
            session_id,
            turn_id: self.id.clone(),
            cwd: self.context.cwd.clone(),
            approval_policy: self.context.approval_policy,
            sandbox_policy: self.context.sandbox_in_force(),
            sandbox_held: None,
            collaboration_mode: self.context.collaboration_mode,
            model: self.context.model.clone(),
            effort: self.context.effort,
            message_index: u32::try_from(items).unwrap_or(u32::MAX),
        }
    }

    pub(crate) fn completed(&self) -> TurnComplete {
        TurnComplete {
            turn_id: self.id.clone(),
            last_agent_message: self.last_message.clone(),
            response_id: self.last_response.clone(),
            duration_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn aborted(&self, reason: AbortReason) -> TurnAborted {
        TurnAborted {
            turn_id: self.id.clone(),
            reason,
            last_agent_message: self.last_message.clone(),
            response_id: self.last_response.clone(),
        }
    }

    /// Returns what nobody will tell the model any more, with what its senders are told. What
    /// came from the inbox is still there.
    pub(crate) fn take_undelivered(&mut self) -> Vec<(SubmissionId, ErrorEvent)> {
        let undelivered = |steered: SteeredMessage| {
            let MessageSource::Client(submission) = steered.sender else {
                return None;
            };
            let error = ErrorEvent {
                message: format!(
                    "task {} ended before this message was delivered; send it again",
                    self.id
                ),
                fatal: false,
                error_info: Some(ErrorInfo::ActiveTurnNotSteerable),
            };
            Some((submission, error))
        };
        let steered = std::mem::take(&mut self.steered);
        steered.into_iter().filter_map(undelivered).collect()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        matches!(self.phase, TaskPhase::Stopping(_))
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.phase, TaskPhase::Over)
    }

    /// Waits for the next piece of the model's answer; for ever if none is expected.
    pub(crate) async fn next_batch(&mut self) -> Vec<ModelEvent> {
        let stream = match &mut self.phase {
            TaskPhase::Sampling { stream, .. } => stream,
            TaskPhase::Compacting(compacting) => &mut compacting.stream,
            TaskPhase::Starting
            | TaskPhase::Equipping { .. }
            | TaskPhase::Calling(_)
            | TaskPhase::Shell
            | TaskPhase::Leaving { .. }
            | TaskPhase::Stopping(_)
            | TaskPhase::Over => {
                return std::future::pending().await;
            }
        };
        match stream.next_batch().await {
            Some(batch) => batch,
            // The phase changes with the final event, so an ended stream is not asked again.
            None => std::future::pending().await,
        }
    }

    /// Returns the moment at which tools that do not clean up are dropped.
    pub(crate) fn stop_deadline(&self) -> Option<tokio::time::Instant> {
        match &self.phase {
            TaskPhase::Stopping(stopping) => Some(stopping.deadline),
            TaskPhase::Starting
            | TaskPhase::Equipping { .. }
            | TaskPhase::Sampling { .. }
            | TaskPhase::Calling(_)
            | TaskPhase::Compacting(_)
            | TaskPhase::Shell
            | TaskPhase::Leaving { .. }
            | TaskPhase::Over => None,
        }
    }

    /// Returns the calls of the running cycle, also while it is being stopped.
    pub(crate) fn calls(&mut self) -> Option<&mut CycleCalls> {
        match &mut self.phase {
            TaskPhase::Calling(calls) => Some(calls),
            TaskPhase::Stopping(stopping) => Some(&mut stopping.calls),
            TaskPhase::Starting
            | TaskPhase::Equipping { .. }
            | TaskPhase::Sampling { .. }
            | TaskPhase::Compacting(_)
            | TaskPhase::Shell
            | TaskPhase::Leaving { .. }
            | TaskPhase::Over => None,
        }
    }

    pub(crate) fn compacting(&mut self) -> Option<&mut RunningCompaction> {
        match &mut self.phase {
            TaskPhase::Compacting(compacting) => Some(compacting),
            TaskPhase::Starting
            | TaskPhase::Equipping { .. }
            | TaskPhase::Sampling { .. }
            | TaskPhase::Calling(_)
            | TaskPhase::Shell
            | TaskPhase::Leaving { .. }
            | TaskPhase::Stopping(_)
            | TaskPhase::Over => None,
        }
    }
}
