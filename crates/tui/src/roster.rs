//! The agents of the tree, as far as events and reports tell of them.

use std::collections::BTreeMap;

use serde_json::Value;
use troupe_protocol::agent::{AgentInbox, AgentStatus, SubagentLifecycle, SubagentSummary};
use troupe_protocol::item::ToolCallItem;
use troupe_protocol::{AgentId, SessionId};

use crate::session::AgentReport;

/// One agent, and what this screen knows besides.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentEntry {
    pub report: AgentReport,
    /// What it thinks about, in a line.
    pub headline: Option<String>,
}

/// What an agent is to the person at the screen. Blocked, idle and done are three things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentGroup {
    NeedsYou,
    Working,
    Waiting,
    DoneUnread,
    Failed,
    Stopped,
    Read,
}

impl AgentGroup {
    pub const ALL: [Self; 7] = [
        Self::NeedsYou,
        Self::Working,
        Self::Waiting,
        Self::DoneUnread,
        Self::Failed,
        Self::Stopped,
        Self::Read,
    ];

    pub fn mark(self) -> &'static str {
        match self {
            Self::NeedsYou => "!",
            Self::Working => "●",
            Self::Waiting => "◌",
            Self::DoneUnread => "✓",
            Self::Failed => "✗",
            Self::Stopped => "=",
            Self::Read => "·",
        }
    }

    pub fn heading(self) -> &'static str {
        match self {
            Self::NeedsYou => "NEEDS YOU",
            Self::Working => "WORKING",
            Self::Waiting => "WAITING",
            Self::DoneUnread => "DONE, UNREAD",
            Self::Failed => "FAILED",
            Self::Stopped => "STOPPED",
            Self::Read => "DONE, READ",
        }
    }

    /// Returns the words of the line that is always there.
    pub fn counted(self, count: usize) -> String {
        let verb = |one: &'static str, many: &'static str| if count == 1 { one } else { many };
        match self {
            Self::NeedsYou => format!("{count} {} you", verb("needs", "need")),
            Self::Working => format!("{count} {}", verb("works", "work")),
            Self::Waiting => format!("{count} {}", verb("waits", "wait")),
            Self::DoneUnread => format!("{count} unread"),
            Self::Failed => format!("{count} failed"),
            Self::Stopped => format!("{count} stopped"),
            Self::Read => format!("{count} done"),
        }
    }
}

/// What the call that made an agent was told of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentOrigins {
    pub model_asked: Option<String>,
    /// A sentence for each wish that was not granted as it was.
    pub why: Vec<String>,
}

/// In the order in which they were seen first.
#[derive(Debug, Clone, Default)]
pub struct AgentRoster {
    entries: Vec<AgentEntry>,
    makings: BTreeMap<SessionId, AgentOrigins>,
    /// Tokens of everybody but the root, as reported last.
    others_tokens: Option<u64>,
}

impl AgentRoster {
    pub fn entries(&self) -> &[AgentEntry] {
        &self.entries
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn get(&self, agent: AgentId) -> Option<&AgentEntry> {
        self.entries
            .iter()
            .find(|entry| entry.report.agent == agent)
    }

    pub fn making(&self, session: SessionId) -> Option<&AgentOrigins> {
        self.makings.get(&session)
    }

    /// Takes in how a call that made an agent was answered.
    pub fn take_spawn(&mut self, call: &ToolCallItem) {
        let output = call.output.as_deref().unwrap_or_default();
        let Ok(output) = serde_json::from_str::<Value>(output) else {
            return;
        };
        let session = ["agent_id", "session_id"]
            .iter()
            .find_map(|key| output.get(key)?.as_str()?.parse().ok());
        let (Some(session), Some(requested)) = (session, output.get("requested")) else {
            return;
        };
        let model = requested.get("model").and_then(Value::as_str);
        let why = output.get("why").and_then(Value::as_array);
        let why = why.into_iter().flatten().filter_map(Value::as_str);
        self.makings.insert(
            session,
            AgentOrigins {
                model_asked: model.map(str::to_owned),
                why: why.map(str::to_owned).collect(),
            },
        );
    }

    /// Returns the last part of an agent's path.
    pub fn name(&self, agent: AgentId) -> String {
        match self.get(agent) {
            _ if agent == AgentId::ROOT => "root".to_owned(),
            Some(entry) => entry.name().to_owned(),
            None => format!("agent {agent}"),
        }
    }

    pub fn by_session(&self, session: SessionId) -> Option<&AgentEntry> {
        self.entries
            .iter()
            .find(|entry| entry.report.session == session)
    }

    /// Takes an event of a life in. `is_history` is set for what was before this screen.
    pub fn take(&mut self, event: &SubagentLifecycle, now_ms: i64, is_history: bool) {
        match event {
            SubagentLifecycle::Created { subagent } | SubagentLifecycle::Restored { subagent } => {
                self.summary(subagent, now_ms, is_history);
            }
            SubagentLifecycle::Status {
                agent_id,
                status,
                subagent,
                ..
            } => match subagent {
                Some(summary) => self.summary(summary, now_ms, is_history),
                None => self.status(*agent_id, status, now_ms, is_history),
            },
            SubagentLifecycle::ReasoningHeader {
                agent_id,
                reasoning_header,
                ..
            } => {
                if let Some(entry) = self.entry(*agent_id) {
                    entry.headline = Some(reasoning_header.clone());
                }
            }
            SubagentLifecycle::Deleted { agent_id, .. } => {
                self.entries.retain(|entry| entry.report.agent != *agent_id);
            }
        }
    }

    pub fn take_inbox(&mut self, inbox: &AgentInbox) {
        if let Some(entry) = self.entry(inbox.agent_id) {
            entry.report.pending_messages = inbox.pending_messages;
        }
    }

    /// Takes reports in, which know more. Who is not among them stays as it is.
    pub fn take_reports(&mut self, reports: Vec<AgentReport>) {
        let root = reports.iter().find(|report| report.agent == AgentId::ROOT);
        if let Some(root) = root {
            self.others_tokens = Some(root.tree_tokens.saturating_sub(root.tokens));
        }
        for report in reports
            .into_iter()
            .filter(|report| report.agent != AgentId::ROOT)
        {
            match self.entry(report.agent) {
                Some(entry) => entry.report = report,
                None => self.entries.push(AgentEntry {
                    report,
                    headline: None,
                }),
            }
        }
    }

    /// Returns the tokens of everybody but the root.
    pub fn tokens(&self) -> u64 {
        let known = self.entries.iter().map(|entry| entry.report.tokens);
        self.others_tokens.unwrap_or_else(|| known.sum())
    }

    pub fn mark_read(&mut self, agent: AgentId) -> bool {
        let entry = self.entry(agent).filter(|entry| entry.report.unread);
        entry.is_some_and(|entry| {
            entry.report.unread = false;
            true
        })
    }

    /// Returns the agents below one, itself first.
    pub fn subtree(&self, agent: AgentId) -> Vec<AgentId> {
        let Some(top) = self.get(agent) else {
            return Vec::new();
        };
        let prefix = format!("{}/", top.report.path);
        let below = self
            .entries
            .iter()
            .filter(|entry| entry.report.path.starts_with(&prefix));
        std::iter::once(agent)
            .chain(below.map(|entry| entry.report.agent))
            .collect()
    }

    fn entry(&mut self, agent: AgentId) -> Option<&mut AgentEntry> {
        self.entries
            .iter_mut()
            .find(|entry| entry.report.agent == agent)
    }

    fn summary(&mut self, summary: &SubagentSummary, now_ms: i64, is_history: bool) {
        let path = summary.path.clone().or_else(|| summary.label.clone());
        match self.entry(summary.agent_id) {
            None => self.entries.push(AgentEntry {
                headline: summary.reasoning_header.clone(),
                report: AgentReport {
                    agent: summary.agent_id,
                    session: summary.session_id,
                    parent: summary.parent_agent_id,
                    path: path.unwrap_or_else(|| format!("/root/{}", summary.agent_id)),
                    status: summary.status.clone(),
                    detail: None,
                    since_ms: if is_history {
                        summary.started_at_ms
                    } else {
                        now_ms
                    },
                    progress_ms: None,
                    born_ms: summary.started_at_ms,
                    role: None,
                    model: None,
                    rights: None,
                    effort: None,
                    directory: None,
                    task: summary.summary.clone(),
                    note: None,
                    tokens: 0,
                    tree_tokens: 0,
                    pending_messages: summary.pending_messages,
                    unread: false,
                },
            }),
            Some(entry) => {
                if summary.reasoning_header.is_some() {
                    entry.headline.clone_from(&summary.reasoning_header);
                }
                entry.report.pending_messages = summary.pending_messages;
                entry.report.task = summary.summary.clone().or(entry.report.task.take());
                self.status(summary.agent_id, &summary.status, now_ms, is_history);
            }
        }
    }

    fn status(&mut self, agent: AgentId, status: &AgentStatus, now_ms: i64, is_history: bool) {
        if let Some(entry) = self.entry(agent)
            && entry.report.status != *status
        {
            entry.report.status = status.clone();
            entry.report.since_ms = now_ms;
            entry.report.detail = None;
            let is_end = matches!(status, AgentStatus::Completed(_));
            entry.report.unread = is_end && !is_history;
        }
    }
}

impl AgentEntry {
    pub fn name(&self) -> &str {
        let path = &self.report.path;
        path.rsplit('/').next().unwrap_or(path)
    }

    /// Returns the group; `asks` says whether a question of the agent waits.
    pub fn group(&self, asks: bool) -> AgentGroup {
        let waits = |detail: &str| detail.starts_with("waits for") && !detail.ends_with("model");
        match &self.report.status {
            _ if asks => AgentGroup::NeedsYou,
            AgentStatus::Running if self.report.detail.as_deref().is_some_and(waits) => {
                AgentGroup::Waiting
            }
            AgentStatus::Running | AgentStatus::PendingInit => AgentGroup::Working,
            AgentStatus::Queued { .. } => AgentGroup::Waiting,
            AgentStatus::Completed(_) if self.report.unread => AgentGroup::DoneUnread,
            AgentStatus::Completed(_) | AgentStatus::Ready => AgentGroup::Read,
            AgentStatus::Errored(_)
            | AgentStatus::BudgetExceeded
            | AgentStatus::Lost(_)
            | AgentStatus::NotFound => AgentGroup::Failed,
            AgentStatus::Interrupted | AgentStatus::Cancelled | AgentStatus::Shutdown => {
                AgentGroup::Stopped
            }
        }
    }

    /// Says what it does or why it does nothing, in a line.
    pub fn doing(&self) -> String {
        if let Some(detail) = &self.report.detail {
            return detail.clone();
        }
        match &self.report.status {
            AgentStatus::Queued { position } => format!("waits for a slot, {position} before it"),
            AgentStatus::Running => self.headline.clone().unwrap_or_else(|| "works".to_owned()),
            status => match status.text() {
                Some(text) => text.lines().next().unwrap_or_default().to_owned(),
                None => status.row().agents.replace('_', " "),
            },
        }
    }
}
