//! Who gets a key: what lies on top, then the band if nobody types, then the line.

use termina::event::KeyCode;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::{AgentId, Op};

use super::{AppState, LinePurpose, PagerBody, PagerView, PickerKind, ScreenOverlay};
use crate::composer::{CompletionKind, CompletionList, CompletionNames};
use crate::effect::Effect;
use crate::keys::{KeyAction, KeyContext, KeyStroke};
use crate::limits::{QUESTION_DEAF_MS, QUESTION_STANDING_MS, TWICE_MS};
use crate::questions::SpokenAnswer;
use crate::roster::AgentGroup;
use crate::run::{NextSession, SessionEnding};
use crate::session::TreeRequest;
use crate::terminal::input::InputEvent;
use crate::views::{band, pager};

impl AppState {
    pub(super) fn input(&mut self, input: InputEvent) {
        match input {
            InputEvent::Key(stroke) => self.key(stroke),
            InputEvent::Paste(text) => {
                self.times.typed = Some(self.now_ms);
                if self.takes_text() {
                    match pasted_image(&text) {
                        Some(name) => self.composer.buffer.insert(&format!("@{name} ")),
                        None => self.composer.paste(&text),
                    }
                    self.complete();
                } else {
                    self.paste_into_form(&text);
                }
            }
            InputEvent::Focus(has_focus) => self.attention.has_focus = Some(has_focus),
            InputEvent::Scroll(rows) => self.scroll(rows.into()),
        }
    }

    /// Tells whether letters go to the line.
    fn takes_text(&self) -> bool {
        matches!(
            self.overlays.last(),
            None | Some(ScreenOverlay::Agent(_) | ScreenOverlay::Peek(_))
        )
    }

    fn key(&mut self, stroke: KeyStroke) {
        match self.overlays.last() {
            Some(ScreenOverlay::Agents(_)) => self.agents_key(stroke),
            Some(ScreenOverlay::Pager(_)) => self.pager_key(stroke),
            Some(ScreenOverlay::Stop(_)) => self.stop_key(stroke),
            Some(ScreenOverlay::Leaving) => self.leaving_key(stroke),
            Some(ScreenOverlay::Picker(_)) => self.picker_key(stroke),
            Some(ScreenOverlay::Questions(_)) => self.questions_key(stroke),
            Some(ScreenOverlay::Spawn(_)) => self.spawn_key(stroke),
            None | Some(ScreenOverlay::Agent(_) | ScreenOverlay::Peek(_)) => self.line_key(stroke),
        }
    }

    fn line_key(&mut self, stroke: KeyStroke) {
        if self.completion_key(stroke) {
            return;
        }
        if self.composer.is_empty() && self.empty_line_key(stroke) {
            return;
        }
        let is_escape = stroke.code == KeyCode::Escape && stroke.modifiers.is_empty();
        if is_escape && self.composer.escape() {
            return;
        }
        if let Some(action) = self.keymap.action(KeyContext::Main, stroke) {
            // Ctrl+A is the question's while there is one and the line is empty.
            let is_for_question = self.composer.is_empty() && self.questions.first().is_some();
            match action {
                KeyAction::ShowWhole if !is_for_question => {
                    self.composer.edit(KeyAction::LineStart);
                }
                KeyAction::SlotAgent => self.open_slot(stroke),
                action => self.act(action),
            }
            return;
        }
        if let Some(action) = self.keymap.action(KeyContext::Editor, stroke) {
            self.times.typed = Some(self.now_ms);
            self.composer.edit(action);
            self.complete();
            return;
        }
        if let Some(letter) = stroke.letter() {
            self.times.typed = Some(self.now_ms);
            self.composer.letter(letter);
            self.complete();
        }
    }

    /// Takes keys that mean something else on an empty line. Letters are a question's only if
    /// nobody types and the question has stood for a moment: whoever types is not read as yes.
    fn empty_line_key(&mut self, stroke: KeyStroke) -> bool {
        if self.purpose != LinePurpose::Prompt {
            return false;
        }
        if stroke.code == KeyCode::Left && stroke.modifiers.is_empty() {
            self.act(KeyAction::Agents);
            return true;
        }
        let Some(letter) = stroke.letter() else {
            return false;
        };
        if self.hears_letters() {
            if let Some(action) = self.keymap.action(KeyContext::Band, stroke) {
                self.answer(action);
                return true;
            }
            if let Some(number) = letter.to_digit(10).filter(|number| *number > 0) {
                return self.choose_option(number as usize - 1);
            }
        }
        if self.plan_offered
            && self.is_quiet()
            && let Some(action) = self.keymap.action(KeyContext::Plan, stroke)
        {
            match action {
                KeyAction::PlanYes => self.accept_plan(false),
                KeyAction::PlanFresh => self.accept_plan(true),
                _ => self.plan_offered = false,
            }
            return true;
        }
        if letter == '?' {
            self.act(KeyAction::Help);
            return true;
        }
        false
    }

    /// Tells whether nothing was typed for a while.
    fn is_quiet(&self) -> bool {
        let deaf = i64::try_from(QUESTION_DEAF_MS).unwrap_or(i64::MAX);
        self.times
            .typed
            .is_none_or(|typed| self.now_ms - typed >= deaf)
    }

    pub(super) fn hears_letters(&self) -> bool {
        let standing = i64::try_from(QUESTION_STANDING_MS).unwrap_or(i64::MAX);
        let stood = self.now_ms - self.questions.standing_since_ms() >= standing;
        self.questions.first().is_some() && stood && self.is_quiet()
    }

    fn choose_option(&mut self, number: usize) -> bool {
        let count = self
            .questions
            .first()
            .map_or(0, |question| question.options().len());
        if number >= count {
            return false;
        }
        if let Some(op) = self.questions.say(SpokenAnswer::Option(number)) {
            self.submit_op(op);
        }
        true
    }

    /// Answers the question of the band.
    pub(super) fn answer(&mut self, action: KeyAction) {
        let Some(question) = self.questions.first() else {
            return;
        };
        if !self.facts.drives() {
            self.say("another client drives; /drive asks for the seat");
            return;
        }
        let id = question.id.clone();
        let is_yes = matches!(
            action,
            KeyAction::Approve
                | KeyAction::ApproveSession
                | KeyAction::ApprovePrefix
                | KeyAction::ApproveAll
        );
        if is_yes && !band::is_shown_whole(self, question) {
            self.show_whole_first();
            return;
        }
        let decision = match action {
            KeyAction::Approve => ReviewDecision::Approved,
            KeyAction::ApproveSession => ReviewDecision::ApprovedForSession,
            KeyAction::ApprovePrefix => ReviewDecision::ApprovedAlways,
            KeyAction::Deny => ReviewDecision::Denied,
            KeyAction::Abort => ReviewDecision::Abort,
            KeyAction::ApproveAll => {
                let ops = self.questions.decide_all(ReviewDecision::Approved);
                for op in ops {
                    self.submit_op(op);
                }
                return;
            }
            KeyAction::DenySaying => {
                self.purpose = if question.takes_text() {
                    LinePurpose::Answer
                } else {
                    LinePurpose::Refusal { question: id }
                };
                return;
            }
            KeyAction::OpenAsker => {
                let agent = question.asker().map(|label| label.agent_id);
                self.open_agent(agent.unwrap_or(AgentId::ROOT));
                return;
            }
            _ => return,
        };
        self.decide(&id, decision);
    }

    pub(super) fn decide(&mut self, id: &str, decision: ReviewDecision) {
        match self.questions.decide(id, decision) {
            Some(op) => self.submit_op(op),
            None => self.say("that is no answer to this question; Ctrl+A shows it in full"),
        }
    }

    fn completion_key(&mut self, stroke: KeyStroke) -> bool {
        let Some(list) = &mut self.composer.completion else {
            return false;
        };
        match stroke.code {
            KeyCode::Up if stroke.modifiers.is_empty() => list.step(false),
            KeyCode::Down if stroke.modifiers.is_empty() => list.step(true),
            KeyCode::Escape => self.composer.completion = None,
            KeyCode::Tab if stroke.modifiers.is_empty() => self.take_completion(),
            // A command that is written whole is sent at once.
            KeyCode::Enter if stroke.modifiers.is_empty() => {
                let is_whole = list.kind == CompletionKind::Command
                    && self.composer.buffer.text().trim() == list.replacement().trim();
                if is_whole {
                    return false;
                }
                self.take_completion();
            }
            _ => return false,
        }
        true
    }

    fn take_completion(&mut self) {
        if let Some(list) = self.composer.completion.take() {
            let replacement = list.replacement();
            let replacement = match list.kind {
                CompletionKind::File if is_image(&replacement) => format!("@{replacement}"),
                _ => replacement,
            };
            self.composer.buffer.replace(list.range, &replacement);
        }
    }

    /// Looks for what the word before the cursor means.
    pub(super) fn complete(&mut self) {
        let skills: Vec<String> = self
            .facts
            .skills
            .iter()
            .map(|skill| skill.name.clone())
            .collect();
        let (text, cursor) = (self.composer.buffer.text(), self.composer.buffer.cursor());
        let word = text[..cursor]
            .rsplit(char::is_whitespace)
            .next()
            .unwrap_or_default();
        if word == "@" {
            self.effects
                .push(Effect::ListFiles(self.working_directory()));
        }
        let is_command = text.starts_with('/');
        // Asked for anew each time a line begins like one.
        let asks = is_command && !self.commands_asked;
        self.commands_asked = is_command;
        if self.composer.is_normal() {
            self.composer.completion = None;
            return;
        }
        let mut prompts = self.saved_prompts.clone();
        let others = self.prompt_commands.iter();
        prompts.extend(
            others
                .filter(|name| !self.saved_prompts.contains(name))
                .cloned(),
        );
        self.composer.completion = CompletionList::at(
            text,
            cursor,
            CompletionNames {
                files: &self.files,
                skills: &skills,
                prompts: &prompts,
            },
        );
        if asks {
            self.ask(TreeRequest::Commands);
        }
    }

    /// Does what a key of the conversation does.
    pub(super) fn act(&mut self, action: KeyAction) {
        match action {
            KeyAction::Submit => self.submit_line(),
            KeyAction::Queue => self.queue_line(),
            KeyAction::InterruptWith => self.interrupt_with_line(),
            KeyAction::EditQueued => self.edit_queued(),
            KeyAction::Back => self.back(),
            KeyAction::Cancel => self.cancel(),
            KeyAction::Leave if self.composer.is_empty() => self.ask_to_leave(),
            KeyAction::Leave => {
                self.composer.edit(KeyAction::DeleteOn);
            }
            KeyAction::StopProcess => self.effects.push(Effect::StopProcess),
            KeyAction::Transcript => {
                let agent = self.shown_agent();
                let title = format!("TRANSCRIPT of {}", self.roster.name(agent));
                self.open_pager(PagerView {
                    top: None,
                    ..PagerView::at_top(title, PagerBody::Transcript(agent))
                });
            }
            KeyAction::Agents => self.open_agents(),
            KeyAction::PreviousAgent => self.step_agent(false),
            KeyAction::NextAgent => self.step_agent(true),
            KeyAction::RootAgent => self.open_agent(AgentId::ROOT),
            KeyAction::PageUp | KeyAction::PageDown => {
                let page = i64::try_from(self.size.rows / 2).unwrap_or(i64::MAX);
                let is_down = action == KeyAction::PageDown;
                self.scroll(if is_down { page } else { -page });
            }
            KeyAction::NextNeeding => self.next_needing(),
            KeyAction::OpenEditor => {
                self.effects
                    .push(Effect::OpenEditor(self.composer.expanded()));
            }
            KeyAction::CopyAnswer => match self.shown_answer() {
                Some(answer) => {
                    self.effects.push(Effect::Copy(answer));
                    self.say("the last answer was copied");
                }
                None => self.say("there is no answer to copy"),
            },
            KeyAction::SearchHistory => {
                let rows = self.composer.history.search("");
                if rows.is_empty() {
                    self.say("nothing was written before");
                } else {
                    self.pick(PickerKind::History, rows);
                }
            }
            KeyAction::Reprint => self.effects.push(Effect::Reprint),
            KeyAction::ToggleRaw => {
                self.is_raw = !self.is_raw;
                let how = if self.is_raw { "raw" } else { "laid out" };
                self.say(format!("what comes now is {how}"));
            }
            KeyAction::ToggleMode => self.toggle_mode(),
            KeyAction::Help => self.open_pager(PagerView::at_top("KEYS", PagerBody::Help)),
            KeyAction::ShowWhole => self.show_whole(),
            _ => {}
        }
    }

    fn show_whole(&mut self) {
        if let Some(question) = self.questions.first() {
            let title = format!("{} asks", question.asker_name());
            let body = PagerBody::Question(question.id.clone());
            self.open_pager(PagerView::at_top(title, body));
        }
    }

    /// Nobody agrees to what they were not shown: opens the first question, of which less than all
    /// is on the screen.
    fn show_whole_first(&mut self) {
        if !matches!(self.overlays.last(), Some(ScreenOverlay::Pager(_))) {
            self.show_whole();
        }
        if !pager::shows_end(self) {
            self.say("page down to its end, then answer");
        }
    }

    fn shown_answer(&self) -> Option<String> {
        self.transcript_of(self.shown_agent())?.last_answer()
    }

    /// Esc: closes what is open; interrupts this one task; twice on an empty line, goes back.
    fn back(&mut self) {
        if self.purpose != LinePurpose::Prompt {
            self.purpose = LinePurpose::Prompt;
        } else if !self.overlays.is_empty() {
            self.close_overlay();
        } else if self.plan_offered {
            self.plan_offered = false;
        } else if self.facts.task.is_some() {
            self.submit_op(Op::Interrupt);
        } else if self.composer.is_empty() {
            let before = self.times.back.replace(self.now_ms);
            if self.is_twice(before) {
                self.times.back = None;
                self.open_rewind();
            } else {
                self.say("Esc again: go back to an earlier message");
            }
        }
    }

    /// Ctrl+C: clears the line; interrupts this one task; twice, leaves. Agents below go on.
    fn cancel(&mut self) {
        if !self.composer.is_empty() {
            let text = self.composer.take();
            self.composer.history.add(&text);
            return;
        }
        let before = self.times.cancel.replace(self.now_ms);
        if self.is_twice(before) {
            self.ask_to_leave();
        } else if self.facts.task.is_some() && self.shown_agent() == AgentId::ROOT {
            self.submit_op(Op::Interrupt);
            self.say("interrupts; Ctrl+C again: leave");
        } else {
            self.say("Ctrl+C again: leave");
        }
    }

    fn is_twice(&self, before: Option<i64>) -> bool {
        let window = i64::try_from(TWICE_MS).unwrap_or(i64::MAX);
        before.is_some_and(|before| self.now_ms - before <= window)
    }

    /// Leaves this session for what comes next.
    pub(super) fn leave_for(&mut self, next: NextSession) {
        if self.has_next {
            self.next = Some(next);
            self.ask_to_leave();
        } else {
            self.say("from this screen no other session is opened; leave it first");
        }
    }

    /// Leaves, or asks what becomes of the work.
    pub(super) fn ask_to_leave(&mut self) {
        if !self.facts.drives() {
            self.leave(SessionEnding::KeepRunning);
        } else if self.is_anybody_at_work() {
            self.overlays.push(ScreenOverlay::Leaving);
        } else {
            self.leave(SessionEnding::Ended);
        }
    }

    fn leaving_key(&mut self, stroke: KeyStroke) {
        match self.keymap.action(KeyContext::Leaving, stroke) {
            Some(KeyAction::KeepRunning) if self.outlives_screen => {
                self.leave(SessionEnding::KeepRunning);
            }
            Some(KeyAction::Suspend) => self.leave(SessionEnding::Suspend),
            Some(KeyAction::Close) => {
                self.next = None;
                self.close_overlay();
            }
            _ => {}
        }
    }

    pub(super) fn close_overlay(&mut self) {
        self.scrolled = 0;
        let closed = self.overlays.pop();
        if let Some(ScreenOverlay::Agent(agent) | ScreenOverlay::Peek(agent)) = closed {
            let draft = self.composer.store_draft();
            self.drafts.insert(agent, draft);
            self.restore_draft();
        }
    }

    /// Shows an agent's conversation; each has a draft of its own.
    pub(super) fn open_agent(&mut self, agent: AgentId) {
        while !self.overlays.is_empty() {
            self.close_overlay();
        }
        if agent != AgentId::ROOT {
            self.enter_agent(ScreenOverlay::Agent(agent), agent);
            self.mark_read(agent);
        }
    }

    /// Shows an agent over what is there, with its draft in the line.
    pub(super) fn enter_agent(&mut self, overlay: ScreenOverlay, agent: AgentId) {
        let draft = self.composer.store_draft();
        self.drafts.insert(self.shown_agent(), draft);
        self.scrolled = 0;
        self.purpose = LinePurpose::Prompt;
        self.overlays.push(overlay);
        debug_assert_eq!(self.shown_agent(), agent);
        self.restore_draft();
    }

    fn restore_draft(&mut self) {
        let draft = self.drafts.remove(&self.shown_agent());
        self.composer.restore_draft(draft.unwrap_or_default());
    }

    pub(super) fn mark_read(&mut self, agent: AgentId) {
        if self.roster.mark_read(agent) {
            self.ask(TreeRequest::MarkRead(agent));
        }
    }

    fn step_agent(&mut self, forward: bool) {
        if !self.composer.is_empty() {
            return;
        }
        let mut all = vec![AgentId::ROOT];
        all.extend(self.roster.entries().iter().map(|entry| entry.report.agent));
        let shown = self.shown_agent();
        let at = all.iter().position(|agent| *agent == shown).unwrap_or(0);
        let to = if forward {
            (at + 1) % all.len()
        } else {
            (at + all.len() - 1) % all.len()
        };
        if let Some(ScreenOverlay::Peek(_)) = self.overlays.last() {
            self.close_overlay();
            if all[to] != AgentId::ROOT {
                self.peek_at(all[to]);
            }
            return;
        }
        self.open_agent(all[to]);
    }

    /// Shows the agent that the digit of a key names.
    fn open_slot(&mut self, stroke: KeyStroke) {
        let KeyCode::Char(digit) = stroke.code else {
            return;
        };
        let place = digit
            .to_digit(10)
            .and_then(|digit| usize::try_from(digit).ok());
        let entry = place.and_then(|place| self.roster.entries().get(place.checked_sub(1)?));
        match entry.map(|entry| entry.report.agent) {
            Some(agent) => self.open_agent(agent),
            None => self.say(format!("there is no agent {digit}")),
        }
    }

    /// Shows the next that needs the user: a question, or an unread result.
    fn next_needing(&mut self) {
        if self.questions.first().is_some() {
            self.questions.rotate(self.now_ms);
            return;
        }
        let unread = self
            .roster
            .entries()
            .iter()
            .find(|entry| self.group_of(entry.report.agent) == Some(AgentGroup::DoneUnread));
        match unread.map(|entry| entry.report.agent) {
            Some(agent) => self.open_agent(agent),
            None => self.say("nobody needs you"),
        }
    }
}

fn is_image(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    [".png", ".jpg", ".jpeg", ".gif", ".webp"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

/// Returns the name of an image that was pasted, or dropped onto the terminal, in place of its
/// picture.
fn pasted_image(text: &str) -> Option<String> {
    let name = text.trim().trim_matches(['\'', '"']);
    let name = name.strip_prefix("file://").unwrap_or(name);
    let is_path = name.starts_with(['/', '.', '~']) && !name.contains(char::is_whitespace);
    (is_path && is_image(name)).then(|| name.to_owned())
}
