//! What sessions tell of their own tasks. The only way by which a task in flight changes
//! its status.

use troupe_protocol::tree::{
    Callback, CallbackMode, Interruption, MessageId, StopOrder, TaskEnding, TreeFact,
};
use troupe_protocol::{AgentId, SubmissionId, TaskOutcome};

use super::run::{DueReply, RunStage, SlotStanding, TaskRun};
use super::{EffectBuffer, Tree};
use crate::command::TaskReport;
use crate::lifecycle::{IllegalChange, LifecycleChange};
use crate::{AgentRecord, TreeRefusal, WaitId};
use troupe_protocol::agent::WaitingOn;

impl Tree {
    pub(super) fn report(
        &mut self,
        out: &mut EffectBuffer,
        agent: AgentId,
        report: TaskReport,
    ) -> Result<(), TreeRefusal> {
        self.known(agent)?;
        match report {
            TaskReport::Started { task, message } => self.started(out, agent, task, message),
            TaskReport::Took { messages } => self.took(out, agent, messages),
            TaskReport::Waiting { on } => self.waiting(out, agent, on),
            TaskReport::Unblocked => self.unblocked(out, agent),
            TaskReport::WaitTaken { wait } => self.wait_taken(out, agent, wait),
            TaskReport::Ended { task, outcome } => self.ended(out, agent, task, outcome),
        }
    }

    fn started(
        &mut self,
        out: &mut EffectBuffer,
        agent: AgentId,
        task: SubmissionId,
        message: Option<MessageId>,
    ) -> Result<(), TreeRefusal> {
        let is_direct = agent == AgentId::ROOT && message.is_none();
        match self.live.runs.get_mut(&agent) {
            Some(run) => match run.stage {
                RunStage::Starting { message: asked } if message == Some(asked) => {
                    run.stage = RunStage::Running;
                }
                // The user's own input came first; what was asked for stays in the inbox.
                RunStage::Starting { .. } if is_direct => {
                    *run = TaskRun::running(task.clone(), SlotStanding::Exempt);
                }
                RunStage::Starting { .. } | RunStage::Running => {
                    return Err(TreeRefusal::StaleReport { agent, task });
                }
            },
            None if is_direct => {
                // The user speaks to a root that was closed: that opens it again.
                if self.known(agent)?.lifecycle.is_shutdown() {
                    self.record(out, agent, TreeFact::Reopened { agent });
                }
                let change = LifecycleChange::Start { task: task.clone() };
                self.known(agent)?.lifecycle.after(change)?;
                self.live.residents.touch(agent);
                let run = TaskRun::running(task.clone(), SlotStanding::Exempt);
                self.live.runs.insert(agent, run);
            }
            None => return Err(TreeRefusal::StaleReport { agent, task }),
        }
        let node = self.known(agent)?;
        let ahead = message.map_or_else(Vec::new, |message| node.ahead_of(message));
        let fact = TreeFact::Started {
            agent,
            task,
            message,
        };
        self.record(out, agent, fact);
        if !ahead.is_empty() {
            let messages = ahead;
            self.record(out, agent, TreeFact::Took { agent, messages });
        }
        self.tell_status(out, agent);
        self.poke_for_input(out, agent);
        Ok(())
    }

    fn took(
        &mut self,
        out: &mut EffectBuffer,
        agent: AgentId,
        messages: Vec<MessageId>,
    ) -> Result<(), TreeRefusal> {
        self.running(agent)?;
        let inbox = &self.known(agent)?.inbox;
        for (at, message) in messages.iter().enumerate() {
            let joins = inbox
                .find(*message)
                .is_some_and(|mail| mail.kind.joins_task());
            let claimed = self.is_claimed(agent, *message);
            if !joins || claimed || messages[..at].contains(message) {
                let message = *message;
                return Err(TreeRefusal::NotInInbox { agent, message });
            }
        }
        if !messages.is_empty() {
            self.record(out, agent, TreeFact::Took { agent, messages });
        }
        Ok(())
    }

    fn waiting(
        &mut self,
        out: &mut EffectBuffer,
        agent: AgentId,
        on: WaitingOn,
    ) -> Result<(), TreeRefusal> {
        let run = self.running(agent)?;
        match on {
            WaitingOn::Model | WaitingOn::Tool | WaitingOn::RateLimit => run.busy_with = Some(on),
            WaitingOn::Approval | WaitingOn::User => run.asks = Some(on),
            // The tree knows these from waits and slots.
            WaitingOn::Child | WaitingOn::Slot => {
                return Err(TreeRefusal::IllegalChange(IllegalChange {
                    from: "running",
                    change: "say itself that it waits on a child or a slot",
                }));
            }
        }
        self.balance(out, agent);
        Ok(())
    }

    fn unblocked(&mut self, out: &mut EffectBuffer, agent: AgentId) -> Result<(), TreeRefusal> {
        let run = self.running(agent)?;
        if run.asks.take().is_none() {
            return Err(TreeRefusal::IllegalChange(IllegalChange {
                from: "running",
                change: "go on, because it had not asked",
            }));
        }
        run.due.push(DueReply::Proceed);
        self.balance(out, agent);
        Ok(())
    }

    fn wait_taken(
        &mut self,
        out: &mut EffectBuffer,
        agent: AgentId,
        wait: WaitId,
    ) -> Result<(), TreeRefusal> {
        let claimed = self.running(agent)?.claims.remove(&wait);
        let mut messages = claimed.ok_or(TreeRefusal::UnknownWait(wait))?;
        let node = self.known(agent)?;
        messages
            .retain(|message| node.news.contains(*message) || node.inbox.find(*message).is_some());
        if !messages.is_empty() {
            self.record(out, agent, TreeFact::Consumed { agent, messages });
        }
        Ok(())
    }

    fn ended(
        &mut self,
        out: &mut EffectBuffer,
        agent: AgentId,
        task: SubmissionId,
        outcome: TaskOutcome,
    ) -> Result<(), TreeRefusal> {
        let run = self.live.runs.get(&agent);
        let Some(run) = run.filter(|run| run.task == task) else {
            return Err(TreeRefusal::StaleReport { agent, task });
        };
        let node = self.known(agent)?;
        let unasked = was_interrupted(outcome) && node.stop.is_none();
        let fact = match (run.stage, outcome) {
            (RunStage::Running, _) => {
                let end = match verdict(outcome, node.stop) {
                    // Only the root is replaced by input that is not in its inbox.
                    TaskEnding::Replaced if agent != AgentId::ROOT && !node.inbox.has_input() => {
                        let why = Interruption::User;
                        TaskEnding::Interrupted { why }
                    }
                    end => end,
                };
                self.end_of_task(node, task, end)
            }
            (RunStage::Starting { .. }, TaskOutcome::Completed | TaskOutcome::Replaced) => {
                return Err(TreeRefusal::StaleReport { agent, task });
            }
            (RunStage::Starting { message }, _) if has_failed(outcome) && node.stop.is_none() => {
                self.end_before_start(node, message, TaskEnding::FailedToStart)
            }
            (RunStage::Starting { message }, _) => {
                self.end_before_start(node, message, verdict(outcome, node.stop))
            }
        };
        self.finish(out, agent, fact);
        if unasked {
            self.cancel_bound_children(out, agent);
        }
        Ok(())
    }

    /// Returns the fact that ends a task which has begun.
    pub(super) fn end_of_task(
        &self,
        node: &AgentRecord,
        task: SubmissionId,
        end: TaskEnding,
    ) -> TreeFact {
        TreeFact::Ended {
            agent: node.id,
            callback: self.callback(node, &task, end),
            task,
            end,
        }
    }

    /// Returns the fact that ends what was to begin with this message. Nobody had asked
    /// for the work that a callback brings, so only input that ends has a result to tell.
    pub(super) fn end_before_start(
        &self,
        node: &AgentRecord,
        message: MessageId,
        end: TaskEnding,
    ) -> TreeFact {
        let agent = node.id;
        let shutdown = TaskEnding::Interrupted {
            why: Interruption::Shutdown,
        };
        let mail = node.inbox.find(message);
        if end == shutdown {
            TreeFact::Withdrawn { agent }
        } else if mail.is_some_and(|mail| mail.kind.joins_task()) {
            self.end_of_task(node, message.task(), end)
        } else {
            TreeFact::Halted { agent, end }
        }
    }

    /// Ends a task, in flight or still to begin, and lets go of all that it held.
    pub(super) fn finish(&mut self, out: &mut EffectBuffer, agent: AgentId, fact: TreeFact) {
        let stop = self.memory.get(agent).and_then(|node| node.stop);
        let closes = matches!(stop, Some(StopOrder::Close { .. }));
        let (callback, replaced) = match &fact {
            TreeFact::Ended { callback, end, .. } => (*callback, *end == TaskEnding::Replaced),
            _ => (None, false),
        };
        let seat = self.end_run(agent).filter(|_| replaced);
        if seat != Some(SlotStanding::Held) {
            self.live.slots.leave(agent);
        }
        self.record(out, agent, fact);
        self.tell_status(out, agent);
        // After a crash the order may be found beside its own end.
        let node = self.memory.get(agent);
        if closes && node.is_some_and(|node| !node.lifecycle.is_shutdown()) {
            self.shut(out, agent);
        }
        self.answer_waits_on(out, agent);
        self.begin_again(out, agent, seat);
        if let Some(callback) = callback {
            self.wake(out, callback.target);
        }
    }

    /// Drops what lives with a task in flight, and returns the seat that it had.
    fn end_run(&mut self, agent: AgentId) -> Option<SlotStanding> {
        let run = self.live.runs.remove(&agent)?;
        for wait in &run.waits {
            self.live.waits.remove(wait);
        }
        self.live.residents.touch(agent);
        Some(run.seat)
    }

    /// Begins the next task. A replaced one does not go to the end of the line: it was
    /// running, so its successor has the rank of one that returns.
    fn begin_again(&mut self, out: &mut EffectBuffer, agent: AgentId, kept: Option<SlotStanding>) {
        let next = self.memory.get(agent).and_then(AgentRecord::next_input);
        match (kept, next) {
            (Some(SlotStanding::Held), Some(message)) => {
                self.begin(out, agent, message, SlotStanding::Held);
            }
            (Some(SlotStanding::Given | SlotStanding::Returning), Some(_)) => {
                self.live.slots.come_back(agent);
            }
            (Some(SlotStanding::Exempt) | None, Some(_)) => self.wake(out, agent),
            (_, None) => self.live.slots.leave(agent),
        }
    }

    fn callback(
        &self,
        node: &AgentRecord,
        task: &SubmissionId,
        end: TaskEnding,
    ) -> Option<Callback> {
        let target = self.memory.get(node.parent?)?;
        let enabled = match node.bond.callback {
            CallbackMode::Off => false,
            CallbackMode::Once | CallbackMode::Persistent => true,
        };
        (enabled && end.calls_back(node.id, target.id)).then(|| Callback {
            id: MessageId::of_callback(node.session, task, target.session),
            target: target.id,
        })
    }

    fn running(&mut self, agent: AgentId) -> Result<&mut TaskRun, TreeRefusal> {
        let run = self.live.runs.get_mut(&agent);
        run.filter(|run| run.stage == RunStage::Running)
            .ok_or(TreeRefusal::NoTask(agent))
    }
}

/// Joins what the session saw with what it had been told. A cancel stands even if the task
/// was done a moment before it arrived; an interrupt that came too late changes nothing.
fn verdict(outcome: TaskOutcome, stop: Option<StopOrder>) -> TaskEnding {
    match (outcome, stop) {
        (_, Some(StopOrder::Cancel { by, scope } | StopOrder::Close { by, scope })) => {
            TaskEnding::Cancelled { by, scope }
        }
        (TaskOutcome::Replaced, Some(StopOrder::Interrupt { why })) => {
            TaskEnding::Interrupted { why }
        }
        (TaskOutcome::Replaced, None) => TaskEnding::Replaced,
        (TaskOutcome::Completed, _) => TaskEnding::Completed,
        (TaskOutcome::BudgetExceeded, _) => TaskEnding::BudgetExceeded,
        (TaskOutcome::Errored | TaskOutcome::OutputInvalid | TaskOutcome::FailedToStart, _) => {
            TaskEnding::Errored
        }
        (
            TaskOutcome::Interrupted
            | TaskOutcome::Crash
            | TaskOutcome::Shutdown
            | TaskOutcome::Cancelled,
            stop,
        ) => {
            let why = match stop {
                Some(StopOrder::Interrupt { why }) => why,
                _ => Interruption::User,
            };
            TaskEnding::Interrupted { why }
        }
    }
}

/// Tells whether a session saw its task interrupted: for which reason, only the tree knows.
fn was_interrupted(outcome: TaskOutcome) -> bool {
    match outcome {
        TaskOutcome::Interrupted
        | TaskOutcome::Crash
        | TaskOutcome::Shutdown
        | TaskOutcome::Cancelled => true,
        TaskOutcome::Completed
        | TaskOutcome::Errored
        | TaskOutcome::OutputInvalid
        | TaskOutcome::FailedToStart
        | TaskOutcome::BudgetExceeded
        | TaskOutcome::Replaced => false,
    }
}

fn has_failed(outcome: TaskOutcome) -> bool {
    matches!(
        outcome,
        TaskOutcome::Errored | TaskOutcome::OutputInvalid | TaskOutcome::FailedToStart
    )
}
