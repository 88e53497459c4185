//! What lies over the conversation.

use troupe_protocol::AgentId;

use super::{AppState, SpawnForm};
use crate::session::StopVerb;
use crate::views::pager::TextPlace;

/// One of them. The last one is on top and has the keys.
#[derive(Debug, Clone, PartialEq)]
pub enum ScreenOverlay {
    /// Every agent.
    Agents(AgentsView),
    /// One agent's conversation, with a line to write to it.
    Agent(AgentId),
    /// The end of one agent's conversation below the list, with a line to reply.
    Peek(AgentId),
    /// A long text.
    Pager(PagerView),
    /// Everything that waits for an answer.
    Questions(QuestionsView),
    Stop(StopDialog),
    /// What a new agent is to be.
    Spawn(SpawnForm),
    /// Leaving while agents work.
    Leaving,
    Picker(PickerView),
}

impl ScreenOverlay {
    /// Tells whether it takes the whole screen.
    pub fn is_tall(&self) -> bool {
        match self {
            Self::Agents(_)
            | Self::Agent(_)
            | Self::Peek(_)
            | Self::Pager(_)
            | Self::Questions(_)
            | Self::Stop(_)
            | Self::Spawn(_) => true,
            Self::Leaving | Self::Picker(_) => false,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentsView {
    /// By id, so that it stays when the order changes.
    pub chosen: Option<AgentId>,
    /// By place in the tree, and not by state.
    pub as_tree: bool,
    pub filter: String,
    pub is_filtering: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuestionsView {
    /// By id, so that it stays when others go.
    pub chosen: Option<String>,
    /// Rows that the whole question is scrolled down.
    pub top: usize,
}

impl QuestionsView {
    /// Returns the number of the chosen question.
    pub fn chosen(&self, state: &AppState) -> usize {
        let mut pending = state.questions.pending().iter();
        let at = pending.position(|question| Some(&question.id) == self.chosen.as_ref());
        at.unwrap_or(0)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct PagerView {
    pub title: String,
    pub body: PagerBody,
    /// The first row that is shown; `None` for the end, which it stays at.
    pub top: Option<TextPlace>,
    pub search: String,
    pub is_searching: bool,
}

impl PagerView {
    pub fn text(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self::at_top(title, PagerBody::Text(text.into()))
    }

    pub fn diff(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self::at_top(title, PagerBody::Diff(text.into()))
    }

    pub fn at_top(title: impl Into<String>, body: PagerBody) -> Self {
        Self {
            title: title.into(),
            body,
            top: Some(TextPlace::default()),
            search: String::new(),
            is_searching: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum PagerBody {
    Transcript(AgentId),
    /// The question with this id, in full; it goes with the question.
    Question(String),
    Text(String),
    Markdown(String),
    Diff(String),
    /// The agent's task and result.
    About(AgentId),
    /// What the agent changed.
    Changes(AgentId),
    Help,
    Status,
}

/// Before a stop: the verbs, and whom each would end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopDialog {
    pub agent: AgentId,
    pub verb: StopVerb,
    /// As the tree says it, for the verb that is chosen; `None` until it has.
    pub scope: Option<StopScope>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopScope {
    pub touched: Vec<AgentId>,
    pub skipped: Vec<(AgentId, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PickerView {
    pub kind: PickerKind,
    pub filter: String,
    pub rows: Vec<String>,
    pub chosen: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickerKind {
    Model,
    Skill,
    /// Go back to before one of the user's messages.
    Rewind,
    /// Something written before.
    History,
    /// A message that waits.
    Queue,
    /// Whether this session is deleted.
    Delete,
    /// When to ask, and what commands may do.
    Permissions,
    Personality,
    Theme,
}

impl PickerKind {
    pub fn title(self) -> &'static str {
        match self {
            Self::Model => "Models",
            Self::Skill => "Skills",
            Self::Rewind => "Go back to before",
            Self::History => "Written before",
            Self::Queue => "Take back",
            Self::Delete => "Delete this session?",
            Self::Permissions => "What agents may do",
            Self::Personality => "How it talks",
            Self::Theme => "The background",
        }
    }
}

impl PickerView {
    pub fn new(kind: PickerKind, rows: Vec<String>) -> Self {
        Self {
            kind,
            filter: String::new(),
            rows,
            chosen: 0,
        }
    }

    /// Returns the rows that have every word of the filter, with their numbers.
    pub fn matching(&self) -> Vec<(usize, &str)> {
        let words: Vec<String> = self
            .filter
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let rows = self.rows.iter().enumerate();
        rows.filter(|(_, row)| {
            let row = row.to_lowercase();
            words.iter().all(|word| row.contains(word.as_str()))
        })
        .map(|(number, row)| (number, row.as_str()))
        .collect()
    }
}
