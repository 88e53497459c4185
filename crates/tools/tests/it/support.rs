//! A session as the tools see it: a directory, a registry, and a channel that writes down
//! what it is told and answers what it is asked.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use troupe_process::{BackendChoice, Launcher, LauncherOptions};
use troupe_protocol::approval::{ReviewDecision, UserInputRequest, UserInputResponse};
use troupe_protocol::item::{CommandExecutionItem, FileChangeItem, TurnItem};
use troupe_protocol::policy::{ApprovalPolicy, CollaborationMode, SandboxPolicy};
use troupe_tools::hooks::HookSettings;
use troupe_tools::rules::{ProjectTrust, RuleSource};
use troupe_tools::{
    ApprovalQuestion, CallChannel, CallContext, EnvironmentPolicy, Registry, ToolDeps, ToolEvent,
    ToolInput, ToolInvocation, ToolOutput, Toolbox, UndoCoverage,
};

/// A session with a working directory of its own, and another directory that is not in it.
#[derive(Debug)]
pub struct Bench {
    _root: TempDir,
    pub cwd: PathBuf,
    pub outside: PathBuf,
    pub registry: Arc<Registry>,
    pub channel: Arc<Recorder>,
    pub context: CallContext,
}

impl Bench {
    pub fn new() -> Self {
        Self::with_backend(BackendChoice::Auto)
    }

    pub fn with_backend(backend: BackendChoice) -> Self {
        Self::with(backend, HookSettings::default())
    }

    /// A session of a user with these hooks, in TOML.
    pub fn hooked(hooks: &str) -> Self {
        Self::with(BackendChoice::Auto, toml::from_str(hooks).unwrap())
    }

    fn with(backend: BackendChoice, hooks: HookSettings) -> Self {
        let root = TempDir::new().unwrap();
        let real = root.path().canonicalize().unwrap();
        let [cwd, outside, home] = ["cwd", "outside", "home"].map(|name| real.join(name));
        for directory in [&cwd, &outside, &home] {
            std::fs::create_dir(directory).unwrap();
        }
        let toolbox = Toolbox::new(ToolDeps {
            launcher: Launcher::new(LauncherOptions {
                backend,
                troupe_home: Some(home.clone()),
                ..LauncherOptions::default()
            }),
            environment: EnvironmentPolicy::default(),
            inherited: environment(),
            secrets: vec!["PROVIDER".to_owned()],
            troupe_home: Some(home.clone()),
            rules: RuleSource {
                user: Some(home.join("rules.toml")),
                projects: vec![cwd.join(".troupe/rules.toml")],
                trust: ProjectTrust::Untrusted,
            },
        });
        let toolbox = toolbox.with_undo(&home, UndoCoverage::PatchesAndCommands);
        Self {
            context: CallContext {
                session_id: troupe_protocol::SessionId::random(),
                turn_id: "turn".into(),
                cwd: cwd.clone(),
                approval_policy: ApprovalPolicy::OnRequest,
                sandbox_policy: workspace_only(),
                sandbox_held: None,
                collaboration_mode: CollaborationMode::Default,
                model: "model".to_owned(),
                effort: None,
                message_index: 0,
            },
            _root: root,
            cwd,
            outside,
            registry: Arc::new(toolbox.with_hooks(hooks).registry()),
            channel: Arc::default(),
        }
    }

    pub fn approval(mut self, policy: ApprovalPolicy) -> Self {
        self.context.approval_policy = policy;
        self
    }

    pub fn sandbox(mut self, policy: SandboxPolicy) -> Self {
        self.context.sandbox_policy = policy;
        self
    }

    pub fn home(&self) -> PathBuf {
        self.cwd.with_file_name("home")
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.cwd.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.cwd.join(path)).unwrap()
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        self.call_raw(tool, ToolInput::Json(arguments.to_string()))
            .await
    }

    pub async fn call_raw(&self, tool: &str, input: ToolInput) -> ToolOutput {
        self.registry.call(tool, self.new_call(input)).await
    }

    /// The text of the answer, with what differs from run to run put in braces.
    pub async fn text(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments).await;
        self.normal(output.text().expect("the answer is text"))
    }

    pub async fn shell(&self, script: &str) -> String {
        self.text("shell_command", serde_json::json!({"command": script}))
            .await
    }

    /// Starts a call that can be cancelled while it runs.
    pub fn start(&self, tool: &'static str, arguments: Value) -> Started {
        let call = self.new_call(ToolInput::Json(arguments.to_string()));
        let cancel = call.cancel.clone();
        let registry = Arc::clone(&self.registry);
        Started {
            cancel,
            task: tokio::spawn(async move { registry.call(tool, call).await }),
        }
    }

    fn new_call(&self, input: ToolInput) -> ToolInvocation {
        ToolInvocation {
            id: "call".into(),
            input,
            context: Arc::new(self.context.clone()),
            channel: Arc::clone(&self.channel) as Arc<dyn CallChannel>,
            cancel: CancellationToken::new(),
            aborted: Arc::default(),
        }
    }

    pub fn normal(&self, text: &str) -> String {
        let text = text
            .replace(&self.cwd.display().to_string(), "{cwd}")
            .replace(&self.outside.display().to_string(), "{outside}");
        let mut lines: Vec<&str> = text.split('\n').collect();
        for line in &mut lines {
            if line.starts_with("Wall time: ") {
                *line = "Wall time: {time}";
            }
        }
        lines.join("\n")
    }
}

/// Only the working directory is writable, not the temporary directory that it lies in.
pub fn workspace_only() -> SandboxPolicy {
    SandboxPolicy::WorkspaceWrite {
        writable_roots: Vec::new(),
        network_access: false,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    }
}

fn environment() -> BTreeMap<String, String> {
    let path = std::env::var("PATH").unwrap();
    [
        ("PATH", path.as_str()),
        ("HOME", "/nonexistent"),
        ("SHELL", "/bin/bash"),
        ("PROVIDER", "secret"),
        ("GITHUB_TOKEN", "secret"),
        ("GREETING", "hello"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

#[derive(Debug)]
pub struct Started {
    pub cancel: CancellationToken,
    pub task: tokio::task::JoinHandle<ToolOutput>,
}

impl Started {
    pub async fn cancelled(self) -> ToolOutput {
        self.cancel.cancel();
        self.task.await.unwrap()
    }
}

/// The session's side of the channel.
#[derive(Debug, Default)]
pub struct Recorder {
    events: Mutex<Vec<ToolEvent>>,
    asks: Mutex<Vec<ApprovalQuestion>>,
    answers: Mutex<VecDeque<ReviewDecision>>,
    responses: Mutex<VecDeque<UserInputResponse>>,
    news: Notify,
}

impl Recorder {
    /// Prepares the answer to the next question. Without one, a question is never answered.
    pub fn will_answer(&self, decision: ReviewDecision) {
        self.answers.lock().unwrap().push_back(decision);
    }

    /// Prepares the answers to the next questions. Without any, nobody is there.
    pub fn will_respond(&self, response: UserInputResponse) {
        self.responses.lock().unwrap().push_back(response);
    }

    pub fn asks(&self) -> Vec<ApprovalQuestion> {
        std::mem::take(&mut self.asks.lock().unwrap())
    }

    pub fn events(&self) -> Vec<ToolEvent> {
        std::mem::take(&mut self.events.lock().unwrap())
    }

    /// Waits until the condition holds for what was told and asked so far.
    pub async fn until(&self, condition: impl Fn(&[ToolEvent], &[ApprovalQuestion]) -> bool) {
        loop {
            let news = self.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            if condition(&self.events.lock().unwrap(), &self.asks.lock().unwrap()) {
                return;
            }
            news.await;
        }
    }

    pub async fn until_output(&self, needle: &str) {
        self.until(|events, _| output_of(events).contains(needle))
            .await;
    }

    /// The item of the one command that was run, completed.
    pub fn command(&self) -> CommandExecutionItem {
        match self.completed() {
            TurnItem::CommandExecution(item) => item,
            other => panic!("{other:?}"),
        }
    }

    pub fn file_change(&self) -> FileChangeItem {
        match self.completed() {
            TurnItem::FileChange(item) => item,
            other => panic!("{other:?}"),
        }
    }

    /// The last completed item; checks that started and completed items alternate.
    pub fn completed(&self) -> TurnItem {
        let mut open = None;
        let mut last = None;
        for event in self.events() {
            match event {
                ToolEvent::Started(item) => {
                    let before = open.replace(item.id().clone());
                    assert_eq!(before, None, "one item at a time");
                }
                ToolEvent::Completed(item) => {
                    assert_eq!(open.take().as_ref(), Some(item.id()));
                    last = Some(item);
                }
                _ => {}
            }
        }
        assert_eq!(open, None, "every started item is completed");
        last.expect("an item was completed")
    }
}

pub fn output_of(events: &[ToolEvent]) -> String {
    let pieces = events.iter().filter_map(|event| match event {
        ToolEvent::Output { bytes, .. } => Some(bytes.to_vec()),
        _ => None,
    });
    String::from_utf8_lossy(&pieces.collect::<Vec<_>>().concat()).into_owned()
}

#[async_trait]
impl CallChannel for Recorder {
    async fn report(&self, event: ToolEvent) {
        self.events.lock().unwrap().push(event);
        self.news.notify_waiters();
    }

    async fn ask(&self, ask: ApprovalQuestion) -> ReviewDecision {
        self.asks.lock().unwrap().push(ask);
        self.news.notify_waiters();
        let answer = self.answers.lock().unwrap().pop_front();
        match answer {
            Some(decision) => decision,
            None => std::future::pending().await,
        }
    }

    async fn question(&self, _: UserInputRequest) -> Option<UserInputResponse> {
        self.responses.lock().unwrap().pop_front()
    }
}

/// A pipe that shows when the last process that holds it is gone.
#[derive(Debug)]
pub struct Leash {
    path: PathBuf,
}

impl Leash {
    pub fn new(directory: &Path) -> Self {
        let path = directory.join("leash");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        Self { path }
    }

    /// Waits for the first holder, then for the end of the last.
    pub async fn gone(self) {
        let read = tokio::task::spawn_blocking(move || std::fs::read(self.path));
        read.await.unwrap().unwrap();
    }
}
