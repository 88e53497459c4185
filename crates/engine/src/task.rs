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
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use troupe_model::{ModelEvent, ModelStream};
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{AbortReason, ErrorEvent, TurnAborted, TurnComplete};
use troupe_protocol::input::UserInput;
use troupe_protocol::session::TurnContext;
use troupe_protocol::{ItemId, ResponseId, ResponseItem, SubmissionId};
use troupe_tools::CallContext;

use crate::calls::Calls;
use crate::response::Response;

#[derive(Debug)]
pub(crate) struct Task {
    pub id: SubmissionId,
    /// Tells signals of this task from late ones of an earlier task.
    pub epoch: u64,
    /// What the model was told of its surroundings holds until the task is over.
    pub context: TurnContext,
    pub started: Instant,
    pub phase: Phase,
    pub steered: VecDeque<Steered>,
    pub output_schema: Option<Arc<Value>>,
    pub last_message: Option<String>,
    pub last_response: Option<ResponseId>,
    pub cycles: u32,
    /// Set from a compaction to the next response, so that a history that cannot be made
    /// smaller is not summarised again and again.
    pub just_compacted: bool,
}

#[derive(Debug)]
pub(crate) enum Phase {
    /// Between two phases, while the next is being made.
    Starting,
    Sampling {
        stream: ModelStream,
        response: Response,
    },
    Calling(Calls),
    Compacting(Compacting),
    Stopping(Stopping),
}

/// A message that waits for the next model request.
#[derive(Debug)]
pub(crate) struct Steered {
    /// The submission that brought it.
    pub submission: SubmissionId,
    pub items: Vec<UserInput>,
    pub message: ResponseItem,
}

#[derive(Debug)]
pub(crate) struct Compacting {
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
pub(crate) struct Stopping {
    pub why: Stop,
    pub calls: Calls,
    pub deadline: tokio::time::Instant,
}

/// Why a task is stopped.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    pub reason: AbortReason,
    /// Told directly before `turn_aborted`.
    pub error: Option<ErrorEvent>,
}

impl Stop {
    /// A stop that somebody else's wish explains.
    pub(crate) fn quietly(reason: AbortReason) -> Self {
        Self {
            reason,
            error: None,
        }
    }

    /// A stop that an error explains.
    pub(crate) fn fatal(reason: AbortReason, message: String, info: ErrorInfo) -> Self {
        Self {
            reason,
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
        output_schema: Option<Value>,
    ) -> Self {
        Self {
            id,
            epoch,
            context,
            started: Instant::now(),
            phase: Phase::Starting,
            steered: VecDeque::new(),
            output_schema: output_schema.map(Arc::new),
            last_message: None,
            last_response: None,
            cycles: 0,
            just_compacted: false,
        }
    }

    pub(crate) fn call_context(&self) -> CallContext {
        CallContext {
            turn_id: self.id.clone(),
            cwd: self.context.cwd.clone(),
            approval_policy: self.context.approval_policy,
            sandbox_policy: self.context.sandbox_policy.clone(),
            collaboration_mode: self.context.collaboration_mode,
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

    /// Returns what nobody will tell the model any more, with what its senders are told.
    pub(crate) fn take_undelivered(&mut self) -> Vec<(SubmissionId, ErrorEvent)> {
        let undelivered = |steered: Steered| {
            let error = ErrorEvent {
                message: format!(
                    "task {} ended before this message was delivered; send it again",
                    self.id
                ),
                fatal: false,
                error_info: Some(ErrorInfo::ActiveTurnNotSteerable),
            };
            (steered.submission, error)
        };
        let steered = std::mem::take(&mut self.steered);
        steered.into_iter().map(undelivered).collect()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        matches!(self.phase, Phase::Stopping(_))
    }

    /// Waits for the next piece of the model's answer; for ever if none is expected.
    pub(crate) async fn next_batch(&mut self) -> Vec<ModelEvent> {
        let stream = match &mut self.phase {
            Phase::Sampling { stream, .. } => stream,
            Phase::Compacting(compacting) => &mut compacting.stream,
            Phase::Starting | Phase::Calling(_) | Phase::Stopping(_) => {
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
            Phase::Stopping(stopping) => Some(stopping.deadline),
            Phase::Starting | Phase::Sampling { .. } | Phase::Calling(_) | Phase::Compacting(_) => {
                None
            }
        }
    }
}
