//! The actor that performs what the tree decides.
//!
//! ```text
//!  callers (tools, UIs) ─Request─►┌────────────┐──Command──► tree (pure)
//!  hosts (sessions)  ──Report───► │ supervisor │◄──effects──
//!  receipts, loads, timers ─────► └─────┬──────┘
//!                                       ▼ in order
//!           Record (lines, on disk) · Start · Abort · Mail · answers · events
//! ```
//!
//! Everything that can happen is an [`Input`]. A session may wait for the supervisor; the
//! supervisor never waits for a session: it gives orders, and what comes of them is the
//! next input. Effects become [`steps`]: nothing that others may see happens before the
//! lines written ahead of it are on disk.
//!
//! Reading order: `input` → `steps` → `effects` → `reports` (what sessions tell) →
//! `requests`, `spawning`, `waits`, `broker` (requests of callers) → `loading` → `restore`.
//!
//! Deliberately absent: decisions about the tree (they are in [`crate::tree`]), how a turn
//! runs, provider names, rendering.

mod arrivals;
mod births;
mod broker;
mod effects;
mod foreign;
mod fork_rights;
mod handle;
mod host;
pub(crate) mod input;
mod lines;
mod loading;
mod lost;
mod member;
mod notices;
mod plantings;
mod reconfigured;
mod reports;
mod requests;
mod restore;
mod results;
mod review;
mod settings;
mod spawning;
mod standing;
mod steps;
mod timers;
mod views;
mod waits;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use troupe_engine::{Orders, Vitals};
use troupe_protocol::agent::AgentStatus;
use troupe_protocol::discard;
use troupe_protocol::result::TaskResult;
use troupe_protocol::session::TurnContext;
use troupe_protocol::tree::{AgentMessage, MessageId, TimeMs};
use troupe_protocol::{AgentId, SessionId, SubmissionId};

pub use arrivals::{Arrival, Arrivals};
pub(crate) use fork_rights::SourceRights;
pub use handle::{Agents, Options, Recovery};
pub(crate) use host::Membership;
pub(crate) use plantings::Announcer;
pub use plantings::Plantings;
pub(crate) use settings::{KeptIn, KeptSettings};
pub use settings::{SettingsReader, TreeSettings};

use arrivals::Listeners;
use births::Births;
use broker::Broker;
use handle::Shared;
use input::Input;
use member::Member;
use steps::Steps;
use waits::Waits;

use crate::limits::SWEEP_INTERVAL;
use crate::tree::Tree;
use crate::tree::command::{Command, Report, What};
use crate::watchdog::Watchdogs;

#[derive(Debug)]
pub(crate) struct Supervisor {
    shared: Arc<Shared>,
    inputs: mpsc::UnboundedReceiver<Input>,
    tree: Tree,
    /// The root's session and the way to it.
    root: Root,
    /// Boxed: the map grows at its end, which leaves its nodes half empty.
    members: BTreeMap<AgentId, Box<Member>>,
    /// Sessions that were loaded only to have a line written.
    visitors: BTreeSet<AgentId>,
    births: Births,
    /// How those stood who are lost, when the root's log told of them last.
    last_told: BTreeMap<AgentId, AgentStatus>,
    /// Who was cut off when the engine stopped, and whose parents are to be told.
    cut_off: BTreeSet<AgentId>,
    /// What tasks had come to that the engine did not survive.
    salvaged: BTreeMap<AgentId, TaskResult>,
    /// What the messages say that wait in inboxes.
    mail: HashMap<MessageId, AgentMessage>,
    steps: Steps,
    waits: Waits,
    broker: Broker,
    watchdogs: Watchdogs,
    /// What the root's model is told at its next task of agents that its history names and its
    /// tree does not have.
    foreign: Option<String>,
    /// Ends that parents were told of without their results.
    ends_told: BTreeSet<MessageId>,
    /// Subscribers to children as they work.
    listeners: Listeners,
    quiet_waiters: Vec<oneshot::Sender<()>>,
    state: State,
}

/// The root as the supervisor knows it.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    pub session: SessionId,
    /// Whose history it began with.
    pub forked_from: Option<SessionId>,
    pub orders: Orders,
    /// Its settings when it was opened.
    pub context: TurnContext,
    pub vitals: Vitals,
}

#[derive(Debug)]
enum State {
    Running,
    /// Every task is being ended; the waiting one is told when that is done.
    Closing(Vec<oneshot::Sender<()>>),
    /// A line was not written: what is in memory is ahead of the logs, so nothing more is
    /// done. After a restart the logs speak.
    Broken,
}

impl Supervisor {
    pub(crate) fn new(
        shared: Arc<Shared>,
        inputs: mpsc::UnboundedReceiver<Input>,
        root: Root,
    ) -> Self {
        Self {
            tree: Tree::empty(shared.settings().tree().limits),
            shared,
            inputs,
            root,
            members: BTreeMap::new(),
            visitors: BTreeSet::new(),
            births: Births::default(),
            last_told: BTreeMap::new(),
            cut_off: BTreeSet::new(),
            salvaged: BTreeMap::new(),
            mail: HashMap::new(),
            steps: Steps::default(),
            waits: Waits::default(),
            broker: Broker::default(),
            watchdogs: Watchdogs::default(),
            foreign: None,
            ends_told: BTreeSet::new(),
            listeners: Listeners::default(),
            quiet_waiters: Vec::new(),
            state: State::Running,
        }
    }

    /// Runs until the root is gone and every child's session has ended.
    pub(crate) async fn run(mut self, first: Option<SubmissionId>) {
        self.wake_up(first).await;
        let mut sweeps = interval_at(Instant::now() + SWEEP_INTERVAL, SWEEP_INTERVAL);
        sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.settle();
            if self.is_over() {
                return;
            }
            let input = self.next_input(&mut sweeps).await;
            self.handle(input);
        }
    }

    /// Takes up an older tree, or plants a new one below the root's running task.
    async fn wake_up(&mut self, first: Option<SubmissionId>) {
        if self.shared.has_history() {
            self.restore().await;
        } else {
            self.plant();
        }
        self.keep_settings(None);
        if let Some(task) = first {
            let message = None;
            let report = Report::Started { task, message };
            self.tell_tree(AgentId::ROOT, report);
        }
    }

    fn plant(&mut self) {
        let effects = self.tree.plant(self.root.session, self.now());
        self.perform(effects, lines::Contents::default());
    }

    async fn next_input(&mut self, sweeps: &mut Interval) -> Input {
        let due = self.watchdogs.next_due();
        let now = self.now().0;
        let watchdog = async {
            match due {
                Some(due) => {
                    let ms = u64::try_from(due - now).unwrap_or(0);
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            input = self.inputs.recv() => input.unwrap_or(Input::RootGone),
            () = watchdog => Input::WatchdogDue,
            _ = sweeps.tick() => Input::Sweep,
        }
    }

    fn handle(&mut self, input: Input) {
        match input {
            Input::Request(request) => self.request(request),
            Input::Report(report) => self.report(report),
            Input::Written { ticket, fate } => self.written(ticket, fate),
            Input::Opened { agent, opened } => self.opened(agent, opened),
            Input::Loaded { agent, outcome } => self.loaded(agent, outcome),
            Input::Unloaded { agent } => self.unloaded(agent),
            Input::WaitOver { wait, why } => self.wait_over(wait, why),
            Input::WatchdogDue => self.ping(),
            Input::Sweep => self.sweep(),
            Input::Reconfigured => self.reconfigured(),
            Input::Close { done } => self.close(Some(done)),
            Input::RootGone => self.close(None),
        }
    }

    /// Applies a command whose refusal nobody waits for.
    fn drive(&mut self, what: What) {
        let at = self.now();
        match self.tree.apply(Command { at, what }) {
            Ok(effects) => self.perform(effects, lines::Contents::default()),
            Err(refusal) => {
                tracing::debug!(%refusal, "the tree refuses a command that nobody waits for");
            }
        }
    }

    fn tell_tree(&mut self, agent: AgentId, report: Report) {
        self.drive(What::Report { agent, report });
    }

    fn sweep(&mut self) {
        if matches!(self.state, State::Running) {
            self.drive(What::Sweep);
        }
    }

    /// Ends every task and every child's session, so that they can be resumed.
    fn close(&mut self, done: Option<oneshot::Sender<()>>) {
        match &mut self.state {
            State::Closing(waiting) => waiting.extend(done),
            State::Running => {
                tracing::info!("the tree closes");
                self.state = State::Closing(done.into_iter().collect());
                self.drive(What::Suspend);
            }
            State::Broken => {
                tracing::info!("the tree closes, broken as it is");
                self.state = State::Closing(done.into_iter().collect());
                self.drop_all_sessions();
            }
        }
    }

    /// Does what may have become possible by the last input.
    fn settle(&mut self) {
        self.run_steps();
        self.see_visitors_off();
        if !self.quiet_waiters.is_empty() && self.is_quiet() {
            for waiter in self.quiet_waiters.drain(..) {
                // Whoever asked may have stopped waiting.
                discard!(waiter.send(()), "nobody waits for the answer");
            }
        }
        if matches!(self.state, State::Closing(_)) && self.tasks_are_over() {
            self.unload_all();
        }
    }

    /// Tells whether nothing runs, and nothing is about to. A broken tree does nothing more.
    fn is_quiet(&self) -> bool {
        matches!(self.state, State::Broken) || (self.tree.is_quiet() && self.steps.is_empty())
    }

    /// The root's own task is the business of whoever closes the tree.
    fn tasks_are_over(&self) -> bool {
        let children = self.members.keys();
        let running = children
            .filter(|agent| self.tree.task_in_flight(**agent).is_some())
            .count();
        running == 0 && self.steps.is_empty()
    }

    fn is_over(&mut self) -> bool {
        let State::Closing(waiting) = &mut self.state else {
            return false;
        };
        if self.members.values().any(|member| member.is_present()) {
            return false;
        }
        for done in waiting.drain(..) {
            // Whoever closed the tree may have gone itself.
            discard!(done.send(()), "nobody waits for the answer");
        }
        true
    }

    fn now(&self) -> TimeMs {
        TimeMs(self.shared.clock.now_ms())
    }
}
