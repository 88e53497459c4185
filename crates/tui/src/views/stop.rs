//! Before a stop: what can be done, and whom it ends.

use super::{filled, footer};
use crate::keys::KeyContext;
use crate::session::StopVerb;
use crate::state::{AppState, StopDialog};
use crate::terminal::ScreenFrame;
use crate::text::{Ink, TextRow, TextStyle};
use troupe_protocol::AgentId;

pub fn frame(state: &AppState, dialog: &StopDialog) -> ScreenFrame {
    let columns = state.size.columns;
    let name = state.roster.name(dialog.agent);
    let mut rows = vec![
        TextRow::styled(format!("STOP {name}"), TextStyle::BOLD),
        TextRow::new(),
    ];
    for verb in StopVerb::ALL {
        let is_chosen = verb == dialog.verb;
        let style = if is_chosen {
            TextStyle::BOLD
        } else {
            TextStyle::PLAIN
        };
        let row = TextRow::styled(if is_chosen { "› " } else { "  " }, style)
            .with(format!("{:<10}", verb.name()), style)
            .with(verb.meaning(), TextStyle::DIM);
        rows.push(row.ellipsis(columns));
    }
    rows.push(TextRow::new());
    let (touched, skipped) = scope(state, dialog);
    let says = match touched.len() {
        0 => "nobody is stopped by this".to_owned(),
        1 => "stops 1 agent:".to_owned(),
        count => format!("stops {count} agents:"),
    };
    rows.push(TextRow::styled(says, TextStyle::ink(Ink::Yellow)));
    for agent in touched {
        let entry = state.roster.get(agent);
        let path = entry.map_or_else(
            || format!("agent {agent}"),
            |entry| entry.report.path.clone(),
        );
        let doing = entry
            .map(crate::roster::AgentEntry::doing)
            .unwrap_or_default();
        let row = TextRow::plain(format!("  {path}  ")).with(doing, TextStyle::DIM);
        rows.push(row.ellipsis(columns));
    }
    for (agent, why) in skipped {
        let name = state.roster.name(agent);
        rows.push(TextRow::dim(format!("  not {name}: {why}")).ellipsis(columns));
    }
    rows.push(TextRow::new());
    rows.push(TextRow::dim(
        "What was done so far is kept; u in the list of agents resumes.",
    ));
    ScreenFrame {
        rows: filled(rows, footer(state, KeyContext::Stop), state),
        cursor: None,
    }
}

/// Returns whom the tree says that a stop ends; until it has, whom the screen knows of.
fn scope(state: &AppState, dialog: &StopDialog) -> (Vec<AgentId>, Vec<(AgentId, String)>) {
    if let Some(scope) = &dialog.scope {
        return (scope.touched.clone(), scope.skipped.clone());
    }
    let known = match dialog.verb {
        StopVerb::Interrupt | StopVerb::Release => vec![dialog.agent],
        StopVerb::Cancel | StopVerb::Close => state.roster.subtree(dialog.agent),
    };
    (known, Vec::new())
}
