//! The blocks of a message: text, thinking, calls, answers, pictures. Pure.

use serde_json::Value;
use troupe_protocol::CallId;
use troupe_protocol::history::{ContentItem, ResponseItem, Role, ToolOutputBody};
use troupe_protocol::input::UserInput;

use crate::fields::{flag, owned, text};
use crate::losses::{LossKind, LossReport};
use crate::passage::Passage;
use crate::pictures;

const NO_PICTURE: &str = "[a picture that could not be taken over]";
const NO_CONTENT: &str = "[a part of this message could not be taken over]";

/// Returns the blocks of a message; plain text is one of them.
fn blocks(message: &Value) -> Vec<&Value> {
    match message.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().collect(),
        Some(text @ Value::String(_)) => vec![text],
        _ => Vec::new(),
    }
}

fn text_of(block: &Value) -> Option<&str> {
    block.as_str().or_else(|| match text(block, "type") {
        Some("text") => text(block, "text"),
        _ => None,
    })
}

/// Returns the text of a message.
pub(super) fn words(message: &Value) -> String {
    let texts: Vec<&str> = blocks(message).into_iter().filter_map(text_of).collect();
    texts.join("\n")
}

/// Returns the command that a message stands for, with its arguments.
pub(super) fn command(words: &str) -> Option<String> {
    let name = between(words, "<command-name>", "</command-name>")?;
    let arguments = between(words, "<command-args>", "</command-args>").unwrap_or_default();
    let command = format!("{} {}", name.trim(), arguments.trim());
    Some(command.trim().to_owned())
}

fn between<'a>(words: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (_, rest) = words.split_once(open)?;
    rest.split_once(close).map(|(inner, _)| inner)
}

pub(super) fn asked_text(words: &str) -> Passage {
    Passage::Asked {
        shown: vec![UserInput::text(words)],
        told: ResponseItem::user_text(words),
    }
}

/// Returns what a person said, `None` if it was nothing.
pub(super) fn asked(message: &Value, losses: &mut LossReport) -> Option<Passage> {
    let mut content = Vec::new();
    let mut shown = Vec::new();
    for block in blocks(message) {
        if text(block, "type") == Some("tool_result") {
            continue;
        }
        match part(block, losses) {
            ContentItem::InputImage { image_url, detail } => {
                shown.push(UserInput::Image {
                    image_url: image_url.clone(),
                    detail,
                });
                content.push(ContentItem::InputImage { image_url, detail });
            }
            part => {
                let words = part.text().unwrap_or_default().to_owned();
                if words.is_empty() {
                    continue;
                }
                shown.push(UserInput::text(words));
                content.push(part);
            }
        }
    }
    (!content.is_empty()).then(|| Passage::Asked {
        shown,
        told: ResponseItem::Message {
            id: None,
            role: Role::User,
            content,
            metadata: None,
            said: false,
        }
        .marked_as_said(),
    })
}

/// Returns a block that can go along, or a mark in its place.
fn part(block: &Value, losses: &mut LossReport) -> ContentItem {
    let words = if let Some(words) = text_of(block) {
        words
    } else if text(block, "type") == Some("image") {
        if let Some(image_url) = picture(block) {
            return ContentItem::InputImage {
                image_url,
                detail: None,
            };
        }
        losses.add(LossKind::Picture);
        NO_PICTURE
    } else {
        losses.add(LossKind::Content);
        NO_CONTENT
    };
    ContentItem::InputText {
        text: words.to_owned(),
    }
}

fn picture(block: &Value) -> Option<String> {
    let source = block.get("source")?;
    pictures::address(text(source, "media_type")?, text(source, "data")?)
}

/// Adds what the model said, thought and called.
pub(super) fn said(message: &Value, add: &mut dyn FnMut(Passage), losses: &mut LossReport) {
    for block in blocks(message) {
        if let Some(words) = text_of(block) {
            if !words.is_empty() {
                add(Passage::Said(ResponseItem::assistant_text(words)));
            }
            continue;
        }
        match text(block, "type").unwrap_or_default() {
            "thinking" => {
                if text(block, "signature").is_some_and(|seal| !seal.is_empty()) {
                    losses.add(LossKind::SealedReasoning);
                }
                let words = owned(block, "thinking").filter(|words| !words.is_empty());
                if let Some(words) = words {
                    add(Passage::Thought(words));
                }
            }
            "redacted_thinking" => losses.add(LossKind::SealedReasoning),
            "tool_use" => add(Passage::Called(ResponseItem::FunctionCall {
                id: None,
                name: owned(block, "name").unwrap_or_default(),
                arguments: block.get("input").map_or("{}".to_owned(), Value::to_string),
                call_id: CallId(owned(block, "id").unwrap_or_default()),
            })),
            kind if kind.starts_with("server_tool") || kind.ends_with("_tool_result") => {
                losses.add(LossKind::ProviderTool);
            }
            _ => losses.add(LossKind::Content),
        }
    }
}

/// Returns the answers to calls that a message holds.
pub(super) fn answers(message: &Value, losses: &mut LossReport) -> Vec<ResponseItem> {
    let mut answers = Vec::new();
    for block in blocks(message) {
        if text(block, "type") != Some("tool_result") {
            continue;
        }
        answers.push(ResponseItem::FunctionCallOutput {
            call_id: CallId(owned(block, "tool_use_id").unwrap_or_default()),
            output: output(block, losses),
        });
    }
    answers
}

fn output(block: &Value, losses: &mut LossReport) -> ToolOutputBody {
    let parts: Vec<ContentItem> = blocks(block)
        .into_iter()
        .map(|inner| part(inner, losses))
        .collect();
    let has_picture = parts.iter().any(|part| part.text().is_none());
    if has_picture {
        return ToolOutputBody::Parts(parts);
    }
    let texts: Vec<&str> = parts.iter().filter_map(ContentItem::text).collect();
    let words = texts.join("\n");
    if flag(block, "is_error") && !words.to_ascii_lowercase().contains("error") {
        return format!("error: {words}").into();
    }
    words.into()
}
