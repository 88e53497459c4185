//! One open session: the conversation that lasts from task to task, and the task that runs.
//!
//! [`OpenSession`] is what the actor drives. It proves once whether a task runs, and hands it to
//! [`Conversation`], whose methods take the task that they are about. The parts of a
//! conversation have owners of their own: `services` (what it works with), `settings` (what it was
//! told to be), `ledgers` (what happened in it), `models`, `task_skills`, `user_shell`.
//!
//! The files by topic: `opening` and `forking` (how it begins), `preparing` (a user turn before
//! anything is aborted for it), `running` (a task's requests), `steering` (messages that join it),
//! `cycle` (one response and its calls), `tool_sources` (tools that come from elsewhere),
//! `injecting` (items of a client's own), `leaving` and `ending` (a task's result), `stopping`
//! (ending a task early), `requests` (everything else a client may ask), `undoing` (files as they
//! were), `compaction` (making the history smaller), `refused_requests` (those that a provider
//! refuses), `host_calls` (what the tree is told), `tree_orders` (what the tree asks for).

mod compaction;
mod cycle;
mod ending;
mod forking;
mod host_calls;
mod injecting;
mod leaving;
mod ledgers;
mod models;
mod opening;
mod preparing;
mod refused_requests;
mod requests;
mod running;
mod services;
mod settings;
mod steering;
mod stopping;
mod task_skills;
mod tool_sources;
mod tree_orders;
mod undoing;
mod user_shell;

use std::sync::Arc;

use serde_json::Value;
use troupe_model::ToolSet;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::{ConfigureSession, ForkPoint, Op};
use troupe_protocol::rollout::CarriedState;
use troupe_protocol::session::{TurnContext, TurnOverrides};
use troupe_protocol::tree::MessageId;
use troupe_protocol::{CallId, ResponseId, ResponseItem, SessionId, SubmissionId};
use troupe_store::{SessionStore, StoreError};
use troupe_tools::Registry;

use crate::calls::{CallOrigin, CallSignal};
use crate::context::{self, SettingNote};
use crate::emit::Emitter;
use crate::host::{SessionHost, SessionOrder};
use crate::limits::AUTO_COMPACT_PERCENT;
use crate::task::Task;
use crate::user_input::{DecodedPictures, MessageAuthor, PictureSource};
use ledgers::SessionLedgers;
use models::ModelKnowledge;
use services::SessionServices;
use settings::SessionSettings;

pub(crate) use models::check_model;
pub(crate) use preparing::ResumePoint;
pub(crate) use tool_sources::ToolSourceUpdate;
pub use undoing::preview_undo;
pub(crate) use user_shell::output_for_model;

/// A conversation, and the task that runs in it.
#[derive(Debug)]
pub(crate) struct OpenSession {
    pub conversation: Conversation,
    pub task: Option<Task>,
}

/// What lasts from task to task.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub tools: Arc<Registry>,
    toolset: Arc<ToolSet>,
    listings: tool_sources::PendingListings,
    services: SessionServices,
    settings: SessionSettings,
    ledgers: SessionLedgers,
    skills: task_skills::TaskSkills,
    models: ModelKnowledge,
    shells: user_shell::UserShells,
    /// The pictures of the message that is about to be read.
    pub pictures: Arc<DecodedPictures>,
    /// Nobody is left to answer: what would be asked is refused.
    unattended: bool,
    /// Counts the tasks of this process.
    epoch: u64,
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

impl OpenSession {
    /// Hands what one network read brought to the task that asked for it.
    pub(crate) async fn model(
        &mut self,
        out: &mut Emitter,
        batch: Vec<troupe_model::ModelEvent>,
    ) -> Result<(), StoreError> {
        let Some(task) = &mut self.task else {
            return Ok(());
        };
        let done = self.conversation.model(task, out, batch).await;
        self.drop_ended_task();
        done
    }

    /// Takes a signal of a running call. One of a task that is over is ignored.
    pub(crate) async fn signal(
        &mut self,
        out: &mut Emitter,
        caller: CallOrigin,
        call_id: CallId,
        signal: CallSignal,
    ) -> Result<(), StoreError> {
        let epoch = match caller {
            CallOrigin::Model { epoch } => epoch,
            CallOrigin::User => return Box::pin(self.shell_signal(out, &call_id, signal)).await,
        };
        let Some(task) = self.task.as_mut().filter(|task| task.epoch == epoch) else {
            return Ok(());
        };
        let conversation = &mut self.conversation;
        let done = conversation.call_signal(task, out, call_id, signal).await;
        self.drop_ended_task();
        done
    }

    /// Lets go of a task whose end is in the log.
    fn drop_ended_task(&mut self) {
        self.task.take_if(|task| task.is_over());
    }

    /// Returns the pictures that have to be decoded before this can be done.
    pub(crate) fn undecoded_pictures(&self, op: &Op) -> Vec<PictureSource> {
        let injected;
        let next = &self.conversation.settings.context;
        let (items, cwd) = match op {
            Op::UserTurn {
                items, overrides, ..
            } => (items, overrides.cwd.as_ref().unwrap_or(&next.cwd)),
            Op::UserInput { items, .. } => (items, &next.cwd),
            Op::Steer { items, .. } => (items, &self.turn_context().cwd),
            Op::InjectItems { items } => {
                injected = injecting::pictures(items);
                (&injected, &next.cwd)
            }
            _ => return Vec::new(),
        };
        self.conversation.pictures.missing(items, cwd)
    }

    /// Returns the pictures that have to be decoded before an order of the tree can be carried out.
    pub(crate) fn undecoded_mail(&self, order: &SessionOrder) -> Vec<PictureSource> {
        let (first, more, context) = match order {
            SessionOrder::Start { mail, ahead, .. } => {
                (Some(mail), ahead, &self.conversation.settings.context)
            }
            SessionOrder::Mail(mail) => (None, mail, self.turn_context()),
            SessionOrder::Abort { .. }
            | SessionOrder::Write(_)
            | SessionOrder::Record { .. }
            | SessionOrder::Tell(_)
            | SessionOrder::Answer { .. }
            | SessionOrder::Operate { .. } => return Vec::new(),
        };
        let more = more.iter().map(|(_, message)| message);
        let messages = first.into_iter().chain(more);
        let pictures = &self.conversation.pictures;
        messages
            .flat_map(|message| pictures.missing(&message.items, &context.cwd))
            .collect()
    }

    pub(crate) fn id(&self) -> SessionId {
        self.conversation.id()
    }

    pub(crate) fn host(&self) -> &dyn SessionHost {
        &*self.conversation.services.host
    }

    pub(crate) fn task_id(&self) -> Option<SubmissionId> {
        self.task.as_ref().map(|task| task.id.clone())
    }

    /// Returns the settings of the running task; without one, those of the next.
    pub(crate) fn turn_context(&self) -> &TurnContext {
        let task = self.task.as_ref();
        task.map_or(&self.conversation.settings.context, |task| &task.context)
    }
}

impl Conversation {
    pub(crate) fn id(&self) -> SessionId {
        self.settings.meta.id
    }

    pub(crate) fn store(&self) -> Arc<dyn SessionStore> {
        Arc::clone(&self.services.store)
    }

    /// Returns the request that opens a fork which goes on with this conversation's settings.
    pub(crate) fn fork_request(&self, point: ForkPoint) -> ConfigureSession {
        self.settings.fork_request(point)
    }

    /// Returns how full the context may be before it is compacted.
    fn compact_limit(&self, model: &str) -> u64 {
        let window = self.known_window(model);
        let by_window = window.map(|tokens| tokens.saturating_mul(AUTO_COMPACT_PERCENT) / 100);
        let configured = self.settings.window.auto_compact_token_limit;
        // A window that is only assumed is the provider's to enforce.
        let limits = by_window.into_iter().chain(configured);
        limits.min().unwrap_or(u64::MAX)
    }

    fn carried(&self, out: &Emitter) -> CarriedState {
        let ledgers = &self.ledgers;
        CarriedState {
            turn_context: self.settings.context.clone(),
            total_token_usage: ledgers.usage.total,
            seq_reserved_until: out.reserved_until(),
            thread_name: ledgers.thread_name.clone(),
            thread_note: ledgers.thread_note.clone(),
            last_response_id: ledgers.last_response_id(),
            has_agents: ledgers.has_agents,
            output_schema: self.settings.asked_shape.clone(),
        }
    }

    /// Returns the instructions as they were when the session began: a provider finds them
    /// again, and what changed since then is told in the history. Only a manner that is not
    /// wanted any more is taken out of them.
    fn instructions(&self, context: &TurnContext) -> Arc<troupe_model::EncodedInstructions> {
        let settings = &self.settings;
        let role = settings.instructions.role.as_deref();
        self.services.encodings.instructions(context::instructions(
            settings.base_instructions(),
            settings.filled_personality(context),
            role,
        ))
    }

    /// Returns what the model must be told about its surroundings and does not know yet.
    fn missing_context(
        &self,
        context: &TurnContext,
        warnings: &mut Vec<String>,
    ) -> Vec<ResponseItem> {
        let told: Vec<&str> = self.ledgers.history.fragments().collect();
        self.context_beside(context, &told, warnings)
    }

    /// Returns what a model must be told that was told this.
    fn context_beside(
        &self,
        context: &TurnContext,
        told: &[&str],
        warnings: &mut Vec<String>,
    ) -> Vec<ResponseItem> {
        let settings = &self.settings;
        let mut items = Vec::new();
        let developer = settings.developer_instructions(context);
        if let Some(text) = developer.filter(|text| settings.reinstructs || !told.contains(text)) {
            items.push(ResponseItem::developer_text(text));
        }
        let title = context::project_doc_title(&context.cwd);
        if !told.iter().any(|text| text.starts_with(&title)) {
            let doc = context::project_doc(&context.cwd, &settings.instructions);
            warnings.extend(doc.warnings);
            items.extend(doc.message);
        }
        let bounded = self.bounded_context(context);
        let clock = &self.services.clock;
        let environment = context::environment(&bounded, &settings.instructions, clock);
        let last = told.iter().rev().find(|text| context::is_environment(text));
        if last.is_none_or(|last| **last != environment) {
            items.push(ResponseItem::user_text(environment));
        }
        items.extend(settings.manner_note(context).missing(told));
        items.extend(SettingNote::mode(context).missing(told));
        items.extend(self.missing_skills(&context.model, told, warnings));
        items
    }
}
