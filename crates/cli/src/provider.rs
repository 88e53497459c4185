//! Which provider is asked, and with which key.

use std::env;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use troupe_mcp::ServerConfig;
use troupe_mock_model::cassette::{CASSETTE, CassettePlayer, CassetteRecorder};
use troupe_model::{
    ConnectError, LanguageModel, ModelError, ModelErrorKind, ModelRequest, ModelStream,
    ProviderConfig,
};

use crate::exec::request::CassetteMode;
use crate::home::TroupeHome;
use crate::keys::{KeyFile, KeyFileError};
use crate::settings::Settings;

/// Read before the key of the provider's own variable, for the provider `openai`.
const CODEX_KEY_VARIABLE: &str = "CODEX_API_KEY";

/// How servers see this program.
const USER_AGENT: &str = concat!("troupe/", env!("CARGO_PKG_VERSION"));

/// Finds a provider among the configured and the built-in ones.
pub fn provider(settings: &Settings, id: &str) -> Option<ProviderConfig> {
    let mut provider = settings.model.model_providers.get(id)?.clone();
    if id == "openai"
        && let Some(base_url) = &settings.model.openai_base_url
    {
        provider.base_url.clone_from(base_url);
    }
    Some(provider)
}

/// Where a provider's key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// A variable of the environment.
    Variable(String),
    /// The file of the home, which `troupe login` writes.
    Stored,
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "{name} is set"),
            Self::Stored => f.write_str("stored by `troupe login`"),
        }
    }
}

/// Returns where a provider's key comes from, if there is one.
pub fn key_source(
    provider: &ProviderConfig,
    id: &str,
    stored: Option<&KeyFile>,
) -> Result<Option<KeySource>, KeyFileError> {
    Ok(find_key(provider, id, stored)?.map(|(source, _)| source))
}

/// Finds a provider's key. What a person sets for one run comes before what is stored.
fn find_key(
    provider: &ProviderConfig,
    id: &str,
    stored: Option<&KeyFile>,
) -> Result<Option<(KeySource, String)>, KeyFileError> {
    let codex = (id == "openai").then(|| CODEX_KEY_VARIABLE.to_owned());
    let mut variables = codex.into_iter().chain(provider.env_key.clone());
    let set = variables.find_map(|name| {
        let key = env::var(&name).ok().filter(|key| !key.is_empty())?;
        Some((KeySource::Variable(name), key))
    });
    match (set, stored) {
        (Some(set), _) => Ok(Some(set)),
        (None, None) => Ok(None),
        (None, Some(stored)) => Ok(stored.get(id)?.map(|key| (KeySource::Stored, key))),
    }
}

/// Tells whether a provider answers nobody without a key.
pub fn needs_key(provider: &ProviderConfig) -> bool {
    provider.requires_key.unwrap_or(provider.env_key.is_some())
}

/// Why there is no model to ask.
#[derive(Debug, thiserror::Error)]
pub enum ModelSetupError {
    #[error("there is no model provider {id:?}; known are {}", known.join(", "))]
    UnknownProvider { id: String, known: Vec<String> },
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Keys(#[from] KeyFileError),
    #[error("cannot use the cassette {}: {error}", path.display())]
    Cassette { path: PathBuf, error: io::Error },
}

/// The models of this process: one connection pool and one TLS set-up per provider, however
/// many sessions ask it.
#[derive(Debug, Default)]
pub struct ProcessModels {
    /// Sessions are opened for something that needs no model.
    is_silent: bool,
    cassette: CassetteMode,
    /// Where keys are stored; without it, only those of the environment are known.
    keys: Option<KeyFile>,
    connected: Mutex<Vec<ConnectedModel>>,
}

/// Directories may configure one provider differently, so it is known by both.
#[derive(Debug)]
struct ConnectedModel {
    id: String,
    provider: Option<ProviderConfig>,
    model: Arc<dyn LanguageModel>,
}

impl ProcessModels {
    /// Models that are asked with the keys of a home.
    pub fn of(home: &TroupeHome) -> Self {
        Self {
            keys: Some(KeyFile::of(home)),
            ..Self::default()
        }
    }

    /// Has answers come from, or go to, a file.
    pub fn with_cassette(self, cassette: CassetteMode) -> Self {
        Self { cassette, ..self }
    }

    /// Models that answer nothing.
    pub fn silent() -> Self {
        Self {
            is_silent: true,
            ..Self::default()
        }
    }

    /// Tells whether nobody is asked who would have to know a model by its name.
    pub fn needs_no_name(&self) -> bool {
        self.is_silent || matches!(self.cassette, CassetteMode::Replay(_))
    }

    pub fn get(
        &self,
        settings: &Settings,
        id: &str,
    ) -> Result<Arc<dyn LanguageModel>, ModelSetupError> {
        if self.is_silent {
            return Ok(Arc::new(SilentModel));
        }
        // A tape is one, whoever is asked.
        let (id, provider) = match self.cassette {
            CassetteMode::Replay(_) => (CASSETTE, None),
            CassetteMode::None | CassetteMode::Record(_) => (id, provider(settings, id)),
        };
        let mut connected = self
            .connected
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let known = connected
            .iter()
            .find(|known| known.id == id && known.provider == provider);
        if let Some(known) = known {
            return Ok(Arc::clone(&known.model));
        }
        let model = match &self.cassette {
            CassetteMode::None => self.connect(settings, id)?,
            CassetteMode::Record(path) => {
                if let Some(first) = connected.first() {
                    let id = &first.id;
                    let what = format!("it records {id:?}, and a tape holds one provider");
                    return Err(cassette_error(path, io::Error::other(what)));
                }
                let model = self.connect(settings, id)?;
                Arc::new(
                    CassetteRecorder::wrap(model, path)
                        .map_err(|error| cassette_error(path, error))?,
                )
            }
            CassetteMode::Replay(path) => {
                Arc::new(CassettePlayer::open(path).map_err(|error| cassette_error(path, error))?)
            }
        };
        connected.push(ConnectedModel {
            id: id.to_owned(),
            provider,
            model: Arc::clone(&model),
        });
        Ok(model)
    }

    fn connect(
        &self,
        settings: &Settings,
        id: &str,
    ) -> Result<Arc<dyn LanguageModel>, ModelSetupError> {
        let provider = provider(settings, id).ok_or_else(|| ModelSetupError::UnknownProvider {
            id: id.to_owned(),
            known: settings.model.model_providers.keys().cloned().collect(),
        })?;
        let key = find_key(&provider, id, self.keys.as_ref())?.map(|(_, key)| key);
        Ok(provider
            .with_env(|name| env::var(name).ok())
            .with_user_agent(USER_AGENT)
            .connect(id, key)?)
    }
}

/// In the place of a model where none is asked.
#[derive(Debug)]
struct SilentModel;

impl LanguageModel for SilentModel {
    fn provider_id(&self) -> &'static str {
        "none"
    }

    fn open(&self, _: ModelRequest) -> ModelStream {
        let message = "this session was opened for something else than a task";
        ModelStream::failed(ModelError::new(ModelErrorKind::BadRequest, message))
    }
}

fn cassette_error(path: &Path, error: io::Error) -> ModelSetupError {
    ModelSetupError::Cassette {
        path: path.to_owned(),
        error,
    }
}

/// Variables that commands never see.
pub fn secret_variables(settings: &Settings) -> Vec<String> {
    let providers = settings.model.model_providers.values();
    let servers = settings.integrations.mcp_servers.values();
    providers
        .flat_map(|provider| {
            provider
                .env_key
                .iter()
                .chain(provider.env_http_headers.values())
        })
        .cloned()
        .chain(servers.flat_map(ServerConfig::secret_variables))
        .chain([CODEX_KEY_VARIABLE.to_owned()])
        .collect()
}
