//! A tree of real agents: sessions, logs in a directory, tools. Only the model is not one: it
//! answers at once and keeps nothing, so that every byte that stays is the tree's.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::stream;
use tempfile::TempDir;
use tokio::sync::mpsc;
use troupe_agents::roles::{RoleLibrary, TypeChoices};
use troupe_agents::tree_access::{
    CallbackChoice, ModelChoice, SpawnCatalogue, SpawnContext, SpawnRequest,
};
use troupe_agents::{AgentsConfigurator, Family, RecoveryPolicy, TreeHandle, TreeOptions};
use troupe_engine::{
    ConfigureError, EventStream, IdSource, InstructionSettings, NoHost, SessionClock,
    SessionConfigurator, SessionDeps, SessionHandle, SessionOrigin, SessionSetup, SharedEncodings,
    WindowSettings, spawn,
};
use troupe_model::{LanguageModel, ModelEvent, ModelRequest, ModelStream};
use troupe_process::{Launcher, LauncherOptions};
use troupe_protocol::input::UserInput;
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::policy::{ApprovalPolicy, CollaborationMode, ReasoningSummary, SandboxPolicy};
use troupe_protocol::session::{SessionSource, TurnContext};
use troupe_protocol::spawn::CallbackConfig;
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{CallId, EventMsg, Op, ResponseId, ResponseItem};
use troupe_store::{EmbeddedStore, SessionStore};
use troupe_tools::rules::{ProjectTrust, RuleSource};
use troupe_tools::{EnvironmentPolicy, ToolDeps, Toolbox};
use troupe_tree::TreeLimits;

use crate::cpu::process_time;

/// What an agent says in each turn, besides a call.
const WORDS: usize = 40;

pub struct Stage {
    pub store: Arc<dyn SessionStore>,
    pub agents: TreeHandle,
    /// Tells of each first request of a child when it arrives.
    pub first_requests: mpsc::UnboundedReceiver<Asked>,
    root: SessionHandle,
    listening: tokio::task::JoinHandle<()>,
    dir: TempDir,
}

/// The moment of a request.
pub struct Asked {
    pub at: Instant,
    /// What the process had used by then.
    pub cpu: Duration,
}

impl Stage {
    /// Opens a root whose tree keeps so many sessions in memory, itself among them. Its
    /// agents make so many requests.
    pub async fn open(turns: usize, max_resident: usize, agents_max: usize) -> Self {
        let dir = TempDir::new().unwrap();
        let store: Arc<dyn SessionStore> = Arc::new(EmbeddedStore::open(dir.path()).unwrap());
        let (tell, first_requests) = mpsc::unbounded_channel();
        let inner = Arc::new(Fixed {
            store: Arc::clone(&store),
            model: Arc::new(Talker { turns, tell }),
            toolbox: toolbox(&dir),
            cwd: dir.path().to_owned(),
            encodings: Arc::default(),
        });
        let limits = TreeLimits {
            max_agents: agents_max + 1,
            max_spawns_per_minute: agents_max,
            max_resident,
            ..TreeLimits::default()
        };
        let options = TreeOptions {
            limits,
            families: vec![Family::Agents, Family::Sessions, Family::Subagents],
            roles: Arc::new(RoleLibrary::new(dir.path().to_owned())),
            catalogue: Arc::new(AnyModel),
            callback: CallbackConfig::default(),
            recovery: RecoveryPolicy::Leave,
            types: TypeChoices::default(),
            reader: None,
        };
        let clock = SessionClock::system();
        let tree = AgentsConfigurator::new(inner, options, clock, IdSource::random());
        let tree = Arc::new(tree);
        let (root, mut events) = spawn(SessionDeps::new(
            Arc::clone(&tree) as Arc<dyn SessionConfigurator>
        ));
        let op = Op::ConfigureSession(ConfigureSession::default());
        root.operate(op).await.unwrap();
        until_configured(&mut events).await;
        Self {
            store,
            agents: tree.agents().unwrap(),
            first_requests,
            root,
            listening: tokio::spawn(async move { while events.next().await.is_some() {} }),
            dir,
        }
    }

    /// Makes a child that nobody waits for.
    pub async fn make_child(&self) {
        let request = child(self.dir.path().to_owned());
        self.agents.user().spawn(request).await.unwrap();
    }

    /// Makes children and returns when all are done.
    pub async fn fill(&self, children: usize) {
        for _ in 0..children {
            self.make_child().await;
        }
        self.agents.wait_until_idle().await;
    }

    pub async fn close(self) {
        self.agents.close().await;
        drop(self.root);
        self.listening.await.unwrap();
    }
}

async fn until_configured(events: &mut EventStream) {
    while let Some(event) = events.next().await {
        if matches!(event.msg, EventMsg::SessionConfigured(_)) {
            return;
        }
    }
    panic!("the root was not opened");
}

fn toolbox(dir: &TempDir) -> Toolbox {
    Toolbox::new(ToolDeps {
        launcher: Launcher::new(LauncherOptions::default()),
        environment: EnvironmentPolicy::default(),
        inherited: std::env::vars().collect(),
        secrets: Vec::new(),
        troupe_home: Some(dir.path().to_owned()),
        rules: RuleSource {
            user: Some(dir.path().join("rules.toml")),
            projects: Vec::new(),
            trust: ProjectTrust::Untrusted,
        },
    })
}

fn child(cwd: PathBuf) -> SpawnRequest {
    let turn = SpawnContext {
        task: "bench".into(),
        call: None,
        message_index: 0,
        cwd,
        model: "bench-model".to_owned(),
        reasoning_effort: None,
        approval_policy: ApprovalPolicy::Never,
        sandbox_policy: SandboxPolicy::DangerFullAccess,
        collaboration_mode: CollaborationMode::Default,
    };
    SpawnRequest {
        callback: CallbackChoice::each_end(false),
        ..SpawnRequest::new("spawn_agent", vec![UserInput::text("remember much")], turn)
    }
}

/// Configures every session alike.
#[derive(Debug)]
struct Fixed {
    store: Arc<dyn SessionStore>,
    model: Arc<dyn LanguageModel>,
    toolbox: Toolbox,
    cwd: PathBuf,
    encodings: Arc<SharedEncodings>,
}

#[async_trait]
impl SessionConfigurator for Fixed {
    async fn configure(&self, _: &ConfigureSession) -> Result<SessionSetup, ConfigureError> {
        Ok(SessionSetup {
            store: Arc::clone(&self.store),
            provider_id: "bench".to_owned(),
            model: Arc::clone(&self.model),
            tools: self.toolbox.registry(),
            context: TurnContext {
                cwd: self.cwd.clone(),
                approval_policy: ApprovalPolicy::Never,
                sandbox_policy: SandboxPolicy::DangerFullAccess,
                model: "bench-model".to_owned(),
                effort: None,
                summary: ReasoningSummary::default(),
                collaboration_mode: CollaborationMode::default(),
                mode_instructions: None,
                plan_writes: false,
                personality: None,
                developer_instructions: None,
            },
            instructions: InstructionSettings::default(),
            window: WindowSettings::default(),
            origin: SessionOrigin {
                originator: "bench".to_owned(),
                cli_version: "0.0.0".to_owned(),
                source: SessionSource::Exec,
                git: None,
            },
            notices: Vec::new(),
            host: Arc::new(NoHost::default()),
            encodings: Arc::clone(&self.encodings),
            session_id: None,
            prompt_cache_key: None,
            forking_call: None,
            fork_rights: None,
            dynamic_tools: Vec::new(),
        })
    }
}

#[derive(Debug)]
struct AnyModel;

impl SpawnCatalogue for AnyModel {
    fn models(&self) -> Option<Vec<ModelChoice>> {
        Some(Vec::new())
    }
}

/// Says the same and calls the same tool in each turn but the last.
#[derive(Debug)]
struct Talker {
    turns: usize,
    tell: mpsc::UnboundedSender<Asked>,
}

impl LanguageModel for Talker {
    fn provider_id(&self) -> &'static str {
        "bench"
    }

    fn open(&self, request: ModelRequest) -> ModelStream {
        let is_call = |item: &ResponseItem| item.open_call().is_some();
        let input = request.input.iter();
        let calls = input.filter(|item| is_call(item.item())).count();
        if calls == 0 {
            // Nobody listens when only memory is measured.
            let asked = Asked {
                at: Instant::now(),
                cpu: process_time(),
            };
            self.tell.send(asked).ok();
        }
        let mut items = vec![ResponseItem::assistant_text("many words ".repeat(WORDS))];
        if calls + 1 < self.turns {
            items.push(ResponseItem::FunctionCall {
                id: None,
                name: "update_plan".to_owned(),
                arguments: r#"{"plan":[{"step":"remember","status":"in_progress"}]}"#.to_owned(),
                call_id: CallId(format!("call_{calls}")),
            });
        }
        let numbered = items.into_iter().enumerate();
        let done = numbered.map(|(number, item)| ModelEvent::ItemDone {
            item_id: format!("item_{calls}_{number}"),
            item,
        });
        let completed = ModelEvent::Completed {
            response_id: ResponseId(format!("response_{calls}")),
            usage: TokenUsage::default(),
        };
        ModelStream::new(stream::iter([done.chain([completed]).collect()]))
    }
}
