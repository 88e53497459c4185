//! Builds what a session runs on: the one place that knows every crate, the environment
//! and the home.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::{env, fs, io};

use anyhow::Context as _;
use async_trait::async_trait;
use jiff::tz::TimeZone;
use troupe_config::{Config, Layer};
use troupe_engine::{
    Configurator, ConfigureError, Instructions, Origin, ProjectDocSettings, Setup, WindowSettings,
};
use troupe_model::Model;
use troupe_model::cassette::{Player, Recorder};
use troupe_process::{Launcher, LauncherOptions, harden_engine, sweep};
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::session::{SessionSource, TurnContext, TurnOverrides};
use troupe_store::{EmbeddedStore, MemoryStore, Store};
use troupe_tools::{Registry, ToolDeps};

use crate::exec::request::Cassette;
use crate::failure::Failure;
use crate::git;
use crate::home::{repository_root, user_home};
use crate::layers::{ConfigSource, Loaded};
use crate::provider::{ModelTrouble, connect, secret_variables};
use crate::settings::Settings;

/// Names the program that drives us, for SDKs that set it.
const ORIGINATOR_VARIABLE: &str = "CODEX_INTERNAL_ORIGINATOR_OVERRIDE";

/// Everything that sessions of this process are opened with.
#[derive(Debug)]
pub struct Wiring {
    source: ConfigSource,
    opened_for: SessionSource,
    add_dirs: Vec<PathBuf>,
    cassette: Cassette,
    /// Opened when first needed: a run that writes nothing needs no home.
    store: OnceLock<Arc<dyn Store>>,
    launcher: Launcher,
    /// The configuration of the directory that the program works in.
    here: Prepared,
}

/// A configuration, read and checked, for one directory.
#[derive(Debug)]
pub struct Prepared {
    cwd: PathBuf,
    config: Config,
    pub settings: Settings,
    warnings: Vec<String>,
}

impl Wiring {
    pub fn new(
        source: ConfigSource,
        cwd: &Path,
        opened_for: SessionSource,
    ) -> Result<Self, Failure> {
        let mut here = Prepared::read(&source, cwd)?;
        here.warnings.extend(take_over(source.home.path()));
        let launcher = Launcher::new(LauncherOptions {
            troupe_home: Some(source.home.path().to_owned()),
            ..LauncherOptions::default()
        });
        Ok(Self {
            opened_for,
            add_dirs: Vec::new(),
            cassette: Cassette::None,
            store: OnceLock::new(),
            launcher,
            here,
            source,
        })
    }

    pub fn with_add_dirs(mut self, directories: Vec<PathBuf>) -> Self {
        self.add_dirs = directories;
        self
    }

    pub fn with_cassette(mut self, cassette: Cassette) -> Self {
        self.cassette = cassette;
        self
    }

    pub fn store(&self) -> Result<Arc<dyn Store>, Failure> {
        if let Some(store) = self.store.get() {
            return Ok(Arc::clone(store));
        }
        let store = EmbeddedStore::open(self.source.home.path()).map_err(Failure::not_started)?;
        Ok(Arc::clone(self.store.get_or_init(|| Arc::new(store))))
    }

    pub fn here(&self) -> &Prepared {
        &self.here
    }

    /// Finds out early whether there is a model to ask.
    pub fn check_model(&self, request: &ConfigureSession) -> Result<(), ModelTrouble> {
        match self.cassette {
            Cassette::Replay(_) => Ok(()),
            Cassette::None | Cassette::Record(_) => {
                let settings = &self.here.settings;
                connect(settings, provider_id(settings, request)).map(|_| ())
            }
        }
    }

    /// Returns the provider that the person asked for in so many words.
    pub fn explicit_provider(&self) -> Option<String> {
        self.here
            .asks_for("model_provider")
            .then(|| self.here.settings.model.model_provider.clone())
    }

    /// Returns what the person asked for by profile, argument or flag: it holds in a
    /// session that is continued too, where everything else stays as it was.
    pub fn explicit(&self) -> Result<TurnOverrides, Failure> {
        let asked = |key| self.here.asks_for(key);
        let sandbox =
            asked("sandbox_mode") || asked("sandbox_workspace_write") || !self.add_dirs.is_empty();
        let context = self.context(&self.here)?;
        Ok(TurnOverrides {
            cwd: Some(context.cwd),
            approval_policy: asked("approval_policy").then_some(context.approval_policy),
            sandbox_policy: sandbox.then_some(context.sandbox_policy),
            model: asked("model").then_some(context.model),
            effort: context.effort.filter(|_| asked("model_reasoning_effort")),
            summary: asked("model_reasoning_summary").then_some(context.summary),
            collaboration_mode: None,
            personality: context.personality.filter(|_| asked("personality")),
        })
    }

    fn context(&self, prepared: &Prepared) -> Result<TurnContext, Failure> {
        let Prepared {
            cwd,
            config,
            settings,
            ..
        } = prepared;
        let rights = &settings.rights;
        let sandbox_policy =
            rights.sandbox_policy(config, user_home().as_deref(), &self.add_dirs)?;
        Ok(TurnContext {
            cwd: cwd.clone(),
            approval_policy: rights.approval_policy,
            sandbox_policy,
            model: settings.model.model.clone(),
            effort: settings.model.model_reasoning_effort,
            summary: settings.model.model_reasoning_summary,
            collaboration_mode: troupe_protocol::policy::CollaborationMode::default(),
            personality: settings.conversation.personality,
        })
    }

    fn setup(&self, request: &ConfigureSession) -> Result<Setup, Failure> {
        let elsewhere;
        let prepared = match &request.overrides.cwd {
            Some(cwd) if *cwd != self.here.cwd => {
                check_directory(cwd)?;
                elsewhere = Prepared::read(&self.source, cwd)?;
                &elsewhere
            }
            _ => &self.here,
        };
        let settings = &prepared.settings;
        let provider_id = provider_id(settings, request).to_owned();
        Ok(Setup {
            store: if request.ephemeral {
                Arc::new(MemoryStore::new())
            } else {
                self.store()?
            },
            model: self
                .model(settings, &provider_id)
                .map_err(Failure::not_started)?,
            provider_id,
            tools: self.tools(prepared),
            context: self.context(prepared)?,
            instructions: self.instructions(settings, request)?,
            window: WindowSettings {
                context_window: settings.model.model_context_window,
                auto_compact_token_limit: settings.model.model_auto_compact_token_limit,
            },
            origin: Origin {
                originator: env::var(ORIGINATOR_VARIABLE).unwrap_or_else(|_| "troupe".to_owned()),
                cli_version: env!("CARGO_PKG_VERSION").to_owned(),
                source: self.opened_for.clone(),
                git: repository_root(&prepared.cwd).and_then(git::info),
            },
            warnings: prepared.warnings.clone(),
            host: None,
            session_id: None,
            prompt_cache_key: None,
            open_call_answer: None,
        })
    }

    fn model(
        &self,
        settings: &Settings,
        provider_id: &str,
    ) -> Result<Arc<dyn Model>, ModelTrouble> {
        let tape = |path: &Path, error: io::Error| ModelTrouble::Cassette {
            path: path.to_owned(),
            error,
        };
        match &self.cassette {
            Cassette::None => connect(settings, provider_id),
            Cassette::Record(path) => {
                let model = connect(settings, provider_id)?;
                let recorder = Recorder::wrap(model, path).map_err(|error| tape(path, error))?;
                Ok(Arc::new(recorder))
            }
            Cassette::Replay(path) => {
                let player = Player::open(path).map_err(|error| tape(path, error))?;
                Ok(Arc::new(player))
            }
        }
    }

    fn tools(&self, prepared: &Prepared) -> Registry {
        let Prepared {
            cwd,
            config,
            settings,
            ..
        } = prepared;
        Registry::standard(ToolDeps {
            launcher: self.launcher.clone(),
            environment: settings.rights.shell_environment_policy.clone(),
            inherited: inherited(),
            secrets: secret_variables(settings),
            troupe_home: Some(self.source.home.path().to_owned()),
            rules: self.source.rules(cwd, config),
        })
    }

    fn instructions(
        &self,
        settings: &Settings,
        request: &ConfigureSession,
    ) -> Result<Instructions, Failure> {
        let conversation = &settings.conversation;
        let base = match (
            &request.base_instructions,
            &conversation.model_instructions_file,
        ) {
            (Some(text), _) => Some(text.clone()),
            (None, Some(path)) => Some(
                fs::read_to_string(path)
                    .with_context(|| {
                        format!("cannot read model_instructions_file {}", path.display())
                    })
                    .map_err(Failure::not_started)?,
            ),
            (None, None) => None,
        };
        let user: Vec<String> = self
            .personal_instructions()?
            .into_iter()
            .chain(conversation.instructions.clone())
            .collect();
        Ok(Instructions {
            base,
            user: (!user.is_empty()).then(|| user.join("\n\n")),
            role: None,
            project: ProjectDocSettings {
                bytes_max: conversation.project_doc_max_bytes,
                root_markers: conversation.project_root_markers.clone(),
                fallback_filenames: conversation.project_doc_fallback_filenames.clone(),
            },
            shell: shell_name(),
            time_zone: time_zone(),
        })
    }
}

impl Wiring {
    fn personal_instructions(&self) -> Result<Option<String>, Failure> {
        let path = self.source.home.instructions_file();
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::not_started(
                anyhow::Error::new(error).context(format!("cannot read {}", path.display())),
            )),
        }
    }
}

#[async_trait]
impl Configurator for Wiring {
    async fn configure(&self, request: &ConfigureSession) -> Result<Setup, ConfigureError> {
        self.setup(request).map_err(|failure| ConfigureError {
            message: failure.to_string(),
        })
    }
}

impl Prepared {
    fn read(source: &ConfigSource, cwd: &Path) -> Result<Self, Failure> {
        let Loaded {
            config,
            mut warnings,
        } = source.load(cwd)?;
        let settings = Settings::read(&config)?;
        warnings.extend(settings.integrations.warnings());
        Ok(Self {
            cwd: cwd.to_owned(),
            config,
            settings,
            warnings,
        })
    }

    /// Tells whether profile, argument or flag set a key, or one below it.
    fn asks_for(&self, key: &str) -> bool {
        let settings = self.config.settings();
        settings.iter().any(|(path, entry)| {
            path.parts().first().is_some_and(|first| first == key)
                && entry.origin.layer >= Layer::Profile
        })
    }
}

fn provider_id<'a>(settings: &'a Settings, request: &'a ConfigureSession) -> &'a str {
    let requested = request.model_provider.as_deref();
    requested.unwrap_or(&settings.model.model_provider)
}

/// A relative directory would be relative to wherever this program was started.
fn check_directory(cwd: &Path) -> Result<(), Failure> {
    let problem = if !cwd.is_absolute() {
        "is not an absolute path"
    } else if !cwd.is_dir() {
        "is not a directory"
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!(
        "cwd {} {problem}; name an existing directory by its absolute path",
        cwd.display()
    )))
}

/// The variables of this program that are text.
fn inherited() -> BTreeMap<String, String> {
    env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Names the shell that commands run with, which need not be the user's own.
fn shell_name() -> String {
    let shell = troupe_tools::shell(&inherited());
    let name = shell.file_name().unwrap_or(shell.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Returns the machine's time zone. Asking the library for it would list the whole zone
/// database to find the name; the link tells it, and the file behind it is the zone.
fn time_zone() -> TimeZone {
    const LOCAL: &str = "/etc/localtime";
    if env::var_os("TZ").is_some() {
        return TimeZone::system();
    }
    let zone = || {
        let link = std::fs::read_link(LOCAL).ok()?;
        let (_, name) = link.to_str()?.rsplit_once("zoneinfo/")?;
        TimeZone::tzif(name, &std::fs::read(LOCAL).ok()?).ok()
    };
    zone().unwrap_or(TimeZone::UTC)
}

/// Closes the program to its neighbours, and ends what an earlier one that crashed left
/// behind. Returns what a person should know of it.
fn take_over(home: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Err(error) = harden_engine() {
        warnings.push(format!("this process could not be hardened: {error}"));
    }
    match sweep(home) {
        Ok(0) => (),
        Ok(count) => warnings.push(format!(
            "ended {count} processes that a crashed run had left behind"
        )),
        Err(error) => warnings.push(format!(
            "what a crashed run may have left behind could not be looked for: {error}"
        )),
    }
    warnings
}
