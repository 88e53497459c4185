//! Answers to questions when nobody is there.

use troupe_protocol::approval::{ReviewDecision, UserInputResponse};
use troupe_protocol::op::ElicitationDecision;
use troupe_protocol::{EventMsg, Op};

/// What the user has decided about requests for approval that nobody can be shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Headless {
    #[default]
    Refuse,
    Approve,
}

impl Headless {
    /// Returns the answer to an event that asks; none if it does not. Questions of the model
    /// and of servers are never answered in a person's name.
    pub fn answer(self, msg: &EventMsg) -> Option<Op> {
        let decision = match self {
            Self::Refuse => ReviewDecision::Denied,
            Self::Approve => ReviewDecision::Approved,
        };
        Some(match msg {
            EventMsg::ExecApprovalRequest(request) => Op::ExecApproval {
                id: request.call_id.0.clone(),
                decision,
            },
            EventMsg::ApplyPatchApprovalRequest(request) => Op::PatchApproval {
                id: request.call_id.0.clone(),
                decision,
            },
            EventMsg::RequestUserInput(request) => Op::UserInputAnswer {
                id: request.call_id.0.clone(),
                response: UserInputResponse::default(),
            },
            EventMsg::ElicitationRequest(request) => Op::ResolveElicitation {
                server_name: request.server_name.clone(),
                request_id: request.id.0.clone(),
                decision: ElicitationDecision::Decline,
                content: None,
            },
            _ => return None,
        })
    }
}
