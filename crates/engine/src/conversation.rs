//! One open conversation: its settings, what the model knows of it, and the running task.
//!
//! The parts of its behaviour are files of their own: `opening` and `forking` (how it
//! begins), `preparing` (a user turn before anything is aborted for it), `running` (a task's
//! requests), `skilled` (the skills it can use), `steering` (messages that join it), `cycle`
//! (one response and its calls), `equipping` (tools that come from elsewhere), `injecting` (items of a client's own), `ending` (a
//! task's result), `stopping` (ending a task early), `requests` (everything else a client may
//! ask), `undoing` (files as they were), `compaction` (making the history smaller), `models`
//! (what is known about the model), `remedy` (requests that a provider refuses), `hosted` (what the tree is told), `ordered` (what the tree
//! asks for), `user_shell` (commands of the user's own).

mod compaction;
mod cycle;
mod ending;
mod forking;
mod host_calls;
mod injecting;
mod leaving;
mod models;
mod opening;
mod preparing;
mod refused_requests;
mod requests;
mod running;
mod steering;
mod stopping;
mod task_skills;
mod tool_sources;
mod tree_orders;
mod undoing;
mod user_shell;

use std::sync::Arc;

use serde_json::Value;
use troupe_model::{LanguageModel, ToolSet};
use troupe_protocol::input::{UserInput, is_blank};
use troupe_protocol::op::{ConfigureSession, ForkPoint, Op};
use troupe_protocol::policy::Personality;
use troupe_protocol::rollout::{CarriedState, SessionMeta};
use troupe_protocol::session::{TurnContext, TurnOverrides};
use troupe_protocol::tree::MessageId;
use troupe_protocol::usage::{RateLimitSnapshot, TokenUsage, TokenUsageInfo};
use troupe_protocol::{ResponseId, ResponseItem, SessionId};
use troupe_store::SessionStore;
use troupe_tools::Registry;

use crate::context::{self, SettingNote};
use crate::deps::{IdSource, InstructionSettings, SessionClock, TaskTerms, WindowSettings};
use crate::emit::Emitter;
use crate::history::PromptHistory;
use crate::host::{SessionHost, SessionOrder};
use crate::limits::AUTO_COMPACT_PERCENT;
use crate::mailbox::Mailbox;
use crate::sharing::SharedEncodings;
use crate::task::Task;
use crate::user_input::{DecodedPictures, MessageAuthor, PictureSource};
use models::ModelKnowledge;

pub(crate) use models::check_model;
pub(crate) use preparing::ResumePoint;
pub(crate) use tool_sources::ToolSourceUpdate;
pub use undoing::preview_undo;
pub(crate) use user_shell::output_for_model;

#[derive(Debug)]
pub(crate) struct Conversation {
    pub tools: Arc<Registry>,
    pub task: Option<Task>,
    /// The shape of answer that a client asked for in its last turn.
    asked_shape: Option<Value>,
    terms: TaskTerms,
    /// How many times the model has answered since the session was opened.
    responses: u32,
    /// Nobody is left to answer: what would be asked is refused.
    unattended: bool,
    meta: SessionMeta,
    store: Arc<dyn SessionStore>,
    model: Arc<dyn LanguageModel>,
    toolset: Arc<ToolSet>,
    listings: tool_sources::PendingListings,
    instructions: InstructionSettings,
    window: WindowSettings,
    /// The settings of the tasks to come.
    context: TurnContext,
    /// The model is told the developer's instructions again, because others came in between.
    reinstructs: bool,
    history: PromptHistory,
    usage: SessionUsage,
    thread_name: Option<String>,
    thread_note: Option<String>,
    /// There are lines of an agent tree in the log.
    has_agents: bool,
    skills: task_skills::TaskSkills,
    /// The pictures of the message that is about to be read.
    pub pictures: Arc<DecodedPictures>,
    /// What the model is to be told, and is not yet.
    untold: Vec<ResponseItem>,
    shells: user_shell::UserShells,
    host: Arc<dyn SessionHost>,
    encodings: Arc<SharedEncodings>,
    prompt_cache_key: String,
    /// Counts the tasks of this process.
    epoch: u64,
    models: ModelKnowledge,
    mailbox: Mailbox,
    clock: SessionClock,
    ids: IdSource,
}

/// What was used so far.
#[derive(Debug, Default)]
struct SessionUsage {
    total: TokenUsage,
    last: TokenUsage,
    rate_limits: Option<RateLimitSnapshot>,
    /// The provider's count of the history's first items, if it gave one.
    counted: Option<PrefixCount>,
}

#[derive(Debug, Clone, Copy)]
struct PrefixCount {
    tokens: u64,
    items: usize,
}

/// What a user turn asks for.
#[derive(Debug, Clone)]
pub(crate) struct NewTask {
    pub items: Vec<UserInput>,
    pub overrides: TurnOverrides,
    pub output_schema: Option<Value>,
    /// The bookmark to continue from.
    pub from: Option<ResponseId>,
    /// The client's own name for the message.
    pub client_id: Option<String>,
    pub asker: TaskRequester,
}

/// The requester of a task.
#[derive(Debug, Clone)]
pub(crate) enum TaskRequester {
    Client,
    /// The tree: the task begins with this message of the inbox.
    Inbox(MessageId),
}

impl NewTask {
    fn author(&self) -> MessageAuthor {
        match self.asker {
            TaskRequester::Client => MessageAuthor::User,
            TaskRequester::Inbox(_) => MessageAuthor::Agent,
        }
    }

    pub(crate) fn into_op(self) -> Op {
        Op::UserTurn {
            items: self.items,
            overrides: self.overrides,
            final_output_json_schema: self.output_schema,
            last_response_id: self.from,
            client_id: self.client_id,
        }
    }
}

impl Conversation {
    /// Returns the request that opens a fork which goes on with this conversation's settings.
    pub(crate) fn fork_request(&self, point: ForkPoint) -> ConfigureSession {
        let context = self.context.clone();
        ConfigureSession {
            overrides: TurnOverrides {
                collaboration_mode: Some(context.mode_choice()),
                plan_writes: Some(context.plan_writes),
                effort: Some(models::effective_effort(&context).into()),
                cwd: Some(context.cwd),
                approval_policy: Some(context.approval_policy),
                sandbox_policy: Some(context.sandbox_policy),
                model: Some(context.model),
                summary: Some(context.summary),
                personality: context.personality,
                developer_instructions: context.developer_instructions,
            },
            model_provider: Some(self.meta.model_provider.clone()),
            base_instructions: self.meta.base_instructions.clone(),
            developer_instructions: self.meta.developer_instructions.clone(),
            fork: Some(point),
            ..ConfigureSession::default()
        }
    }

    /// Returns the pictures that have to be decoded before this can be done.
    pub(crate) fn undecoded_pictures(&self, op: &Op) -> Vec<PictureSource> {
        let injected;
        let (items, cwd) = match op {
            Op::UserTurn {
                items, overrides, ..
            } => (items, overrides.cwd.as_ref().unwrap_or(&self.context.cwd)),
            Op::UserInput { items, .. } => (items, &self.context.cwd),
            Op::Steer { items, .. } => (items, &self.turn_context().cwd),
            Op::InjectItems { items } => {
                injected = injecting::pictures(items);
                (&injected, &self.context.cwd)
            }
            _ => return Vec::new(),
        };
        self.pictures.missing(items, cwd)
    }

    /// Returns the pictures that have to be decoded before an order of the tree can be carried out.
    pub(crate) fn undecoded_mail(&self, order: &SessionOrder) -> Vec<PictureSource> {
        let (first, more, cwd) = match order {
            SessionOrder::Start { mail, ahead, .. } => (Some(mail), ahead, &self.context.cwd),
            SessionOrder::Mail(mail) => (None, mail, &self.turn_context().cwd),
            SessionOrder::Abort { .. }
            | SessionOrder::Write(_)
            | SessionOrder::Record { .. }
            | SessionOrder::Tell(_)
            | SessionOrder::Answer { .. }
            | SessionOrder::Operate { .. } => return Vec::new(),
        };
        let more = more.iter().map(|(_, message)| message);
        let messages = first.into_iter().chain(more);
        let pictures = messages.map(|message| self.pictures.missing(&message.items, cwd));
        pictures.flatten().collect()
    }

    pub(crate) fn id(&self) -> SessionId {
        self.meta.id
    }

    pub(crate) fn store(&self) -> Arc<dyn SessionStore> {
        Arc::clone(&self.store)
    }

    /// Returns the conversation's name if it shares its cache key with another.
    fn own_name(&self) -> Option<String> {
        let own = self.id().to_string();
        (own != self.prompt_cache_key).then_some(own)
    }

    /// Returns the settings of the running task; without one, those of the next.
    fn turn_context(&self) -> &TurnContext {
        let task = self.task.as_ref();
        task.map_or(&self.context, |task| &task.context)
    }

    /// Returns how full the context may be before it is compacted.
    fn compact_limit(&self) -> u64 {
        let window = self.known_window(&self.turn_context().model);
        let by_window = window.map(|tokens| tokens.saturating_mul(AUTO_COMPACT_PERCENT) / 100);
        let configured = self.window.auto_compact_token_limit;
        // A window that is only assumed is the provider's to enforce.
        let limits = by_window.into_iter().chain(configured);
        limits.min().unwrap_or(u64::MAX)
    }

    /// Returns how full the context is: the provider's count, and an estimate of what was
    /// added since.
    fn context_tokens(&self) -> u64 {
        match self.usage.counted {
            Some(counted) => counted.tokens + self.history.tokens_since(counted.items),
            None => self.history.tokens_since(0),
        }
    }

    fn usage_info(&self) -> TokenUsageInfo {
        TokenUsageInfo {
            total_token_usage: self.usage.total,
            last_token_usage: self.usage.last,
            model_context_window: Some(self.context_window()),
        }
    }

    fn carried(&self, out: &Emitter) -> CarriedState {
        CarriedState {
            turn_context: self.context.clone(),
            total_token_usage: self.usage.total,
            seq_reserved_until: out.reserved_until(),
            thread_name: self.thread_name.clone(),
            thread_note: self.thread_note.clone(),
            last_response_id: self
                .history
                .last_bookmark()
                .map(|bookmark| bookmark.response_id.clone()),
            has_agents: self.has_agents,
            output_schema: self.asked_shape.clone(),
        }
    }

    fn base_instructions(&self) -> Option<&str> {
        let own = self.meta.base_instructions.as_deref();
        own.or(self.instructions.base.as_deref())
    }

    /// Returns the instructions as they were when the session began: a provider finds them
    /// again, and what changed since then is told in the history. Only a manner that is not
    /// wanted any more is taken out of them.
    fn instructions(&self) -> Arc<troupe_model::EncodedInstructions> {
        let personality = self.filled_personality();
        let role = self.instructions.role.as_deref();
        self.encodings.instructions(context::instructions(
            self.base_instructions(),
            personality,
            role,
        ))
    }

    /// Returns the manner that stands in the place for it in the instructions.
    fn filled_personality(&self) -> Personality {
        match self.turn_context().personality {
            Some(Personality::None) => Personality::None,
            _ => self.meta.personality.unwrap_or(Personality::None),
        }
    }

    fn environment_text(&self) -> String {
        context::environment(&self.bounded_context(), &self.instructions, &self.clock)
    }

    /// Returns what the model must be told about its surroundings and does not know yet.
    fn missing_context(&self, warnings: &mut Vec<String>) -> Vec<ResponseItem> {
        let told: Vec<&str> = self.history.fragments().collect();
        self.context_beside(&told, warnings)
    }

    /// Takes the settings of the tasks to come.
    fn set_context(&mut self, context: TurnContext) {
        let before = self.developer_instructions(&self.context);
        self.reinstructs |= before != self.developer_instructions(&context);
        self.context = context;
    }

    /// Returns what the model is told as a developer; nothing of a text that says nothing.
    fn developer_instructions<'a>(&'a self, context: &'a TurnContext) -> Option<&'a str> {
        let own = context.developer_instructions.as_deref();
        let opened_with = self.meta.developer_instructions.as_deref();
        own.or(opened_with).filter(|text| !is_blank(text))
    }

    /// Returns what a model must be told that was told this.
    fn context_beside(&self, told: &[&str], warnings: &mut Vec<String>) -> Vec<ResponseItem> {
        let mut items = Vec::new();
        let context = self.turn_context();
        let developer = self.developer_instructions(context);
        if let Some(text) = developer.filter(|text| self.reinstructs || !told.contains(text)) {
            items.push(ResponseItem::developer_text(text));
        }
        let title = context::project_doc_title(&context.cwd);
        if !told.iter().any(|text| text.starts_with(&title)) {
            let doc = context::project_doc(&context.cwd, &self.instructions);
            warnings.extend(doc.warnings);
            items.extend(doc.message);
        }
        let environment = self.environment_text();
        let last = told.iter().rev().find(|text| context::is_environment(text));
        if last.is_none_or(|last| **last != environment) {
            items.push(ResponseItem::user_text(environment));
        }
        let filled = if context::has_place_for_personality(self.base_instructions()) {
            self.filled_personality()
        } else {
            Personality::None
        };
        let wanted = context.personality.unwrap_or(Personality::None);
        items.extend(SettingNote::manner(wanted, filled).missing(told));
        items.extend(SettingNote::mode(context).missing(told));
        items.extend(self.missing_skills(told, warnings));
        items
    }
}
