//! Performing what the tree wants done.

use std::collections::VecDeque;

use troupe_engine::{SessionOrder, StopAuthor, StopRequester, WriteBatch};
use troupe_protocol::event::AbortReason;
use troupe_protocol::tree::{Caller, Interruption, MessageId, StopOrder};
use troupe_protocol::{AgentId, SubmissionId};
use troupe_tree::TreeEffect;
use troupe_tree::effect::CommandReply;

use super::fact_lines::FactContents;
use super::step_queue::SupervisorStep;
use super::{Supervisor, SupervisorState};

/// What is done with the tree's answer, once it counts.
pub(super) type Answering = Box<dyn FnOnce(&mut Supervisor, CommandReply) + Send>;

impl Supervisor {
    pub(super) fn perform(&mut self, effects: Vec<TreeEffect>, contents: FactContents) {
        self.enqueue(effects, contents, None, None);
    }

    /// Performs effects, and answers whoever asked for them when everything before the
    /// answer is on disk.
    pub(super) fn perform_and_answer(
        &mut self,
        effects: Vec<TreeEffect>,
        contents: FactContents,
        answering: impl FnOnce(&mut Self, CommandReply) + Send + 'static,
    ) {
        self.enqueue(effects, contents, None, Some(Box::new(answering)));
    }

    /// Performs the effects of what a session reports. Lines for its own log are returned:
    /// the session waits for them and writes them together with its own.
    pub(super) fn perform_for(
        &mut self,
        agent: AgentId,
        effects: Vec<TreeEffect>,
        contents: FactContents,
    ) -> WriteBatch {
        self.enqueue(effects, contents, Some(agent), None)
    }

    fn enqueue(
        &mut self,
        effects: Vec<TreeEffect>,
        mut contents: FactContents,
        waiting: Option<AgentId>,
        mut answering: Option<Answering>,
    ) -> WriteBatch {
        let mut own = None;
        for effect in effects {
            match effect {
                TreeEffect::Persist(record) if waiting == Some(record.log) => {
                    let line = self.line(record, &mut contents);
                    own.get_or_insert_with(|| (self.steps.until_written(), Vec::new()))
                        .1
                        .push(line);
                }
                TreeEffect::Persist(record) => {
                    let log = record.log;
                    let line = self.line(record, &mut contents);
                    self.write(log, line);
                }
                TreeEffect::Answer(answer) => {
                    if let Some(answering) = answering.take() {
                        let step = move |this: &mut Self| answering(this, answer);
                        self.steps.push(SupervisorStep::Answer(Box::new(step)));
                    }
                }
                effect => self.steps.push(SupervisorStep::Perform(effect)),
            }
            if let Some((reviewer, event)) = contents.reviewed.take() {
                let step = move |this: &mut Self| this.tell_reviewed(reviewer, event);
                self.steps.push(SupervisorStep::Answer(Box::new(step)));
            }
        }
        match (own, waiting) {
            (Some((ticket, lines)), Some(agent)) => {
                self.pack(ticket, agent, lines, contents.tells_results)
            }
            _ => WriteBatch::default(),
        }
    }

    /// Does every step that may be done now.
    pub(super) fn run_steps(&mut self) {
        while let Some(step) = self.steps.next() {
            match step {
                SupervisorStep::Perform(effect) => self.effect(effect),
                SupervisorStep::Answer(answer) => answer(self),
                SupervisorStep::Until(_) => {}
            }
        }
    }

    fn effect(&mut self, effect: TreeEffect) {
        match effect {
            TreeEffect::Load { agent } => self.load(agent),
            TreeEffect::Unload { agent } | TreeEffect::Shut { agent } => self.members.unload(agent),
            TreeEffect::StartTask {
                agent,
                task,
                message,
                ahead,
            } => self.start_task(agent, task, message, ahead),
            TreeEffect::AbortTask { agent, task, why } => {
                let reason = why.abort_reason().unwrap_or(AbortReason::Interrupted);
                let by = self.stopper(agent);
                self.give(agent, SessionOrder::Abort { task, reason, by });
            }
            TreeEffect::Poke { agent } => self.deliver_joining_mail(agent),
            TreeEffect::Proceed { agent } => self.proceed(agent),
            TreeEffect::AnswerWait { wait, answer } => self.answer_wait(wait, answer),
            TreeEffect::Emit(notice) => self.notify(notice),
            // Taken out when the effects were queued.
            TreeEffect::Persist(_) | TreeEffect::Answer(_) => {}
        }
    }

    /// Returns who ordered the stop that an agent's task is under, as it is told.
    fn stopper(&self, agent: AgentId) -> StopRequester {
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
        StopRequester {
            who: path.map_or(StopAuthor::User, StopAuthor::Agent),
            note: self.members.get(agent).and_then(|m| m.stop_note.clone()),
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
            .get(agent)
            .and_then(|member| member.spec.output_schema.clone());
        let mail = self.mail.message(message);
        self.give(
            agent,
            SessionOrder::Start {
                task,
                message,
                mail,
                ahead: self.mail.messages(ahead),
                output_schema,
            },
        );
    }

    /// Hands over what joins a running task.
    fn deliver_joining_mail(&mut self, agent: AgentId) {
        let mail = self.mail.messages(self.tree.joining(agent));
        self.give(agent, SessionOrder::Mail(mail));
    }

    /// Gives an order to an agent's session, which is loaded for it if need be.
    pub(super) fn give(&mut self, agent: AgentId, order: SessionOrder) {
        if matches!(self.state, SupervisorState::Broken) {
            return;
        }
        if agent == AgentId::ROOT {
            // A root that is gone has taken the tree along; dropping the order says so.
            self.root.orders.give(order);
        } else if let Some(order) = self.members.deliver(agent, order) {
            self.begin_loading(agent, VecDeque::from([order]));
        }
    }
}
