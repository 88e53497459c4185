//! One block while it grows, and the item that it becomes.

use serde_json::value::RawValue;
use troupe_protocol::history::SummaryPart;
use troupe_protocol::{CallId, ResponseItem};

use super::frames::{BlockDeltaFields, ContentBlock};
use crate::event::{ItemKind, ModelEvent};
use crate::request::ToolSet;
use crate::wire::messages::ReasoningSeal;
use crate::wire::responses::arguments_as_input;
use crate::wire::responses::decode::new_call_id;

#[derive(Debug)]
pub(super) enum GrowingBlock {
    /// Begins for people with its first character: servers send empty ones.
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Redacted {
        data: String,
    },
    Call {
        id: Option<String>,
        name: String,
        json: String,
        /// What the block began with; all of it from a server that sends no pieces.
        given: String,
    },
    /// Of the provider's own kind, never asked for.
    Other,
}

impl GrowingBlock {
    pub(super) fn new(start: ContentBlock<'_>) -> Self {
        match &*start.kind {
            "text" => Self::Text(String::new()),
            "thinking" => Self::Thinking {
                text: String::new(),
                signature: start.signature.unwrap_or_default(),
            },
            "redacted_thinking" => Self::Redacted {
                data: start.data.unwrap_or_default(),
            },
            "tool_use" => Self::Call {
                id: start.id.filter(|id| !id.is_empty()),
                name: start.name.unwrap_or_default(),
                json: String::new(),
                given: start.input.map_or("{}", RawValue::get).to_owned(),
            },
            _ => Self::Other,
        }
    }

    pub(super) fn grow(
        &mut self,
        delta: BlockDeltaFields,
        item_id: &str,
        out: &mut Vec<ModelEvent>,
    ) {
        let item_id = item_id.to_owned();
        match self {
            Self::Text(text) => {
                let Some(delta) = delta.text.filter(|delta| !delta.is_empty()) else {
                    return;
                };
                if text.is_empty() {
                    out.push(ModelEvent::ItemStarted {
                        item_id: item_id.clone(),
                        kind: ItemKind::Message,
                    });
                }
                text.push_str(&delta);
                out.push(ModelEvent::TextDelta { item_id, delta });
            }
            Self::Thinking { text, signature } => {
                signature.push_str(&delta.signature.unwrap_or_default());
                let Some(delta) = delta.thinking.filter(|delta| !delta.is_empty()) else {
                    return;
                };
                let summary_index = 0;
                if text.is_empty() {
                    out.push(ModelEvent::ReasoningSummaryPart {
                        item_id: item_id.clone(),
                        summary_index,
                    });
                }
                text.push_str(&delta);
                out.push(ModelEvent::ReasoningSummaryDelta {
                    item_id,
                    summary_index,
                    delta,
                });
            }
            Self::Call { json, .. } => json.push_str(&delta.partial_json.unwrap_or_default()),
            Self::Redacted { .. } | Self::Other => {}
        }
    }

    /// Returns how much of the block nobody was told of.
    pub(super) fn untold_bytes(&self) -> usize {
        match self {
            Self::Text(_) | Self::Other => 0,
            Self::Thinking { signature, .. } => signature.len(),
            Self::Redacted { data } => data.len(),
            Self::Call { json, given, .. } => json.len() + given.len(),
        }
    }

    /// Returns what the block is announced as; text is when it says something.
    pub(super) fn kind(&self, tools: &ToolSet) -> Option<ItemKind> {
        match self {
            Self::Text(_) | Self::Other => None,
            Self::Thinking { .. } | Self::Redacted { .. } => Some(ItemKind::Reasoning),
            Self::Call { name, .. } if tools.is_freeform(name) => {
                Some(ItemKind::CustomToolCall { name: name.clone() })
            }
            Self::Call { name, .. } => Some(ItemKind::FunctionCall { name: name.clone() }),
        }
    }

    /// Returns the whole item; nothing for a block that says nothing.
    pub(super) fn item(self, tools: &ToolSet) -> Option<ResponseItem> {
        Some(match self {
            Self::Other => return None,
            Self::Text(text) if text.is_empty() => return None,
            Self::Text(text) => ResponseItem::assistant_text(text),
            Self::Thinking { text, signature } => {
                let seal = (!signature.is_empty()).then_some(ReasoningSeal::Signature(&signature));
                reasoning(text, seal)
            }
            Self::Redacted { data } => {
                reasoning(String::new(), Some(ReasoningSeal::Redacted(&data)))
            }
            Self::Call {
                id,
                name,
                json,
                given,
            } => {
                let arguments = if json.is_empty() { given } else { json };
                let call_id = id.map_or_else(new_call_id, CallId);
                if tools.is_freeform(&name) {
                    ResponseItem::CustomToolCall {
                        id: None,
                        name,
                        input: arguments_as_input(arguments),
                        call_id,
                    }
                } else {
                    ResponseItem::FunctionCall {
                        id: None,
                        name,
                        arguments,
                        call_id,
                    }
                }
            }
        })
    }
}

/// The text is a summary that the provider makes for people.
fn reasoning(text: String, seal: Option<ReasoningSeal<'_>>) -> ResponseItem {
    let summary = Some(text).filter(|text| !text.is_empty());
    ResponseItem::Reasoning {
        id: None,
        summary: summary
            .into_iter()
            .map(|text| SummaryPart::SummaryText { text })
            .collect(),
        content: None,
        encrypted_content: seal.map(|seal| seal.to_string()),
    }
}
