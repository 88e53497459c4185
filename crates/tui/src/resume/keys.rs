//! Keys of the picker.

use termina::event::KeyCode;
use troupe_protocol::SessionId;

use super::catalogue::{CatalogueRequest, SessionOrder};
use super::picker::{PickerChoice, PickerLine, PreviewHeight, SessionPicker};
use crate::composer::EditBuffer;
use crate::keys::{KeyAction, KeyContext, KeyStroke};
use crate::terminal::input::InputEvent;

impl SessionPicker {
    pub fn input(&mut self, input: InputEvent) {
        match input {
            InputEvent::Key(stroke) => self.key(stroke),
            InputEvent::Paste(text) => {
                if let Some((_, line)) = &mut self.line {
                    line.insert(&text.replace('\n', " "));
                    self.search();
                }
            }
            InputEvent::Scroll(rows) => self.step(rows.into()),
            InputEvent::Focus(_) => {}
        }
    }

    pub fn key(&mut self, stroke: KeyStroke) {
        self.message = None;
        if self.line.is_some() && self.line_key(stroke) {
            return;
        }
        let Some(action) = self.keymap.action(KeyContext::Sessions, stroke) else {
            return;
        };
        let page = i64::try_from(self.size.rows / 2).unwrap_or(i64::MAX);
        match action {
            KeyAction::Up => self.step(-1),
            KeyAction::Down => self.step(1),
            KeyAction::PageUp => self.step(-page),
            KeyAction::PageDown => self.step(page),
            KeyAction::Top => self.step(i64::MIN),
            KeyAction::Bottom => self.step(i64::MAX),
            KeyAction::Close if self.preview.is_some() => self.preview = None,
            KeyAction::Close => self.choice = Some(PickerChoice::Nothing),
            KeyAction::Filter => {
                let mut line = EditBuffer::default();
                line.set(&self.scope.search);
                self.line = Some((PickerLine::Search, line));
            }
            KeyAction::ToggleHere => {
                self.scope.everywhere = !self.scope.everywhere;
                self.list_anew();
            }
            KeyAction::ToggleArchived => {
                self.scope.archived = !self.scope.archived;
                self.list_anew();
            }
            KeyAction::ToggleSort => {
                self.scope.order = match self.scope.order {
                    SessionOrder::Updated => SessionOrder::Created,
                    SessionOrder::Created => SessionOrder::Updated,
                };
                self.list_anew();
            }
            action => {
                if let Some(card) = self.chosen_session() {
                    let (name, note) = (card.name.clone(), card.note.clone());
                    self.act_on(action, card.session_id, name, note);
                }
            }
        }
    }

    fn act_on(
        &mut self,
        action: KeyAction,
        session: SessionId,
        name: Option<String>,
        note: Option<String>,
    ) {
        let mut write = |purpose, text: Option<String>| {
            let mut line = EditBuffer::default();
            line.set(&text.unwrap_or_default());
            self.line = Some((purpose, line));
        };
        match action {
            KeyAction::Open => self.choice = Some(PickerChoice::Resume(session)),
            KeyAction::Fork => self.choice = Some(PickerChoice::Fork(session)),
            KeyAction::Rename => write(PickerLine::Name(session), name),
            KeyAction::Note => write(PickerLine::Note(session), note),
            KeyAction::Archive => self.requests.push(CatalogueRequest::Archive {
                session,
                is_archived: !self.scope.archived,
            }),
            KeyAction::Preview => self.toggle_preview(session, PreviewHeight::Part),
            KeyAction::Transcript => self.toggle_preview(session, PreviewHeight::Whole),
            _ => {}
        }
    }

    fn toggle_preview(&mut self, session: SessionId, height: PreviewHeight) {
        match &mut self.preview {
            Some(preview) if preview.height == height => self.preview = None,
            Some(preview) => preview.height = height,
            None => self.open_preview(session, height),
        }
    }

    /// Writes in the line; `false` for keys that are the list's all the same.
    fn line_key(&mut self, stroke: KeyStroke) -> bool {
        let Some((purpose, line)) = &mut self.line else {
            return false;
        };
        let purpose = *purpose;
        let editing = self.keymap.action(KeyContext::Editor, stroke);
        match stroke.code {
            KeyCode::Up | KeyCode::Down if purpose == PickerLine::Search => return false,
            KeyCode::Escape => {
                self.line = None;
                if purpose == PickerLine::Search && !self.scope.search.is_empty() {
                    self.scope.search.clear();
                    self.list_anew();
                }
            }
            KeyCode::Enter => {
                let text = line.text().trim().to_owned();
                self.line = None;
                match purpose {
                    // What is found first is what is meant.
                    PickerLine::Search => return false,
                    PickerLine::Name(session) => {
                        self.requests.push(CatalogueRequest::Rename(session, text));
                    }
                    PickerLine::Note(session) => {
                        self.requests.push(CatalogueRequest::Note(session, text));
                    }
                }
            }
            _ => {
                match (editing, stroke.letter()) {
                    (Some(KeyAction::NewLine), _) | (None, None) => return false,
                    (Some(action), _) => drop(line.edit(action)),
                    (None, Some(letter)) => line.insert(letter.encode_utf8(&mut [0; 4])),
                }
                self.search();
            }
        }
        true
    }

    /// Lists what is searched for now.
    fn search(&mut self) {
        if let Some((PickerLine::Search, line)) = &self.line
            && line.text() != self.scope.search
        {
            line.text().clone_into(&mut self.scope.search);
            self.list_anew();
        }
    }

    fn list_anew(&mut self) {
        self.chosen = 0;
        self.list();
    }

    fn step(&mut self, rows: i64) {
        if let Some(preview) = &mut self.preview
            && preview.height == PreviewHeight::Whole
        {
            let up = i64::try_from(preview.scrolled).unwrap_or(i64::MAX);
            let up = up.saturating_sub(rows).max(0);
            preview.scrolled = usize::try_from(up).unwrap_or(usize::MAX);
            return;
        }
        let last = self.sessions.len().saturating_sub(1);
        let at = i64::try_from(self.chosen).unwrap_or(i64::MAX);
        let to = at.saturating_add(rows).max(0);
        self.chosen = usize::try_from(to).unwrap_or(usize::MAX).min(last);
        self.look();
        self.list_further();
    }
}
