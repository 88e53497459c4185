//! A conversation as Markdown: for an issue, a review, a note.

use troupe_protocol::history::SummaryPart;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::{ContextFragment, ResponseItem};
use troupe_store::LiveHistory;

use super::show::{output_text, title};

/// Returns what was said and done. What the engine tells its model beside that is left out.
pub fn document(live: &LiveHistory) -> String {
    let meta = &live.meta;
    let mut text = format!(
        "# {}\n\n- session: `{}`\n- started: {}\n- directory: `{}`\n",
        title(live),
        meta.id,
        meta.timestamp,
        meta.cwd.display(),
    );
    for (_, line) in &live.records {
        match &line.record {
            RolloutRecord::ResponseItem(item) => add_item(&mut text, item),
            RolloutRecord::Compacted(compacted) => {
                add_words(&mut text, "Summary of what came before", &compacted.message);
                let kept = compacted.replacement_history.iter();
                for item in kept.filter(|item| item.fragment() != Some(ContextFragment::Summary)) {
                    add_item(&mut text, item);
                }
            }
            // Events tell the same story again; the rest is bookkeeping.
            _ => {}
        }
    }
    text
}

fn add_item(text: &mut String, item: &ResponseItem) {
    match item {
        ResponseItem::Message { content, .. } if item.fragment().is_none() => {
            let words: Vec<&str> = content
                .iter()
                .map(|part| part.text().unwrap_or("*(image)*"))
                .collect();
            let author = item.author_title().unwrap_or_default();
            let author = match author.as_str() {
                "user" => "User",
                "assistant" => "Assistant",
                other => other,
            };
            add_words(text, author, &item.shown_words(&words.join("\n")));
        }
        ResponseItem::Reasoning { summary, .. } => {
            let Some(SummaryPart::SummaryText { text: first }) = summary.first() else {
                return;
            };
            text.push('\n');
            text.extend(first.lines().flat_map(|line| ["> ", line, "\n"]));
        }
        ResponseItem::FunctionCall {
            name, arguments, ..
        } => add_block(text, &format!("`{name}`"), arguments),
        ResponseItem::CustomToolCall { name, input, .. } => {
            add_block(text, &format!("`{name}`"), input);
        }
        ResponseItem::FunctionCallOutput { output, .. }
        | ResponseItem::CustomToolCallOutput { output, .. } => {
            add_block(text, "answer", &output_text(output));
        }
        _ => {}
    }
}

fn add_words(text: &mut String, title: &str, body: &str) {
    text.extend(["\n## ", title, "\n\n", body.trim(), "\n"]);
}

/// A fence that the body does not hold.
fn add_block(text: &mut String, title: &str, body: &str) {
    let longest = body
        .split(|letter| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let body = body.trim_end();
    text.extend(["\n", title, ":\n\n", &fence, "\n", body, "\n", &fence, "\n"]);
}
