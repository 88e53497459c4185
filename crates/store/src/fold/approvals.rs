//! Requests for approval, and what ends them, as one log tells it.
//!
//! Payloads are read for the few keys that matter. A request with the label of another
//! agent is left out: it repeats what that agent's own log says.

use serde::Deserialize;
use serde::de::IgnoredAny;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::command::FileChanges;
use troupe_protocol::{CallId, SubmissionId};

use crate::clock::UnixMillis;
use crate::line::UnreadableLine;
use crate::store::LogPosition;
use crate::tree::ApprovalKind;

use super::{beginning, parse};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ApprovalChange {
    Asked(LoggedApproval),
    Answered {
        call_id: CallId,
        decision: ReviewDecision,
    },
    /// The task was aborted, and with it whatever it still asked.
    Aborted {
        task: SubmissionId,
    },
    /// Something that is not decided was answered, or withdrawn.
    Settled {
        call_id: CallId,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoggedApproval {
    /// Where the line begins.
    pub(crate) position: LogPosition,
    pub(crate) call_id: CallId,
    pub(crate) task: SubmissionId,
    pub(crate) kind: ApprovalKind,
    pub(crate) what: String,
    pub(crate) at: UnixMillis,
}

/// The keys of the four events together.
#[derive(Deserialize)]
struct ApprovalKeys {
    call_id: Option<CallId>,
    turn_id: Option<SubmissionId>,
    command: Option<Vec<String>>,
    changes: Option<FileChanges>,
    decision: Option<ReviewDecision>,
    agent: Option<IgnoredAny>,
}

/// Reads an event of this kind; `None` if it is of no concern here.
pub(super) fn change(
    kind: &str,
    payload: &[u8],
    position: LogPosition,
    written: UnixMillis,
) -> Result<Option<ApprovalChange>, UnreadableLine> {
    #[derive(Deserialize)]
    struct ApprovalRecord {
        msg: ApprovalKeys,
    }
    let is_wanted = matches!(
        kind,
        "exec_approval_request"
            | "apply_patch_approval_request"
            | "approval_resolved"
            | "turn_aborted"
    );
    if !is_wanted {
        return Ok(None);
    }
    let ApprovalKeys {
        call_id,
        turn_id,
        command,
        changes,
        decision,
        agent,
    } = parse::<ApprovalRecord>(payload)?.msg;
    let change = match (kind, call_id, turn_id, decision) {
        ("turn_aborted", _, Some(task), _) => ApprovalChange::Aborted { task },
        ("approval_resolved", Some(call_id), _, Some(decision)) => {
            ApprovalChange::Answered { call_id, decision }
        }
        (_, Some(_), Some(_), _) if agent.is_some() => return Ok(None),
        (_, Some(call_id), Some(task), _) => {
            let (kind, what) = match changes {
                None => (ApprovalKind::Exec, command.unwrap_or_default().join(" ")),
                Some(changes) => {
                    let files: Vec<_> = changes.keys().map(|path| path.to_string_lossy()).collect();
                    (ApprovalKind::Patch, files.join(", "))
                }
            };
            ApprovalChange::Asked(LoggedApproval {
                position,
                call_id,
                task,
                kind,
                what: beginning(&what.replace(['\r', '\n'], " ")).unwrap_or_default(),
                at: written,
            })
        }
        _ => return Err(UnreadableLine::new(format_args!("{kind} without its ids"))),
    };
    Ok(Some(change))
}
