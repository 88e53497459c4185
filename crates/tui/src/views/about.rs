//! What an agent was asked, and what came of it: the claim, and beside it what the engine saw.

use troupe_protocol::AgentId;
use troupe_protocol::command::WorkStatus;

use super::result::result_text;
use crate::cells::{CellBody, CellFold, PatchCell, counted};
use crate::markdown::markdown_rows;
use crate::state::AppState;
use crate::text::{TextRow, TextStyle};
use crate::transcript::Transcript;

pub fn rows(state: &AppState, agent: AgentId, columns: usize) -> Vec<TextRow> {
    let mut rows = vec![TextRow::styled("TASK", TextStyle::BOLD)];
    rows.extend(markdown_rows(&task_of(state, agent), columns));
    rows.push(TextRow::new());
    rows.push(TextRow::styled("RESULT", TextStyle::BOLD));
    match state.results.get(&agent) {
        Some(Ok(result)) => rows.extend(markdown_rows(&result_text(result), columns)),
        Some(Err(why)) => rows.push(TextRow::dim(why)),
        None => rows.push(TextRow::dim("is asked for")),
    }
    rows
}

/// Returns the whole task if the conversation has it, else its beginning.
fn task_of(state: &AppState, agent: AgentId) -> String {
    let cells = state.transcript_of(agent).into_iter();
    let mut cells = cells.flat_map(Transcript::cells);
    let first = cells.find_map(|cell| match &cell.body {
        CellBody::User(cell) => Some(cell.text.clone()),
        _ => None,
    });
    let report = state.roster.get(agent).map(|entry| &entry.report);
    first
        .or_else(|| report.and_then(|report| report.task.clone()))
        .unwrap_or_default()
}

/// Returns every change that an agent made by a patch, oldest first.
pub fn change_rows(state: &AppState, agent: AgentId, columns: usize) -> Vec<TextRow> {
    let patches: Vec<&PatchCell> = patches_of(state, agent).collect();
    if patches.is_empty() {
        return vec![TextRow::dim(
            "no file was changed by a patch; commands may have changed some",
        )];
    }
    let counts = patches.iter().flat_map(|patch| patch.changes.values());
    let (added, removed) = counts
        .map(counted)
        .fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    let mut paths: Vec<_> = patches
        .iter()
        .flat_map(|patch| patch.changes.keys())
        .collect();
    paths.sort();
    paths.dedup();
    let files = match paths.len() {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    let mut rows = vec![TextRow::styled(
        format!("{files}  +{added} -{removed}"),
        TextStyle::BOLD,
    )];
    for patch in patches {
        rows.push(TextRow::new());
        rows.extend(CellBody::Patch(patch.clone()).rows(columns, CellFold::Whole));
    }
    rows
}

fn patches_of(state: &AppState, agent: AgentId) -> impl Iterator<Item = &PatchCell> {
    let cells = state.transcript_of(agent).into_iter();
    let cells = cells.flat_map(Transcript::cells);
    cells.filter_map(|cell| match &cell.body {
        CellBody::Patch(patch) if patch.status == WorkStatus::Completed => Some(patch),
        _ => None,
    })
}
