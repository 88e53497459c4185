//! Watchdogs: messages that come by themselves.

use troupe_protocol::event::BackgroundEvent;
use troupe_protocol::tree::{AgentMetadata, Caller, MailKind, MailSender, MessageId};
use troupe_protocol::{AgentId, EventMsg};
use troupe_tree::agent::AgentLiveness;
use troupe_tree::command::{MessageForm, SendCommand, SendUrgency, TreeAction};
use troupe_tree::effect::{CommandReply, DeliveryReceipt};
use troupe_tree::{TreeEffect, TreeRefusal};

use super::fact_lines::FactContents;
use super::{Supervisor, SupervisorState};
use crate::tree_access::{TreeError, WatchdogAction, WatchdogOutcome, WatchdogRequest};
use crate::watchdog;

impl Supervisor {
    /// Sets up a timer, or takes one back.
    pub(super) fn watchdog(
        &mut self,
        caller: Caller,
        target: &str,
        request: WatchdogRequest,
    ) -> Result<WatchdogOutcome, TreeError> {
        let (by, target) = (caller, self.resolve(caller, target)?);
        let (keepsake, watched) = match request {
            WatchdogRequest::Cancel => {
                let action = if self.watchdogs.is_set(by, target) {
                    WatchdogAction::Canceled
                } else {
                    WatchdogAction::NotFound
                };
                let keepsake = AgentMetadata::WatchdogOff { by, target };
                let watched = WatchdogOutcome {
                    agent: target,
                    interval_s: 0,
                    message: String::new(),
                    action,
                };
                (keepsake, watched)
            }
            WatchdogRequest::Start {
                interval_s,
                message,
            } => {
                self.must_be_watchable(target)?;
                let place = self
                    .watchdogs
                    .check(by, target, interval_s, &message)
                    .map_err(|problem| TreeError::Invalid(problem.to_string()))?;
                let action = match place {
                    watchdog::WatchdogSlot::Taken => WatchdogAction::Replaced,
                    watchdog::WatchdogSlot::Free => WatchdogAction::Started,
                };
                let keepsake = AgentMetadata::Watchdog {
                    by,
                    target,
                    interval_s,
                    message: message.clone(),
                };
                let watched = WatchdogOutcome {
                    agent: target,
                    interval_s,
                    message,
                    action,
                };
                (keepsake, watched)
            }
        };
        if watched.action != WatchdogAction::NotFound {
            let effects = self.command(TreeAction::Keep {
                by: caller,
                keepsake,
            })?;
            self.perform(effects, FactContents::default());
        }
        if let WatchdogAction::Started | WatchdogAction::Replaced = watched.action {
            self.tell_watchdog(by, &watched);
        }
        Ok(watched)
    }

    /// Each ping costs a request, also when nobody is there to see it: people are told.
    fn tell_watchdog(&mut self, by: Caller, watched: &WatchdogOutcome) {
        let (who, whom) = (self.path_of(by.log_owner()), self.path_of(watched.agent));
        let message = format!(
            "agent {who} has set up a watchdog: {whom} is written to every {} s, also while \
             nobody is connected, until the watchdog is cancelled or one of the two is closed",
            watched.interval_s
        );
        self.warn(AgentId::ROOT, message);
    }

    fn path_of(&self, agent: AgentId) -> String {
        let node = self.tree.get(agent);
        node.map_or_else(|| agent.to_string(), |node| node.path.clone())
    }

    /// A timer for an agent that takes no input would never ring.
    fn must_be_watchable(&self, target: AgentId) -> Result<(), TreeError> {
        let node = self.tree.get(target);
        if node.is_some_and(|node| node.place == AgentLiveness::Pruned) {
            let message = format!("agent {target} was pruned; only its result is left");
            return Err(TreeError::Invalid(message));
        }
        if node.is_some_and(|node| node.lifecycle.is_shutdown()) {
            return Err(TreeRefusal::Closed(target).into());
        }
        Ok(())
    }

    /// Sends what is due, except to who has not read the last one yet.
    pub(super) fn ping(&mut self) {
        if !matches!(self.state, SupervisorState::Running) {
            return;
        }
        let now = self.now().0;
        for ping in self.watchdogs.due(now) {
            if !self.has_unread_ping(ping.by, ping.target) {
                self.send_ping(ping.by, ping.target, ping.message);
            }
        }
    }

    fn has_unread_ping(&self, by: Caller, target: AgentId) -> bool {
        let from_same = |kind: &MailKind| match kind {
            MailKind::Interrupt { from } | MailKind::Regular { from } => {
                *from == MailSender::Watchdog(by.log_owner())
            }
            MailKind::Callback { .. } => false,
        };
        let node = self.tree.get(target);
        node.is_some_and(|node| node.inbox.iter().any(|mail| from_same(&mail.kind)))
    }

    /// Sends a watchdog's message. A timer that will never reach its agent again ends.
    fn send_ping(&mut self, by: Caller, to: AgentId, text: String) {
        let letter = SendCommand {
            from: MailSender::Watchdog(by.log_owner()),
            to,
            message: MessageId(self.shared.ids.session().0),
            urgency: SendUrgency::Regular,
            form: MessageForm::Words,
        };
        let is_dead = |effect: &TreeEffect| {
            matches!(
                effect,
                TreeEffect::Answer(CommandReply::Receipt(DeliveryReceipt::Dead { .. }))
            )
        };
        match self.command(TreeAction::Send(letter)) {
            Ok(effects) if effects.iter().any(is_dead) => self.end_watchdog(by, to),
            Ok(effects) => {
                self.perform(effects, FactContents::saying(text));
                let (who, whom) = (self.path_of(by.log_owner()), self.path_of(to));
                let event = EventMsg::BackgroundEvent(BackgroundEvent {
                    message: format!("the watchdog of agent {who} has written to {whom}"),
                    is_final: false,
                    session_id: self.tree.get(to).map(|node| node.session),
                });
                self.tell(AgentId::ROOT, vec![event]);
            }
            Err(TreeError::Refused(
                TreeRefusal::OutsideSubtree { .. } | TreeRefusal::Unknown(_),
            )) => {
                self.end_watchdog(by, to);
            }
            // Its inbox is full, or it rests: another time.
            Err(_) => {}
        }
    }

    fn end_watchdog(&mut self, by: Caller, target: AgentId) {
        let keepsake = AgentMetadata::WatchdogOff { by, target };
        self.drive(TreeAction::Keep { by, keepsake });
    }
}
