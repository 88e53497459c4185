//! Waits: who waits for whom, and the one answer that each gets.
//!
//! An answer and a callback tell the same; a parent gets one of them. Answering a wait
//! claims what it tells, and the report that the answer was taken makes it old. Until then
//! it stays news, and its callback in the inbox, so a task that dies with the answer in its
//! hands loses nothing. Messages that end a wait are claimed and taken in the same way.

use std::collections::BTreeSet;

use troupe_protocol::tree::{Caller, MailKind, MailSender, MessageId};
use troupe_protocol::{AgentId, SubmissionId};

use super::run::{DueReply, ReplacementState};
use super::{EffectBuffer, Tree};
use crate::TreeRefusal;
use crate::command::{AwaitedAgents, MessageForm, SendCommand, WaitCondition};
use crate::effect::{CommandReply, FinalReport, TreeEffect, WaitAnswer, WaitEnd};
use crate::lifecycle::Lifecycle;
use crate::limits::WAITS_OPEN_MAX;
use crate::status::CurrentStatus;
use crate::unheard_ends::UnheardEnd;

/// Names one open wait of the running process. Waits end with it, so this is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitId(pub u64);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenWait {
    /// None is the user.
    waiter: Option<AgentId>,
    on: WaitSubjects,
    until: WaitCondition,
}

/// Whether the answer of a wait brings a message to its recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitDelivery {
    ByAnswer,
    No,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum WaitSubjects {
    Agents(Vec<AgentId>),
    /// Whoever is a child of this one at the time.
    ChildrenOf(AgentId),
}

impl Tree {
    pub(super) fn wait(
        &mut self,
        out: &mut EffectBuffer,
        by: Caller,
        wait_for: AwaitedAgents,
        until: WaitCondition,
    ) -> Result<(), TreeRefusal> {
        let waiter = self.may_wait(by)?;
        let on = match wait_for {
            AwaitedAgents::Agents(agents) => {
                let mut seen = BTreeSet::new();
                WaitSubjects::Agents(agents.into_iter().filter(|id| seen.insert(*id)).collect())
            }
            AwaitedAgents::AnyChild => WaitSubjects::ChildrenOf(by.log_owner()),
        };
        let finals = self.finals(waiter, &on);
        let targets = self.targets(&on);
        if targets.is_empty() && finals.is_empty() {
            return Err(TreeRefusal::NothingToWaitFor);
        }
        if let (Some(waiter), true) = (waiter, finals.is_empty()) {
            self.must_not_be_circular(waiter, &targets)?;
        }
        let wait = WaitId(self.live.next_wait);
        self.live.next_wait += 1;
        out.answer(CommandReply::Waiting { wait });
        let open = OpenWait { waiter, on, until };
        if !finals.is_empty() {
            self.answer(out, wait, waiter, WaitAnswer::telling(finals));
        } else if self.has_mail_for(&open) {
            // The task has been handed it already, and reads it behind this answer.
            self.answer(out, wait, waiter, WaitAnswer::ended(WaitEnd::Mail));
        } else {
            self.open(out, wait, open);
        }
        Ok(())
    }

    pub(super) fn time_out(
        &mut self,
        out: &mut EffectBuffer,
        wait: WaitId,
    ) -> Result<(), TreeRefusal> {
        self.end_wait(out, wait, WaitEnd::TimedOut)
    }

    pub(super) fn stop_waiting(
        &mut self,
        out: &mut EffectBuffer,
        wait: WaitId,
    ) -> Result<(), TreeRefusal> {
        self.end_wait(out, wait, WaitEnd::Stopped)
    }

    /// Answers every wait that the end of this agent's task satisfies.
    pub(super) fn answer_waits_on(&mut self, out: &mut EffectBuffer, agent: AgentId) {
        let waits = self.waits(|open| self.concerns(&open.on, agent));
        self.answer_waits(out, agent, waits);
    }

    /// Answers the waits that name an agent which had ended before, and is closed now. For
    /// its parent that is no news.
    pub(super) fn answer_waits_naming(&mut self, out: &mut EffectBuffer, agent: AgentId) {
        let waits = self.waits(|open| match &open.on {
            WaitSubjects::Agents(agents) => agents.contains(&agent),
            WaitSubjects::ChildrenOf(_) => false,
        });
        self.answer_waits(out, agent, waits);
    }

    /// In the order of their opening: what the first one tells is no news for the next, which
    /// goes on, or ends if no child is at work any more.
    fn answer_waits(
        &mut self,
        out: &mut EffectBuffer,
        agent: AgentId,
        waits: Vec<(WaitId, OpenWait)>,
    ) {
        if !self.status(agent).is_final() {
            return;
        }
        for (wait, open) in waits {
            let mut finals = self.finals(open.waiter, &open.on);
            if finals.is_empty() && !self.is_news(open.waiter, agent) {
                finals.push(self.final_of(open.waiter, agent));
            }
            if finals.is_empty() {
                self.end_idle_wait(out, wait, &open);
            } else {
                self.live.waits.remove(&wait);
                self.answer(out, wait, open.waiter, WaitAnswer::telling(finals));
            }
        }
    }

    /// Looks after the waits of an agent that has a child less.
    pub(super) fn end_idle_waits(&mut self, out: &mut EffectBuffer, parent: AgentId) {
        for (wait, open) in self.waits(|open| open.on == WaitSubjects::ChildrenOf(parent)) {
            self.end_idle_wait(out, wait, &open);
        }
    }

    fn end_idle_wait(&mut self, out: &mut EffectBuffer, wait: WaitId, open: &OpenWait) {
        if self.targets(&open.on).is_empty() {
            self.live.waits.remove(&wait);
            let answer = WaitAnswer::ended(WaitEnd::Exhausted);
            self.answer(out, wait, open.waiter, answer);
        }
    }

    /// Ends the wait of the recipient that a message is worth the end of, if there is one.
    pub(super) fn answer_wait_by_mail(
        &mut self,
        out: &mut EffectBuffer,
        letter: &SendCommand,
    ) -> WaitDelivery {
        let mut waits = self.live.waits.iter();
        let listening = waits.find(|(_, open)| {
            open.waiter == Some(letter.to)
                && open.until == WaitCondition::EndOrMail
                && self.hears(&open.on, letter.from)
        });
        let Some(wait) = listening.map(|(wait, _)| *wait) else {
            return WaitDelivery::No;
        };
        let (mail, brought) = match letter.form {
            MessageForm::Words => (vec![letter.message], WaitDelivery::ByAnswer),
            MessageForm::Parts => (Vec::new(), WaitDelivery::No),
        };
        let answer = WaitAnswer {
            mail,
            ..WaitAnswer::ended(WaitEnd::Mail)
        };
        self.live.waits.remove(&wait);
        self.answer(out, wait, Some(letter.to), answer);
        brought
    }

    /// Tells whether a wait of the agent's task has promised this message already.
    pub(super) fn is_claimed(&self, agent: AgentId, message: MessageId) -> bool {
        let run = self.live.runs.get(&agent);
        run.is_some_and(|run| run.has_claimed(message))
    }

    fn may_wait(&self, by: Caller) -> Result<Option<AgentId>, TreeRefusal> {
        let Caller::Agent(agent) = by else {
            return Ok(None);
        };
        self.must_have_task(agent)?;
        let open = self.live.runs.get(&agent).map_or(0, |run| run.waits.len());
        if open >= WAITS_OPEN_MAX {
            return Err(TreeRefusal::TooManyWaits {
                limit: WAITS_OPEN_MAX,
            });
        }
        Ok(Some(agent))
    }

    fn waits(&self, wanted: impl Fn(&OpenWait) -> bool) -> Vec<(WaitId, OpenWait)> {
        let waits = self.live.waits.iter();
        waits
            .filter(|(_, open)| wanted(open))
            .map(|(wait, open)| (*wait, open.clone()))
            .collect()
    }

    fn concerns(&self, on: &WaitSubjects, agent: AgentId) -> bool {
        match on {
            WaitSubjects::Agents(agents) => agents.contains(&agent),
            WaitSubjects::ChildrenOf(parent) => self.is_child(agent, *parent),
        }
    }

    pub(super) fn is_child(&self, agent: AgentId, parent: AgentId) -> bool {
        let node = self.memory.get(agent);
        node.is_some_and(|node| node.parent == Some(parent))
    }

    fn hears(&self, on: &WaitSubjects, from: MailSender) -> bool {
        match from {
            MailSender::Agent(agent) => self.concerns(on, agent),
            MailSender::User | MailSender::Watchdog(_) => false,
        }
    }

    fn has_mail_for(&self, open: &OpenWait) -> bool {
        let (Some(waiter), WaitCondition::EndOrMail) = (open.waiter, open.until) else {
            return false;
        };
        let node = self.memory.get(waiter);
        let mut mail = node.into_iter().flat_map(|node| node.inbox.iter());
        mail.any(|mail| match mail.kind {
            MailKind::Regular { from } => {
                self.hears(&open.on, from) && !self.is_claimed(waiter, mail.id)
            }
            MailKind::Interrupt { .. } | MailKind::Callback { .. } => false,
        })
    }

    /// Returns whose end the wait is for; of children those that are at work.
    fn targets(&self, on: &WaitSubjects) -> Vec<AgentId> {
        match on {
            WaitSubjects::Agents(agents) => agents.clone(),
            WaitSubjects::ChildrenOf(parent) => {
                let node = self.memory.get(*parent);
                let children = node.map_or(&[][..], |node| &node.children).iter().copied();
                // One that has ended, and begins again at once, is at work.
                children
                    .filter(|child| self.is_unfinished(*child))
                    .collect()
            }
        }
    }

    /// Refuses a wait that nobody could end: everybody it is for waits, directly or over
    /// others, for this agent. One that still moves is enough, because a wait ends with the
    /// first of those it is for.
    fn must_not_be_circular(&self, waiter: AgentId, on: &[AgentId]) -> Result<(), TreeRefusal> {
        let mut blocked = self.blocked_by_waits();
        blocked.insert(waiter);
        while on.iter().all(|target| blocked.contains(target)) {
            let mut others = blocked.iter().filter(|agent| **agent != waiter);
            let moves = others.find(|agent| self.all_waits_can_end(**agent, &blocked));
            match moves.copied() {
                Some(agent) => blocked.remove(&agent),
                None => return Err(TreeRefusal::CircularWait(on[0])),
            };
        }
        Ok(())
    }

    /// Returns who goes on only if others do. A task that is being ended does not wait for
    /// anybody any more.
    fn blocked_by_waits(&self) -> BTreeSet<AgentId> {
        let runs = self.live.runs.iter();
        runs.filter(|(agent, run)| {
            let stop = self.memory.get(**agent).and_then(|node| node.stop);
            let ends = stop.is_some() || run.replacement == ReplacementState::Asked;
            !run.waits.is_empty() && !ends
        })
        .map(|(agent, _)| *agent)
        .collect()
    }

    /// A task goes on when the last of its waits has ended.
    fn all_waits_can_end(&self, agent: AgentId, blocked: &BTreeSet<AgentId>) -> bool {
        let run = self.live.runs.get(&agent);
        let waits = run.into_iter().flat_map(|run| &run.waits);
        let mut open = waits.filter_map(|wait| self.live.waits.get(wait));
        open.all(|open| {
            let targets = self.targets(&open.on);
            targets.iter().any(|target| !blocked.contains(target))
        })
    }

    fn open(&mut self, out: &mut EffectBuffer, wait: WaitId, open: OpenWait) {
        let waiter = open.waiter;
        self.live.waits.insert(wait, open);
        if let Some(waiter) = waiter {
            if let Some(run) = self.live.runs.get_mut(&waiter) {
                run.waits.insert(wait);
            }
            self.balance(out, waiter);
        }
    }

    fn end_wait(
        &mut self,
        out: &mut EffectBuffer,
        wait: WaitId,
        end: WaitEnd,
    ) -> Result<(), TreeRefusal> {
        let open = self.live.waits.remove(&wait);
        let OpenWait { waiter, .. } = open.ok_or(TreeRefusal::UnknownWait(wait))?;
        self.answer(out, wait, waiter, WaitAnswer::ended(end));
        Ok(())
    }

    fn answer(
        &mut self,
        out: &mut EffectBuffer,
        wait: WaitId,
        waiter: Option<AgentId>,
        answer: WaitAnswer,
    ) {
        let run = waiter.and_then(|waiter| self.live.runs.get_mut(&waiter));
        let (Some(waiter), Some(run)) = (waiter, run) else {
            out.effects.push(TreeEffect::AnswerWait { wait, answer });
            return;
        };
        run.waits.remove(&wait);
        let told = answer.finals.iter().flat_map(|told| &told.delivers);
        let claimed: Vec<MessageId> = told.chain(&answer.mail).copied().collect();
        if matches!(answer.end, WaitEnd::Final | WaitEnd::Mail) {
            run.claims.insert(wait, claimed);
        }
        run.due.push(DueReply::Answer { wait, answer });
        self.balance(out, waiter);
    }

    /// Returns what there is to tell: of agents that were named the last end of each, of
    /// children every end that the waiter has not heard of, the oldest first.
    fn finals(&self, waiter: Option<AgentId>, on: &WaitSubjects) -> Vec<FinalReport> {
        match (on, waiter) {
            (WaitSubjects::Agents(agents), _) => agents
                .iter()
                .filter(|agent| self.status(**agent).is_final())
                .map(|agent| self.final_of(waiter, *agent))
                .collect(),
            (WaitSubjects::ChildrenOf(parent), Some(waiter)) => {
                let node = self.memory.get(waiter);
                let news = node.into_iter().flat_map(|node| node.news.iter());
                news.filter(|item| self.is_child(item.child, *parent))
                    .filter(|item| !self.is_claimed(waiter, item.id))
                    .map(|item| self.final_by(item))
                    .collect()
            }
            (WaitSubjects::ChildrenOf(_), None) => Vec::new(),
        }
    }

    /// Tells of an agent's last task.
    fn final_of(&self, waiter: Option<AgentId>, agent: AgentId) -> FinalReport {
        let task = self.last_task(agent).cloned();
        let unheard = waiter.zip(task.as_ref());
        let unheard = unheard.and_then(|(waiter, task)| self.unheard(waiter, agent, task));
        FinalReport {
            agent,
            status: self.status(agent),
            task,
            delivers: unheard.into_iter().collect(),
        }
    }

    /// Tells of one end, which need not be the agent's last.
    fn final_by(&self, item: &UnheardEnd) -> FinalReport {
        let now = self.status(item.child);
        let is_last = self.last_task(item.child) == Some(&item.task);
        FinalReport {
            agent: item.child,
            status: if is_last && now.is_final() {
                now
            } else {
                CurrentStatus::from(item.end)
            },
            task: Some(item.task.clone()),
            delivers: vec![item.id],
        }
    }

    fn last_task(&self, agent: AgentId) -> Option<&SubmissionId> {
        match &self.memory.get(agent)?.lifecycle {
            Lifecycle::Ended { task, .. } => Some(task),
            Lifecycle::Shutdown { last } => last.as_ref().map(|last| &last.task),
            Lifecycle::PendingInit | Lifecycle::Running { .. } => None,
        }
    }

    /// Tells whether the last end of an agent is kept for the waiter, be it that another wait
    /// of the same task is about to tell it.
    fn is_news(&self, waiter: Option<AgentId>, agent: AgentId) -> bool {
        let id = waiter.zip(self.last_task(agent));
        let id = id.and_then(|(waiter, task)| self.news_id(waiter, agent, task));
        id.is_some()
    }

    /// Returns how a child's task is called among the waiter's news, unless it was heard or
    /// another wait of the waiter's task has claimed it. The tasks before it are not told by
    /// a wait for an agent that is named: they stay news.
    fn unheard(&self, waiter: AgentId, child: AgentId, task: &SubmissionId) -> Option<MessageId> {
        let id = self.news_id(waiter, child, task)?;
        (!self.is_claimed(waiter, id)).then_some(id)
    }

    fn news_id(&self, waiter: AgentId, child: AgentId, task: &SubmissionId) -> Option<MessageId> {
        let news = &self.memory.get(waiter)?.news;
        let mut items = news.iter();
        let item = items.find(|item| item.child == child && item.task == *task)?;
        Some(item.id)
    }
}

impl WaitAnswer {
    fn telling(finals: Vec<FinalReport>) -> Self {
        Self {
            finals,
            ..Self::ended(WaitEnd::Final)
        }
    }

    fn ended(end: WaitEnd) -> Self {
        Self {
            end,
            finals: Vec::new(),
            mail: Vec::new(),
        }
    }
}
