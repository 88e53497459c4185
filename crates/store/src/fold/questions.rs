//! What the model asks the user, and what ends it, as one log tells it. Such questions wait
//! for a person as requests for approval do, and stand in the same table.

use serde::Deserialize;
use serde::de::IgnoredAny;
use troupe_protocol::{CallId, SubmissionId};

use crate::clock::UnixMillis;
use crate::line::UnreadableLine;
use crate::store::LogPosition;
use crate::tree::ApprovalKind;

use super::approvals::{ApprovalChange, LoggedApproval};
use super::{beginning, parse};

/// Reads an event of this kind; `None` if it is of no concern here. A question with the label
/// of another agent repeats what that agent's own log says.
pub(super) fn change(
    kind: &str,
    payload: &[u8],
    position: LogPosition,
    written: UnixMillis,
) -> Result<Option<ApprovalChange>, UnreadableLine> {
    match kind {
        "request_user_input" => {
            let QuestionRecord { msg: request } =
                parse::<QuestionRecord<QuestionRequest>>(payload)?;
            if request.agent.is_some() {
                return Ok(None);
            }
            let texts: Vec<String> = request
                .questions
                .into_iter()
                .map(|it| it.question)
                .collect();
            let what = texts.join(" ").replace(['\r', '\n'], " ");
            Ok(Some(ApprovalChange::Asked(LoggedApproval {
                position,
                call_id: request.call_id,
                task: request.turn_id,
                kind: ApprovalKind::Question,
                what: beginning(&what).unwrap_or_default(),
                at: written,
            })))
        }
        "user_input_resolved" => {
            let QuestionRecord { msg } = parse::<QuestionRecord<QuestionResolved>>(payload)?;
            let call_id = msg.call_id;
            Ok(Some(ApprovalChange::Settled { call_id }))
        }
        _ => Ok(None),
    }
}

#[derive(Deserialize)]
struct QuestionRecord<T> {
    msg: T,
}

#[derive(Deserialize)]
struct QuestionRequest {
    call_id: CallId,
    turn_id: SubmissionId,
    questions: Vec<QuestionText>,
    agent: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct QuestionText {
    question: String,
}

#[derive(Deserialize)]
struct QuestionResolved {
    call_id: CallId,
}
