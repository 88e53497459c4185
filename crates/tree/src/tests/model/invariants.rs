//! What must hold after every step.

use std::collections::BTreeSet;

use troupe_protocol::AgentId;
use troupe_protocol::tree::{Caller, MailKind, MessageId, TreeFact};

use super::super::reference::{Member, Stand};
use super::world::{Waiting, World, demand, limits};
use crate::command::{AwaitedAgents, TreeAction};
use crate::effect::TreeEffect;
use crate::status::CurrentStatus;
use troupe_protocol::agent::WaitingOn;

impl World {
    /// A status stands in its own agent's log, and while a task is in flight only its own
    /// session changes it.
    pub(super) fn check_writers(
        &self,
        what: &TreeAction,
        effects: &[TreeEffect],
    ) -> Result<(), String> {
        let reporter = match what {
            TreeAction::Report { agent, .. } => Some(*agent),
            _ => None,
        };
        for effect in effects {
            let TreeEffect::Persist(record) = effect else {
                continue;
            };
            let (TreeFact::Started { agent, .. }
            | TreeFact::Ended { agent, .. }
            | TreeFact::Halted { agent, .. }
            | TreeFact::Withdrawn { agent }
            | TreeFact::Shut { agent }) = &record.fact
            else {
                continue;
            };
            demand(record.log == *agent, "a status is a line of its own agent")?;
            let in_flight = self.reference.get(*agent).flight.is_some();
            demand(
                !in_flight || reporter == Some(*agent) || *what == TreeAction::Recover,
                "nobody else writes the status of a running task",
            )?;
        }
        Ok(())
    }

    pub(super) fn check_members(&self) -> Result<(), String> {
        let mut paths = BTreeSet::new();
        for member in &self.reference.members {
            let agent = self.tree.get(member.id).ok_or("an agent is remembered")?;
            demand(paths.insert(&agent.path), "a path is given once")?;
            demand(agent.parent == member.parent, "parents agree")?;
            let ids = |wanted: fn(&MailKind) -> bool| -> Vec<MessageId> {
                let mail = agent.inbox.iter().filter(|mail| wanted(&mail.kind));
                mail.map(|mail| mail.id).collect()
            };
            let callbacks: Vec<MessageId> = member.callbacks.iter().map(|(id, _)| *id).collect();
            let same = ids(|kind| matches!(kind, MailKind::Interrupt { .. })) == member.interrupts
                && ids(|kind| matches!(kind, MailKind::Regular { .. })) == member.regular
                && ids(|kind| matches!(kind, MailKind::Callback { .. })) == callbacks;
            demand(same, "inboxes agree")?;
            let status = self.tree.status(member.id);
            if !self.fits(member, status) {
                return Err(format!("broken: a status is {status:?} for {member:?}"));
            }
        }
        demand(
            self.tree.memory().iter().count() == self.reference.members.len(),
            "nobody is invented",
        )
    }

    /// An interrupt is what the task at hand begins with, or the task is being ended for it.
    /// Only the user's own input to the root comes before it.
    pub(super) fn check_interrupts(&self) -> Result<(), String> {
        for member in &self.reference.members {
            let (Some(interrupt), Some(flight)) = (member.interrupts.last(), &member.flight) else {
                continue;
            };
            let gives_way = match flight.message {
                Some(message) => message == *interrupt,
                None => self.aborted.contains_key(&member.id) || member.id == AgentId::ROOT,
            };
            demand(
                gives_way || member.order.is_some(),
                "a task gives way to an interrupt",
            )?;
        }
        Ok(())
    }

    fn fits(&self, member: &Member, status: CurrentStatus) -> bool {
        if let Some(flight) = &member.flight {
            return match status {
                CurrentStatus::PendingInit => flight.message.is_some(),
                CurrentStatus::Running | CurrentStatus::Waiting { .. } => flight.message.is_none(),
                _ => false,
            };
        }
        if member.next().is_some() {
            let replaced = member.stand == Stand::Replaced && status == CurrentStatus::PendingInit;
            if matches!(status, CurrentStatus::Queued { .. }) || replaced {
                return true;
            }
            if !self.suspended {
                return false;
            }
        }
        match status {
            CurrentStatus::Shutdown => member.closed,
            _ if member.closed => false,
            CurrentStatus::PendingInit => matches!(member.stand, Stand::New | Stand::Replaced),
            CurrentStatus::Ready => member.is_ready(),
            CurrentStatus::Completed => member.stand == Stand::Completed,
            CurrentStatus::Errored => matches!(member.stand, Stand::Errored | Stand::FailedToStart),
            CurrentStatus::Interrupted { .. } => member.stand == Stand::Interrupted,
            CurrentStatus::Cancelled => member.stand == Stand::Cancelled,
            CurrentStatus::BudgetExceeded => member.stand == Stand::Budget,
            CurrentStatus::Queued { .. }
            | CurrentStatus::Running
            | CurrentStatus::Waiting { .. }
            | CurrentStatus::Lost
            | CurrentStatus::NotFound => false,
        }
    }

    pub(super) fn check_slots(&self) -> Result<(), String> {
        let statuses: Vec<(AgentId, CurrentStatus)> = self
            .reference
            .members
            .iter()
            .filter(|member| member.id != AgentId::ROOT)
            .map(|member| (member.id, self.tree.status(member.id)))
            .collect();
        let in_flight = |agent: AgentId| self.reference.get(agent).flight.is_some();
        let runs = |(agent, status): &&(AgentId, CurrentStatus)| match status {
            CurrentStatus::Waiting { on } => on.keeps_slot(),
            CurrentStatus::Running => true,
            CurrentStatus::PendingInit => in_flight(*agent),
            _ => false,
        };
        let running = statuses.iter().filter(runs).count();
        demand(running <= limits().max_threads, "no more run than may")?;
        demand(running == self.tree.counts().running, "no slot is leaked")?;
        if self.suspended {
            return Ok(());
        }
        let returning = |(agent, status): &&(AgentId, CurrentStatus)| match status {
            CurrentStatus::Waiting { on } => *on == WaitingOn::Slot,
            CurrentStatus::PendingInit => !in_flight(*agent),
            _ => false,
        };
        let returning = statuses.iter().filter(returning).count();
        let mut positions: Vec<usize> = statuses
            .iter()
            .filter_map(|(_, status)| match status {
                CurrentStatus::Queued { position } => Some(*position),
                _ => None,
            })
            .collect();
        positions.sort_unstable();
        let expected: Vec<usize> = (returning + 1..=returning + positions.len()).collect();
        demand(positions == expected, "positions count from the head")?;
        let in_line = returning + positions.len();
        demand(
            in_line == 0 || running == limits().max_threads,
            "nobody waits for a slot that is free",
        )
    }

    /// What is news stays so, in its order, until it was delivered.
    pub(super) fn check_news(&self) -> Result<(), String> {
        for member in &self.reference.members {
            let node = self.tree.get(member.id).ok_or("an agent is remembered")?;
            let kept: Vec<MessageId> = node.news.iter().map(|item| item.id).collect();
            let news = self.news.iter();
            let unheard: Vec<MessageId> = news
                .filter(|told| told.parent == member.id && !told.delivered)
                .map(|told| told.id)
                .collect();
            demand(kept == unheard, "news agree")?;
        }
        Ok(())
    }

    pub(super) fn check_waits(&self) -> Result<(), String> {
        for (_, wait) in self.open_waits() {
            let status = wait.waiter.map(|waiter| self.tree.status(waiter));
            let for_slot = Some(CurrentStatus::Waiting {
                on: WaitingOn::Slot,
            });
            demand(
                !self.is_met(wait) || status == for_slot,
                "a wait whose agent has ended is answered",
            )?;
        }
        Ok(())
    }

    /// Tells whether nobody could end a wait, were it opened now: whoever moves, and whoever
    /// waits for somebody that moves, is not among those it is for.
    pub(super) fn never_ends(&self, by: Caller, on: &AwaitedAgents) -> bool {
        let Caller::Agent(waiter) = by else {
            return false;
        };
        let waits: Vec<(AgentId, Vec<AgentId>)> = self
            .open_waits()
            .filter_map(|(_, wait)| Some((wait.waiter?, self.waited_for(wait.waiter?, &wait.on))))
            .filter(|(agent, _)| self.is_held_up(*agent))
            .collect();
        let mut moving = BTreeSet::new();
        loop {
            let before = moving.len();
            for member in self.reference.members.iter().filter(|it| it.id != waiter) {
                let mut own = waits.iter().filter(|(agent, _)| *agent == member.id);
                if own.all(|(_, on)| on.iter().any(|target| moving.contains(target))) {
                    moving.insert(member.id);
                }
            }
            if moving.len() == before {
                let on = self.waited_for(waiter, on);
                return !on.iter().any(|target| moving.contains(target));
            }
        }
    }

    fn waited_for(&self, waiter: AgentId, on: &AwaitedAgents) -> Vec<AgentId> {
        match on {
            AwaitedAgents::Agents(agents) => agents.clone(),
            AwaitedAgents::AnyChild => {
                let members = self.reference.members.iter();
                members
                    .filter(|member| member.parent == Some(waiter) && !member.is_final())
                    .map(|member| member.id)
                    .collect()
            }
        }
    }

    /// Neither being ended, nor in line for its slot with the answer in sight.
    fn is_held_up(&self, agent: AgentId) -> bool {
        let for_slot = CurrentStatus::Waiting {
            on: WaitingOn::Slot,
        };
        let ends = self.aborted.contains_key(&agent) || self.reference.get(agent).order.is_some();
        !ends && self.tree.status(agent) != for_slot
    }

    fn is_met(&self, wait: &Waiting) -> bool {
        match &wait.on {
            AwaitedAgents::Agents(agents) => {
                let mut agents = agents.iter();
                agents.any(|agent| self.reference.get(*agent).is_final())
            }
            AwaitedAgents::AnyChild => {
                let by = wait.waiter.unwrap_or(AgentId::ROOT);
                let mut unheard = self.unheard(by);
                let has_news =
                    wait.waiter.is_some() && unheard.any(|told| !self.is_claimed(by, told.id));
                has_news || !self.has_child_at_work(by)
            }
        }
    }
}
