//! What the session and its tree tell.

use crate::text::append;
use troupe_protocol::agent::SubagentLifecycle;
use troupe_protocol::link::ServerNotice;
use troupe_protocol::op::Op;
use troupe_protocol::{AgentId, Event, EventMsg, TurnItem};

use super::{AppState, PagerView, ScreenOverlay, WaitingMessage};
use crate::cells::{CellBody, NoticeCell};
use crate::commands::slash_command;
use crate::effect::Effect;
use crate::limits::TREE_LOOK_MS;
use crate::session::{LinkMessage, MessageUrgency, TreeNews};
use crate::settings::NoticeKind;
use crate::state::overlay::StopScope;

impl AppState {
    pub(super) fn link(&mut self, message: LinkMessage) {
        match message {
            LinkMessage::Event(event) => self.event(&event),
            LinkMessage::AgentEvent { agent, event } => {
                let transcript = self.agents.entry(agent).or_default();
                transcript.take(&event.msg);
            }
            LinkMessage::Notice(notice) => self.notice(&notice),
            LinkMessage::Tree(news) => self.news(*news),
            LinkMessage::Lost(why) => self.facts.lost = Some(why),
        }
    }

    fn event(&mut self, event: &Event) {
        let msg = &event.msg;
        let is_history = event.seq <= self.facts.caught_up_at;
        let was_running = self.facts.task.is_some();
        if let EventMsg::SubagentLifecycle(life) = msg {
            self.lifecycle(life, is_history);
        }
        self.facts.take(msg);
        self.look_at_branch(msg, is_history);
        self.transcript.take(msg);
        if let Some(cell) = self.questions.take(msg, self.now_ms) {
            self.transcript.push(CellBody::Question(cell));
        }
        self.close_settled_question();
        match msg {
            EventMsg::AgentInbox(inbox) => self.roster.take_inbox(inbox),
            EventMsg::ItemCompleted { item, .. } => self.item_completed(item),
            EventMsg::TurnStarted(_) => {
                (self.plan_offered, self.plan_seen) = (false, false);
            }
            EventMsg::TurnComplete(_) => {
                self.plan_offered = self.plan_seen && self.facts.is_planning();
                if !is_history {
                    self.send_queued();
                }
            }
            EventMsg::Error(_) => self.not_taken(event.id.as_str()),
            EventMsg::TurnAborted(_) => self.waiting.retain(|message| message.client_id.is_none()),
            EventMsg::ShutdownComplete => {
                let text = "the session has ended";
                self.transcript
                    .push(CellBody::Notice(NoticeCell::info(text)));
            }
            EventMsg::ListModelsResponse(_) => self.open_models(),
            EventMsg::McpListToolsResponse(offer) => {
                let mut text = String::new();
                for (name, tool) in &offer.tools {
                    let about = tool.description.as_deref().unwrap_or_default();
                    let about = about.lines().next().unwrap_or_default();
                    append(
                        &mut text,
                        format_args!("- **{name}** ({}) {about}\n", tool.server),
                    );
                }
                for (server, why) in &offer.failures {
                    append(
                        &mut text,
                        format_args!("- **{server}** did not start: {why}\n"),
                    );
                }
                if text.is_empty() {
                    text.push_str("no server of the Model Context Protocol is configured");
                }
                self.open_pager(PagerView::at_top(
                    "SERVERS",
                    super::PagerBody::Markdown(text),
                ));
            }
            _ => {}
        }
        if !is_history {
            self.attend(msg, was_running);
        }
    }

    /// Asks for the branch where it may have become another: of another directory, and after a
    /// task, which may have changed it.
    fn look_at_branch(&mut self, msg: &EventMsg, is_history: bool) {
        let may_differ = match msg {
            EventMsg::SessionConfigured(_) => true,
            EventMsg::TurnContextUpdated(_) | EventMsg::TurnComplete(_) => !is_history,
            _ => false,
        };
        if may_differ {
            let directory = self.working_directory();
            self.effects.push(Effect::ReadBranch(directory));
        }
    }

    fn lifecycle(&mut self, life: &SubagentLifecycle, is_history: bool) {
        self.roster.take(life, self.now_ms, is_history);
        for entry in self.roster.entries() {
            self.transcript.know(entry.report.session, entry.name());
        }
        if !is_history {
            self.look_due_ms.get_or_insert(self.now_ms + TREE_LOOK_MS);
        }
    }

    /// A message did not get there: one that came too late for its task begins one of its own,
    /// another is given back.
    fn not_taken(&mut self, id: &str) {
        let is_it = |message: &WaitingMessage| message.client_id.as_deref() == Some(id);
        let Some(at) = self.waiting.iter().position(is_it) else {
            return;
        };
        let message = self.waiting.remove(at);
        if message.is_steer && self.facts.task.is_none() && self.facts.drives() {
            self.send_prompt(message.text);
        } else if self.composer.is_empty() {
            self.composer.buffer.set(&message.text);
        } else {
            self.composer.history.add(&message.text);
        }
    }

    fn item_completed(&mut self, item: &TurnItem) {
        match item {
            TurnItem::Plan(_) => self.plan_seen = true,
            TurnItem::ToolCall(call) => self.roster.take_spawn(call),
            TurnItem::UserMessage(item) => {
                let told = item.client_id.as_deref();
                self.waiting.retain(|message| {
                    message.client_id.is_none() || message.client_id.as_deref() != told
                });
            }
            _ => {}
        }
    }

    fn attend(&mut self, msg: &EventMsg, was_running: bool) {
        let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        let (kind, text) = match msg {
            EventMsg::TurnComplete(_) if self.plan_offered => {
                (NoticeKind::PlanModePrompt, "a plan is proposed".to_owned())
            }
            EventMsg::TurnComplete(done) if was_running => {
                let said = done.last_agent_message.as_deref().unwrap_or("done");
                (NoticeKind::AgentTurnComplete, first(said))
            }
            EventMsg::ExecApprovalRequest(_)
            | EventMsg::ApplyPatchApprovalRequest(_)
            | EventMsg::RequestUserInput(_)
            | EventMsg::ElicitationRequest(_) => {
                let Some(question) = self.questions.pending().last() else {
                    return;
                };
                let text = format!("{} asks: {}", question.asker_name(), question.line());
                (NoticeKind::ApprovalRequested, text)
            }
            EventMsg::BackgroundEvent(event) if event.is_final => {
                (NoticeKind::SubAgentComplete, first(&event.message))
            }
            _ => return,
        };
        self.attention.add(kind, text, self.now_ms);
    }

    fn notice(&mut self, notice: &ServerNotice) {
        let drove = self.facts.drives();
        let was_lost = self.facts.lost.is_some();
        self.facts.take_notice(notice);
        match notice {
            ServerNotice::Refused { error, id } => {
                if let Some(id) = id {
                    self.not_taken(id.as_str());
                }
                self.transcript
                    .push(CellBody::Notice(NoticeCell::error(&error.message)));
            }
            ServerNotice::Welcome(_) if was_lost => self.say("the session is back"),
            ServerNotice::Seat(seat) if drove && !self.facts.drives() => {
                let who = seat
                    .driver
                    .as_ref()
                    .map_or("another client", |client| client.as_str());
                self.say(format!("{who} drives now; /drive asks for the seat"));
            }
            ServerNotice::Seat(_) if !drove && self.facts.drives() => self.say("you drive now"),
            ServerNotice::Seat(seat) if self.facts.drives() && !seat.asking.is_empty() => {
                self.say(format!(
                    "{} asks to drive; /follow hands over",
                    seat.asking[0]
                ));
            }
            _ => {}
        }
    }

    fn news(&mut self, news: TreeNews) {
        match news {
            TreeNews::Agents(reports) => self.roster.take_reports(reports),
            TreeNews::StopScope {
                agent,
                verb,
                touched,
                skipped,
            } => {
                if let Some(ScreenOverlay::Stop(dialog)) = self.overlays.last_mut()
                    && (dialog.agent, dialog.verb) == (agent, verb)
                {
                    dialog.scope = Some(StopScope { touched, skipped });
                }
            }
            TreeNews::Result { agent, result } => drop(self.results.insert(agent, Ok(result))),
            TreeNews::NoResult { agent, why } => {
                let why = self.with_names(why);
                self.results.insert(agent, Err(why));
            }
            TreeNews::Inbox { agent, messages } => {
                let title = format!("INBOX of {}", self.roster.name(agent));
                let text = crate::views::inbox::inbox_text(self, &messages);
                self.open_pager(PagerView::text(title, text));
            }
            TreeNews::Roles(roles) => self.roles = roles,
            TreeNews::Prompts(prompts) => self.composer.history.prepend(prompts),
            TreeNews::Commands(commands) => {
                self.prompt_commands = commands.into_iter().map(|command| command.name).collect();
                self.complete();
            }
            TreeNews::CommandFilled { line, text, notes } => {
                for note in notes {
                    self.transcript
                        .push(CellBody::Notice(NoticeCell::info(note)));
                }
                match (text, self.shown_agent()) {
                    (Some(text), AgentId::ROOT) => self.send_prompt(text),
                    (Some(text), agent) => self.write_to(agent, text, MessageUrgency::Regular),
                    // Nothing has the name: what the screen's own table says of it.
                    (None, _) => {
                        if let Err(why) = slash_command(&line) {
                            self.say(why);
                        }
                    }
                }
            }
            TreeNews::Spawned {
                agent,
                is_aside,
                text,
            } => {
                if is_aside {
                    self.open_agent(agent);
                }
                self.say(text);
            }
            TreeNews::Kept => {}
            TreeNews::Done(text) | TreeNews::Refused(text) => {
                let text = self.with_names(text);
                self.say(text);
            }
        }
    }

    /// Has agents be called by their names in a sentence that names their sessions.
    fn with_names(&self, mut text: String) -> String {
        for entry in self.roster.entries() {
            let session = entry.report.session.to_string();
            if text.contains(&session) {
                text = text.replace(&session, entry.name());
            }
        }
        text
    }

    /// Sends the oldest message that was kept for the end of the task.
    fn send_queued(&mut self) {
        let at = self
            .waiting
            .iter()
            .position(|message| message.client_id.is_none());
        if let Some(at) = at {
            let message = self.waiting.remove(at);
            self.send_prompt(message.text);
        }
    }

    pub(super) fn open_pager(&mut self, pager: PagerView) {
        self.overlays.push(ScreenOverlay::Pager(pager));
    }

    /// A question that was settled is not looked at any longer.
    fn close_settled_question(&mut self) {
        let pending = &self.questions;
        self.overlays.retain(|overlay| match overlay {
            ScreenOverlay::Questions(_) => pending.first().is_some(),
            ScreenOverlay::Pager(PagerView {
                body: super::PagerBody::Question(id),
                ..
            }) => pending.pending().iter().any(|question| question.id == *id),
            _ => true,
        });
    }

    pub(super) fn list_models(&mut self) {
        self.submit_op(Op::ListModels { refresh: false });
    }
}
