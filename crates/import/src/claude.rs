//! Conversations of Claude Code: lines with `uuid` and `parentUuid`, which make a tree. What
//! counts is the way from the newest message up; [`branch`] finds it in a first pass.

pub mod branch;

mod blocks;

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;
use troupe_protocol::{ContextFragment, ResponseItem};

use crate::fields::{flag, owned, text, time};
use crate::losses::{LossKind, LossReport};
use crate::passage::{ConversationHeading, Passage, TimedPassage, TurnEnd};
use branch::{LineStanding, LiveBranch};

/// Commands of the program itself, which its model has no part in.
const LOCAL_COMMANDS: [&str; 30] = [
    "/add-dir",
    "/agents",
    "/bashes",
    "/clear",
    "/color",
    "/compact",
    "/config",
    "/context",
    "/cost",
    "/doctor",
    "/effort",
    "/exit",
    "/export",
    "/help",
    "/hooks",
    "/ide",
    "/login",
    "/logout",
    "/mcp",
    "/memory",
    "/model",
    "/permissions",
    "/plugin",
    "/quit",
    "/rename",
    "/resume",
    "/rewind",
    "/status",
    "/tasks",
    "/usage",
];

/// How messages begin that the program wrote, and not a person.
const PROGRAM_TAGS: [&str; 9] = [
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<system-reminder>",
    "<task-notification>",
    "<user-memory-input>",
    "<ide_",
];

const CAVEAT_TAG: &str = "<local-command-caveat>";
const INTERRUPTED: &str = "[Request interrupted by user";
/// Said by the program in the model's place.
const SYNTHETIC_MODEL: &str = "<synthetic>";

/// Where a name comes from; a later one of the same or a better origin takes its place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum NameOrigin {
    #[default]
    None,
    Summary,
    Model,
    Person,
}

/// Reads the lines of one conversation, in their order.
#[derive(Debug)]
pub struct ClaudeReader {
    pub heading: ConversationHeading,
    branch: LiveBranch,
    named: NameOrigin,
    /// What a compaction keeps of the messages before it, by their ids.
    kept: HashMap<String, Vec<ResponseItem>>,
    keeping: Vec<String>,
}

/// Tells whether a line is one of Claude Code's.
pub(crate) fn is_own(line: &Value) -> bool {
    text(line, "sessionId").is_some() && text(line, "type").is_some()
}

impl ClaudeReader {
    pub fn new(branch: LiveBranch) -> Self {
        Self {
            heading: ConversationHeading::default(),
            branch,
            named: NameOrigin::None,
            kept: HashMap::new(),
            keeping: Vec::new(),
        }
    }

    /// Reads a line and adds what it tells.
    pub fn line(&mut self, line: &Value, out: &mut Vec<TimedPassage>, losses: &mut LossReport) {
        let at = time(line, "timestamp");
        let first = out.len();
        let mut add = |passage| out.push(TimedPassage { at, passage });
        match text(line, "type").unwrap_or_default() {
            "summary" => self.name(owned(line, "summary"), NameOrigin::Summary, &mut add),
            "ai-title" => self.name(owned(line, "aiTitle"), NameOrigin::Model, &mut add),
            "custom-title" => self.name(owned(line, "customTitle"), NameOrigin::Person, &mut add),
            "user" | "assistant" | "system" | "attachment" => {
                match self.branch.standing(line) {
                    LineStanding::Live => {}
                    LineStanding::Child => return losses.add(LossKind::Child),
                    LineStanding::Left => return losses.add(LossKind::LeftBranch),
                    LineStanding::Repeated => return losses.add(LossKind::Duplicate),
                }
                self.note_origin(line);
                self.entry(line, &mut add, losses);
                self.keep_preserved_message(line, &out[first..]);
            }
            // What the program keeps for itself: snapshots of files, queues, its own state.
            _ => {}
        }
    }

    /// Reads what each line says of where it was written.
    fn note_origin(&mut self, line: &Value) {
        let heading = &mut self.heading;
        heading.id = heading.id.take().or_else(|| owned(line, "sessionId"));
        heading.started = heading.started.or_else(|| time(line, "timestamp"));
        if let Some(cwd) = text(line, "cwd") {
            heading.cwd = Some(PathBuf::from(cwd));
        }
        if let Some(branch) = text(line, "gitBranch").filter(|name| !name.is_empty()) {
            heading.branch = Some(branch.to_owned());
        }
        if let Some(version) = owned(line, "version") {
            heading.version = Some(version);
        }
        let model = line
            .get("message")
            .and_then(|message| text(message, "model"));
        if let Some(model) = model.filter(|model| *model != SYNTHETIC_MODEL) {
            heading.model = Some(model.to_owned());
        }
    }

    fn name(&mut self, name: Option<String>, from: NameOrigin, add: &mut dyn FnMut(Passage)) {
        if let Some(name) = name.filter(|_| from >= self.named) {
            self.named = from;
            add(Passage::Named(name));
        }
    }

    fn entry(&mut self, line: &Value, add: &mut dyn FnMut(Passage), losses: &mut LossReport) {
        let message = line.get("message").unwrap_or(&Value::Null);
        match text(line, "type").unwrap_or_default() {
            "assistant" => {
                let is_synthetic = text(message, "model") == Some(SYNTHETIC_MODEL);
                if !is_synthetic && !flag(line, "isApiErrorMessage") {
                    blocks::said(message, add, losses);
                }
            }
            "user" if flag(line, "isCompactSummary") => add(self.compacted(message)),
            "user" => user(line, message, add, losses),
            "system" => self.system(line),
            _ => attachment(line, add, losses),
        }
    }

    /// Remembers what a compaction keeps.
    fn system(&mut self, line: &Value) {
        if text(line, "subtype") == Some("compact_boundary") {
            self.keeping = branch::preserved(line);
        }
    }

    fn compacted(&mut self, message: &Value) -> Passage {
        let summary = blocks::words(message);
        let kept = std::mem::take(&mut self.keeping);
        let kept = kept.iter().filter_map(|id| self.kept.remove(id)).flatten();
        Passage::Compacted {
            replacement: std::iter::once(note(&summary)).chain(kept).collect(),
            summary,
        }
    }

    /// Keeps the words of a message that a later compaction keeps. Calls without their answers
    /// would be of no use to it.
    fn keep_preserved_message(&mut self, line: &Value, passages: &[TimedPassage]) {
        let Some(id) = text(line, "uuid").filter(|id| self.branch.is_preserved(id)) else {
            return;
        };
        let words = passages.iter().filter_map(|piece| match &piece.passage {
            Passage::Asked { told: item, .. } | Passage::Told(item) | Passage::Said(item) => {
                Some(item.clone())
            }
            _ => None,
        });
        self.kept.insert(id.to_owned(), words.collect());
    }
}

/// Marks what the model was told by the program that it was part of.
fn note(words: &str) -> ResponseItem {
    let open = ContextFragment::Imported.opening();
    ResponseItem::user_text(format!("{open}\n{}\n</imported_note>", words.trim()))
}

fn user(line: &Value, message: &Value, add: &mut dyn FnMut(Passage), losses: &mut LossReport) {
    for answer in blocks::answers(message, losses) {
        add(Passage::Answered(answer));
    }
    let words = blocks::words(message);
    let words = words.trim();
    if words.starts_with(INTERRUPTED) {
        add(Passage::Told(note(words)));
        add(Passage::TurnEnded(TurnEnd::Interrupted));
    } else if words.starts_with(CAVEAT_TAG) {
        losses.add(LossKind::Surroundings);
    } else if let Some(command) = blocks::command(words) {
        let name = command.split_whitespace().next().unwrap_or_default();
        if LOCAL_COMMANDS.contains(&name) {
            add(Passage::Told(note(&format!(
                "The user gave the command {command}"
            ))));
        } else {
            add(blocks::asked_text(&command));
        }
    } else if flag(line, "isMeta") || PROGRAM_TAGS.iter().any(|tag| words.starts_with(tag)) {
        if !words.is_empty() {
            add(Passage::Told(note(words)));
        }
    } else if let Some(asked) = blocks::asked(message, losses) {
        add(asked);
    }
}

/// What the user said while the model was at work stands beside the messages.
fn attachment(line: &Value, add: &mut dyn FnMut(Passage), losses: &mut LossReport) {
    let attached = line.get("attachment").unwrap_or(&Value::Null);
    match (text(attached, "type"), text(attached, "prompt")) {
        (Some("queued_command"), Some(prompt)) => add(blocks::asked_text(prompt)),
        _ => losses.add(LossKind::Surroundings),
    }
}
