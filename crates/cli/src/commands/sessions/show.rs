//! Sessions as people and programs read them.

use std::fmt::Write as _;

use serde_json::json;
use troupe_protocol::history::{ContentItem, SummaryPart, ToolOutputBody};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::text::one_line;
use troupe_protocol::undo::{ChangedFile, FileFact, FileState};
use troupe_protocol::{ContextFragment, EventMsg, ResponseItem};
use troupe_store::{LiveHistory, UnixMillis};

use super::listing::ListedSession;
use crate::limits::ANSWER_CHARS_MAX;
use crate::limits::TITLE_CHARS_MAX;
use crate::terminal;

pub fn summary_json(session: &ListedSession) -> String {
    let ListedSession { summary, agents } = session;
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
        "agents": agents,
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
                        Some(ContextFragment::Summary | ContextFragment::Imported) => String::new(),
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

/// Returns the name of a session, or the beginning of the first thing that the user said.
pub fn title(live: &LiveHistory) -> String {
    let mut name = None;
    let mut first = None;
    let words = |item: &ResponseItem| {
        let is_users = item.author_title().as_deref() == Some("user");
        let ResponseItem::Message { content, .. } = item else {
            return None;
        };
        let text = content.iter().find_map(ContentItem::text);
        text.filter(|_| is_users).map(str::to_owned)
    };
    for (_, line) in &live.records {
        match &line.record {
            RolloutRecord::EventMsg(record) => {
                if let EventMsg::ThreadNameUpdated { thread_name } = &record.msg {
                    name.clone_from(thread_name);
                }
            }
            RolloutRecord::Compacted(compacted) => {
                name.clone_from(&compacted.carried.thread_name);
                first = compacted.replacement_history.iter().find_map(words);
            }
            RolloutRecord::ResponseItem(item) if first.is_none() => first = words(item),
            _ => {}
        }
    }
    let title = name.or(first).unwrap_or_else(|| "(empty)".to_owned());
    one_line(&title, TITLE_CHARS_MAX)
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
    }
    text
}

pub(super) fn output_text(output: &ToolOutputBody) -> String {
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
