//! What the tools answer: a structured part, and the same in a few words.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use troupe_protocol::SessionId;
use troupe_store::ApprovalKind;

/// An answer as clients that read only text are told it.
pub(super) trait TextSummary {
    fn in_words(&self) -> String;
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionSpawnAnswer {
    pub session_id: SessionId,
    pub short_id: String,
    /// Its place in the tree.
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<SessionId>,
    /// Absent for a child, whose first task begins when there is a slot for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    pub status: String,
    /// One sentence for each thing that differs from what was asked for.
    pub why: Vec<String>,
    /// What to do next.
    pub note: String,
}

impl TextSummary for SessionSpawnAnswer {
    fn in_words(&self) -> String {
        format!(
            "session {} is {}. {}",
            self.session_id, self.status, self.note
        )
    }
}

/// How a session stands.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionAnswer {
    pub session_id: SessionId,
    pub short_id: String,
    /// pending_init, ready, queued, running, completed, errored, interrupted, cancelled,
    /// budget_exceeded, shutdown; idle for one that never had a task.
    pub status: String,
    /// Whether a prompt starts a task now, instead of joining one.
    pub ready_for_prompt: bool,
    /// Whether this server has it in memory.
    pub loaded: bool,
    /// Whether another process has it, which alone can prompt it.
    pub held_elsewhere: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub genealogy: SessionFamily,
    /// What a running task waits on: model, tool, rate_limit, approval, user, child, slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_on: Option<String>,
    pub current_tools: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_duration_sec: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_messages: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// What waits for a person's word.
    pub open_approvals: Vec<OpenApproval>,
}

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionFamily {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<SessionId>,
    pub children: Vec<SessionId>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenApproval {
    pub session_id: SessionId,
    pub path: String,
    /// exec, patch or question.
    pub kind: String,
    /// The whole command, patch or question, and why.
    pub what: String,
    pub asked_at: String,
}

impl OpenApproval {
    /// Tells whether it is the model that asks, and not the engine in its name.
    pub(super) fn is_question(&self) -> bool {
        self.kind == ApprovalKind::Question.as_str()
    }
}

impl SessionAnswer {
    /// Tells whether nothing runs in it, whoever has it.
    pub(super) fn is_done(&self) -> bool {
        self.ready_for_prompt || (self.held_elsewhere && self.status != "running")
    }
}

impl TextSummary for SessionAnswer {
    fn in_words(&self) -> String {
        let mut text = format!("session {} is {}", self.session_id, self.status);
        if self.held_elsewhere {
            text.push_str(", in another process");
        }
        if let Some(on) = &self.waiting_on {
            write!(text, ", waiting on {on}").expect("a String takes any text");
        }
        for open in &self.open_approvals {
            let wanted = if open.is_question() {
                "an answer"
            } else {
                "approval"
            };
            write!(
                text,
                "\n{} asks for {wanted} ({}): {}",
                open.path, open.kind, open.what
            )
            .expect("a String takes any text");
        }
        if let Some(error) = &self.error {
            write!(text, "\n{error}").expect("a String takes any text");
        }
        if let Some(message) = &self.last_message {
            write!(text, "\n\n{message}").expect("a String takes any text");
        }
        text
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionPromptAnswer {
    /// delivered, queued, held: whether a task began, or the prompt joins one.
    pub receipt: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<usize>,
    /// Whether the time was up before the session was done.
    pub timed_out: bool,
    pub session: SessionAnswer,
}

impl TextSummary for SessionPromptAnswer {
    fn in_words(&self) -> String {
        let session = self.session.in_words();
        match (self.timed_out, self.session.ready_for_prompt) {
            (true, _) => format!("the time was up: {session}"),
            (false, true) => session,
            (false, false) => format!("{}: {session}", self.receipt),
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionList {
    pub sessions: Vec<SessionRow>,
    /// Asks for the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionRow {
    pub session_id: SessionId,
    pub short_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The beginning of the first prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Who opened it: cli, exec, mcp, sub_session and others.
    pub source: String,
    pub working_directory: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub created_at: String,
    pub updated_at: String,
    pub tokens: u64,
    /// Whether this server has it in memory.
    pub loaded: bool,
    /// Whether it works now; known only of those in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<bool>,
}

impl TextSummary for SessionList {
    fn in_words(&self) -> String {
        if self.sessions.is_empty() {
            return "no sessions".to_owned();
        }
        let row = |row: &SessionRow| {
            let title = row.title.as_ref().or(row.preview.as_ref());
            let title = title.map_or("(empty)", String::as_str);
            let title: String = title.chars().take(72).collect();
            format!(
                "{}  {}  {}",
                row.short_id,
                row.updated_at,
                title.replace('\n', " ")
            )
        };
        self.sessions.iter().map(row).collect::<Vec<_>>().join("\n")
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionCancelAnswer {
    /// What is stopped, or would be.
    pub touched: Vec<CancelledSession>,
    /// What is left as it is, and why.
    pub skipped: Vec<SkippedSession>,
    pub dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CancelledSession {
    pub session_id: SessionId,
    pub path: String,
    /// The status before.
    pub was: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SkippedSession {
    pub session_id: SessionId,
    pub path: String,
    pub why: String,
}

impl TextSummary for SessionCancelAnswer {
    fn in_words(&self) -> String {
        let verb = if self.dry_run {
            "would stop"
        } else {
            "stopped"
        };
        let paths: Vec<&str> = self.touched.iter().map(|one| one.path.as_str()).collect();
        if paths.is_empty() {
            return "nothing ran".to_owned();
        }
        format!("{verb} {}", paths.join(", "))
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionWaitAnswer {
    /// Those that are done, with what they came to.
    pub finished: Vec<SessionAnswer>,
    /// The others, and what they do.
    pub running: Vec<SessionAnswer>,
    /// Whether the time was up first.
    pub timed_out: bool,
}

impl TextSummary for SessionWaitAnswer {
    fn in_words(&self) -> String {
        let all = self.finished.iter().chain(&self.running);
        let texts: Vec<String> = all.map(TextSummary::in_words).collect();
        texts.join("\n\n")
    }
}

/// One task of a session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskAnswer {
    pub task_id: String,
    pub session_id: SessionId,
    /// running, completed, errored, interrupted, cancelled, budget_exceeded, replaced, crash.
    pub status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<String>,
    /// What it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whose end began it, if the engine wrote its prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback: Option<CallbackAnswer>,
    /// Under the output schema that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputAnswer>,
    /// What the engine saw, whatever the model says. Absent for sessions outside of trees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceAnswer>,
}

/// The child whose end a message tells of.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallbackAnswer {
    pub is_callback: bool,
    pub source: String,
    pub child_session_id: SessionId,
    pub child_task_id: String,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct OutputAnswer {
    pub valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EvidenceAnswer {
    pub message_count: u32,
    pub tool_use_count: u32,
    pub tokens: u64,
    pub commands: Vec<CommandAnswer>,
    pub files: Vec<FileAnswer>,
    pub children: Vec<SessionId>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommandAnswer {
    pub command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileAnswer {
    pub path: String,
    /// SHA-256; absent if there was no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// SHA-256; absent if there is no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl TextSummary for TaskAnswer {
    fn in_words(&self) -> String {
        let mut text = format!("task {} is {}", self.task_id, self.status);
        let said = self.error.iter().chain(&self.last_message);
        for said in said {
            write!(text, "\n\n{said}").expect("a String takes any text");
        }
        text
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskList {
    /// The newest first.
    pub tasks: Vec<TaskAnswer>,
    /// How many there are.
    pub total: usize,
}

impl TextSummary for TaskList {
    fn in_words(&self) -> String {
        let row = |task: &TaskAnswer| {
            let prompt = task.prompt.as_deref().unwrap_or_default();
            let prompt: String = prompt.chars().take(72).collect();
            format!(
                "{}  {}  {}",
                task.task_id,
                task.status,
                prompt.replace('\n', " ")
            )
        };
        let rows: Vec<String> = self.tasks.iter().map(row).collect();
        format!("{} tasks\n{}", self.total, rows.join("\n"))
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TreeAnswer {
    pub root_session_id: SessionId,
    /// In the order of their birth; the root is the first.
    pub agents: Vec<AgentAnswer>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AgentAnswer {
    /// Unique in the tree; the root is 0.
    pub agent_id: u32,
    pub session_id: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<u32>,
    pub path: String,
    pub status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_on: Option<String>,
    pub current_tools: Vec<String>,
    pub pending_messages: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_task_id: Option<String>,
    /// The beginning of the last message, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    pub since: String,
}

impl TextSummary for TreeAnswer {
    fn in_words(&self) -> String {
        let row = |agent: &AgentAnswer| {
            let depth = agent.path.matches('/').count().saturating_sub(1);
            let what = agent.preview.as_deref().unwrap_or_default();
            let line = format!(
                "{}{}  {}  {what}",
                "  ".repeat(depth),
                agent.path,
                agent.status
            );
            line.trim_end().to_owned()
        };
        self.agents.iter().map(row).collect::<Vec<_>>().join("\n")
    }
}
