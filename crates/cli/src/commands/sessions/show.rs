//! Sessions as people and programs read them.

use std::fmt::Write as _;

use serde_json::json;
use troupe_protocol::history::{ContentItem, SummaryPart, ToolOutputBody};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::undo::{ChangedFile, FileFact, FileState};
use troupe_protocol::{Fragment, ResponseItem};
use troupe_store::{LiveHistory, SessionSummary, SourceKind, UnixMillis};

use crate::terminal;

/// Characters of a tool's answer that are printed.
const ANSWER_CHARS_MAX: usize = 2000;

pub fn summary_row(summary: &SessionSummary) -> String {
    let title = summary
        .name
        .as_deref()
        .or(summary.preview.as_deref())
        .unwrap_or("(empty)");
    let title: String = title.chars().take(72).collect();
    let note = summary.note.as_deref().unwrap_or_default();
    let note: String = note.chars().take(72).collect();
    let note = if note.is_empty() {
        note
    } else {
        format!("  ({note})")
    };
    let row = format!(
        "{}  {}  {:<4}  {}{}\n",
        summary.id.short(),
        local_time(summary.updated),
        SourceKind::from(&summary.source).as_str(),
        title.replace('\n', " "),
        note.replace('\n', " ")
    );
    terminal::harmless(&row)
}

pub fn summary_json(summary: &SessionSummary) -> String {
    let object = json!({
        "id": summary.id,
        "path": summary.path,
        "created": summary.created.to_string(),
        "updated": summary.updated.to_string(),
        "cwd": summary.cwd,
        "source": summary.source,
        "model_provider": summary.model_provider,
        "model": summary.model,
        "name": summary.name,
        "note": summary.note,
        "preview": summary.preview,
        "tokens": summary.tokens,
        "archived": summary.archived,
        "forked_from": summary.forked_from,
    });
    format!("{object}\n")
}

/// The live part of a conversation as text.
pub fn transcript(live: &LiveHistory) -> String {
    let meta = &live.meta;
    let mut text = format!(
        "session   {}{}\nstarted   {}\ndirectory {}\nprovider  {}\n",
        meta.id,
        if live.archived { " (archived)" } else { "" },
        meta.timestamp,
        meta.cwd.display(),
        meta.model_provider,
    );
    for warning in &live.warnings {
        writeln!(text, "warning   {warning}").expect("a string takes any text");
    }
    for (_, line) in &live.records {
        match &line.record {
            RolloutRecord::ResponseItem(item) => text += &item_text(item),
            RolloutRecord::Compacted(compacted) => {
                section(&mut text, "summary of what came before", &compacted.message);
                for item in &compacted.replacement_history {
                    text += &match item.fragment() {
                        // It was shown just now.
                        Some(Fragment::Summary | Fragment::Imported) => String::new(),
                        Some(_) | None => item_text(item),
                    };
                }
            }
            RolloutRecord::Files(fact) => text += &changed_files(fact),
            // Events tell the same story again; the rest is bookkeeping.
            _ => {}
        }
    }
    terminal::harmless(&text)
}

/// What a turn changed, as far as it was seen.
fn changed_files(fact: &FileFact) -> String {
    let mut text = String::new();
    let (title, files) = match fact {
        FileFact::Changed { files, .. } => ("files changed", files),
        FileFact::Undone { files, .. } => ("files brought back", files),
        FileFact::Tree { .. } | FileFact::Touching { .. } | FileFact::Redone => return text,
    };
    let letter = |file: &ChangedFile| match (&file.before, &file.after) {
        (FileState::Absent, _) => 'A',
        (_, FileState::Absent) => 'D',
        _ => 'M',
    };
    let line = |file: &ChangedFile| format!("{} {}", letter(file), file.path.display());
    let lines: Vec<String> = files.iter().map(line).collect();
    if !lines.is_empty() {
        section(&mut text, title, &lines.join("\n"));
    }
    text
}

fn item_text(item: &ResponseItem) -> String {
    let mut text = String::new();
    match item {
        ResponseItem::Message { content, .. } => {
            let words: Vec<&str> = content
                .iter()
                .map(|part| part.text().unwrap_or("[image]"))
                .collect();
            let author = item.author_title().unwrap_or_default();
            section(&mut text, &author, &item.shown_words(&words.join("\n")));
        }
        ResponseItem::Reasoning { summary, .. } => {
            let Some(SummaryPart::SummaryText { text: first }) = summary.first() else {
                return text;
            };
            section(&mut text, "reasoning", first);
        }
        ResponseItem::FunctionCall {
            name, arguments, ..
        } => {
            section(&mut text, &format!("call {name}"), arguments);
        }
        ResponseItem::CustomToolCall { name, input, .. } => {
            section(&mut text, &format!("call {name}"), input);
        }
        ResponseItem::FunctionCallOutput { output, .. }
        | ResponseItem::CustomToolCallOutput { output, .. } => {
            section(&mut text, "answer", &output_text(output));
        }
        ResponseItem::Other(value) => section(&mut text, "other", &value.to_string()),
        unknown => section(&mut text, "unknown", &format!("{unknown:?}")),
    }
    text
}

fn output_text(output: &ToolOutputBody) -> String {
    let whole = match output {
        ToolOutputBody::Text(text) => text.clone(),
        ToolOutputBody::Parts(parts) => parts
            .iter()
            .map(|part| ContentItem::text(part).unwrap_or("[image]"))
            .collect::<Vec<_>>()
            .join("\n"),
    };
    let mut letters = whole.chars();
    let mut shown: String = letters.by_ref().take(ANSWER_CHARS_MAX).collect();
    let hidden = letters.count();
    if hidden > 0 {
        write!(shown, "\n… {hidden} more characters").expect("a string takes any text");
    }
    shown
}

fn section(text: &mut String, title: &str, body: &str) {
    writeln!(text, "\n── {title}\n{}", body.trim_end()).expect("a string takes any text");
}

pub fn local_time(time: UnixMillis) -> String {
    jiff::Timestamp::from_millisecond(time.0)
        .unwrap_or_default()
        .to_zoned(jiff::tz::TimeZone::system())
        .strftime("%Y-%m-%d %H:%M")
        .to_string()
}
