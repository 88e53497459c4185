//! What a model is asked, made of parts that requests share.

use std::sync::Arc;

use serde_json::Value;
use troupe_protocol::history::{ContentItem, ReasoningPart, SummaryPart, ToolOutputBody};
use troupe_protocol::policy::{ReasoningEffort, ReasoningSummary};
use troupe_protocol::tool::ToolSpec;
use troupe_protocol::{ResponseId, ResponseItem};

use crate::limits;

/// One request. Cheap to clone: everything long in it is shared.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    pub model: String,
    pub instructions: Arc<str>,
    pub input: Vec<Arc<HistoryItem>>,
    pub tools: Arc<ToolSet>,
    pub parallel_tool_calls: bool,
    pub effort: Option<ReasoningEffort>,
    pub summary: ReasoningSummary,
    /// JSON Schema that the final message must follow.
    pub output_schema: Option<Arc<Value>>,
    pub previous: Option<Previous>,
    /// Names the conversation to the provider's cache.
    pub prompt_cache_key: Option<String>,
}

/// The provider already holds the first `covers` input items. Used only by providers that
/// are configured as stateful; the others are sent everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Previous {
    pub response_id: ResponseId,
    pub covers: usize,
}

/// One item of a conversation with its encodings, each made when first needed.
#[derive(Debug)]
pub struct HistoryItem {
    item: ResponseItem,
}

impl HistoryItem {
    pub fn new(item: ResponseItem) -> Self {
        Self { item }
    }

    pub fn item(&self) -> &ResponseItem {
        &self.item
    }

    /// Returns a rough count of the item's tokens: four bytes of text each, and a fixed
    /// number for an image, whose bytes say nothing about its tokens.
    pub fn approx_tokens(&self) -> u64 {
        let Weight { text_bytes, images } = weigh(&self.item);
        (text_bytes as u64).div_ceil(4) + images as u64 * limits::IMAGE_APPROX_TOKENS
    }
}

impl From<ResponseItem> for HistoryItem {
    fn from(item: ResponseItem) -> Self {
        Self::new(item)
    }
}

#[derive(Default)]
struct Weight {
    text_bytes: usize,
    images: usize,
}

fn weigh(item: &ResponseItem) -> Weight {
    match item {
        ResponseItem::Message { content, .. } => weigh_content(content),
        ResponseItem::Reasoning {
            summary,
            content,
            encrypted_content,
            ..
        } => {
            let summary = summary.iter().map(|SummaryPart::SummaryText { text }| text);
            let content = content
                .iter()
                .flatten()
                .map(|(ReasoningPart::ReasoningText { text } | ReasoningPart::Text { text })| text);
            Weight {
                text_bytes: summary
                    .chain(content)
                    .chain(encrypted_content)
                    .map(String::len)
                    .sum(),
                images: 0,
            }
        }
        ResponseItem::FunctionCall {
            name,
            arguments: input,
            ..
        }
        | ResponseItem::CustomToolCall { name, input, .. } => Weight {
            text_bytes: name.len() + input.len(),
            images: 0,
        },
        ResponseItem::FunctionCallOutput { output, .. }
        | ResponseItem::CustomToolCallOutput { output, .. } => match output {
            ToolOutputBody::Text(text) => Weight {
                text_bytes: text.len(),
                images: 0,
            },
            ToolOutputBody::Parts(parts) => weigh_content(parts),
        },
        // Also the kinds that a later protocol may add: their JSON is what the model gets.
        other => Weight {
            text_bytes: serde_json::to_string(other).map_or(0, |json| json.len()),
            images: 0,
        },
    }
}

fn weigh_content(content: &[ContentItem]) -> Weight {
    let mut weight = Weight::default();
    for part in content {
        match part.text() {
            Some(text) => weight.text_bytes += text.len(),
            None => weight.images += 1,
        }
    }
    weight
}

/// The tools of a request, encoded once per wire.
#[derive(Debug, Default)]
pub struct ToolSet {
    specs: Vec<ToolSpec>,
}

impl ToolSet {
    pub fn new(specs: Vec<ToolSpec>) -> Self {
        Self { specs }
    }

    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }
}
