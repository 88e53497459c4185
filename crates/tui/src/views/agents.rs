//! Every agent: who needs the user, who works, who waits and why, who is done and unread.

use troupe_protocol::AgentId;

use super::status::{counts, mark_style};
use super::{filled, footer};
use crate::keys::KeyContext;
use crate::limits::BESIDE_COLUMNS_MIN;
use crate::roster::{AgentEntry, AgentGroup};
use crate::state::{AgentsView, AppState, ScreenOverlay};
use crate::terminal::ScreenFrame;
use crate::text::quantity::{age_text, count_text};
use crate::text::width::shortened;
use crate::text::{TextRow, TextStyle, wrap_text};

pub fn frame(state: &AppState, view: &AgentsView) -> ScreenFrame {
    let columns = state.size.columns;
    let name = state.facts.name.clone().unwrap_or_default();
    let left = TextRow::styled(format!("AGENTS {name}  "), TextStyle::BOLD);
    let mut head = left;
    head.append(counts(state));
    let how = if view.as_tree { "by place" } else { "by state" };
    let right = if view.is_filtering || !view.filter.is_empty() {
        format!("search: {}", view.filter)
    } else {
        how.to_owned()
    };
    let mut rows = vec![TextRow::justified(head, TextRow::dim(right), columns)];
    let beside = columns >= BESIDE_COLUMNS_MIN;
    let width = if beside { columns * 11 / 20 } else { columns };
    let room = state.size.rows.saturating_sub(2);
    let list = list_rows(state, view, width);
    let chosen = list
        .iter()
        .position(|(agent, _)| agent.is_some() && *agent == view.chosen);
    let from = (chosen.unwrap_or(0) + 2).saturating_sub(room);
    let list: Vec<TextRow> = list
        .into_iter()
        .skip(from)
        .take(room)
        .map(|(_, row)| row)
        .collect();
    let about = match view.chosen.and_then(|agent| state.roster.get(agent)) {
        Some(entry) if beside => about_rows(state, entry, columns - width - 3),
        _ => Vec::new(),
    };
    for at in 0..list.len().max(about.len()).min(room) {
        let left = list.get(at).cloned().unwrap_or_default();
        if !beside {
            rows.push(left);
            continue;
        }
        let mut row = left.padded(width).with(" | ", TextStyle::DIM);
        row.append(about.get(at).cloned().unwrap_or_default());
        rows.push(row);
    }
    if state.roster.is_empty() {
        rows.push(TextRow::dim(
            "no agents yet: ask for some, or make one with /spawn",
        ));
    }
    ScreenFrame {
        rows: filled(rows, footer(state, KeyContext::Agents), state),
        cursor: None,
    }
}

/// Returns the agents in the order in which they stand.
pub fn shown_order(state: &AppState) -> Vec<AgentId> {
    let view = state
        .overlays
        .iter()
        .rev()
        .find_map(|overlay| match overlay {
            ScreenOverlay::Agents(view) => Some(view),
            _ => None,
        });
    let Some(view) = view else {
        return Vec::new();
    };
    list_rows(state, view, state.size.columns)
        .into_iter()
        .filter_map(|(agent, _)| agent)
        .collect()
}

fn list_rows(state: &AppState, view: &AgentsView, width: usize) -> Vec<(Option<AgentId>, TextRow)> {
    let filter = view.filter.to_lowercase();
    let matches = |entry: &&AgentEntry| {
        let report = &entry.report;
        let task = report.task.as_deref().unwrap_or_default();
        report.path.to_lowercase().contains(&filter) || task.to_lowercase().contains(&filter)
    };
    let entries = || state.roster.entries().iter().filter(matches);
    let row = |entry: &AgentEntry| {
        let agent = entry.report.agent;
        (Some(agent), entry_row(state, entry, view, width))
    };
    if view.as_tree {
        let mut entries: Vec<&AgentEntry> = entries().collect();
        entries.sort_by(|a, b| a.report.path.cmp(&b.report.path));
        return entries.into_iter().map(row).collect();
    }
    let mut rows = Vec::new();
    for group in AgentGroup::ALL {
        let mut members = entries()
            .filter(|entry| state.group_of(entry.report.agent) == Some(group))
            .peekable();
        if members.peek().is_some() {
            rows.push((None, TextRow::styled(group.heading(), TextStyle::BOLD)));
            rows.extend(members.map(row));
        }
    }
    rows
}

fn entry_row(state: &AppState, entry: &AgentEntry, view: &AgentsView, width: usize) -> TextRow {
    let agent = entry.report.agent;
    let group = state.group_of(agent).unwrap_or(AgentGroup::Read);
    let is_chosen = view.chosen == Some(agent);
    let depth = if view.as_tree {
        entry.report.path.matches('/').count().saturating_sub(2)
    } else {
        0
    };
    let age = u64::try_from(state.now_ms - entry.report.since_ms).unwrap_or(0);
    let asks = |question: &&crate::questions::PendingQuestion| {
        question
            .asker()
            .is_some_and(|label| label.agent_id == agent)
    };
    let doing = match state.questions.pending().iter().find(asks) {
        Some(question) => question.line(),
        None => entry.doing(),
    };
    let left = TextRow::styled(if is_chosen { "›" } else { " " }, TextStyle::BOLD)
        .with(format!("{} ", group.mark()), mark_style(group))
        .with(format!("{}{agent} ", "  ".repeat(depth)), TextStyle::DIM)
        .with(
            format!("{:<10} ", shortened(entry.name(), 18)),
            if is_chosen {
                TextStyle::BOLD
            } else {
                TextStyle::PLAIN
            },
        )
        .with(doing, TextStyle::PLAIN);
    let right = TextRow::dim(if age < 1_000 {
        "now".to_owned()
    } else {
        age_text(age)
    });
    TextRow::justified(left, right, width)
}

/// Returns what is known of one agent.
fn about_rows(state: &AppState, entry: &AgentEntry, width: usize) -> Vec<TextRow> {
    let report = &entry.report;
    let mut rows = vec![TextRow::styled(&report.path, TextStyle::BOLD).ellipsis(width)];
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let row = TextRow::dim(format!("{name:<7}")).with(value, TextStyle::PLAIN);
            rows.push(row.ellipsis(width));
        }
    };
    line("role", report.role.clone());
    line("asked", report.task.clone());
    let model = report
        .model
        .as_ref()
        .map(|model| match &report.model_asked {
            Some(asked) if asked != model => format!("{asked} → {model}"),
            _ => format!("{model} (as asked)"),
        });
    line("model", model);
    line("where", report.directory.clone());
    line("status", Some(entry.doing()));
    let ran = u64::try_from(state.now_ms - report.born_ms).unwrap_or(0);
    let spent = match report.tokens {
        0 => age_text(ran),
        tokens => format!("{} tokens, {}", count_text(tokens), age_text(ran)),
    };
    line("spent", Some(spent));
    line(
        "mail",
        (report.pending_messages > 0).then(|| format!("{} wait", report.pending_messages)),
    );
    line("note", report.note.clone());
    line("thinks", entry.headline.clone());
    if let Some(text) = report.status.text() {
        rows.push(TextRow::dim("said"));
        rows.extend(wrap_text(text, TextStyle::PLAIN, width));
    }
    rows
}
