//! The verbs that stop: first a plan of what they touch, then, unless it was only asked
//! for, the deed.

use std::collections::BTreeMap;

use troupe_protocol::tree::{
    Caller, Interruption, OnParentInterrupt, StopOrder, TaskEnding, TreeFact,
};
use troupe_protocol::{AgentId, StopVerb, TaskOutcome};

use super::residents::SessionResidency;
use super::{EffectBuffer, Tree};
use crate::agent::AgentLiveness;
use crate::command::{StopCommand, StopMode};
use crate::effect::{
    CommandReply, PlannedStop, SkippedStop, StopPlan, StopSkipReason, TreeEffect, TreeNotice,
};
use crate::{AgentRecord, TreeRefusal};

impl Tree {
    pub(super) fn stop(
        &mut self,
        out: &mut EffectBuffer,
        stop: StopCommand,
    ) -> Result<(), TreeRefusal> {
        let plan = self.plan(&stop)?;
        if stop.mode == StopMode::Act {
            for touch in &plan.touched {
                self.act(out, stop.by, *touch);
            }
            self.tell_cancelled_children(out, &plan);
        }
        out.answer(CommandReply::Plan(plan));
        Ok(())
    }

    /// The children of an interrupted task that were made to end with it.
    pub(super) fn cancel_bound_children(&mut self, out: &mut EffectBuffer, parent: AgentId) {
        let mut plan = StopPlan::of(StopVerb::Interrupt);
        self.plan_bound_children(&mut plan, parent);
        for touch in &plan.touched {
            self.act(out, Caller::Agent(parent), *touch);
        }
        self.tell_cancelled_children(out, &plan);
    }

    /// Tells the parents whose interrupt has taken children along.
    fn tell_cancelled_children(&self, out: &mut EffectBuffer, plan: &StopPlan) {
        if plan.verb != StopVerb::Interrupt {
            return;
        }
        let mut told: BTreeMap<AgentId, Vec<AgentId>> = BTreeMap::new();
        for touch in &plan.touched {
            if touch.action == StopVerb::Cancel && self.is_child(touch.agent, touch.scope) {
                told.entry(touch.scope).or_default().push(touch.agent);
            }
        }
        for (parent, children) in told {
            let notice = TreeNotice::ChildrenCancelled { parent, children };
            out.effects.push(TreeEffect::Emit(notice));
        }
    }

    /// Orders a stop from a task in flight. Its session answers by ending the task.
    pub(super) fn order_stop(
        &mut self,
        out: &mut EffectBuffer,
        log: AgentId,
        agent: AgentId,
        stop: StopOrder,
    ) {
        let earlier = self.memory.get(agent).and_then(|node| node.stop);
        if !stop.exceeds(earlier) {
            return;
        }
        // The words are put in by who writes it down, as those of messages are.
        let note = None;
        self.record(out, log, TreeFact::StopAsked { agent, stop, note });
        let why = match stop {
            StopOrder::Interrupt {
                why: Interruption::Shutdown,
            } => TaskOutcome::Shutdown,
            StopOrder::Interrupt { .. } => TaskOutcome::Interrupted,
            StopOrder::Cancel { .. } | StopOrder::Close { .. } => TaskOutcome::Cancelled,
        };
        if let Some(run) = self.live.runs.get(&agent) {
            out.abort(agent, run.task.clone(), why);
        }
    }

    pub(super) fn shut(&mut self, out: &mut EffectBuffer, agent: AgentId) {
        let had_ended = self.status(agent).is_final();
        self.live.slots.leave(agent);
        self.record(out, agent, TreeFact::Shut { agent });
        if self.live.residents.remove(agent) == SessionResidency::Resident {
            out.effects.push(TreeEffect::Shut { agent });
        }
        self.tell_status(out, agent);
        if had_ended {
            self.answer_waits_naming(out, agent);
        } else {
            self.answer_waits_on(out, agent);
        }
    }

    fn plan(&self, stop: &StopCommand) -> Result<StopPlan, TreeRefusal> {
        let mut plan = StopPlan::of(stop.verb);
        for target in &stop.targets {
            let Some(node) = self.memory.get(*target) else {
                plan.skip(*target, StopSkipReason::Unknown);
                continue;
            };
            self.may_stop(stop.by, stop.verb, *target)?;
            match stop.verb {
                StopVerb::Interrupt => self.plan_interrupt(&mut plan, *target),
                StopVerb::Cancel => self.plan_cancel(&mut plan, *target, *target),
                StopVerb::Close => self.plan_close(&mut plan, *target),
                StopVerb::Release if node.parent.is_none() => {
                    return Err(TreeRefusal::NotAChild(*target));
                }
                StopVerb::Release => plan.touch(*target, StopVerb::Release, *target),
                StopVerb::Prune => self.plan_prune(&mut plan, node),
            }
        }
        Ok(plan)
    }

    fn plan_interrupt(&self, plan: &mut StopPlan, target: AgentId) {
        let stopping = self
            .memory
            .get(target)
            .is_some_and(|node| node.stop.is_some());
        if stopping {
            plan.skip(target, StopSkipReason::AlreadyDone);
        } else if self.live.runs.contains_key(&target) {
            plan.touch(target, StopVerb::Interrupt, target);
            self.plan_bound_children(plan, target);
        } else {
            plan.skip(target, StopSkipReason::Idle);
        }
    }

    fn plan_bound_children(&self, plan: &mut StopPlan, parent: AgentId) {
        let children = self
            .memory
            .get(parent)
            .map_or(&[][..], |node| &node.children);
        for child in children {
            let bound = self
                .memory
                .get(*child)
                .is_some_and(|node| node.bond.on_parent_interrupt == OnParentInterrupt::Cancel);
            if bound {
                self.plan_cancel(plan, *child, parent);
            }
        }
    }

    /// A stop of the root stops the tree: nobody else would stop those without a parent.
    fn plan_cancel(&self, plan: &mut StopPlan, target: AgentId, scope: AgentId) {
        let before = plan.touched.len();
        for agent in self.memory.within(target) {
            if self.is_active(agent) {
                plan.touch(agent, StopVerb::Cancel, scope);
            }
        }
        if plan.touched.len() == before {
            plan.skip(target, StopSkipReason::Idle);
        }
    }

    fn plan_close(&self, plan: &mut StopPlan, target: AgentId) {
        let before = plan.touched.len();
        for agent in self.memory.within(target) {
            if self.memory.get(agent).is_some_and(AgentRecord::is_counted) {
                plan.touch(agent, StopVerb::Close, target);
            }
        }
        if plan.touched.len() == before {
            plan.skip(target, StopSkipReason::AlreadyDone);
        }
    }

    /// Prunes an agent with all below it, or not at all: nothing active loses its parent.
    fn plan_prune(&self, plan: &mut StopPlan, node: &AgentRecord) {
        let subtree = self.memory.subtree(node.id);
        if node.place == AgentLiveness::Pruned {
            plan.skip(node.id, StopSkipReason::AlreadyDone);
        } else if node.id == AgentId::ROOT || subtree.iter().any(|agent| self.is_unfinished(*agent))
        {
            plan.skip(node.id, StopSkipReason::Active);
        } else {
            for agent in subtree {
                let is_listed = |below: &AgentRecord| {
                    matches!(below.place, AgentLiveness::Live | AgentLiveness::Lost)
                };
                if self.memory.get(agent).is_some_and(is_listed) {
                    plan.touch(agent, StopVerb::Prune, node.id);
                }
            }
        }
    }

    fn act(&mut self, out: &mut EffectBuffer, by: Caller, touch: PlannedStop) {
        let PlannedStop {
            agent,
            action,
            scope,
        } = touch;
        let log = by.log_owner();
        match action {
            StopVerb::Interrupt => {
                let why = match by {
                    Caller::User => Interruption::User,
                    Caller::Agent(_) => Interruption::Parent,
                };
                self.order_stop(out, log, agent, StopOrder::Interrupt { why });
            }
            StopVerb::Cancel => self.cancel(out, log, agent, StopOrder::Cancel { by, scope }),
            StopVerb::Close => self.cancel(out, log, agent, StopOrder::Close { by, scope }),
            StopVerb::Release => {
                let parent = self.memory.get(agent).and_then(|node| node.parent);
                self.record(out, log, TreeFact::Released { agent });
                if let Some(parent) = parent {
                    self.end_idle_waits(out, parent);
                }
            }
            StopVerb::Prune => {
                self.record(out, log, TreeFact::Pruned { agent });
                if self.live.residents.remove(agent) == SessionResidency::Resident {
                    out.effects.push(TreeEffect::Unload { agent });
                }
                out.effects
                    .push(TreeEffect::Emit(TreeNotice::Deleted { agent }));
            }
        }
    }

    /// Cancels what runs by an order, and what is only in line at once: no session is
    /// there yet that could answer.
    fn cancel(&mut self, out: &mut EffectBuffer, log: AgentId, agent: AgentId, stop: StopOrder) {
        if self.live.runs.contains_key(&agent) {
            self.order_stop(out, log, agent, stop);
            return;
        }
        self.settle(out, agent, stop);
    }

    /// Carries out an order for an agent without a task in flight.
    pub(super) fn settle(&mut self, out: &mut EffectBuffer, agent: AgentId, stop: StopOrder) {
        let Some(node) = self.memory.get(agent) else {
            return;
        };
        let end = match stop {
            StopOrder::Interrupt { why } => TaskEnding::Interrupted { why },
            StopOrder::Cancel { by, scope } | StopOrder::Close { by, scope } => {
                TaskEnding::Cancelled { by, scope }
            }
        };
        if let Some(message) = node.first_mail() {
            let fact = self.end_before_start(node, message, end);
            self.finish(out, agent, fact);
        } else if node.stop.is_some() {
            self.finish(out, agent, TreeFact::Withdrawn { agent });
        }
        let open = self
            .memory
            .get(agent)
            .is_some_and(|node| !node.lifecycle.is_shutdown());
        if open && matches!(stop, StopOrder::Close { .. }) {
            self.shut(out, agent);
        }
    }

    /// Tells whether a task is in flight or about to be.
    pub(super) fn is_active(&self, agent: AgentId) -> bool {
        self.live.runs.contains_key(&agent)
            || self
                .memory
                .get(agent)
                .is_some_and(|node| node.next_input().is_some())
    }

    pub(super) fn is_unfinished(&self, agent: AgentId) -> bool {
        self.is_active(agent) || !self.status(agent).is_final()
    }
}

impl StopPlan {
    fn of(verb: StopVerb) -> Self {
        Self {
            verb,
            touched: Vec::new(),
            skipped: Vec::new(),
        }
    }

    /// Adds a touch; what two targets have in common is touched once.
    fn touch(&mut self, agent: AgentId, action: StopVerb, scope: AgentId) {
        let again = |touch: &PlannedStop| touch.agent == agent && touch.action == action;
        if !self.touched.iter().any(again) {
            self.touched.push(PlannedStop {
                agent,
                action,
                scope,
            });
        }
    }

    fn skip(&mut self, agent: AgentId, why: StopSkipReason) {
        self.skipped.push(SkippedStop { agent, why });
    }
}
