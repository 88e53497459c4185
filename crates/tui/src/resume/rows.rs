//! The picker as rows.

use troupe_protocol::link::query::SessionCard;

use super::catalogue::SessionOrder;
use super::picker::{PickerLine, PreviewHeight, SessionPicker, SessionPreview};
use crate::cells::CellFold;
use crate::keys::KeyContext;
use crate::limits::PEEK_LIST_DIVISOR;
use crate::settings::SessionPickerView;
use crate::terminal::{CursorPlace, ScreenFrame};
use crate::text::quantity::{age_text, count_text};
use crate::text::width::shortened;
use crate::text::{Ink, TextRow, TextStyle, clean, text_width};
use crate::transcript::Transcript;
use crate::views::{fitting_frame, footer_of};

pub fn frame(picker: &SessionPicker) -> ScreenFrame {
    let (columns, height) = (picker.size.columns, picker.size.rows);
    let (head, cursor) = head(picker);
    let mut rows = vec![head];
    let room = height.saturating_sub(2);
    match &picker.preview {
        Some(preview) if preview.height == PreviewHeight::Whole => {
            rows.extend(preview_rows(preview, columns, room));
        }
        Some(preview) => {
            let list = room / PEEK_LIST_DIVISOR;
            rows.extend(list_rows(picker, list));
            rows.resize(1 + list, TextRow::new());
            rows.push(TextRow::dim("─".repeat(columns)));
            rows.extend(preview_rows(
                preview,
                columns,
                room.saturating_sub(list + 1),
            ));
        }
        None => rows.extend(list_rows(picker, room)),
    }
    rows.resize(height.saturating_sub(1), TextRow::new());
    rows.push(match &picker.message {
        Some(message) => TextRow::styled(message, TextStyle::BOLD).ellipsis(columns),
        None => footer_of(&picker.keymap, KeyContext::Sessions, columns),
    });
    fitting_frame(ScreenFrame { rows, cursor }, picker.size)
}

fn head(picker: &SessionPicker) -> (TextRow, Option<CursorPlace>) {
    let columns = picker.size.columns;
    let mut cursor = None;
    let left = match &picker.line {
        Some((purpose, line)) => {
            let label = match purpose {
                PickerLine::Search => "RESUME  /",
                PickerLine::Name(_) => "NAME  ",
                PickerLine::Note(_) => "NOTE  ",
            };
            let before = text_width(&clean(&line.text()[..line.cursor()]));
            cursor = Some(CursorPlace {
                row: 0,
                column: text_width(label) + before,
            });
            let text = clean(line.text()).into_owned();
            TextRow::styled(label, TextStyle::BOLD).with(text, TextStyle::PLAIN)
        }
        None if picker.scope.search.is_empty() => TextRow::styled("RESUME", TextStyle::BOLD),
        None => TextRow::styled("RESUME  ", TextStyle::BOLD)
            .with(format!("/{}", picker.scope.search), TextStyle::PLAIN),
    };
    let scope = &picker.scope;
    let choices = [
        ["here", "all"][usize::from(scope.everywhere)],
        ["active", "archived"][usize::from(scope.archived)],
        match scope.order {
            SessionOrder::Updated => "by change",
            SessionOrder::Created => "by birth",
        },
    ];
    let more = if picker.next.is_some() { "+" } else { "" };
    let place = match picker.sessions.len() {
        0 => String::new(),
        count => format!("   {} of {count}{more}", picker.chosen + 1),
    };
    let right = TextRow::dim(format!("{}{place}", choices.join("  ")));
    (TextRow::justified(left, right, columns), cursor)
}

fn list_rows(picker: &SessionPicker, room: usize) -> Vec<TextRow> {
    if picker.sessions.is_empty() {
        let text = match (picker.is_loading, picker.scope.search.is_empty()) {
            (true, _) => "",
            (false, false) => "nothing has these words",
            (false, true) if picker.scope.archived => "nothing was archived",
            (false, true) if !picker.scope.everywhere => {
                "no session has worked here yet; Tab shows those of other directories"
            }
            (false, true) => "there is no session yet",
        };
        return vec![TextRow::dim(text).ellipsis(picker.size.columns)];
    }
    let each = match picker.view {
        SessionPickerView::Comfortable => 2,
        SessionPickerView::Dense => 1,
    };
    let most = (room / each).max(1);
    let from = (picker.chosen + 1).saturating_sub(most);
    let shown = picker.sessions.iter().enumerate().skip(from).take(most);
    let mut rows = Vec::new();
    for (number, card) in shown {
        rows.push(first_row(picker, card, number == picker.chosen));
        if picker.view == SessionPickerView::Comfortable {
            rows.push(second_row(picker, card));
        }
    }
    rows
}

fn first_row(picker: &SessionPicker, card: &SessionCard, is_chosen: bool) -> TextRow {
    let columns = picker.size.columns;
    let style = if is_chosen {
        TextStyle::BOLD
    } else {
        TextStyle::PLAIN
    };
    let title = card.name.as_deref().or(card.preview.as_deref());
    let title = title.and_then(|title| title.lines().next());
    let mut left = TextRow::styled(if is_chosen { "› " } else { "  " }, TextStyle::BOLD);
    left.push(&clean(title.unwrap_or("(nothing said)")), style);
    let mut right = marks(card);
    if picker.view == SessionPickerView::Dense {
        right = with_gap(right, note(card), TextStyle::DIM);
    }
    let age = u64::try_from(picker.now_ms - card.updated_ms).unwrap_or(0);
    let right = with_gap(right, Some(age_text(age)), TextStyle::DIM);
    TextRow::justified(left, right, columns)
}

/// Returns who needs whom in the tree of a session.
fn marks(card: &SessionCard) -> TextRow {
    let tree = &card.tree;
    let mut row = TextRow::new();
    if tree.questions > 0 {
        let style = TextStyle::ink(Ink::Yellow).bold();
        row = with_gap(row, Some(format!("! {}", tree.questions)), style);
    }
    if tree.is_open {
        row = with_gap(row, Some("● runs".to_owned()), TextStyle::ink(Ink::Cyan));
    }
    if tree.stopped > 0 {
        row = with_gap(
            row,
            Some(format!("= {} stopped", tree.stopped)),
            TextStyle::DIM,
        );
    }
    let agents = match tree.agents {
        0 => None,
        1 => Some("1 agent".to_owned()),
        count => Some(format!("{count} agents")),
    };
    row = with_gap(row, agents, TextStyle::DIM);
    let tokens = (card.tokens > 0).then(|| count_text(card.tokens));
    with_gap(row, tokens, TextStyle::DIM)
}

fn with_gap(row: TextRow, text: Option<String>, style: TextStyle) -> TextRow {
    let Some(text) = text else { return row };
    let gap = if row.width() > 0 { "  " } else { "" };
    row.with(gap, TextStyle::PLAIN).with(text, style)
}

fn note(card: &SessionCard) -> Option<String> {
    let note = card.note.as_deref().filter(|note| !note.is_empty())?;
    Some(format!("note: {}", shortened(&clean(note), 32)))
}

fn second_row(picker: &SessionPicker, card: &SessionCard) -> TextRow {
    let mut parts = vec![card.session_id.short()];
    if picker.scope.everywhere {
        parts.push(clean(&card.cwd.display().to_string()).into_owned());
    }
    parts.extend(card.model.clone());
    let fork = card
        .forked_from
        .map(|from| format!("fork of {}", from.short()));
    parts.extend(fork);
    parts.extend(note(card));
    TextRow::dim(format!("    {}", parts.join("  "))).ellipsis(picker.size.columns)
}

fn preview_rows(preview: &SessionPreview, columns: usize, room: usize) -> Vec<TextRow> {
    match &preview.transcript {
        None => vec![TextRow::dim("…")],
        Some(transcript) if transcript.cells().is_empty() => {
            vec![TextRow::dim("nothing was said yet")]
        }
        Some(transcript) => last_rows(transcript, columns, room, preview.scrolled),
    }
}

fn last_rows(
    transcript: &Transcript,
    columns: usize,
    room: usize,
    scrolled: usize,
) -> Vec<TextRow> {
    let mut parts = Vec::new();
    let mut have = 0;
    for cell in transcript.cells().iter().rev() {
        if have >= room + scrolled {
            break;
        }
        let rows = cell.rows(columns, CellFold::Folded);
        have += rows.len();
        parts.push(rows);
    }
    let rows: Vec<TextRow> = parts.into_iter().rev().flatten().collect();
    let end = rows.len() - scrolled.min(rows.len().saturating_sub(room));
    rows[end.saturating_sub(room)..end].to_vec()
}
