//! Events of a session → notifications, for one client.
//!
//! One turn, as clients see it: `thread/status/changed` (active), `turn/started`, items and
//! their deltas, `thread/tokenUsage/updated`, `thread/status/changed` (idle), `turn/completed`.

pub(super) mod collab;
mod deltas;
pub(super) mod items;
mod notices;
pub(super) mod review;
mod texts;
mod usage;

use std::collections::{BTreeMap, HashMap, HashSet};

use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{
    ErrorEvent, McpStartupStatus, TurnAborted, TurnComplete, TurnStarted,
};
use troupe_protocol::usage::{RateLimitSnapshot, TokenUsageInfo};
use troupe_protocol::{
    CallId, Event, EventMsg, ItemId, PendingQuestion, SubmissionId, TaskOutcome, TurnItem,
};

use super::now_ms;
use super::wire::account::{AccountRateLimitsUpdatedNotification, RateLimits};
use super::wire::item::ThreadItem;
use super::wire::notification::{
    ErrorNotification, ItemCompletedNotification, ItemStartedNotification, McpServerStatus,
    McpServerStatusNotification, ServerNotification, ThreadStatusChangedNotification,
    TokenUsageUpdatedNotification, TurnNotification, WarningNotification,
};
use super::wire::thread::{ActiveFlag, ThreadStatus};
use super::wire::turn::{CodexErrorInfo, ItemsView, Turn, TurnError, TurnStatus};
use collab::CollaborationItem;
use review::OpenReview;
use texts::TextProgress;
use usage::rate_limits;
pub(super) use usage::token_usage;

/// What must be remembered between events.
#[derive(Debug)]
pub(super) struct EventTranslator {
    thread: String,
    turn: Option<TranslatedTurn>,
    review: Option<OpenReview>,
    texts: TextProgress,
    /// The part of each reasoning's summary that is being told.
    summary_parts: HashMap<ItemId, u32>,
    /// Calls that were told as work with other agents.
    collaborations: HashSet<CallId>,
    /// Items that have begun and not ended.
    begun: HashSet<ItemId>,
    /// Of these, those that were told because somebody was asked about them, and have not
    /// begun in truth.
    asked: BTreeMap<ItemId, AskedItem>,
    /// Open questions of this thread.
    questions: BTreeMap<CallId, ActiveFlag>,
    /// What was last told of the provider's limits.
    limits: RateLimits,
}

/// What somebody is asked about.
#[derive(Debug)]
pub(super) struct AskedItem {
    pub turn: SubmissionId,
    /// In progress.
    pub item: ThreadItem,
}

/// The turn that runs.
#[derive(Debug)]
pub(super) struct TranslatedTurn {
    pub id: SubmissionId,
    started_at_ms: i64,
    error: Option<TurnError>,
    last_message: Option<ThreadItem>,
}

impl EventTranslator {
    pub(super) fn new(thread: String) -> Self {
        Self {
            thread,
            turn: None,
            review: None,
            texts: TextProgress::default(),
            summary_parts: HashMap::new(),
            collaborations: HashSet::new(),
            begun: HashSet::new(),
            asked: BTreeMap::new(),
            questions: BTreeMap::new(),
            limits: RateLimits::default(),
        }
    }

    /// Takes up a thread whose turn runs already.
    pub(super) fn in_turn(mut self, id: SubmissionId, started_at_ms: i64) -> Self {
        self.turn = Some(TranslatedTurn::new(id, started_at_ms));
        self
    }

    pub(super) fn turn(&self) -> Option<&TranslatedTurn> {
        self.turn.as_ref()
    }

    pub(super) fn status(&self) -> ThreadStatus {
        if self.turn.is_none() && self.review.is_none() {
            return ThreadStatus::Idle;
        }
        let mut active_flags: Vec<ActiveFlag> = self.questions.values().copied().collect();
        active_flags.dedup();
        ThreadStatus::Active { active_flags }
    }

    /// Returns what an event is for clients, usually nothing or one notification.
    pub(super) fn translate(&mut self, event: &Event) -> Vec<ServerNotification> {
        use ServerNotification as N;
        match &event.msg {
            EventMsg::TurnStarted(started) => self.turn_started(started),
            EventMsg::TurnComplete(complete) => self.turn_complete(complete),
            EventMsg::TurnAborted(aborted) => self.turn_aborted(aborted),
            EventMsg::ItemStarted {
                item,
                turn_id,
                started_at_ms,
                ..
            } => self.item_started(item, turn_id, *started_at_ms),
            EventMsg::ItemCompleted {
                item,
                turn_id,
                completed_at_ms,
                ..
            } => self.item_completed(item, turn_id, *completed_at_ms),
            EventMsg::AgentMessageContentDelta(delta) => self.text(delta, N::AgentMessageDelta),
            EventMsg::PlanDelta(delta) => self.text(delta, |delta| N::PlanDelta(delta.into())),
            EventMsg::ReasoningContentDelta(delta) => self.summary(delta),
            EventMsg::ReasoningRawContentDelta(delta) => self.reasoning(delta),
            EventMsg::AgentReasoningSectionBreak {
                item_id,
                summary_index,
            } => self.summary_part(event, item_id, *summary_index),
            EventMsg::ExecCommandOutputDelta(delta) => self.command_output(event, delta),
            EventMsg::TerminalInteraction { .. }
            | EventMsg::McpToolCallProgress { .. }
            | EventMsg::PlanUpdate { .. }
            | EventMsg::TurnDiff { .. }
            | EventMsg::ThreadNameUpdated { .. }
            | EventMsg::ThreadNoteUpdated { .. }
            | EventMsg::DeprecationNotice { .. } => {
                let same = notices::notice(&self.thread, event);
                same.into_iter().collect()
            }
            EventMsg::TokenCount { info, rate_limits } => {
                let usage = info.as_ref().map(|info| self.usage(event, info));
                let limits = rate_limits.as_ref().and_then(|limits| self.limits(limits));
                let usage = usage.map(N::ThreadTokenUsageUpdated);
                usage.into_iter().chain(limits).collect()
            }
            EventMsg::Error(error) => self.error(error),
            EventMsg::StreamError(error) => vec![N::Error(ErrorNotification {
                thread_id: self.thread.clone(),
                turn_id: event.id.0.clone(),
                error: TurnError {
                    message: error.message.clone(),
                    codex_error_info: error.error_info.as_ref().and_then(error_info),
                    additional_details: None,
                },
                will_retry: true,
            })],
            EventMsg::Warning { message } => vec![self.warning(message.clone())],
            EventMsg::McpStartupUpdate { server, status } => {
                vec![N::McpServerStatus(self.mcp_status(server, status))]
            }
            EventMsg::EnteredReviewMode {
                user_facing_hint, ..
            } => self.review_entered(event, user_facing_hint.as_deref()),
            EventMsg::ExitedReviewMode { review_output } => {
                self.review_exited(event, review_output.as_ref())
            }
            EventMsg::ExecApprovalRequest(_)
            | EventMsg::ApplyPatchApprovalRequest(_)
            | EventMsg::RequestUserInput(_)
            | EventMsg::ElicitationRequest(_) => self.question_asked(&event.msg),
            EventMsg::ApprovalResolved { .. }
            | EventMsg::UserInputResolved { .. }
            | EventMsg::ElicitationResolved { .. } => {
                let settled = PendingQuestion::settled_by(&event.msg);
                settled.map_or_else(Vec::new, |call_id| self.resolved(call_id))
            }
            EventMsg::CollabAgentSpawnBegin(_)
            | EventMsg::CollabAgentSpawnEnd(_)
            | EventMsg::CollabAgentInteractionBegin(_)
            | EventMsg::CollabAgentInteractionEnd(_)
            | EventMsg::CollabWaitingBegin(_)
            | EventMsg::CollabWaitingEnd(_)
            | EventMsg::CollabCloseBegin(_)
            | EventMsg::CollabCloseEnd(_)
            | EventMsg::CollabResumeBegin(_)
            | EventMsg::CollabResumeEnd(_) => match CollaborationItem::of(&event.msg) {
                Some(collaboration) => self.collaboration(event, collaboration),
                None => Vec::new(),
            },
            // Told by items, answers to single requests, and what concerns other ways in.
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
            | EventMsg::BackgroundEvent(_)
            | EventMsg::UserMessage { .. }
            | EventMsg::AgentMessage { .. }
            | EventMsg::AgentReasoning { .. }
            | EventMsg::AgentReasoningRawContent { .. }
            | EventMsg::ExecCommandBegin(_)
            | EventMsg::ExecCommandEnd(_)
            | EventMsg::PatchApplyBegin { .. }
            | EventMsg::PatchApplyEnd { .. }
            | EventMsg::ViewImageToolCall { .. }
            | EventMsg::McpStartupComplete { .. }
            | EventMsg::McpToolCallBegin { .. }
            | EventMsg::McpToolCallEnd { .. }
            | EventMsg::ListSkillsResponse { .. }
            | EventMsg::ListModelsResponse(_)
            | EventMsg::McpListToolsResponse(_)
            | EventMsg::SubagentLifecycle(_)
            | EventMsg::AgentInbox(_) => Vec::new(),
        }
    }

    /// The session itself asks a person; questions of agents below it are told at their threads.
    fn question_asked(&mut self, msg: &EventMsg) -> Vec<ServerNotification> {
        match PendingQuestion::of(msg) {
            Some(question) if question.agent().is_none() => {
                let flag = if question.is_approval() {
                    ActiveFlag::WaitingOnApproval
                } else {
                    ActiveFlag::WaitingOnUserInput
                };
                self.question(question.id(), flag)
            }
            Some(_) | None => Vec::new(),
        }
    }

    fn turn_started(&mut self, started: &TurnStarted) -> Vec<ServerNotification> {
        let turn = TranslatedTurn::new(started.turn_id.clone(), started.started_at_ms);
        let told = turn.snapshot(TurnStatus::InProgress, ItemsView::NotLoaded, None);
        self.turn = Some(turn);
        vec![
            self.status_changed(),
            ServerNotification::TurnStarted(TurnNotification {
                thread_id: self.thread.clone(),
                turn: told,
            }),
        ]
    }

    fn turn_complete(&mut self, complete: &TurnComplete) -> Vec<ServerNotification> {
        let duration_ms = i64::try_from(complete.duration_ms).unwrap_or(i64::MAX);
        self.turn_over(&complete.turn_id, TurnStatus::Completed, Some(duration_ms))
    }

    fn turn_aborted(&mut self, aborted: &TurnAborted) -> Vec<ServerNotification> {
        let status = TurnStatus::from(TaskOutcome::from(aborted.reason));
        self.turn_over(&aborted.turn_id, status, None)
    }

    fn turn_over(
        &mut self,
        id: &SubmissionId,
        status: TurnStatus,
        duration_ms: Option<i64>,
    ) -> Vec<ServerNotification> {
        // A turn of an earlier life of the session is in its history.
        let Some(turn) = self.turn.take_if(|turn| turn.id == *id) else {
            return Vec::new();
        };
        self.questions.clear();
        self.texts = TextProgress::default();
        self.summary_parts.clear();
        self.collaborations.clear();
        self.begun.clear();
        let left = std::mem::take(&mut self.asked).into_values();
        let mut told: Vec<ServerNotification> = left.map(|asked| self.declined(asked)).collect();
        let duration_ms = duration_ms.unwrap_or_else(|| now_ms() - turn.started_at_ms);
        let turn = turn.snapshot(status, ItemsView::Summary, Some(duration_ms));
        told.push(self.status_changed());
        told.push(ServerNotification::TurnCompleted(TurnNotification {
            thread_id: self.thread.clone(),
            turn,
        }));
        told
    }

    /// Returns the beginning of an item that somebody is about to be asked about, unless it was
    /// told.
    pub(super) fn asked(&mut self, asked: AskedItem) -> Option<ServerNotification> {
        let id = ItemId(asked.item.id().to_owned());
        if !self.begun.insert(id.clone()) {
            return None;
        }
        let started = self.started(&asked.turn.0, asked.item.clone());
        self.asked.insert(id, asked);
        Some(started)
    }

    /// Ends an item that was asked about and never begun.
    fn declined(&self, asked: AskedItem) -> ServerNotification {
        let item = asked.item.declined();
        self.completed(&asked.turn.0, item, now_ms())
    }

    fn item_started(
        &mut self,
        item: &TurnItem,
        turn: &SubmissionId,
        started_at_ms: i64,
    ) -> Vec<ServerNotification> {
        if !self.begun.insert(item.id().clone()) {
            // It was told when somebody was asked about it.
            self.asked.remove(item.id());
            return Vec::new();
        }
        if let TurnItem::ToolCall(call) = item
            && collab::collaborates(&call.tool)
        {
            // It is told when it turns out to be work with other agents, or when it is over.
            return Vec::new();
        }
        let started = items::item(item).map(|item| {
            ServerNotification::ItemStarted(ItemStartedNotification {
                thread_id: self.thread.clone(),
                turn_id: turn.0.clone(),
                item,
                started_at_ms,
            })
        });
        started.into_iter().collect()
    }

    fn item_completed(
        &mut self,
        item: &TurnItem,
        turn: &SubmissionId,
        completed_at_ms: i64,
    ) -> Vec<ServerNotification> {
        self.texts.is_over(item.id());
        self.summary_parts.remove(item.id());
        self.begun.remove(item.id());
        self.asked.remove(item.id());
        let call = CallId(item.id().0.clone());
        if self.collaborations.remove(&call) {
            return Vec::new();
        }
        let Some(item) = items::item(item) else {
            return Vec::new();
        };
        if let (ThreadItem::AgentMessage { .. }, Some(turn)) = (&item, &mut self.turn) {
            turn.last_message = Some(item.clone());
        }
        vec![self.completed(&turn.0, item, completed_at_ms)]
    }

    fn completed(&self, turn: &str, item: ThreadItem, at_ms: i64) -> ServerNotification {
        ServerNotification::ItemCompleted(ItemCompletedNotification {
            thread_id: self.thread.clone(),
            turn_id: turn.to_owned(),
            item,
            completed_at_ms: at_ms,
        })
    }

    fn started(&self, turn: &str, item: ThreadItem) -> ServerNotification {
        ServerNotification::ItemStarted(ItemStartedNotification {
            thread_id: self.thread.clone(),
            turn_id: turn.to_owned(),
            item,
            started_at_ms: now_ms(),
        })
    }

    fn whole_item(&self, event: &Event, item: ThreadItem) -> Vec<ServerNotification> {
        let turn = &event.id.0;
        vec![
            self.started(turn, item.clone()),
            self.completed(turn, item, now_ms()),
        ]
    }

    fn collaboration(&mut self, event: &Event, it: CollaborationItem) -> Vec<ServerNotification> {
        let turn = &event.id.0;
        vec![match it {
            CollaborationItem::Begun(call, item) => {
                self.collaborations.insert(call);
                self.started(turn, item)
            }
            CollaborationItem::Ended(call, item) => {
                // The call itself ends a moment later.
                self.collaborations.insert(call);
                self.completed(turn, item, now_ms())
            }
        }]
    }

    fn usage(&self, event: &Event, info: &TokenUsageInfo) -> TokenUsageUpdatedNotification {
        TokenUsageUpdatedNotification {
            thread_id: self.thread.clone(),
            turn_id: event.id.0.clone(),
            token_usage: token_usage(info),
        }
    }

    /// Tells the limits of the provider, if they are not what was told before.
    fn limits(&mut self, limits: &RateLimitSnapshot) -> Option<ServerNotification> {
        let rate_limits = rate_limits(limits);
        if rate_limits == self.limits {
            return None;
        }
        self.limits = rate_limits.clone();
        let updated = AccountRateLimitsUpdatedNotification { rate_limits };
        Some(ServerNotification::AccountRateLimitsUpdated(updated))
    }

    /// An error that ends the turn is told, and again with the turn. Any other ends nothing.
    fn error(&mut self, error: &ErrorEvent) -> Vec<ServerNotification> {
        match (&mut self.turn, error.fatal) {
            (Some(turn), true) if error.error_info != Some(ErrorInfo::Interrupted) => {
                let told = TurnError {
                    message: error.message.clone(),
                    codex_error_info: error.error_info.as_ref().and_then(error_info),
                    additional_details: None,
                };
                turn.error = Some(told.clone());
                vec![ServerNotification::Error(ErrorNotification {
                    thread_id: self.thread.clone(),
                    turn_id: turn.id.0.clone(),
                    error: told,
                    will_retry: false,
                })]
            }
            (_, true) => Vec::new(),
            (_, false) => vec![self.warning(error.message.clone())],
        }
    }

    fn warning(&self, message: String) -> ServerNotification {
        ServerNotification::Warning(WarningNotification {
            thread_id: Some(self.thread.clone()),
            message,
        })
    }

    fn mcp_status(&self, server: &str, status: &McpStartupStatus) -> McpServerStatusNotification {
        let (status, error) = match status {
            McpStartupStatus::Starting => (McpServerStatus::Starting, None),
            McpStartupStatus::Ready => (McpServerStatus::Ready, None),
            McpStartupStatus::Failed { error } => (McpServerStatus::Failed, Some(error.clone())),
            McpStartupStatus::Cancelled => (McpServerStatus::Cancelled, None),
        };
        McpServerStatusNotification {
            thread_id: Some(self.thread.clone()),
            name: server.to_owned(),
            status,
            error,
        }
    }

    fn question(&mut self, call: &CallId, flag: ActiveFlag) -> Vec<ServerNotification> {
        self.questions.insert(call.clone(), flag);
        vec![self.status_changed()]
    }

    fn resolved(&mut self, call: &CallId) -> Vec<ServerNotification> {
        match self.questions.remove(call) {
            Some(_) if self.turn.is_some() => vec![self.status_changed()],
            Some(_) | None => Vec::new(),
        }
    }

    fn status_changed(&self) -> ServerNotification {
        ServerNotification::ThreadStatusChanged(ThreadStatusChangedNotification {
            thread_id: self.thread.clone(),
            status: self.status(),
        })
    }
}

impl TranslatedTurn {
    fn new(id: SubmissionId, started_at_ms: i64) -> Self {
        Self {
            id,
            started_at_ms,
            error: None,
            last_message: None,
        }
    }

    fn snapshot(&self, status: TurnStatus, view: ItemsView, duration_ms: Option<i64>) -> Turn {
        Turn {
            id: self.id.0.clone(),
            items: self.last_message.clone().into_iter().collect(),
            items_view: view,
            status,
            error: self.error.clone(),
            started_at: Some(self.started_at_ms / 1000),
            completed_at: duration_ms.map(|ms| (self.started_at_ms + ms) / 1000),
            duration_ms,
        }
    }
}

/// Returns the kind of an error, if clients know it.
pub(super) fn error_info(info: &ErrorInfo) -> Option<CodexErrorInfo> {
    Some(match *info {
        ErrorInfo::ContextWindowExceeded => CodexErrorInfo::ContextWindowExceeded,
        ErrorInfo::UsageLimitExceeded => CodexErrorInfo::UsageLimitExceeded,
        ErrorInfo::ServerOverloaded => CodexErrorInfo::ServerOverloaded,
        ErrorInfo::HttpConnectionFailed { http_status_code } => {
            CodexErrorInfo::HttpConnectionFailed { http_status_code }
        }
        ErrorInfo::ResponseStreamConnectionFailed { http_status_code } => {
            CodexErrorInfo::ResponseStreamConnectionFailed { http_status_code }
        }
        ErrorInfo::ResponseStreamDisconnected { http_status_code } => {
            CodexErrorInfo::ResponseStreamDisconnected { http_status_code }
        }
        ErrorInfo::ResponseTooManyFailedAttempts { http_status_code } => {
            CodexErrorInfo::ResponseTooManyFailedAttempts { http_status_code }
        }
        ErrorInfo::InternalServerError => CodexErrorInfo::InternalServerError,
        ErrorInfo::Unauthorized => CodexErrorInfo::Unauthorized,
        ErrorInfo::BadRequest => CodexErrorInfo::BadRequest,
        ErrorInfo::SandboxError => CodexErrorInfo::SandboxError,
        ErrorInfo::ThreadRollbackFailed => CodexErrorInfo::ThreadRollbackFailed,
        ErrorInfo::Interrupted => return None,
        _ => CodexErrorInfo::Other,
    })
}
