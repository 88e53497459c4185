//! What a person can say to a question, and whether it fits.

use thiserror::Error;
use troupe_protocol::approval::{ReviewDecision, UserInputResponse};
use troupe_protocol::mcp::{ElicitationRequest, ElicitationResponse};
use troupe_protocol::op::ElicitationDecision;
use troupe_protocol::{CallId, EventMsg, PendingQuestion};
use troupe_tools::check_answers;

/// What a person says to a question, which ends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InquiryAnswer {
    Decision(ReviewDecision),
    /// A decision that is about running something, and about nothing else. Once it is found to
    /// fit it is a decision like any other.
    ExecDecision(ReviewDecision),
    /// The same about a patch.
    PatchDecision(ReviewDecision),
    /// None if the questions were withdrawn, or there is nobody to answer.
    Input(Option<UserInputResponse>),
    /// What the server that asks is told.
    Elicitation {
        server_name: String,
        response: ElicitationResponse,
    },
}

/// Why a word is not taken. The question, if there is one, stays open.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AnswerRefusal {
    #[error("nothing is asked under {id}; it was answered before, or its task is over")]
    Unknown { id: String },
    #[error("{id} is not answered by this: {problem}")]
    Unfit { id: String, problem: String },
}

impl InquiryAnswer {
    /// Tells whether this can end a question; `id` is what it was asked under.
    ///
    /// # Errors
    ///
    /// Says what would fit.
    pub fn check(&self, question: &PendingQuestion, id: &str) -> Result<(), AnswerRefusal> {
        use PendingQuestion::{Command, Elicitation, Patch, UserInput};
        let checked = match (question, self) {
            (Command(_) | Patch(_), InquiryAnswer::Decision(_))
            | (Command(_), InquiryAnswer::ExecDecision(_))
            | (Patch(_), InquiryAnswer::PatchDecision(_))
            | (UserInput(_), InquiryAnswer::Input(None)) => Ok(()),
            (Command(_), InquiryAnswer::PatchDecision(_)) => Err(
                "it asks to run something, not to apply a patch; send an exec_approval".to_owned(),
            ),
            (Patch(_), InquiryAnswer::ExecDecision(_)) => Err(
                "it asks to apply a patch, not to run something; send a patch_approval".to_owned(),
            ),
            (UserInput(request), InquiryAnswer::Input(Some(response))) => {
                check_answers(&request.questions, response)
            }
            (
                Elicitation(request),
                InquiryAnswer::Elicitation {
                    server_name,
                    response,
                },
            ) => check_elicitation(request, server_name, response),
            (
                Command(_) | Patch(_),
                InquiryAnswer::Input(_) | InquiryAnswer::Elicitation { .. },
            ) => Err("it asks for an approval, not for user input".to_owned()),
            (
                UserInput(_),
                InquiryAnswer::Decision(_)
                | InquiryAnswer::ExecDecision(_)
                | InquiryAnswer::PatchDecision(_)
                | InquiryAnswer::Elicitation { .. },
            ) => Err("it asks for user input; send a user_input_answer".to_owned()),
            (
                Elicitation(_),
                InquiryAnswer::Decision(_)
                | InquiryAnswer::ExecDecision(_)
                | InquiryAnswer::PatchDecision(_)
                | InquiryAnswer::Input(_),
            ) => Err("a server asks; send a resolve_elicitation".to_owned()),
        };
        checked.map_err(|problem| AnswerRefusal::Unfit {
            id: id.to_owned(),
            problem,
        })
    }

    /// Returns the word when there is nobody to give one.
    pub fn refusal(question: &PendingQuestion) -> Self {
        Self::end_of(
            question,
            ReviewDecision::Denied,
            ElicitationDecision::Decline,
        )
    }

    /// Returns the word when the question is withdrawn.
    pub fn withdrawal(question: &PendingQuestion) -> Self {
        Self::end_of(question, ReviewDecision::Abort, ElicitationDecision::Cancel)
    }

    fn end_of(
        question: &PendingQuestion,
        decision: ReviewDecision,
        elicitation: ElicitationDecision,
    ) -> Self {
        match question {
            PendingQuestion::Command(_) | PendingQuestion::Patch(_) => Self::Decision(decision),
            PendingQuestion::UserInput(_) => Self::Input(None),
            PendingQuestion::Elicitation(request) => Self::Elicitation {
                server_name: request.server_name.clone(),
                response: ElicitationResponse::without_content(elicitation),
            },
        }
    }

    /// Returns it as it counts once it was found to fit.
    #[must_use]
    pub fn settled(self) -> Self {
        match self {
            Self::ExecDecision(decision) | Self::PatchDecision(decision) => {
                Self::Decision(decision)
            }
            Self::Input(response) => {
                Self::Input(response.map(UserInputResponse::without_empty_answers))
            }
            word @ (Self::Decision(_) | Self::Elicitation { .. }) => word,
        }
    }

    /// Returns the event that tells people of the end.
    pub fn event(self, call_id: CallId) -> EventMsg {
        match self {
            Self::Decision(decision)
            | Self::ExecDecision(decision)
            | Self::PatchDecision(decision) => EventMsg::ApprovalResolved { call_id, decision },
            Self::Input(response) => EventMsg::UserInputResolved { call_id, response },
            Self::Elicitation { response, .. } => EventMsg::ElicitationResolved {
                id: call_id,
                decision: response.decision,
            },
        }
    }
}

/// A form that is accepted comes back filled; an address was only to be visited.
fn check_elicitation(
    request: &ElicitationRequest,
    server_name: &str,
    response: &ElicitationResponse,
) -> Result<(), String> {
    if request.server_name != server_name {
        return Err(format!("the server {} asks it", request.server_name));
    }
    let is_form = request.request.get("requestedSchema").is_some();
    let is_filled = matches!(&response.content, Some(content) if content.is_object());
    match response.decision {
        ElicitationDecision::Accept if is_form && !is_filled => {
            Err("a form that is accepted needs its fields as an object in content".to_owned())
        }
        ElicitationDecision::Accept
        | ElicitationDecision::Decline
        | ElicitationDecision::Cancel => Ok(()),
    }
}

#[cfg(test)]
mod tests;
