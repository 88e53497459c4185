//! What is measured, and the stage it is played on.

use std::io;
use std::path::PathBuf;

use tempfile::TempDir;
use troupe_model::scripted::{MockServer, Screenplay};
use troupe_protocol::history::ResponseItem;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_protocol::rollout::{CarriedState, Compacted, RolloutRecord, SessionMeta};
use troupe_protocol::session::{SessionSource, TurnContext};
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{SessionId, rollout};
use troupe_store::{EmbeddedStore, Store as _};

use super::measure::{Cost, measure};
use super::subject::{Rights, Subject};

pub const SHELL_CALLS: u32 = 50;
pub const DELTAS: u32 = 20_000;
pub const ROLLOUT_MEGABYTES: u32 = 60;
const TURNS_AFTER_COMPACTION: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    Version,
    Turn,
    FirstCall,
    Shell,
    Sandboxed,
    Deltas,
    Resume,
    Reindex,
}

/// The scripted model and the directories that a run needs.
pub struct Stage {
    server: MockServer,
    dir: TempDir,
    long_session: SessionId,
}

impl Workload {
    pub const ALL: [Self; 8] = [
        Self::Version,
        Self::Turn,
        Self::FirstCall,
        Self::Shell,
        Self::Sandboxed,
        Self::Deltas,
        Self::Resume,
        Self::Reindex,
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
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Version => "--version",
            Self::Turn => "one headless turn, cold",
            Self::FirstCall => "a turn with one shell call",
            Self::Shell => "50 sequential shell calls",
            Self::Sandboxed => "the same, sandboxed",
            Self::Deltas => "20,000 text deltas",
            Self::Resume => "resume of a 60 MB rollout",
            Self::Reindex => "index of 60 MB rebuilt",
        }
    }

    /// How many more of the smallest things a run consists of than the workload it is
    /// compared with, their name, and that workload.
    pub fn units(self) -> Option<(u32, &'static str, Self)> {
        match self {
            // The first call of a session also captures the user's login environment.
            Self::Shell | Self::Sandboxed => Some((SHELL_CALLS - 1, "call", Self::FirstCall)),
            Self::Deltas => Some((DELTAS, "delta", Self::Turn)),
            Self::Version | Self::Turn | Self::FirstCall | Self::Resume | Self::Reindex => None,
        }
    }

    /// Returns why another program cannot be measured with this.
    pub fn not_for(self, subject: &Subject) -> Option<&'static str> {
        match self {
            Self::Resume | Self::Reindex if !subject.is_troupe() => {
                Some("the stored session is one of ours")
            }
            _ => None,
        }
    }

    pub fn run(
        self,
        stage: &Stage,
        subject: &Subject,
        runtime: &tokio::runtime::Runtime,
    ) -> io::Result<Cost> {
        // The server answers on the runtime's own thread while this one waits.
        let _entered = runtime.enter();
        match self {
            Self::Version => measure(&mut subject.version(), ""),
            Self::Turn => stage.exec(subject, "say hello", Rights::Everything),
            Self::FirstCall => stage.exec(subject, "run one command", Rights::Everything),
            Self::Shell => stage.exec(subject, "run commands", Rights::Everything),
            Self::Sandboxed => stage.exec(subject, "run commands", Rights::Workspace),
            Self::Deltas => stage.exec(subject, "talk at length", Rights::Everything),
            Self::Resume => stage.resume(subject),
            Self::Reindex => stage.reindex(subject),
        }
    }
}

impl Stage {
    pub async fn set_up() -> Result<Self, Box<dyn std::error::Error>> {
        let screenplay: Screenplay = screenplay().parse()?;
        let server = MockServer::start(screenplay, ([127, 0, 0, 1], 0).into()).await?;
        let dir = TempDir::new()?;
        std::fs::create_dir(dir.path().join("work"))?;
        let long_session = long_session(&dir.path().join("long")).await?;
        Ok(Self {
            server,
            dir,
            long_session,
        })
    }

    pub fn address(&self) -> std::net::SocketAddr {
        self.server.addr()
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    fn exec(&self, subject: &Subject, prompt: &str, rights: Rights) -> io::Result<Cost> {
        let home = TempDir::new_in(self.dir.path())?;
        let url = self.server.base_url();
        let mut command = subject.exec(&url, home.path(), &self.work(), rights);
        measure(&mut command, prompt)
    }

    fn resume(&self, subject: &Subject) -> io::Result<Cost> {
        let home = self.dir.path().join("long");
        let url = self.server.base_url();
        let mut command = subject.exec(&url, &home, &self.work(), Rights::Everything);
        command.args(["resume", &self.long_session.to_string()]);
        measure(&mut command, "say hello")
    }

    fn reindex(&self, subject: &Subject) -> io::Result<Cost> {
        measure(&mut subject.reindex(&self.dir.path().join("long")), "")
    }
}

fn screenplay() -> String {
    const CALL: &str =
        "[[scene.turn]]\nsteps = [{ call = \"exec_command\", arguments = { cmd = \"true\" } }]\n";
    const HELLO: &str = "[[scene.turn]]\nsteps = [{ say = \"hello\" }]\n";
    let calls = CALL.repeat(SHELL_CALLS as usize);
    // A session that is resumed again and again plays on in its scene.
    let hellos = HELLO.repeat(1_000);
    format!(
        "[[scene]]\nwhen = \"run commands\"\n{calls}{HELLO}\
         [[scene]]\nwhen = \"run one command\"\n{CALL}{HELLO}\
         [[scene]]\nwhen = \"talk at length\"\n[[scene.turn]]\n\
         steps = [{{ say = \"word \", deltas = {DELTAS} }}]\n\
         [[scene]]\n{hellos}"
    )
}

/// Writes a session of 60 MB whose last compaction lies 50 turns before its end.
async fn long_session(home: &std::path::Path) -> Result<SessionId, Box<dyn std::error::Error>> {
    let store = EmbeddedStore::open(home)?;
    let context = TurnContext {
        cwd: home.to_owned(),
        approval_policy: ApprovalPolicy::Never,
        sandbox_policy: SandboxPolicy::DangerFullAccess,
        model: "bench-model".to_owned(),
        effort: None,
        summary: troupe_protocol::policy::ReasoningSummary::default(),
        collaboration_mode: troupe_protocol::policy::CollaborationMode::default(),
        personality: None,
    };
    let meta = SessionMeta {
        id: SessionId::random(),
        timestamp: "2026-01-01T00:00:00.000Z".to_owned(),
        cwd: home.to_owned(),
        originator: "bench".to_owned(),
        cli_version: env!("CARGO_PKG_VERSION").to_owned(),
        source: SessionSource::Exec,
        model_provider: "bench".to_owned(),
        forked_from_id: None,
        base_instructions: None,
        git: None,
    };
    let mut log = store.create(&meta).await?;
    let turn = |words: usize| {
        [
            RolloutRecord::ResponseItem(ResponseItem::user_text("please go on")),
            RolloutRecord::ResponseItem(ResponseItem::assistant_text("many words ".repeat(words))),
        ]
    };
    let old = turn(1_000);
    while log.position().0 < u64::from(ROLLOUT_MEGABYTES) * 1024 * 1024 {
        log.append(&old)?;
    }
    log.append(&[
        RolloutRecord::Compacted(Box::new(Compacted {
            message: "what happened before".to_owned(),
            replacement_history: vec![ResponseItem::user_text("what happened before")],
            carried: CarriedState {
                turn_context: context.clone(),
                total_token_usage: TokenUsage::default(),
                seq_reserved_until: 0,
                thread_name: None,
                thread_note: None,
                last_response_id: None,
                has_agents: false,
            },
        })),
        rollout::RolloutRecord::TurnContext(context),
    ])?;
    for _ in 0..TURNS_AFTER_COMPACTION {
        log.append(&turn(100))?;
    }
    log.close().await?;
    Ok(meta.id)
}
