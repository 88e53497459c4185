//! A tree as text.

use std::fmt::Write as _;
use std::io;

use troupe_protocol::AgentId;
use troupe_protocol::agent::{AgentCard, AgentStatus};
use troupe_protocol::text::one_line;
use unicode_width::UnicodeWidthStr as _;

use super::screen::RedrawnScreen;
use crate::limits::SHOWN_PREVIEW_CHARS_MAX;
use crate::style::TextStyle;
use crate::terminal::{WindowSize, fitted};
use troupe_tree::WAITS_FOR_CHILD;

/// How much room a drawing has.
#[derive(Debug, Clone, Copy, Default)]
pub struct DrawingSize {
    /// Lines are cut at this width; as long as they are if absent.
    pub columns: Option<usize>,
    /// A taller tree is folded; as tall as it is if absent.
    pub lines: Option<usize>,
}

impl DrawingSize {
    /// All of it for a tree that is drawn once; cut and folded where it is drawn again and again,
    /// with so many other lines on the screen.
    pub fn of_stdout(screen: &RedrawnScreen, other_lines: usize) -> Self {
        let size = WindowSize::of(&io::stdout());
        let rows = size.map(|size| size.rows.saturating_sub(other_lines).max(1));
        Self {
            columns: size.map(|size| size.columns),
            lines: rows.filter(|_| screen.is_redrawn()),
        }
    }
}

/// Draws a line for `top` and each agent below it; the released are below the root. Ages are
/// counted from `now_ms`.
pub fn tree(
    rows: &[AgentCard],
    top: AgentId,
    now_ms: i64,
    style: TextStyle,
    room: DrawingSize,
) -> String {
    let mut lines = drawn(rows, top, TreeFolding::Nothing);
    if let Some(most) = room.lines
        && lines.len() > most
    {
        lines = drawn(rows, top, TreeFolding::Ended);
        if lines.len() > most {
            let left_out = lines.split_off(most.saturating_sub(1));
            let agents = left_out.iter().map(TreeLine::agents).sum();
            lines.push(TreeLine::more(agents));
        }
    }
    let agents = lines.iter().filter(|line| line.row.is_some());
    let widest = agents.map(|line| line.title.width()).max();
    let widest = widest.unwrap_or(0);
    let mut text = String::new();
    for TreeLine { title, row, .. } in lines {
        let line = match row {
            Some(row) => {
                let pad = " ".repeat(widest - title.width());
                format!("{title}{pad}  {}", facts(rows, row, now_ms, style))
            }
            None => style.dim(&title),
        };
        let line = match room.columns {
            Some(columns) => fitted(&line, columns),
            None => line,
        };
        writeln!(text, "{line}").expect("a string takes any text");
    }
    text
}

/// Parts that are left out of a drawn tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TreeFolding {
    Nothing,
    /// Agents that have ended, with everybody below them: one line tells how many.
    Ended,
}

struct TreeLine<'a> {
    title: String,
    /// None for a line that stands for several agents.
    row: Option<&'a AgentCard>,
    folded: usize,
}

impl<'a> TreeLine<'a> {
    fn agent(title: String, row: &'a AgentCard) -> Self {
        Self {
            title,
            row: Some(row),
            folded: 0,
        }
    }

    fn more(agents: usize) -> Self {
        Self {
            title: format!("… {agents} more"),
            row: None,
            folded: agents,
        }
    }

    fn agents(&self) -> usize {
        self.folded + usize::from(self.row.is_some())
    }
}

fn drawn(rows: &[AgentCard], top: AgentId, fold: TreeFolding) -> Vec<TreeLine<'_>> {
    let mut lines = Vec::with_capacity(rows.len());
    let is_top = |row: &&AgentCard| {
        let is_released = top == AgentId::ROOT && row.parent_agent_id.is_none();
        row.agent_id == top || is_released
    };
    for row in rows.iter().filter(is_top) {
        let title = match row.agent_id {
            AgentId::ROOT => row.path.clone(),
            id if id == top => format!("{id} {}", row.path),
            id => format!("{id} {} (released)", row.path),
        };
        lines.push(TreeLine::agent(title, row));
        branches(rows, row.agent_id, "", fold, &mut lines);
    }
    lines
}

fn branches<'a>(
    rows: &'a [AgentCard],
    of: AgentId,
    indent: &str,
    fold: TreeFolding,
    lines: &mut Vec<TreeLine<'a>>,
) {
    let children = rows.iter().filter(|row| row.parent_agent_id == Some(of));
    let (folded, shown): (Vec<&AgentCard>, Vec<&AgentCard>) = match fold {
        TreeFolding::Nothing => (Vec::new(), children.collect()),
        TreeFolding::Ended => children.partition(|child| has_ended(rows, child)),
    };
    let mut shown = shown.into_iter().peekable();
    while let Some(child) = shown.next() {
        let (branch, below) = if shown.peek().is_some() || !folded.is_empty() {
            ("├─ ", "│  ")
        } else {
            ("└─ ", "   ")
        };
        let title = format!("{indent}{branch}{} {}", child.agent_id, child.name());
        lines.push(TreeLine::agent(title, child));
        let indent = format!("{indent}{below}");
        branches(rows, child.agent_id, &indent, fold, lines);
    }
    if !folded.is_empty() {
        let agents: Vec<&AgentCard> = folded.iter().flat_map(|row| within(rows, row)).collect();
        lines.push(TreeLine {
            title: format!("{indent}└─ {}", counted(&agents)),
            row: None,
            folded: agents.len(),
        });
    }
}

/// Returns an agent and everybody below it.
fn within<'a>(rows: &'a [AgentCard], row: &'a AgentCard) -> Vec<&'a AgentCard> {
    let mut found = vec![row];
    let mut next = 0;
    while let Some(above) = found.get(next).map(|row| row.agent_id) {
        found.extend(rows.iter().filter(|row| row.parent_agent_id == Some(above)));
        next += 1;
    }
    found
}

fn has_ended(rows: &[AgentCard], row: &AgentCard) -> bool {
    within(rows, row)
        .iter()
        .all(|row| row.status.row().is_final())
}

/// Says how many agents ended how: "12 completed, 1 errored".
fn counted(agents: &[&AgentCard]) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for agent in agents {
        let word = word(&agent.status);
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let counts = counts.iter().map(|(word, count)| format!("{count} {word}"));
    counts.collect::<Vec<_>>().join(", ")
}

/// Returns how many agents below this one are at work, if it waits for them.
fn waits_for(rows: &[AgentCard], row: &AgentCard) -> Option<usize> {
    let is_done_itself = row.agent_id == AgentId::ROOT && row.status.row().is_final();
    if !is_done_itself && row.detail.as_deref() != Some(WAITS_FOR_CHILD) {
        return None;
    }
    let below = within(rows, row).into_iter().skip(1);
    let at_work = below.filter(|row| !row.status.row().is_final()).count();
    (at_work > 0).then_some(at_work)
}

/// Says everything but the name.
fn facts(rows: &[AgentCard], row: &AgentCard, now_ms: i64, style: TextStyle) -> String {
    let waits_for = waits_for(rows, row);
    let standing = match waits_for {
        Some(agents) => format!("waits for {agents}"),
        None => standing(row),
    };
    let status = match waits_for {
        Some(_) => AgentStatus::Running,
        None => row.status.clone(),
    };
    let mut parts = vec![format!(
        "{} {}",
        colour(&status, &format!("{standing:<12}"), style),
        time(&status, row, now_ms)
    )];
    if let Some(made) = &row.made {
        let persona = made.persona.iter().map(|name| format!(" ({name})"));
        let role = format!("{}{}", made.role, persona.collect::<String>());
        parts.push(format!("{role} on {}", made.model));
    }
    parts.push(tokens(row));
    let detail = row.detail.as_deref().filter(|_| waits_for.is_none());
    parts.extend(detail.map(|detail| style.yellow(detail)));
    parts.extend(waiting(row));
    if row.pruned {
        parts.push("pruned".to_owned());
    }
    // The note that a child begins with only repeats its role.
    let note = row
        .note
        .as_deref()
        .filter(|note| !note.starts_with("agent_type="));
    parts.extend(note.map(|note| format!("note: {}", one_line(note, SHOWN_PREVIEW_CHARS_MAX))));
    parts.extend(preview(&row.status).map(|text| style.dim(&format!("“{text}”"))));
    parts.join(" · ")
}

/// Says for how long it is so; of who has ended, how long it ran and when that was.
fn time(status: &AgentStatus, row: &AgentCard, now_ms: i64) -> String {
    let since = age(now_ms - row.since_ms);
    if !status.row().is_final() {
        return format!("{since:>4}");
    }
    let ran = row.ran_ms.and_then(|ran| i64::try_from(ran).ok());
    match ran {
        Some(ran) => format!("ran {}, ended {since} ago", age(ran)),
        None => format!("ended {since} ago"),
    }
}

fn tokens(row: &AgentCard) -> String {
    let own = thousands(row.tokens.own);
    if row.tokens.subtree > row.tokens.own {
        let subtree = thousands(row.tokens.subtree);
        format!("{own} tokens, {subtree} with its agents")
    } else {
        format!("{own} tokens")
    }
}

fn waiting(row: &AgentCard) -> Option<String> {
    let count = |number: u32, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one} waits")),
        _ => Some(format!("{number} {many} wait")),
    };
    let parts = [
        count(row.pending.messages, "message", "messages"),
        count(row.pending.interrupts, "interrupt", "interrupts"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns the one word of how an agent stands. A root that was asked nothing yet, but has
/// agents, as after a review, is not about to begin.
pub fn standing(row: &AgentCard) -> String {
    match (row.agent_id, &row.status) {
        (AgentId::ROOT, AgentStatus::PendingInit) => "idle".to_owned(),
        (_, status) => word(status),
    }
}

/// Returns the one word of a status.
pub fn word(status: &AgentStatus) -> String {
    match status {
        AgentStatus::PendingInit => "starting".to_owned(),
        AgentStatus::Ready => "ready".to_owned(),
        AgentStatus::Queued { position } => format!("queued ({position})"),
        AgentStatus::Running => "running".to_owned(),
        AgentStatus::Completed(_) => "completed".to_owned(),
        AgentStatus::Errored(_) => "errored".to_owned(),
        AgentStatus::Interrupted => "interrupted".to_owned(),
        AgentStatus::Cancelled => "cancelled".to_owned(),
        AgentStatus::BudgetExceeded => "over budget".to_owned(),
        AgentStatus::Shutdown => "closed".to_owned(),
        AgentStatus::Lost(None) => "lost".to_owned(),
        AgentStatus::Lost(Some(last)) => format!("lost (last {})", word(last)),
        AgentStatus::NotFound => "not found".to_owned(),
    }
}

pub fn colour(status: &AgentStatus, text: &str, style: TextStyle) -> String {
    match status {
        AgentStatus::Completed(_) => style.green(text),
        AgentStatus::Errored(_) | AgentStatus::BudgetExceeded => style.red(text),
        AgentStatus::Running => style.cyan(text),
        AgentStatus::Interrupted | AgentStatus::Cancelled => style.yellow(text),
        _ => style.dim(text),
    }
}

fn preview(status: &AgentStatus) -> Option<String> {
    let line = one_line(status.text()?, SHOWN_PREVIEW_CHARS_MAX);
    (!line.is_empty()).then_some(line)
}

/// Returns how long something lasts, in its largest unit.
pub fn age(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
