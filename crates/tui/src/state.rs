//! Everything that the screen shows, and how it changes. Pure: what happened and the time go in,
//! effects come out.

mod agent_keys;
mod attention;
mod following;
mod housekeeping;
mod keys;
mod link;
mod overlay;
mod pager_keys;
mod question_keys;
mod slash;
mod spawn_form;
mod submit;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use troupe_protocol::AgentId;
use troupe_protocol::link::query::RoleCard;
use troupe_protocol::result::TaskResult;

use crate::composer::{Composer, StoredDraft};
use crate::effect::Effect;
use crate::facts::SessionFacts;
use crate::keys::KeyMap;
use crate::limits::TOAST_MS;
use crate::questions::QuestionQueue;
use crate::roster::{AgentGroup, AgentRoster};
use crate::run::{NextSession, ScreenOptions, SessionEnding};
use crate::session::{LinkMessage, TreeRequest};
use crate::settings::{AlternateScreen, TuiSettings};
use crate::terminal::ScreenSize;
use crate::terminal::input::InputEvent;
use crate::transcript::Transcript;

pub use attention::AttentionDesk;
pub use overlay::{
    AgentsView, PagerBody, PagerView, PickerKind, PickerView, QuestionsView, ScreenOverlay,
    StopDialog,
};
pub use spawn_form::{SpawnFieldKind, SpawnForm};

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum AppEvent {
    Input(InputEvent),
    Link(LinkMessage),
    Resize(ScreenSize),
    /// The user's editor has ended.
    Edited(String),
    /// The files below the working directory.
    Files(Vec<String>),
    /// The branch of the working directory.
    Branch(Option<String>),
    /// What a line stands for that names a prompt which was written down; none if it names none.
    Filled {
        line: String,
        prompt: Result<Option<String>, String>,
    },
    /// A moment that was asked for has come.
    Tick,
}

/// What the line that is written will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinePurpose {
    /// A message, a command, or a command of the shell.
    Prompt,
    /// Why the answer to this question is no.
    Refusal { question: String },
    /// The answer to the first question.
    Answer,
}

/// A message on its way, or kept for the end of the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingMessage {
    pub text: String,
    /// The name under which it was sent, also as a submission; `None` while it is kept here.
    pub client_id: Option<String>,
    /// It was meant for the task that ran then.
    pub is_steer: bool,
}

impl WaitingMessage {
    /// Tells whether the session has it already.
    pub fn is_sent(&self) -> bool {
        self.client_id.is_some()
    }
}

/// When keys were pressed that mean something twice, in the time of the clock in ms.
#[derive(Debug, Clone, Copy, Default)]
struct KeyTimes {
    typed: Option<i64>,
    cancel: Option<i64>,
    back: Option<i64>,
}

/// A line that stands for a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScreenToast {
    pub text: String,
    until_ms: i64,
}

/// What a newcomer may want to know first.
const TIP: &str = "? lists the keys, / the commands; leaving does not end the work";

/// The state of a screen.
#[derive(Debug)]
pub struct AppState {
    pub settings: TuiSettings,
    pub keymap: KeyMap,
    pub facts: SessionFacts,
    pub transcript: Transcript,
    /// Of agents that are looked at.
    pub agents: BTreeMap<AgentId, Transcript>,
    pub roster: AgentRoster,
    pub questions: QuestionQueue,
    pub composer: Composer,
    pub purpose: LinePurpose,
    drafts: BTreeMap<AgentId, StoredDraft>,
    /// Whose conversations are told to this screen.
    followed: BTreeSet<AgentId>,
    /// What agents' last tasks came to, as far as it was asked for; or why there is nothing.
    pub results: BTreeMap<AgentId, Result<Box<TaskResult>, String>>,
    /// What a child can be made from.
    pub roles: Vec<RoleCard>,
    /// Prompts that can be called with `/name`.
    pub prompt_commands: Vec<String>,
    commands_asked: bool,
    pub waiting: Vec<WaitingMessage>,
    pub overlays: Vec<ScreenOverlay>,
    /// A plan was proposed, and the three answers are offered.
    pub plan_offered: bool,
    plan_seen: bool,
    pub toast: Option<ScreenToast>,
    pub is_raw: bool,
    pub is_full_screen: bool,
    /// Rows that the conversation is scrolled up in full screen.
    pub scrolled: usize,
    pub attention: AttentionDesk,
    pub size: ScreenSize,
    pub now_ms: i64,
    times: KeyTimes,
    files: Vec<String>,
    sent: u64,
    /// When the tree is asked how its agents stand, after something changed.
    look_due_ms: Option<i64>,
    outlives_screen: bool,
    has_next: bool,
    /// The person's own directory.
    pub home: Option<PathBuf>,
    /// The names of prompts that were written down.
    saved_prompts: Vec<String>,
    /// What is to come after this session, once it is left.
    next: Option<NextSession>,
    effects: Vec<Effect>,
}

impl AppState {
    /// Fails with a sentence about settings that mean nothing.
    pub fn new(options: &ScreenOptions, size: ScreenSize, now_ms: i64) -> Result<Self, String> {
        let settings = options.settings.clone();
        let mut state = Self {
            keymap: KeyMap::new(&settings.keymap)?,
            facts: SessionFacts::default(),
            transcript: Transcript::default(),
            agents: BTreeMap::new(),
            roster: AgentRoster::default(),
            questions: QuestionQueue::default(),
            composer: Composer::default(),
            purpose: LinePurpose::Prompt,
            drafts: BTreeMap::new(),
            followed: BTreeSet::new(),
            results: BTreeMap::new(),
            roles: Vec::new(),
            prompt_commands: Vec::new(),
            commands_asked: false,
            waiting: Vec::new(),
            overlays: Vec::new(),
            plan_offered: false,
            plan_seen: false,
            toast: None,
            is_raw: settings.raw_output_mode,
            is_full_screen: settings.alternate_screen == AlternateScreen::Always,
            scrolled: 0,
            attention: AttentionDesk::default(),
            size,
            now_ms,
            times: KeyTimes::default(),
            files: Vec::new(),
            sent: 0,
            look_due_ms: None,
            outlives_screen: options.outlives_screen,
            has_next: options.has_next,
            home: options.home.clone(),
            saved_prompts: options
                .saved_prompts
                .as_ref()
                .map(|prompts| prompts.names())
                .unwrap_or_default(),
            next: None,
            effects: Vec::new(),
            settings,
        };
        if state.settings.vim_mode_default {
            state.composer.toggle_vim();
        }
        state.composer.history.prepend(options.prompts.clone());
        Ok(state)
    }

    /// Takes in what happened, and returns what is to be done.
    pub fn update(&mut self, event: AppEvent, now_ms: i64) -> Vec<Effect> {
        self.now_ms = now_ms;
        match event {
            AppEvent::Input(input) => self.input(input),
            AppEvent::Link(message) => self.link(message),
            AppEvent::Resize(size) => self.size = size,
            AppEvent::Edited(text) => self.composer.buffer.set(text.trim_end()),
            AppEvent::Files(files) => {
                self.files = files;
                self.complete();
            }
            AppEvent::Branch(branch) => self.facts.branch = branch,
            AppEvent::Filled { line, prompt } => self.filled(&line, prompt),
            AppEvent::Tick => {}
        }
        self.look_at_clock();
        self.keep_chosen();
        self.follow_shown();
        // What ends before the person's eyes is read.
        self.mark_read(self.shown_agent());
        std::mem::take(&mut self.effects)
    }

    /// Submits a first prompt, as if it had been typed.
    pub fn start(
        &mut self,
        prompt: Option<String>,
        images: Vec<PathBuf>,
        now_ms: i64,
    ) -> Vec<Effect> {
        self.now_ms = now_ms;
        self.ask(TreeRequest::Look);
        self.ask(TreeRequest::Prompts);
        self.submit_op(troupe_protocol::Op::ListSkills {
            cwds: Vec::new(),
            force_reload: false,
        });
        match prompt {
            Some(line) if self.names_saved_prompt(&line) => {
                self.effects.push(Effect::FillPrompt(line));
            }
            // Other words with a slash may be a path.
            Some(line) if images.is_empty() && line.starts_with("/mcp__") => {
                self.prompt_line(line);
            }
            Some(prompt) => self.send_with_images(prompt, images),
            None if self.settings.show_tooltips => self.say(TIP),
            None => {}
        }
        std::mem::take(&mut self.effects)
    }

    /// Returns when [`AppEvent::Tick`] is due; `None` while nothing changes by itself.
    pub fn next_tick_ms(&self) -> Option<i64> {
        let clock = self
            .shows_clock()
            .then(|| (self.now_ms / 1_000 + 1) * 1_000);
        let toast = self.toast.as_ref().map(|toast| toast.until_ms);
        let moments = [clock, toast, self.attention.due_ms(), self.look_due_ms];
        moments.into_iter().flatten().min()
    }

    /// The agent whose conversation is shown and written to.
    pub fn shown_agent(&self) -> AgentId {
        let shown = self
            .overlays
            .iter()
            .rev()
            .find_map(|overlay| match overlay {
                ScreenOverlay::Agent(agent) | ScreenOverlay::Peek(agent) => Some(*agent),
                _ => None,
            });
        shown.unwrap_or(AgentId::ROOT)
    }

    pub fn transcript_of(&self, agent: AgentId) -> Option<&Transcript> {
        match agent {
            AgentId::ROOT => Some(&self.transcript),
            agent => self.agents.get(&agent),
        }
    }

    pub fn group_of(&self, agent: AgentId) -> Option<AgentGroup> {
        let asks = self.questions.asks(agent);
        self.roster.get(agent).map(|entry| entry.group(asks))
    }

    pub fn count(&self, group: AgentGroup) -> usize {
        let entries = self.roster.entries().iter();
        entries
            .filter(|entry| self.group_of(entry.report.agent) == Some(group))
            .count()
    }

    /// Tells whether anybody works, the root included.
    pub fn is_anybody_at_work(&self) -> bool {
        self.facts.task.is_some()
            || [
                AgentGroup::Working,
                AgentGroup::Waiting,
                AgentGroup::NeedsYou,
            ]
            .into_iter()
            .any(|group| self.count(group) > 0)
    }

    /// Tells whether the overlays want the whole screen.
    pub fn wants_alternate_screen(&self) -> bool {
        let allowed = self.settings.alternate_screen != AlternateScreen::Never;
        self.is_full_screen || (allowed && self.overlays.iter().any(ScreenOverlay::is_tall))
    }

    pub fn say(&mut self, text: impl Into<String>) {
        self.toast = Some(ScreenToast {
            text: text.into(),
            until_ms: self.now_ms + TOAST_MS,
        });
    }

    fn shows_clock(&self) -> bool {
        let looks_at_agents = matches!(
            self.overlays.last(),
            Some(ScreenOverlay::Agents(_) | ScreenOverlay::Agent(_) | ScreenOverlay::Peek(_))
        );
        let at_work = self.facts.task.is_some() || looks_at_agents && self.is_anybody_at_work();
        self.settings.animations && at_work
    }

    fn look_at_clock(&mut self) {
        if self
            .toast
            .as_ref()
            .is_some_and(|toast| toast.until_ms <= self.now_ms)
        {
            self.toast = None;
        }
        if self.look_due_ms.is_some_and(|due| due <= self.now_ms) {
            self.look_due_ms = None;
            self.ask(TreeRequest::Look);
        }
        let notices = self.attention.due(self.now_ms, &self.settings);
        self.effects.extend(notices);
    }

    fn ask(&mut self, request: TreeRequest) {
        self.effects.push(Effect::Ask(request));
    }

    fn submit_op(&mut self, op: troupe_protocol::Op) {
        self.effects.push(Effect::Submit(Box::new(op)));
    }

    /// Returns what is to come after this session.
    pub fn next_session(&self) -> Option<NextSession> {
        self.next
    }

    fn leave(&mut self, ending: SessionEnding) {
        // What is put away or deleted must have ended.
        let ending = match self.next {
            Some(NextSession::Archive | NextSession::Delete) => SessionEnding::Suspend,
            Some(NextSession::New | NextSession::Fork | NextSession::Pick) | None => ending,
        };
        self.effects.push(Effect::Leave(ending));
    }
}

#[cfg(test)]
mod tests;
