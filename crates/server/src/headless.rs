//! Answers to questions when nobody is there.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use troupe_protocol::approval::{ReviewDecision, UserInputResponse};
use troupe_protocol::op::ElicitationDecision;
use troupe_protocol::{CallId, EventMsg, Op};

/// What the user has decided about requests for approval that nobody can be shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Headless {
    #[default]
    Refuse,
    Approve,
    /// Somebody may still come: what has no answer after this time is refused.
    Wait(Duration),
    /// Nothing is decided in a person's place: whoever asked stops there.
    Escalate,
}

/// Whoever answers in the place of people: one for each root that is followed.
#[derive(Debug)]
pub struct Standin {
    policy: Headless,
    /// What is refused when its time is up. All wait equally long, so the next is the first.
    open: VecDeque<Open>,
}

#[derive(Debug)]
struct Open {
    call_id: CallId,
    due: Instant,
    refusal: Op,
}

/// What an event means to the stand-in.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// It asks nothing.
    Nothing,
    /// It is to be answered at once.
    Answer(Box<Op>),
    /// It is open for as long.
    Open { call_id: CallId, time: Duration },
    /// Only a person may answer it: the work is to end. This ends it for whoever asked.
    Escalate(Box<Op>),
}

impl Standin {
    pub fn new(policy: Headless) -> Self {
        Self {
            policy,
            open: VecDeque::new(),
        }
    }

    /// Takes in an event. An answer that somebody else gave ends the wait.
    pub fn hear(&mut self, msg: &EventMsg) -> Heard {
        if let EventMsg::ApprovalResolved { call_id, .. } = msg {
            self.open.retain(|open| open.call_id != *call_id);
        }
        let Some(op) = self.policy.answer(msg) else {
            return Heard::Nothing;
        };
        match (self.policy, asked_for_approval(msg)) {
            (Headless::Wait(time), Some(call_id)) => {
                self.open.push_back(Open {
                    call_id: call_id.clone(),
                    due: Instant::now() + time,
                    refusal: op,
                });
                let call_id = call_id.clone();
                Heard::Open { call_id, time }
            }
            (Headless::Escalate, Some(_)) => Heard::Escalate(Box::new(op)),
            _ => Heard::Answer(Box::new(op)),
        }
    }

    /// Returns the next refusal when its time has come. Nothing is lost if it is dropped.
    pub async fn due(&mut self) -> Op {
        loop {
            match self.open.front() {
                Some(next) => sleep_until(next.due).await,
                None => std::future::pending().await,
            }
            if let Some(next) = self.open.pop_front() {
                return next.refusal;
            }
        }
    }
}

/// Only approvals can wait or be passed on: nobody but a client of the session answers anything
/// else.
fn asked_for_approval(msg: &EventMsg) -> Option<&CallId> {
    match msg {
        EventMsg::ExecApprovalRequest(request) => Some(&request.call_id),
        EventMsg::ApplyPatchApprovalRequest(request) => Some(&request.call_id),
        _ => None,
    }
}

impl Headless {
    /// Returns the answer to an event that asks, once its time has come; none if it does not
    /// ask. Questions of the model and of servers are never answered in a person's name.
    fn answer(self, msg: &EventMsg) -> Option<Op> {
        let decision = match self {
            Self::Refuse | Self::Wait(_) => ReviewDecision::Denied,
            Self::Approve => ReviewDecision::Approved,
            Self::Escalate => ReviewDecision::Abort,
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

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_protocol::approval::ExecApprovalRequest;

    fn asked(id: &str) -> EventMsg {
        let request = serde_json::json!({
            "call_id": id, "turn_id": "1", "command": ["ls"], "cwd": "/",
            "parsed_cmd": [], "available_decisions": [],
        });
        let request: ExecApprovalRequest = serde_json::from_value(request).unwrap();
        EventMsg::ExecApprovalRequest(request)
    }

    fn refused(id: &str) -> Op {
        Op::ExecApproval {
            id: id.to_owned(),
            decision: ReviewDecision::Denied,
        }
    }

    #[tokio::test]
    async fn what_nobody_answers_is_refused_when_its_time_is_up() {
        let time = Duration::ZERO;
        let mut standin = Standin::new(Headless::Wait(time));
        for id in ["1", "2"] {
            let call_id = CallId(id.to_owned());
            assert_eq!(standin.hear(&asked(id)), Heard::Open { call_id, time });
        }
        let resolved = EventMsg::ApprovalResolved {
            call_id: CallId("1".to_owned()),
            decision: ReviewDecision::Approved,
        };
        assert_eq!(standin.hear(&resolved), Heard::Nothing);
        assert_eq!(standin.due().await, refused("2"));
        let more = tokio::time::timeout(Duration::ZERO, standin.due()).await;
        assert!(more.is_err(), "nothing is refused that has its answer");
    }

    #[test]
    fn what_only_a_person_may_decide_ends_the_task_that_asked() {
        let mut standin = Standin::new(Headless::Escalate);
        let abort = Op::ExecApproval {
            id: "1".to_owned(),
            decision: ReviewDecision::Abort,
        };
        assert_eq!(standin.hear(&asked("1")), Heard::Escalate(Box::new(abort)));
    }

    #[test]
    fn without_a_time_the_answer_is_given_at_once() {
        let mut standin = Standin::new(Headless::Refuse);
        assert_eq!(
            standin.hear(&asked("1")),
            Heard::Answer(Box::new(refused("1")))
        );
    }
}
