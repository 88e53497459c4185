//! The end of a process, and the next one: nothing is lost on the way.

use std::collections::BTreeSet;

use troupe_protocol::AgentId;
use troupe_protocol::tree::{
    Caller, Interruption, StopOrder, TaskEnding, TimeMs, TreeFact, TreeRecord,
};

use super::{EffectBuffer, Tree};
use crate::agent::AgentLiveness;
use crate::effect::{CommandReply, TreeEffect, TreeNotice};
use crate::fold::FoldError;
use crate::lifecycle::Lifecycle;
use crate::logged_lives::{LoggedLives, LostAgent};
use crate::{AgentRecord, TreeLimits, TreeRefusal};

impl Tree {
    /// Rebuilds a tree from its facts, in whatever order the logs were read. What does not
    /// fit, because a line before it was lost, is returned with its reason; the rest
    /// stands. `What::Recover` comes next.
    pub fn restore(
        limits: TreeLimits,
        mut records: Vec<TreeRecord>,
    ) -> (Self, Vec<(TreeRecord, FoldError)>) {
        records.sort_by_key(|record| record.order);
        records.dedup_by_key(|record| record.order);
        let mut tree = Self::empty(limits);
        let mut misfits = Vec::new();
        for record in records {
            if let Err(misfit) = tree.memory.fold(&record) {
                misfits.push((record, misfit));
            }
        }
        (tree, misfits)
    }

    /// Takes agents out of the live tree whose logs are gone, as far as the root's log tells
    /// of them. Returns them.
    pub fn remove_agents_without_log(
        &mut self,
        told: &LoggedLives,
        unbegun: &BTreeSet<AgentId>,
    ) -> Vec<LostAgent> {
        told.mark_lost_agents(&mut self.memory, unbegun)
    }

    /// Takes agents out of the live tree of whom nothing is known but that they were made.
    pub fn remove_unknown_agents(&mut self, agents: &BTreeSet<AgentId>, at: TimeMs) {
        for agent in agents {
            self.memory.mark_lost(*agent, at);
        }
    }

    pub(super) fn suspend(&mut self, out: &mut EffectBuffer) {
        self.live.suspended = true;
        let in_flight: Vec<AgentId> = self.live.runs.keys().copied().collect();
        let why = Interruption::Shutdown;
        for agent in in_flight {
            self.order_stop(out, agent, agent, StopOrder::Interrupt { why });
        }
    }

    /// Ends every task below the root, which began under settings that no longer hold. Those that
    /// wait for a slot have nothing to interrupt, so they are cancelled, and come first, or they
    /// would take the slots. Neither calls back: nobody asked for a task that would tell of it.
    pub(super) fn reconfigure(&mut self, out: &mut EffectBuffer) {
        let below = |agent: &AgentId| *agent != AgentId::ROOT;
        let (running, idle): (Vec<AgentId>, Vec<AgentId>) = self
            .memory
            .iter()
            .map(|agent| agent.id)
            .filter(below)
            .partition(|agent| self.live.runs.contains_key(agent));
        let (by, scope) = (Caller::User, AgentId::ROOT);
        for agent in idle {
            if self.live.slots.position(agent).is_some() {
                self.settle(out, agent, StopOrder::Cancel { by, scope });
            }
        }
        let why = Interruption::Reconfigured;
        for agent in running {
            self.order_stop(out, AgentId::ROOT, agent, StopOrder::Interrupt { why });
        }
    }

    /// Settles what the last process left unfinished, then lets everyone go on who may.
    pub(super) fn recover(&mut self, out: &mut EffectBuffer) {
        let agents: Vec<AgentId> = self.memory.iter().map(|agent| agent.id).collect();
        for agent in &agents {
            if !self.live.runs.contains_key(agent) {
                self.recover_agent(out, *agent);
            }
        }
        self.wake_in_order(out);
    }

    fn recover_agent(&mut self, out: &mut EffectBuffer, agent: AgentId) {
        let Some(node) = self.memory.get(agent) else {
            return;
        };
        if node.place == AgentLiveness::Lost {
            return;
        }
        let stop = node.stop;
        if let Lifecycle::Running { task } = &node.lifecycle {
            let end = match stop {
                Some(StopOrder::Cancel { by, scope } | StopOrder::Close { by, scope }) => {
                    TaskEnding::Cancelled { by, scope }
                }
                Some(StopOrder::Interrupt { why }) => TaskEnding::Interrupted { why },
                None => TaskEnding::Interrupted {
                    why: Interruption::Crash,
                },
            };
            let fact = self.end_of_task(node, task.clone(), end);
            self.finish(out, agent, fact);
        } else if let Some(stop) = stop {
            self.settle(out, agent, stop);
        }
    }

    pub(super) fn sweep(&mut self, out: &mut EffectBuffer) {
        self.wake_in_order(out);
        let in_flight: Vec<AgentId> = self.live.runs.keys().copied().collect();
        for agent in in_flight {
            self.poke_for_input(out, agent);
        }
    }

    pub(super) fn resume(
        &mut self,
        out: &mut EffectBuffer,
        by: Caller,
        agent: AgentId,
    ) -> Result<(), TreeRefusal> {
        let node = self.known(agent)?;
        self.may_resume(by, agent)?;
        if node.place == AgentLiveness::Lost {
            return Err(TreeRefusal::Lost(agent));
        }
        let gone = node.place == AgentLiveness::Pruned || node.lifecycle.is_shutdown();
        if gone {
            self.may_be_reopened(node)?;
            self.record(out, agent, TreeFact::Reopened { agent });
            let status = self.status(agent);
            out.effects
                .push(TreeEffect::Emit(TreeNotice::Reopened { agent, status }));
            self.wake(out, agent);
            self.grant_slots(out);
        }
        let status = self.status(agent);
        out.answer(CommandReply::Resumed { agent, status });
        Ok(())
    }

    /// An agent comes back to where one could be made: within the limits, below agents that
    /// are there. To bring back those above it too would bring back agents that nobody asked
    /// for, and that the caller may not touch.
    fn may_be_reopened(&self, node: &AgentRecord) -> Result<(), TreeRefusal> {
        let (agent, depth) = (node.id, node.depth);
        let limit = self.limits.max_depth;
        if depth > limit {
            return Err(TreeRefusal::ResumeTooDeep {
                agent,
                depth,
                limit,
            });
        }
        let mut above = node.parent;
        while let Some(parent) = above {
            let parent = self.known(parent)?;
            if !parent.is_counted() {
                let above = parent.id;
                return Err(TreeRefusal::ClosedAbove { agent, above });
            }
            above = parent.parent;
        }
        self.must_have_room_in_tree()
    }

    fn wake_in_order(&mut self, out: &mut EffectBuffer) {
        let idle: Vec<AgentId> = self
            .memory
            .iter()
            .filter(|node| AgentRecord::next_input(node).is_some())
            .map(|node| node.id)
            .collect();
        for agent in idle {
            self.wake(out, agent);
        }
    }
}
