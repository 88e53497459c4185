//! A home in a temporary directory, and records to put in it.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};

use tempfile::TempDir;
use troupe_protocol::event::EventMsg;
use troupe_protocol::policy::{ApprovalPolicy, CollaborationMode, ReasoningSummary, SandboxPolicy};
use troupe_protocol::rollout::{
    CarriedState, CompactionRecord, EventRecord, RewindReason, RewindRecord, RolloutRecord,
    SessionMeta,
};
use troupe_protocol::session::{SessionSource, TurnContext};
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{ResponseItem, SessionId};
use troupe_store::{EmbeddedStore, LiveHistory, LogPosition, StoreClock, UnixMillis};

/// 2026-11-16T04:48:00Z
pub const START: i64 = 1_794_804_480_000;

pub struct Home {
    pub dir: TempDir,
    pub store: EmbeddedStore,
}

impl Home {
    pub fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let store = EmbeddedStore::with_clock(dir.path(), ticking_clock()).unwrap();
        Self { dir, store }
    }

    /// The same directory as another process sees it.
    pub fn again(&self) -> EmbeddedStore {
        EmbeddedStore::with_clock(self.dir.path(), ticking_clock()).unwrap()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// Each look is a second later.
pub fn ticking_clock() -> StoreClock {
    let seconds = AtomicI64::new(0);
    StoreClock::new(move || UnixMillis(START + 1000 * seconds.fetch_add(1, Ordering::Relaxed)))
}

pub fn meta() -> SessionMeta {
    SessionMeta {
        id: SessionId::random(),
        timestamp: UnixMillis(START).to_string(),
        cwd: "/project".into(),
        originator: "test".into(),
        cli_version: "0.0.0".into(),
        source: SessionSource::Exec,
        model_provider: "scripted".into(),
        forked_from_id: None,
        base_instructions: None,
        developer_instructions: None,
        personality: None,
        git: None,
        imported_from: None,
        dynamic_tools: Vec::new(),
    }
}

pub fn said(text: &str) -> RolloutRecord {
    RolloutRecord::ResponseItem(ResponseItem::assistant_text(text))
}

pub fn rewind(to: LogPosition) -> RolloutRecord {
    RolloutRecord::Rewind(Box::new(RewindRecord {
        to: to.0,
        reason: RewindReason::Rollback { num_turns: 1 },
        carried: carried(),
    }))
}

pub fn compacted(message: &str) -> RolloutRecord {
    RolloutRecord::Compacted(Box::new(CompactionRecord {
        message: message.to_owned(),
        replacement_history: vec![ResponseItem::assistant_text(message)],
        carried: carried(),
    }))
}

fn carried() -> CarriedState {
    CarriedState {
        turn_context: turn_context("/project", "model-1"),
        total_token_usage: TokenUsage::default(),
        seq_reserved_until: 0,
        thread_name: None,
        thread_note: None,
        last_response_id: None,
        has_agents: false,
        output_schema: None,
    }
}

pub fn turn_context(cwd: &str, model: &str) -> TurnContext {
    TurnContext {
        cwd: cwd.into(),
        approval_policy: ApprovalPolicy::Never,
        sandbox_policy: SandboxPolicy::read_only(),
        model: model.to_owned(),
        effort: None,
        summary: ReasoningSummary::Auto,
        collaboration_mode: CollaborationMode::Default,
        mode_instructions: None,
        plan_writes: false,
        personality: None,
        developer_instructions: None,
    }
}

pub fn event(msg: EventMsg) -> RolloutRecord {
    RolloutRecord::EventMsg(EventRecord {
        id: "task".into(),
        seq: 1,
        msg,
    })
}

pub fn response_completed(id: &str) -> RolloutRecord {
    event(EventMsg::ResponseCompleted {
        turn_id: "task".into(),
        response_id: id.into(),
        usage: TokenUsage::default(),
    })
}

/// The texts said in a history, in order.
pub fn texts(history: &LiveHistory) -> Vec<String> {
    history
        .records
        .iter()
        .filter_map(|(_, stamped)| match &stamped.record {
            RolloutRecord::ResponseItem(item) => item.assistant_message(),
            _ => None,
        })
        .collect()
}

pub fn files_below(directory: &std::path::Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

pub fn kinds(history: &LiveHistory) -> Vec<&'static str> {
    let records = history.records.iter();
    records.map(|(_, stamped)| stamped.record.kind()).collect()
}
