//! The deciding half of a tree: a command comes in, facts and effects go out.

mod mail;
mod ownership;
mod recovery;
mod report;
mod residents;
mod run;
mod slots;
mod spawn;
mod stop;
mod wait;

use std::collections::BTreeMap;

use troupe_protocol::tree::{MessageId, TimeMs, TreeFact, TreeRecord};
use troupe_protocol::{AgentId, SessionId, SubmissionId, TaskOutcome};

use crate::address::{AgentAddressError, TakenNumbers};
use crate::agent::{AgentLiveness, AgentRecord};
use crate::command::{TreeAction, TreeCommand};
use crate::effect::{CommandReply, TaskSpan, TreeEffect, TreeNotice};
use crate::fold;
use crate::limits::TreeLimits;
use crate::memory::TreeMemory;
use crate::refusal::TreeRefusal;
use crate::status::CurrentStatus;

pub use wait::WaitId;

use residents::{ResidentSessions, SessionResidency};
use run::{DueReply, SlotStanding, TaskRun};
use slots::{RunSlots, SlotGrant};
use wait::OpenWait;

#[derive(Debug, Clone)]
pub struct Tree {
    limits: TreeLimits,
    memory: TreeMemory,
    live: LiveState,
}

/// What ends with the process.
#[derive(Debug, Clone, Default)]
struct LiveState {
    slots: RunSlots,
    /// Tasks in flight: asked for, or begun.
    runs: BTreeMap<AgentId, TaskRun>,
    waits: BTreeMap<WaitId, OpenWait>,
    next_wait: u64,
    residents: ResidentSessions,
    taken_numbers: TakenNumbers,
    /// The process is ending: nothing begins any more.
    suspended: bool,
}

/// What agents of another tree are called: no agent of this one is called so.
#[derive(Debug, Clone, Default)]
pub struct TakenNames {
    /// The highest number among them.
    pub highest: Option<AgentId>,
    /// Their paths directly below the root. What lies deeper is below one of these.
    pub paths: Vec<String>,
}

/// The effects of one command while it is carried out.
#[derive(Debug)]
struct EffectBuffer {
    at: TimeMs,
    effects: Vec<TreeEffect>,
    /// Agents that lined up for a slot; told if they are still there at the end.
    lined_up: Vec<AgentId>,
}

/// Three counts that are not the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeCounts {
    /// Agents that hold a slot.
    pub running: usize,
    /// Sessions in memory.
    pub resident: usize,
    /// Agents that ever were.
    pub remembered: usize,
}

impl Tree {
    /// Makes a tree without a root: it is started, or restored from what was written.
    pub fn empty(limits: TreeLimits) -> Self {
        let slots = RunSlots::new(limits.max_threads);
        Self {
            limits,
            memory: TreeMemory::default(),
            live: LiveState {
                slots,
                ..LiveState::default()
            },
        }
    }

    /// Plants an empty tree; the effects make its root known.
    pub fn plant(&mut self, session: SessionId, at: TimeMs) -> Vec<TreeEffect> {
        self.plant_beside(session, TakenNames::default(), at)
    }

    /// As [`Self::plant`], for a conversation that names agents of another tree.
    pub fn plant_beside(
        &mut self,
        session: SessionId,
        taken: TakenNames,
        at: TimeMs,
    ) -> Vec<TreeEffect> {
        let mut out = EffectBuffer::at(at);
        let rooted = TreeFact::Rooted {
            session,
            above: taken.highest,
            taken_paths: taken.paths,
        };
        self.record(&mut out, AgentId::ROOT, rooted);
        out.effects
    }

    /// Takes other limits from now on. Nobody who is there has to go.
    pub fn limit(&mut self, limits: TreeLimits) {
        self.live.slots.resize(limits.max_threads);
        self.limits = limits;
    }

    /// Carries out one command, or refuses it and changes nothing.
    pub fn apply(&mut self, command: TreeCommand) -> Result<Vec<TreeEffect>, TreeRefusal> {
        let mut out = EffectBuffer::at(command.at);
        match command.what {
            TreeAction::Spawn(spawn) => self.spawn(&mut out, spawn)?,
            TreeAction::Send(letter) => self.send(&mut out, letter)?,
            TreeAction::Wait { by, on, until } => self.wait(&mut out, by, on, until)?,
            TreeAction::TimeOut { wait } => self.time_out(&mut out, wait)?,
            TreeAction::StopWaiting { wait } => self.stop_waiting(&mut out, wait)?,
            TreeAction::Stop(stop) => self.stop(&mut out, stop)?,
            TreeAction::Resume { by, agent } => self.resume(&mut out, by, agent)?,
            TreeAction::Report { agent, report } => self.report(&mut out, agent, report)?,
            TreeAction::Suspend => self.suspend(&mut out),
            TreeAction::Reconfigure => self.reconfigure(&mut out),
            TreeAction::Recover => self.recover(&mut out),
            TreeAction::Sweep => self.sweep(&mut out),
            TreeAction::Keep { by, keepsake } => {
                self.record(&mut out, by.log_owner(), TreeFact::Kept(keepsake));
            }
            TreeAction::Rebind { agent, callback } => {
                self.known(agent)?;
                self.record(
                    &mut out,
                    AgentId::ROOT,
                    TreeFact::Rebound { agent, callback },
                );
            }
        }
        self.grant_slots(&mut out);
        self.trim_residents(&mut out);
        self.tell_queued(&mut out);
        Ok(out.effects)
    }

    /// Finds the agent that `text` means when `from` says it.
    pub fn resolve(&self, from: AgentId, text: &str) -> Result<AgentId, AgentAddressError> {
        self.memory.resolve(from, text)
    }

    pub fn get(&self, agent: AgentId) -> Option<&AgentRecord> {
        self.memory.get(agent)
    }

    pub fn memory(&self) -> &TreeMemory {
        &self.memory
    }

    /// Returns how an agent stands now.
    pub fn status(&self, agent: AgentId) -> CurrentStatus {
        let Some(node) = self.memory.get(agent) else {
            return CurrentStatus::NotFound;
        };
        if node.place == AgentLiveness::Lost {
            return CurrentStatus::Lost;
        }
        if let Some(run) = self.live.runs.get(&agent) {
            return run.status();
        }
        match self.live.slots.position(agent) {
            Some(position) => CurrentStatus::Queued { position },
            None if node.is_ready() => CurrentStatus::Ready,
            None => CurrentStatus::from(&node.lifecycle),
        }
    }

    /// Tells whether nothing runs and nothing is about to.
    pub fn is_quiet(&self) -> bool {
        self.live.runs.is_empty() && self.live.slots.is_idle()
    }

    /// Tells whether the tree counts on the agent's session being in memory.
    pub fn is_resident(&self, agent: AgentId) -> bool {
        self.live.residents.contains(agent)
    }

    /// Returns the task of an agent that is in flight.
    pub fn task_in_flight(&self, agent: AgentId) -> Option<&SubmissionId> {
        self.live.runs.get(&agent).map(|run| &run.task)
    }

    pub fn counts(&self) -> TreeCounts {
        TreeCounts {
            running: self.live.slots.held(),
            resident: self.live.residents.len(),
            remembered: self.memory.agents.len(),
        }
    }

    fn known(&self, agent: AgentId) -> Result<&AgentRecord, TreeRefusal> {
        self.memory.get(agent).ok_or(TreeRefusal::Unknown(agent))
    }

    /// Folds a fact and hands it out to be written.
    fn record(&mut self, out: &mut EffectBuffer, log: AgentId, fact: TreeFact) {
        let record = TreeRecord {
            order: self.memory.next_order,
            at: out.at,
            log,
            fact,
        };
        let depth = |memory: &TreeMemory, agent| memory.get(agent).map(|node| node.inbox.depth());
        let before = fold::recipients(&record.fact)
            .map(|agent| agent.and_then(|agent| Some((agent, depth(&self.memory, agent)?))));
        self.memory
            .fold(&record)
            .expect("a fact is recorded after it was checked against this memory");
        out.effects.push(TreeEffect::Persist(record));
        for (agent, before) in before.into_iter().flatten() {
            match depth(&self.memory, agent) {
                Some(depth) if depth != before => {
                    let notice = TreeNotice::Inbox { agent, depth };
                    out.effects.push(TreeEffect::Emit(notice));
                }
                Some(_) | None => {}
            }
        }
    }

    fn tell_status(&self, out: &mut EffectBuffer, agent: AgentId) {
        let status = self.status(agent);
        let stint = self.stint(agent, out.at);
        out.effects.push(TreeEffect::Emit(TreeNotice::Status {
            agent,
            status,
            stint,
        }));
    }

    fn stint(&self, agent: AgentId, at: TimeMs) -> TaskSpan {
        let node = self.memory.get(agent);
        TaskSpan {
            since: node.map_or(at, |node| node.task_since),
        }
    }

    /// Lines an idle agent up if its inbox has something to begin with.
    fn wake(&mut self, out: &mut EffectBuffer, agent: AgentId) {
        if self.live.suspended || self.live.runs.contains_key(&agent) {
            return;
        }
        let Some(message) = self.memory.get(agent).and_then(AgentRecord::next_input) else {
            return;
        };
        if agent == AgentId::ROOT {
            self.begin(out, agent, message, SlotStanding::Exempt);
        } else if !self.live.slots.is_in_line(agent) {
            self.live.slots.line_up(agent);
            out.lined_up.push(agent);
        }
    }

    /// Gives free slots to those in line until one of them runs out.
    fn grant_slots(&mut self, out: &mut EffectBuffer) {
        while !self.live.suspended
            && let Some(grant) = self.live.slots.grant()
        {
            let (SlotGrant::Return(agent) | SlotGrant::Start(agent)) = grant;
            if let Some(run) = self.live.runs.get_mut(&agent) {
                run.seat = SlotStanding::Held;
                self.balance(out, agent);
                continue;
            }
            match self.memory.get(agent).and_then(AgentRecord::next_input) {
                Some(message) => self.begin(out, agent, message, SlotStanding::Held),
                None => self.live.slots.leave(agent),
            }
        }
    }

    fn begin(
        &mut self,
        out: &mut EffectBuffer,
        agent: AgentId,
        message: MessageId,
        seat: SlotStanding,
    ) {
        if self.live.residents.touch(agent) == SessionResidency::Absent {
            out.effects.push(TreeEffect::Load { agent });
        }
        let node = self.memory.get(agent);
        let ahead = node.map_or_else(Vec::new, |node| node.ahead_of(message));
        let task = message.task();
        let run = TaskRun::starting(task.clone(), message, seat);
        self.live.runs.insert(agent, run);
        out.effects.push(TreeEffect::StartTask {
            agent,
            task,
            message,
            ahead,
        });
    }

    /// Brings an agent's slot in line with what it waits on, and hands over what is due.
    fn balance(&mut self, out: &mut EffectBuffer, agent: AgentId) {
        let Some(run) = self.live.runs.get_mut(&agent) else {
            return;
        };
        match (run.is_blocked(), run.seat) {
            (true, SlotStanding::Held | SlotStanding::Returning) => {
                self.live.slots.leave(agent);
                run.seat = SlotStanding::Given;
            }
            (false, SlotStanding::Given) => {
                self.live.slots.come_back(agent);
                run.seat = SlotStanding::Returning;
            }
            (_, SlotStanding::Exempt)
            | (true, SlotStanding::Given)
            | (false, SlotStanding::Held | SlotStanding::Returning) => {}
        }
        if run.seat == SlotStanding::Returning {
            return;
        }
        for due in std::mem::take(&mut run.due) {
            out.effects.push(match due {
                DueReply::Answer { wait, answer } => TreeEffect::AnswerWait { wait, answer },
                DueReply::Proceed => TreeEffect::Proceed { agent },
            });
        }
    }

    /// Takes all sessions that have nothing to do out of memory, and returns whose they are.
    pub fn dismiss_idle(&mut self) -> Vec<AgentId> {
        let runs = &self.live.runs;
        let idle = |agent| agent != AgentId::ROOT && !runs.contains_key(&agent);
        let residents = &mut self.live.residents;
        std::iter::from_fn(|| residents.evict(idle)).collect()
    }

    /// Unloads idle sessions beyond the bound, the one not used for longest first.
    fn trim_residents(&mut self, out: &mut EffectBuffer) {
        while self.live.residents.len() > self.limits.max_resident {
            let runs = &self.live.runs;
            let idle = |agent| agent != AgentId::ROOT && !runs.contains_key(&agent);
            match self.live.residents.evict(idle) {
                Some(agent) => out.effects.push(TreeEffect::Unload { agent }),
                None => return,
            }
        }
    }

    fn tell_queued(&self, out: &mut EffectBuffer) {
        for agent in std::mem::take(&mut out.lined_up) {
            if self.live.slots.position(agent).is_some() {
                self.tell_status(out, agent);
            }
        }
    }
}

impl EffectBuffer {
    fn at(at: TimeMs) -> Self {
        Self {
            at,
            effects: Vec::new(),
            lined_up: Vec::new(),
        }
    }

    fn answer(&mut self, answer: CommandReply) {
        self.effects.push(TreeEffect::Answer(answer));
    }

    fn abort(&mut self, agent: AgentId, task: SubmissionId, why: TaskOutcome) {
        self.effects
            .push(TreeEffect::AbortTask { agent, task, why });
    }
}
