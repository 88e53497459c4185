//! Keys of the list of questions.

use super::{AppState, QuestionsView, ScreenOverlay};
use crate::keys::{KeyAction, KeyContext, KeyStroke};

impl AppState {
    /// Lists everything that waits for an answer.
    pub(super) fn open_questions(&mut self) {
        if self.questions.first().is_none() {
            self.say("nobody asks anything");
            return;
        }
        self.overlays
            .push(ScreenOverlay::Questions(QuestionsView::default()));
    }

    pub(super) fn questions_key(&mut self, stroke: KeyStroke) {
        let Some(ScreenOverlay::Questions(view)) = self.overlays.last() else {
            return;
        };
        let mut view = view.clone();
        let chosen = view.chosen(self);
        let pending = self.questions.pending();
        let page = (self.size.rows / 2).max(1);
        let action = self.keymap.action(KeyContext::Questions, stroke);
        match action {
            Some(KeyAction::Close) => {
                self.close_overlay();
                return;
            }
            Some(KeyAction::Up | KeyAction::Down) => {
                let last = pending.len().saturating_sub(1);
                let to = match action {
                    Some(KeyAction::Down) => (chosen + 1).min(last),
                    _ => chosen.saturating_sub(1),
                };
                view.chosen = pending.get(to).map(|question| question.id.clone());
                view.top = 0;
            }
            Some(KeyAction::PageUp) => view.top = view.top.saturating_sub(page),
            Some(KeyAction::PageDown) => view.top = view.top.saturating_add(page),
            _ => {
                self.answer_chosen(chosen, stroke);
                return;
            }
        }
        if let Some(ScreenOverlay::Questions(shown)) = self.overlays.last_mut() {
            *shown = view;
        }
    }

    /// Answers the chosen question as the band would. One that stands there has been chosen by a
    /// key, or has stood for a moment.
    fn answer_chosen(&mut self, chosen: usize, stroke: KeyStroke) {
        let Some(action) = self.keymap.action(KeyContext::Band, stroke) else {
            return;
        };
        if !self.hears_letters() {
            return;
        }
        let id = self.questions.pending().get(chosen);
        let Some(id) = id.map(|question| question.id.clone()) else {
            return;
        };
        self.questions.bring_forward(&id);
        if matches!(action, KeyAction::DenySaying | KeyAction::OpenAsker) {
            self.close_overlay();
        }
        self.answer(action);
    }
}
