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
//! Everything that can happen is an [`SupervisorInput`]. A session may wait for the supervisor; the
//! supervisor never waits for a session: it gives orders, and what comes of them is the
//! next input. Effects become steps (`step_queue`): nothing that others may see happens before the
//! lines written ahead of it are on disk.
//!
//! What it knows has owners of its own: `members` (the children and the way to their sessions),
//! `mail` (what waiting messages say), `step_queue` (what waits for the disk), `waits`, `broker`,
//! `unheard_news` (what models are told next).
//!
//! Reading order: `input` → `step_queue` → `effects` → `fact_lines` → `reports` (what sessions tell)
//! → `requests`, `spawning`, `waits`, `broker` (requests of callers) → `loading` → `restore`.
//!
//! Deliberately absent: decisions about the tree (they are in [`crate::tree`]), how a turn
//! runs, provider names, rendering.

mod arrivals;
mod broker;
mod children_summary;
mod effects;
mod fact_lines;
mod foreign;
mod fork_rights;
mod handle;
mod host;
pub(crate) mod input;
mod loading;
mod lost_agents;
mod mail;
mod member;
mod members;
mod new_trees;
mod notices;
mod reconfiguration;
mod reports;
mod requests;
mod restore;
mod results;
mod review;
mod settings;
mod spawning;
mod step_queue;
mod task_children;
mod timers;
mod unheard_news;
mod views;
mod waits;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use troupe_engine::{ActivityHandle, OrderSender};
use troupe_protocol::result::TaskResult;
use troupe_protocol::session::TurnContext;
use troupe_protocol::tree::TimeMs;
use troupe_protocol::{AgentId, SessionId, SubmissionId, discard};

pub use arrivals::{ChildArrival, ChildArrivals};
pub(crate) use fork_rights::SourceRights;
pub use handle::{RecoveryPolicy, TreeHandle, TreeOptions};
pub(crate) use host::TreeMembership;
pub(crate) use new_trees::NewTreeSender;
pub use new_trees::NewTrees;
pub(crate) use settings::{KeptSettings, SettingsLog};
pub use settings::{SettingsReader, TreeSettings};

use arrivals::ArrivalListeners;
use broker::QuestionBroker;
use handle::SharedTree;
use input::SupervisorInput;
use mail::MailContents;
use members::TreeMembers;
use step_queue::StepQueue;
use task_children::TaskChildren;
use unheard_news::UnheardNews;
use waits::PendingWaits;

use crate::limits::SWEEP_INTERVAL;
use crate::watchdog::WatchdogTimers;
use troupe_tree::Tree;
use troupe_tree::command::{TaskReport, TreeAction, TreeCommand};

#[derive(Debug)]
pub(crate) struct Supervisor {
    shared: Arc<SharedTree>,
    inputs: mpsc::UnboundedReceiver<SupervisorInput>,
    tree: Tree,
    /// The root's session and the way to it.
    root: TreeRoot,
    members: TreeMembers,
    births: TaskChildren,
    /// What tasks had come to that the engine did not survive.
    salvaged: BTreeMap<AgentId, TaskResult>,
    mail: MailContents,
    news: UnheardNews,
    steps: StepQueue,
    waits: PendingWaits,
    broker: QuestionBroker,
    watchdogs: WatchdogTimers,
    /// Subscribers to children as they work.
    listeners: ArrivalListeners,
    quiet_waiters: Vec<oneshot::Sender<()>>,
    state: SupervisorState,
}

/// The root as the supervisor knows it.
#[derive(Debug, Clone)]
pub(crate) struct TreeRoot {
    pub session: SessionId,
    /// Whose history it began with.
    pub forked_from: Option<SessionId>,
    pub orders: OrderSender,
    /// Its settings when it was opened.
    pub context: TurnContext,
    pub vitals: ActivityHandle,
}

#[derive(Debug)]
enum SupervisorState {
    Running,
    /// Every task is being ended; the waiting one is told when that is done.
    Closing(Vec<oneshot::Sender<()>>),
    /// A line was not written: what is in memory is ahead of the logs, so nothing more is
    /// done. After a restart the logs speak.
    Broken,
}

impl Supervisor {
    pub(crate) fn new(
        shared: Arc<SharedTree>,
        inputs: mpsc::UnboundedReceiver<SupervisorInput>,
        root: TreeRoot,
    ) -> Self {
        Self {
            tree: Tree::empty(shared.settings().tree().limits),
            shared,
            inputs,
            root,
            members: TreeMembers::default(),
            births: TaskChildren::default(),
            salvaged: BTreeMap::new(),
            mail: MailContents::default(),
            news: UnheardNews::default(),
            steps: StepQueue::default(),
            waits: PendingWaits::default(),
            broker: QuestionBroker::default(),
            watchdogs: WatchdogTimers::default(),
            listeners: ArrivalListeners::default(),
            quiet_waiters: Vec::new(),
            state: SupervisorState::Running,
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
            let report = TaskReport::Started { task, message };
            self.tell_tree(AgentId::ROOT, report);
        }
    }

    fn plant(&mut self) {
        let effects = self.tree.plant(self.root.session, self.now());
        self.perform(effects, fact_lines::FactContents::default());
    }

    async fn next_input(&mut self, sweeps: &mut Interval) -> SupervisorInput {
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
            input = self.inputs.recv() => input.unwrap_or(SupervisorInput::RootGone),
            () = watchdog => SupervisorInput::WatchdogDue,
            _ = sweeps.tick() => SupervisorInput::Sweep,
        }
    }

    fn handle(&mut self, input: SupervisorInput) {
        match input {
            SupervisorInput::Request(request) => self.request(request),
            SupervisorInput::Report(report) => self.report(report),
            SupervisorInput::Written { ticket, fate } => self.written(ticket, fate),
            SupervisorInput::Opened { agent, opened } => self.opened(agent, opened),
            SupervisorInput::Loaded { agent, outcome } => self.loaded(agent, outcome),
            SupervisorInput::Unloaded { agent } => self.unloaded(agent),
            SupervisorInput::WaitOver { wait, why } => self.wait_over(wait, why),
            SupervisorInput::WatchdogDue => self.ping(),
            SupervisorInput::Sweep => self.sweep(),
            SupervisorInput::Reconfigured => self.reconfigured(),
            SupervisorInput::Close { done } => self.close(Some(done)),
            SupervisorInput::RootGone => self.close(None),
        }
    }

    /// Applies a command whose refusal nobody waits for.
    fn drive(&mut self, what: TreeAction) {
        let at = self.now();
        match self.tree.apply(TreeCommand { at, what }) {
            Ok(effects) => self.perform(effects, fact_lines::FactContents::default()),
            Err(refusal) => {
                tracing::debug!(%refusal, "the tree refuses a command that nobody waits for");
            }
        }
    }

    fn tell_tree(&mut self, agent: AgentId, report: TaskReport) {
        self.drive(TreeAction::Report { agent, report });
    }

    fn sweep(&mut self) {
        if matches!(self.state, SupervisorState::Running) {
            self.drive(TreeAction::Sweep);
        }
    }

    /// Ends every task and every child's session, so that they can be resumed.
    fn close(&mut self, done: Option<oneshot::Sender<()>>) {
        match &mut self.state {
            SupervisorState::Closing(waiting) => waiting.extend(done),
            SupervisorState::Running => {
                tracing::info!("the tree closes");
                self.state = SupervisorState::Closing(done.into_iter().collect());
                self.drive(TreeAction::Suspend);
            }
            SupervisorState::Broken => {
                tracing::info!("the tree closes, broken as it is");
                self.state = SupervisorState::Closing(done.into_iter().collect());
                self.members.drop_all();
            }
        }
    }

    /// Does what may have become possible by the last input.
    fn settle(&mut self) {
        self.run_steps();
        if self.members.has_write_only() && self.steps.is_empty() {
            self.members.unload_write_only(&self.tree);
        }
        if !self.quiet_waiters.is_empty() && self.is_quiet() {
            for waiter in self.quiet_waiters.drain(..) {
                // Whoever asked may have stopped waiting.
                discard!(waiter.send(()), "nobody waits for the answer");
            }
        }
        if matches!(self.state, SupervisorState::Closing(_)) && self.tasks_are_over() {
            self.members.unload_all();
        }
    }

    /// Tells whether nothing runs, and nothing is about to. A broken tree does nothing more.
    fn is_quiet(&self) -> bool {
        matches!(self.state, SupervisorState::Broken)
            || (self.tree.is_quiet() && self.steps.is_empty())
    }

    /// The root's own task is the business of whoever closes the tree.
    fn tasks_are_over(&self) -> bool {
        let is_running = |agent| self.tree.task_in_flight(agent).is_some();
        !self.members.agents().any(is_running) && self.steps.is_empty()
    }

    fn is_over(&mut self) -> bool {
        let SupervisorState::Closing(waiting) = &mut self.state else {
            return false;
        };
        if self.members.any_present() {
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
