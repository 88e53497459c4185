//! Workloads of the benchmark, and the directories that they run in.

use std::io;
use std::path::PathBuf;

use tempfile::TempDir;
use troupe_mock_model::{MockServer, Screenplay};
use troupe_protocol::SessionId;

use crate::app_server::{AppServerClient, ClientWorkload, WAVES};
use crate::fixtures;
use crate::followers::drive_session;
use crate::measure::{ProcessCost, measure, measure_talk, measure_until};
use crate::script::{
    ANSWER, BIRTHS, CHILDREN, DELTAS, FEW_CHILDREN, KEEP_SILENT, PLAN_AGAIN_AND_AGAIN, REMEMBER,
    SHELL_CALLS, SILENT_SECONDS, SPAWN_ONE_BY_ONE, WORK, screenplay, spawn_prompt,
};
use crate::subject::{BenchSubject, CommandRights};

pub const ROLLOUT_MEGABYTES: u32 = 60;

/// Turns of the one thread, and threads at once; ten times as many follow.
const APP_TURNS: u32 = 100;
pub const APP_THREADS: u32 = 50;

/// Room for all that the parent of the largest fan-out hears.
const WINDOW_TOKENS: u32 = 10_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchWorkload {
    Version,
    Turn,
    FirstCall,
    Shell,
    Sandboxed,
    Deltas,
    Resume,
    Reindex,
    /// Words that are looked for in the logs of all sessions.
    Search,
    /// A command in a large work tree, which is looked at before it runs and after.
    Snapshot(SnapshotRound),
    /// A child that answers at once, and its parent waits for it.
    Child,
    /// Calls that do nothing, one after the other.
    Plans,
    /// Children in their place, which get no answer from their model.
    Births,
    /// Children that do real work.
    Children,
    /// A child that is silent, and its parent waits for it.
    Waiting,
    /// So many children that answer at once, and their parent is told of each.
    FanOut(u32),
    /// Children that have much to remember: how many, and how many of them stay in memory.
    Crowd(u32, u32),
    /// Text over a socket, with so many clients that follow beside the one that drives.
    Followers(u32),
    /// What clients ask of an app-server.
    App(ClientWorkload),
}

/// Whether a work tree has been looked at before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotRound {
    First,
    Later,
}

/// The scripted model and the directories that a run needs.
pub struct BenchStage {
    server: MockServer,
    dir: TempDir,
    long_session: SessionId,
}

impl BenchWorkload {
    pub const ALL: [Self; 28] = [
        Self::Version,
        Self::Turn,
        Self::FirstCall,
        Self::Shell,
        Self::Sandboxed,
        Self::Deltas,
        Self::Resume,
        Self::Reindex,
        Self::Search,
        Self::Snapshot(SnapshotRound::First),
        Self::Snapshot(SnapshotRound::Later),
        Self::Child,
        Self::Plans,
        Self::Births,
        Self::Children,
        Self::Waiting,
        Self::FanOut(FEW_CHILDREN),
        Self::FanOut(500),
        Self::FanOut(1_000),
        Self::Crowd(100, 64),
        Self::Crowd(1_000, 64),
        Self::Crowd(1_000, 1_000),
        Self::Followers(0),
        Self::Followers(100),
        Self::App(ClientWorkload::FirstEvent),
        Self::App(ClientWorkload::Turns(APP_TURNS)),
        Self::App(ClientWorkload::Threads(APP_THREADS)),
        Self::App(ClientWorkload::Threads(10 * APP_THREADS)),
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::Turn => "turn",
            Self::FirstCall => "call",
            Self::Shell => "shell",
            Self::Sandboxed => "sandbox",
            Self::Deltas => "deltas",
            Self::Resume => "resume",
            Self::Reindex => "reindex",
            Self::Search => "search",
            Self::Snapshot(_) => "undo",
            Self::Child => "child",
            Self::Plans | Self::Births => "spawn",
            Self::Children => "children",
            Self::Waiting => "wait",
            Self::FanOut(_) => "fanout",
            Self::Crowd(..) => "crowd",
            Self::Followers(_) => "followers",
            Self::App(_) => "app",
        }
    }

    pub fn title(self) -> String {
        let fixed = match self {
            Self::Version => "--version",
            Self::Turn => "one headless turn, cold",
            Self::FirstCall => "a turn with one shell call",
            Self::Shell => "50 sequential shell calls",
            Self::Sandboxed => "the same, sandboxed",
            Self::Deltas => "20,000 text deltas",
            Self::Resume => "resume of a 60 MB rollout",
            Self::Reindex => "index of 60 MB rebuilt",
            Self::Search => "search of 200 MB of rollouts",
            Self::Snapshot(SnapshotRound::First) => "a call that writes, 100,000 files",
            Self::Snapshot(SnapshotRound::Later) => "the same, the next time",
            Self::Child => "a turn with one child",
            Self::Plans => "100 calls that do nothing",
            Self::Births => "100 spawns to the child's request",
            Self::Children => "16 children, 3 shell calls each",
            Self::Waiting => "a wait of 10 s for a silent child",
            Self::FanOut(children) => return format!("{children} children and callbacks"),
            Self::Crowd(children, resident) => {
                return format!("{children} x 20 turns, {resident} in memory");
            }
            Self::Followers(count) => return format!("20,000 deltas, {count} followers"),
            Self::App(ClientWorkload::FirstEvent) => "app-server, to the first event",
            Self::App(ClientWorkload::Turns(count)) => {
                return format!("{count} turns of one thread");
            }
            Self::App(ClientWorkload::Threads(count)) => {
                return format!("{WAVES} waves of {count} threads");
            }
        };
        fixed.to_owned()
    }

    /// How often it is measured at most: what is long is even.
    pub fn runs_max(self) -> usize {
        match self {
            Self::Waiting | Self::FanOut(_) | Self::Crowd(..) => 1,
            Self::App(ClientWorkload::Threads(count)) if count > APP_THREADS => 1,
            _ => usize::MAX,
        }
    }

    /// How many more of the smallest things a run consists of than the workload it is
    /// compared with, their name, and that workload.
    pub fn units(self) -> Option<(u32, &'static str, Self)> {
        match self {
            // The first call of a session also captures the user's login environment.
            Self::Shell | Self::Sandboxed => Some((SHELL_CALLS - 1, "call", Self::FirstCall)),
            Self::Deltas => Some((DELTAS, "delta", Self::Turn)),
            Self::Child => Some((1, "child", Self::Turn)),
            Self::Births => Some((BIRTHS, "spawn", Self::Plans)),
            Self::Children => Some((CHILDREN, "child", Self::Turn)),
            // Before the command and after the turn.
            Self::Snapshot(_) => Some((2, "look", Self::FirstCall)),
            Self::Waiting => Some((SILENT_SECONDS, "second", Self::Child)),
            Self::FanOut(children) => Some((children, "child", Self::Turn)),
            Self::App(ClientWorkload::Turns(count)) => {
                Some((count - 1, "turn", Self::App(ClientWorkload::FirstEvent)))
            }
            Self::App(ClientWorkload::Threads(count)) => {
                Some((count * WAVES, "turn", Self::App(ClientWorkload::FirstEvent)))
            }
            Self::App(ClientWorkload::FirstEvent)
            | Self::Version
            | Self::Turn
            | Self::FirstCall
            | Self::Resume
            | Self::Reindex
            | Self::Search
            | Self::Plans
            | Self::Crowd(..)
            | Self::Followers(_) => None,
        }
    }

    /// Returns why another program cannot be measured with this.
    pub fn not_for(self, subject: &BenchSubject) -> Option<&'static str> {
        match self {
            Self::Resume | Self::Reindex | Self::Search if !subject.is_troupe() => {
                Some("the stored session is one of ours")
            }
            Self::Snapshot(_) if !subject.is_troupe() => Some("it takes no snapshots of files"),
            Self::Plans
            | Self::Births
            | Self::Child
            | Self::Children
            | Self::Waiting
            | Self::FanOut(_)
            | Self::Crowd(..)
                if !subject.is_troupe() =>
            {
                Some("the screenplay names children as we do")
            }
            Self::Followers(_) if !subject.is_troupe() => Some("it has no socket to follow by"),
            Self::App(ClientWorkload::Threads(count))
                if count > APP_THREADS && !subject.is_troupe() =>
            {
                Some("whether ours stays linear is the question")
            }
            _ => None,
        }
    }

    pub fn run(
        self,
        stage: &BenchStage,
        subject: &BenchSubject,
        runtime: &tokio::runtime::Runtime,
    ) -> io::Result<ProcessCost> {
        // The server answers on the runtime's own thread while this one waits.
        let _entered = runtime.enter();
        match self {
            Self::Version => measure(&mut subject.version(), ""),
            Self::Turn => stage.exec(subject, "say hello", CommandRights::Everything),
            Self::FirstCall => stage.exec(subject, "run one command", CommandRights::Everything),
            Self::Shell => stage.exec(subject, "run commands", CommandRights::Everything),
            Self::Sandboxed => stage.exec(subject, "run commands", CommandRights::Workspace),
            Self::Deltas => stage.exec(subject, "talk at length", CommandRights::Everything),
            Self::Resume => stage.resume(subject),
            Self::Reindex => stage.reindex(subject),
            Self::Search => {
                let library = runtime.block_on(fixtures::library(stage.dir.path()));
                measure(&mut subject.search(&library?, fixtures::NEEDLE), "")
            }
            Self::Snapshot(look) => stage.snapshot(subject, look),
            Self::Child => stage.spawn(subject, 1, ANSWER, 64),
            Self::Plans => stage.one_by_one(subject, PLAN_AGAIN_AND_AGAIN, BIRTHS + 1),
            Self::Births => stage.one_by_one(subject, SPAWN_ONE_BY_ONE, 2 * BIRTHS + 1),
            Self::Children => stage.spawn(subject, CHILDREN, WORK, 64),
            Self::Waiting => stage.spawn(subject, 1, KEEP_SILENT, 64),
            Self::FanOut(children) => stage.spawn(subject, children, ANSWER, 64),
            Self::Crowd(children, resident) => stage.spawn(subject, children, REMEMBER, resident),
            Self::Followers(count) => stage.followed(subject, count),
            Self::App(errand) => stage.office(subject, errand),
        }
    }
}

impl BenchStage {
    pub async fn set_up() -> Result<Self, Box<dyn std::error::Error>> {
        let screenplay: Screenplay = screenplay().parse()?;
        let server = MockServer::start(screenplay, ([127, 0, 0, 1], 0).into()).await?;
        let dir = TempDir::new()?;
        std::fs::create_dir(dir.path().join("work"))?;
        let home = dir.path().join("long");
        let long_session = fixtures::long_session(&home, ROLLOUT_MEGABYTES).await?;
        Ok(Self {
            server,
            dir,
            long_session,
        })
    }

    pub fn address(&self) -> std::net::SocketAddr {
        self.server.addr()
    }

    pub fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    pub fn url(&self) -> String {
        self.server.base_url()
    }

    pub fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Makes a home that stays until the bench is over. A file system that has just deleted
    /// many files looks at the place of each before it makes a new one, and that time would
    /// count as ours.
    pub fn new_home(&self) -> io::Result<PathBuf> {
        TempDir::new_in(self.dir.path()).map(TempDir::keep)
    }

    fn exec(
        &self,
        subject: &BenchSubject,
        prompt: &str,
        rights: CommandRights,
    ) -> io::Result<ProcessCost> {
        let home = self.new_home()?;
        let url = self.server.base_url();
        let mut command = subject.exec(&url, &home, &self.work(), rights);
        measure(&mut command, prompt)
    }

    /// A parent that makes children, within limits that leave room for them.
    fn spawn(
        &self,
        subject: &BenchSubject,
        children: u32,
        message: &str,
        resident: u32,
    ) -> io::Result<ProcessCost> {
        let home = self.new_home()?;
        let url = self.server.base_url();
        let mut command = subject.exec(&url, &home, &self.work(), CommandRights::Everything);
        let limits = [
            ("max_agents", children + 1),
            ("max_spawns_per_minute", children),
            ("max_resident", resident),
        ];
        for (key, value) in limits {
            command.args(["-c", &format!("agents.{key}={value}")]);
        }
        // What a thousand children are made with fills a usual window, and no scene has a
        // turn for a summary.
        command.args(["-c", &format!("model_context_window={WINDOW_TOKENS}")]);
        let sent = self.server.request_bytes();
        let cost = measure(&mut command, &spawn_prompt(children, message))?;
        Ok(ProcessCost {
            sent: self.server.request_bytes() - sent,
            ..cost
        })
    }

    /// A run that is over when its last request has come.
    fn one_by_one(
        &self,
        subject: &BenchSubject,
        prompt: &str,
        requests: u32,
    ) -> io::Result<ProcessCost> {
        let home = self.new_home()?;
        let url = self.server.base_url();
        let mut command = subject.exec(&url, &home, &self.work(), CommandRights::Everything);
        for key in ["max_threads", "max_spawns_per_minute"] {
            command.args(["-c", &format!("agents.{key}={BIRTHS}")]);
        }
        let until = self.server.request_count() + requests as usize;
        measure_until(&mut command, prompt, || {
            self.server.request_count() >= until
        })
    }

    /// The time is the driver's alone, from its question to the end of the answer.
    fn followed(&self, subject: &BenchSubject, followers: u32) -> io::Result<ProcessCost> {
        let home = self.new_home()?;
        let socket = home.join("bench.sock");
        let url = self.server.base_url();
        let mut command = subject.proto(&url, &home, &self.work(), &socket);
        let conducting = drive_session(socket, followers);
        let cost = measure(&mut command, "")?;
        let heard = conducting
            .join()
            .map_err(|_| io::Error::other("the driver panicked"))?;
        Ok(ProcessCost {
            wall: heard?,
            ..cost
        })
    }

    /// The time is the client's.
    fn office(&self, subject: &BenchSubject, errand: ClientWorkload) -> io::Result<ProcessCost> {
        let home = self.new_home()?;
        let url = self.server.base_url();
        let mut command = subject.app_server(&url, &home, &self.work());
        measure_talk(&mut command, |to, from| {
            AppServerClient::new(to, from).run(errand, &self.work())
        })
    }

    fn resume(&self, subject: &BenchSubject) -> io::Result<ProcessCost> {
        let home = self.dir.path().join("long");
        let url = self.server.base_url();
        let mut command = subject.exec(&url, &home, &self.work(), CommandRights::Everything);
        command.args(["resume", &self.long_session.to_string()]);
        measure(&mut command, "say hello")
    }

    /// Each run has a home of its own, so each takes its first look at the tree, unless
    /// another run in that home comes before.
    fn snapshot(&self, subject: &BenchSubject, look: SnapshotRound) -> io::Result<ProcessCost> {
        let home = self.new_home()?;
        let forest = fixtures::forest(self.dir.path())?;
        let url = self.server.base_url();
        let run = || {
            let mut command = subject.exec(&url, &home, &forest, CommandRights::Everything);
            measure(&mut command, "write one file")
        };
        match look {
            SnapshotRound::First => run(),
            SnapshotRound::Later => run().and_then(|_| run()),
        }
    }

    fn reindex(&self, subject: &BenchSubject) -> io::Result<ProcessCost> {
        measure(&mut subject.reindex(&self.dir.path().join("long")), "")
    }
}
