//! The dialog from which a person makes an agent.

use serde::de::DeserializeOwned;
use troupe_protocol::policy::{ReasoningEffort, SandboxMode};

use super::{AppState, ScreenOverlay};
use crate::composer::EditBuffer;
use crate::keys::{KeyAction, KeyContext, KeyStroke};
use crate::session::{SpawnOrder, TreeRequest};

/// What is asked for, line by line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnForm {
    pub fields: Vec<SpawnField>,
    pub chosen: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnField {
    pub kind: SpawnFieldKind,
    pub text: EditBuffer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpawnFieldKind {
    Task,
    Name,
    Role,
    Model,
    Effort,
    Sandbox,
    Directory,
}

impl SpawnFieldKind {
    pub const ALL: [Self; 7] = [
        Self::Task,
        Self::Name,
        Self::Role,
        Self::Model,
        Self::Effort,
        Self::Sandbox,
        Self::Directory,
    ];

    pub fn label(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Name => "name",
            Self::Role => "role",
            Self::Model => "model",
            Self::Effort => "effort",
            Self::Sandbox => "sandbox",
            Self::Directory => "directory",
        }
    }

    /// Says what an empty field means.
    pub fn empty(self) -> &'static str {
        match self {
            Self::Task => "what the agent is to do",
            Self::Name => "the engine finds one",
            Self::Role => "default",
            Self::Model | Self::Effort => "as the role says, or as yours",
            Self::Sandbox => "as yours; never more",
            Self::Directory => "as yours; absolute",
        }
    }
}

impl Default for SpawnForm {
    fn default() -> Self {
        let field = |kind| SpawnField {
            kind,
            text: EditBuffer::default(),
        };
        Self {
            fields: SpawnFieldKind::ALL.map(field).to_vec(),
            chosen: 0,
        }
    }
}

impl SpawnForm {
    fn value(&self, kind: SpawnFieldKind) -> Option<&str> {
        let field = self.fields.iter().find(|field| field.kind == kind)?;
        Some(field.text.text().trim()).filter(|text| !text.is_empty())
    }

    /// Returns what the lines ask for, or what is wrong with one.
    fn order(&self) -> Result<SpawnOrder, String> {
        use SpawnFieldKind as K;
        let own = |kind| self.value(kind).map(str::to_owned);
        let Some(task) = own(K::Task) else {
            return Err("an agent needs a task".to_owned());
        };
        let directory = self.value(K::Directory).map(std::path::PathBuf::from);
        if directory.as_ref().is_some_and(|path| !path.is_absolute()) {
            return Err("the directory must be absolute".to_owned());
        }
        Ok(SpawnOrder {
            task,
            role: own(K::Role),
            name: own(K::Name),
            model: own(K::Model),
            effort: word_of::<ReasoningEffort>("effort", self.value(K::Effort))?,
            sandbox: word_of::<SandboxMode>("sandbox", self.value(K::Sandbox))?,
            directory,
            is_aside: false,
        })
    }
}

fn word_of<T: DeserializeOwned>(label: &str, word: Option<&str>) -> Result<Option<T>, String> {
    let Some(word) = word else { return Ok(None) };
    let value = serde_json::from_value(serde_json::Value::from(word));
    value
        .map(Some)
        .map_err(|_| format!("{label}: {word} is none; ← and → show what there is"))
}

impl AppState {
    pub(super) fn open_spawn(&mut self) {
        self.overlays
            .push(ScreenOverlay::Spawn(SpawnForm::default()));
        if self.roles.is_empty() {
            self.ask(TreeRequest::Roles);
        }
    }

    /// Returns what a field can be, where that is known.
    pub fn spawn_choices(&self, kind: SpawnFieldKind) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match kind {
            SpawnFieldKind::Role => self.roles.iter().map(|role| role.name.clone()).collect(),
            SpawnFieldKind::Model => {
                let models = self.facts.models.iter().flat_map(|list| &list.models);
                models.map(|entry| entry.model.clone()).collect()
            }
            SpawnFieldKind::Effort => words(&["minimal", "low", "medium", "high", "xhigh"]),
            SpawnFieldKind::Sandbox => {
                words(&["read-only", "workspace-write", "danger-full-access"])
            }
            SpawnFieldKind::Task | SpawnFieldKind::Name | SpawnFieldKind::Directory => Vec::new(),
        }
    }

    pub(super) fn spawn_key(&mut self, stroke: KeyStroke) {
        let action = self.keymap.action(KeyContext::Spawn, stroke);
        let editing = self.keymap.action(KeyContext::Editor, stroke);
        let Some(ScreenOverlay::Spawn(form)) = self.overlays.last_mut() else {
            return;
        };
        let count = form.fields.len();
        match action {
            Some(KeyAction::Up) => form.chosen = (form.chosen + count - 1) % count,
            Some(KeyAction::Down) => form.chosen = (form.chosen + 1) % count,
            Some(KeyAction::Left | KeyAction::Right) => {
                self.choose_value(action == Some(KeyAction::Right));
            }
            Some(KeyAction::Close) => self.close_overlay(),
            Some(KeyAction::Confirm) => match form.order() {
                Ok(order) => {
                    self.close_overlay();
                    self.ask(TreeRequest::Spawn(Box::new(order)));
                }
                Err(why) => self.say(why),
            },
            _ => {
                let text = &mut form.fields[form.chosen].text;
                match (editing, stroke.letter()) {
                    (Some(KeyAction::NewLine), _) | (None, None) => {}
                    (Some(action), _) => drop(text.edit(action)),
                    (None, Some(letter)) => text.insert(letter.encode_utf8(&mut [0; 4])),
                }
            }
        }
    }

    /// Takes the next of the values that there are; in a field without any, moves the cursor.
    fn choose_value(&mut self, forward: bool) {
        let Some(ScreenOverlay::Spawn(form)) = self.overlays.last() else {
            return;
        };
        let choices = self.spawn_choices(form.fields[form.chosen].kind);
        let Some(ScreenOverlay::Spawn(form)) = self.overlays.last_mut() else {
            return;
        };
        let text = &mut form.fields[form.chosen].text;
        if choices.is_empty() {
            text.edit(if forward {
                KeyAction::Right
            } else {
                KeyAction::Left
            });
            return;
        }
        let at = choices.iter().position(|choice| choice == text.text());
        let last = choices.len() - 1;
        let to = match (at, forward) {
            (None, true) => Some(0),
            (None, false) => Some(last),
            (Some(at), true) => (at < last).then(|| at + 1),
            (Some(at), false) => at.checked_sub(1),
        };
        // Beyond either end stands nothing: the field is empty again.
        text.set(to.map_or("", |to| &choices[to]));
    }

    /// Pastes into the field that is written.
    pub(super) fn paste_into_form(&mut self, pasted: &str) {
        if let Some(ScreenOverlay::Spawn(form)) = self.overlays.last_mut() {
            form.fields[form.chosen].text.insert(pasted);
        }
    }
}
