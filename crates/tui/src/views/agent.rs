//! One agent: the same cells as the root's, and a line to write to it.

use troupe_protocol::AgentId;

use super::conversation::{bottom_rows, conversation_rows};
use super::status::mark_style;
use crate::roster::AgentGroup;
use crate::state::AppState;
use crate::terminal::ScreenFrame;
use crate::text::quantity::age_text;
use crate::text::{TextRow, TextStyle};

pub fn frame(state: &AppState, agent: AgentId) -> ScreenFrame {
    part(state, agent, state.size.rows)
}

/// Shows it in so many rows.
pub fn part(state: &AppState, agent: AgentId, height: usize) -> ScreenFrame {
    let columns = state.size.columns;
    let entries = state.roster.entries();
    let at = entries.iter().position(|entry| entry.report.agent == agent);
    let group = state.group_of(agent).unwrap_or(AgentGroup::Read);
    let path = at.map_or_else(
        || state.roster.name(agent),
        |at| entries[at].report.path.clone(),
    );
    let trail = path.trim_start_matches('/').replace('/', " › ");
    let since = at.map_or(state.now_ms, |at| entries[at].report.since_ms);
    let age = u64::try_from(state.now_ms - since).unwrap_or(0);
    let left = TextRow::styled(trail, TextStyle::BOLD)
        .with(format!("  {} ", group.mark()), mark_style(group))
        .with(age_text(age), TextStyle::PLAIN);
    let place = at.map_or(String::new(), |at| {
        format!("{} of {}   ", at + 1, entries.len())
    });
    let right = TextRow::dim(format!("{place}Alt+←→   Alt+0 root"));
    let mut rows = vec![TextRow::justified(left, right, columns)];
    let task = at.and_then(|at| entries[at].report.task.clone());
    if let Some(task) = task {
        let first = task.lines().next().unwrap_or_default().to_owned();
        rows.push(TextRow::dim(format!("task: {first}")).ellipsis(columns));
    }
    let (bottom, cursor) = bottom_rows(state, columns);
    let room = height.saturating_sub(rows.len() + bottom.len());
    let shown = match state.agents.get(&agent) {
        Some(transcript) => conversation_rows(transcript, state, room, state.scrolled),
        None => vec![TextRow::dim("its conversation has not come yet")],
    };
    let gap = room.saturating_sub(shown.len());
    rows.extend(shown.into_iter().take(room));
    rows.extend(vec![TextRow::new(); gap]);
    let above = rows.len();
    rows.extend(bottom);
    ScreenFrame {
        rows,
        cursor: cursor.map(|mut cursor| {
            cursor.row += above;
            cursor
        }),
    }
}
