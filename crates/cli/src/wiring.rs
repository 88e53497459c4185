//! Builds what a session runs on: the one place that knows every crate, the environment
//! and the home.

mod backends;
mod host_services;
mod offers;
mod prepared;
mod prompt_commands;
mod role_servers;
mod servers;
mod session_factory;
mod settings_changes;
mod surroundings;
mod tree;

use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::{fs, io};

use anyhow::Context as _;
use async_trait::async_trait;
use serde_json::Value;
use troupe_engine::skills::SkillLibrary;
use troupe_engine::{
    ConfigureError, InstructionSettings, NoHost, ProjectDocSettings, SessionConfigurator,
    SessionOrigin, SessionSetup, SetupNotice, SharedEncodings, WindowSettings,
};
use troupe_mcp::{McpLoginStore, McpServerPool, McpServerPoolDeps};
use troupe_model::catalogue;
use troupe_process::{Launcher, LauncherOptions};
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::session::{SessionSource, TurnOverrides};
use troupe_store::{EmbeddedStore, MemoryStore, SessionStore};
use troupe_tools::Registry;
use troupe_tools::undo::UndoRecorder;

pub use prepared::PreparedDirectory;
use prepared::SessionTrace;
pub use role_servers::ConfiguredNames;
pub use troupe_agents::RootDeps;

use crate::exec::request::CassetteMode;
use crate::failure::CommandFailure;
use crate::home::SKILLS_DIRECTORY;
use crate::layers::ConfigSource;
use crate::limits::{DIRECTORIES_KNOWN_MAX, MODELS_NAMED_MAX};
use crate::provider::{ModelSetupError, ProcessModels};
use crate::settings::Settings;
use surroundings::{ProcessSurroundings, take_over};

/// Everything that sessions of this process are opened with. What they can share is made
/// once: a child must cost next to nothing.
#[derive(Debug)]
pub struct Wiring {
    source: ConfigSource,
    opened_for: SessionSource,
    add_dirs: Vec<PathBuf>,
    models: Arc<ProcessModels>,
    /// Opened when first needed: a run that writes nothing needs no home.
    store: OnceLock<Arc<dyn SessionStore>>,
    launcher: Launcher,
    skills: Arc<SkillLibrary>,
    encodings: Arc<SharedEncodings>,
    /// The servers of all sessions.
    hub: OnceLock<Arc<McpServerPool>>,
    surroundings: OnceLock<ProcessSurroundings>,
    /// The configuration of the directory that the program works in.
    here: Arc<PreparedDirectory>,
    /// Those of other directories that sessions work in.
    elsewhere: Mutex<HashMap<PathBuf, Arc<PreparedDirectory>>>,
    /// The user's file was changed by us since then.
    is_outdated: AtomicBool,
    /// What the last session was opened with.
    user_instructions: Mutex<Arc<str>>,
}

impl Wiring {
    pub fn new(
        source: ConfigSource,
        cwd: &Path,
        opened_for: SessionSource,
    ) -> Result<Self, CommandFailure> {
        let mut here = PreparedDirectory::read(&source, cwd)?;
        let taken_over = take_over(source.home.path());
        here.notices
            .extend(taken_over.into_iter().map(SetupNotice::Warning));
        let launcher = Launcher::new(LauncherOptions {
            troupe_home: Some(source.home.path().to_owned()),
            home_shown: vec![PathBuf::from(SKILLS_DIRECTORY)],
            ..LauncherOptions::default()
        });
        Ok(Self {
            opened_for,
            add_dirs: Vec::new(),
            models: Arc::new(ProcessModels::of(&source.home)),
            store: OnceLock::new(),
            launcher,
            skills: Arc::new(SkillLibrary::new(source.home.skill_places())),
            encodings: Arc::default(),
            hub: OnceLock::new(),
            surroundings: OnceLock::new(),
            here: Arc::new(here),
            elsewhere: Mutex::default(),
            is_outdated: AtomicBool::new(false),
            user_instructions: Mutex::new("".into()),
            source,
        })
    }

    pub fn with_add_dirs(mut self, directories: Vec<PathBuf>) -> Self {
        self.add_dirs = directories;
        self
    }

    pub fn with_cassette(mut self, cassette: CassetteMode) -> Self {
        self.models = Arc::new(ProcessModels::of(&self.source.home).with_cassette(cassette));
        self
    }

    /// Opens sessions that ask no model, so that none need be configured.
    pub fn without_model(mut self) -> Self {
        self.models = Arc::new(ProcessModels::silent());
        self
    }

    pub fn store(&self) -> Result<Arc<dyn SessionStore>, CommandFailure> {
        if let Some(store) = self.store.get() {
            return Ok(Arc::clone(store));
        }
        let store =
            EmbeddedStore::open(self.source.home.path()).map_err(CommandFailure::not_started)?;
        Ok(Arc::clone(self.store.get_or_init(|| Arc::new(store))))
    }

    /// Returns who knows what turns did to files in a directory.
    pub fn keeper(&self, cwd: &Path) -> Result<Option<Arc<UndoRecorder>>, CommandFailure> {
        let tools = self.tools(
            &*self.prepared(Some(cwd))?,
            &self.source,
            SessionTrace::Kept,
        );
        Ok(tools.keeper().cloned())
    }

    pub fn here(&self) -> &PreparedDirectory {
        &self.here
    }

    /// Finds out early whether there is a model to ask.
    pub fn check_model(&self, request: &ConfigureSession) -> Result<(), ModelSetupError> {
        let settings = &self.here.settings;
        self.models
            .get(settings, provider_id(settings, request))
            .map(drop)
    }

    /// Returns the provider that the person asked for in so many words.
    pub fn explicit_provider(&self) -> Option<String> {
        self.here
            .asks_for("model_provider")
            .then(|| self.here.settings.model.model_provider.clone())
    }

    /// Returns what a session is given that another agent's conversation becomes.
    pub fn frame(&self) -> Result<troupe_import::ImportSettings, CommandFailure> {
        Ok(troupe_import::ImportSettings {
            model_provider: self.here.settings.model.model_provider.clone(),
            context: self.here.context(&self.add_dirs)?,
            cli_version: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }

    /// Returns where the sessions are kept.
    pub fn home(&self) -> &Path {
        self.source.home.path()
    }

    /// Returns what the person asked for by profile, argument or flag: it holds in a
    /// session that is continued too, where everything else stays as it was.
    pub fn explicit(&self) -> Result<TurnOverrides, CommandFailure> {
        let asked = |key| self.here.asks_for(key);
        let sandbox =
            asked("sandbox_mode") || asked("sandbox_workspace_write") || !self.add_dirs.is_empty();
        let context = self.here.context(&self.add_dirs)?;
        Ok(TurnOverrides {
            cwd: Some(context.cwd),
            approval_policy: asked("approval_policy").then_some(context.approval_policy),
            sandbox_policy: sandbox.then_some(context.sandbox_policy),
            model: asked("model").then_some(context.model),
            effort: asked("model_reasoning_effort").then(|| context.effort.into()),
            summary: asked("model_reasoning_summary").then_some(context.summary),
            collaboration_mode: asked("collaboration_mode")
                .then_some(context.collaboration_mode.into()),
            plan_writes: context.plan_writes.then_some(true),
            personality: context.personality.filter(|_| asked("personality")),
            developer_instructions: None,
        })
    }

    fn setup(&self, request: &ConfigureSession) -> Result<SessionSetup, CommandFailure> {
        let source = self.source_for(request)?;
        let cwd = request.overrides.cwd.as_deref();
        let prepared = match &source {
            Cow::Borrowed(_) => self.prepared(cwd)?,
            Cow::Owned(source) => self.prepared_alone(source, cwd)?,
        };
        let settings = &prepared.settings;
        let provider_id = provider_id(settings, request).to_owned();
        let surroundings = self.surroundings();
        let trace = if request.ephemeral {
            SessionTrace::None
        } else {
            SessionTrace::Kept
        };
        let program = self.backend(settings, &provider_id);
        let is_program = program.is_some();
        let (model, tools) = if let Some(backend) = program {
            backend.attach()
        } else {
            let model = self.models.get(settings, &provider_id);
            let model = model.map_err(CommandFailure::not_started)?;
            (model, self.tools(&prepared, &source, trace))
        };
        let setup = SessionSetup {
            store: if request.ephemeral {
                Arc::new(MemoryStore::new())
            } else {
                self.store()?
            },
            model,
            provider_id,
            tools,
            context: prepared.context(&self.add_dirs)?,
            instructions: self.instructions(settings, request)?,
            window: WindowSettings {
                context_window: settings.model.model_context_window.map(NonZeroU64::get),
                auto_compact_token_limit: settings
                    .model
                    .model_auto_compact_token_limit
                    .map(NonZeroU64::get),
            },
            origin: SessionOrigin {
                originator: surroundings.originator.clone(),
                cli_version: env!("CARGO_PKG_VERSION").to_owned(),
                source: self.opened_for.clone(),
                git: prepared.git(),
            },
            notices: prepared.notices.clone(),
            host: Arc::new(NoHost::default()),
            encodings: Arc::clone(&self.encodings),
            session_id: None,
            prompt_cache_key: None,
            forking_call: None,
            fork_rights: None,
            dynamic_tools: Vec::new(),
        };
        Ok(if is_program {
            backends::role_instructions_only(setup)
        } else {
            setup
        })
    }

    /// Makes the tools of one session. Servers are not started before it needs them.
    fn tools(
        &self,
        prepared: &PreparedDirectory,
        source: &ConfigSource,
        trace: SessionTrace,
    ) -> Registry {
        let surroundings = self.surroundings();
        let mut tools = prepared.tools(trace, source, &self.launcher, surroundings);
        let roster = prepared.roster(self.hub(), source);
        tools.set_source(Arc::new(
            roster.servers().with_rules(prepared.rules(source)),
        ));
        tools
    }

    fn hub(&self) -> &Arc<McpServerPool> {
        self.hub.get_or_init(|| {
            Arc::new(McpServerPool::new(McpServerPoolDeps {
                launcher: self.launcher.clone(),
                environment: self.surroundings().variables.clone(),
                cwd: self.here.cwd.clone(),
                logins: Some(McpLoginStore::in_home(self.source.home.path())),
            }))
        })
    }

    /// Returns where the settings of a session come from.
    fn source_for(
        &self,
        request: &ConfigureSession,
    ) -> Result<Cow<'_, ConfigSource>, CommandFailure> {
        if request.config.is_empty() {
            return Ok(Cow::Borrowed(&self.source));
        }
        with_config(&self.source, &request.config).map(Cow::Owned)
    }

    /// Returns what is known about the directory that a session is to work in.
    fn prepared(&self, cwd: Option<&Path>) -> Result<Arc<PreparedDirectory>, CommandFailure> {
        let cwd = cwd.unwrap_or(&self.here.cwd);
        if *cwd == self.here.cwd && !self.is_outdated.load(Ordering::Acquire) {
            return Ok(Arc::clone(&self.here));
        }
        check_directory(cwd)?;
        let mut elsewhere = self
            .elsewhere
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = elsewhere.get(cwd) {
            return Ok(Arc::clone(known));
        }
        let read = Arc::new(PreparedDirectory::read(&self.source, cwd)?);
        if elsewhere.len() >= DIRECTORIES_KNOWN_MAX {
            elsewhere.clear();
        }
        elsewhere.insert(cwd.to_owned(), Arc::clone(&read));
        Ok(read)
    }

    /// Has the next sessions read their configuration anew. Those that are open keep theirs.
    fn outdate(&self) {
        self.is_outdated.store(true, Ordering::Release);
        let elsewhere = self.elsewhere.lock();
        elsewhere.unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// As [`Self::prepared`], for a session that has settings of its own: they are nothing for
    /// others.
    fn prepared_alone(
        &self,
        source: &ConfigSource,
        cwd: Option<&Path>,
    ) -> Result<Arc<PreparedDirectory>, CommandFailure> {
        let cwd = cwd.unwrap_or(&self.here.cwd);
        check_directory(cwd)?;
        Ok(Arc::new(PreparedDirectory::read(source, cwd)?))
    }

    fn surroundings(&self) -> &ProcessSurroundings {
        self.surroundings.get_or_init(ProcessSurroundings::look)
    }

    fn instructions(
        &self,
        settings: &Settings,
        request: &ConfigureSession,
    ) -> Result<InstructionSettings, CommandFailure> {
        let conversation = &settings.conversation;
        let surroundings = self.surroundings();
        let base = match (
            &request.base_instructions,
            &conversation.model_instructions_file,
        ) {
            (Some(text), _) => Some(text.as_str().into()),
            (None, Some(path)) => Some(
                fs::read_to_string(path)
                    .with_context(|| {
                        format!("cannot read model_instructions_file {}", path.display())
                    })
                    .map_err(CommandFailure::not_started)?
                    .into(),
            ),
            (None, None) => None,
        };
        let user: Vec<String> = self
            .personal_instructions()?
            .into_iter()
            .chain(conversation.instructions.clone())
            .collect();
        Ok(InstructionSettings {
            base,
            user: (!user.is_empty()).then(|| self.shared(user.join("\n\n"))),
            user_file: Some(self.source.home.instructions_file()).filter(|file| file.is_file()),
            role: None,
            project: ProjectDocSettings {
                bytes_max: conversation.project_doc_max_bytes,
                root_markers: conversation.project_root_markers.clone(),
                fallback_filenames: conversation.project_doc_fallback_filenames.clone(),
            },
            skills: Arc::clone(&self.skills),
            shell: surroundings.shell.clone(),
            time_zone: surroundings.time_zone.clone(),
        })
    }
}

impl Wiring {
    /// Returns the copy of this text that the session before has, if it is the same.
    fn shared(&self, text: String) -> Arc<str> {
        let mut last = self
            .user_instructions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if **last != *text {
            *last = text.into();
        }
        Arc::clone(&last)
    }

    fn personal_instructions(&self) -> Result<Option<String>, CommandFailure> {
        let path = self.source.home.instructions_file();
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(CommandFailure::not_started(
                anyhow::Error::new(error).context(format!("cannot read {}", path.display())),
            )),
        }
    }
}

#[async_trait]
impl SessionConfigurator for Wiring {
    async fn configure(&self, request: &ConfigureSession) -> Result<SessionSetup, ConfigureError> {
        let mut setup = self.setup(request).map_err(|failure| ConfigureError {
            info: if failure.is_missing_key() {
                ErrorInfo::Unauthorized
            } else {
                ErrorInfo::InvalidSubmission
            },
            ..ConfigureError::refused(failure.to_string())
        })?;
        if self.lacks_model(request) {
            let model = served_model(&setup).await;
            setup.context.model = model.map_err(ConfigureError::refused)?;
        }
        Ok(setup)
    }
}

impl Wiring {
    /// Tells whether a new session has no model: a provider was named, and none of its models.
    fn lacks_model(&self, request: &ConfigureSession) -> bool {
        let goes_on = request.resume.is_some() || request.fork.is_some();
        if goes_on || request.overrides.model.is_some() || self.models.needs_no_name() {
            return false;
        }
        let Ok(source) = self.source_for(request) else {
            return false;
        };
        let cwd = request.overrides.cwd.as_deref();
        let prepared = match &source {
            Cow::Borrowed(_) => self.prepared(cwd),
            Cow::Owned(source) => self.prepared_alone(source, cwd),
        };
        // What is wrong with it was told when the session was set up.
        prepared.is_ok_and(|prepared| {
            let settings = &prepared.settings;
            let id = provider_id(settings, request);
            match request.model_provider {
                Some(_) if settings.integrations.backends.contains_key(id) => false,
                Some(_) => catalogue::provider_of(&settings.model.model)
                    .is_some_and(|fitting| fitting != id && prepared.model_is_built_in()),
                None => prepared.lacks_model(),
            }
        })
    }
}

/// Returns the model that a provider serves, if it is one.
async fn served_model(setup: &SessionSetup) -> Result<String, String> {
    let id = &setup.provider_id;
    let models = setup.model.models().await.map_err(|error| {
        format!(
            "no model is named, and the provider {id} does not tell which it has ({error}); name \
             one: -m NAME, or the key model"
        )
    })?;
    match &models[..] {
        [only] => Ok(only.model.clone()),
        [] => Err(format!(
            "no model is named, and the provider {id} has none; name one: -m NAME, or the key model"
        )),
        several => {
            let names: Vec<&str> = several
                .iter()
                .take(MODELS_NAMED_MAX)
                .map(|entry| entry.model.as_str())
                .collect();
            let more = match several.len() - names.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            Err(format!(
                "no model is named, and the provider {id} has several: {}{more}; name one: -m \
                 NAME, or the key model",
                names.join(", ")
            ))
        }
    }
}

/// Returns where a session's model is asked: where the client says, else where the catalogue has
/// the model that it names, else as configured.
fn provider_id<'a>(settings: &'a Settings, request: &'a ConfigureSession) -> &'a str {
    let configured = settings.model.model_provider.as_str();
    let by_model = || {
        let model = request.overrides.model.as_deref()?;
        settings.model.fitting_provider(model)
    };
    let requested = request.model_provider.as_deref();
    requested.or_else(by_model).unwrap_or(configured)
}

/// Returns a source with the settings of one session over all others.
fn with_config(
    source: &ConfigSource,
    config: &serde_json::Map<String, Value>,
) -> Result<ConfigSource, CommandFailure> {
    let mut source = source.clone();
    for (key, value) in config {
        source.overrides.of_client.push(argument(key, value)?);
    }
    Ok(source)
}

/// Writes a setting as an argument of the command line would.
fn argument(key: &str, value: &Value) -> Result<String, CommandFailure> {
    let value = toml::Value::try_from(value).map_err(|error| {
        CommandFailure::usage(format!("config {key} has no form in TOML: {error}"))
    })?;
    Ok(format!("{key}={value}"))
}

/// A relative directory would be relative to wherever this program was started.
fn check_directory(cwd: &Path) -> Result<(), CommandFailure> {
    let problem = if !cwd.is_absolute() {
        "is not an absolute path"
    } else if !cwd.is_dir() {
        "is not a directory"
    } else {
        return Ok(());
    };
    Err(CommandFailure::usage(format!(
        "cwd {} {problem}; name an existing directory by its absolute path",
        cwd.display()
    )))
}

#[cfg(test)]
mod tests;
