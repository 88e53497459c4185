//! The agent tree: every decision about many agents, and nothing that runs.
//!
//! ```text
//!              ┌────────────── Tree ──────────────┐
//! Command ───► │ decide ──► facts ──fold──► Memory │ ───► effects, in order
//!   (with its  │    │                              │      (persist, start, abort,
//!    moment)   │    └─────► Live: slots, runs,     │       answer, emit, …)
//!              │            waits, residents       │
//!              └───────────────────────────────────┘
//! ```
//!
//! [`Tree::apply`] refuses a command and changes nothing, or carries it out. What must
//! survive the process changes only by folding a [`Fact`], which is handed out to be
//! written in the same breath; so folding the written facts gives the same memory again.
//! What ends with the process (who holds a slot, who waits, who is loaded) is `Live`.
//!
//! Who writes what: a status stands in the log of the agent it belongs to. While a task is
//! in flight only the reports of its own session change it; a stop leaves an order that the
//! session answers. For an agent without a task nobody else can speak, so the tree does.
//!
//! Reading order: [`command`] → [`effect`] → [`lifecycle`], [`status`] → [`inbox`],
//! `slots` → [`persist`] → one file per verb: `spawn`, `mail`, `report`, `wait`, `stop`,
//! `recovery`.
//!
//! Deliberately absent: IO, clock, randomness, async; the contents of messages and results;
//! rights, roles, budgets' arithmetic; how a task runs.

pub mod address;
pub mod agent;
pub mod command;
pub mod effect;
pub mod id;
pub mod inbox;
pub mod lifecycle;
pub mod limits;
pub mod lives;
mod mail;
pub mod memory;
pub mod news;
mod ownership;
pub mod persist;
mod recovery;
pub mod refusal;
mod report;
mod residents;
mod run;
mod slots;
mod spawn;
pub mod status;
mod stop;
mod wait;

use std::collections::BTreeMap;

use troupe_protocol::{AgentId, SessionId, SubmissionId, TaskOutcome};

pub use address::AddressError;
pub use agent::Agent;
pub use command::{Command, What};
pub use effect::Effect;
pub use limits::Limits;
pub use memory::Memory;
pub use persist::{Fact, Misfit, Record};
pub use refusal::Refusal;
pub use status::Status;

use address::TakenNumbers;
use agent::Place;
use effect::{Answer, Notice, Stint};
use id::{MessageId, TimeMs, WaitId};
use residents::{Presence, Residents};
use run::{Due, Run, Seat};
use slots::{Grant, Slots};
use wait::OpenWait;

#[derive(Debug, Clone)]
pub struct Tree {
    limits: Limits,
    memory: Memory,
    live: Live,
}

/// What ends with the process.
#[derive(Debug, Clone, Default)]
struct Live {
    slots: Slots,
    /// Tasks in flight: asked for, or begun.
    runs: BTreeMap<AgentId, Run>,
    waits: BTreeMap<WaitId, OpenWait>,
    next_wait: u64,
    residents: Residents,
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
struct Out {
    at: TimeMs,
    effects: Vec<Effect>,
    /// Agents that lined up for a slot; told if they are still there at the end.
    lined_up: Vec<AgentId>,
}

/// Three counts that are not the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Agents that hold a slot.
    pub running: usize,
    /// Sessions in memory.
    pub resident: usize,
    /// Agents that ever were.
    pub remembered: usize,
}

impl Tree {
    /// Makes a tree without a root: it is started, or restored from what was written.
    pub fn empty(limits: Limits) -> Self {
        let slots = Slots::new(limits.max_threads);
        Self {
            limits,
            memory: Memory::default(),
            live: Live {
                slots,
                ..Live::default()
            },
        }
    }

    /// Plants an empty tree; the effects make its root known.
    pub fn plant(&mut self, session: SessionId, at: TimeMs) -> Vec<Effect> {
        self.plant_beside(session, TakenNames::default(), at)
    }

    /// As [`Self::plant`], for a conversation that names agents of another tree.
    pub fn plant_beside(
        &mut self,
        session: SessionId,
        taken: TakenNames,
        at: TimeMs,
    ) -> Vec<Effect> {
        let mut out = Out::at(at);
        let rooted = Fact::Rooted {
            session,
            above: taken.highest,
            taken_paths: taken.paths,
        };
        self.record(&mut out, AgentId::ROOT, rooted);
        out.effects
    }

    /// Takes other limits from now on. Nobody who is there has to go.
    pub fn limit(&mut self, limits: Limits) {
        self.live.slots.resize(limits.max_threads);
        self.limits = limits;
    }

    /// Carries out one command, or refuses it and changes nothing.
    pub fn apply(&mut self, command: Command) -> Result<Vec<Effect>, Refusal> {
        let mut out = Out::at(command.at);
        match command.what {
            What::Spawn(spawn) => self.spawn(&mut out, spawn)?,
            What::Send(letter) => self.send(&mut out, letter)?,
            What::Wait { by, on, until } => self.wait(&mut out, by, on, until)?,
            What::TimeOut { wait } => self.time_out(&mut out, wait)?,
            What::StopWaiting { wait } => self.stop_waiting(&mut out, wait)?,
            What::Stop(stop) => self.stop(&mut out, stop)?,
            What::Resume { by, agent } => self.resume(&mut out, by, agent)?,
            What::Report { agent, report } => self.report(&mut out, agent, report)?,
            What::Suspend => self.suspend(&mut out),
            What::Reconfigure => self.reconfigure(&mut out),
            What::Recover => self.recover(&mut out),
            What::Sweep => self.sweep(&mut out),
            What::Keep { by, keepsake } => {
                self.record(&mut out, by.log(), Fact::Kept(keepsake));
            }
            What::Rebind { agent, callback } => {
                self.known(agent)?;
                self.record(&mut out, AgentId::ROOT, Fact::Rebound { agent, callback });
            }
        }
        self.grant_slots(&mut out);
        self.trim_residents(&mut out);
        self.tell_queued(&mut out);
        Ok(out.effects)
    }

    /// Finds the agent that `text` means when `from` says it.
    pub fn resolve(&self, from: AgentId, text: &str) -> Result<AgentId, AddressError> {
        self.memory.resolve(from, text)
    }

    pub fn get(&self, agent: AgentId) -> Option<&Agent> {
        self.memory.get(agent)
    }

    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Returns how an agent stands now.
    pub fn status(&self, agent: AgentId) -> Status {
        let Some(node) = self.memory.get(agent) else {
            return Status::NotFound;
        };
        if node.place == Place::Lost {
            return Status::Lost;
        }
        if let Some(run) = self.live.runs.get(&agent) {
            return run.status();
        }
        match self.live.slots.position(agent) {
            Some(position) => Status::Queued { position },
            None if node.is_ready() => Status::Ready,
            None => Status::from(&node.lifecycle),
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

    pub fn counts(&self) -> Counts {
        Counts {
            running: self.live.slots.held(),
            resident: self.live.residents.len(),
            remembered: self.memory.agents.len(),
        }
    }

    fn known(&self, agent: AgentId) -> Result<&Agent, Refusal> {
        self.memory.get(agent).ok_or(Refusal::Unknown(agent))
    }

    /// Folds a fact and hands it out to be written.
    fn record(&mut self, out: &mut Out, log: AgentId, fact: Fact) {
        let record = Record {
            order: self.memory.next_order,
            at: out.at,
            log,
            fact,
        };
        let depth = |memory: &Memory, agent| memory.get(agent).map(|node| node.inbox.depth());
        let before = persist::recipients(&record.fact)
            .map(|agent| agent.and_then(|agent| Some((agent, depth(&self.memory, agent)?))));
        self.memory
            .fold(&record)
            .expect("a fact is recorded after it was checked against this memory");
        out.effects.push(Effect::Persist(record));
        for (agent, before) in before.into_iter().flatten() {
            match depth(&self.memory, agent) {
                Some(depth) if depth != before => {
                    let notice = Notice::Inbox { agent, depth };
                    out.effects.push(Effect::Emit(notice));
                }
                Some(_) | None => {}
            }
        }
    }

    fn tell_status(&self, out: &mut Out, agent: AgentId) {
        let status = self.status(agent);
        let stint = self.stint(agent, out.at);
        out.effects.push(Effect::Emit(Notice::Status {
            agent,
            status,
            stint,
        }));
    }

    fn stint(&self, agent: AgentId, at: TimeMs) -> Stint {
        let node = self.memory.get(agent);
        Stint {
            since: node.map_or(at, |node| node.task_since),
        }
    }

    /// Lines an idle agent up if its inbox has something to begin with.
    fn wake(&mut self, out: &mut Out, agent: AgentId) {
        if self.live.suspended || self.live.runs.contains_key(&agent) {
            return;
        }
        let Some(message) = self.memory.get(agent).and_then(Agent::next_input) else {
            return;
        };
        if agent == AgentId::ROOT {
            self.begin(out, agent, message, Seat::Exempt);
        } else if !self.live.slots.is_in_line(agent) {
            self.live.slots.line_up(agent);
            out.lined_up.push(agent);
        }
    }

    /// Gives free slots to those in line until one of them runs out.
    fn grant_slots(&mut self, out: &mut Out) {
        while !self.live.suspended
            && let Some(grant) = self.live.slots.grant()
        {
            let (Grant::Return(agent) | Grant::Start(agent)) = grant;
            if let Some(run) = self.live.runs.get_mut(&agent) {
                run.seat = Seat::Held;
                self.balance(out, agent);
                continue;
            }
            match self.memory.get(agent).and_then(Agent::next_input) {
                Some(message) => self.begin(out, agent, message, Seat::Held),
                None => self.live.slots.leave(agent),
            }
        }
    }

    fn begin(&mut self, out: &mut Out, agent: AgentId, message: MessageId, seat: Seat) {
        if self.live.residents.touch(agent) == Presence::Absent {
            out.effects.push(Effect::Load { agent });
        }
        let node = self.memory.get(agent);
        let ahead = node.map_or_else(Vec::new, |node| node.ahead_of(message));
        let task = message.task();
        let run = Run::starting(task.clone(), message, seat);
        self.live.runs.insert(agent, run);
        out.effects.push(Effect::StartTask {
            agent,
            task,
            message,
            ahead,
        });
    }

    /// Brings an agent's slot in line with what it waits on, and hands over what is due.
    fn balance(&mut self, out: &mut Out, agent: AgentId) {
        let Some(run) = self.live.runs.get_mut(&agent) else {
            return;
        };
        match (run.is_blocked(), run.seat) {
            (true, Seat::Held | Seat::Returning) => {
                self.live.slots.leave(agent);
                run.seat = Seat::Given;
            }
            (false, Seat::Given) => {
                self.live.slots.come_back(agent);
                run.seat = Seat::Returning;
            }
            (_, Seat::Exempt) | (true, Seat::Given) | (false, Seat::Held | Seat::Returning) => {}
        }
        if run.seat == Seat::Returning {
            return;
        }
        for due in std::mem::take(&mut run.due) {
            out.effects.push(match due {
                Due::Answer { wait, answer } => Effect::AnswerWait { wait, answer },
                Due::Proceed => Effect::Proceed { agent },
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
    fn trim_residents(&mut self, out: &mut Out) {
        while self.live.residents.len() > self.limits.max_resident {
            let runs = &self.live.runs;
            let idle = |agent| agent != AgentId::ROOT && !runs.contains_key(&agent);
            match self.live.residents.evict(idle) {
                Some(agent) => out.effects.push(Effect::Unload { agent }),
                None => return,
            }
        }
    }

    fn tell_queued(&self, out: &mut Out) {
        for agent in std::mem::take(&mut out.lined_up) {
            if self.live.slots.position(agent).is_some() {
                self.tell_status(out, agent);
            }
        }
    }
}

impl Out {
    fn at(at: TimeMs) -> Self {
        Self {
            at,
            effects: Vec::new(),
            lined_up: Vec::new(),
        }
    }

    fn answer(&mut self, answer: Answer) {
        self.effects.push(Effect::Answer(answer));
    }

    fn abort(&mut self, agent: AgentId, task: SubmissionId, why: TaskOutcome) {
        self.effects.push(Effect::AbortTask { agent, task, why });
    }
}

#[cfg(test)]
mod tests;
