//! Events of a session, as the updates that clients show. Pure.
//!
//! A client can be told more of a text, never less: what was said and is void (the model's
//! connection broke) stays on its screen, and what comes instead is another message.

use std::collections::{HashMap, HashSet};

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, CurrentModeUpdate, MessageId, Notice, NoticeSeverity, Plan,
    PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionInfoUpdate, SessionUpdate, TextContent,
    ToolCallUpdate, ToolCallUpdateFields, UsageUpdate,
};
use base64::Engine as _;
use troupe_protocol::command::{PlanStep, StepStatus};
use troupe_protocol::event::{ExecCommandOutputDelta, TextDelta};
use troupe_protocol::item::{ReasoningItem, UserMessageItem};
use troupe_protocol::policy::CollaborationMode;
use troupe_protocol::project::joined_text;
use troupe_protocol::usage::TokenUsageInfo;
use troupe_protocol::{CallId, EventMsg, ItemId, TurnItem};

use super::{modes, tool_call};
use crate::limits::{OUTPUT_SHOWN_BYTES_MAX, OUTPUT_STEP_BYTES};
use crate::text::OutputTail;

/// What must be remembered between events.
#[derive(Debug)]
pub(super) struct UpdateTranslator {
    telling: ReplayMode,
    notices: NoticeStyle,
    mode: CollaborationMode,
    texts: HashMap<ItemId, SentText>,
    outputs: HashMap<CallId, RunningOutput>,
    /// Calls that the client has been shown.
    calls: HashSet<ItemId>,
}

/// Whether a client knows what its user said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplayMode {
    Live,
    Past,
}

/// How a client is told of what is no part of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoticeStyle {
    /// It knows them.
    Own,
    /// As something that the agent thinks of.
    Thoughts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UpdateTextKind {
    Message,
    Thought,
}

/// What of an item's text a client has.
#[derive(Debug)]
struct SentText {
    text: String,
    /// How often the text began anew.
    attempt: u32,
}

/// A command whose output is shown as it comes.
#[derive(Debug)]
struct RunningOutput {
    output: OutputTail,
    unshown: usize,
}

impl UpdateTranslator {
    pub(super) fn new(telling: ReplayMode, notices: NoticeStyle, mode: CollaborationMode) -> Self {
        Self {
            telling,
            notices,
            mode,
            texts: HashMap::new(),
            outputs: HashMap::new(),
            calls: HashSet::new(),
        }
    }

    /// Returns the updates that an event becomes, usually none or one.
    pub(super) fn of(&mut self, msg: &EventMsg) -> Vec<SessionUpdate> {
        match msg {
            EventMsg::AgentMessageContentDelta(delta) | EventMsg::PlanDelta(delta) => {
                self.delta(UpdateTextKind::Message, delta)
            }
            EventMsg::ReasoningContentDelta(delta) | EventMsg::ReasoningRawContentDelta(delta) => {
                self.delta(UpdateTextKind::Thought, delta)
            }
            EventMsg::AgentReasoningSectionBreak {
                item_id,
                summary_index,
            } if *summary_index > 0 => self.append_text(UpdateTextKind::Thought, item_id, "\n\n"),
            EventMsg::ItemStarted { item, .. } => self.started(item),
            EventMsg::ItemCompleted { item, .. } => self.completed(item),
            EventMsg::ExecCommandOutputDelta(delta) => self.output(delta),
            EventMsg::McpToolCallProgress {
                call_id,
                message: Some(message),
                ..
            } => vec![content_update(call_id, vec![tool_call::text(message)])],
            EventMsg::PlanUpdate { plan, .. } => vec![SessionUpdate::Plan(todo(plan))],
            EventMsg::TurnContextUpdated(context) => self.mode(context.collaboration_mode),
            EventMsg::TurnStarted(started) => self.mode(started.collaboration_mode_kind),
            EventMsg::TokenCount {
                info: Some(info), ..
            } => usage(info).into_iter().collect(),
            EventMsg::ThreadNameUpdated { thread_name } => {
                let info = SessionInfoUpdate::new().title(thread_name.clone());
                vec![SessionUpdate::SessionInfoUpdate(info)]
            }
            EventMsg::Warning { message } => self.notice(NoticeSeverity::Warning, message),
            EventMsg::StreamError(error) => self.notice(NoticeSeverity::Warning, &error.message),
            EventMsg::Error(error) if !error.fatal => {
                self.notice(NoticeSeverity::Error, &error.message)
            }
            EventMsg::DeprecationNotice { summary, .. } => {
                self.notice(NoticeSeverity::Info, summary)
            }
            EventMsg::ContextCompacted => self.notice(
                NoticeSeverity::Info,
                "the conversation so far was replaced by a summary",
            ),
            // Older names of what an item told, questions, which are put elsewhere, and what
            // clients have no place for.
            EventMsg::SessionConfigured(_)
            | EventMsg::ThreadNoteUpdated { .. }
            | EventMsg::ShutdownComplete
            | EventMsg::TurnComplete(_)
            | EventMsg::TurnAborted(_)
            | EventMsg::ResponseCompleted { .. }
            | EventMsg::SteerReceipt(_)
            | EventMsg::TokenCount { .. }
            | EventMsg::ThreadRolledBack { .. }
            | EventMsg::ItemsInjected { .. }
            | EventMsg::UndoStarted { .. }
            | EventMsg::UndoCompleted(_)
            | EventMsg::Error(_)
            | EventMsg::BackgroundEvent(_)
            | EventMsg::AgentReasoningSectionBreak { .. }
            | EventMsg::UserMessage { .. }
            | EventMsg::AgentMessage { .. }
            | EventMsg::AgentReasoning { .. }
            | EventMsg::AgentReasoningRawContent { .. }
            | EventMsg::ExecCommandBegin(_)
            | EventMsg::ExecCommandEnd(_)
            | EventMsg::TerminalInteraction { .. }
            | EventMsg::PatchApplyBegin { .. }
            | EventMsg::PatchApplyEnd { .. }
            | EventMsg::TurnDiff { .. }
            | EventMsg::ViewImageToolCall { .. }
            | EventMsg::McpStartupUpdate { .. }
            | EventMsg::McpStartupComplete { .. }
            | EventMsg::McpToolCallBegin { .. }
            | EventMsg::McpToolCallEnd { .. }
            | EventMsg::McpToolCallProgress { .. }
            | EventMsg::ExecApprovalRequest(_)
            | EventMsg::ApplyPatchApprovalRequest(_)
            | EventMsg::RequestUserInput(_)
            | EventMsg::ApprovalResolved { .. }
            | EventMsg::UserInputResolved { .. }
            | EventMsg::ElicitationRequest(_)
            | EventMsg::ElicitationResolved { .. }
            | EventMsg::EnteredReviewMode { .. }
            | EventMsg::ExitedReviewMode { .. }
            | EventMsg::ListSkillsResponse { .. }
            | EventMsg::ListModelsResponse(_)
            | EventMsg::McpListToolsResponse(_)
            | EventMsg::SubagentLifecycle(_)
            | EventMsg::AgentInbox(_)
            | EventMsg::CollabAgentSpawnBegin(_)
            | EventMsg::CollabAgentSpawnEnd(_)
            | EventMsg::CollabAgentInteractionBegin(_)
            | EventMsg::CollabAgentInteractionEnd(_)
            | EventMsg::CollabWaitingBegin(_)
            | EventMsg::CollabWaitingEnd(_)
            | EventMsg::CollabCloseBegin(_)
            | EventMsg::CollabCloseEnd(_)
            | EventMsg::CollabResumeBegin(_)
            | EventMsg::CollabResumeEnd(_) => Vec::new(),
        }
    }

    fn delta(&mut self, voice: UpdateTextKind, delta: &TextDelta) -> Vec<SessionUpdate> {
        if delta.snapshot {
            self.complete_text(voice, &delta.item_id, &delta.delta)
        } else {
            self.append_text(voice, &delta.item_id, &delta.delta)
        }
    }

    /// An item's text goes on.
    fn append_text(
        &mut self,
        voice: UpdateTextKind,
        item: &ItemId,
        more: &str,
    ) -> Vec<SessionUpdate> {
        if more.is_empty() {
            return Vec::new();
        }
        let shown = self.texts.entry(item.clone()).or_insert(SentText {
            text: String::new(),
            attempt: 0,
        });
        shown.text.push_str(more);
        vec![chunk(voice, item, shown.attempt, more)]
    }

    /// An item's text is this. What the client lacks of it is told.
    fn complete_text(
        &mut self,
        voice: UpdateTextKind,
        item: &ItemId,
        text: &str,
    ) -> Vec<SessionUpdate> {
        let shown = self.texts.get(item).map_or("", |shown| &shown.text);
        if let Some(more) = text.strip_prefix(shown) {
            let more = more.to_owned();
            return self.append_text(voice, item, &more);
        }
        if let Some(shown) = self.texts.get_mut(item) {
            shown.text.clear();
            shown.attempt += 1;
        }
        self.append_text(voice, item, text)
    }

    fn started(&mut self, item: &TurnItem) -> Vec<SessionUpdate> {
        let Some(call) = tool_call::of(item) else {
            return Vec::new();
        };
        self.calls.insert(item.id().clone());
        vec![SessionUpdate::ToolCall(call)]
    }

    fn completed(&mut self, item: &TurnItem) -> Vec<SessionUpdate> {
        if let Some(call) = tool_call::of(item) {
            self.outputs.remove(&CallId(item.id().0.clone()));
            return vec![if self.calls.remove(item.id()) {
                SessionUpdate::ToolCallUpdate(tool_call::update(call))
            } else {
                SessionUpdate::ToolCall(call)
            }];
        }
        let updates = match item {
            TurnItem::AgentMessage(message) => {
                self.complete_text(UpdateTextKind::Message, &message.id, &message.text)
            }
            TurnItem::Plan(plan) => {
                self.complete_text(UpdateTextKind::Message, &plan.id, &plan.text)
            }
            TurnItem::Reasoning(reasoning) => self.reasoning(reasoning),
            TurnItem::UserMessage(message) => self.user_message(message),
            _ => Vec::new(),
        };
        self.texts.remove(item.id());
        updates
    }

    /// Its parts were told as they came, if anybody heard them.
    fn reasoning(&mut self, item: &ReasoningItem) -> Vec<SessionUpdate> {
        if self.texts.contains_key(&item.id) {
            return Vec::new();
        }
        let parts = item.summary_text.iter().chain(&item.raw_content);
        let parts: Vec<&str> = parts.map(String::as_str).collect();
        self.complete_text(UpdateTextKind::Thought, &item.id, &parts.join("\n\n"))
    }

    /// What a person said, if the client has not sent it. Messages of the engine are not a
    /// person's.
    fn user_message(&self, item: &UserMessageItem) -> Vec<SessionUpdate> {
        let text = joined_text(&item.content);
        if self.telling == ReplayMode::Live || item.metadata.is_some() || text.is_empty() {
            return Vec::new();
        }
        let chunk = ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
            .message_id(MessageId::new(item.id.as_str()));
        vec![SessionUpdate::UserMessageChunk(chunk)]
    }

    fn output(&mut self, delta: &ExecCommandOutputDelta) -> Vec<SessionUpdate> {
        let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(&delta.chunk) else {
            return Vec::new();
        };
        let first = !self.outputs.contains_key(&delta.call_id);
        let running = self
            .outputs
            .entry(delta.call_id.clone())
            .or_insert_with(|| RunningOutput {
                output: OutputTail::new(OUTPUT_SHOWN_BYTES_MAX),
                unshown: 0,
            });
        running.output.push(&String::from_utf8_lossy(&bytes));
        running.unshown += bytes.len();
        if !first && running.unshown < OUTPUT_STEP_BYTES {
            return Vec::new();
        }
        running.unshown = 0;
        let content = tool_call::output(running.output.as_str());
        vec![content_update(&delta.call_id, content)]
    }

    fn mode(&mut self, mode: CollaborationMode) -> Vec<SessionUpdate> {
        if mode == self.mode {
            return Vec::new();
        }
        self.mode = mode;
        let update = CurrentModeUpdate::new(modes::id(mode));
        vec![SessionUpdate::CurrentModeUpdate(update)]
    }

    fn notice(&self, severity: NoticeSeverity, message: &str) -> Vec<SessionUpdate> {
        // It was about a moment that is over.
        if self.telling == ReplayMode::Past {
            return Vec::new();
        }
        vec![match self.notices {
            NoticeStyle::Own => SessionUpdate::Notice(Notice::new(severity, message)),
            NoticeStyle::Thoughts => {
                let text = TextContent::new(format!("{message}\n\n"));
                SessionUpdate::AgentThoughtChunk(ContentChunk::new(ContentBlock::Text(text)))
            }
        }]
    }
}

fn chunk(voice: UpdateTextKind, item: &ItemId, attempt: u32, text: &str) -> SessionUpdate {
    let id = match attempt {
        0 => item.0.clone(),
        again => format!("{item}-{again}"),
    };
    let chunk = ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
        .message_id(MessageId::new(id));
    match voice {
        UpdateTextKind::Message => SessionUpdate::AgentMessageChunk(chunk),
        UpdateTextKind::Thought => SessionUpdate::AgentThoughtChunk(chunk),
    }
}

pub(super) fn content_update(
    call: &CallId,
    content: Vec<agent_client_protocol_schema::v1::ToolCallContent>,
) -> SessionUpdate {
    let fields = ToolCallUpdateFields::new().content(content);
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call.0.clone(), fields))
}

fn todo(plan: &[PlanStep]) -> Plan {
    let entry = |step: &PlanStep| {
        let status = match step.status {
            StepStatus::Pending => PlanEntryStatus::Pending,
            StepStatus::InProgress => PlanEntryStatus::InProgress,
            StepStatus::Completed => PlanEntryStatus::Completed,
        };
        PlanEntry::new(step.step.clone(), PlanEntryPriority::Medium, status)
    };
    Plan::new(plan.iter().map(entry).collect())
}

/// How full the model's window is; unknown without one.
fn usage(info: &TokenUsageInfo) -> Option<SessionUpdate> {
    let used = info.last_token_usage.total_tokens;
    let size = info.model_context_window?;
    Some(SessionUpdate::UsageUpdate(UsageUpdate::new(used, size)))
}

#[cfg(test)]
mod tests;
