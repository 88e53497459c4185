//! What becomes of a line when it is sent.

use std::path::PathBuf;

use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::input::UserInput;
use troupe_protocol::policy::{CollaborationMode, ModeChoice};
use troupe_protocol::session::TurnOverrides;
use troupe_protocol::{AgentId, Op};

use super::{AppState, LinePurpose, WaitingMessage};
use crate::limits::QUEUE_MESSAGES_MAX;
use crate::questions::SpokenAnswer;
use crate::session::{MessageUrgency, SpawnOrder, TreeRequest};

const IMAGE_ENDINGS: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];

/// What is sent when a proposed plan is agreed to. Users of the Codex family know the words.
pub const IMPLEMENT_PLAN: &str = "Implement the plan.";

impl AppState {
    /// Sends the line.
    pub(super) fn submit_line(&mut self) {
        if self.composer.expanded().trim().is_empty() {
            return;
        }
        let is_command = self.composer.buffer.text().starts_with('/');
        let asks_tree = !matches!(self.purpose, LinePurpose::Prompt | LinePurpose::Answer);
        if !self.facts.drives() && !is_command && !asks_tree {
            let text = "another client drives; /drive asks for the seat";
            self.say(text);
            return;
        }
        let text = self.composer.take();
        let purpose = std::mem::replace(&mut self.purpose, LinePurpose::Prompt);
        match purpose {
            LinePurpose::Prompt => {
                self.remember(&text);
                self.prompt_line(text);
            }
            LinePurpose::Refusal { question } => self.refuse_saying(&question, text),
            LinePurpose::Answer => match self.questions.say(SpokenAnswer::Text(text)) {
                Some(op) => self.submit_op(op),
                None if self
                    .questions
                    .first()
                    .is_some_and(super::super::questions::PendingQuestion::takes_text) =>
                {
                    self.purpose = LinePurpose::Answer;
                }
                None => self.say("that does not answer the question"),
            },
        }
    }

    pub(super) fn prompt_line(&mut self, text: String) {
        if let Some(line) = text.strip_prefix('/')
            && !line.starts_with('/')
            && !line.contains('\n')
        {
            self.slash(&text);
            return;
        }
        match self.shown_agent() {
            AgentId::ROOT => match text.strip_prefix('!') {
                Some(command) => self.submit_op(Op::RunUserShellCommand {
                    command: command.trim().to_owned(),
                }),
                None => self.send_prompt(text),
            },
            agent => self.write_to(agent, text, MessageUrgency::Regular),
        }
    }

    fn remember(&mut self, text: &str) {
        self.composer.history.add(text);
        self.ask(TreeRequest::Remember(text.to_owned()));
    }

    /// Starts a task with a message, or adds it to the one that runs.
    pub(super) fn send_prompt(&mut self, text: String) {
        self.send_with_images(text, Vec::new());
    }

    pub(super) fn send_with_images(&mut self, text: String, images: Vec<PathBuf>) {
        self.plan_offered = false;
        self.sent += 1;
        let client_id = Some(format!("tui-{}-{}", self.now_ms, self.sent));
        let mut items = items_of(&text, self.working_directory());
        let image = |path| UserInput::LocalImage { path, detail: None };
        items.extend(images.into_iter().map(image));
        let is_steer = self.facts.task.is_some();
        self.submit_op(match self.facts.task {
            Some(_) => Op::Steer {
                items,
                client_id: client_id.clone(),
            },
            None => Op::UserTurn {
                items,
                overrides: TurnOverrides::default(),
                final_output_json_schema: None,
                last_response_id: None,
                client_id: client_id.clone(),
            },
        });
        self.waiting.push(WaitingMessage {
            text,
            client_id,
            is_steer,
        });
    }

    /// Keeps the line until the task has ended.
    pub(super) fn queue_line(&mut self) {
        if self.composer.is_empty() {
            return;
        }
        let is_root = self.shown_agent() == AgentId::ROOT;
        if self.facts.task.is_none() || !is_root || self.purpose != LinePurpose::Prompt {
            self.submit_line();
            return;
        }
        if self.waiting.len() >= QUEUE_MESSAGES_MAX {
            self.say(format!("{QUEUE_MESSAGES_MAX} messages wait already"));
            return;
        }
        let text = self.composer.take();
        self.remember(&text);
        self.waiting.push(WaitingMessage {
            text,
            client_id: None,
            is_steer: false,
        });
    }

    /// Takes the last message that is kept back into the line.
    pub(super) fn edit_queued(&mut self) {
        let at = self
            .waiting
            .iter()
            .rposition(|message| message.client_id.is_none());
        match at {
            Some(at) if self.composer.is_empty() => {
                let message = self.waiting.remove(at);
                self.composer.buffer.set(&message.text);
            }
            Some(_) => self.say("send or clear the line first"),
            None => self.say("no message waits"),
        }
    }

    /// Ends the running task and sends the line.
    pub(super) fn interrupt_with_line(&mut self) {
        match self.shown_agent() {
            AgentId::ROOT => {
                if self.facts.task.is_some() && !self.composer.is_empty() {
                    // A new turn takes the place of the one that runs.
                    self.facts.task = None;
                }
                self.submit_line();
            }
            agent if !self.composer.is_empty() => {
                let text = self.composer.take();
                self.write_to(agent, text, MessageUrgency::Interrupt);
            }
            _ => {}
        }
    }

    pub(super) fn write_to(&mut self, to: AgentId, text: String, urgency: MessageUrgency) {
        self.ask(TreeRequest::Send { to, text, urgency });
    }

    fn refuse_saying(&mut self, id: &str, why: String) {
        let asker = self
            .questions
            .pending()
            .iter()
            .find(|question| question.id == id);
        let asker = asker.map(|question| question.asker().map(|label| label.agent_id));
        let Some(asker) = asker else {
            self.say("the question was settled meanwhile");
            return;
        };
        if let Some(op) = self.questions.decide(id, ReviewDecision::Denied) {
            self.submit_op(op);
        }
        match asker {
            None => self.submit_op(Op::Steer {
                items: vec![UserInput::text(why)],
                client_id: None,
            }),
            Some(agent) => self.write_to(agent, why, MessageUrgency::Regular),
        }
    }

    /// Goes into plan mode, or out of it.
    pub(super) fn toggle_mode(&mut self) {
        let mode = if self.facts.is_planning() {
            CollaborationMode::Default
        } else {
            CollaborationMode::Plan
        };
        self.set_mode(mode);
    }

    fn set_mode(&mut self, mode: CollaborationMode) {
        self.submit_op(Op::OverrideTurnContext {
            overrides: TurnOverrides {
                collaboration_mode: Some(ModeChoice::Name(mode)),
                ..TurnOverrides::default()
            },
        });
    }

    /// Agrees to a plan. A fresh context is the plan alone, told to a child.
    pub(super) fn accept_plan(&mut self, fresh: bool) {
        self.plan_offered = false;
        self.set_mode(CollaborationMode::Default);
        let plan = self
            .transcript
            .cells()
            .iter()
            .rev()
            .find_map(|cell| match &cell.body {
                crate::cells::CellBody::Plan(plan) => Some(plan.text.clone()),
                _ => None,
            });
        match plan {
            Some(plan) if fresh => self.ask(TreeRequest::Spawn(Box::new(SpawnOrder {
                task: format!("{IMPLEMENT_PLAN}\n\n{plan}"),
                ..SpawnOrder::default()
            }))),
            _ => self.send_prompt(IMPLEMENT_PLAN.to_owned()),
        }
    }

    pub(super) fn working_directory(&self) -> PathBuf {
        let context = self.facts.context.as_ref();
        context
            .map(|context| context.cwd.clone())
            .unwrap_or_default()
    }
}

/// Returns a message as the session takes it; images that are named with `@` go with it.
fn items_of(text: &str, directory: PathBuf) -> Vec<UserInput> {
    let mut items = vec![UserInput::text(text)];
    let is_image = |name: &str| {
        let name = name.to_ascii_lowercase();
        IMAGE_ENDINGS.iter().any(|ending| name.ends_with(ending))
    };
    for word in text.split_whitespace() {
        if let Some(name) = word.strip_prefix('@').filter(|name| is_image(name)) {
            items.push(UserInput::LocalImage {
                path: directory.join(name),
                detail: None,
            });
        }
    }
    items
}
