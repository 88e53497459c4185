//! A question that only a person can answer: of which event it is, who asks, what settles it,
//! and the operations that answer it. Each client adds only how it shows the question.

use serde_json::Value;

use crate::approval::{
    AgentLabel, ExecApprovalRequest, PatchApprovalRequest, ReviewDecision, UserInputRequest,
    UserInputResponse,
};
use crate::event::EventMsg;
use crate::id::{CallId, SubmissionId};
use crate::mcp::ElicitationRequest;
use crate::op::{ElicitationDecision, Op};

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PendingQuestion {
    Command(ExecApprovalRequest),
    Patch(PatchApprovalRequest),
    UserInput(UserInputRequest),
    /// An MCP server asks.
    Elicitation(ElicitationRequest),
}

impl PendingQuestion {
    /// Returns what an event asks, if it does.
    pub fn of(msg: &EventMsg) -> Option<Self> {
        Some(match msg {
            EventMsg::ExecApprovalRequest(request) => Self::Command(request.clone()),
            EventMsg::ApplyPatchApprovalRequest(request) => Self::Patch(request.clone()),
            EventMsg::RequestUserInput(request) => Self::UserInput(request.clone()),
            EventMsg::ElicitationRequest(request) => Self::Elicitation(request.clone()),
            _ => return None,
        })
    }

    /// Returns the id of the question that an event asks, if it does.
    pub fn id_of(msg: &EventMsg) -> Option<&CallId> {
        match msg {
            EventMsg::ExecApprovalRequest(request) => Some(&request.call_id),
            EventMsg::ApplyPatchApprovalRequest(request) => Some(&request.call_id),
            EventMsg::RequestUserInput(request) => Some(&request.call_id),
            EventMsg::ElicitationRequest(request) => Some(&request.id),
            _ => None,
        }
    }

    /// Returns the id of the question that an event settles, if it does.
    pub fn settled_by(msg: &EventMsg) -> Option<&CallId> {
        match msg {
            EventMsg::ApprovalResolved { call_id, .. }
            | EventMsg::UserInputResolved { call_id, .. } => Some(call_id),
            EventMsg::ElicitationResolved { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Returns the id under which it is answered.
    pub fn id(&self) -> &CallId {
        match self {
            Self::Command(request) => &request.call_id,
            Self::Patch(request) => &request.call_id,
            Self::UserInput(request) => &request.call_id,
            Self::Elicitation(request) => &request.id,
        }
    }

    /// Returns the agent that asks; none if the session itself does.
    pub fn agent(&self) -> Option<&AgentLabel> {
        match self {
            Self::Command(request) => request.agent.as_ref(),
            Self::Patch(request) => request.agent.as_ref(),
            Self::UserInput(request) => request.agent.as_ref(),
            Self::Elicitation(request) => request.agent.as_ref(),
        }
    }

    /// Returns the task that asks.
    pub fn task(&self) -> Option<&SubmissionId> {
        match self {
            Self::Command(request) => Some(&request.turn_id),
            Self::Patch(request) => Some(&request.turn_id),
            Self::UserInput(request) => Some(&request.turn_id),
            Self::Elicitation(request) => request.turn_id.as_ref(),
        }
    }

    /// Tells whether it is answered with yes or no, as commands and patches are.
    pub fn is_approval(&self) -> bool {
        match self {
            Self::Command(_) | Self::Patch(_) => true,
            Self::UserInput(_) | Self::Elicitation(_) => false,
        }
    }

    /// Returns the event that asks it.
    pub fn event(self) -> EventMsg {
        match self {
            Self::Command(request) => EventMsg::ExecApprovalRequest(request),
            Self::Patch(request) => EventMsg::ApplyPatchApprovalRequest(request),
            Self::UserInput(request) => EventMsg::RequestUserInput(request),
            Self::Elicitation(request) => EventMsg::ElicitationRequest(request),
        }
    }

    /// Returns the question as another session shows it: under another id, in the agent's name.
    #[must_use]
    pub fn relayed(mut self, id: CallId, agent: AgentLabel) -> Self {
        let (asked_id, asked_agent) = match &mut self {
            Self::Command(request) => (&mut request.call_id, &mut request.agent),
            Self::Patch(request) => (&mut request.call_id, &mut request.agent),
            Self::UserInput(request) => (&mut request.call_id, &mut request.agent),
            Self::Elicitation(request) => (&mut request.id, &mut request.agent),
        };
        *asked_id = id;
        *asked_agent = Some(agent);
        self
    }

    /// Returns the operation that decides a command or a patch. Questions of the model and of
    /// servers are not answered by a decision: they are left without an answer, whatever it is.
    pub fn decide(&self, decision: ReviewDecision) -> Op {
        match self {
            Self::Command(request) => request.decide(decision),
            Self::Patch(request) => request.decide(decision),
            Self::UserInput(request) => request.answer(UserInputResponse::default()),
            Self::Elicitation(request) => request.resolve(ElicitationDecision::Decline, None),
        }
    }

    /// Returns the operation that answers the questions of a model. Anything else is refused: this
    /// is no answer to it.
    pub fn answer(&self, response: UserInputResponse) -> Op {
        match self {
            Self::UserInput(request) => request.answer(response),
            Self::Command(_) | Self::Patch(_) | Self::Elicitation(_) => self.deny(),
        }
    }

    /// Returns the operation that refuses it, or leaves it without an answer.
    pub fn deny(&self) -> Op {
        self.decide(ReviewDecision::Denied)
    }
}

impl ExecApprovalRequest {
    pub fn decide(&self, decision: ReviewDecision) -> Op {
        Op::ExecApproval {
            id: self.call_id.0.clone(),
            decision,
        }
    }
}

impl PatchApprovalRequest {
    pub fn decide(&self, decision: ReviewDecision) -> Op {
        Op::PatchApproval {
            id: self.call_id.0.clone(),
            decision,
        }
    }
}

impl UserInputRequest {
    pub fn answer(&self, response: UserInputResponse) -> Op {
        Op::UserInputAnswer {
            id: self.call_id.0.clone(),
            response,
        }
    }
}

impl ElicitationRequest {
    pub fn resolve(&self, decision: ElicitationDecision, content: Option<Value>) -> Op {
        Op::ResolveElicitation {
            server_name: self.server_name.clone(),
            request_id: self.id.0.clone(),
            decision,
            content,
        }
    }
}

#[cfg(test)]
mod tests;
