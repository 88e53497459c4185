//! What children can be given by name: models, and programs in their place.
//!
//! Decided: the provider is asked for its list only when a spawn names a model that is not
//! built in, and that spawn waits for the answer. Where there is none, a model is good that the
//! configuration, a role or the catalogue names.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;
use troupe_agents::tree_access::{ModelChoice, ModelListState, SpawnCatalogue};
use troupe_model::catalogue::{self, ModelInfo};
use troupe_protocol::catalogue::ModelEntry;
use troupe_protocol::discard;
use troupe_protocol::policy::{ReasoningEffort, SandboxPolicy};

use crate::limits::{MODELS_ASKED_AGAIN_SEC, MODELS_WAITED_FOR_SEC_MAX};
use crate::provider::ProcessModels;
use crate::settings::Settings;
use crate::wiring::PreparedDirectory;

#[derive(Debug)]
pub(super) struct SpawnOffers {
    here: Arc<PreparedDirectory>,
    models: Arc<ProcessModels>,
    built_in: Vec<ModelChoice>,
    listing: Arc<ProviderListing>,
}

/// What the provider was asked, for everybody who waits for the answer.
#[derive(Debug)]
struct ProviderListing {
    asked: Mutex<ListingState>,
    answered: Notify,
}

/// What the provider said about its models.
#[derive(Debug)]
enum ListingState {
    Never,
    Now {
        /// Dropping it ends the request.
        _request: AbortOnDropHandle<()>,
    },
    Listed(Vec<ModelChoice>),
    /// It has no list, or none for us.
    Failed {
        why: String,
        at: Instant,
    },
}

impl SpawnOffers {
    pub(super) fn new(here: Arc<PreparedDirectory>, models: Arc<ProcessModels>) -> Self {
        Self {
            built_in: built_in(&here.settings),
            here,
            models,
            listing: Arc::new(ProviderListing {
                asked: Mutex::new(ListingState::Never),
                answered: Notify::new(),
            }),
        }
    }

    /// Asks the provider, beside everything else.
    fn ask(&self) -> Result<AbortOnDropHandle<()>, String> {
        let settings = &self.here.settings;
        let model = self.models.get(settings, &settings.model.model_provider);
        let model = model.map_err(|trouble| trouble.to_string())?;
        // The answer does not keep alive what it is for.
        let listing = Arc::downgrade(&self.listing);
        Ok(AbortOnDropHandle::new(tokio::spawn(async move {
            let answer = model.models().await;
            if let Some(listing) = listing.upgrade() {
                *lock(&listing.asked) = match answer {
                    Ok(entries) => ListingState::Listed(entries.into_iter().map(listed).collect()),
                    Err(error) => ListingState::failed(error.message),
                };
                listing.answered.notify_waiters();
            }
        })))
    }
}

impl ListingState {
    fn failed(why: String) -> Self {
        Self::Failed {
            why,
            at: Instant::now(),
        }
    }
}

#[async_trait]
impl SpawnCatalogue for SpawnOffers {
    fn models(&self) -> Option<Vec<ModelChoice>> {
        let mut choices = self.built_in.clone();
        if let ListingState::Listed(models) = &*lock(&self.listing.asked) {
            let is_new = |model: &&ModelChoice| {
                let mut known = self.built_in.iter();
                !known.any(|known| known.name == model.name)
            };
            choices.extend(models.iter().filter(is_new).cloned());
        }
        Some(choices)
    }

    fn listing(&self) -> ModelListState {
        let mut asked = lock(&self.listing.asked);
        match &*asked {
            ListingState::Listed(_) => return ModelListState::Whole,
            ListingState::Now { .. } => return ModelListState::Loading,
            ListingState::Failed { why, at }
                if at.elapsed() < Duration::from_secs(MODELS_ASKED_AGAIN_SEC) =>
            {
                return ModelListState::Unavailable { why: why.clone() };
            }
            ListingState::Failed { .. } | ListingState::Never => {}
        }
        match self.ask() {
            Ok(request) => {
                *asked = ListingState::Now { _request: request };
                ModelListState::Loading
            }
            Err(why) => {
                *asked = ListingState::failed(why.clone());
                ModelListState::Unavailable { why }
            }
        }
    }

    async fn listed(&self) {
        let answered = async {
            loop {
                let mut answer = pin!(self.listing.answered.notified());
                // Told from here on, so that an answer between the look and the wait counts.
                answer.as_mut().enable();
                if !matches!(*lock(&self.listing.asked), ListingState::Now { .. }) {
                    return;
                }
                answer.await;
            }
        };
        // Whoever waits longer is told to try again.
        let patience = Duration::from_secs(MODELS_WAITED_FOR_SEC_MAX);
        discard!(
            tokio::time::timeout(patience, answered).await,
            "a wait ran into its timeout"
        );
    }

    fn named(&self) -> Vec<ModelChoice> {
        let known = catalogue::models().iter().map(|info| ModelChoice {
            name: info.slug.clone(),
            efforts: efforts(info),
        });
        self.built_in.iter().cloned().chain(known).collect()
    }

    fn backends(&self) -> Vec<String> {
        let backends = &self.here.settings.integrations.backends;
        backends.keys().cloned().collect()
    }

    fn backend_sandbox(&self, backend: &str, child: &SandboxPolicy) -> Option<SandboxPolicy> {
        let backends = &self.here.settings.integrations.backends;
        Some(backends.get(backend)?.sandbox(child))
    }
}

/// A server whose model we do not know hardly has the ones that we know; naming them would
/// lead its model astray. There the configured one is all that is built in.
fn built_in(settings: &Settings) -> Vec<ModelChoice> {
    let own = &settings.model.model;
    let maker = catalogue::lookup(own).map(|info| info.maker);
    let mut choices: Vec<ModelChoice> = catalogue::models()
        .iter()
        .filter(|info| Some(info.maker) == maker)
        .map(|info| ModelChoice {
            name: info.slug.clone(),
            efforts: efforts(info),
        })
        .collect();
    if !choices.iter().any(|choice| choice.name == *own) {
        choices.push(ModelChoice {
            name: own.clone(),
            efforts: catalogue::lookup(own).map_or_else(Vec::new, efforts),
        });
    }
    choices
}

fn listed(entry: ModelEntry) -> ModelChoice {
    ModelChoice {
        efforts: match catalogue::lookup(&entry.model) {
            Some(known) => efforts(known),
            None => entry.efforts,
        },
        name: entry.model,
    }
}

/// No efforts would mean that nobody knows which it takes.
fn efforts(model: &ModelInfo) -> Vec<ReasoningEffort> {
    if model.efforts.is_empty() {
        vec![ReasoningEffort::None]
    } else {
        model.efforts.clone()
    }
}

fn lock(asked: &Mutex<ListingState>) -> MutexGuard<'_, ListingState> {
    asked.lock().unwrap_or_else(PoisonError::into_inner)
}
