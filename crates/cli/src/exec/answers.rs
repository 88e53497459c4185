//! Answers to questions when nobody is there: the configuration speaks.

use troupe_protocol::approval::{ReviewDecision, UserInputResponse};
use troupe_protocol::op::ElicitationDecision;
use troupe_protocol::{EventMsg, Op};

use crate::settings::HeadlessApprovals;

/// Returns the answer to an event that asks; none if it does not.
pub fn headless(msg: &EventMsg, approvals: HeadlessApprovals) -> Option<Op> {
    let decision = match approvals {
        HeadlessApprovals::Refuse => ReviewDecision::Denied,
        HeadlessApprovals::Approve => ReviewDecision::Approved,
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
