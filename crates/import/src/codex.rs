//! Rollouts of Codex: lines `{timestamp, type, payload}`, the first of which is `session_meta`.
//!
//! The oldest files have items without an envelope; they are read too.

mod items;

use std::collections::VecDeque;
use std::path::PathBuf;

use serde_json::Value;
use troupe_protocol::ResponseItem;

use crate::fields::{owned, text, time};
use crate::losses::{LossKind, LossReport};
use crate::pairing::CallPairing;
use crate::passage::{ConversationHeading, Passage, TimedPassage, TurnEnd};

/// Characters of the user's messages that go with a summary which says nothing of them.
const KEPT_CHARS_MAX: usize = 80_000;

/// Kinds of lines that hold nothing of what was said.
const BOOKKEEPING: [&str; 5] = [
    "world_state",
    "token_usage_record",
    "security_risk_score",
    "inter_agent_communication_metadata",
    "event_msg",
];

/// Reads the lines of one rollout, in their order.
#[derive(Debug, Default)]
pub struct CodexReader {
    pub heading: ConversationHeading,
    /// What the user said last, for a compaction that does not say what it kept.
    recent: VecDeque<String>,
    recent_chars: usize,
}

/// Tells whether a line is one of Codex's.
pub(crate) fn is_own(line: &Value) -> bool {
    let is_meta = text(line, "type") == Some("session_meta") && line.get("payload").is_some();
    let is_old_meta = line.get("type").is_none()
        && text(line, "id").is_some()
        && text(line, "timestamp").is_some()
        && line.get("instructions").is_some();
    is_meta || is_old_meta
}

impl CodexReader {
    /// Reads a line and adds what it tells.
    pub fn line(&mut self, line: &Value, out: &mut Vec<TimedPassage>, losses: &mut LossReport) {
        let at = time(line, "timestamp");
        let mut add = |passage| out.push(TimedPassage { at, passage });
        let Some(payload) = line.get("payload") else {
            if line.get("type").is_some() {
                self.item(line, &mut add, losses);
            } else if self.heading.id.is_none() {
                self.meta(line, losses);
            }
            return;
        };
        match text(line, "type").unwrap_or_default() {
            "session_meta" if self.heading.id.is_none() => self.meta(payload, losses),
            // A fork repeats the first lines of what it was forked from.
            "session_meta" => {}
            "turn_context" => self.settings(payload),
            "response_item" => self.item(payload, &mut add, losses),
            "compacted" => add(self.compacted(payload, losses)),
            "event_msg" => event(payload, &mut add),
            "inter_agent_communication" => losses.add(LossKind::Child),
            kind if BOOKKEEPING.contains(&kind) => {}
            _ => losses.add(LossKind::Content),
        }
    }

    fn meta(&mut self, meta: &Value, losses: &mut LossReport) {
        let git = meta.get("git").unwrap_or(&Value::Null);
        let source = meta.get("source").unwrap_or(&Value::Null);
        self.heading = ConversationHeading {
            id: owned(meta, "id"),
            started: time(meta, "timestamp"),
            cwd: text(meta, "cwd").map(PathBuf::from),
            branch: owned(git, "branch"),
            commit: owned(git, "commit_hash"),
            originator: owned(meta, "originator"),
            version: owned(meta, "cli_version"),
            is_child: source.get("subagent").is_some() || source.get("sub_agent").is_some(),
            ..std::mem::take(&mut self.heading)
        };
        let base = meta.get("history_base");
        if base.is_some_and(|base| !base.is_null()) {
            losses.add(LossKind::EarlierFile);
        }
    }

    fn settings(&mut self, context: &Value) {
        if let Some(cwd) = text(context, "cwd") {
            self.heading.cwd = Some(cwd.into());
        }
        if let Some(model) = owned(context, "model") {
            self.heading.model = Some(model);
        }
    }

    fn item(&mut self, item: &Value, add: &mut dyn FnMut(Passage), losses: &mut LossReport) {
        for passage in items::read(item, losses) {
            if let Passage::Asked { told, .. } = &passage {
                self.remember_user_message(told);
            }
            add(passage);
        }
    }

    /// Remembers what the user said last.
    fn remember_user_message(&mut self, told: &ResponseItem) {
        let ResponseItem::Message { content, .. } = told else {
            return;
        };
        let words: Vec<&str> = content.iter().filter_map(|part| part.text()).collect();
        let words = words.join("\n");
        self.recent_chars += words.chars().count();
        self.recent.push_back(words);
        while self.recent_chars > KEPT_CHARS_MAX && self.recent.len() > 1 {
            let oldest = self.recent.pop_front().unwrap_or_default();
            self.recent_chars -= oldest.chars().count();
        }
    }

    fn compacted(&mut self, payload: &Value, losses: &mut LossReport) -> Passage {
        let summary = text(payload, "message").unwrap_or_default();
        let items = payload.get("replacement_history").and_then(Value::as_array);
        let replacement = if let Some(items) = items {
            replacement(items, summary, losses)
        } else {
            let said = self.recent.iter().map(ResponseItem::user_text);
            said.chain([items::note(summary)]).collect()
        };
        self.recent.clear();
        self.recent_chars = 0;
        Passage::Compacted {
            summary: summary.to_owned(),
            replacement,
        }
    }
}

/// Returns what the model goes on with. The summary stands among the user's messages there.
fn replacement(items: &[Value], summary: &str, losses: &mut LossReport) -> Vec<ResponseItem> {
    let mut pairing = CallPairing::default();
    let mut paired = Vec::new();
    for item in items {
        for passage in items::read(item, losses) {
            let piece = TimedPassage { at: None, passage };
            pairing.push(piece, &mut paired, losses);
        }
    }
    pairing.close(None, &mut paired, losses);
    let told = paired.into_iter().filter_map(|piece| match piece.passage {
        Passage::Asked { told, .. } if is_text(&told, summary) => Some(items::note(summary)),
        Passage::Asked { told, .. } => Some(told),
        Passage::Told(item)
        | Passage::Said(item)
        | Passage::Called(item)
        | Passage::Answered(item) => Some(item),
        Passage::TurnBegan
        | Passage::Thought(_)
        | Passage::Compacted { .. }
        | Passage::TurnEnded(_)
        | Passage::RolledBack { .. }
        | Passage::Named(_) => None,
    });
    told.collect()
}

fn is_text(item: &ResponseItem, words: &str) -> bool {
    match item {
        ResponseItem::Message { content, .. } => {
            content.len() == 1 && content[0].text() == Some(words)
        }
        _ => false,
    }
}

fn event(event: &Value, add: &mut dyn FnMut(Passage)) {
    match text(event, "type").unwrap_or_default() {
        "task_started" | "turn_started" => add(Passage::TurnBegan),
        "task_complete" | "turn_complete" => add(Passage::TurnEnded(TurnEnd::Completed)),
        "turn_aborted" => add(Passage::TurnEnded(TurnEnd::Interrupted)),
        "thread_rolled_back" => {
            let turns = event.get("num_turns").and_then(Value::as_u64);
            let turns = turns.and_then(|turns| u32::try_from(turns).ok());
            add(Passage::RolledBack {
                turns: turns.unwrap_or(1),
            });
        }
        "thread_name_updated" => {
            if let Some(name) = owned(event, "thread_name") {
                add(Passage::Named(name));
            }
        }
        // The items tell the same story.
        _ => {}
    }
}
