//! One place for every question of the tree: asked anywhere, shown at the root, answered
//! once.

use std::collections::BTreeMap;

use tokio::sync::oneshot;
use troupe_engine::{AnswerRefusal, InquiryAnswer, SessionOrder};
use troupe_protocol::agent::WaitingOn;
use troupe_protocol::approval::{AgentLabel, ExecApprovalRequest, ReviewDecision};
use troupe_protocol::spawn::ApprovalRoute;
use troupe_protocol::tree::Caller;
use troupe_protocol::{AgentId, CallId, EventMsg, PendingQuestion, StopVerb, discard};
use troupe_tree::command::{StopCommand, StopMode, TaskReport, TreeAction};

use super::Supervisor;
use crate::tree_access::{AgentView, TreeError};

#[derive(Debug, Default)]
pub(super) struct QuestionBroker {
    /// Open questions by the id under which they are answered.
    questions: BTreeMap<String, RelayedQuestion>,
    /// Nobody is left to answer: what would be asked is refused.
    unattended: bool,
}

#[derive(Debug)]
struct RelayedQuestion {
    agent: AgentId,
    call_id: CallId,
    asked: PendingQuestion,
    asker: AnswerRecipient,
    /// Where it is shown besides the root.
    shown_at: Option<AgentId>,
    word: Option<InquiryAnswer>,
}

/// Recipient of the answer.
#[derive(Debug)]
enum AnswerRecipient {
    /// A call of the agent's own session.
    Session,
    /// A tool that asks the parent in the agent's place.
    Tool(Option<oneshot::Sender<Option<ReviewDecision>>>),
}

impl QuestionBroker {
    /// Finds the open question of a call of an agent's own session.
    fn question_of(&self, agent: AgentId, call_id: &CallId) -> Option<String> {
        let mut questions = self.questions.iter();
        let found = questions.find(|(_, question)| {
            question.agent == agent
                && question.call_id == *call_id
                && matches!(question.asker, AnswerRecipient::Session)
        });
        found.map(|(id, _)| id.clone())
    }

    /// Checks a person's word, given where `at` is shown. Returns the id of the question that it
    /// answers; the first word counts.
    fn check_answer(
        &self,
        at: AgentId,
        id: &str,
        word: &InquiryAnswer,
    ) -> Result<String, AnswerRefusal> {
        let open = self.questions.get_key_value(id);
        // Where it is asked it goes by the call's own id.
        let open = open.or_else(|| {
            let mut questions = self.questions.iter();
            questions.find(|(_, question)| question.agent == at && question.call_id.0 == id)
        });
        let Some((known, question)) = open.filter(|(_, question)| question.word.is_none()) else {
            return Err(AnswerRefusal::Unknown { id: id.to_owned() });
        };
        word.check(&question.asked, id)?;
        Ok(known.clone())
    }

    /// Returns every question with the word of one that nobody answers.
    fn refusals(&self) -> Vec<(String, InquiryAnswer)> {
        let open = self.questions.iter();
        open.map(|(id, question)| (id.clone(), InquiryAnswer::refusal(&question.asked)))
            .collect()
    }

    /// Returns the questions of an agent with the word that takes them back.
    fn withdrawals(&self, agent: AgentId) -> Vec<(String, InquiryAnswer)> {
        let questions = self.questions.iter();
        questions
            .filter(|(_, question)| question.agent == agent)
            .map(|(id, question)| (id.clone(), InquiryAnswer::withdrawal(&question.asked)))
            .collect()
    }

    /// Gives a question its answer, unless it has one. Returns whose it is.
    fn accept(&mut self, id: &str, word: InquiryAnswer) -> Option<AgentId> {
        let question = self.questions.get_mut(id)?;
        if question.word.is_some() {
            return None;
        }
        question.word = Some(word);
        Some(question.agent)
    }

    /// Tells whether a question of the agent has no answer yet.
    fn has_open(&self, agent: AgentId) -> bool {
        let mut questions = self.questions.values();
        questions.any(|question| question.agent == agent && question.word.is_none())
    }

    /// Hands the answers that an agent waits for to its tools, and collects those for its session.
    fn hand_over(&mut self, agent: AgentId) -> ReadyAnswers {
        let mut ready = ReadyAnswers::default();
        for (id, question) in &mut self.questions {
            let (true, Some(word)) = (question.agent == agent, &question.word) else {
                continue;
            };
            match &mut question.asker {
                // The tool ends with the task, and so does the question: told now, it would
                // go on for a moment.
                AnswerRecipient::Tool(_)
                    if *word == InquiryAnswer::Decision(ReviewDecision::Abort) =>
                {
                    ready.aborts = true;
                }
                AnswerRecipient::Session => ready.orders.push(SessionOrder::Answer {
                    call_id: question.call_id.clone(),
                    word: word.clone(),
                }),
                AnswerRecipient::Tool(reply) => {
                    if let (Some(reply), InquiryAnswer::Decision(decision)) = (reply.take(), word) {
                        // A call that is gone does not need it.
                        discard!(reply.send(Some(*decision)), "nobody waits for the answer");
                    }
                    ready.resolved.push((id.clone(), word.clone()));
                }
            }
        }
        ready
    }
}

/// The answers for an agent that may go on.
#[derive(Debug, Default)]
struct ReadyAnswers {
    /// For calls of its session.
    orders: Vec<SessionOrder>,
    /// Questions of tools, which have been told.
    resolved: Vec<(String, InquiryAnswer)>,
    /// One of them ends the task.
    aborts: bool,
}

impl Supervisor {
    /// A child's call asks; whoever watches the root is shown it.
    pub(super) fn asking(&mut self, agent: AgentId, call_id: CallId, asked: PendingQuestion) {
        let route = self.members.get(agent).map(|member| member.spec.approvals);
        let shown_at = match route {
            Some(ApprovalRoute::Route) => None,
            Some(ApprovalRoute::Parent) => self.asked_parent(agent),
            Some(ApprovalRoute::Never) | None => {
                let word = InquiryAnswer::refusal(&asked);
                return self.give(agent, SessionOrder::Answer { call_id, word });
            }
        };
        self.put(RelayedQuestion {
            agent,
            call_id,
            asked,
            asker: AnswerRecipient::Session,
            shown_at,
            word: None,
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
        let Some(parent) = parent.filter(|parent| self.has_running_task(*parent)) else {
            // The tool asks its own session instead.
            discard!(reply.send(None), "nobody waits for the answer");
            return;
        };
        self.put(RelayedQuestion {
            agent,
            call_id: request.call_id.clone(),
            asked: PendingQuestion::Command(request),
            asker: AnswerRecipient::Tool(Some(reply)),
            shown_at: (parent != AgentId::ROOT).then_some(parent),
            word: None,
        });
    }

    fn put(&mut self, question: RelayedQuestion) {
        let RelayedQuestion {
            agent, shown_at, ..
        } = question;
        let Some(label) = self.label(agent) else {
            return;
        };
        let id = format!("{}#{}", label.path, question.call_id);
        let event = question
            .asked
            .clone()
            .relayed(CallId(id.clone()), label)
            .event();
        let on = if question.asked.is_approval() {
            WaitingOn::Approval
        } else {
            WaitingOn::User
        };
        let refusal = InquiryAnswer::refusal(&question.asked);
        // A session writes down what its own calls ask; for this one nobody else would.
        if matches!(question.asker, AnswerRecipient::Tool(_)) {
            let asked = question.asked.clone().event();
            self.tell_present(agent, vec![asked]);
        }
        self.broker.questions.insert(id.clone(), question);
        self.tell_tree(agent, TaskReport::Waiting { on });
        self.show(shown_at, event);
        if self.broker.unattended {
            self.accept_answer(&id, refusal);
        }
    }

    /// Answers every question as one that nobody answers, and all that will be asked.
    pub(super) fn refuse_questions(&mut self) {
        self.broker.unattended = true;
        for (id, refusal) in self.broker.refusals() {
            self.accept_answer(&id, refusal);
        }
    }

    /// Takes a person's word, given where `at` is shown. The first one counts; the agent
    /// hears it when it may go on.
    pub(super) fn decide(
        &mut self,
        at: AgentId,
        id: &str,
        word: InquiryAnswer,
    ) -> Result<(), AnswerRefusal> {
        let known = self.broker.check_answer(at, id, &word)?;
        self.accept_answer(&known, word.settled());
        Ok(())
    }

    /// The question of an agent's call was answered where somebody else asked the same.
    pub(super) fn settled(&mut self, agent: AgentId, call_id: &CallId, word: InquiryAnswer) {
        if let Some(id) = self.broker.question_of(agent, call_id) {
            self.accept_answer(&id, word);
        }
    }

    /// Takes somebody's word from outside, for whom no session speaks.
    pub(super) fn answer_question(
        &mut self,
        agent: AgentId,
        call_id: CallId,
        decision: ReviewDecision,
    ) -> Result<AgentView, TreeError> {
        let word = InquiryAnswer::Decision(decision);
        if agent == AgentId::ROOT {
            // Its questions are its own business; one that it no longer asks it ignores.
            self.give(agent, SessionOrder::Answer { call_id, word });
        } else {
            self.decide(agent, &call_id.0, word)
                .map_err(|not_taken| TreeError::Invalid(not_taken.to_string()))?;
        }
        Ok(self.view(agent))
    }

    /// Gives a question its answer, unless it has one.
    fn accept_answer(&mut self, id: &str, word: InquiryAnswer) {
        let Some(agent) = self.broker.accept(id, word) else {
            return;
        };
        if self.broker.has_open(agent) {
            // Still blocked by another question; this one may go on at once.
            self.proceed(agent);
        } else {
            self.tell_tree(agent, TaskReport::Unblocked);
        }
    }

    /// Hands over the answers that an agent waits for.
    pub(super) fn proceed(&mut self, agent: AgentId) {
        let ReadyAnswers {
            orders,
            resolved,
            aborts,
        } = self.broker.hand_over(agent);
        for order in orders {
            self.give(agent, order);
        }
        for (id, word) in resolved {
            self.resolve_question(&id, word);
        }
        if aborts {
            self.drive(TreeAction::Stop(StopCommand {
                by: Caller::User,
                verb: StopVerb::Interrupt,
                targets: vec![agent],
                mode: StopMode::Act,
            }));
        }
    }

    /// The session has taken an answer, or withdrawn the question.
    pub(super) fn answered(&mut self, agent: AgentId, call_id: &CallId, word: InquiryAnswer) {
        let Some(id) = self.broker.question_of(agent, call_id) else {
            return;
        };
        let question = self.broker.questions.get(&id);
        let unanswered = question.is_some_and(|question| question.word.is_none());
        self.resolve_question(&id, word);
        if unanswered && !self.broker.has_open(agent) {
            self.tell_tree(agent, TaskReport::Unblocked);
        }
    }

    /// A task that is over asks nothing more.
    pub(super) fn withdraw_asks(&mut self, agent: AgentId) {
        for (id, word) in self.broker.withdrawals(agent) {
            self.resolve_question(&id, word);
        }
    }

    fn resolve_question(&mut self, id: &str, word: InquiryAnswer) {
        let Some(question) = self.broker.questions.remove(id) else {
            return;
        };
        if matches!(question.asker, AnswerRecipient::Tool(_)) {
            let resolved = word.clone().event(question.call_id);
            self.tell_present(question.agent, vec![resolved]);
        }
        let event = word.event(CallId(id.to_owned()));
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
        (parent != AgentId::ROOT && self.has_running_task(parent)).then_some(parent)
    }

    fn has_running_task(&self, agent: AgentId) -> bool {
        let present = agent == AgentId::ROOT || self.members.orders(agent).is_some();
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
