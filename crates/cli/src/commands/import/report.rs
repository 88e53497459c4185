//! What became of a conversation.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use troupe_import::takeover::{ForeignProgress, ImportOutcome};
use troupe_import::{ForeignConversation, ImportReport};

use crate::commands::tell;
use crate::terminal;

pub fn text(origin: &ForeignConversation, imported: &ImportReport) -> String {
    let agent = origin.agent.as_str();
    let session = imported.session;
    let short = session.short();
    let ImportReport { turns, items, .. } = imported;
    let size = format!("{turns} turns, {items} items");
    let go_on = format!("go on with `troupe exec resume {short} \"…\"`");
    let told = match imported.outcome {
        ImportOutcome::Made => {
            format!(
                "imported from {agent} as session {session}: {size}\n{}{go_on}\n",
                about(imported)
            )
        }
        ImportOutcome::Updated => {
            format!(
                "brought session {session} up to date: {size}\n{}{go_on}\n",
                about(imported)
            )
        }
        ImportOutcome::Known(ForeignProgress::Nothing) => {
            format!("this conversation is session {session} already\n{go_on}\n")
        }
        ImportOutcome::Known(ForeignProgress::WentOnApart) => format!(
            "this conversation is session {session} already; since then it has gone on here and \
             in {agent}, each for itself\n{go_on}, or make another session of it with --new\n"
        ),
        ImportOutcome::Rehearsed => format!(
            "would import {}: {size}\n{}",
            origin.file.path().display(),
            about(imported)
        ),
    };
    terminal::harmless(&told)
}

/// The name and the directory, one line each.
fn about(imported: &ImportReport) -> String {
    let mut lines = String::new();
    let mut add = |title: &str, value: Option<String>| {
        if let Some(value) = value {
            writeln!(lines, "{title:<9} {value}").expect("a string takes any text");
        }
    };
    add("name", imported.name.clone());
    let cwd = imported.heading.cwd.as_ref();
    add("directory", cwd.map(|cwd| cwd.display().to_string()));
    let model = imported.heading.model.as_ref();
    add(
        "model",
        model.map(|model| {
            format!("{model} until now; from here on the one that is configured here")
        }),
    );
    lines
}

/// Says on stderr what was left behind.
pub fn losses(imported: &ImportReport) {
    let told = imported.losses.report_lines();
    if told.is_empty() {
        return;
    }
    tell("not carried over:");
    for loss in told {
        tell(&format!("  {loss}"));
    }
}

pub fn json(origin: &ForeignConversation, imported: &ImportReport) -> String {
    let outcome = match imported.outcome {
        ImportOutcome::Made => "imported",
        ImportOutcome::Updated => "updated",
        ImportOutcome::Known(ForeignProgress::Nothing) => "known",
        ImportOutcome::Known(ForeignProgress::WentOnApart) => "went_on_apart",
        ImportOutcome::Rehearsed => "dry_run",
    };
    let counts: Map<String, Value> = imported
        .losses
        .counts()
        .map(|(loss, count)| (loss.as_str().to_owned(), count.into()))
        .collect();
    let broken = imported.losses.broken_lines().iter();
    let broken: Vec<Value> = broken
        .map(|(number, why)| json!({ "line": number, "reason": why }))
        .collect();
    let heading = &imported.heading;
    let object = json!({
        "outcome": outcome,
        "session": imported.session,
        "agent": origin.agent,
        "id": origin.id(),
        "path": origin.file.path(),
        "cwd": heading.cwd,
        "model": heading.model,
        "name": imported.name,
        "turns": imported.turns,
        "items": imported.items,
        "not_carried_over": counts,
        "broken_lines": broken,
    });
    format!("{object}\n")
}
