//! The stage of a scenario: home, working directory, scripted model.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tempfile::TempDir;
use troupe_acp::backend::{AcpBackend, BackendConfig};
use troupe_agents::roles::{RoleLibrary, TypeChoices};
use troupe_agents::tree_access::{ModelChoice, SpawnCatalogue};
use troupe_agents::{AgentsConfigurator, Family, RecoveryPolicy, RootDeps, TreeOptions};
use troupe_engine::{
    ConfigureError, EventStream, InstructionSettings, NoHost, SessionClock, SessionConfigurator,
    SessionDeps, SessionHandle, SessionOrigin, SessionSetup, SetupNotice, SharedEncodings,
    WindowSettings,
};
use troupe_mock_model::{MockServer, RecordedRequest, Screenplay};
use troupe_model::{ProviderConfig, WireApi};
use troupe_process::{Launcher, LauncherOptions};
use troupe_protocol::op::{ConfigureSession, Op};
use troupe_protocol::policy::{
    ApprovalPolicy, CollaborationMode, ReasoningEffort, ReasoningSummary, SandboxPolicy,
};
use troupe_protocol::session::{SessionSource, TurnContext};
use troupe_protocol::spawn::CallbackConfig;
use troupe_protocol::{EventMsg, SessionId};
use troupe_server::SessionFactory;
use troupe_store::{EmbeddedStore, SessionStore};
use troupe_tools::rules::{ProjectTrust, RuleSource};
use troupe_tools::{EnvironmentPolicy, Registry, ToolDeps, Toolbox, UndoCoverage};
use troupe_tree::TreeLimits;

use crate::actor::Actor;

/// A home, a working directory, and a model that follows a screenplay.
#[derive(Debug)]
pub struct Stage {
    dir: TempDir,
    server: MockServer,
    settings: StageSettings,
    /// Takes the place of the files in the home.
    store: Option<Arc<dyn SessionStore>>,
    /// How a tree is made; none if sessions have no children.
    tree: Option<TreeOptions>,
    clock: SessionClock,
    adjust: Adjust,
}

/// The last hand on what a session runs on.
#[derive(Clone)]
struct Adjust(Arc<dyn Fn(&mut SessionSetup) + Send + Sync>);

impl fmt::Debug for Adjust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Adjust")
    }
}

#[derive(Debug, Clone)]
struct StageSettings {
    approval_policy: ApprovalPolicy,
    sandbox_policy: SandboxPolicy,
    window: WindowSettings,
    retries: u32,
    idle_timeout_ms: u64,
    stateful: bool,
    wire: WireApi,
    notices: Vec<SetupNotice>,
    backends: BTreeMap<String, BackendConfig>,
}

impl Stage {
    pub async fn new(screenplay: &str) -> Self {
        let screenplay: Screenplay = screenplay.parse().expect("the screenplay is well-formed");
        let server = MockServer::start(screenplay, ([127, 0, 0, 1], 0).into())
            .await
            .expect("a loopback port is free");
        let dir = TempDir::new().expect("a temporary directory can be made");
        std::fs::create_dir_all(dir.path().join("work")).expect("the directory is ours");
        Self {
            dir,
            server,
            settings: StageSettings {
                approval_policy: ApprovalPolicy::Never,
                sandbox_policy: SandboxPolicy::DangerFullAccess,
                // Nobody but the stage knows its model.
                window: WindowSettings {
                    context_window: Some(272_000),
                    auto_compact_token_limit: None,
                },
                retries: 2,
                idle_timeout_ms: 10_000,
                stateful: false,
                wire: WireApi::Responses,
                notices: Vec::new(),
                backends: BTreeMap::new(),
            },
            store: None,
            tree: None,
            clock: SessionClock::system(),
            adjust: Adjust(Arc::new(|_| ())),
        }
    }

    /// Tells sessions this time.
    pub fn clock(mut self, clock: SessionClock) -> Self {
        self.clock = clock;
        self
    }

    /// Changes what sessions run on, such as the tree they are members of.
    pub fn adjusting(mut self, adjust: impl Fn(&mut SessionSetup) + Send + Sync + 'static) -> Self {
        self.adjust = Adjust(Arc::new(adjust));
        self
    }

    pub fn approval(mut self, policy: ApprovalPolicy) -> Self {
        self.settings.approval_policy = policy;
        self
    }

    pub fn sandbox(mut self, policy: SandboxPolicy) -> Self {
        self.settings.sandbox_policy = policy;
        self
    }

    pub fn window(mut self, window: WindowSettings) -> Self {
        self.settings.window = window;
        self
    }

    pub fn idle_timeout_ms(mut self, milliseconds: u64) -> Self {
        self.settings.idle_timeout_ms = milliseconds;
        self
    }

    /// Has the provider keep what it was sent.
    pub fn stateful(mut self) -> Self {
        self.settings.stateful = true;
        self
    }

    /// Speaks to the model in this way.
    pub fn wire(mut self, wire: WireApi) -> Self {
        self.settings.wire = wire;
        self
    }

    /// Lets the configuration have something that a person should know.
    pub fn notice(mut self, notice: SetupNotice) -> Self {
        self.settings.notices.push(notice);
        self
    }

    /// Has a program that children can be instead of a model. Comes before the tree is made.
    pub fn backend(mut self, name: &str, config: BackendConfig) -> Self {
        self.settings.backends.insert(name.to_owned(), config);
        self
    }

    /// Lets sessions have children, by the tools of these families.
    pub fn with_agents(self, families: &[Family]) -> Self {
        let options = self.tree_options(families);
        self.with_tree(options)
    }

    /// Lets sessions have children, in a tree that is made like this.
    pub fn with_tree(mut self, options: TreeOptions) -> Self {
        self.tree = Some(options);
        self
    }

    /// Opens sessions by themselves from now on, also members of a tree.
    pub fn without_tree(mut self) -> Self {
        self.tree = None;
        self
    }

    /// Returns what a tree is made with unless a scenario wants something else.
    pub fn tree_options(&self, families: &[Family]) -> TreeOptions {
        TreeOptions {
            limits: TreeLimits::default(),
            families: families.to_vec(),
            roles: Arc::new(RoleLibrary::new(self.home())),
            catalogue: Arc::new(Offers {
                backends: self.settings.backends.clone(),
            }),
            callback: CallbackConfig::default(),
            callback_asked: serde_json::Map::new(),
            recovery: RecoveryPolicy::Leave,
            types: TypeChoices::default(),
            reader: None,
        }
    }

    /// Keeps sessions in this store.
    pub fn keeping_in(mut self, store: Arc<dyn SessionStore>) -> Self {
        self.store = Some(store);
        self
    }

    pub fn cwd(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.cwd().join(name), text).expect("the stage is writable");
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.cwd().join(name)).expect("the scenario made this file")
    }

    /// Returns what the model was asked so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.server.requests()
    }

    /// Returns the `input` of the n-th request, as JSON.
    pub fn input_of(&self, n: usize) -> Vec<serde_json::Value> {
        let requests = self.requests();
        let body: serde_json::Value =
            serde_json::from_slice(&requests[n].body).expect("a request is JSON");
        body["input"].as_array().cloned().unwrap_or_default()
    }

    pub fn store(&self) -> Arc<dyn SessionStore> {
        if let Some(store) = &self.store {
            return Arc::clone(store);
        }
        Arc::new(EmbeddedStore::open(&self.home()).expect("the stage has a writable home"))
    }

    /// Opens a queue pair and nothing else.
    pub fn enter(&self) -> Actor {
        let OpenedPair {
            handle,
            events,
            tree,
        } = self.open();
        Actor::new(handle, events, tree)
    }

    /// Opens a queue pair to be served to others.
    pub fn queue_pair(&self) -> (SessionHandle, EventStream) {
        let OpenedPair { handle, events, .. } = self.open();
        (handle, events)
    }

    /// As [`Self::queue_pair`], with the way to the tree that the session is to be the root of.
    pub fn queue_pair_and_tree(
        &self,
    ) -> (SessionHandle, EventStream, Option<Arc<AgentsConfigurator>>) {
        let OpenedPair {
            handle,
            events,
            tree,
        } = self.open();
        (handle, events, tree)
    }

    fn open(&self) -> OpenedPair {
        let deps = self.deps(self.store());
        let (deps, tree) = match self.tree.clone() {
            Some(options) => {
                let RootDeps { deps, configurator } = RootDeps::new(deps, options);
                (deps, Some(configurator))
            }
            None => (deps, None),
        };
        let (handle, events) = troupe_engine::spawn(deps);
        OpenedPair {
            handle,
            events,
            tree,
        }
    }

    /// Returns what many sessions of one process are opened with.
    pub fn ground(&self) -> Arc<dyn SessionFactory> {
        let store = self.store();
        Arc::new(StageGround {
            deps: self.deps(Arc::clone(&store)),
            options: self
                .tree
                .clone()
                .unwrap_or_else(|| self.tree_options(&[Family::Agents])),
            store,
        })
    }

    fn deps(&self, store: Arc<dyn SessionStore>) -> SessionDeps {
        let configurator = StageConfigurator {
            base_url: self.server.base_url(),
            home: self.home(),
            cwd: self.cwd(),
            store,
            settings: self.settings.clone(),
            adjust: self.adjust.clone(),
            launcher: Launcher::new(LauncherOptions::default()),
            encodings: Arc::default(),
        };
        SessionDeps {
            clock: self.clock.clone(),
            ..SessionDeps::new(Arc::new(configurator))
        }
    }

    /// Opens a queue pair with a new session.
    pub async fn start(&self) -> Actor {
        self.start_with(ConfigureSession::default()).await
    }

    pub async fn resume(&self, session: SessionId) -> Actor {
        self.start_with(ConfigureSession {
            resume: Some(session),
            ..ConfigureSession::default()
        })
        .await
    }

    pub async fn start_with(&self, request: ConfigureSession) -> Actor {
        let mut actor = self.enter();
        actor.submit(Op::ConfigureSession(request)).await;
        actor
            .until(|msg| matches!(msg, EventMsg::SessionConfigured(_)))
            .await;
        actor
    }
}

/// A queue pair, and the tree that its session is to be the root of.
struct OpenedPair {
    handle: SessionHandle,
    events: EventStream,
    tree: Option<Arc<AgentsConfigurator>>,
}

#[derive(Debug)]
struct StageGround {
    deps: SessionDeps,
    options: TreeOptions,
    store: Arc<dyn SessionStore>,
}

impl SessionFactory for StageGround {
    fn grove(&self) -> RootDeps {
        RootDeps::new(self.deps.clone(), self.options.clone())
    }

    fn store(&self) -> Result<Arc<dyn SessionStore>, String> {
        Ok(Arc::clone(&self.store))
    }
}

#[derive(Debug)]
struct StageConfigurator {
    base_url: String,
    home: PathBuf,
    cwd: PathBuf,
    store: Arc<dyn SessionStore>,
    settings: StageSettings,
    adjust: Adjust,
    /// Shared by all agents of a tree, as in the program.
    launcher: Launcher,
    encodings: Arc<SharedEncodings>,
}

#[async_trait]
impl SessionConfigurator for StageConfigurator {
    async fn configure(&self, request: &ConfigureSession) -> Result<SessionSetup, ConfigureError> {
        let provider = ProviderConfig {
            base_url: self.base_url.clone(),
            request_max_retries: Some(self.settings.retries),
            stream_max_retries: Some(self.settings.retries),
            stream_idle_timeout_ms: NonZeroU64::new(self.settings.idle_timeout_ms),
            stateful: self.settings.stateful,
            wire_api: self.settings.wire,
            ..ProviderConfig::default()
        };
        let model = provider
            .connect("scripted", None)
            .map_err(|error| ConfigureError::refused(error.to_string()))?;
        let (provider_id, model, tools) = if let Some(backend) = self.backend(request) {
            let name = backend.name.clone();
            let (model, tools) = backend.attach();
            (name, model, tools)
        } else {
            let tools = standard_tools(self.launcher.clone(), &self.home, &self.cwd);
            ("scripted".to_owned(), model, tools)
        };
        let mut setup = SessionSetup {
            store: Arc::clone(&self.store),
            provider_id,
            model,
            tools,
            context: TurnContext {
                cwd: self.cwd.clone(),
                approval_policy: self.settings.approval_policy,
                sandbox_policy: self.settings.sandbox_policy.clone(),
                model: "scripted-1".to_owned(),
                effort: None,
                summary: ReasoningSummary::default(),
                collaboration_mode: CollaborationMode::default(),
                mode_instructions: None,
                plan_writes: false,
                personality: None,
                developer_instructions: None,
            },
            instructions: InstructionSettings {
                shell: "bash".to_owned(),
                ..InstructionSettings::default()
            },
            window: self.settings.window,
            origin: SessionOrigin {
                originator: "testkit".to_owned(),
                cli_version: "0.0.0".to_owned(),
                source: SessionSource::Cli,
                git: None,
            },
            notices: self.settings.notices.clone(),
            host: Arc::new(NoHost::default()),
            encodings: Arc::clone(&self.encodings),
            session_id: None,
            prompt_cache_key: None,
            forking_call: None,
            fork_rights: None,
            dynamic_tools: Vec::new(),
        };
        (self.adjust.0)(&mut setup);
        Ok(setup)
    }
}

impl StageConfigurator {
    /// Returns the program that a session wants in the place of a model.
    fn backend(&self, request: &ConfigureSession) -> Option<AcpBackend> {
        let name = request.model_provider.as_ref()?;
        let config = self.settings.backends.get(name)?;
        Some(AcpBackend {
            name: name.clone(),
            config: config.clone(),
            launcher: self.launcher.clone(),
            version: "0.0.0",
            environment: std::env::vars().collect(),
        })
    }
}

fn standard_tools(launcher: Launcher, home: &Path, cwd: &Path) -> Registry {
    // A scenario must not depend on the profile of whoever plays it, nor wait for it.
    let own = ("HOME".to_owned(), home.to_string_lossy().into_owned());
    let toolbox = Toolbox::new(ToolDeps {
        launcher,
        environment: EnvironmentPolicy::default(),
        inherited: std::env::vars().chain([own]).collect(),
        secrets: Vec::new(),
        troupe_home: None,
        rules: RuleSource {
            user: Some(home.join("rules.toml")),
            projects: vec![cwd.join(".troupe/rules.toml")],
            trust: ProjectTrust::Untrusted,
        },
    });
    toolbox
        .with_undo(home, UndoCoverage::PatchesAndCommands)
        .registry()
}

/// What a scenario's children can be given.
#[derive(Debug)]
struct Offers {
    backends: BTreeMap<String, BackendConfig>,
}

impl SpawnCatalogue for Offers {
    fn models(&self) -> Option<Vec<ModelChoice>> {
        let efforts = vec![ReasoningEffort::Low, ReasoningEffort::High];
        let model = |name: &str| ModelChoice {
            name: name.to_owned(),
            efforts: efforts.clone(),
        };
        Some(vec![model("scripted-1"), model("scripted-2")])
    }

    fn backends(&self) -> Vec<String> {
        self.backends.keys().cloned().collect()
    }

    fn backend_sandbox(&self, backend: &str, child: &SandboxPolicy) -> Option<SandboxPolicy> {
        Some(self.backends.get(backend)?.sandbox(child))
    }
}
