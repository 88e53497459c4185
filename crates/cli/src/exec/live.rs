//! What goes on right now, for the few lines below everything that stays on a terminal: the end
//! of the text that the model is writing or of the running command's output, and one status line.

use std::collections::{HashSet, VecDeque};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use troupe_protocol::event::TextDelta;
use troupe_protocol::{CallId, EventMsg, PendingQuestion, TurnItem};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::exec::command_line;
use crate::exec::roster::AgentRoster;
use crate::limits::COMMAND_COLUMNS_MAX;
use crate::limits::{LIVE_ROWS_MAX, LIVE_TAIL_BYTES_MAX};
use crate::terminal;

/// A token of English text has about four bytes.
const BYTES_PER_TOKEN: u64 = 4;

/// What a reader of events must remember of the present.
#[derive(Debug, Default)]
pub struct LiveStatus {
    /// Since when the model is asked, and what it has sent since then.
    thinking: Option<ModelActivity>,
    /// In the order in which they were begun.
    commands: VecDeque<RunningCommand>,
    roster: AgentRoster,
    /// Questions that somebody has to answer.
    open_questions: HashSet<CallId>,
}

/// What the model writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ModelOutput {
    Reasoning,
    Answer,
}

#[derive(Debug)]
struct ModelActivity {
    since_ms: i64,
    output: ModelOutput,
    received_bytes: u64,
    tail: TextTail,
}

#[derive(Debug)]
struct RunningCommand {
    call_id: CallId,
    line: String,
    since_ms: i64,
    tail: TextTail,
}

impl LiveStatus {
    pub fn apply(&mut self, msg: &EventMsg, now_ms: i64) {
        match msg {
            EventMsg::TurnStarted(_) | EventMsg::ResponseCompleted { .. } => self.think(now_ms),
            EventMsg::AgentMessageContentDelta(delta) | EventMsg::PlanDelta(delta) => {
                self.receive(ModelOutput::Answer, delta);
            }
            EventMsg::ReasoningContentDelta(delta) | EventMsg::ReasoningRawContentDelta(delta) => {
                self.receive(ModelOutput::Reasoning, delta);
            }
            EventMsg::ExecCommandOutputDelta(delta) => {
                let of = |command: &&mut RunningCommand| command.call_id == delta.call_id;
                let bytes = BASE64_STANDARD.decode(&delta.chunk);
                if let (Some(command), Ok(bytes)) = (self.commands.iter_mut().find(of), bytes) {
                    command.tail.push(&String::from_utf8_lossy(&bytes));
                }
            }
            EventMsg::ItemStarted { item, .. } => self.started(item, now_ms),
            EventMsg::ItemCompleted { item, .. } => self.completed(item),
            EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_) => {
                self.thinking = None;
                self.commands.clear();
            }
            EventMsg::SubagentLifecycle(change) => {
                self.roster.apply(change, now_ms);
            }
            _ => self.question(msg),
        }
    }

    fn receive(&mut self, output: ModelOutput, delta: &TextDelta) {
        if let Some(thinking) = &mut self.thinking {
            thinking.take(output, &delta.delta, delta.snapshot);
        }
    }

    fn question(&mut self, msg: &EventMsg) {
        // What a server asks is declined at once.
        if let EventMsg::ElicitationRequest(_) = msg {
            return;
        }
        if let Some(asked) = PendingQuestion::id_of(msg) {
            self.open_questions.insert(asked.clone());
        } else if let Some(settled) = PendingQuestion::settled_by(msg) {
            self.open_questions.remove(settled);
        }
    }

    /// Returns the lines as they are now, none wider than the terminal; none if nothing goes on.
    pub fn rows(&self, width: usize, now_ms: i64) -> Vec<String> {
        let Some(status) = self.status(now_ms) else {
            return Vec::new();
        };
        let indent = "  ";
        let mut rows = match self.tail() {
            Some(tail) => tail.rows(width.saturating_sub(indent.len())),
            None => Vec::new(),
        };
        for row in &mut rows {
            row.insert_str(0, indent);
        }
        rows.push(fitted(&status, width));
        rows
    }

    fn think(&mut self, now_ms: i64) {
        self.thinking = Some(ModelActivity {
            since_ms: now_ms,
            output: ModelOutput::Reasoning,
            received_bytes: 0,
            tail: TextTail::default(),
        });
    }

    fn started(&mut self, item: &TurnItem, now_ms: i64) {
        if let TurnItem::CommandExecution(item) = item {
            self.commands.push_back(RunningCommand {
                call_id: CallId(item.id.0.clone()),
                line: command_line::shown(&item.command),
                since_ms: now_ms,
                tail: TextTail::default(),
            });
        }
    }

    fn completed(&mut self, item: &TurnItem) {
        match item {
            TurnItem::CommandExecution(item) => {
                self.commands
                    .retain(|command| command.call_id.0 != item.id.0);
            }
            // It is among the lines that stay now.
            TurnItem::AgentMessage(_) | TurnItem::Plan(_) | TurnItem::Reasoning(_) => {
                if let Some(thinking) = &mut self.thinking {
                    thinking.tail.clear();
                }
            }
            _ => {}
        }
    }

    fn tail(&self) -> Option<&TextTail> {
        match self.commands.back() {
            Some(command) => Some(&command.tail),
            None => self.thinking.as_ref().map(|thinking| &thinking.tail),
        }
    }

    fn status(&self, now_ms: i64) -> Option<String> {
        let queued = self.roster.queued();
        let at_work = self.roster.at_work().len() - queued;
        let own = match (self.commands.back(), &self.thinking) {
            (Some(command), _) => Some(command.status(self.commands.len(), now_ms)),
            (None, Some(thinking)) => Some(thinking.status(now_ms)),
            (None, None) => None,
        };
        let agents = match at_work {
            0 => None,
            1 => Some("1 agent at work".to_owned()),
            _ => Some(format!("{at_work} agents at work")),
        };
        let agents = match (agents, queued) {
            (agents, 0) => agents,
            (Some(agents), queued) => Some(format!("{agents}, {queued} queued")),
            (None, queued) => Some(format!("{queued} queued")),
        };
        let asks = match self.open_questions.len() {
            0 => None,
            1 => Some("1 asks".to_owned()),
            number => Some(format!("{number} ask")),
        };
        let agents = match (agents, asks) {
            (Some(agents), Some(asks)) => Some(format!("{agents}, {asks}")),
            (agents, asks) => agents.or(asks),
        };
        let parts: Vec<String> = [own, agents].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("{} · Ctrl-C stops", parts.join(" · ")))
    }
}

impl ModelActivity {
    fn take(&mut self, output: ModelOutput, text: &str, is_whole: bool) {
        if is_whole {
            self.tail.clear();
            self.received_bytes = 0;
        }
        if self.output != output {
            self.output = output;
            self.tail.push("\n");
        }
        self.received_bytes += text.len() as u64;
        self.tail.push(text);
    }

    fn status(&self, now_ms: i64) -> String {
        let seconds = elapsed(self.since_ms, now_ms);
        let does = match self.output {
            ModelOutput::Reasoning => "thinking",
            ModelOutput::Answer => "answering",
        };
        match self.received_bytes / BYTES_PER_TOKEN {
            0 => format!("{does} {seconds} s"),
            tokens => format!("{does} {seconds} s · about {tokens} tokens"),
        }
    }
}

impl RunningCommand {
    fn status(&self, number: usize, now_ms: i64) -> String {
        let seconds = elapsed(self.since_ms, now_ms);
        let line = self.line.lines().next().unwrap_or_default();
        let others = match number {
            0 | 1 => String::new(),
            number => format!(" and {} more", number - 1),
        };
        format!(
            "running {} {}:{:02}{others}",
            fitted(line, COMMAND_COLUMNS_MAX),
            seconds / 60,
            seconds % 60
        )
    }
}

fn elapsed(since_ms: i64, now_ms: i64) -> i64 {
    now_ms.saturating_sub(since_ms).max(0) / 1000
}

/// The end of a growing text.
#[derive(Debug, Default)]
struct TextTail(String);

impl TextTail {
    fn push(&mut self, text: &str) {
        self.0.push_str(text);
        if self.0.len() > 2 * LIVE_TAIL_BYTES_MAX {
            let cut = self
                .0
                .ceil_char_boundary(self.0.len() - LIVE_TAIL_BYTES_MAX);
            self.0.drain(..cut);
        }
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the end of it as rows that fit, without empty ones.
    fn rows(&self, width: usize) -> Vec<String> {
        let lines = self.0.rsplit(['\n', '\r']);
        let lines = lines.filter(|line| !line.trim().is_empty());
        let mut rows: Vec<String> = lines
            .flat_map(|line| wrapped(line, width).into_iter().rev())
            .take(LIVE_ROWS_MAX)
            .collect();
        rows.reverse();
        rows
    }
}

/// Cuts a line into rows that fit.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let mut columns = 0;
    for letter in harmless(line).chars() {
        let letter_columns = letter.width().unwrap_or(0);
        if columns + letter_columns > width {
            rows.push(String::new());
            columns = 0;
        }
        columns += letter_columns;
        if let Some(row) = rows.last_mut() {
            row.push(letter);
        }
    }
    rows
}

/// Returns a line without what a terminal acts on.
fn harmless(line: &str) -> String {
    terminal::harmless(line).replace('\t', " ")
}

/// Returns the line without what a terminal acts on, cut with `…` where it would not fit.
fn fitted(line: &str, width: usize) -> String {
    let line = harmless(line);
    if line.width() <= width {
        return line;
    }
    let mut room = width.saturating_sub(1);
    let fits = |letter: &char| {
        let columns = letter.width().unwrap_or(0);
        let has_room = columns <= room;
        room = room.saturating_sub(columns);
        has_room
    };
    let mut cut: String = line.chars().take_while(fits).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests;
