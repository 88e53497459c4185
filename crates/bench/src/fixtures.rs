//! Fixtures of the large workloads. They are made once, when they are first needed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use troupe_protocol::history::ResponseItem;
use troupe_protocol::input::UserInput;
use troupe_protocol::item::{TurnItem, UserMessageItem};
use troupe_protocol::policy::{ApprovalPolicy, CollaborationMode, ReasoningSummary, SandboxPolicy};
use troupe_protocol::rollout::{
    CarriedState, CompactionRecord, EventRecord, RolloutRecord, SessionMeta,
};
use troupe_protocol::session::{SessionSource, TurnContext};
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{EventMsg, ItemId, SessionId, SubmissionId};
use troupe_store::{EmbeddedStore, SessionStore as _};

/// Words that each long session holds once.
pub const NEEDLE: &str = "where is the needle";

const TURNS_AFTER_COMPACTION: usize = 50;

const LIBRARY_SESSIONS: u32 = 4;
const LIBRARY_SESSION_MEGABYTES: u32 = 50;

const FOREST_DIRECTORIES: u32 = 2_000;
const FOREST_FILES_EACH: u32 = 50;

/// Returns a home with 200 MB of rollouts.
pub async fn library(dir: &Path) -> io::Result<PathBuf> {
    let home = dir.join("library");
    if !home.exists() {
        for _ in 0..LIBRARY_SESSIONS {
            long_session(&home, LIBRARY_SESSION_MEGABYTES)
                .await
                .map_err(io::Error::other)?;
        }
    }
    Ok(home)
}

/// Returns a repository of 100,000 files, all of them committed.
pub fn forest(dir: &Path) -> io::Result<PathBuf> {
    let root = dir.join("forest");
    if root.exists() {
        return Ok(root);
    }
    for directory in 0..FOREST_DIRECTORIES {
        let directory = root.join(format!("d{directory}"));
        fs::create_dir_all(&directory)?;
        for file in 0..FOREST_FILES_EACH {
            let text = format!("{}\n", "some line of code ".repeat(20));
            fs::write(directory.join(format!("f{file}.txt")), text)?;
        }
    }
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "."],
        &["commit", "--quiet", "--message", "all"],
    ] {
        git(&root, arguments)?;
    }
    Ok(root)
}

/// Runs git on a repository that the bench has made.
fn git(root: &Path, arguments: &[&str]) -> io::Result<()> {
    let done = Command::new("git")
        .current_dir(root)
        .args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"])
        .args(["-c", "core.fsync=none", "-c", "gc.auto=0"])
        .args(arguments)
        .stdout(Stdio::null())
        .status()?;
    let failed = || io::Error::other(format!("git {} failed", arguments.join(" ")));
    done.success().then_some(()).ok_or_else(failed)
}

/// Writes a session whose last compaction lies 50 turns before its end.
pub async fn long_session(
    home: &Path,
    megabytes: u32,
) -> Result<SessionId, troupe_store::StoreError> {
    let store = EmbeddedStore::open(home)?;
    let context = turn_context(home);
    let meta = session_meta(home);
    let mut log = store.create(&meta).await?;
    let turn = |words: usize| {
        [
            RolloutRecord::ResponseItem(ResponseItem::user_text("please go on")),
            RolloutRecord::ResponseItem(ResponseItem::assistant_text("many words ".repeat(words))),
        ]
    };
    log.append(&[user_message_record(meta.id, NEEDLE)])?;
    let old = turn(1_000);
    while log.position().0 < u64::from(megabytes) * 1024 * 1024 {
        log.append(&old)?;
    }
    log.append(&[
        RolloutRecord::Compacted(Box::new(CompactionRecord {
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
                output_schema: None,
            },
        })),
        RolloutRecord::TurnContext(context),
    ])?;
    for _ in 0..TURNS_AFTER_COMPACTION {
        log.append(&turn(100))?;
    }
    log.close().await?;
    Ok(meta.id)
}

/// Returns what a session begins with.
pub fn session_meta(cwd: &Path) -> SessionMeta {
    SessionMeta {
        id: SessionId::random(),
        timestamp: "2026-01-01T00:00:00.000Z".to_owned(),
        cwd: cwd.to_owned(),
        originator: "bench".to_owned(),
        cli_version: env!("CARGO_PKG_VERSION").to_owned(),
        source: SessionSource::Exec,
        model_provider: "bench".to_owned(),
        forked_from_id: None,
        base_instructions: None,
        developer_instructions: None,
        personality: None,
        git: None,
        imported_from: None,
        dynamic_tools: Vec::new(),
    }
}

fn turn_context(cwd: &Path) -> TurnContext {
    TurnContext {
        cwd: cwd.to_owned(),
        approval_policy: ApprovalPolicy::Never,
        sandbox_policy: SandboxPolicy::DangerFullAccess,
        model: "bench-model".to_owned(),
        effort: None,
        summary: ReasoningSummary::default(),
        collaboration_mode: CollaborationMode::default(),
        mode_instructions: None,
        plan_writes: false,
        personality: None,
        developer_instructions: None,
    }
}

/// Returns what stands before the first message of a session.
pub fn first_records(cwd: &Path) -> Vec<RolloutRecord> {
    vec![RolloutRecord::TurnContext(turn_context(cwd))]
}

/// What a user said, as it is told to clients and looked for by people.
pub fn user_message_record(session: SessionId, text: &str) -> RolloutRecord {
    let item = TurnItem::UserMessage(UserMessageItem {
        id: ItemId("1".to_owned()),
        content: vec![UserInput::text(text)],
        metadata: None,
        client_id: None,
    });
    item_record(session, 1, item)
}

/// An item as it is told to clients.
pub fn item_record(session: SessionId, seq: u64, item: TurnItem) -> RolloutRecord {
    RolloutRecord::EventMsg(EventRecord {
        id: SubmissionId::default(),
        seq,
        msg: EventMsg::ItemCompleted {
            thread_id: session,
            turn_id: SubmissionId::default(),
            item,
            completed_at_ms: 0,
        },
    })
}
