//! Permissions inside the tree: the user and the root may reach all, an agent its own subtree.

use troupe_protocol::tree::{Caller, MailSender, MessageReach};
use troupe_protocol::{AgentId, StopVerb};

use super::Tree;
use crate::TreeRefusal;
use crate::command::{SendCommand, SendUrgency};

impl Tree {
    pub(super) fn may_stop(
        &self,
        by: Caller,
        verb: StopVerb,
        target: AgentId,
    ) -> Result<(), TreeRefusal> {
        let Caller::Agent(agent) = by else {
            return Ok(());
        };
        match verb {
            StopVerb::Interrupt if target == AgentId::ROOT => {
                return Err(TreeRefusal::RootInterrupt);
            }
            // It would end the user's own conversation, and everything below it.
            StopVerb::Cancel | StopVerb::Close
                if target == AgentId::ROOT && agent == AgentId::ROOT =>
            {
                return Err(TreeRefusal::RootStop {
                    verb: verb.as_str(),
                });
            }
            StopVerb::Interrupt
            | StopVerb::Cancel
            | StopVerb::Close
            | StopVerb::Release
            | StopVerb::Prune => {}
        }
        self.must_be_within(agent, target, verb.as_str())
    }

    pub(super) fn may_resume(&self, by: Caller, target: AgentId) -> Result<(), TreeRefusal> {
        match by {
            Caller::User => Ok(()),
            Caller::Agent(agent) => self.must_be_within(agent, target, "resume"),
        }
    }

    pub(super) fn may_send(&self, letter: &SendCommand) -> Result<(), TreeRefusal> {
        let (MailSender::Agent(from) | MailSender::Watchdog(from)) = letter.from else {
            return Ok(());
        };
        let sender = self.known(from)?;
        let to = letter.to;
        if from == to {
            return Err(TreeRefusal::SelfMessage);
        }
        if to == AgentId::ROOT && letter.urgency == SendUrgency::Interrupt {
            return Err(TreeRefusal::RootInterrupt);
        }
        let Some(parent) = sender.parent else {
            return self.must_be_within(from, to, "message");
        };
        let is_parent = to == parent;
        let is_family = is_parent || self.known(to)?.parent == Some(parent);
        if !is_family || letter.urgency != SendUrgency::Regular {
            return self.must_be_within(from, to, "message");
        }
        match sender.bond.reach {
            MessageReach::Family => Ok(()),
            MessageReach::Parent if is_parent => Ok(()),
            reach @ (MessageReach::Parent | MessageReach::Subtree) => {
                Err(TreeRefusal::KeptToItself { agent: from, reach })
            }
        }
    }

    fn must_be_within(
        &self,
        agent: AgentId,
        target: AgentId,
        verb: &'static str,
    ) -> Result<(), TreeRefusal> {
        self.known(agent)?;
        if self.memory.is_within(target, agent) {
            Ok(())
        } else {
            Err(TreeRefusal::OutsideSubtree { verb })
        }
    }
}
