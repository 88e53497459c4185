//! What a call wants to know of a person, and what can be said to it.

use thiserror::Error;
use troupe_protocol::approval::{
    AgentLabel, ExecApprovalRequest, PatchApprovalRequest, ReviewDecision, UserInputRequest,
    UserInputResponse,
};
use troupe_protocol::mcp::{ElicitationRequest, ElicitationResponse};
use troupe_protocol::op::ElicitationDecision;
use troupe_protocol::{CallId, EventMsg};
use troupe_tools::{Ask, check_answers};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inquiry {
    Approval(Ask),
    UserInput(UserInputRequest),
    /// A server asks.
    Elicitation(ElicitationRequest),
}

/// What a person says to an inquiry, which ends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
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

/// Why a word is not taken. The inquiry, if there is one, stays open.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotTaken {
    #[error("nothing is asked under {id}; it was answered before, or its task is over")]
    Unknown { id: String },
    #[error("{id} is not answered by this: {problem}")]
    Unfit { id: String, problem: String },
}

impl Inquiry {
    /// Returns what an event puts to people, if it does.
    pub(crate) fn of(msg: &EventMsg) -> Option<Self> {
        match msg {
            EventMsg::ExecApprovalRequest(request) => {
                Some(Self::Approval(Ask::Exec(request.clone())))
            }
            EventMsg::ApplyPatchApprovalRequest(request) => {
                Some(Self::Approval(Ask::Patch(request.clone())))
            }
            EventMsg::RequestUserInput(request) => Some(Self::UserInput(request.clone())),
            EventMsg::ElicitationRequest(request) => Some(Self::Elicitation(request.clone())),
            _ => None,
        }
    }

    /// Returns the id under which it is answered.
    pub(crate) fn id(&self) -> &CallId {
        match self {
            Self::Approval(Ask::Exec(request)) => &request.call_id,
            Self::Approval(Ask::Patch(request)) => &request.call_id,
            Self::UserInput(request) => &request.call_id,
            Self::Elicitation(request) => &request.id,
        }
    }

    /// Returns in whose name it is put; none if it is the session's own.
    pub(crate) fn agent(&self) -> Option<&AgentLabel> {
        match self {
            Self::Approval(Ask::Exec(request)) => request.agent.as_ref(),
            Self::Approval(Ask::Patch(request)) => request.agent.as_ref(),
            Self::UserInput(request) => request.agent.as_ref(),
            Self::Elicitation(request) => request.agent.as_ref(),
        }
    }

    /// Returns the event that puts it to people.
    pub fn event(self) -> EventMsg {
        match self {
            Self::Approval(Ask::Exec(request)) => EventMsg::ExecApprovalRequest(request),
            Self::Approval(Ask::Patch(request)) => EventMsg::ApplyPatchApprovalRequest(request),
            Self::UserInput(request) => EventMsg::RequestUserInput(request),
            Self::Elicitation(request) => EventMsg::ElicitationRequest(request),
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
            Self::Elicitation(request) => Self::Elicitation(ElicitationRequest {
                id: call_id,
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
            (Self::Approval(_), Word::Decision(_))
            | (Self::Approval(Ask::Exec(_)), Word::ExecDecision(_))
            | (Self::Approval(Ask::Patch(_)), Word::PatchDecision(_))
            | (Self::UserInput(_), Word::Input(None)) => Ok(()),
            (Self::Approval(Ask::Exec(_)), Word::PatchDecision(_)) => Err(
                "it asks to run something, not to apply a patch; send an exec_approval".to_owned(),
            ),
            (Self::Approval(Ask::Patch(_)), Word::ExecDecision(_)) => Err(
                "it asks to apply a patch, not to run something; send a patch_approval".to_owned(),
            ),
            (Self::UserInput(request), Word::Input(Some(response))) => {
                check_answers(&request.questions, response)
            }
            (
                Self::Elicitation(request),
                Word::Elicitation {
                    server_name,
                    response,
                },
            ) => check_elicitation(request, server_name, response),
            (Self::Approval(_), Word::Input(_) | Word::Elicitation { .. }) => {
                Err("it asks for an approval, not for user input".to_owned())
            }
            (
                Self::UserInput(_),
                Word::Decision(_)
                | Word::ExecDecision(_)
                | Word::PatchDecision(_)
                | Word::Elicitation { .. },
            ) => Err("it asks for user input; send a user_input_answer".to_owned()),
            (
                Self::Elicitation(_),
                Word::Decision(_) | Word::ExecDecision(_) | Word::PatchDecision(_) | Word::Input(_),
            ) => Err("a server asks; send a resolve_elicitation".to_owned()),
        };
        checked.map_err(|problem| NotTaken::Unfit {
            id: id.to_owned(),
            problem,
        })
    }

    /// The word when there is nobody to give one.
    pub fn refusal(&self) -> Word {
        self.end(ReviewDecision::Denied, ElicitationDecision::Decline)
    }

    /// The word when it is no longer asked.
    pub fn withdrawal(&self) -> Word {
        self.end(ReviewDecision::Abort, ElicitationDecision::Cancel)
    }

    fn end(&self, decision: ReviewDecision, elicitation: ElicitationDecision) -> Word {
        match self {
            Self::Approval(_) => Word::Decision(decision),
            Self::UserInput(_) => Word::Input(None),
            Self::Elicitation(request) => Word::Elicitation {
                server_name: request.server_name.clone(),
                response: ElicitationResponse::without_content(elicitation),
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

impl Word {
    /// Returns it as it counts once it was found to fit.
    #[must_use]
    pub fn settled(self) -> Self {
        match self {
            Self::ExecDecision(decision) | Self::PatchDecision(decision) => {
                Self::Decision(decision)
            }
            Self::Input(response) => Self::Input(response.map(UserInputResponse::said)),
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

#[cfg(test)]
mod tests;
