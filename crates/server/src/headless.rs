//! Answers to questions when nobody is there.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::{CallId, EventMsg, Op, PendingQuestion};

/// What the user has decided about requests for approval that nobody can be shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HeadlessPolicy {
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
pub struct HeadlessApprover {
    policy: HeadlessPolicy,
    /// What is refused when its time is up. All wait equally long, so the next is the first.
    open: VecDeque<OpenRequest>,
}

#[derive(Debug)]
struct OpenRequest {
    call_id: CallId,
    due: Instant,
    refusal: Op,
}

/// What an event means to the stand-in.
#[derive(Debug, Clone, PartialEq)]
pub enum HeadlessReaction {
    /// It asks nothing.
    Nothing,
    /// It is to be answered at once.
    Answer(Box<Op>),
    /// It is open for as long.
    Open { call_id: CallId, time: Duration },
    /// Only a person may answer it: the work is to end. This ends it for whoever asked.
    Escalate(Box<Op>),
}

impl HeadlessApprover {
    pub fn new(policy: HeadlessPolicy) -> Self {
        Self {
            policy,
            open: VecDeque::new(),
        }
    }

    /// Takes in an event. An answer that somebody else gave ends the wait.
    pub fn observe(&mut self, msg: &EventMsg) -> HeadlessReaction {
        if let Some(settled) = PendingQuestion::settled_by(msg) {
            self.open.retain(|open| open.call_id != *settled);
        }
        let Some(question) = PendingQuestion::of(msg) else {
            return HeadlessReaction::Nothing;
        };
        let op = question.decide(self.policy.decision());
        // Only approvals can wait or be passed on: nobody but a client of the session answers
        // anything else.
        match self.policy {
            HeadlessPolicy::Wait(time) if question.is_approval() => {
                let call_id = question.id().clone();
                self.open.push_back(OpenRequest {
                    call_id: call_id.clone(),
                    due: Instant::now() + time,
                    refusal: op,
                });
                HeadlessReaction::Open { call_id, time }
            }
            HeadlessPolicy::Escalate if question.is_approval() => {
                HeadlessReaction::Escalate(Box::new(op))
            }
            HeadlessPolicy::Refuse
            | HeadlessPolicy::Approve
            | HeadlessPolicy::Wait(_)
            | HeadlessPolicy::Escalate => HeadlessReaction::Answer(Box::new(op)),
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

impl HeadlessPolicy {
    /// Returns what is decided about an approval once its time has come. Questions of the model
    /// and of servers are never answered in a person's name.
    fn decision(self) -> ReviewDecision {
        match self {
            Self::Refuse | Self::Wait(_) => ReviewDecision::Denied,
            Self::Approve => ReviewDecision::Approved,
            Self::Escalate => ReviewDecision::Abort,
        }
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
        let mut standin = HeadlessApprover::new(HeadlessPolicy::Wait(time));
        for id in ["1", "2"] {
            let call_id = CallId(id.to_owned());
            assert_eq!(
                standin.observe(&asked(id)),
                HeadlessReaction::Open { call_id, time }
            );
        }
        let resolved = EventMsg::ApprovalResolved {
            call_id: CallId("1".to_owned()),
            decision: ReviewDecision::Approved,
        };
        assert_eq!(standin.observe(&resolved), HeadlessReaction::Nothing);
        assert_eq!(standin.due().await, refused("2"));
        let more = tokio::time::timeout(Duration::ZERO, standin.due()).await;
        assert!(more.is_err(), "nothing is refused that has its answer");
    }

    #[test]
    fn what_only_a_person_may_decide_ends_the_task_that_asked() {
        let mut standin = HeadlessApprover::new(HeadlessPolicy::Escalate);
        let abort = Op::ExecApproval {
            id: "1".to_owned(),
            decision: ReviewDecision::Abort,
        };
        assert_eq!(
            standin.observe(&asked("1")),
            HeadlessReaction::Escalate(Box::new(abort))
        );
    }

    #[test]
    fn without_a_time_the_answer_is_given_at_once() {
        let mut standin = HeadlessApprover::new(HeadlessPolicy::Refuse);
        assert_eq!(
            standin.observe(&asked("1")),
            HeadlessReaction::Answer(Box::new(refused("1")))
        );
    }
}
