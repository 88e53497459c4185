//! A home of its own for each test, and a session in few words.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use troupe_import::takeover::ImportIdentity;
use troupe_import::{ForeignConversation, ImportError, ImportReport, ImportSettings, Takeover};
use troupe_protocol::event::EventMsg;
use troupe_protocol::history::{ContentItem, ResponseItem, ToolOutputBody};
use troupe_protocol::policy::{ApprovalPolicy, CollaborationMode, ReasoningSummary, SandboxPolicy};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::session::TurnContext;
use troupe_protocol::{SessionId, TurnItem};
use troupe_store::{EmbeddedStore, LogPosition, SessionStore};

pub struct Home {
    directory: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn store(&self) -> EmbeddedStore {
        EmbeddedStore::open(&self.path("home")).unwrap()
    }

    pub async fn import(&self, path: &Path) -> Result<ImportReport, ImportError> {
        self.import_as(path, ImportIdentity::Derived).await
    }

    pub async fn import_as(
        &self,
        path: &Path,
        identity: ImportIdentity,
    ) -> Result<ImportReport, ImportError> {
        let origin = ForeignConversation::open(path)?;
        let home = self.path("home");
        let takeover = Takeover {
            home: &home,
            frame: frame(),
            identity,
        };
        takeover.run(&origin).await
    }

    /// What the model of a resumed session gets.
    pub async fn history(&self, session: SessionId) -> Vec<ResponseItem> {
        let live = self.store().read_live(session).await.unwrap();
        assert_eq!(live.warnings, [""; 0]);
        let mut items = Vec::new();
        for (_, line) in live.records {
            match line.record {
                RolloutRecord::ResponseItem(item) => items.push(item),
                RolloutRecord::Compacted(compacted) => items = compacted.replacement_history,
                _ => {}
            }
        }
        items
    }
}

pub fn frame() -> ImportSettings {
    ImportSettings {
        model_provider: "ours".to_owned(),
        context: TurnContext {
            cwd: "/elsewhere".into(),
            approval_policy: ApprovalPolicy::OnRequest,
            sandbox_policy: SandboxPolicy::ReadOnly {
                network_access: false,
            },
            model: "our-model".to_owned(),
            effort: None,
            summary: ReasoningSummary::default(),
            collaboration_mode: CollaborationMode::default(),
            mode_instructions: None,
            plan_writes: false,
            personality: None,
            developer_instructions: None,
        },
        cli_version: "0.0.0".to_owned(),
    }
}

/// Says in a line each what the log holds and what the model is told.
pub async fn chronicle(home: &Home, imported: &ImportReport) -> String {
    let store = home.store();
    let batch = store
        .read_all(imported.session, LogPosition::default())
        .await
        .unwrap();
    assert!(batch.at_end);
    let mut text = String::from("-- the log\n");
    for line in &batch.lines {
        let stamped = line.record().unwrap();
        let time = stamped.timestamp.to_string();
        match record(&stamped.record) {
            // The last lines are of today.
            Some(told) if told.starts_with("thread_") => writeln!(text, "{told}").unwrap(),
            Some(told) => writeln!(text, "{} {told}", &time[11..19]).unwrap(),
            None => {}
        }
    }
    text.push_str("-- what the model is told\n");
    for told in home.history(imported.session).await {
        writeln!(text, "{}", item(&told)).unwrap();
    }
    let ImportReport {
        turns, items, name, ..
    } = imported;
    writeln!(text, "-- {turns} turns, {items} items, name {name:?}").unwrap();
    for told in imported.losses.report_lines() {
        writeln!(text, "{told}").unwrap();
    }
    text
}

fn record(record: &RolloutRecord) -> Option<String> {
    Some(match record {
        RolloutRecord::SessionMeta(meta) => format!(
            "session in {} from {:?} {:?}",
            meta.cwd.display(),
            meta.imported_from.as_ref().unwrap().agent,
            meta.git
        ),
        RolloutRecord::TurnContext(context) => format!("context {}", context.cwd.display()),
        RolloutRecord::ResponseItem(told) => item(told),
        RolloutRecord::Compacted(compacted) => {
            format!("compacted {:?}", short(&compacted.message))
        }
        RolloutRecord::Rewind(rewind) => format!("rewind {:?}", rewind.reason),
        RolloutRecord::SeqReserved { .. } => return None,
        RolloutRecord::EventMsg(event) => match &event.msg {
            EventMsg::TurnStarted(_) => format!("turn {} begins", event.id),
            EventMsg::TurnComplete(end) => format!(
                "turn {} ends {:?}",
                event.id,
                end.last_agent_message.as_deref().map(short)
            ),
            EventMsg::TurnAborted(_) => format!("turn {} is interrupted", event.id),
            EventMsg::ItemCompleted { item, .. } => format!("  {}", shown(item)),
            EventMsg::ThreadNameUpdated { thread_name } => format!("thread_name {thread_name:?}"),
            EventMsg::ThreadNoteUpdated { thread_note } => format!("thread_note {thread_note:?}"),
            other => format!("{other:?}"),
        },
        other => format!("{other:?}"),
    })
}

fn shown(item: &TurnItem) -> String {
    match item {
        TurnItem::UserMessage(message) => {
            format!("people see the user's {} parts", message.content.len())
        }
        TurnItem::AgentMessage(message) => format!("people see {:?}", short(&message.text)),
        TurnItem::Reasoning(thought) => {
            format!("people see the thought {:?}", thought.summary_text)
        }
        TurnItem::ToolCall(call) => format!(
            "people see {} {} = {:?}",
            call.tool,
            call.arguments,
            call.output.as_deref().map(short)
        ),
        TurnItem::ContextCompaction(_) => "people see a compaction".to_owned(),
        other => format!("{other:?}"),
    }
}

fn item(item: &ResponseItem) -> String {
    match item {
        ResponseItem::Message { content, .. } => {
            let author = item.author_title().unwrap();
            let parts: Vec<String> = content.iter().map(part).collect();
            format!("{author}: {}", parts.join(" + "))
        }
        ResponseItem::FunctionCall {
            name,
            arguments,
            call_id,
            ..
        } => format!("call {call_id} {name} {arguments}"),
        ResponseItem::CustomToolCall {
            name,
            input,
            call_id,
            ..
        } => format!("custom call {call_id} {name} {:?}", short(input)),
        ResponseItem::FunctionCallOutput { call_id, output } => {
            format!("answer {call_id} {}", body(output))
        }
        ResponseItem::CustomToolCallOutput { call_id, output } => {
            format!("custom answer {call_id} {}", body(output))
        }
        other => format!("{other:?}"),
    }
}

fn body(output: &ToolOutputBody) -> String {
    match output {
        ToolOutputBody::Text(text) => format!("{:?}", short(text)),
        ToolOutputBody::Parts(parts) => {
            let parts: Vec<String> = parts.iter().map(part).collect();
            parts.join(" + ")
        }
    }
}

fn part(part: &ContentItem) -> String {
    match part.text() {
        Some(text) => format!("{:?}", short(text)),
        None => "[picture]".to_owned(),
    }
}

fn short(text: &str) -> String {
    let mut letters = text.chars();
    let start: String = letters.by_ref().take(80).collect();
    if letters.next().is_some() {
        format!("{start}…")
    } else {
        start
    }
}
