//! A child is born, within the limits.

use troupe_protocol::AgentId;
use troupe_protocol::tree::{AgentBirth, MailEnvelope, MailKind, MailSender, TimeMs, TreeFact};

use super::residents::SessionResidency;
use super::{EffectBuffer, Tree};
use crate::command::{SpawnCaller, SpawnCommand};
use crate::effect::{CommandReply, TreeEffect, TreeNotice};
use crate::limits::{OnLimit, SPAWN_WINDOW_MS};
use crate::{AgentRecord, TreeRefusal};

impl Tree {
    pub(super) fn spawn(
        &mut self,
        out: &mut EffectBuffer,
        spawn: SpawnCommand,
    ) -> Result<(), TreeRefusal> {
        let parent = spawn.by.parent();
        self.may_spawn(&spawn, out.at)?;
        let agent = AgentId(self.memory.next_agent);
        let above = &self
            .memory
            .get(parent)
            .ok_or(TreeRefusal::Unknown(parent))?
            .path;
        let numbers = &mut self.live.taken_numbers;
        let path = numbers.free_path(&self.memory, above, &spawn.name);
        let from = match spawn.by {
            SpawnCaller::User { .. } => MailSender::User,
            SpawnCaller::Agent(parent) => MailSender::Agent(parent),
        };
        let birth = AgentBirth {
            agent,
            parent,
            session: spawn.session,
            path: path.clone(),
            genealogy: spawn.genealogy,
            bond: spawn.bond,
            first: spawn.message.map(|id| MailEnvelope {
                id,
                kind: MailKind::Regular { from },
            }),
        };
        self.record(out, parent, TreeFact::Born(Box::new(birth)));
        out.effects
            .push(TreeEffect::Emit(TreeNotice::Created { agent }));
        if spawn.message.is_some() {
            self.wake(out, agent);
            self.grant_slots(out);
        } else {
            self.make_ready(out, agent);
        }
        out.answer(CommandReply::Spawned {
            agent,
            path,
            status: self.status(agent),
        });
        Ok(())
    }

    /// A child that waits to be told what to do opens at once, without a slot: what it shares
    /// with its parent is the conversation of this moment.
    fn make_ready(&mut self, out: &mut EffectBuffer, agent: AgentId) {
        if self.live.residents.touch(agent) == SessionResidency::Absent {
            out.effects.push(TreeEffect::Load { agent });
        }
        self.tell_status(out, agent);
    }

    fn may_spawn(&self, spawn: &SpawnCommand, at: TimeMs) -> Result<(), TreeRefusal> {
        let parent = self.known(spawn.by.parent())?;
        if let SpawnCaller::Agent(agent) = spawn.by {
            self.must_have_task(agent)?;
        }
        if !parent.is_counted() {
            return Err(TreeRefusal::Closed(parent.id));
        }
        if self.memory.sessions.contains_key(&spawn.session) {
            return Err(TreeRefusal::KnownSession(spawn.session));
        }
        let limits = &self.limits;
        if parent.depth >= limits.max_depth {
            return Err(TreeRefusal::TooDeep {
                limit: limits.max_depth,
            });
        }
        self.must_have_room_in_tree()?;
        let limit = limits.max_spawns_per_minute;
        let window = TimeMs(at.0 - SPAWN_WINDOW_MS);
        if self.memory.were_born_since(window, limit) {
            return Err(TreeRefusal::TooFast {
                limit,
                retry_in_ms: self.spawn_window_opens_in_ms(at),
            });
        }
        if limits.on_limit == OnLimit::Error && !self.live.slots.has_room() {
            return Err(TreeRefusal::NoSlot {
                limit: limits.max_threads,
            });
        }
        Ok(())
    }

    pub(super) fn must_have_room_in_tree(&self) -> Result<(), TreeRefusal> {
        let limit = self.limits.max_agents;
        // Most trees never had so many, which needs no counting.
        if self.memory.agents.len() < limit {
            return Ok(());
        }
        let counted = self.memory.iter().filter(|agent| agent.is_counted());
        if counted.count() >= limit {
            return Err(TreeRefusal::TooMany { limit });
        }
        Ok(())
    }

    /// An agent acts through a task of its own. Afterwards, or once the task is being
    /// stopped for good, nothing new may escape the stop.
    pub(super) fn must_have_task(&self, agent: AgentId) -> Result<(), TreeRefusal> {
        let node = self.known(agent)?;
        if node.stop.is_some() {
            return Err(TreeRefusal::Stopping(agent));
        }
        if node.lifecycle.is_running() {
            Ok(())
        } else {
            Err(TreeRefusal::NoTask(agent))
        }
    }

    /// The window opens when the oldest birth that fills it leaves.
    fn spawn_window_opens_in_ms(&self, at: TimeMs) -> i64 {
        let filling = self.limits.max_spawns_per_minute.checked_sub(1);
        let oldest: Option<&AgentRecord> =
            filling.and_then(|nth| self.memory.iter().rev().nth(nth));
        oldest.map_or(SPAWN_WINDOW_MS, |agent| {
            agent.born_at.0 + SPAWN_WINDOW_MS - at.0
        })
    }
}
