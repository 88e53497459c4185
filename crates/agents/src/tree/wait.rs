//! Waits: who waits for whom, and the one answer that each gets.
//!
//! An answer and a callback tell the same; a parent gets one of them. Answering a wait
//! claims the callback, and the report that the answer was taken consumes it. Until then
//! it stays in the inbox, so a task that dies with the answer in its hands loses nothing.

use std::collections::BTreeSet;

use troupe_protocol::{AgentId, SubmissionId};

use super::command::WaitFor;
use super::effect::{Answer, Effect, Final, WaitAnswer, WaitEnd};
use super::id::{Caller, MessageId, WaitId};
use super::lifecycle::Lifecycle;
use super::limits::WAITS_OPEN_MAX;
use super::run::Due;
use super::{Out, Refusal, Tree};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenWait {
    /// None is the user.
    waiter: Option<AgentId>,
    on: Vec<AgentId>,
}

impl Tree {
    pub(super) fn wait(
        &mut self,
        out: &mut Out,
        by: Caller,
        wait_for: WaitFor,
    ) -> Result<(), Refusal> {
        let waiter = self.may_wait(by)?;
        let (on, finals) = match wait_for {
            WaitFor::Agents(agents) => {
                let mut seen = BTreeSet::new();
                let on: Vec<_> = agents.into_iter().filter(|id| seen.insert(*id)).collect();
                let finals = self.finals(waiter, &on);
                (on, finals)
            }
            WaitFor::AnyChild => self.any_child(waiter, by.log()),
        };
        if on.is_empty() && finals.is_empty() {
            return Err(Refusal::NothingToWaitFor);
        }
        if let (Some(waiter), true) = (waiter, finals.is_empty()) {
            self.must_not_circle(waiter, &on)?;
        }
        let wait = WaitId(self.live.next_wait);
        self.live.next_wait += 1;
        out.answer(Answer::Waiting { wait });
        if finals.is_empty() {
            self.open(out, wait, OpenWait { waiter, on });
        } else {
            let end = WaitEnd::Final;
            self.answer(out, wait, waiter, WaitAnswer { end, finals });
        }
        Ok(())
    }

    pub(super) fn time_out(&mut self, out: &mut Out, wait: WaitId) -> Result<(), Refusal> {
        self.end_wait(out, wait, WaitEnd::TimedOut)
    }

    pub(super) fn stop_waiting(&mut self, out: &mut Out, wait: WaitId) -> Result<(), Refusal> {
        self.end_wait(out, wait, WaitEnd::Stopped)
    }

    /// Answers every wait that this agent's end satisfies.
    pub(super) fn answer_waits_on(&mut self, out: &mut Out, agent: AgentId) {
        if !self.status(agent).is_final() {
            return;
        }
        let waits = self.live.waits.iter();
        let met: Vec<WaitId> = waits
            .filter(|(_, open)| open.on.contains(&agent))
            .map(|(wait, _)| *wait)
            .collect();
        for wait in met {
            if let Some(OpenWait { waiter, on }) = self.live.waits.remove(&wait) {
                let finals = self.finals(waiter, &on);
                let end = WaitEnd::Final;
                self.answer(out, wait, waiter, WaitAnswer { end, finals });
            }
        }
    }

    fn may_wait(&self, by: Caller) -> Result<Option<AgentId>, Refusal> {
        let Caller::Agent(agent) = by else {
            return Ok(None);
        };
        self.must_have_task(agent)?;
        let open = self.live.runs.get(&agent).map_or(0, |run| run.waits.len());
        if open >= WAITS_OPEN_MAX {
            return Err(Refusal::TooManyWaits {
                limit: WAITS_OPEN_MAX,
            });
        }
        Ok(Some(agent))
    }

    /// What a child has told and nobody heard comes first, then whoever is still at work.
    fn any_child(&self, waiter: Option<AgentId>, of: AgentId) -> (Vec<AgentId>, Vec<Final>) {
        let children = self.memory.get(of).map_or(&[][..], |node| &node.children);
        let told: Vec<Final> = children
            .iter()
            .map(|child| self.final_of(waiter, *child))
            .filter(|told| !told.delivers.is_empty())
            .collect();
        let at_work = children
            .iter()
            .copied()
            .filter(|child| !self.status(*child).is_final())
            .collect();
        (at_work, told)
    }

    /// Refuses a wait that is, over others, a wait for itself.
    fn must_not_circle(&self, waiter: AgentId, on: &[AgentId]) -> Result<(), Refusal> {
        for target in on {
            let mut seen = BTreeSet::new();
            let mut open = vec![*target];
            while let Some(agent) = open.pop() {
                if agent == waiter {
                    return Err(Refusal::CircularWait(*target));
                }
                if seen.insert(agent) {
                    let waits = self.live.waits.values();
                    open.extend(
                        waits
                            .filter(|wait| wait.waiter == Some(agent))
                            .flat_map(|wait| &wait.on),
                    );
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, out: &mut Out, wait: WaitId, open: OpenWait) {
        let waiter = open.waiter;
        self.live.waits.insert(wait, open);
        if let Some(waiter) = waiter {
            if let Some(run) = self.live.runs.get_mut(&waiter) {
                run.waits.insert(wait);
            }
            self.balance(out, waiter);
        }
    }

    fn end_wait(&mut self, out: &mut Out, wait: WaitId, end: WaitEnd) -> Result<(), Refusal> {
        let open = self.live.waits.remove(&wait);
        let OpenWait { waiter, .. } = open.ok_or(Refusal::UnknownWait(wait))?;
        let finals = Vec::new();
        self.answer(out, wait, waiter, WaitAnswer { end, finals });
        Ok(())
    }

    fn answer(&mut self, out: &mut Out, wait: WaitId, waiter: Option<AgentId>, answer: WaitAnswer) {
        let run = waiter.and_then(|waiter| self.live.runs.get_mut(&waiter));
        let (Some(waiter), Some(run)) = (waiter, run) else {
            out.effects.push(Effect::AnswerWait { wait, answer });
            return;
        };
        run.waits.remove(&wait);
        if answer.end == WaitEnd::Final {
            let told = answer.finals.iter();
            let claimed = told.flat_map(|told| &told.delivers).copied().collect();
            run.claims.insert(wait, claimed);
        }
        run.due.push(Due::Answer { wait, answer });
        self.balance(out, waiter);
    }

    fn finals(&self, waiter: Option<AgentId>, on: &[AgentId]) -> Vec<Final> {
        on.iter()
            .filter(|agent| self.status(**agent).is_final())
            .map(|agent| self.final_of(waiter, *agent))
            .collect()
    }

    fn final_of(&self, waiter: Option<AgentId>, agent: AgentId) -> Final {
        let lifecycle = self.memory.get(agent).map(|node| &node.lifecycle);
        let task = match lifecycle {
            Some(Lifecycle::Ended { task, .. }) => Some(task.clone()),
            Some(Lifecycle::Shutdown { last: Some(last) }) => Some(last.task.clone()),
            Some(
                Lifecycle::PendingInit
                | Lifecycle::Running { .. }
                | Lifecycle::Shutdown { last: None },
            )
            | None => None,
        };
        let unheard = waiter.zip(task.as_ref());
        let unheard = unheard.and_then(|(waiter, task)| self.unheard(waiter, agent, task));
        Final {
            agent,
            status: self.status(agent),
            task,
            delivers: unheard.into_iter().collect(),
        }
    }

    /// Returns the callback of a child's task, unless it was heard or another wait of the
    /// waiter's task has claimed it. Callbacks of the tasks before it are not told by a wait,
    /// which answers with the last result alone: they stay in the inbox.
    fn unheard(&self, waiter: AgentId, child: AgentId, task: &SubmissionId) -> Option<MessageId> {
        let node = self.memory.get(waiter)?;
        let run = self.live.runs.get(&waiter)?;
        let child = self.memory.get(child)?;
        let message = MessageId::of_callback(child.session, task, node.session);
        node.inbox.find(message)?;
        (!run.has_claimed(message)).then_some(message)
    }
}
