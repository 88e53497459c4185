//! Random life of small trees, checked against the reference and against what must always
//! hold. A sequence is a list of numbers; each number is one step, read in the light of the
//! moment. A failing list is made shorter while it fails, and printed with its seed.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use troupe_protocol::agent::AgentOrigin;
use troupe_protocol::{AgentId, SessionId, SubmissionId};
use uuid::Uuid;

use super::reference::{Flight, Member, Reference, Stand};
use crate::tree::agent::{Bond, CallbackMode, Genealogy, OnParentInterrupt, Reach};
use crate::tree::command::{
    Command, Letter, Outcome, Report, Spawn, Stop, StopMode, Urgency, Verb, WaitFor, What,
};
use crate::tree::effect::{AbortWhy, Answer, Effect, Receipt, WaitAnswer, WaitEnd};
use crate::tree::id::{Caller, MessageId, TimeMs, WaitId};
use crate::tree::inbox::{MailKind, Sender};
use crate::tree::persist::{Fact, Record};
use crate::tree::status::{Status, WaitingOn};
use crate::tree::{Limits, Tree};

const SEQUENCES: u64 = 10_000;
const STEPS_MAX: usize = 60;

#[test]
fn random_trees_keep_every_promise() {
    let base = std::env::var("TROUPE_TREE_SEED").ok();
    let base: u64 = base.map_or(0x7407_9e5e_ed00, |text| {
        text.parse().expect("TROUPE_TREE_SEED is a number")
    });
    for seed in base..base + SEQUENCES {
        let tape = tape(seed);
        if play(&tape).is_err() {
            let (tape, broken) = shorten(tape);
            panic!(
                "seed {seed} (TROUPE_TREE_SEED={seed} repeats it), {} steps:\n{}\n{}",
                tape.len(),
                broken.log.join("\n"),
                broken.why
            );
        }
    }
}

/// A crash may come between any two lines, and a line may be torn: what is left comes back
/// without a panic, and no completion that was written is forgotten.
#[test]
fn a_log_cut_or_torn_anywhere_can_be_recovered() {
    for seed in 0..500 {
        let mut world = World::new(None);
        for step in tape(seed) {
            world.step(step).expect("the other test tells more");
        }
        let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut records = world.records;
        records.truncate(1 + draw.below(records.len()));
        check_recovery(&records);
        if records.len() > 1 {
            records.remove(1 + draw.below(records.len() - 1));
            drop(recover(&records));
        }
    }
}

fn check_recovery(records: &[Record]) {
    let (tree, written) = recover(records);
    let all = [records, &written].concat();
    let mut told = BTreeSet::new();
    let mut taken = BTreeSet::new();
    for record in &all {
        match &record.fact {
            Fact::Ended {
                callback: Some(callback),
                ..
            } => {
                told.insert((callback.target, callback.id));
            }
            Fact::Started {
                agent,
                message: Some(message),
                ..
            } => {
                taken.insert((*agent, *message));
            }
            Fact::Consumed { agent, messages } => {
                taken.extend(messages.iter().map(|message| (*agent, *message)));
            }
            _ => {}
        }
    }
    for (target, message) in told {
        let inbox = &tree.get(target).expect("a target is an agent").inbox;
        let waits = inbox.find(message).is_some();
        assert!(waits != taken.contains(&(target, message)), "seen once");
    }
    let (again, misfits) = Tree::restore(limits(), all);
    assert_eq!(misfits, []);
    assert_eq!(again.memory(), tree.memory());
}

fn recover(records: &[Record]) -> (Tree, Vec<Record>) {
    let (mut tree, _) = Tree::restore(limits(), records.to_vec());
    let what = What::Recover;
    let at = TimeMs(1);
    let effects = tree.apply(Command { at, what }).expect("never refused");
    let written = effects.into_iter().filter_map(|effect| match effect {
        Effect::Persist(record) => Some(record),
        _ => None,
    });
    let written = written.collect();
    (tree, written)
}

struct Broken {
    log: Vec<String>,
    why: String,
}

fn tape(seed: u64) -> Vec<u64> {
    let mut state = seed;
    let mut next = move || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let steps = 10 + usize::try_from(next() % 50).unwrap_or(0);
    (0..steps.min(STEPS_MAX)).map(|_| next()).collect()
}

fn play(tape: &[u64]) -> Result<(), Broken> {
    play_with(tape, None)
}

/// Plays a tape; what happens is written down only if there is a log for it.
fn play_with(tape: &[u64], log: Option<Vec<String>>) -> Result<(), Broken> {
    let mut world = World::new(log);
    let played = catch_unwind(AssertUnwindSafe(|| {
        for step in tape {
            world.step(*step)?;
        }
        world.settle()
    }));
    let why = match played {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(why)) => why,
        Err(_) => "the tree panicked".to_owned(),
    };
    let log = world.log.unwrap_or_default();
    Err(Broken { log, why })
}

/// Leaves out every step without which it still breaks.
fn shorten(mut tape: Vec<u64>) -> (Vec<u64>, Broken) {
    let mut at = 0;
    while at < tape.len() {
        let mut shorter = tape.clone();
        shorter.remove(at);
        match play(&shorter) {
            Ok(()) => at += 1,
            Err(_) => tape = shorter,
        }
    }
    let broken = play_with(&tape, Some(Vec::new()));
    (tape, broken.expect_err("it broke a moment ago"))
}

/// Takes small numbers out of a big one.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).expect("a small number");
        let drawn = self.0 % bound;
        self.0 /= bound;
        usize::try_from(drawn).expect("a small number")
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.below(of.len())])
    }
}

#[derive(Debug, Clone)]
struct Waiting {
    waiter: Option<AgentId>,
    on: Vec<AgentId>,
    /// Set once it was answered with results.
    delivers: Option<Vec<MessageId>>,
}

struct World {
    tree: Tree,
    reference: Reference,
    records: Vec<Record>,
    waits: BTreeMap<WaitId, Waiting>,
    /// Every callback that ever was, and whether it was delivered.
    callbacks: BTreeMap<MessageId, bool>,
    aborted: BTreeMap<AgentId, AbortWhy>,
    asking: BTreeSet<AgentId>,
    next_message: u128,
    suspended: bool,
    log: Option<Vec<String>>,
}

fn limits() -> Limits {
    Limits {
        max_threads: 2,
        max_agents: 9,
        max_spawns_per_minute: 1000,
        ..Limits::default()
    }
}

impl World {
    fn new(log: Option<Vec<String>>) -> Self {
        let session = SessionId(Uuid::from_u128(u128::MAX));
        let (tree, effects) = Tree::new(limits(), session, TimeMs(0));
        let mut world = Self {
            tree,
            reference: Reference::default(),
            records: Vec::new(),
            waits: BTreeMap::new(),
            callbacks: BTreeMap::new(),
            aborted: BTreeMap::new(),
            asking: BTreeSet::new(),
            next_message: 0,
            suspended: false,
            log,
        };
        let silent = Bond {
            callback: CallbackMode::Off,
            ..Bond::default()
        };
        let root = Member::new(AgentId::ROOT, None, silent, None);
        world.reference.members.push(root);
        for effect in effects {
            if let Effect::Persist(record) = effect {
                world.records.push(record);
            }
        }
        world
    }

    fn step(&mut self, number: u64) -> Result<(), String> {
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
            38 => self.apply(What::Sweep).map(|_| ()),
            _ if draw.below(3) == 0 => self.crash(),
            _ => Ok(()),
        }
    }

    // ── what may happen ──

    fn spawn(&mut self, draw: &mut Draw) -> Result<(), String> {
        let by = self.someone(draw);
        let bond = Bond {
            callback: [
                CallbackMode::Persistent,
                CallbackMode::Persistent,
                CallbackMode::Once,
                CallbackMode::Off,
            ][draw.below(4)],
            on_parent_interrupt: [OnParentInterrupt::KeepRunning, OnParentInterrupt::Cancel]
                [draw.below(2)],
            reach: [Reach::Subtree, Reach::Family][draw.below(2)],
        };
        let message = self.new_message();
        let spawned = self.apply(What::Spawn(Spawn {
            by,
            session: SessionId(Uuid::from_u128(message.0.as_u128())),
            name: ["worker", "scout"][draw.below(2)].to_owned(),
            genealogy: Genealogy {
                origin: AgentOrigin::Spawn,
                point: None,
            },
            bond,
            message,
        }))?;
        if let Some(effects) = spawned {
            let born = effects.iter().any(|effect| {
                matches!(effect, Effect::Answer(Answer::Spawned { agent, .. })
                    if agent.0 as usize == self.reference.members.len() - 1)
            });
            demand(born, "a child has the next number")?;
        }
        Ok(())
    }

    fn send(&mut self, draw: &mut Draw) -> Result<(), String> {
        let from = match self.someone(draw) {
            Caller::User => Sender::User,
            Caller::Agent(agent) => Sender::Agent(agent),
        };
        let to = self.anyone(draw);
        let urgency = [Urgency::Regular, Urgency::Regular, Urgency::Interrupt][draw.below(3)];
        let message = self.new_message();
        let allowed = self.may_send(from, to, urgency);
        let letter = Letter {
            from,
            to,
            message,
            urgency,
        };
        let member = self.reference.get(to);
        let dead = member.closed || member.pruned || member.ends_input();
        let sent = self.apply(What::Send(letter))?;
        demand(sent.is_some() == allowed, "mail reaches whom it may reach")?;
        let Some(effects) = sent else {
            return Ok(());
        };
        let died = effects.iter().any(|effect| {
            matches!(
                effect,
                Effect::Answer(Answer::Receipt(Receipt::Dead { .. }))
            )
        });
        demand(died == dead, "a receipt is dead exactly for the dead")
    }

    fn may_send(&self, from: Sender, to: AgentId, urgency: Urgency) -> bool {
        let Sender::Agent(from) = from else {
            return true;
        };
        let root_interrupt = to == AgentId::ROOT && urgency == Urgency::Interrupt;
        if from == to || root_interrupt {
            return false;
        }
        let sender = self.reference.get(from);
        let parent = sender.parent;
        let family = parent.is_some()
            && (parent == Some(to) || parent == self.reference.get(to).parent)
            && sender.bond.reach == Reach::Family
            && urgency == Urgency::Regular;
        family || self.reference.owns(from, to)
    }

    fn start(&mut self, draw: &mut Draw) -> Result<(), String> {
        let asked = self.flights(|flight| flight.message.is_some());
        let Some(agent) = draw.one(&asked) else {
            return Ok(());
        };
        let flight = self.reference.get(agent).flight.clone();
        let task = flight.map(|flight| flight.task).unwrap_or_default();
        let started = self.report(agent, Report::Started { task })?;
        demand(started, "a task that was asked for may start")
    }

    fn end(&mut self, draw: &mut Draw) -> Result<(), String> {
        let agents = self.flights(|_| true);
        let Some(agent) = draw.one(&agents) else {
            return Ok(());
        };
        let told = match self.aborted.get(&agent) {
            Some(AbortWhy::Replaced) => Outcome::Replaced,
            Some(AbortWhy::Interrupted | AbortWhy::Cancelled | AbortWhy::Shutdown) => {
                Outcome::Interrupted
            }
            None => Outcome::Completed,
        };
        let outcome = [
            told,
            told,
            told,
            Outcome::Completed,
            Outcome::Errored,
            Outcome::Interrupted,
            Outcome::BudgetExceeded,
            Outcome::Replaced,
        ][draw.below(8)];
        self.end_with(agent, outcome)
    }

    fn end_with(&mut self, agent: AgentId, outcome: Outcome) -> Result<(), String> {
        let flight = self.reference.get(agent).flight.clone();
        let Some(Flight { task, message }) = flight else {
            return Ok(());
        };
        let begun = message.is_none();
        let ended = self.report(agent, Report::Ended { task, outcome })?;
        let may = begun || !matches!(outcome, Outcome::Completed | Outcome::Replaced);
        demand(ended == may, "only what has begun completes")
    }

    fn wait(&mut self, draw: &mut Draw) -> Result<(), String> {
        let by = self.someone(draw);
        let on = if draw.below(4) == 0 {
            WaitFor::AnyChild
        } else {
            let count = 1 + draw.below(2);
            WaitFor::Agents((0..count).map(|_| self.anyone(draw)).collect())
        };
        self.apply(What::Wait { by, on }).map(|_| ())
    }

    fn end_wait(&mut self, draw: &mut Draw) -> Result<(), String> {
        let open: Vec<WaitId> = self.open_waits().map(|(wait, _)| *wait).collect();
        let Some(wait) = draw.one(&open) else {
            return Ok(());
        };
        let what = match draw.below(2) {
            0 => What::TimeOut { wait },
            _ => What::StopWaiting { wait },
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
        let taken = self.report(waiter, Report::WaitTaken { wait })?;
        demand(taken, "an answer can be taken")
    }

    fn ask(&mut self, draw: &mut Draw) -> Result<(), String> {
        let running = self.flights(|flight| flight.message.is_none());
        let Some(agent) = draw.one(&running) else {
            return Ok(());
        };
        let report = if self.asking.contains(&agent) {
            Report::Unblocked
        } else {
            let on = [WaitingOn::Approval, WaitingOn::User, WaitingOn::Model][draw.below(3)];
            Report::Waiting { on }
        };
        self.report(agent, report).map(|_| ())
    }

    fn take_mail(&mut self, draw: &mut Draw) -> Result<(), String> {
        let running = self.flights(|flight| flight.message.is_none());
        let Some(agent) = draw.one(&running) else {
            return Ok(());
        };
        let member = self.reference.get(agent);
        let messages = [member.interrupts.clone(), member.regular.clone()].concat();
        self.report(agent, Report::Took { messages }).map(|_| ())
    }

    fn stop(&mut self, draw: &mut Draw) -> Result<(), String> {
        let verbs = [
            Verb::Interrupt,
            Verb::Cancel,
            Verb::Close,
            Verb::Release,
            Verb::Prune,
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
            Caller::Agent(_) if verb == Verb::Interrupt && target == AgentId::ROOT => false,
            Caller::Agent(agent) => self.reference.owns(agent, target),
        };
        let fits = verb != Verb::Release || self.reference.get(target).parent.is_some();
        let stopped = self.apply(What::Stop(Stop {
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
        self.apply(What::Resume { by, agent }).map(|_| ())
    }

    fn direct_input(&mut self, draw: &mut Draw) -> Result<(), String> {
        let root = self.reference.get(AgentId::ROOT);
        let busy = root.flight.as_ref().is_some_and(|it| it.message.is_none());
        let task = SubmissionId(format!("direct-{}", draw.0));
        let may = !busy && !root.closed;
        let started = self.report(AgentId::ROOT, Report::Started { task })?;
        demand(started == may, "the user may speak to an idle root")
    }

    fn suspend(&mut self) -> Result<(), String> {
        self.apply(What::Suspend)?;
        for agent in self.flights(|_| true) {
            self.end_with(agent, Outcome::Interrupted)?;
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
        self.apply(What::Recover).map(|_| ())
    }

    /// Lets everything come to rest; nothing may be left that cannot.
    fn settle(&mut self) -> Result<(), String> {
        for _ in 0..400 {
            if let Some(agent) = self.flights(|it| it.message.is_some()).first().copied() {
                let task = self.reference.get(agent).flight.clone();
                let task = task.map(|flight| flight.task).unwrap_or_default();
                self.report(agent, Report::Started { task })?;
                continue;
            }
            let Some(agent) = self.flights(|_| true).first().copied() else {
                break;
            };
            self.end_with(agent, Outcome::Completed)?;
        }
        for member in &self.reference.members {
            demand(!member.is_active(), "everything that was begun can end")?;
        }
        self.crash()
    }

    // ── doing it, and telling the reference ──

    fn report(&mut self, agent: AgentId, report: Report) -> Result<bool, String> {
        Ok(self.apply(What::Report { agent, report })?.is_some())
    }

    /// Applies a command and checks all that must hold afterwards.
    fn apply(&mut self, what: What) -> Result<Option<Vec<Effect>>, String> {
        self.note(|| format!("{what:?}"));
        let before = self.tree.memory().clone();
        let command = Command {
            at: TimeMs(0),
            what: what.clone(),
        };
        let effects = match self.tree.apply(command) {
            Ok(effects) => effects,
            Err(refusal) => {
                self.note(|| format!("    refused: {refusal}"));
                demand(
                    *self.tree.memory() == before,
                    "a refused command changes nothing",
                )?;
                return Ok(None);
            }
        };
        for effect in &effects {
            if !matches!(effect, Effect::Emit(_)) {
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
        self.check_members()?;
        self.check_slots()?;
        self.check_waits()?;
        Ok(Some(effects))
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log.push(line());
        }
    }

    /// A status stands in its own agent's log, and while a task is in flight only its own
    /// session changes it.
    fn check_writers(&self, what: &What, effects: &[Effect]) -> Result<(), String> {
        let reporter = match what {
            What::Report { agent, .. } => Some(*agent),
            _ => None,
        };
        for effect in effects {
            let Effect::Persist(record) = effect else {
                continue;
            };
            let (Fact::Started { agent, .. }
            | Fact::Ended { agent, .. }
            | Fact::Halted { agent, .. }
            | Fact::Withdrawn { agent }
            | Fact::Shut { agent }) = &record.fact
            else {
                continue;
            };
            demand(record.log == *agent, "a status is a line of its own agent")?;
            let in_flight = self.reference.get(*agent).flight.is_some();
            demand(
                !in_flight || reporter == Some(*agent) || *what == What::Recover,
                "nobody else writes the status of a running task",
            )?;
        }
        Ok(())
    }

    fn tell(&mut self, what: &What, effects: &[Effect]) {
        match what {
            What::Spawn(spawn) => {
                let id = AgentId(u32::try_from(self.reference.members.len()).unwrap_or(u32::MAX));
                let parent = Some(spawn.by.log());
                let member = Member::new(id, parent, spawn.bond, Some(spawn.message));
                self.reference.members.push(member);
            }
            What::Send(letter) => {
                let member = self.reference.at(letter.to);
                if !(member.closed || member.pruned || member.ends_input()) {
                    match letter.urgency {
                        Urgency::Interrupt => member.interrupts.push(letter.message),
                        Urgency::Regular => member.regular.push(letter.message),
                    }
                }
            }
            What::Stop(stop) if stop.mode == StopMode::Act => {
                for target in &stop.targets {
                    self.reference.stop(stop.by, stop.verb, *target);
                }
            }
            What::Resume { agent, .. } => {
                let member = self.reference.at(*agent);
                member.closed = false;
                member.pruned = false;
            }
            What::Report { agent, report } => self.tell_report(*agent, report),
            What::Wait { by, on } => self.tell_wait(*by, on, effects),
            What::Suspend => {
                self.suspended = true;
                self.reference.suspend();
            }
            What::Recover => {
                self.suspended = false;
                self.waits.clear();
                self.asking.clear();
                self.aborted.clear();
                self.reference.crash();
            }
            What::Stop(_) | What::TimeOut { .. } | What::StopWaiting { .. } | What::Sweep => {}
        }
    }

    fn tell_report(&mut self, agent: AgentId, report: &Report) {
        let member = self.reference.at(agent);
        match report {
            Report::Started { task } => {
                let asked = member.flight.take().filter(|flight| flight.task == *task);
                if let Some(message) = asked.and_then(|flight| flight.message) {
                    member.remove(message);
                    self.deliver(message);
                }
                let member = self.reference.at(agent);
                member.stand = Stand::Running;
                member.flight = Some(Flight {
                    task: task.clone(),
                    message: None,
                });
            }
            Report::Took { messages } => {
                for message in messages {
                    member.remove(*message);
                }
            }
            Report::Waiting { on } => {
                if !on.keeps_slot() {
                    self.asking.insert(agent);
                }
            }
            Report::Unblocked => {
                self.asking.remove(&agent);
            }
            Report::WaitTaken { wait } => {
                let taken = self.waits.remove(wait).and_then(|wait| wait.delivers);
                for message in taken.unwrap_or_default() {
                    self.reference.at(agent).remove(message);
                    self.deliver(message);
                }
            }
            Report::Ended { outcome, .. } => {
                self.waits.retain(|_, wait| wait.waiter != Some(agent));
                self.asking.remove(&agent);
                self.aborted.remove(&agent);
                self.reference.end(agent, *outcome);
            }
        }
    }

    fn tell_wait(&mut self, by: Caller, on: &WaitFor, effects: &[Effect]) {
        let on = match on {
            WaitFor::Agents(agents) => agents.clone(),
            WaitFor::AnyChild => self
                .reference
                .members
                .iter()
                .filter(|member| member.parent == Some(by.log()) && !member.is_final())
                .map(|member| member.id)
                .collect(),
        };
        let waiter = match by {
            Caller::User => None,
            Caller::Agent(agent) => Some(agent),
        };
        for effect in effects {
            if let Effect::Answer(Answer::Waiting { wait }) = effect {
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
        if let Some(delivered) = self.callbacks.get_mut(&message) {
            assert!(!*delivered, "a completion is delivered once");
            *delivered = true;
        }
    }

    /// Does what a supervisor would do, and compares each effect with the reference.
    fn follow(&mut self, effects: &[Effect]) -> Result<(), String> {
        for effect in effects {
            match effect {
                Effect::Persist(record) => self.write(record)?,
                Effect::StartTask {
                    agent,
                    task,
                    message,
                } => {
                    let member = self.reference.at(*agent);
                    demand(member.flight.is_none(), "one task at a time")?;
                    demand(
                        member.next() == Some(*message),
                        "mail is taken in its order",
                    )?;
                    member.flight = Some(Flight {
                        task: task.clone(),
                        message: Some(*message),
                    });
                }
                Effect::AbortTask { agent, task, why } => {
                    let member = self.reference.get(*agent);
                    let runs = member.flight.as_ref().is_some_and(|it| it.task == *task);
                    demand(runs, "only a task in flight is aborted")?;
                    self.aborted.insert(*agent, *why);
                }
                Effect::AnswerWait { wait, answer } => self.answered(*wait, answer)?,
                Effect::Load { .. }
                | Effect::Unload { .. }
                | Effect::Poke { .. }
                | Effect::Proceed { .. }
                | Effect::Shut { .. }
                | Effect::Emit(_)
                | Effect::Answer(_) => {}
            }
        }
        Ok(())
    }

    fn write(&mut self, record: &Record) -> Result<(), String> {
        self.records.push(record.clone());
        let Fact::Ended {
            agent,
            callback: Some(callback),
            ..
        } = &record.fact
        else {
            return Ok(());
        };
        let made = (*agent, callback.target);
        let owed = self.reference.owed.iter().position(|owed| *owed == made);
        let Some(owed) = owed else {
            return Err("a callback is made only where one is owed".to_owned());
        };
        self.reference.owed.remove(owed);
        let known = self.callbacks.insert(callback.id, false);
        demand(known.is_none(), "each completion has a callback of its own")?;
        let target = self.reference.at(callback.target);
        target.callbacks.push((callback.id, *agent));
        Ok(())
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
            demand(
                self.callbacks.get(message) == Some(&false),
                "an answer delivers what was not delivered yet",
            )?;
        }
        if waiting.waiter.is_none() || answer.end != WaitEnd::Final {
            demand(delivers.is_empty(), "only the target takes a callback")?;
            self.waits.remove(&wait);
        } else {
            waiting.delivers = Some(delivers);
        }
        Ok(())
    }

    // ── what must always hold ──

    fn check_members(&self) -> Result<(), String> {
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

    fn fits(&self, member: &Member, status: Status) -> bool {
        if let Some(flight) = &member.flight {
            return match status {
                Status::PendingInit => flight.message.is_some(),
                Status::Running | Status::Waiting { .. } => flight.message.is_none(),
                _ => false,
            };
        }
        if member.next().is_some() {
            let replaced = member.stand == Stand::Replaced && status == Status::PendingInit;
            if matches!(status, Status::Queued { .. }) || replaced {
                return true;
            }
            if !self.suspended {
                return false;
            }
        }
        match status {
            Status::Shutdown => member.closed,
            _ if member.closed => false,
            Status::PendingInit => matches!(member.stand, Stand::New | Stand::Replaced),
            Status::Completed => member.stand == Stand::Completed,
            Status::Errored => matches!(member.stand, Stand::Errored | Stand::FailedToStart),
            Status::Interrupted { .. } => member.stand == Stand::Interrupted,
            Status::Cancelled => member.stand == Stand::Cancelled,
            Status::BudgetExceeded => member.stand == Stand::Budget,
            Status::Queued { .. } | Status::Running | Status::Waiting { .. } | Status::NotFound => {
                false
            }
        }
    }

    fn check_slots(&self) -> Result<(), String> {
        let statuses: Vec<(AgentId, Status)> = self
            .reference
            .members
            .iter()
            .filter(|member| member.id != AgentId::ROOT)
            .map(|member| (member.id, self.tree.status(member.id)))
            .collect();
        let in_flight = |agent: AgentId| self.reference.get(agent).flight.is_some();
        let runs = |(agent, status): &&(AgentId, Status)| match status {
            Status::Waiting { on } => on.keeps_slot(),
            Status::Running => true,
            Status::PendingInit => in_flight(*agent),
            _ => false,
        };
        let running = statuses.iter().filter(runs).count();
        demand(running <= limits().max_threads, "no more run than may")?;
        demand(running == self.tree.counts().running, "no slot is leaked")?;
        if self.suspended {
            return Ok(());
        }
        let returning = |(agent, status): &&(AgentId, Status)| match status {
            Status::Waiting { on } => *on == WaitingOn::Slot,
            Status::PendingInit => !in_flight(*agent),
            _ => false,
        };
        let returning = statuses.iter().filter(returning).count();
        let mut positions: Vec<usize> = statuses
            .iter()
            .filter_map(|(_, status)| match status {
                Status::Queued { position } => Some(*position),
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

    fn check_waits(&self) -> Result<(), String> {
        for (_, wait) in self.open_waits() {
            let met = wait
                .on
                .iter()
                .any(|agent| self.reference.get(*agent).is_final());
            let status = wait.waiter.map(|waiter| self.tree.status(waiter));
            let for_slot = Some(Status::Waiting {
                on: WaitingOn::Slot,
            });
            demand(
                !met || status == for_slot,
                "a wait whose agent has ended is answered",
            )?;
        }
        Ok(())
    }

    // ── choosing ──

    fn open_waits(&self) -> impl Iterator<Item = (&WaitId, &Waiting)> {
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

fn demand(holds: bool, what: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(format!("broken: {what}"))
    }
}
