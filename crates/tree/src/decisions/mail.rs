//! Messages between agents, and the receipts for them.

use troupe_protocol::tree::{MailEnvelope, MailKind, MailSender, MessageId, StopOrder, TreeFact};
use troupe_protocol::{AgentId, SubmissionId, TaskOutcome};

use super::run::{ReplacementState, RunStage};
use super::wait::WaitDelivery;
use super::{EffectBuffer, Tree};
use crate::TreeRefusal;
use crate::agent::AgentLiveness;
use crate::command::{SendCommand, SendUrgency};
use crate::effect::{CommandReply, DeliveryReceipt, HoldReason, TreeEffect, UndeliverableReason};
use crate::inbox::TakeCallbacks;
use crate::limits::INBOX_MESSAGES_MAX;
use crate::status::CurrentStatus;

impl Tree {
    pub(super) fn send(
        &mut self,
        out: &mut EffectBuffer,
        letter: SendCommand,
    ) -> Result<(), TreeRefusal> {
        let (to, message) = (letter.to, letter.message);
        self.may_send(&letter)?;
        if let Some(why) = self.undeliverable_reason(to)? {
            out.answer(CommandReply::Receipt(DeliveryReceipt::Dead { why }));
            return Ok(());
        }
        self.must_not_wake_stopped_agent(&letter)?;
        let inbox = &self.known(to)?.inbox;
        if inbox.find(message).is_none() {
            if inbox.bounded_len() >= INBOX_MESSAGES_MAX {
                return Err(TreeRefusal::InboxFull {
                    agent: to,
                    limit: INBOX_MESSAGES_MAX,
                });
            }
            self.deliver(out, &letter);
        }
        self.grant_slots(out);
        let receipt = self.receipt(to, message);
        out.answer(CommandReply::Receipt(receipt));
        Ok(())
    }

    /// A timer reminds who is at work, or has come to an end by itself. Whoever was stopped
    /// waits for somebody's word, else stopping would stop nothing.
    fn must_not_wake_stopped_agent(&self, letter: &SendCommand) -> Result<(), TreeRefusal> {
        let MailSender::Watchdog(_) = letter.from else {
            return Ok(());
        };
        let node = self.known(letter.to)?;
        if self.is_active(node.id) || node.lifecycle.takes_callbacks() {
            Ok(())
        } else {
            Err(TreeRefusal::Resting(node.id))
        }
    }

    fn deliver(&mut self, out: &mut EffectBuffer, letter: &SendCommand) {
        let (from, to, id) = (letter.from, letter.to, letter.message);
        let kind = match letter.urgency {
            SendUrgency::Interrupt => MailKind::Interrupt { from },
            SendUrgency::Regular => MailKind::Regular { from },
        };
        let log = match from {
            MailSender::User => AgentId::ROOT,
            MailSender::Agent(agent) | MailSender::Watchdog(agent) => agent,
        };
        let envelope = MailEnvelope { id, kind };
        self.record(out, log, TreeFact::Sent { to, envelope });
        match letter.urgency {
            SendUrgency::Interrupt => self.replace_task(out, to, id),
            SendUrgency::Regular => match self.answer_wait_by_mail(out, letter) {
                WaitDelivery::ByAnswer => {}
                WaitDelivery::No => self.poke(out, to),
            },
        }
        self.wake(out, to);
    }

    /// Makes the task in flight give way to an interrupt. One that has not begun never will:
    /// its session is told to begin the other, and its own report comes too late. A stop that
    /// is on its way ends it in any case, and waits for the answer of just this task.
    fn replace_task(&mut self, out: &mut EffectBuffer, agent: AgentId, by: MessageId) {
        let stop = self.memory.get(agent).and_then(|node| node.stop);
        let Some(run) = self.live.runs.get_mut(&agent) else {
            return;
        };
        match (run.stage, run.replacement) {
            (RunStage::Running, ReplacementState::None) => {
                run.replacement = ReplacementState::Asked;
                out.abort(agent, run.task.clone(), TaskOutcome::Replaced);
            }
            (RunStage::Starting { .. }, _) if stop.is_none() => {
                let seat = run.seat;
                self.begin(out, agent, by, seat);
            }
            (RunStage::Running, ReplacementState::Asked) | (RunStage::Starting { .. }, _) => {}
        }
    }

    fn poke(&self, out: &mut EffectBuffer, agent: AgentId) {
        let running = self.live.runs.get(&agent);
        if running.is_some_and(|run| run.stage == RunStage::Running) {
            out.effects.push(TreeEffect::Poke { agent });
        }
    }

    fn undeliverable_reason(
        &self,
        agent: AgentId,
    ) -> Result<Option<UndeliverableReason>, TreeRefusal> {
        let node = self.known(agent)?;
        Ok(if node.place == AgentLiveness::Pruned {
            Some(UndeliverableReason::Pruned)
        } else if node.place == AgentLiveness::Lost {
            Some(UndeliverableReason::Lost)
        } else if node.lifecycle.is_shutdown() {
            Some(UndeliverableReason::Closed)
        } else if node.stop.is_some_and(StopOrder::ends_input) {
            Some(UndeliverableReason::Stopping)
        } else {
            None
        })
    }

    /// Tells what became of a message that is in the inbox.
    fn receipt(&self, agent: AgentId, message: MessageId) -> DeliveryReceipt {
        let in_inbox = || {
            let node = self.memory.get(agent);
            node.and_then(|node| node.inbox.position(message))
                .unwrap_or(1)
        };
        let Some(run) = self.live.runs.get(&agent) else {
            let in_line = self.live.slots.position(agent);
            return DeliveryReceipt::Queued {
                position: in_line.unwrap_or_else(in_inbox),
            };
        };
        if run.stage == (RunStage::Starting { message }) {
            return DeliveryReceipt::Delivered;
        }
        let stopping = self
            .memory
            .get(agent)
            .is_some_and(|node| node.stop.is_some());
        let replaced = run.replacement == ReplacementState::Asked;
        match run.status() {
            _ if stopping => DeliveryReceipt::Held {
                why: HoldReason::Stopping,
            },
            CurrentStatus::Waiting { on } if !on.keeps_slot() && !replaced => {
                DeliveryReceipt::Held {
                    why: HoldReason::Waiting(on),
                }
            }
            _ => DeliveryReceipt::Queued {
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
    pub(super) fn poke_for_input(&self, out: &mut EffectBuffer, agent: AgentId) {
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
