//! One backend as a session has it: a model and a tool that share one companion.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1::{ContentBlock, TextContent};
use troupe_model::{HistoryItem, LanguageModel, ModelRequest};
use troupe_process::{CommandSpec, Confinement, Launcher, StdinMode};
use troupe_protocol::history::{ContentItem, Role};
use troupe_protocol::{ContextFragment, ResponseItem};
use troupe_tools::{CallContext, Registry};

use super::config::BackendConfig;
use super::connection::{AcpConnection, HandshakeOptions};
use super::model::AcpModel;
use super::tool::AcpTool;
use crate::limits::BACKEND_TRANSCRIPT_BYTES_MAX;
use crate::text::tail;

/// A program that can be a child, with what it is started with.
#[derive(Debug, Clone)]
pub struct AcpBackend {
    pub name: String,
    pub config: BackendConfig,
    pub launcher: Launcher,
    /// Of our own program, for its greeting.
    pub version: &'static str,
    /// The variables of our own program, of which it gets few.
    pub environment: BTreeMap<String, String>,
}

impl AcpBackend {
    /// Returns what a session runs on in the place of a model and its tools. Nothing is
    /// started before the first prompt.
    pub fn attach(self) -> (Arc<dyn LanguageModel>, Registry) {
        let link = Arc::new(BackendLink {
            backend: self,
            state: Mutex::default(),
        });
        let strings = AcpTool::new(Arc::clone(&link));
        (
            Arc::new(AcpModel::new(link)),
            Registry::new([Arc::new(strings) as _]),
        )
    }
}

#[derive(Debug)]
pub(super) struct BackendLink {
    backend: AcpBackend,
    state: Mutex<BackendLinkState>,
}

#[derive(Debug, Default)]
struct BackendLinkState {
    seat: ConnectionSlot,
    /// How many items of the history the program knows.
    known: usize,
    /// What it is to be told next.
    prompt: Option<Vec<ContentBlock>>,
}

/// Where the companion is. Whoever works with it has it, and puts it back.
#[derive(Debug, Default)]
enum ConnectionSlot {
    #[default]
    Empty,
    There(Box<AcpConnection>),
    /// It came to an end that is still to be told.
    Failed(String),
}

impl BackendLink {
    pub(super) fn name(&self) -> &str {
        &self.backend.name
    }

    fn state(&self) -> MutexGuard<'_, BackendLinkState> {
        // Each change of the state is whole or absent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the companion, if it is there.
    pub(super) fn take(&self) -> Option<Box<AcpConnection>> {
        let mut state = self.state();
        match std::mem::take(&mut state.seat) {
            ConnectionSlot::There(companion) => Some(companion),
            other => {
                state.seat = other;
                None
            }
        }
    }

    pub(super) fn give_back(&self, companion: Box<AcpConnection>) {
        self.state().seat = ConnectionSlot::There(companion);
    }

    /// Lets go of a companion that rests and whose program has ended. The next one begins with
    /// what was said.
    pub(super) fn reap(&self) {
        let mut state = self.state();
        if matches!(&state.seat, ConnectionSlot::There(companion) if companion.is_gone()) {
            state.seat = ConnectionSlot::Empty;
            state.known = 0;
        }
    }

    /// Whoever had the companion lost it before it was told anything: the next one is told
    /// everything.
    pub(super) fn forget(&self) {
        *self.state() = BackendLinkState::default();
    }

    /// The companion is gone; the next one begins with what was said.
    pub(super) fn fail(&self, why: &str) {
        let mut state = self.state();
        state.seat = ConnectionSlot::Failed(format!("backend {}: {why}", self.backend.name));
        state.known = 0;
    }

    pub(super) fn take_failure(&self) -> Option<String> {
        let mut state = self.state();
        match std::mem::take(&mut state.seat) {
            ConnectionSlot::Failed(why) => Some(why),
            other => {
                state.seat = other;
                None
            }
        }
    }

    /// Notes what the program does not know of a conversation. Returns whether there is
    /// anything.
    pub(super) fn note_news(&self, request: &ModelRequest) -> bool {
        let mut state = self.state();
        let items = &request.input;
        // A history that was taken back is another one.
        let known = if state.known > items.len() {
            0
        } else {
            state.known
        };
        let mut texts = Vec::new();
        let mut from = known;
        if known == 0 {
            let role = request.instructions.text().trim();
            texts.extend((!role.is_empty()).then(|| role.to_owned()));
            let (before, now) = split_after_last_answer(items);
            texts.extend(transcript(before));
            from = items.len() - now.len();
        }
        texts.extend(new_words(&items[from..]));
        state.known = items.len();
        if texts.is_empty() {
            return state.prompt.is_some();
        }
        let blocks = texts
            .into_iter()
            .map(|text| ContentBlock::Text(TextContent::new(text)));
        state.prompt.get_or_insert_default().extend(blocks);
        true
    }

    pub(super) fn has_prompt(&self) -> bool {
        self.state().prompt.is_some()
    }

    pub(super) fn take_prompt(&self) -> Option<Vec<ContentBlock>> {
        self.state().prompt.take()
    }

    /// Starts the program under the rights of a call.
    pub(super) async fn start(&self, context: &CallContext) -> Result<AcpConnection, String> {
        let config = &self.backend.config;
        let env = environment(&self.backend.environment, config)?;
        let cwd: PathBuf = match &config.cwd {
            Some(cwd) => context.resolve(cwd),
            None => context.cwd.clone(),
        };
        let spec = CommandSpec {
            argv: [config.command.clone()]
                .into_iter()
                .chain(config.args.iter().cloned())
                .collect(),
            cwd,
            env,
            confinement: Confinement::Policy {
                policy: config.sandbox(&context.sandbox_policy),
                cwd: context.cwd.clone(),
            },
            terminal: None,
            stdin: StdinMode::Pipe,
        };
        let greeting = HandshakeOptions {
            version: self.backend.version,
            time_max: config.startup_time_max(),
        };
        AcpConnection::start(&self.backend.launcher, spec, greeting).await
    }
}

/// What every program may know.
const BASE: &[&str] = &[
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
    "USER",
];

/// Returns all that the program gets, or the name of a variable that is not there.
fn environment(
    ours: &BTreeMap<String, String>,
    config: &BackendConfig,
) -> Result<BTreeMap<String, String>, String> {
    let mut env = BTreeMap::new();
    for name in BASE {
        if let Some(value) = ours.get(*name) {
            env.insert((*name).to_owned(), value.clone());
        }
    }
    for name in &config.env_vars {
        let value = ours.get(name);
        let value = value.ok_or_else(|| format!("{name}, which env_vars names, is not set"))?;
        env.insert(name.clone(), value.clone());
    }
    env.extend(config.env.clone());
    Ok(env)
}

/// Parts a history behind the last answer.
fn split_after_last_answer(
    items: &[Arc<HistoryItem>],
) -> (&[Arc<HistoryItem>], &[Arc<HistoryItem>]) {
    let is_answer = |item: &Arc<HistoryItem>| message(item.item(), Role::Assistant).is_some();
    let behind = items.iter().rposition(is_answer).map_or(0, |last| last + 1);
    items.split_at(behind)
}

fn new_words(items: &[Arc<HistoryItem>]) -> impl Iterator<Item = String> {
    items
        .iter()
        .filter_map(|item| message(item.item(), Role::User))
}

/// Returns what was said, if anything was: the program that knew it is gone.
fn transcript(items: &[Arc<HistoryItem>]) -> Option<String> {
    let mut text = String::new();
    for item in items {
        let item = item.item();
        let said = |role, who| message(item, role).map(|words| format!("{who}: {words}\n"));
        if item.fragment().is_none_or(ContextFragment::is_news) {
            text.extend(said(Role::User, "User"));
        }
        text.extend(said(Role::Assistant, "You"));
    }
    let text = tail(&text, BACKEND_TRANSCRIPT_BYTES_MAX);
    (!text.is_empty()).then(|| format!("The conversation so far:\n{text}"))
}

fn message(item: &ResponseItem, of: Role) -> Option<String> {
    match item {
        ResponseItem::Message { role, content, .. } if *role == of => {
            let texts: Vec<&str> = content.iter().filter_map(ContentItem::text).collect();
            Some(texts.join("\n"))
        }
        _ => None,
    }
}
