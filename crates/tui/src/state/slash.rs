//! What the commands do that begin with `/`.

use serde::de::DeserializeOwned;
use troupe_protocol::Op;
use troupe_protocol::link::ClientRole;
use troupe_protocol::op::{ReviewRequest, ReviewTarget};
use troupe_protocol::policy::{EffortChoice, SandboxMode, SandboxPolicy};
use troupe_protocol::session::TurnOverrides;
use troupe_protocol::undo::UndoRequest;

use super::{AppState, PagerBody, PagerView, PickerKind, PickerView, ScreenOverlay};
use crate::commands::{SlashAction, is_own_command, slash_command};
use crate::effect::Effect;
use crate::keys::KeyAction;
use crate::run::NextSession;
use crate::session::{SpawnOrder, TreeRequest};
use crate::settings::ThemeChoice;

/// What `/init` asks for.
const INIT: &str = "Look at this repository and write an AGENTS.md for it: what it is, how it is \
                    built and tested, and what somebody who changes it has to know. Keep it short.";

/// What `/permissions` takes: when to ask, then what commands may do.
const PERMISSIONS: [(&str, &str); 7] = [
    (
        "on-request",
        "commands run in the sandbox; the model asks for more",
    ),
    (
        "untrusted",
        "all is asked but what is known to change nothing",
    ),
    ("on-failure", "asks when the sandbox stopped a command"),
    ("never", "never asks; what would need a yes is refused"),
    ("read-only", "commands change no file"),
    ("workspace-write", "commands write in the working directory"),
    (
        "danger-full-access",
        "no sandbox: commands do what you could do",
    ),
];

const PERSONALITIES: [(&str, &str); 3] = [
    ("friendly", "warm, and explains"),
    ("pragmatic", "short"),
    ("none", "as the model is by itself"),
];

const THEMES: [(&str, &str); 3] = [
    ("auto", "as the terminal says"),
    ("dark", ""),
    ("light", ""),
];

impl AppState {
    pub(super) fn slash(&mut self, line: &str) {
        let (action, argument) = match slash_command(line) {
            Ok(found) => found,
            Err(_) if self.names_saved_prompt(line) => {
                self.effects.push(Effect::FillPrompt(line.to_owned()));
                return;
            }
            // It may be a prompt that a server offers, or one that was written down meanwhile.
            Err(_) if !is_own_command(line) => {
                self.ask(TreeRequest::FillCommand(line.to_owned()));
                return;
            }
            Err(why) => {
                self.say(why);
                return;
            }
        };
        let argument = argument.to_owned();
        match action {
            SlashAction::Agents => self.act(KeyAction::Agents),
            SlashAction::Copy => self.act(KeyAction::CopyAnswer),
            SlashAction::Editor => self.act(KeyAction::OpenEditor),
            SlashAction::Help => self.act(KeyAction::Help),
            SlashAction::Plan => self.toggle_mode(),
            SlashAction::Questions => self.open_questions(),
            SlashAction::Quit => self.ask_to_leave(),
            SlashAction::Raw => self.act(KeyAction::ToggleRaw),
            SlashAction::Redraw => self.act(KeyAction::Reprint),
            SlashAction::Transcript => self.act(KeyAction::Transcript),
            SlashAction::Drive => self.effects.push(Effect::TakeRole(ClientRole::Drive)),
            SlashAction::Follow => self.effects.push(Effect::TakeRole(ClientRole::Follow)),
            SlashAction::Compact => self.submit_op(Op::Compact),
            SlashAction::Mcp => self.submit_op(Op::ListMcpTools),
            SlashAction::Init => self.send_prompt(INIT.to_owned()),
            SlashAction::Note => self.submit_op(Op::SetThreadNote { note: argument }),
            SlashAction::Rename if argument.is_empty() => self.say("/rename needs a name"),
            SlashAction::Rename => self.submit_op(Op::SetThreadName { name: argument }),
            SlashAction::Diff => {
                let agent = self.shown_agent();
                let title = format!("CHANGES of {}", self.roster.name(agent));
                self.open_pager(PagerView::at_top(title, PagerBody::Changes(agent)));
            }
            SlashAction::New => self.leave_for(NextSession::New),
            SlashAction::Resume => self.leave_for(NextSession::Pick),
            SlashAction::Fork => self.leave_for(NextSession::Fork),
            SlashAction::Archive => self.leave_for(NextSession::Archive),
            SlashAction::Delete => {
                let rows = ["no, keep it", "yes, delete it and its agents for good"];
                let rows = rows.map(str::to_owned).to_vec();
                self.pick(PickerKind::Delete, rows);
            }
            SlashAction::Cd => self.change_directory(&argument),
            SlashAction::Pwd => self.say(self.working_directory().display().to_string()),
            SlashAction::Export => self.export(&argument),
            SlashAction::Mention => {
                self.composer.buffer.insert("@");
                self.complete();
            }
            SlashAction::Ps => self.list_commands(),
            SlashAction::Queue => self.open_queue(),
            SlashAction::Side if argument.is_empty() => self.say("/side needs a question"),
            SlashAction::Side => self.ask(TreeRequest::Spawn(Box::new(SpawnOrder {
                task: argument,
                name: Some("side".to_owned()),
                sandbox: Some(SandboxMode::ReadOnly),
                is_aside: true,
                ..SpawnOrder::default()
            }))),
            SlashAction::Statusline => match self.items_of_line(&argument) {
                Some(items) => self.settings.status_line = items,
                None => self.list_items("status_line"),
            },
            SlashAction::Title => match self.items_of_line(&argument) {
                Some(items) => self.settings.terminal_title = items,
                None => self.list_items("terminal_title"),
            },
            SlashAction::Theme if argument.is_empty() => self.offer(PickerKind::Theme, &THEMES),
            SlashAction::Theme => self.choose_theme(&argument),
            SlashAction::Vim => {
                let how = if self.composer.toggle_vim() {
                    "as in vi"
                } else {
                    "as usual"
                };
                self.say(format!("you write {how} now"));
            }
            SlashAction::Model => self.choose_model(&argument),
            SlashAction::Permissions if argument.is_empty() => {
                self.offer(PickerKind::Permissions, &PERMISSIONS);
            }
            SlashAction::Permissions => self.choose_permissions(&argument),
            SlashAction::Personality if argument.is_empty() => {
                self.offer(PickerKind::Personality, &PERSONALITIES);
            }
            SlashAction::Personality => self.choose_personality(&argument),
            SlashAction::Undo => self.undo(&argument, false),
            SlashAction::Redo => self.undo("", true),
            SlashAction::Review => self.submit_op(Op::Review {
                review_request: ReviewRequest {
                    target: if argument.is_empty() {
                        ReviewTarget::UncommittedChanges
                    } else {
                        ReviewTarget::Custom {
                            instructions: argument,
                        }
                    },
                    user_facing_hint: None,
                },
            }),
            SlashAction::Rewind => match argument.parse::<u32>() {
                Ok(num_turns) if num_turns > 0 => {
                    self.submit_op(Op::ThreadRollback { num_turns });
                }
                Ok(_) => self.say("/rewind needs a number from 1"),
                Err(_) if argument.is_empty() => self.open_rewind(),
                Err(_) => self.say(format!("/rewind needs a number, not {argument}")),
            },
            SlashAction::Screen => match argument.as_str() {
                "full" => self.is_full_screen = true,
                "inline" => self.is_full_screen = false,
                "" => self.is_full_screen = !self.is_full_screen,
                other => self.say(format!("/screen is inline or full, not {other}")),
            },
            SlashAction::Skills => {
                let skills = self.facts.skills.iter();
                let rows = skills.map(|skill| format!("{}: {}", skill.name, skill.description));
                let rows: Vec<String> = rows.collect();
                if rows.is_empty() {
                    self.say("no skill was found");
                } else {
                    self.pick(PickerKind::Skill, rows);
                }
            }
            SlashAction::Spawn if argument.is_empty() => self.open_spawn(),
            SlashAction::Spawn => self.ask(TreeRequest::Spawn(Box::new(SpawnOrder {
                task: argument,
                ..SpawnOrder::default()
            }))),
            SlashAction::Status | SlashAction::Usage => {
                self.open_pager(PagerView::at_top("STATUS", PagerBody::Status));
            }
            SlashAction::Stop => self.open_stop(self.shown_agent()),
        }
    }

    /// Tells whether a line begins with the name of a prompt that was written down. Commands of
    /// the screen come before them.
    pub(super) fn names_saved_prompt(&self, line: &str) -> bool {
        let name = line.split_whitespace().next().unwrap_or_default();
        let Some(name) = name.strip_prefix('/') else {
            return false;
        };
        self.saved_prompts.iter().any(|saved| saved == name)
    }

    /// Sends what a line stands for.
    pub(super) fn filled(&mut self, line: &str, prompt: Result<Option<String>, String>) {
        match prompt {
            Ok(Some(prompt)) => self.send_prompt(prompt),
            Ok(None) => self.say(format!("{line} is there no more")),
            Err(why) => self.say(why),
        }
    }

    fn choose_model(&mut self, argument: &str) {
        let mut words = argument.split_whitespace();
        let Some(model) = words.next() else {
            self.list_models();
            return;
        };
        let effort = match words.next().map(value_of) {
            None => None,
            Some(Ok(effort)) => Some(EffortChoice::Level(effort)),
            Some(Err(why)) => {
                self.say(why);
                return;
            }
        };
        self.override_context(TurnOverrides {
            model: Some(model.to_owned()),
            effort,
            ..TurnOverrides::default()
        });
    }

    /// Lists words to choose from, each with what it means.
    fn offer(&mut self, kind: PickerKind, choices: &[(&str, &str)]) {
        let rows = choices
            .iter()
            .map(|(word, about)| format!("{word:<18} {about}"));
        self.pick(kind, rows.collect());
    }

    /// Takes a policy about questions or a sandbox: each changes what it names alone.
    pub(super) fn choose_permissions(&mut self, word: &str) {
        let mut overrides = TurnOverrides::default();
        if let Ok(policy) = value_of(word) {
            overrides.approval_policy = Some(policy);
        } else if let Ok(mode) = value_of::<SandboxMode>(word) {
            overrides.sandbox_policy = Some(match mode {
                SandboxMode::ReadOnly => SandboxPolicy::read_only(),
                SandboxMode::WorkspaceWrite => SandboxPolicy::workspace_write(),
                SandboxMode::DangerFullAccess => SandboxPolicy::DangerFullAccess,
            });
        } else {
            let words: Vec<&str> = PERMISSIONS.iter().map(|(word, _)| *word).collect();
            self.say(format!("{word}: there are {}", words.join(", ")));
            return;
        }
        self.override_context(overrides);
        self.say(format!("{word}, from the next task on"));
    }

    pub(super) fn choose_personality(&mut self, word: &str) {
        match value_of(word) {
            Ok(personality) => {
                self.override_context(TurnOverrides {
                    personality: Some(personality),
                    ..TurnOverrides::default()
                });
                self.say(format!("{word}, from the next task on"));
            }
            Err(why) => self.say(why),
        }
    }

    pub(super) fn choose_theme(&mut self, word: &str) {
        match value_of::<ThemeChoice>(word) {
            Ok(theme) => self.effects.push(Effect::Theme(theme)),
            Err(why) => self.say(why),
        }
    }

    pub(super) fn override_context(&mut self, overrides: TurnOverrides) {
        self.submit_op(Op::OverrideTurnContext { overrides });
    }

    fn undo(&mut self, argument: &str, redo: bool) {
        let num_turns = match argument {
            "" => None,
            number => {
                if let Ok(number) = number.parse() {
                    Some(number)
                } else {
                    self.say(format!("/undo needs a number, not {number}"));
                    return;
                }
            }
        };
        self.submit_op(Op::Undo(UndoRequest {
            num_turns,
            redo,
            ..UndoRequest::default()
        }));
    }

    pub(super) fn pick(&mut self, kind: PickerKind, rows: Vec<String>) {
        self.overlays
            .push(ScreenOverlay::Picker(PickerView::new(kind, rows)));
    }

    pub(super) fn open_models(&mut self) {
        let models = self.facts.models.iter().flat_map(|list| &list.models);
        let rows: Vec<String> = models.map(|entry| entry.model.clone()).collect();
        if rows.is_empty() {
            self.say("the provider names no models; /model NAME takes any");
        } else {
            self.pick(PickerKind::Model, rows);
        }
    }

    /// Lists the user's messages, newest first.
    pub(super) fn open_rewind(&mut self) {
        let rows = self.facts.turns.iter().rev().cloned();
        let rows: Vec<String> = rows.collect();
        if rows.is_empty() {
            self.say("there is nothing to go back to");
        } else {
            self.pick(PickerKind::Rewind, rows);
        }
    }
}

/// Reads a word as the wire writes it, and says which words there are.
fn value_of<T: DeserializeOwned>(word: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::from(word)).map_err(|error| error.to_string())
}
