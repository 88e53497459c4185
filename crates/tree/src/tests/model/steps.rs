//! What may happen: each number is one step, read in the light of the moment.

use troupe_protocol::agent::AgentOrigin;
use troupe_protocol::tree::{
    CallbackMode, Caller, Genealogy, MailSender, MessageId, MessageReach, OnParentInterrupt,
    ParentLink,
};
use troupe_protocol::{AgentId, SessionId, StopVerb, SubmissionId, TaskOutcome};
use uuid::Uuid;

use super::super::reference::Flight;
use super::world::{Waiting, World, demand, limits};
use crate::command::{
    AwaitedAgents, MessageForm, SendCommand, SendUrgency, SpawnCaller, SpawnCommand, StopCommand,
    StopMode, TaskReport, TreeAction, WaitCondition,
};
use crate::effect::{CommandReply, DeliveryReceipt, TreeEffect};
use crate::{Tree, TreeRefusal, WaitId};
use troupe_protocol::agent::WaitingOn;

/// Takes small numbers out of a big one.
pub(super) struct Draw(pub u64);

impl Draw {
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).expect("a small number");
        let drawn = self.0 % bound;
        self.0 /= bound;
        usize::try_from(drawn).expect("a small number")
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.below(of.len())])
    }
}

impl World {
    pub(super) fn step(&mut self, number: u64) -> Result<(), String> {
        let mut draw = Draw(number);
        match draw.below(40) {
            0..=4 => self.spawn(&mut draw),
            5..=8 => self.send(&mut draw),
            9..=15 => self.start(&mut draw),
            16..=21 => self.end(&mut draw),
            22..=24 => self.wait(&mut draw),
            25 => self.end_wait(&mut draw),
            26..=27 => self.take_answer(&mut draw),
            28..=29 => self.ask(&mut draw),
            30..=31 => self.take_mail(&mut draw),
            32..=35 => self.stop(&mut draw),
            36 => self.resume(&mut draw),
            37 => self.direct_input(&mut draw),
            38 if draw.below(4) == 0 => self.suspend(),
            38 => self.apply(TreeAction::Sweep).map(|_| ()),
            _ if draw.below(3) == 0 => self.crash(),
            _ => Ok(()),
        }
    }

    fn spawn(&mut self, draw: &mut Draw) -> Result<(), String> {
        let by = self.someone(draw);
        let bond = ParentLink {
            callback: [
                CallbackMode::Persistent,
                CallbackMode::Persistent,
                CallbackMode::Once,
                CallbackMode::Off,
            ][draw.below(4)],
            on_parent_interrupt: [OnParentInterrupt::KeepRunning, OnParentInterrupt::Cancel]
                [draw.below(2)],
            reach: [
                MessageReach::Subtree,
                MessageReach::Parent,
                MessageReach::Family,
            ][draw.below(3)],
        };
        let by = match by {
            Caller::User => SpawnCaller::User {
                below: self.anyone(draw),
            },
            Caller::Agent(agent) => SpawnCaller::Agent(agent),
        };
        let message = self.new_message();
        let spawned = self.apply(TreeAction::Spawn(SpawnCommand {
            by,
            session: SessionId(Uuid::from_u128(message.0.as_u128())),
            name: ["worker", "scout"][draw.below(2)].to_owned(),
            genealogy: Genealogy {
                origin: AgentOrigin::Spawn,
                point: None,
            },
            bond,
            message: (draw.below(8) > 0).then_some(message),
        }))?;
        if let Some(effects) = spawned {
            let born = effects.iter().any(|effect| {
                matches!(effect, TreeEffect::Answer(CommandReply::Spawned { agent, .. })
                    if agent.0 as usize == self.reference.members.len() - 1)
            });
            demand(born, "a child has the next number")?;
        }
        Ok(())
    }

    fn send(&mut self, draw: &mut Draw) -> Result<(), String> {
        let from = match self.someone(draw) {
            Caller::User => MailSender::User,
            Caller::Agent(agent) => MailSender::Agent(agent),
        };
        let to = self.anyone(draw);
        let urgency = [
            SendUrgency::Regular,
            SendUrgency::Regular,
            SendUrgency::Interrupt,
        ][draw.below(3)];
        let message = self.new_message();
        let allowed = self.may_send(from, to, urgency);
        let letter = SendCommand {
            from,
            to,
            message,
            urgency,
            form: [MessageForm::Words, MessageForm::Words, MessageForm::Parts][draw.below(3)],
        };
        let member = self.reference.get(to);
        let dead = member.closed || member.pruned || member.ends_input();
        let sent = self.apply(TreeAction::Send(letter))?;
        demand(sent.is_some() == allowed, "mail reaches whom it may reach")?;
        let Some(effects) = sent else {
            return Ok(());
        };
        let died = effects.iter().any(|effect| {
            matches!(
                effect,
                TreeEffect::Answer(CommandReply::Receipt(DeliveryReceipt::Dead { .. }))
            )
        });
        demand(died == dead, "a receipt is dead exactly for the dead")
    }

    fn may_send(&self, from: MailSender, to: AgentId, urgency: SendUrgency) -> bool {
        let MailSender::Agent(from) = from else {
            return true;
        };
        let root_interrupt = to == AgentId::ROOT && urgency == SendUrgency::Interrupt;
        if from == to || root_interrupt {
            return false;
        }
        let sender = self.reference.get(from);
        let parent = sender.parent;
        let is_reached = match sender.bond.reach {
            MessageReach::Subtree => false,
            MessageReach::Parent => parent == Some(to),
            MessageReach::Family => {
                parent.is_some() && (parent == Some(to) || parent == self.reference.get(to).parent)
            }
        };
        is_reached && urgency == SendUrgency::Regular || self.reference.owns(from, to)
    }

    fn start(&mut self, draw: &mut Draw) -> Result<(), String> {
        if let Some((agent, message)) = draw.one(&self.given_up) {
            let ended = TaskReport::Ended {
                task: message.task(),
                outcome: TaskOutcome::Errored,
            };
            let heard = self.report_start(agent, message)? || self.report(agent, ended)?;
            demand(!heard, "nothing is heard of a task that gave way")?;
        }
        let asked = self.flights(|flight| flight.message.is_some());
        let Some(agent) = draw.one(&asked) else {
            return Ok(());
        };
        let started = self.start_asked(agent)?;
        demand(started, "a task that was asked for may start")
    }

    fn start_asked(&mut self, agent: AgentId) -> Result<bool, String> {
        let flight = self.reference.get(agent).flight.as_ref();
        match flight.and_then(|flight| flight.message) {
            Some(message) => self.report_start(agent, message),
            None => Ok(false),
        }
    }

    fn report_start(&mut self, agent: AgentId, message: MessageId) -> Result<bool, String> {
        let report = TaskReport::Started {
            task: message.task(),
            message: Some(message),
        };
        self.report(agent, report)
    }

    fn end(&mut self, draw: &mut Draw) -> Result<(), String> {
        let agents = self.flights(|_| true);
        let Some(agent) = draw.one(&agents) else {
            return Ok(());
        };
        let told = match self.aborted.get(&agent) {
            Some(TaskOutcome::Replaced) => TaskOutcome::Replaced,
            Some(_) => TaskOutcome::Interrupted,
            None => TaskOutcome::Completed,
        };
        let outcome = [
            told,
            told,
            told,
            TaskOutcome::Completed,
            TaskOutcome::Errored,
            TaskOutcome::Interrupted,
            TaskOutcome::BudgetExceeded,
            TaskOutcome::Replaced,
        ][draw.below(8)];
        self.end_with(agent, outcome)
    }

    fn end_with(&mut self, agent: AgentId, outcome: TaskOutcome) -> Result<(), String> {
        let flight = self.reference.get(agent).flight.clone();
        let Some(Flight { task, message }) = flight else {
            return Ok(());
        };
        let begun = message.is_none();
        let ended = self.report(agent, TaskReport::Ended { task, outcome })?;
        let may = begun || !matches!(outcome, TaskOutcome::Completed | TaskOutcome::Replaced);
        demand(ended == may, "only what has begun completes")
    }

    fn wait(&mut self, draw: &mut Draw) -> Result<(), String> {
        let by = self.someone(draw);
        let on = if draw.below(4) == 0 {
            AwaitedAgents::AnyChild
        } else {
            let count = 1 + draw.below(2);
            AwaitedAgents::Agents((0..count).map(|_| self.anyone(draw)).collect())
        };
        let until = [WaitCondition::End, WaitCondition::EndOrMail][draw.below(2)];
        let never_ends = self.never_ends(by, &on);
        let before = self.open_waits().count();
        if self.apply(TreeAction::Wait { by, on, until })?.is_some() {
            let stays_open = self.open_waits().count() > before;
            return demand(!stays_open || !never_ends, "every wait can end");
        }
        let in_a_circle = matches!(self.refused, Some(TreeRefusal::CircularWait(_)));
        demand(!in_a_circle || never_ends, "a wait that can end is open")
    }

    fn end_wait(&mut self, draw: &mut Draw) -> Result<(), String> {
        let open: Vec<WaitId> = self.open_waits().map(|(wait, _)| *wait).collect();
        let Some(wait) = draw.one(&open) else {
            return Ok(());
        };
        let what = match draw.below(2) {
            0 => TreeAction::TimeOut { wait },
            _ => TreeAction::StopWaiting { wait },
        };
        self.apply(what).map(|_| ())
    }

    fn take_answer(&mut self, draw: &mut Draw) -> Result<(), String> {
        let answered: Vec<(WaitId, AgentId)> = self
            .waits
            .iter()
            .filter(|(_, wait)| wait.delivers.is_some())
            .filter_map(|(id, wait)| Some((*id, wait.waiter?)))
            .collect();
        let Some((wait, waiter)) = draw.one(&answered) else {
            return Ok(());
        };
        let taken = self.report(waiter, TaskReport::WaitTaken { wait })?;
        demand(taken, "an answer can be taken")
    }

    fn ask(&mut self, draw: &mut Draw) -> Result<(), String> {
        let running = self.flights(|flight| flight.message.is_none());
        let Some(agent) = draw.one(&running) else {
            return Ok(());
        };
        let report = if self.asking.contains(&agent) {
            TaskReport::Unblocked
        } else {
            let on = [WaitingOn::Approval, WaitingOn::User, WaitingOn::Model][draw.below(3)];
            TaskReport::Waiting { on }
        };
        self.report(agent, report).map(|_| ())
    }

    fn take_mail(&mut self, draw: &mut Draw) -> Result<(), String> {
        let running = self.flights(|flight| flight.message.is_none());
        let Some(agent) = draw.one(&running) else {
            return Ok(());
        };
        let member = self.reference.get(agent);
        let mut messages = [member.interrupts.clone(), member.regular.clone()].concat();
        messages.retain(|message| !self.is_claimed(agent, *message));
        self.report(agent, TaskReport::Took { messages })
            .map(|_| ())
    }

    fn stop(&mut self, draw: &mut Draw) -> Result<(), String> {
        let verbs = [
            StopVerb::Interrupt,
            StopVerb::Cancel,
            StopVerb::Close,
            StopVerb::Release,
            StopVerb::Prune,
        ];
        let verb = verbs[draw.below(5)];
        let by = self.someone(draw);
        let target = self.anyone(draw);
        let mode = match draw.below(5) {
            0 => StopMode::DryRun,
            _ => StopMode::Act,
        };
        let reached = match by {
            Caller::User => true,
            Caller::Agent(_) if target == AgentId::ROOT && verb != StopVerb::Prune => false,
            Caller::Agent(agent) => self.reference.owns(agent, target),
        };
        let fits = verb != StopVerb::Release || self.reference.get(target).parent.is_some();
        let stopped = self.apply(TreeAction::Stop(StopCommand {
            by,
            verb,
            targets: vec![target],
            mode,
        }))?;
        demand(
            stopped.is_some() == (reached && fits),
            "a stop reaches one's own subtree and nothing else",
        )
    }

    fn resume(&mut self, draw: &mut Draw) -> Result<(), String> {
        let by = self.someone(draw);
        let agent = self.anyone(draw);
        self.apply(TreeAction::Resume { by, agent }).map(|_| ())
    }

    fn direct_input(&mut self, draw: &mut Draw) -> Result<(), String> {
        let root = self.reference.get(AgentId::ROOT);
        let busy = root.flight.as_ref().is_some_and(|it| it.message.is_none());
        let task = SubmissionId(format!("direct-{}", draw.0));
        let may = !busy;
        let message = None;
        let started = self.report(AgentId::ROOT, TaskReport::Started { task, message })?;
        demand(started == may, "the user may speak to an idle root")
    }

    fn suspend(&mut self) -> Result<(), String> {
        self.apply(TreeAction::Suspend)?;
        for agent in self.flights(|_| true) {
            self.end_with(agent, TaskOutcome::Interrupted)?;
        }
        self.crash()
    }

    fn crash(&mut self) -> Result<(), String> {
        let (tree, misfits) = Tree::restore(limits(), self.records.clone());
        demand(misfits.is_empty(), "facts fit each other")?;
        demand(
            tree.memory() == self.tree.memory(),
            "the facts fold to the memory of the living tree",
        )?;
        self.tree = tree;
        self.apply(TreeAction::Recover).map(|_| ())
    }

    /// Lets everything come to rest; nothing may be left that cannot.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        for _ in 0..400 {
            if let Some(agent) = self.flights(|it| it.message.is_some()).first().copied() {
                self.start_asked(agent)?;
                continue;
            }
            let Some(agent) = self.flights(|_| true).first().copied() else {
                break;
            };
            self.end_with(agent, TaskOutcome::Completed)?;
        }
        for member in &self.reference.members {
            demand(!member.is_active(), "everything that was begun can end")?;
        }
        self.crash()
    }

    pub(super) fn open_waits(&self) -> impl Iterator<Item = (&WaitId, &Waiting)> {
        self.waits
            .iter()
            .filter(|(_, wait)| wait.delivers.is_none())
    }

    fn flights(&self, wanted: impl Fn(&Flight) -> bool) -> Vec<AgentId> {
        let members = self.reference.members.iter();
        members
            .filter(|member| member.flight.as_ref().is_some_and(&wanted))
            .map(|member| member.id)
            .collect()
    }

    fn someone(&self, draw: &mut Draw) -> Caller {
        match draw.below(3) {
            0 => Caller::User,
            1 => Caller::Agent(self.anyone(draw)),
            _ => {
                let running = self.flights(|flight| flight.message.is_none());
                draw.one(&running).map_or(Caller::User, Caller::Agent)
            }
        }
    }

    fn anyone(&self, draw: &mut Draw) -> AgentId {
        let drawn = draw.below(self.reference.members.len());
        self.reference.members[drawn].id
    }

    fn new_message(&mut self) -> MessageId {
        self.next_message += 1;
        MessageId(Uuid::from_u128(self.next_message))
    }
}
