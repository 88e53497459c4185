//! What a call wants to know of a person, and what can be said to it.

use thiserror::Error;
use troupe_protocol::approval::{
    AgentLabel, ExecApprovalRequest, PatchApprovalRequest, ReviewDecision, UserInputRequest,
    UserInputResponse,
};
use troupe_protocol::{CallId, EventMsg};
use troupe_tools::{Ask, check_answers};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inquiry {
    Approval(Ask),
    UserInput(UserInputRequest),
}

/// What a person says to an inquiry, which ends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    Decision(ReviewDecision),
    /// None if the questions were withdrawn, or there is nobody to answer.
    Input(Option<UserInputResponse>),
}

/// Why a word is not taken. The inquiry, if there is one, stays open.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotTaken {
    #[error("nothing is asked under {id}; it was answered before, or its task is over")]
    Unknown { id: String },
    #[error("{id} is not answered by this: {problem}")]
    Unfit { id: String, problem: String },
}

impl Inquiry {
    /// Returns the event that puts it to people.
    pub fn event(self) -> EventMsg {
        match self {
            Self::Approval(Ask::Exec(request)) => EventMsg::ExecApprovalRequest(request),
            Self::Approval(Ask::Patch(request)) => EventMsg::ApplyPatchApprovalRequest(request),
            Self::UserInput(request) => EventMsg::RequestUserInput(request),
        }
    }

    /// Returns the inquiry as it is put elsewhere: under another id, in the agent's name.
    #[must_use]
    pub fn relayed(self, call_id: CallId, agent: AgentLabel) -> Self {
        let agent = Some(agent);
        match self {
            Self::Approval(Ask::Exec(request)) => Self::Approval(Ask::Exec(ExecApprovalRequest {
                call_id,
                agent,
                ..request
            })),
            Self::Approval(Ask::Patch(request)) => {
                Self::Approval(Ask::Patch(PatchApprovalRequest {
                    call_id,
                    agent,
                    ..request
                }))
            }
            Self::UserInput(request) => Self::UserInput(UserInputRequest {
                call_id,
                agent,
                ..request
            }),
        }
    }

    /// Tells whether this can be its end; `id` is what it was put under.
    ///
    /// # Errors
    ///
    /// Says what would fit.
    pub fn check(&self, id: &str, word: &Word) -> Result<(), NotTaken> {
        let checked = match (self, word) {
            (Self::Approval(_), Word::Decision(_)) | (Self::UserInput(_), Word::Input(None)) => {
                Ok(())
            }
            (Self::UserInput(request), Word::Input(Some(response))) => {
                check_answers(&request.questions, response)
            }
            (Self::Approval(_), Word::Input(_)) => {
                Err("it asks for an approval, not for user input".to_owned())
            }
            (Self::UserInput(_), Word::Decision(_)) => {
                Err("it asks for user input; send a user_input_answer".to_owned())
            }
        };
        checked.map_err(|problem| NotTaken::Unfit {
            id: id.to_owned(),
            problem,
        })
    }

    /// The word when there is nobody to give one.
    pub fn refusal(&self) -> Word {
        self.end(ReviewDecision::Denied)
    }

    /// The word when it is no longer asked.
    pub fn withdrawal(&self) -> Word {
        self.end(ReviewDecision::Abort)
    }

    fn end(&self, decision: ReviewDecision) -> Word {
        match self {
            Self::Approval(_) => Word::Decision(decision),
            Self::UserInput(_) => Word::Input(None),
        }
    }
}

impl Word {
    /// Returns the event that tells people of the end.
    pub fn event(self, call_id: CallId) -> EventMsg {
        match self {
            Self::Decision(decision) => EventMsg::ApprovalResolved { call_id, decision },
            Self::Input(response) => EventMsg::UserInputResolved { call_id, response },
        }
    }
}

#[cfg(test)]
mod tests;
