//! Performing what the tree wants done.

use troupe_engine::{Lines, Order, Stopper, Who};
use troupe_protocol::event::AbortReason;
use troupe_protocol::tree::{AgentMessage, Caller, Interruption, MessageId, StopOrder};
use troupe_protocol::{AgentId, SubmissionId};

use super::lines::Contents;
use super::steps::Step;
use super::{State, Supervisor};
use crate::tree::Effect;
use crate::tree::effect::Answer;

/// What is done with the tree's answer, once it counts.
pub(super) type Answering = Box<dyn FnOnce(&mut Supervisor, Answer) + Send>;

impl Supervisor {
    pub(super) fn perform(&mut self, effects: Vec<Effect>, contents: Contents) {
        self.enqueue(effects, contents, None, None);
    }

    /// Performs effects, and answers whoever asked for them when everything before the
    /// answer is on disk.
    pub(super) fn perform_and_answer(
        &mut self,
        effects: Vec<Effect>,
        contents: Contents,
        answering: impl FnOnce(&mut Self, Answer) + Send + 'static,
    ) {
        self.enqueue(effects, contents, None, Some(Box::new(answering)));
    }

    /// Performs the effects of what a session reports. Lines for its own log are returned:
    /// the session waits for them and writes them together with its own.
    pub(super) fn perform_for(
        &mut self,
        agent: AgentId,
        effects: Vec<Effect>,
        contents: Contents,
    ) -> Lines {
        self.enqueue(effects, contents, Some(agent), None)
    }

    fn enqueue(
        &mut self,
        effects: Vec<Effect>,
        mut contents: Contents,
        waiting: Option<AgentId>,
        mut answering: Option<Answering>,
    ) -> Lines {
        let mut own = None;
        for effect in effects {
            match effect {
                Effect::Persist(record) if waiting == Some(record.log) => {
                    let line = self.line(record, &mut contents);
                    own.get_or_insert_with(|| (self.steps.until_written(), Vec::new()))
                        .1
                        .push(line);
                }
                Effect::Persist(record) => {
                    let log = record.log;
                    let line = self.line(record, &mut contents);
                    self.write(log, line);
                }
                Effect::Answer(answer) => {
                    if let Some(answering) = answering.take() {
                        let step = move |this: &mut Self| answering(this, answer);
                        self.steps.push(Step::Answer(Box::new(step)));
                    }
                }
                effect => self.steps.push(Step::Perform(effect)),
            }
            if let Some((reviewer, event)) = contents.reviewed.take() {
                let step = move |this: &mut Self| this.tell_reviewed(reviewer, event);
                self.steps.push(Step::Answer(Box::new(step)));
            }
        }
        match (own, waiting) {
            (Some((ticket, lines)), Some(agent)) => {
                self.pack(ticket, agent, lines, contents.tells_results)
            }
            _ => Lines::default(),
        }
    }

    /// Does every step that may be done now.
    pub(super) fn run_steps(&mut self) {
        while let Some(step) = self.steps.next() {
            match step {
                Step::Perform(effect) => self.effect(effect),
                Step::Answer(answer) => answer(self),
                Step::Until(_) => {}
            }
        }
    }

    fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::Load { agent } => self.load(agent),
            Effect::Unload { agent } | Effect::Shut { agent } => self.leave(agent),
            Effect::StartTask {
                agent,
                task,
                message,
                ahead,
            } => self.start_task(agent, task, message, ahead),
            Effect::AbortTask { agent, task, why } => {
                let reason = why.abort_reason().unwrap_or(AbortReason::Interrupted);
                let by = self.stopper(agent);
                self.give(agent, Order::Abort { task, reason, by });
            }
            Effect::Poke { agent } => self.poke(agent),
            Effect::Proceed { agent } => self.proceed(agent),
            Effect::AnswerWait { wait, answer } => self.answer_wait(wait, answer),
            Effect::Emit(notice) => self.notify(notice),
            // Taken out when the effects were queued.
            Effect::Persist(_) | Effect::Answer(_) => {}
        }
    }

    /// Returns who ordered the stop that an agent's task is under, as it is told.
    fn stopper(&self, agent: AgentId) -> Stopper {
        let node = self.tree.get(agent);
        let by = node.and_then(|node| match node.stop? {
            StopOrder::Interrupt {
                why: Interruption::Parent,
            } => Some(Caller::Agent(node.parent?)),
            StopOrder::Interrupt { .. } => Some(Caller::User),
            StopOrder::Cancel { by, .. } | StopOrder::Close { by, .. } => Some(by),
        });
        let path = match by {
            Some(Caller::Agent(by)) => self.tree.get(by).map(|node| node.path.clone()),
            Some(Caller::User) | None => None,
        };
        Stopper {
            who: path.map_or(Who::User, Who::Agent),
            note: self.members.get(&agent).and_then(|m| m.stop_note.clone()),
        }
    }

    fn start_task(
        &mut self,
        agent: AgentId,
        task: SubmissionId,
        message: MessageId,
        ahead: Vec<MessageId>,
    ) {
        let output_schema = self
            .members
            .get(&agent)
            .and_then(|member| member.spec.output_schema.clone());
        let mail = self.mail_of(message);
        self.give(
            agent,
            Order::Start {
                task,
                message,
                mail,
                ahead: self.mails(ahead),
                output_schema,
            },
        );
    }

    /// Hands over what joins a running task.
    fn poke(&mut self, agent: AgentId) {
        let mail = self.mails(self.tree.joining(agent));
        self.give(agent, Order::Mail(mail));
    }

    fn mails(&self, messages: Vec<MessageId>) -> Vec<(MessageId, AgentMessage)> {
        let messages = messages.into_iter();
        messages
            .map(|message| (message, self.mail_of(message)))
            .collect()
    }

    /// Returns what a message says. Its words may be missing only if its line was damaged.
    pub(super) fn mail_of(&self, message: MessageId) -> AgentMessage {
        let lost = || {
            AgentMessage::text(
                "[a message for you could not be read from the log; ask its sender for it]",
            )
        };
        self.mail.get(&message).cloned().unwrap_or_else(lost)
    }

    /// Gives an order to an agent's session, which is loaded for it if need be.
    pub(super) fn give(&mut self, agent: AgentId, order: Order) {
        if matches!(self.state, State::Broken) {
            return;
        }
        if agent == AgentId::ROOT {
            // A root that is gone has taken the tree along; dropping the order says so.
            self.root.orders.give(order);
        } else {
            self.give_to_child(agent, order);
        }
    }
}
