//! Messages between agents, and the receipts for them.

use troupe_protocol::{AgentId, SubmissionId, TaskOutcome};

use super::agent::{Place, StopOrder};
use super::command::{Letter, Urgency};
use super::effect::{Answer, DeadWhy, Effect, HeldWhy, Receipt};
use super::id::MessageId;
use super::inbox::{Envelope, MailKind, Sender, TakeCallbacks};
use super::limits::INBOX_MESSAGES_MAX;
use super::persist::Fact;
use super::run::{Replacement, Stage};
use super::status::Status;
use super::wait::Brought;
use super::{Out, Refusal, Tree};

impl Tree {
    pub(super) fn send(&mut self, out: &mut Out, letter: Letter) -> Result<(), Refusal> {
        let (to, message) = (letter.to, letter.message);
        self.may_send(&letter)?;
        if let Some(why) = self.dead(to)? {
            out.answer(Answer::Receipt(Receipt::Dead { why }));
            return Ok(());
        }
        self.must_not_rouse(&letter)?;
        let inbox = &self.known(to)?.inbox;
        if inbox.find(message).is_none() {
            if inbox.bounded_len() >= INBOX_MESSAGES_MAX {
                return Err(Refusal::InboxFull {
                    agent: to,
                    limit: INBOX_MESSAGES_MAX,
                });
            }
            self.deliver(out, &letter);
        }
        self.grant_slots(out);
        let receipt = self.receipt(to, message);
        out.answer(Answer::Receipt(receipt));
        Ok(())
    }

    /// A timer reminds who is at work, or has come to an end by itself. Whoever was stopped
    /// waits for somebody's word, else stopping would stop nothing.
    fn must_not_rouse(&self, letter: &Letter) -> Result<(), Refusal> {
        let Sender::Watchdog(_) = letter.from else {
            return Ok(());
        };
        let node = self.known(letter.to)?;
        if self.is_active(node.id) || node.lifecycle.takes_callbacks() {
            Ok(())
        } else {
            Err(Refusal::Resting(node.id))
        }
    }

    fn deliver(&mut self, out: &mut Out, letter: &Letter) {
        let (from, to, id) = (letter.from, letter.to, letter.message);
        let kind = match letter.urgency {
            Urgency::Interrupt => MailKind::Interrupt { from },
            Urgency::Regular => MailKind::Regular { from },
        };
        let log = match from {
            Sender::User => AgentId::ROOT,
            Sender::Agent(agent) | Sender::Watchdog(agent) => agent,
        };
        let envelope = Envelope { id, kind };
        self.record(out, log, Fact::Sent { to, envelope });
        match letter.urgency {
            Urgency::Interrupt => self.replace_task(out, to, id),
            Urgency::Regular => match self.answer_wait_by_mail(out, letter) {
                Brought::ByAnswer => {}
                Brought::No => self.poke(out, to),
            },
        }
        self.wake(out, to);
    }

    /// Makes the task in flight give way to an interrupt. One that has not begun never will:
    /// its session is told to begin the other, and its own report comes too late. A stop that
    /// is on its way ends it in any case, and waits for the answer of just this task.
    fn replace_task(&mut self, out: &mut Out, agent: AgentId, by: MessageId) {
        let stop = self.memory.get(agent).and_then(|node| node.stop);
        let Some(run) = self.live.runs.get_mut(&agent) else {
            return;
        };
        match (run.stage, run.replacement) {
            (Stage::Running, Replacement::None) => {
                run.replacement = Replacement::Asked;
                out.abort(agent, run.task.clone(), TaskOutcome::Replaced);
            }
            (Stage::Starting { .. }, _) if stop.is_none() => {
                let seat = run.seat;
                self.begin(out, agent, by, seat);
            }
            (Stage::Running, Replacement::Asked) | (Stage::Starting { .. }, _) => {}
        }
    }

    fn poke(&self, out: &mut Out, agent: AgentId) {
        let running = self.live.runs.get(&agent);
        if running.is_some_and(|run| run.stage == Stage::Running) {
            out.effects.push(Effect::Poke { agent });
        }
    }

    fn dead(&self, agent: AgentId) -> Result<Option<DeadWhy>, Refusal> {
        let node = self.known(agent)?;
        Ok(if node.place == Place::Pruned {
            Some(DeadWhy::Pruned)
        } else if node.place == Place::Lost {
            Some(DeadWhy::Lost)
        } else if node.lifecycle.is_shutdown() {
            Some(DeadWhy::Closed)
        } else if node.stop.is_some_and(StopOrder::ends_input) {
            Some(DeadWhy::Stopping)
        } else {
            None
        })
    }

    /// Tells what became of a message that is in the inbox.
    fn receipt(&self, agent: AgentId, message: MessageId) -> Receipt {
        let in_inbox = || {
            let node = self.memory.get(agent);
            node.and_then(|node| node.inbox.position(message))
                .unwrap_or(1)
        };
        let Some(run) = self.live.runs.get(&agent) else {
            let in_line = self.live.slots.position(agent);
            return Receipt::Queued {
                position: in_line.unwrap_or_else(in_inbox),
            };
        };
        if run.stage == (Stage::Starting { message }) {
            return Receipt::Delivered;
        }
        let stopping = self
            .memory
            .get(agent)
            .is_some_and(|node| node.stop.is_some());
        let replaced = run.replacement == Replacement::Asked;
        match run.status() {
            _ if stopping => Receipt::Held {
                why: HeldWhy::Stopping,
            },
            Status::Waiting { on } if !on.keeps_slot() && !replaced => Receipt::Held {
                why: HeldWhy::Waiting(on),
            },
            _ => Receipt::Queued {
                position: in_inbox(),
            },
        }
    }

    /// Returns the task that takes a message, as things stand: the one in flight, or the one that
    /// the first of the inbox will begin and the others join.
    pub fn task_taking(&self, agent: AgentId, message: MessageId) -> SubmissionId {
        if let Some(run) = self.live.runs.get(&agent) {
            return run.task.clone();
        }
        let node = self.memory.get(agent);
        let first = node.and_then(|node| node.inbox.next(TakeCallbacks::Held));
        first.map_or(message, |first| first.id).task()
    }

    /// Hands over the poke that a task missed because it was only starting.
    pub(super) fn poke_for_input(&self, out: &mut Out, agent: AgentId) {
        if !self.joining(agent).is_empty() {
            self.poke(out, agent);
        }
    }

    /// Returns the messages that a running task takes along at its next request. What the
    /// answer of a wait brings it does not bring twice.
    pub fn joining(&self, agent: AgentId) -> Vec<MessageId> {
        let node = self.memory.get(agent);
        let mail = node.into_iter().flat_map(|node| node.inbox.iter());
        mail.filter(|mail| mail.kind.joins_task() && !self.is_claimed(agent, mail.id))
            .map(|mail| mail.id)
            .collect()
    }
}
