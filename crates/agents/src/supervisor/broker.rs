//! One place for every question of the tree: asked anywhere, shown at the root, answered
//! once.

use std::collections::BTreeMap;

use tokio::sync::oneshot;
use troupe_engine::Order;
use troupe_protocol::approval::{AgentLabel, ExecApprovalRequest, ReviewDecision};
use troupe_protocol::spawn::ApprovalRoute;
use troupe_protocol::{AgentId, CallId, EventMsg, Op};
use troupe_tools::Ask;

use super::Supervisor;
use super::member::Presence;
use crate::tree::command::Report;
use crate::tree::status::WaitingOn;

#[derive(Debug, Default)]
pub(super) struct Broker {
    /// Open questions by the id under which they are answered.
    questions: BTreeMap<String, Question>,
    /// Nobody is left to answer: what would be asked is refused.
    unattended: bool,
}

#[derive(Debug)]
struct Question {
    agent: AgentId,
    call_id: CallId,
    asker: Asker,
    /// Where it is shown besides the root.
    shown_at: Option<AgentId>,
    decision: Option<ReviewDecision>,
}

/// Who waits for the answer.
#[derive(Debug)]
enum Asker {
    /// A call of the agent's own session.
    Session(Kind),
    /// A tool that asks the parent in the agent's place.
    Tool(Option<oneshot::Sender<Option<ReviewDecision>>>),
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Exec,
    Patch,
}

impl Supervisor {
    /// A child's call asks; whoever watches the root is shown it.
    pub(super) fn asking(&mut self, agent: AgentId, call_id: CallId, ask: Ask) {
        let kind = match &ask {
            Ask::Exec(_) => Kind::Exec,
            Ask::Patch(_) => Kind::Patch,
        };
        let route = self.members.get(&agent).map(|member| member.spec.approvals);
        let shown_at = match route {
            Some(ApprovalRoute::Route) => None,
            Some(ApprovalRoute::Parent) => self.asked_parent(agent),
            Some(ApprovalRoute::Never) | None => {
                let op = kind.answer(&call_id, ReviewDecision::Denied);
                return self.give(agent, Order::Operate(op));
            }
        };
        let asker = Asker::Session(kind);
        self.put(agent, call_id, asker, shown_at, |id, agent| {
            match ask.clone() {
                Ask::Exec(request) => EventMsg::ExecApprovalRequest(ExecApprovalRequest {
                    call_id: id,
                    agent: Some(agent),
                    ..request
                }),
                Ask::Patch(request) => EventMsg::ApplyPatchApprovalRequest(
                    troupe_protocol::approval::PatchApprovalRequest {
                        call_id: id,
                        agent: Some(agent),
                        ..request
                    },
                ),
            }
        });
    }

    /// A tool asks the parent of its agent. Without one that could be asked there is no
    /// answer.
    pub(super) fn ask_parent(
        &mut self,
        agent: AgentId,
        request: ExecApprovalRequest,
        reply: oneshot::Sender<Option<ReviewDecision>>,
    ) {
        let parent = self.tree.get(agent).and_then(|node| node.parent);
        let Some(parent) = parent.filter(|parent| self.is_in_a_turn(*parent)) else {
            // The tool asks its own session instead.
            reply.send(None).ok();
            return;
        };
        let shown_at = (parent != AgentId::ROOT).then_some(parent);
        let call_id = request.call_id.clone();
        let asker = Asker::Tool(Some(reply));
        self.put(agent, call_id, asker, shown_at, |id, agent| {
            EventMsg::ExecApprovalRequest(ExecApprovalRequest {
                call_id: id,
                agent: Some(agent),
                ..request.clone()
            })
        });
    }

    fn put(
        &mut self,
        agent: AgentId,
        call_id: CallId,
        asker: Asker,
        shown_at: Option<AgentId>,
        event: impl Fn(CallId, AgentLabel) -> EventMsg,
    ) {
        let Some(label) = self.label(agent) else {
            return;
        };
        let id = format!("{}#{call_id}", label.path);
        let event = event(CallId(id.clone()), label);
        let question = Question {
            agent,
            call_id,
            asker,
            shown_at,
            decision: None,
        };
        self.broker.questions.insert(id.clone(), question);
        let on = WaitingOn::Approval;
        self.tell_tree(agent, Report::Waiting { on });
        self.show(shown_at, event);
        if self.broker.unattended {
            self.decide(&id, ReviewDecision::Denied);
        }
    }

    /// Answers every question with no, and all that will be asked.
    pub(super) fn refuse_questions(&mut self) {
        self.broker.unattended = true;
        let open: Vec<String> = self.broker.questions.keys().cloned().collect();
        for id in open {
            self.decide(&id, ReviewDecision::Denied);
        }
    }

    /// Takes a person's word. The first one counts; the agent hears it when it may go on.
    pub(super) fn decide(&mut self, id: &str, decision: ReviewDecision) -> bool {
        let Some(question) = self.broker.questions.get_mut(id) else {
            return false;
        };
        if question.decision.is_some() {
            return false;
        }
        question.decision = Some(decision);
        let agent = question.agent;
        let open = |question: &Question| question.agent == agent && question.decision.is_none();
        if self.broker.questions.values().any(open) {
            // Still blocked by another question; this one may go on at once.
            self.proceed(agent);
        } else {
            self.tell_tree(agent, Report::Unblocked);
        }
        true
    }

    /// Hands over the answers that an agent waits for.
    pub(super) fn proceed(&mut self, agent: AgentId) {
        let mut orders = Vec::new();
        let mut resolved = Vec::new();
        for (id, question) in &mut self.broker.questions {
            let (true, Some(decision)) = (question.agent == agent, question.decision) else {
                continue;
            };
            match &mut question.asker {
                Asker::Session(kind) => orders.push(kind.answer(&question.call_id, decision)),
                Asker::Tool(reply) => {
                    if let Some(reply) = reply.take() {
                        // A call that is gone does not need it.
                        reply.send(Some(decision)).ok();
                    }
                    resolved.push((id.clone(), decision));
                }
            }
        }
        for op in orders {
            self.give(agent, Order::Operate(op));
        }
        for (id, decision) in resolved {
            self.resolve_question(&id, decision);
        }
    }

    /// The session has taken an answer, or withdrawn the question.
    pub(super) fn answered(&mut self, agent: AgentId, call_id: &CallId, decision: ReviewDecision) {
        let mut questions = self.broker.questions.iter();
        let found = questions.find(|(_, question)| {
            question.agent == agent
                && question.call_id == *call_id
                && matches!(question.asker, Asker::Session(_))
        });
        let Some(id) = found.map(|(id, _)| id.clone()) else {
            return;
        };
        let unanswered = self
            .broker
            .questions
            .get(&id)
            .is_some_and(|q| q.decision.is_none());
        self.resolve_question(&id, decision);
        let open = |question: &Question| question.agent == agent && question.decision.is_none();
        if unanswered && !self.broker.questions.values().any(open) {
            self.tell_tree(agent, Report::Unblocked);
        }
    }

    /// A task that is over asks nothing more.
    pub(super) fn withdraw_asks(&mut self, agent: AgentId) {
        let questions = self.broker.questions.iter();
        let ids: Vec<String> = questions
            .filter(|(_, question)| question.agent == agent)
            .map(|(id, _)| id.clone())
            .collect();
        for id in ids {
            self.resolve_question(&id, ReviewDecision::Abort);
        }
    }

    fn resolve_question(&mut self, id: &str, decision: ReviewDecision) {
        let Some(question) = self.broker.questions.remove(id) else {
            return;
        };
        let event = EventMsg::ApprovalResolved {
            call_id: CallId(id.to_owned()),
            decision,
        };
        self.show(question.shown_at, event);
    }

    /// Shows an event at the root, and at one more place.
    fn show(&mut self, also_at: Option<AgentId>, event: EventMsg) {
        if let Some(agent) = also_at {
            self.tell(agent, vec![event.clone()]);
        }
        self.tell(AgentId::ROOT, vec![event]);
    }

    fn asked_parent(&self, agent: AgentId) -> Option<AgentId> {
        let parent = self.tree.get(agent)?.parent?;
        (parent != AgentId::ROOT && self.is_in_a_turn(parent)).then_some(parent)
    }

    fn is_in_a_turn(&self, agent: AgentId) -> bool {
        let present = agent == AgentId::ROOT
            || self
                .members
                .get(&agent)
                .is_some_and(|member| matches!(member.presence, Presence::Present(_)));
        present && self.tree.task_in_flight(agent).is_some()
    }

    fn label(&self, agent: AgentId) -> Option<AgentLabel> {
        let node = self.tree.get(agent)?;
        Some(AgentLabel {
            agent_id: agent,
            path: node.path.clone(),
            session_id: node.session,
        })
    }
}

impl Kind {
    fn answer(self, call_id: &CallId, decision: ReviewDecision) -> Op {
        let id = call_id.0.clone();
        match self {
            Self::Exec => Op::ExecApproval { id, decision },
            Self::Patch => Op::PatchApproval { id, decision },
        }
    }
}
