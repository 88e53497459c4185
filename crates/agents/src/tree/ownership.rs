//! Permissions inside the tree: the user and the root may reach all, an agent its own subtree.

use troupe_protocol::{AgentId, StopVerb};

use super::agent::Reach;
use super::command::{Letter, Urgency};
use super::id::Caller;
use super::inbox::Sender;
use super::{Refusal, Tree};

impl Tree {
    pub(super) fn may_stop(
        &self,
        by: Caller,
        verb: StopVerb,
        target: AgentId,
    ) -> Result<(), Refusal> {
        let Caller::Agent(agent) = by else {
            return Ok(());
        };
        match verb {
            StopVerb::Interrupt if target == AgentId::ROOT => return Err(Refusal::RootInterrupt),
            // It would end the user's own conversation, and everything below it.
            StopVerb::Cancel | StopVerb::Close
                if target == AgentId::ROOT && agent == AgentId::ROOT =>
            {
                return Err(Refusal::RootStop {
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

    pub(super) fn may_resume(&self, by: Caller, target: AgentId) -> Result<(), Refusal> {
        match by {
            Caller::User => Ok(()),
            Caller::Agent(agent) => self.must_be_within(agent, target, "resume"),
        }
    }

    pub(super) fn may_send(&self, letter: &Letter) -> Result<(), Refusal> {
        let (Sender::Agent(from) | Sender::Watchdog(from)) = letter.from else {
            return Ok(());
        };
        let sender = self.known(from)?;
        let to = letter.to;
        if from == to {
            return Err(Refusal::SelfMessage);
        }
        if to == AgentId::ROOT && letter.urgency == Urgency::Interrupt {
            return Err(Refusal::RootInterrupt);
        }
        let Some(parent) = sender.parent else {
            return self.must_be_within(from, to, "message");
        };
        let is_parent = to == parent;
        let is_family = is_parent || self.known(to)?.parent == Some(parent);
        if !is_family || letter.urgency != Urgency::Regular {
            return self.must_be_within(from, to, "message");
        }
        match sender.bond.reach {
            Reach::Family => Ok(()),
            Reach::Parent if is_parent => Ok(()),
            reach @ (Reach::Parent | Reach::Subtree) => {
                Err(Refusal::KeptToItself { agent: from, reach })
            }
        }
    }

    fn must_be_within(
        &self,
        agent: AgentId,
        target: AgentId,
        verb: &'static str,
    ) -> Result<(), Refusal> {
        self.known(agent)?;
        if self.memory.is_within(target, agent) {
            Ok(())
        } else {
            Err(Refusal::OutsideSubtree { verb })
        }
    }
}
