//! Conversations as resources: `troupe://sessions/{id}/transcript`, a page at a time.

use std::fmt::Write as _;

use troupe_mcp::serve::{
    ResourceCard, ResourcePage, ResourceReadError, ResourceText, TemplateCard,
};
use troupe_protocol::SessionId;
use troupe_protocol::history::{ContentItem, ResponseItem, SummaryPart, ToolOutputBody};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tree::MessageMetadata;
use troupe_store::{ListQuery, LogPosition, LogReader, SessionStore, StoreError};

use crate::limits::{MCP_OUTPUT_CHARS_MAX, MCP_PAGE_BYTES_MAX};

const SCHEME: &str = "troupe://sessions/";
const MIME_TYPE: &str = "text/markdown";

pub(super) const TEMPLATE: TemplateCard = TemplateCard {
    uri_template: "troupe://sessions/{id}/transcript{?after}",
    name: "transcript",
    title: "Transcript of a session",
    description: "The whole conversation of a session, in the order in which it was written. The \
                  id may be a unique beginning of one, or the session's name. A page that is not \
                  the last one ends with the address of the next.",
    mime_type: MIME_TYPE,
};

/// Which page of which transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TranscriptPage {
    session: String,
    after: LogPosition,
}

impl TranscriptPage {
    fn parse(uri: &str) -> Result<Self, ResourceReadError> {
        let known = || {
            ResourceReadError::Invalid(format!(
                "{uri} is no address of ours; transcripts are {}",
                TEMPLATE.uri_template
            ))
        };
        let rest = uri.strip_prefix(SCHEME).ok_or_else(known)?;
        let (session, rest) = rest.split_once('/').ok_or_else(known)?;
        let after = match rest.strip_prefix("transcript").ok_or_else(known)? {
            "" => 0,
            query => {
                let number = query.strip_prefix("?after=").ok_or_else(known)?;
                number.parse().map_err(|_| known())?
            }
        };
        Ok(Self {
            session: session.to_owned(),
            after: LogPosition(after),
        })
    }
}

fn address(session: SessionId) -> String {
    format!("{SCHEME}{session}/transcript")
}

/// Lists the transcripts of the sessions that changed last.
pub(super) async fn list(
    store: &dyn SessionStore,
    cursor: Option<&str>,
) -> Result<ResourcePage, ResourceReadError> {
    let query = ListQuery {
        cursor: cursor.map(str::to_owned),
        ..ListQuery::default()
    };
    let page = store.list(&query).await;
    // The only thing in such a question that can be wrong is the cursor.
    let page = page.map_err(|error| match cursor {
        Some(_) => ResourceReadError::Invalid(error.to_string()),
        None => ResourceReadError::Failed(error.to_string()),
    })?;
    let resources = page.sessions.into_iter().map(|summary| ResourceCard {
        uri: address(summary.id),
        name: summary.id.short(),
        title: summary.name.or(summary.preview),
        description: summary.note,
        mime_type: MIME_TYPE,
    });
    Ok(ResourcePage {
        resources: resources.collect(),
        next: page.next,
    })
}

pub(super) async fn read(
    store: &dyn SessionStore,
    uri: &str,
) -> Result<ResourceText, ResourceReadError> {
    let page = TranscriptPage::parse(uri)?;
    let session = store.resolve(&page.session).await.map_err(refused)?;
    let mut text = String::new();
    let mut log = LogReader::after(session, page.after);
    'pages: while let Some(lines) = log.next(store).await.map_err(refused)? {
        for line in &lines {
            if text.len() > MCP_PAGE_BYTES_MAX {
                let next = format!("{}?after={}", address(session), line.start);
                write!(text, "\n---\nThe transcript goes on: {next}\n")
                    .expect("a string takes any text");
                break 'pages;
            }
            // A line that cannot be read is reported by whoever resumes the session.
            if let Ok(stamped) = line.record() {
                section(&mut text, &stamped.record);
            }
        }
    }
    Ok(ResourceText {
        mime_type: MIME_TYPE,
        text,
    })
}

fn refused(error: StoreError) -> ResourceReadError {
    match error {
        StoreError::NotFound { .. }
        | StoreError::Ambiguous { .. }
        | StoreError::SameName { .. } => ResourceReadError::NotFound(error.to_string()),
        StoreError::Position { .. } => ResourceReadError::Invalid(error.to_string()),
        error => ResourceReadError::Failed(error.to_string()),
    }
}

/// Adds what a line tells. Events tell the same as the items, once more.
fn section(text: &mut String, record: &RolloutRecord) {
    match record {
        RolloutRecord::SessionMeta(meta) => {
            let title = format!("Session {}", meta.id);
            let body = format!("{} in {}", meta.timestamp, meta.cwd.display());
            write!(text, "# {title}\n\n{body}\n").expect("a string takes any text");
        }
        RolloutRecord::ResponseItem(item) => item_section(text, item),
        RolloutRecord::Compacted(compacted) => {
            add(text, "summary of what came before", &compacted.message);
        }
        RolloutRecord::Rewind(_) => add(text, "went back", "What follows goes on from earlier."),
        _ => {}
    }
}

fn item_section(text: &mut String, item: &ResponseItem) {
    match item {
        ResponseItem::Message {
            content, metadata, ..
        } => {
            let author = match metadata {
                Some(metadata) => callback_title(metadata),
                None => item.author_title().unwrap_or_default(),
            };
            add(text, &author, &item.shown_words(&words(content)));
        }
        ResponseItem::Reasoning { summary, .. } => {
            if let Some(SummaryPart::SummaryText { text: first }) = summary.first() {
                add(text, "reasoning", first);
            }
        }
        ResponseItem::FunctionCall {
            name, arguments, ..
        } => add(text, &format!("call {name}"), arguments),
        ResponseItem::CustomToolCall { name, input, .. } => {
            add(text, &format!("call {name}"), input);
        }
        ResponseItem::FunctionCallOutput { output, .. }
        | ResponseItem::CustomToolCallOutput { output, .. } => {
            let whole = match output {
                ToolOutputBody::Text(text) => text.clone(),
                ToolOutputBody::Parts(parts) => words(parts),
            };
            add(text, "answer", &shortened(&whole));
        }
        ResponseItem::Other(_) => {}
    }
}

/// A message that the engine wrote is not taken for one of a person.
fn callback_title(metadata: &MessageMetadata) -> String {
    let MessageMetadata {
        source,
        child_session_id,
        child_task_id,
        ..
    } = metadata;
    format!(
        "callback (source {source}, child session {child_session_id}, child task {child_task_id})"
    )
}

fn words(content: &[ContentItem]) -> String {
    let parts = content.iter().map(|part| part.text().unwrap_or("[image]"));
    parts.collect::<Vec<_>>().join("\n")
}

fn shortened(whole: &str) -> String {
    match whole.char_indices().nth(MCP_OUTPUT_CHARS_MAX) {
        None => whole.to_owned(),
        Some((end, _)) => {
            let more = whole[end..].chars().count();
            format!("{}\n… {more} more characters", &whole[..end])
        }
    }
}

fn add(text: &mut String, title: &str, body: &str) {
    write!(text, "\n## {title}\n\n{}\n", body.trim_end()).expect("a string takes any text");
}

#[cfg(test)]
mod tests;
