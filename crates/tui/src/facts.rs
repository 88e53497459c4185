//! What is known of the session as a whole: the fold of its events, without the conversation.

use troupe_protocol::catalogue::ModelList;
use troupe_protocol::command::StepStatus;
use troupe_protocol::event::{McpStartupStatus, SkillSummary};
use troupe_protocol::link::{ClientRole, Seat, ServerNotice};
use troupe_protocol::policy::CollaborationMode;
use troupe_protocol::session::TurnContext;
use troupe_protocol::usage::{RateLimitSnapshot, TokenUsageInfo};
use troupe_protocol::{ClientId, EventMsg, SessionId, SubmissionId, TurnItem};

use crate::cells::UserCell;

#[derive(Debug, Clone, Default)]
pub struct SessionFacts {
    pub session: Option<SessionId>,
    pub forked_from: Option<SessionId>,
    pub name: Option<String>,
    pub note: Option<String>,
    pub provider: String,
    pub context: Option<TurnContext>,
    pub instructions: Vec<std::path::PathBuf>,
    pub usage: Option<TokenUsageInfo>,
    pub limits: Option<RateLimitSnapshot>,
    pub task: Option<RunningTask>,
    pub models: Option<ModelList>,
    pub skills: Vec<SkillSummary>,
    /// Servers that did not start, and why.
    pub broken_servers: Vec<String>,
    /// What the task has changed so far.
    pub diff: Option<String>,
    pub seat: Option<Seat>,
    pub me: Option<ClientId>,
    /// The branch of the working directory, as far as it is on this machine.
    pub branch: Option<String>,
    /// How many of the model's own steps are done, of how many.
    pub steps: Option<(usize, usize)>,
    /// What each turn of the live branch began with, oldest first.
    pub turns: Vec<String>,
    is_turn_unnamed: bool,
    /// Why there is no connection.
    pub lost: Option<String>,
    /// Events up to this one are history: nobody is told of them.
    pub caught_up_at: u64,
}

/// The root's own task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningTask {
    pub id: SubmissionId,
    pub since_ms: i64,
}

impl SessionFacts {
    pub fn take(&mut self, msg: &EventMsg) {
        match msg {
            EventMsg::SessionConfigured(configured) => {
                self.session = Some(configured.session_id);
                self.forked_from = configured.forked_from_id;
                self.name.clone_from(&configured.thread_name);
                self.note.clone_from(&configured.thread_note);
                self.provider.clone_from(&configured.model_provider_id);
                self.context = Some(configured.context.clone());
                self.instructions
                    .clone_from(&configured.instruction_sources);
                // What ran in an earlier process runs no more.
                self.task = None;
            }
            EventMsg::ThreadNameUpdated { thread_name } => self.name.clone_from(thread_name),
            EventMsg::ThreadNoteUpdated { thread_note } => self.note.clone_from(thread_note),
            EventMsg::TurnContextUpdated(context) => self.context = Some(context.clone()),
            EventMsg::TurnStarted(started) => {
                self.turns.push(String::new());
                self.is_turn_unnamed = true;
                self.diff = None;
                self.steps = None;
                self.task = Some(RunningTask {
                    id: started.turn_id.clone(),
                    since_ms: started.started_at_ms,
                });
            }
            EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_) => self.task = None,
            EventMsg::ItemCompleted {
                item: TurnItem::UserMessage(message),
                ..
            } if self.is_turn_unnamed => {
                self.is_turn_unnamed = false;
                if let Some(turn) = self.turns.last_mut() {
                    *turn = UserCell::of(&message.content).text;
                }
            }
            EventMsg::ThreadRolledBack { num_turns } => {
                let count = usize::try_from(*num_turns).unwrap_or(usize::MAX);
                self.turns.truncate(self.turns.len().saturating_sub(count));
            }
            EventMsg::TokenCount { info, rate_limits } => {
                self.usage = info.or(self.usage);
                if rate_limits.is_some() {
                    self.limits.clone_from(rate_limits);
                }
            }
            EventMsg::PlanUpdate { plan, .. } => {
                let done = plan
                    .iter()
                    .filter(|step| step.status == StepStatus::Completed);
                self.steps = Some((done.count(), plan.len()));
            }
            EventMsg::TurnDiff { unified_diff } => self.diff = Some(unified_diff.clone()),
            EventMsg::ListModelsResponse(list) => self.models = Some(list.clone()),
            EventMsg::ListSkillsResponse { skills } => {
                let entries = skills.iter().flat_map(|entry| entry.skills.clone());
                self.skills = entries.collect();
            }
            EventMsg::McpStartupUpdate {
                server,
                status: McpStartupStatus::Failed { error },
            } => self.broken_servers.push(format!("{server}: {error}")),
            _ => {}
        }
    }

    /// Takes what is told of the connection.
    pub fn take_notice(&mut self, notice: &ServerNotice) {
        match notice {
            ServerNotice::Welcome(welcome) => {
                self.me = Some(welcome.client.clone());
                self.seat = Some(welcome.seat.clone());
                self.caught_up_at = self.caught_up_at.max(welcome.seq);
                self.lost = None;
            }
            ServerNotice::Seat(seat) => self.seat = Some(seat.clone()),
            _ => {}
        }
    }

    /// Tells whether submissions of this screen reach the session.
    pub fn drives(&self) -> bool {
        self.seat
            .as_ref()
            .is_none_or(|seat| seat.role == ClientRole::Drive)
    }

    pub fn is_planning(&self) -> bool {
        let mode = self
            .context
            .as_ref()
            .map(|context| context.collaboration_mode);
        mode == Some(CollaborationMode::Plan)
    }

    /// Returns how much of the context window is used, in percent.
    pub fn context_percent(&self) -> Option<u64> {
        let usage = self.usage?;
        let window = usage.model_context_window.filter(|window| *window > 0)?;
        Some((usage.last_token_usage.total_tokens.saturating_mul(100) / window).min(100))
    }
}
