//! What the model asks the user, and what ends it, as one log tells it. Such questions wait
//! for a person as requests for approval do, and stand in the same table.

use serde::Deserialize;
use serde::de::IgnoredAny;
use troupe_protocol::{CallId, SubmissionId};

use crate::clock::UnixMillis;
use crate::line::Unreadable;
use crate::store::Position;
use crate::tree::ApprovalKind;

use super::approvals::{ApprovalChange, Asked};
use super::{beginning, parse};

/// Reads an event of this kind; `None` if it is of no concern here. A question with the label
/// of another agent repeats what that agent's own log says.
pub(super) fn change(
    kind: &str,
    payload: &[u8],
    position: Position,
    written: UnixMillis,
) -> Result<Option<ApprovalChange>, Unreadable> {
    match kind {
        "request_user_input" => {
            let Record { msg: request } = parse::<Record<Request>>(payload)?;
            if request.agent.is_some() {
                return Ok(None);
            }
            let texts: Vec<String> = request
                .questions
                .into_iter()
                .map(|it| it.question)
                .collect();
            let what = texts.join(" ").replace(['\r', '\n'], " ");
            Ok(Some(ApprovalChange::Asked(Asked {
                position,
                call_id: request.call_id,
                task: request.turn_id,
                kind: ApprovalKind::Question,
                what: beginning(&what).unwrap_or_default(),
                at: written,
            })))
        }
        "user_input_resolved" => {
            let Record { msg } = parse::<Record<Resolved>>(payload)?;
            let call_id = msg.call_id;
            Ok(Some(ApprovalChange::Settled { call_id }))
        }
        _ => Ok(None),
    }
}

#[derive(Deserialize)]
struct Record<T> {
    msg: T,
}

#[derive(Deserialize)]
struct Request {
    call_id: CallId,
    turn_id: SubmissionId,
    questions: Vec<Question>,
    agent: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Question {
    question: String,
}

#[derive(Deserialize)]
struct Resolved {
    call_id: CallId,
}
