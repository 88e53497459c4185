//! The session's model (window, efforts), and the list of the others.
//!
//! A model that nobody knows is served like any other. Its provider is asked for its context
//! window; if that does not tell either, one is assumed, of which the user is told and which
//! nothing is refused for.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;
use troupe_model::{HistoryItem, ModelError, catalogue};
use troupe_protocol::SubmissionId;
use troupe_protocol::catalogue::{ModelEntry, ModelList, ModelListSource};
use troupe_protocol::discard;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{ErrorEvent, EventMsg};
use troupe_protocol::policy::ReasoningEffort;
use troupe_protocol::session::{TurnContext, TurnOverrides};
use troupe_store::StoreError;

use super::{Conversation, ToolSourceUpdate};
use crate::emit::Emitter;
use crate::limits::{CONTEXT_WINDOW_ASSUMED_TOKENS, MODEL_REFRESHES_MAX, WINDOW_ASKED_MS_MAX};
use crate::session::SessionInput;
use crate::task::{Task, TaskPhase};
use crate::user_input::CheckedMessage;

/// What a conversation knows about models beside the catalogue.
#[derive(Debug, Default)]
pub(super) struct ModelKnowledge {
    /// The choice that the user was last warned about, or had not to be.
    told: Option<(String, Option<ReasoningEffort>)>,
    /// What the provider last said.
    listed: Vec<ModelEntry>,
    /// The model whose window the provider was asked for.
    asked: Option<String>,
    /// The window that the provider told when a request was too long for it.
    overflowed: Option<(String, u64)>,
    /// Requests for that. They end with the conversation.
    refreshes: JoinSet<()>,
    /// How many of them have not been answered.
    awaited: usize,
}

impl ModelKnowledge {
    /// Forgets what another provider said. Whoever waits for an answer gets it.
    pub(super) fn forget(&mut self) {
        self.told = None;
        self.listed.clear();
        self.asked = None;
        self.overflowed = None;
    }
}

impl ModelKnowledge {
    /// Takes notice of the window that a request was too long for.
    pub(super) fn learn_window(&mut self, model: &str, error: &ModelError) {
        if let Some(overflow) = error.overflow {
            self.overflowed = Some((model.to_owned(), overflow.window));
        }
    }

    /// Returns the window that the provider's list tells. A server with a single model of its own
    /// answers with that, by whatever name it is asked.
    fn listed_window(&self, model: &str) -> Option<u64> {
        let named = self.listed.iter().find(|entry| entry.model == model);
        let entry = named.or(match &self.listed[..] {
            [only] if catalogue::lookup(&only.model).is_none() => Some(only),
            _ => None,
        });
        entry.and_then(|entry| entry.context_window)
    }
}

impl Conversation {
    /// Returns the model's context window in tokens; an assumed one if nobody knows it.
    pub(super) fn context_window(&self, model: &str) -> u64 {
        self.known_window(model)
            .unwrap_or(CONTEXT_WINDOW_ASSUMED_TOKENS)
    }

    pub(super) fn known_window(&self, model: &str) -> Option<u64> {
        let configured = self.settings.window.context_window;
        let listed = || self.models.listed_window(model);
        let catalogued = || catalogue::lookup(model).and_then(|info| info.context_window);
        let overflowed = self.models.overflowed.as_ref();
        let overflowed = overflowed.filter(|(name, _)| name == model);
        let told = configured.or_else(listed).or_else(catalogued);
        told.into_iter()
            .chain(overflowed.map(|(_, tokens)| *tokens))
            .min()
    }

    /// Refuses a message that does not fit in the window by itself. It is never cut, and where
    /// the window is only assumed, the provider decides.
    pub(super) fn check_fits(
        &self,
        message: &CheckedMessage,
        model: &str,
    ) -> Result<(), ErrorEvent> {
        let Some(window) = self.known_window(model) else {
            return Ok(());
        };
        let items = message.history().map(HistoryItem::from);
        let tokens: u64 = items.map(|item| item.approx_tokens()).sum();
        if tokens <= window {
            return Ok(());
        }
        Err(ErrorEvent {
            message: format!(
                "the message has about {tokens} tokens and does not fit in the context window of \
                 {model}, which has {window}; put long material into a file and name it, or choose \
                 a model with a larger window"
            ),
            fatal: false,
            error_info: Some(ErrorInfo::ContextWindowExceeded),
        })
    }

    /// Tells whether the provider has to be asked how large the model's window is. What it told
    /// another session of this process is taken.
    fn needs_window_lookup(&mut self, model: &str) -> bool {
        let catalogued = || {
            let info = catalogue::lookup(model);
            info.is_some_and(|info| info.context_window.is_some() && !info.self_hosted)
        };
        let is_known = self.settings.window.context_window.is_some()
            || (self.services.model.is_catalogued() && catalogued());
        if is_known || self.models.asked.as_deref() == Some(model) {
            return false;
        }
        match self.services.model.listed_models() {
            Some(listed) => {
                self.models.listed = listed;
                self.models.asked = Some(model.to_owned());
                false
            }
            None => true,
        }
    }

    /// Begins to ask the provider how large its window is, if nobody else knows. The task goes on
    /// with the answer, or without one.
    pub(super) fn ask_for_window(&mut self, task: &mut Task) -> bool {
        if !self.needs_window_lookup(&task.context.model) {
            return false;
        }
        self.models.asked = Some(task.context.model.clone());
        let (model, mailbox) = self.services.model_and_mailbox();
        let epoch = task.epoch;
        let asking = tokio::spawn(async move {
            let patience = Duration::from_millis(WINDOW_ASKED_MS_MAX);
            let models = match timeout(patience, model.models()).await {
                Ok(Ok(models)) => models,
                Ok(Err(_)) | Err(_) => Vec::new(),
            };
            let news = Box::new(ToolSourceUpdate::Listed { epoch, models });
            // A session that is gone has no task that would wait.
            discard!(
                mailbox.post(SessionInput::Source(news)).await,
                "the actor has ended"
            );
        });
        task.enter(TaskPhase::Equipping {
            _work: AbortOnDropHandle::new(asking),
        });
        true
    }

    /// Takes the provider's answer, and goes on with the task.
    pub(super) async fn window_received(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
        models: Vec<ModelEntry>,
    ) -> Result<(), StoreError> {
        if !models.is_empty() {
            self.models.listed = models;
        }
        task.enter(TaskPhase::Starting);
        for message in self.model_warnings(&task.context.model) {
            out.warn(&task.id, message)?;
        }
        Box::pin(self.sample(task, out)).await
    }

    /// Returns what the user should know about the model that tasks begin with now, `current` being
    /// that of the task. Each choice is told of once.
    pub(super) fn model_warnings(&mut self, current: &str) -> Vec<String> {
        // What it answers is not known yet.
        if self.needs_window_lookup(current) {
            return Vec::new();
        }
        let context = &self.settings.context;
        let TurnContext { model, effort, .. } = context;
        let choice = Some((model.clone(), *effort));
        if self.models.told == choice {
            return Vec::new();
        }
        let assumed = self.known_window(model).is_none().then(|| {
            format!(
                "nobody tells the context window of the model {model:?}; \
                 {CONTEXT_WINDOW_ASSUMED_TOKENS} tokens are assumed, and the provider decides what \
                 fits: set model_context_window, and the conversation is summarised in time"
            )
        });
        let unfit = unfit_effort(context)
            .map(|unfit| format!("{unfit}; the effort that this session has is not sent"));
        let misfit = self.services.model.model_mismatch(model);
        self.models.told = choice;
        assumed.into_iter().chain(unfit).chain(misfit).collect()
    }

    /// Answers with the models there are.
    pub(crate) fn list_models(
        &mut self,
        out: &mut Emitter,
        id: SubmissionId,
        refresh: bool,
    ) -> Result<(), StoreError> {
        if !refresh {
            let list = self.model_list(catalogue::entries(), ModelListSource::BuiltIn, None);
            return out.emit(&id, vec![list]);
        }
        if self.models.awaited >= MODEL_REFRESHES_MAX {
            return out.error(&id, too_many_refreshes());
        }
        self.models.awaited += 1;
        let (model, mailbox) = self.services.model_and_mailbox();
        self.models.refreshes.spawn(async move {
            let answer = Box::new(model.models().await);
            // A session that is gone needs no list.
            discard!(
                mailbox
                    .post(SessionInput::ModelsListed { id, answer })
                    .await,
                "the actor has ended"
            );
        });
        Ok(())
    }

    /// Tells what the provider answered, or the built-in list if it did not.
    pub(crate) fn models_listed(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        answer: Result<Vec<ModelEntry>, ModelError>,
    ) -> Result<(), StoreError> {
        // An answer may be to a question of the conversation before this one.
        self.models.awaited = self.models.awaited.saturating_sub(1);
        while self.models.refreshes.try_join_next().is_some() {}
        let list = match answer {
            Ok(models) => {
                self.models.listed.clone_from(&models);
                self.model_list(models, ModelListSource::Provider, None)
            }
            Err(error) => {
                let note = format!("this is the built-in list: {}", error.message);
                self.model_list(catalogue::entries(), ModelListSource::BuiltIn, Some(note))
            }
        };
        out.emit(id, vec![list])
    }

    /// Tells whether somebody waits for a list.
    pub(crate) fn is_listing(&self) -> bool {
        self.models.awaited > 0
    }

    fn model_list(
        &self,
        models: Vec<ModelEntry>,
        source: ModelListSource,
        note: Option<String>,
    ) -> EventMsg {
        let models = catalogue::with_default(models, &self.settings.context.model);
        EventMsg::ListModelsResponse(ModelList {
            models,
            source,
            note,
        })
    }
}

/// Refuses settings that name a model or an effort which cannot be meant.
pub(crate) fn check_model(
    context: &TurnContext,
    overrides: &TurnOverrides,
) -> Result<(), ErrorEvent> {
    let chosen = overrides.collaboration_mode.clone();
    let chosen = chosen.map(|choice| choice.into_parts().1);
    let chosen_effort = chosen.and_then(|settings| settings.reasoning_effort);
    let effort = chosen_effort.or(overrides.effort.and_then(Into::into));
    let next = context.with(overrides.clone());
    let message = if next.model.trim().is_empty() {
        "the model's name is empty; list_models tells which there are".to_owned()
    } else if effort.is_some()
        && let Some(unfit) = unfit_effort(&next)
    {
        unfit
    } else {
        return Ok(());
    };
    Err(ErrorEvent {
        message,
        fatal: false,
        error_info: Some(ErrorInfo::InvalidSubmission),
    })
}

/// Returns the effort that is sent: none that the model is known to refuse.
pub(super) fn effective_effort(context: &TurnContext) -> Option<ReasoningEffort> {
    context.effort.filter(|_| unfit_effort(context).is_none())
}

/// Returns why the model does not take the effort. One that nobody knows may take any.
fn unfit_effort(context: &TurnContext) -> Option<String> {
    let (model, effort) = (&context.model, context.effort?);
    let info = catalogue::lookup(model)?;
    if info.efforts.contains(&effort) {
        return None;
    }
    let effort = effort.as_str();
    if !info.reasons() {
        return Some(format!(
            "{model} does not reason, so it takes no effort such as {effort}"
        ));
    }
    let efforts: Vec<&str> = info.efforts.iter().map(|effort| effort.as_str()).collect();
    let efforts = efforts.join(", ");
    Some(format!(
        "{model} does not take the effort {effort}; it takes {efforts}"
    ))
}

fn too_many_refreshes() -> ErrorEvent {
    ErrorEvent {
        message: format!(
            "{MODEL_REFRESHES_MAX} requests for the provider's models are open; wait for one of \
             their answers"
        ),
        fatal: false,
        error_info: Some(ErrorInfo::InvalidSubmission),
    }
}
