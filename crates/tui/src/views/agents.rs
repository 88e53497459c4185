//! Every agent: who needs the user, who works, who waits and why, who is done and unread.

use troupe_protocol::AgentId;

use super::status::{counts, mark_style, wire_word};
use super::{filled, footer};
use crate::keys::{KeyAction, KeyContext};
use crate::limits::BESIDE_COLUMNS_MIN;
use crate::roster::{AgentEntry, AgentGroup};
use crate::state::{AgentsView, AppState, ScreenOverlay};
use crate::terminal::ScreenFrame;
use crate::text::quantity::{age_text, count_text};
use crate::text::width::shortened;
use crate::text::{TextRow, TextStyle, wrap_text};

pub fn frame(state: &AppState, view: &AgentsView) -> ScreenFrame {
    let columns = state.size.columns;
    let mut rows = vec![head(state, view)];
    let beside = columns >= BESIDE_COLUMNS_MIN;
    let width = if beside { columns * 11 / 20 } else { columns };
    let room = state.size.rows.saturating_sub(2);
    let chosen = chosen_agent(state);
    let list = shown_part(list_rows(state, view, chosen, width), chosen, room);
    let about = match chosen.and_then(|agent| state.roster.get(agent)) {
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
            "no agents yet: ask for some, or make one with Ctrl+N",
        ));
    }
    let last = match &state.toast {
        Some(toast) => TextRow::styled(&toast.text, TextStyle::BOLD).ellipsis(columns),
        None => footer(state, KeyContext::Agents),
    };
    ScreenFrame {
        rows: filled(rows, last, state),
        cursor: None,
    }
}

fn head(state: &AppState, view: &AgentsView) -> TextRow {
    let name = state.facts.name.clone().unwrap_or_default();
    let mut head = TextRow::styled(format!("AGENTS {name}  "), TextStyle::BOLD);
    head.append(counts(state));
    let tokens = match state.roster.tokens() {
        0 => String::new(),
        tokens => format!("{}   ", count_text(tokens)),
    };
    let how = if view.as_tree { "by place" } else { "by state" };
    let key = state
        .keymap
        .key_text(KeyContext::Agents, KeyAction::Grouping);
    let right = if view.is_filtering || !view.filter.is_empty() {
        format!("search: {}", view.filter)
    } else {
        format!("{tokens}{how} {key}")
    };
    TextRow::justified(head, TextRow::dim(right), state.size.columns)
}

/// Returns the rows around the chosen agent.
fn shown_part(
    list: Vec<(Option<AgentId>, TextRow)>,
    chosen: Option<AgentId>,
    room: usize,
) -> Vec<TextRow> {
    let at = list
        .iter()
        .position(|(agent, _)| agent.is_some() && *agent == chosen);
    let from = (at.unwrap_or(0) + 2).saturating_sub(room);
    let shown = list.into_iter().skip(from).take(room);
    shown.map(|(_, row)| row).collect()
}

/// Returns the list in few rows, for what stands below it.
pub fn short_list(state: &AppState, chosen: AgentId, most: usize) -> Vec<TextRow> {
    let Some(view) = open_view(state) else {
        return Vec::new();
    };
    let chosen = Some(chosen);
    let mut rows = vec![head(state, view)];
    let list = list_rows(state, view, chosen, state.size.columns);
    let agents = list.into_iter().filter(|(agent, _)| agent.is_some());
    rows.extend(shown_part(agents.collect(), chosen, most.saturating_sub(2)));
    rows.push(TextRow::dim("─".repeat(state.size.columns)));
    rows
}

fn open_view(state: &AppState) -> Option<&AgentsView> {
    state
        .overlays
        .iter()
        .rev()
        .find_map(|overlay| match overlay {
            ScreenOverlay::Agents(view) => Some(view),
            _ => None,
        })
}

/// Returns the agents in the order in which they stand.
pub fn shown_order(state: &AppState) -> Vec<AgentId> {
    let Some(view) = open_view(state) else {
        return Vec::new();
    };
    list_rows(state, view, None, state.size.columns)
        .into_iter()
        .filter_map(|(agent, _)| agent)
        .collect()
}

/// Returns the agent that keys are about: the chosen one, or the first.
pub fn chosen_agent(state: &AppState) -> Option<AgentId> {
    let order = shown_order(state);
    let chosen = open_view(state).and_then(|view| view.chosen);
    chosen
        .filter(|agent| order.contains(agent))
        .or_else(|| order.first().copied())
}

fn list_rows(
    state: &AppState,
    view: &AgentsView,
    chosen: Option<AgentId>,
    width: usize,
) -> Vec<(Option<AgentId>, TextRow)> {
    let filter = view.filter.to_lowercase();
    let matches = |entry: &&AgentEntry| {
        let report = &entry.report;
        let task = report.task.as_deref().unwrap_or_default();
        report.path.to_lowercase().contains(&filter) || task.to_lowercase().contains(&filter)
    };
    let entries = || state.roster.entries().iter().filter(matches);
    let row = |entry: &AgentEntry| {
        let agent = entry.report.agent;
        let is_chosen = chosen == Some(agent);
        let depth = if view.as_tree {
            entry.report.path.matches('/').count().saturating_sub(2)
        } else {
            0
        };
        (
            Some(agent),
            entry_row(state, entry, is_chosen, depth, width),
        )
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

fn entry_row(
    state: &AppState,
    entry: &AgentEntry,
    is_chosen: bool,
    depth: usize,
    width: usize,
) -> TextRow {
    let agent = entry.report.agent;
    let group = state.group_of(agent).unwrap_or(AgentGroup::Read);
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
    TextRow::justified(left, TextRow::dim(age_of(state, entry, group)), width)
}

/// Returns since when an agent stands as it does; of one at work, when it last did something.
fn age_of(state: &AppState, entry: &AgentEntry, group: AgentGroup) -> String {
    let report = &entry.report;
    let (at, ago) = match (group, report.progress_ms) {
        (AgentGroup::Working, Some(at)) => (at, " ago"),
        _ => (report.since_ms, ""),
    };
    match u64::try_from(state.now_ms - at).unwrap_or(0) {
        ..1_000 => "now".to_owned(),
        age => format!("{}{ago}", age_text(age)),
    }
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
    let making = state.roster.making(report.session);
    line("role", report.role.clone());
    line("asked", report.task.clone());
    let model = report.model.as_ref().map(|model| {
        let effort = report
            .effort
            .map(|effort| format!("·{}", wire_word(&effort)));
        let model = format!("{model}{}", effort.unwrap_or_default());
        match &making.and_then(|making| making.model_asked.clone()) {
            Some(asked) if !model.starts_with(asked.as_str()) => format!("{asked} → {model}"),
            Some(_) => format!("{model} (as asked)"),
            None => model,
        }
    });
    line("model", model);
    line("may", report.rights.clone());
    for why in making.into_iter().flat_map(|making| &making.why) {
        line("why", Some(why.clone()));
    }
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
    // What the engine notes of a child's making stands in the lines above.
    let is_own = |note: &String| !note.starts_with("agent_type=");
    line("note", report.note.clone().filter(is_own));
    line("thinks", entry.headline.clone());
    if let Some(text) = report.status.text() {
        rows.push(TextRow::dim("said"));
        rows.extend(wrap_text(text, TextStyle::PLAIN, width));
    }
    rows
}
