//! Messages between agents, and the receipts for them.

use troupe_protocol::AgentId;

use super::agent::{Place, StopOrder};
use super::command::{Letter, Urgency};
use super::effect::{AbortWhy, Answer, DeadWhy, Effect, HeldWhy, Receipt};
use super::id::MessageId;
use super::inbox::{Envelope, MailKind, Sender};
use super::limits::INBOX_MESSAGES_MAX;
use super::persist::Fact;
use super::run::{Replacement, Stage};
use super::status::Status;
use super::{Out, Refusal, Tree};

impl Tree {
    pub(super) fn send(&mut self, out: &mut Out, letter: Letter) -> Result<(), Refusal> {
        let Letter {
            from,
            to,
            message,
            urgency,
        } = letter;
        self.may_send(&letter)?;
        if let Some(why) = self.dead(to)? {
            out.answer(Answer::Receipt(Receipt::Dead { why }));
            return Ok(());
        }
        let inbox = &self.known(to)?.inbox;
        if inbox.find(message).is_none() {
            if inbox.bounded_len() >= INBOX_MESSAGES_MAX {
                return Err(Refusal::InboxFull {
                    agent: to,
                    limit: INBOX_MESSAGES_MAX,
                });
            }
            self.deliver(out, from, to, message, urgency);
        }
        self.grant_slots(out);
        let receipt = self.receipt(to, message);
        out.answer(Answer::Receipt(receipt));
        Ok(())
    }

    fn deliver(
        &mut self,
        out: &mut Out,
        from: Sender,
        to: AgentId,
        id: MessageId,
        urgency: Urgency,
    ) {
        let kind = match urgency {
            Urgency::Interrupt => MailKind::Interrupt { from },
            Urgency::Regular => MailKind::Regular { from },
        };
        let log = match from {
            Sender::User => AgentId::ROOT,
            Sender::Agent(agent) | Sender::Watchdog(agent) => agent,
        };
        let envelope = Envelope { id, kind };
        self.record(out, log, Fact::Sent { to, envelope });
        match urgency {
            Urgency::Interrupt => self.replace_task(out, to),
            Urgency::Regular => self.poke(out, to),
        }
        self.wake(out, to);
    }

    /// Makes the running task give way. One that is only starting has nothing to lose: the
    /// message joins its first request.
    fn replace_task(&mut self, out: &mut Out, agent: AgentId) {
        let Some(run) = self.live.runs.get_mut(&agent) else {
            return;
        };
        if run.stage == Stage::Running && run.replacement == Replacement::None {
            run.replacement = Replacement::Asked;
            out.abort(agent, run.task.clone(), AbortWhy::Replaced);
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

    /// Hands over the poke that a task missed because it was only starting.
    pub(super) fn poke_for_input(&self, out: &mut Out, agent: AgentId) {
        if self
            .memory
            .get(agent)
            .is_some_and(|node| node.inbox.has_input())
        {
            self.poke(out, agent);
        }
    }
}
