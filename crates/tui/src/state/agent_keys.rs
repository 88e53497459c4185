//! Keys of the list of agents, and of the dialog before a stop.

use termina::event::KeyCode;
use troupe_protocol::AgentId;
use troupe_protocol::approval::ReviewDecision;

use super::overlay::StopScope;
use super::{AgentsView, AppState, PagerBody, PagerView, ScreenOverlay, StopDialog};
use crate::keys::{KeyAction, KeyContext, KeyStroke};
use crate::session::{StopVerb, TreeRequest};

impl AppState {
    pub(super) fn open_agents(&mut self) {
        self.overlays
            .push(ScreenOverlay::Agents(AgentsView::default()));
        self.ask(TreeRequest::Look);
    }

    pub(super) fn agents_key(&mut self, stroke: KeyStroke) {
        let Some(ScreenOverlay::Agents(view)) = self.overlays.last_mut() else {
            return;
        };
        if view.is_filtering {
            match stroke.code {
                KeyCode::Enter | KeyCode::Escape => view.is_filtering = false,
                KeyCode::Backspace => drop(view.filter.pop()),
                _ => view.filter.extend(stroke.letter()),
            }
            return;
        }
        let Some(action) = self.keymap.action(KeyContext::Agents, stroke) else {
            return;
        };
        match action {
            KeyAction::Close => self.close_overlay(),
            KeyAction::Up | KeyAction::Down => self.step_chosen(action == KeyAction::Down),
            KeyAction::Grouping => {
                if let Some(ScreenOverlay::Agents(view)) = self.overlays.last_mut() {
                    view.as_tree = !view.as_tree;
                }
            }
            KeyAction::Filter => {
                if let Some(ScreenOverlay::Agents(view)) = self.overlays.last_mut() {
                    view.is_filtering = true;
                }
            }
            KeyAction::Help => self.open_pager(PagerView::at_top("KEYS", PagerBody::Help)),
            KeyAction::Spawn => self.open_spawn(),
            _ => {
                if let Some(agent) = crate::views::agents::chosen_agent(self) {
                    self.agent_action(agent, action);
                }
            }
        }
    }

    fn agent_action(&mut self, agent: AgentId, action: KeyAction) {
        match action {
            KeyAction::Open => self.open_agent(agent),
            KeyAction::Message => self.enter_agent(ScreenOverlay::Peek(agent), agent),
            KeyAction::Peek => self.peek_at(agent),
            KeyAction::Inbox => self.ask(TreeRequest::Inbox(agent)),
            KeyAction::MarkRead => self.mark_read(agent),
            KeyAction::Stop => self.open_stop(agent),
            KeyAction::ResumeAgent => self.ask(TreeRequest::Resume(agent)),
            KeyAction::Diff => {
                let title = format!("CHANGES of {}", self.roster.name(agent));
                self.open_pager(PagerView::at_top(title, PagerBody::Changes(agent)));
            }
            KeyAction::FullText => {
                self.results.remove(&agent);
                self.ask(TreeRequest::Result(agent));
                self.mark_read(agent);
                let title = format!("TASK AND RESULT of {}", self.roster.name(agent));
                self.open_pager(PagerView::at_top(title, PagerBody::About(agent)));
            }
            KeyAction::Approve | KeyAction::Deny => {
                let asks = |question: &&crate::questions::PendingQuestion| {
                    question
                        .asker()
                        .is_some_and(|label| label.agent_id == agent)
                };
                let id = self
                    .questions
                    .pending()
                    .iter()
                    .find(asks)
                    .map(|question| question.id.clone());
                match id {
                    Some(id) if action == KeyAction::Approve => {
                        self.questions.bring_forward(&id);
                        self.answer(action);
                    }
                    Some(id) => self.decide(&id, ReviewDecision::Denied),
                    None => self.say("that agent asks nothing"),
                }
            }
            _ => {}
        }
    }

    /// Shows the end of an agent's conversation below the list; what it said is read then.
    pub(super) fn peek_at(&mut self, agent: AgentId) {
        self.enter_agent(ScreenOverlay::Peek(agent), agent);
        self.mark_read(agent);
    }

    /// Keeps the agent that keys are about, whoever comes before it in the list.
    pub(super) fn keep_chosen(&mut self) {
        let is_open = matches!(
            self.overlays.last(),
            Some(ScreenOverlay::Agents(AgentsView { chosen: None, .. }))
        );
        if is_open {
            let first = crate::views::agents::chosen_agent(self);
            if let Some(ScreenOverlay::Agents(view)) = self.overlays.last_mut() {
                view.chosen = first;
            }
        }
    }

    fn step_chosen(&mut self, down: bool) {
        let order = crate::views::agents::shown_order(self);
        let chosen = crate::views::agents::chosen_agent(self);
        let Some(ScreenOverlay::Agents(view)) = self.overlays.last_mut() else {
            return;
        };
        let at = order.iter().position(|agent| Some(*agent) == chosen);
        let last = order.len().saturating_sub(1);
        let to = match (at, down) {
            (None, _) => 0,
            (Some(at), true) => (at + 1).min(last),
            (Some(at), false) => at.saturating_sub(1),
        };
        view.chosen = order.get(to).copied();
    }

    pub(super) fn open_stop(&mut self, agent: AgentId) {
        if agent == AgentId::ROOT {
            self.say("Esc interrupts the root; choose an agent to stop it");
            return;
        }
        let verb = StopVerb::Interrupt;
        self.overlays.push(ScreenOverlay::Stop(StopDialog {
            agent,
            verb,
            scope: None,
        }));
        self.ask(TreeRequest::StopScope { agent, verb });
    }

    pub(super) fn stop_key(&mut self, stroke: KeyStroke) {
        let Some(ScreenOverlay::Stop(dialog)) = self.overlays.last_mut() else {
            return;
        };
        let at = StopVerb::ALL
            .iter()
            .position(|verb| *verb == dialog.verb)
            .unwrap_or(0);
        let count = StopVerb::ALL.len();
        match self.keymap.action(KeyContext::Stop, stroke) {
            Some(action @ (KeyAction::Up | KeyAction::Down)) => {
                let step = if action == KeyAction::Down {
                    1
                } else {
                    count - 1
                };
                dialog.verb = StopVerb::ALL[(at + step) % count];
                dialog.scope = None::<StopScope>;
                let (agent, verb) = (dialog.agent, dialog.verb);
                self.ask(TreeRequest::StopScope { agent, verb });
            }
            Some(KeyAction::Confirm) => {
                let (agent, verb) = (dialog.agent, dialog.verb);
                self.close_overlay();
                self.ask(TreeRequest::Stop { agent, verb });
            }
            Some(KeyAction::Close) => self.close_overlay(),
            _ => {}
        }
    }
}
