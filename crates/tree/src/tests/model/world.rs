//! The tree, what a supervisor and its sessions would know, and the reference, side by side.

use std::collections::{BTreeMap, BTreeSet};

use troupe_protocol::tree::{
    CallbackMode, Caller, MessageId, ParentLink, TimeMs, TreeFact, TreeRecord,
};
use troupe_protocol::{AgentId, SessionId, SubmissionId, TaskOutcome};
use uuid::Uuid;

use super::super::reference::{Flight, Member, Reference, Stand};
use crate::command::{AwaitedAgents, SendUrgency, StopMode, TaskReport, TreeAction, TreeCommand};
use crate::effect::{CommandReply, TreeEffect, WaitAnswer, WaitEnd};
use crate::{Tree, TreeLimits, TreeRefusal, WaitId};

#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub waiter: Option<AgentId>,
    pub on: AwaitedAgents,
    /// Set once it was answered with results, or with mail.
    pub delivers: Option<Vec<MessageId>>,
}

/// The end of a task that a parent is to hear of, once.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub id: MessageId,
    pub child: AgentId,
    pub parent: AgentId,
    pub delivered: bool,
}

pub(super) struct World {
    pub tree: Tree,
    pub reference: Reference,
    pub records: Vec<TreeRecord>,
    pub waits: BTreeMap<WaitId, Waiting>,
    /// Everything that ever was news, in its order.
    pub news: Vec<Told>,
    pub aborted: BTreeMap<AgentId, TaskOutcome>,
    /// Tasks that were asked for and gave way before they began, with their messages.
    pub given_up: Vec<(AgentId, MessageId)>,
    pub asking: BTreeSet<AgentId>,
    pub next_message: u128,
    /// The last refusal.
    pub refused: Option<TreeRefusal>,
    pub suspended: bool,
    pub log: Option<Vec<String>>,
}

pub(super) fn limits() -> TreeLimits {
    TreeLimits {
        max_threads: 2,
        max_agents: 9,
        max_spawns_per_minute: 1000,
        ..TreeLimits::default()
    }
}

impl World {
    pub(super) fn new(log: Option<Vec<String>>) -> Self {
        let session = SessionId(Uuid::from_u128(u128::MAX));
        let mut tree = Tree::empty(limits());
        let effects = tree.plant(session, TimeMs(0));
        let mut world = Self {
            tree,
            reference: Reference::default(),
            records: Vec::new(),
            waits: BTreeMap::new(),
            news: Vec::new(),
            aborted: BTreeMap::new(),
            given_up: Vec::new(),
            asking: BTreeSet::new(),
            next_message: 0,
            refused: None,
            suspended: false,
            log,
        };
        let silent = ParentLink {
            callback: CallbackMode::Off,
            ..ParentLink::default()
        };
        let root = Member::new(AgentId::ROOT, None, silent, None);
        world.reference.members.push(root);
        for effect in effects {
            if let TreeEffect::Persist(record) = effect {
                world.records.push(record);
            }
        }
        world
    }

    pub(super) fn report(&mut self, agent: AgentId, report: TaskReport) -> Result<bool, String> {
        Ok(self.apply(TreeAction::Report { agent, report })?.is_some())
    }

    /// Applies a command and checks all that must hold afterwards.
    pub(super) fn apply(&mut self, what: TreeAction) -> Result<Option<Vec<TreeEffect>>, String> {
        self.note(|| format!("{what:?}"));
        let before = self.tree.memory().clone();
        let command = TreeCommand {
            at: TimeMs(0),
            what: what.clone(),
        };
        let effects = match self.tree.apply(command) {
            Ok(effects) => effects,
            Err(refusal) => {
                self.note(|| format!("    refused: {refusal}"));
                self.refused = Some(refusal);
                demand(
                    *self.tree.memory() == before,
                    "a refused command changes nothing",
                )?;
                return Ok(None);
            }
        };
        for effect in &effects {
            if !matches!(effect, TreeEffect::Emit(_)) {
                self.note(|| format!("    {effect:?}"));
            }
        }
        self.check_writers(&what, &effects)?;
        self.tell(&what, &effects);
        self.follow(&effects)?;
        demand(
            self.reference.owed.is_empty(),
            "every owed callback is made",
        )?;
        demand(
            self.reference.news_owed.is_empty(),
            "every end is news that must be",
        )?;
        self.check_members()?;
        self.check_interrupts()?;
        self.check_slots()?;
        self.check_waits()?;
        self.check_news()?;
        Ok(Some(effects))
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log.push(line());
        }
    }

    fn tell(&mut self, what: &TreeAction, effects: &[TreeEffect]) {
        match what {
            TreeAction::Spawn(spawn) => {
                let id = AgentId(u32::try_from(self.reference.members.len()).unwrap_or(u32::MAX));
                let parent = Some(spawn.by.parent());
                let member = Member::new(id, parent, spawn.bond, spawn.message);
                self.reference.members.push(member);
            }
            TreeAction::Send(letter) => {
                let member = self.reference.at(letter.to);
                if !(member.closed || member.pruned || member.ends_input()) {
                    match letter.urgency {
                        SendUrgency::Interrupt => member.interrupts.push(letter.message),
                        SendUrgency::Regular => member.regular.push(letter.message),
                    }
                }
            }
            TreeAction::Stop(stop) if stop.mode == StopMode::Act => {
                for target in &stop.targets {
                    self.reference.stop(stop.by, stop.verb, *target);
                }
            }
            TreeAction::Resume { agent, .. } => {
                let member = self.reference.at(*agent);
                member.closed = false;
                member.pruned = false;
            }
            TreeAction::Report { agent, report } => self.tell_report(*agent, report),
            TreeAction::Wait { by, on, .. } => self.tell_wait(*by, on, effects),
            TreeAction::Suspend => {
                self.suspended = true;
                self.reference.suspend();
            }
            TreeAction::Reconfigure => unreachable!("not among the steps that are drawn"),
            TreeAction::Recover => {
                self.suspended = false;
                self.waits.clear();
                self.asking.clear();
                self.aborted.clear();
                self.given_up.clear();
                self.reference.crash();
            }
            TreeAction::Stop(_)
            | TreeAction::TimeOut { .. }
            | TreeAction::StopWaiting { .. }
            | TreeAction::Sweep
            | TreeAction::Keep { .. }
            | TreeAction::Rebind { .. } => {}
        }
    }

    fn tell_report(&mut self, agent: AgentId, report: &TaskReport) {
        let member = self.reference.at(agent);
        match report {
            TaskReport::Started { task, message } => {
                if let Some(message) = *message {
                    for ahead in member.ahead_of(message) {
                        member.remove(ahead);
                    }
                    member.remove(message);
                    self.deliver(message);
                }
                let member = self.reference.at(agent);
                // Only a root is spoken to while it is closed.
                member.closed = false;
                member.stand = Stand::Running;
                member.flight = Some(Flight {
                    task: task.clone(),
                    message: None,
                });
            }
            TaskReport::Took { messages } => {
                for message in messages {
                    member.remove(*message);
                }
            }
            TaskReport::Waiting { on } => {
                if !on.keeps_slot() {
                    self.asking.insert(agent);
                }
            }
            TaskReport::Unblocked => {
                self.asking.remove(&agent);
            }
            TaskReport::WaitTaken { wait } => {
                let taken = self.waits.remove(wait).and_then(|wait| wait.delivers);
                for message in taken.unwrap_or_default() {
                    self.reference.at(agent).remove(message);
                    self.deliver(message);
                }
            }
            TaskReport::Ended { outcome, .. } => {
                self.waits.retain(|_, wait| wait.waiter != Some(agent));
                self.asking.remove(&agent);
                self.aborted.remove(&agent);
                self.reference.end(agent, *outcome);
            }
        }
    }

    fn tell_wait(&mut self, by: Caller, on: &AwaitedAgents, effects: &[TreeEffect]) {
        let waiter = match by {
            Caller::User => None,
            Caller::Agent(agent) => Some(agent),
        };
        for effect in effects {
            if let TreeEffect::Answer(CommandReply::Waiting { wait }) = effect {
                let waiting = Waiting {
                    waiter,
                    on: on.clone(),
                    delivers: None,
                };
                self.waits.insert(*wait, waiting);
            }
        }
    }

    /// Notes a delivery; the ledger breaks if it is the second.
    fn deliver(&mut self, message: MessageId) {
        if let Some(told) = self.news.iter_mut().find(|told| told.id == message) {
            assert!(!told.delivered, "a completion is delivered once");
            told.delivered = true;
        }
    }

    /// Tells whether an answer that was not taken yet brings this.
    pub(super) fn is_claimed(&self, agent: AgentId, message: MessageId) -> bool {
        let mut waits = self.waits.values();
        waits.any(|wait| {
            let delivers = wait.delivers.iter().flatten();
            wait.waiter == Some(agent) && delivers.copied().any(|it| it == message)
        })
    }

    /// What an agent has yet to hear of those that are its children now.
    pub(super) fn unheard(&self, agent: AgentId) -> impl Iterator<Item = &Told> {
        self.news.iter().filter(move |told| {
            let child = self.reference.get(told.child);
            told.parent == agent && !told.delivered && child.parent == Some(agent)
        })
    }

    /// Does what a supervisor would do, and compares each effect with the reference.
    fn follow(&mut self, effects: &[TreeEffect]) -> Result<(), String> {
        for effect in effects {
            match effect {
                TreeEffect::Persist(record) => self.write(record)?,
                TreeEffect::StartTask {
                    agent,
                    task,
                    message,
                    ahead,
                } => {
                    let member = self.reference.at(*agent);
                    if let Some(flight) = &member.flight {
                        let unbegun = flight.message.ok_or("one task at a time")?;
                        let gives_way = member.interrupts.contains(message);
                        demand(gives_way, "only an interrupt takes the place of a task")?;
                        self.given_up.push((*agent, unbegun));
                    }
                    let restarted = (*agent, *message);
                    self.given_up.retain(|given_up| *given_up != restarted);
                    demand(
                        *ahead == member.ahead_of(*message),
                        "an interrupt comes behind what it takes the place of",
                    )?;
                    demand(
                        member.next() == Some(*message),
                        "mail is taken in its order",
                    )?;
                    member.flight = Some(Flight {
                        task: task.clone(),
                        message: Some(*message),
                    });
                }
                TreeEffect::AbortTask { agent, task, why } => {
                    let member = self.reference.get(*agent);
                    let runs = member.flight.as_ref().is_some_and(|it| it.task == *task);
                    demand(runs, "only a task in flight is aborted")?;
                    self.aborted.insert(*agent, *why);
                }
                TreeEffect::AnswerWait { wait, answer } => self.answered(*wait, answer)?,
                TreeEffect::Load { .. }
                | TreeEffect::Unload { .. }
                | TreeEffect::Poke { .. }
                | TreeEffect::Proceed { .. }
                | TreeEffect::Shut { .. }
                | TreeEffect::Emit(_)
                | TreeEffect::Answer(_) => {}
            }
        }
        Ok(())
    }

    fn write(&mut self, record: &TreeRecord) -> Result<(), String> {
        self.records.push(record.clone());
        let TreeFact::Ended {
            agent,
            task,
            callback,
            ..
        } = &record.fact
        else {
            return Ok(());
        };
        self.note_news(*agent, task);
        let Some(callback) = callback else {
            return Ok(());
        };
        let made = (*agent, callback.target);
        let owed = self.reference.owed.iter().position(|owed| *owed == made);
        let Some(owed) = owed else {
            return Err("a callback is made only where one is owed".to_owned());
        };
        self.reference.owed.remove(owed);
        let target = self.reference.at(callback.target);
        let known = target.callbacks.iter().any(|(id, _)| *id == callback.id);
        demand(!known, "each completion has a callback of its own")?;
        target.callbacks.push((callback.id, *agent));
        Ok(())
    }

    fn note_news(&mut self, child: AgentId, task: &SubmissionId) {
        let owed = &mut self.reference.news_owed;
        let Some(at) = owed.iter().position(|(agent, _)| *agent == child) else {
            return;
        };
        let (_, parent) = owed.remove(at);
        let session = |agent| self.tree.get(agent).map(|node| node.session);
        if let (Some(from), Some(to)) = (session(child), session(parent)) {
            self.news.push(Told {
                id: MessageId::of_callback(from, task, to),
                child,
                parent,
                delivered: false,
            });
        }
    }

    fn answered(&mut self, wait: WaitId, answer: &WaitAnswer) -> Result<(), String> {
        let waiting = self.waits.get_mut(&wait);
        let waiting = waiting.ok_or("an answer belongs to an open wait")?;
        demand(waiting.delivers.is_none(), "a wait is answered once")?;
        let finals = &answer.finals;
        demand(
            finals.is_empty() != (answer.end == WaitEnd::Final),
            "a wait that was met tells by whom",
        )?;
        let delivers: Vec<MessageId> = finals.iter().flat_map(|it| it.delivers.clone()).collect();
        for message in &delivers {
            let mut news = self.news.iter();
            demand(
                news.any(|told| told.id == *message && !told.delivered),
                "an answer delivers what was not delivered yet",
            )?;
        }
        let waiting = waiting.clone();
        for message in &answer.mail {
            let recipient = waiting.waiter.map(|waiter| self.reference.get(waiter));
            let there = recipient.is_some_and(|member| member.regular.contains(message));
            demand(there, "an answer brings mail that waits")?;
        }
        let by = waiting.waiter.unwrap_or(AgentId::ROOT);
        if answer.end == WaitEnd::Exhausted {
            demand(!self.has_child_at_work(by), "nothing more will come")?;
        }
        let delivers = [delivers, answer.mail.clone()].concat();
        if waiting.waiter.is_none() || delivers.is_empty() {
            demand(delivers.is_empty(), "only the target takes a callback")?;
            self.waits.remove(&wait);
        } else if let Some(waiting) = self.waits.get_mut(&wait) {
            waiting.delivers = Some(delivers);
        }
        Ok(())
    }
}

impl World {
    pub(super) fn has_child_at_work(&self, parent: AgentId) -> bool {
        let mut members = self.reference.members.iter();
        members.any(|member| member.parent == Some(parent) && !member.is_final())
    }
}

pub(super) fn demand(holds: bool, what: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(format!("broken: {what}"))
    }
}
