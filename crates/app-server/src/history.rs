//! A stored conversation as clients see it: its thread, its turns, and what is still open.

use std::collections::BTreeMap;

use troupe_protocol::event::ReviewOutput;
use troupe_protocol::project::joined_text;
use troupe_protocol::rollout::{EventRecord, RolloutRecord, SessionMeta};
use troupe_protocol::session::{SessionSource, TurnContext};
use troupe_protocol::usage::TokenUsageInfo;
use troupe_protocol::{
    CallId, EventMsg, PendingQuestion, SessionId, SubmissionId, TaskOutcome, TurnItem,
};
use troupe_store::{LiveHistory, SessionStore, SessionSummary, StoreError};

use super::translate::collab::{self, CollaborationItem};
use super::translate::{error_info, items, review};
use super::wire::item::ThreadItem;
use super::wire::thread::{
    GitInfo, SubAgentSource, Thread, ThreadSource, ThreadSpawn, ThreadStatus,
};
use super::wire::turn::{ItemsView, Turn, TurnError, TurnStatus};

/// What the log of a session tells.
#[derive(Debug)]
pub(super) struct StoredThread {
    pub meta: SessionMeta,
    pub turns: Vec<Turn>,
    pub context: Option<TurnContext>,
    pub usage: Option<TokenUsageInfo>,
    /// What was asked and not answered, by the id of the question.
    pub questions: BTreeMap<CallId, PendingQuestion>,
    /// The number of the newest event.
    pub last_seq: u64,
    name: Option<String>,
    note: Option<String>,
    preview: Option<String>,
    updated_ms: i64,
    /// When the last turn began.
    started_ms: i64,
    /// The review that runs, or was cut off, and when it began.
    review: Option<(SubmissionId, i64)>,
}

impl StoredThread {
    pub(super) async fn read(store: &dyn SessionStore, id: SessionId) -> Result<Self, StoreError> {
        let mut pieces = vec![store.read_live(id).await?];
        while let Some(earlier) = before(pieces.last()) {
            pieces.push(store.read_live_at(id, earlier).await?);
        }
        let meta = pieces[0].meta.clone();
        let mut stored = Self {
            updated_ms: created_ms(&meta),
            meta,
            turns: Vec::new(),
            context: None,
            usage: None,
            questions: BTreeMap::new(),
            last_seq: 0,
            name: None,
            note: None,
            preview: None,
            started_ms: 0,
            review: None,
        };
        for piece in pieces.into_iter().rev() {
            for (_, line) in piece.records {
                stored.updated_ms = line.timestamp.0;
                stored.apply(line.record, line.timestamp.0);
            }
        }
        Ok(stored)
    }

    /// Returns the turn that runs, and when it began.
    pub(super) fn open_turn(&self) -> Option<(SubmissionId, i64)> {
        let is_turn = |turn: &&Turn| !self.is_review(&turn.id);
        let last = self.turns.iter().rfind(is_turn)?;
        let runs = last.status == TurnStatus::InProgress;
        runs.then(|| (SubmissionId(last.id.clone()), self.started_ms))
    }

    /// Returns the review that runs, and when it began.
    pub(super) fn open_review(&self) -> Option<(SubmissionId, i64)> {
        self.review.clone()
    }

    fn is_review(&self, turn: &str) -> bool {
        self.review.as_ref().is_some_and(|(id, _)| id.0 == turn)
    }

    pub(super) fn thread(&self, status: ThreadStatus, path: Option<std::path::PathBuf>) -> Thread {
        let meta = &self.meta;
        let context = self.context.as_ref();
        let parent = parent(&meta.source);
        Thread {
            id: meta.id.to_string(),
            session_id: parent.clone().unwrap_or_else(|| meta.id.to_string()),
            forked_from_id: meta.forked_from_id.map(|id| id.to_string()),
            parent_thread_id: parent,
            preview: self.preview.clone().unwrap_or_default(),
            ephemeral: false,
            project_id: None,
            model_provider: meta.model_provider.clone(),
            model: context.map(|context| context.model.clone()),
            created_at: created_ms(meta) / 1000,
            updated_at: self.updated_ms / 1000,
            status,
            path,
            cwd: context.map_or_else(|| meta.cwd.clone(), |context| context.cwd.clone()),
            cli_version: meta.cli_version.clone(),
            source: source(&meta.source),
            agent_nickname: None,
            agent_role: None,
            agent_path: None,
            git_info: meta.git.as_ref().map(|git| GitInfo {
                sha: git.commit_hash.clone(),
                branch: git.branch.clone(),
                origin_url: None,
            }),
            name: self.name.clone(),
            note: self.note.clone(),
            turns: Vec::new(),
        }
    }

    fn apply(&mut self, record: RolloutRecord, at_ms: i64) {
        match record {
            RolloutRecord::TurnContext(context) => self.context = Some(context),
            RolloutRecord::EventMsg(event) => self.event(event, at_ms),
            RolloutRecord::Compacted(compacted) => {
                let carried = compacted.carried;
                self.context = Some(carried.turn_context);
                self.name = carried.thread_name;
                self.note = carried.thread_note;
            }
            _ => {}
        }
    }

    fn event(&mut self, event: EventRecord, at_ms: i64) {
        let EventRecord { id, seq, msg } = event;
        self.last_seq = self.last_seq.max(seq);
        if let Some(question) = PendingQuestion::of(&msg) {
            self.questions.insert(question.id().clone(), question);
        }
        if let Some(call_id) = PendingQuestion::settled_by(&msg) {
            self.questions.remove(call_id);
        }
        match msg {
            EventMsg::TurnStarted(started) => {
                self.started_ms = started.started_at_ms;
                self.turns.push(Turn {
                    id: started.turn_id.0,
                    items: Vec::new(),
                    items_view: ItemsView::Full,
                    status: TurnStatus::InProgress,
                    error: None,
                    started_at: Some(started.started_at_ms / 1000),
                    completed_at: None,
                    duration_ms: None,
                });
            }
            EventMsg::TurnComplete(complete) => {
                self.end(&complete.turn_id, TurnStatus::Completed, at_ms);
            }
            EventMsg::TurnAborted(aborted) => {
                let status = TurnStatus::from(TaskOutcome::from(aborted.reason));
                self.end(&aborted.turn_id, status, at_ms);
            }
            EventMsg::EnteredReviewMode {
                user_facing_hint, ..
            } => self.review_entered(&id, user_facing_hint.as_deref(), at_ms),
            EventMsg::ExitedReviewMode { review_output } => {
                self.review_exited(&id, review_output.as_ref(), at_ms);
            }
            EventMsg::Error(error) if error.fatal => {
                if let Some(turn) = self.turn(&id) {
                    turn.error = Some(TurnError {
                        message: error.message,
                        codex_error_info: error.error_info.as_ref().and_then(error_info),
                        additional_details: None,
                    });
                }
            }
            EventMsg::ItemCompleted { item, turn_id, .. } => self.item(&turn_id, &item),
            EventMsg::TokenCount {
                info: Some(info), ..
            } => self.usage = Some(info),
            EventMsg::ThreadNameUpdated { thread_name } => self.name = thread_name,
            EventMsg::ThreadNoteUpdated { thread_note } => self.note = thread_note,
            other @ (EventMsg::CollabAgentSpawnBegin(_)
            | EventMsg::CollabAgentSpawnEnd(_)
            | EventMsg::CollabAgentInteractionBegin(_)
            | EventMsg::CollabAgentInteractionEnd(_)
            | EventMsg::CollabWaitingBegin(_)
            | EventMsg::CollabWaitingEnd(_)
            | EventMsg::CollabCloseBegin(_)
            | EventMsg::CollabCloseEnd(_)
            | EventMsg::CollabResumeBegin(_)
            | EventMsg::CollabResumeEnd(_)) => {
                if let Some(CollaborationItem::Ended(_, item)) = CollaborationItem::of(&other)
                    && let Some(turn) = self.turn(&id)
                {
                    turn.items.push(item);
                }
            }
            // Pieces and older names of items, answers to single requests, and what concerns
            // only those who follow the session now.
            EventMsg::SessionConfigured(_)
            | EventMsg::TurnContextUpdated(_)
            | EventMsg::ShutdownComplete
            | EventMsg::ResponseCompleted { .. }
            | EventMsg::SteerReceipt(_)
            | EventMsg::ContextCompacted
            | EventMsg::ThreadRolledBack { .. }
            | EventMsg::ItemsInjected { .. }
            | EventMsg::UndoStarted { .. }
            | EventMsg::UndoCompleted(_)
            | EventMsg::StreamError(_)
            | EventMsg::Warning { .. }
            | EventMsg::DeprecationNotice { .. }
            | EventMsg::BackgroundEvent(_)
            | EventMsg::ItemStarted { .. }
            | EventMsg::AgentMessageContentDelta(_)
            | EventMsg::PlanDelta(_)
            | EventMsg::ReasoningContentDelta(_)
            | EventMsg::ReasoningRawContentDelta(_)
            | EventMsg::AgentReasoningSectionBreak { .. }
            | EventMsg::UserMessage { .. }
            | EventMsg::AgentMessage { .. }
            | EventMsg::AgentReasoning { .. }
            | EventMsg::AgentReasoningRawContent { .. }
            | EventMsg::ExecCommandBegin(_)
            | EventMsg::ExecCommandOutputDelta(_)
            | EventMsg::TerminalInteraction { .. }
            | EventMsg::ExecCommandEnd(_)
            | EventMsg::PatchApplyBegin { .. }
            | EventMsg::PatchApplyEnd { .. }
            | EventMsg::PlanUpdate { .. }
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
            | EventMsg::ListSkillsResponse { .. }
            | EventMsg::ListModelsResponse(_)
            | EventMsg::McpListToolsResponse(_)
            | EventMsg::SubagentLifecycle(_)
            | EventMsg::AgentInbox(_)
            | EventMsg::Error(_)
            | EventMsg::TokenCount { info: None, .. } => {}
        }
    }

    fn review_entered(&mut self, id: &SubmissionId, hint: Option<&str>, at_ms: i64) {
        self.review = Some((id.clone(), at_ms));
        self.turns.push(Turn {
            id: id.0.clone(),
            items: vec![review::entered(id, hint)],
            items_view: ItemsView::Full,
            status: TurnStatus::InProgress,
            error: None,
            started_at: Some(at_ms / 1000),
            completed_at: None,
            duration_ms: None,
        });
    }

    fn review_exited(&mut self, id: &SubmissionId, output: Option<&ReviewOutput>, at_ms: i64) {
        let review = self.review.take_if(|(review, _)| review == id);
        let started_ms = review.map_or(at_ms, |(_, started_ms)| started_ms);
        let Some(turn) = self.turn(id) else {
            return;
        };
        turn.items.push(review::exited(id, output));
        turn.completed_at = Some(at_ms / 1000);
        turn.duration_ms = Some(at_ms - started_ms);
        turn.status = match output {
            Some(_) => TurnStatus::Completed,
            None => TurnStatus::Failed,
        };
        turn.error = output.is_none().then(review::no_result);
    }

    fn item(&mut self, turn: &SubmissionId, item: &TurnItem) {
        if let (TurnItem::UserMessage(message), None) = (item, &self.preview) {
            self.preview = Some(joined_text(&message.content));
        }
        let Some(turn) = self.turn(turn) else {
            return;
        };
        if let TurnItem::ToolCall(call) = item
            && collab::collaborates(&call.tool)
            && turn
                .items
                .iter()
                .any(|there| is_collaboration(there, &call.id.0))
        {
            return;
        }
        turn.items.extend(items::item(item));
    }

    fn end(&mut self, id: &SubmissionId, status: TurnStatus, at_ms: i64) {
        // A turn that is over asks nothing more; what others ask is asked again by them.
        let started_ms = self.started_ms;
        if let Some(turn) = self.turn(id) {
            turn.status = status;
            turn.completed_at = Some(at_ms / 1000);
            turn.duration_ms = Some(at_ms - started_ms);
        }
    }

    fn turn(&mut self, id: &SubmissionId) -> Option<&mut Turn> {
        self.turns.iter_mut().rfind(|turn| turn.id == id.0)
    }
}

fn is_collaboration(item: &ThreadItem, call: &str) -> bool {
    matches!(item, ThreadItem::CollabAgentToolCall { id, .. } if id == call)
}

/// Returns where to read on to know what a compaction has replaced.
fn before(piece: Option<&LiveHistory>) -> Option<troupe_store::LogPosition> {
    let piece = piece?;
    let (_, first) = piece.records.first()?;
    matches!(first.record, RolloutRecord::Compacted(_)).then_some(piece.start)
}

/// Returns a thread as lists show it.
pub(super) fn listed(summary: SessionSummary, status: ThreadStatus) -> Thread {
    let parent = parent(&summary.source);
    Thread {
        id: summary.id.to_string(),
        session_id: parent.clone().unwrap_or_else(|| summary.id.to_string()),
        forked_from_id: summary.forked_from.map(|id| id.to_string()),
        parent_thread_id: parent,
        preview: summary.preview.unwrap_or_default(),
        ephemeral: summary.path.is_none(),
        project_id: None,
        model_provider: summary.model_provider,
        model: summary.model,
        created_at: summary.created.0 / 1000,
        updated_at: summary.updated.0 / 1000,
        status,
        path: summary.path,
        cwd: summary.cwd,
        cli_version: env!("CARGO_PKG_VERSION").to_owned(),
        source: source(&summary.source),
        agent_nickname: None,
        agent_role: None,
        agent_path: None,
        git_info: None,
        name: summary.name,
        note: summary.note,
        turns: Vec::new(),
    }
}

pub(super) fn source(source: &SessionSource) -> ThreadSource {
    match source {
        SessionSource::Cli => ThreadSource::Cli,
        SessionSource::Exec => ThreadSource::Exec,
        SessionSource::AppServer => ThreadSource::AppServer,
        SessionSource::Tui => ThreadSource::Custom("tui".to_owned()),
        SessionSource::Mcp => ThreadSource::Custom("mcp".to_owned()),
        SessionSource::Acp => ThreadSource::Custom("acp".to_owned()),
        SessionSource::SubSession { parent, depth, .. } => ThreadSource::SubAgent(SubAgentSource {
            thread_spawn: ThreadSpawn {
                parent_thread_id: parent.to_string(),
                depth: *depth,
            },
        }),
        SessionSource::Unknown(_) => ThreadSource::Unknown,
    }
}

fn parent(source: &SessionSource) -> Option<String> {
    match source {
        SessionSource::SubSession { parent, .. } => Some(parent.to_string()),
        _ => None,
    }
}

fn created_ms(meta: &SessionMeta) -> i64 {
    let created: Result<jiff::Timestamp, _> = meta.timestamp.parse();
    created.map_or(0, jiff::Timestamp::as_millisecond)
}
