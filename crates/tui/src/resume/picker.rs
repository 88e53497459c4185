//! The state of the picker.

use troupe_protocol::SessionId;
use troupe_protocol::link::query::SessionCard;

use super::catalogue::{CatalogueAnswer, CatalogueRequest, PageFreshness, SessionScope};
use crate::composer::EditBuffer;
use crate::keys::KeyMap;
use crate::settings::SessionPickerView;
use crate::terminal::ScreenSize;
use crate::transcript::Transcript;

/// What a person chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickerChoice {
    Resume(SessionId),
    Fork(SessionId),
    Nothing,
}

/// What the line of the picker is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickerLine {
    Search,
    Name(SessionId),
    Note(SessionId),
}

/// How much is shown of what was said in the chosen session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreviewHeight {
    Part,
    Whole,
}

#[derive(Debug)]
pub struct SessionPicker {
    pub keymap: KeyMap,
    pub view: SessionPickerView,
    pub size: ScreenSize,
    pub now_ms: i64,
    pub scope: SessionScope,
    pub sessions: Vec<SessionCard>,
    pub(super) next: Option<String>,
    /// A page is on its way.
    pub is_loading: bool,
    pub chosen: usize,
    /// The line that is written, if one is.
    pub line: Option<(PickerLine, EditBuffer)>,
    pub preview: Option<SessionPreview>,
    pub message: Option<String>,
    pub choice: Option<PickerChoice>,
    pub(super) requests: Vec<CatalogueRequest>,
}

/// What was said in a session.
#[derive(Debug)]
pub struct SessionPreview {
    pub session: SessionId,
    pub height: PreviewHeight,
    /// `None` until it has come.
    pub transcript: Option<Transcript>,
    /// Rows that it is scrolled up.
    pub scrolled: usize,
}

impl SessionPicker {
    pub fn new(keymap: KeyMap, view: SessionPickerView, size: ScreenSize, now_ms: i64) -> Self {
        let mut picker = Self {
            keymap,
            view,
            size,
            now_ms,
            scope: SessionScope::default(),
            sessions: Vec::new(),
            next: None,
            is_loading: false,
            chosen: 0,
            line: None,
            preview: None,
            message: None,
            choice: None,
            requests: Vec::new(),
        };
        // First what the index remembers, so that there is something to see.
        picker.ask_page(PageFreshness::Remembered);
        picker.list();
        picker
    }

    /// Returns what is to be asked since the last time.
    pub fn take_requests(&mut self) -> Vec<CatalogueRequest> {
        std::mem::take(&mut self.requests)
    }

    pub fn chosen_session(&self) -> Option<&SessionCard> {
        self.sessions.get(self.chosen)
    }

    /// Takes an answer in.
    pub fn told(&mut self, answer: CatalogueAnswer) {
        match answer {
            // What was searched for meanwhile is another thing.
            CatalogueAnswer::Page { scope, .. } if scope != self.scope => {}
            CatalogueAnswer::Page {
                continues,
                freshness,
                sessions,
                next,
                ..
            } => {
                self.is_loading = freshness == PageFreshness::Remembered;
                self.next = next;
                if continues {
                    self.sessions.extend(sessions);
                } else {
                    let chosen = self.chosen_session().map(|card| card.session_id);
                    self.sessions = sessions;
                    let mut cards = self.sessions.iter();
                    let at = cards.position(|card| Some(card.session_id) == chosen);
                    let last = self.sessions.len().saturating_sub(1);
                    self.chosen = at.unwrap_or(self.chosen.min(last));
                    self.look();
                }
            }
            CatalogueAnswer::Preview { session, events } => {
                if let Some(preview) = &mut self.preview
                    && preview.session == session
                {
                    let mut transcript = Transcript::default();
                    for event in &events {
                        transcript.take(event);
                    }
                    preview.transcript = Some(transcript);
                }
            }
            CatalogueAnswer::Changed => self.list(),
            CatalogueAnswer::Refused(why) => {
                self.is_loading = false;
                self.message = Some(why);
            }
        }
    }

    /// Asks for the list from its beginning.
    pub(super) fn list(&mut self) {
        self.ask_page(PageFreshness::LookedUp);
    }

    fn ask_page(&mut self, freshness: PageFreshness) {
        self.is_loading = true;
        self.requests.push(CatalogueRequest::Page {
            scope: self.scope.clone(),
            cursor: None,
            freshness,
        });
    }

    /// Asks for more once the end of what is known comes near.
    pub(super) fn list_further(&mut self) {
        let is_near = self.chosen + self.size.rows >= self.sessions.len();
        if let Some(cursor) = self.next.clone().filter(|_| is_near && !self.is_loading) {
            self.is_loading = true;
            self.requests.push(CatalogueRequest::Page {
                scope: self.scope.clone(),
                cursor: Some(cursor),
                freshness: PageFreshness::LookedUp,
            });
        }
    }

    /// Has the preview be that of the chosen session.
    pub(super) fn look(&mut self) {
        let Some(session) = self.chosen_session().map(|card| card.session_id) else {
            self.preview = None;
            return;
        };
        if let Some(preview) = &self.preview
            && preview.session != session
        {
            let height = preview.height;
            self.open_preview(session, height);
        }
    }

    pub(super) fn open_preview(&mut self, session: SessionId, height: PreviewHeight) {
        self.preview = Some(SessionPreview {
            session,
            height,
            transcript: None,
            scrolled: 0,
        });
        self.requests.push(CatalogueRequest::Preview(session));
    }
}
