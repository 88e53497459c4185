//! A tree as text.

use std::fmt::Write as _;

use troupe_protocol::AgentId;
use troupe_protocol::agent::AgentStatus;

use crate::control::Row;
use crate::limits::SHOWN_PREVIEW_CHARS_MAX;
use crate::style::Style;

/// Draws a line for `top` and each agent below it; the released are below the root. Ages are
/// counted from `now_ms`.
pub fn tree(rows: &[Row], top: AgentId, now_ms: i64, style: Style) -> String {
    let mut lines = Vec::with_capacity(rows.len());
    let is_top = |row: &&Row| {
        let is_released = top == AgentId::ROOT && row.parent_agent_id.is_none();
        row.agent_id == top || is_released
    };
    for row in rows.iter().filter(is_top) {
        let title = match row.agent_id {
            AgentId::ROOT => row.path.clone(),
            id if id == top => format!("{id} {}", row.path),
            id => format!("{id} {} (released)", row.path),
        };
        lines.push((title, row));
        branches(rows, row.agent_id, "", &mut lines);
    }
    let widest = lines.iter().map(|(title, _)| title.chars().count()).max();
    let width = widest.unwrap_or(0);
    let mut text = String::new();
    for (title, row) in lines {
        let pad = " ".repeat(width - title.chars().count());
        writeln!(text, "{title}{pad}  {}", facts(row, now_ms, style))
            .expect("a string takes any text");
    }
    text
}

fn branches<'a>(rows: &'a [Row], of: AgentId, indent: &str, lines: &mut Vec<(String, &'a Row)>) {
    let mut children = rows
        .iter()
        .filter(|row| row.parent_agent_id == Some(of))
        .peekable();
    while let Some(child) = children.next() {
        let (branch, below) = if children.peek().is_some() {
            ("├─ ", "│  ")
        } else {
            ("└─ ", "   ")
        };
        let title = format!("{indent}{branch}{} {}", child.agent_id, child.name());
        lines.push((title, child));
        branches(rows, child.agent_id, &format!("{indent}{below}"), lines);
    }
}

/// Says everything but the name.
fn facts(row: &Row, now_ms: i64, style: Style) -> String {
    let mut parts = vec![format!(
        "{} {:>4}",
        colour(&row.status, &format!("{:<12}", standing(row)), style),
        age(now_ms - row.since_ms)
    )];
    if let Some(made) = &row.made {
        let persona = made.persona.iter().map(|name| format!(" ({name})"));
        let role = format!("{}{}", made.role, persona.collect::<String>());
        parts.push(format!("{role} on {}", made.model));
    }
    parts.push(tokens(row));
    parts.extend(row.detail.clone().map(|detail| style.yellow(&detail)));
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

fn tokens(row: &Row) -> String {
    let own = thousands(row.tokens.own);
    if row.tokens.subtree > row.tokens.own {
        let subtree = thousands(row.tokens.subtree);
        format!("{own} tokens, {subtree} with its agents")
    } else {
        format!("{own} tokens")
    }
}

fn waiting(row: &Row) -> Option<String> {
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
pub fn standing(row: &Row) -> String {
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
        other => format!("{other:?}"),
    }
}

pub fn colour(status: &AgentStatus, text: &str, style: Style) -> String {
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

/// Returns the beginning of a text, in one line.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
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
