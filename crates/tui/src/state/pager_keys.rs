//! Keys of long texts and of lists to choose from.

use termina::event::KeyCode;
use troupe_protocol::{AgentId, Op};

use super::{AppState, PagerBody, PickerKind, ScreenOverlay};
use crate::keys::{KeyAction, KeyContext, KeyStroke};
use crate::run::NextSession;
use crate::views::pager::{PAGE, TextPlace};

impl AppState {
    pub(super) fn pager_key(&mut self, stroke: KeyStroke) {
        let Some(ScreenOverlay::Pager(pager)) = self.overlays.last_mut() else {
            return;
        };
        if pager.is_searching {
            match stroke.code {
                KeyCode::Enter => {
                    pager.is_searching = false;
                    self.find_next();
                }
                KeyCode::Escape => {
                    pager.is_searching = false;
                    pager.search.clear();
                }
                KeyCode::Backspace => drop(pager.search.pop()),
                _ => pager.search.extend(stroke.letter()),
            }
            return;
        }
        let is_question = matches!(pager.body, PagerBody::Question(_));
        let page = i64::try_from(self.size.rows.saturating_sub(PAGE)).unwrap_or(i64::MAX);
        match self.keymap.action(KeyContext::Pager, stroke) {
            Some(KeyAction::Up) => self.scroll(-1),
            Some(KeyAction::Down) => self.scroll(1),
            Some(KeyAction::PageUp) => self.scroll(-page),
            Some(KeyAction::PageDown) => self.scroll(page),
            Some(KeyAction::Top) => pager.top = Some(TextPlace::default()),
            Some(KeyAction::Bottom) => pager.top = None,
            Some(KeyAction::Filter) => pager.is_searching = true,
            // A question that is shown in full is answered here too.
            Some(KeyAction::NextMatch) if !is_question => self.find_next(),
            Some(KeyAction::Unfold) => self.unfold(),
            Some(KeyAction::Agents) => {
                self.close_overlay();
                self.open_agents();
            }
            Some(KeyAction::Close) => self.close_overlay(),
            _ if is_question && self.hears_letters() => {
                if let Some(action) = self.keymap.action(KeyContext::Band, stroke) {
                    if matches!(action, KeyAction::DenySaying | KeyAction::OpenAsker) {
                        self.close_overlay();
                    }
                    self.answer(action);
                }
            }
            _ => {}
        }
    }

    pub(super) fn scroll(&mut self, rows: i64) {
        if let Some(ScreenOverlay::Pager(_)) = self.overlays.last_mut() {
            let top = crate::views::pager::scrolled(self, rows);
            if let Some(ScreenOverlay::Pager(pager)) = self.overlays.last_mut() {
                pager.top = top;
            }
        } else {
            let up = i64::try_from(self.scrolled).unwrap_or(i64::MAX) - rows;
            self.scrolled = usize::try_from(up.max(0)).unwrap_or(0);
        }
    }

    fn find_next(&mut self) {
        let found = crate::views::pager::next_match(self);
        match found {
            Some(place) => {
                if let Some(ScreenOverlay::Pager(pager)) = self.overlays.last_mut() {
                    pager.top = Some(place);
                }
            }
            None => self.say("not found below"),
        }
    }

    /// Unfolds the first cell on the screen that has more than is shown, or folds it again.
    fn unfold(&mut self) {
        let Some((agent, number)) = crate::views::pager::foldable_cell(self) else {
            self.say("nothing on the screen is folded");
            return;
        };
        match agent {
            AgentId::ROOT => self.transcript.toggle(number),
            agent => {
                if let Some(transcript) = self.agents.get_mut(&agent) {
                    transcript.toggle(number);
                }
            }
        }
    }

    pub(super) fn picker_key(&mut self, stroke: KeyStroke) {
        let Some(ScreenOverlay::Picker(picker)) = self.overlays.last_mut() else {
            return;
        };
        let count = picker.matching().len();
        match self.keymap.action(KeyContext::Picker, stroke) {
            Some(KeyAction::Up) => picker.chosen = picker.chosen.saturating_sub(1),
            Some(KeyAction::Down) => {
                picker.chosen = (picker.chosen + 1).min(count.saturating_sub(1));
            }
            Some(KeyAction::Close) => self.close_overlay(),
            Some(KeyAction::DeleteOn) if picker.kind == PickerKind::Queue => {
                let number = picker
                    .matching()
                    .get(picker.chosen)
                    .map(|(number, _)| *number);
                self.close_overlay();
                if let Some(number) = number {
                    self.take_queued(number);
                    self.open_queue();
                }
            }
            Some(KeyAction::Open) => {
                let chosen = picker
                    .matching()
                    .get(picker.chosen)
                    .map(|(number, row)| (*number, (*row).to_owned()));
                let kind = picker.kind;
                self.close_overlay();
                if let Some((number, row)) = chosen {
                    self.picked(kind, number, &row);
                }
            }
            _ => {
                match stroke.code {
                    KeyCode::Backspace => drop(picker.filter.pop()),
                    _ => picker.filter.extend(stroke.letter()),
                }
                picker.chosen = 0;
            }
        }
    }

    fn picked(&mut self, kind: PickerKind, number: usize, row: &str) {
        match kind {
            PickerKind::Model => {
                self.override_context(troupe_protocol::session::TurnOverrides {
                    model: Some(row.to_owned()),
                    ..Default::default()
                });
            }
            PickerKind::Skill => {
                let name = row.split(": ").next().unwrap_or_default();
                self.composer.buffer.insert(&format!("${name} "));
            }
            PickerKind::Rewind => {
                let num_turns = u32::try_from(number + 1).unwrap_or(u32::MAX);
                self.submit_op(Op::ThreadRollback { num_turns });
                self.composer.buffer.set(row);
            }
            PickerKind::History => self.composer.buffer.set(row),
            PickerKind::Queue => {
                if let Some(text) = self.take_queued(number) {
                    self.composer.buffer.set(&text);
                }
            }
            PickerKind::Delete if number == 1 => self.leave_for(NextSession::Delete),
            PickerKind::Delete => {}
            PickerKind::Permissions => self.choose_permissions(first_word(row)),
            PickerKind::Personality => self.choose_personality(first_word(row)),
            PickerKind::Theme => self.choose_theme(first_word(row)),
        }
    }
}

fn first_word(row: &str) -> &str {
    row.split_whitespace().next().unwrap_or_default()
}
