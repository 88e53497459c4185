//! What a model is asked, made of parts that requests share.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;
use troupe_protocol::history::{ContentItem, ReasoningPart, SummaryPart, ToolOutputBody};
use troupe_protocol::policy::{ReasoningEffort, ReasoningSummary};
use troupe_protocol::tool::ToolSpec;
use troupe_protocol::{ResponseId, ResponseItem};

use crate::limits;
use crate::wire::pieces::write_json;
use crate::wire::{FreeformOffer, WireEncoding, chat, messages, responses};

/// One request. Cheap to clone: everything long in it is shared.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    pub model: String,
    pub instructions: Arc<EncodedInstructions>,
    pub input: Vec<Arc<HistoryItem>>,
    pub tools: Arc<ToolSet>,
    pub tool_choice: ModelToolChoice,
    pub parallel_tool_calls: bool,
    pub effort: Option<ReasoningEffort>,
    pub summary: ReasoningSummary,
    /// JSON Schema that the final message must follow.
    pub output_schema: Option<Arc<Value>>,
    pub previous: Option<PreviousResponse>,
    /// Names the conversation to the provider's cache. Conversations that begin with the same
    /// bytes may share it.
    pub prompt_cache_key: Option<String>,
    /// Names the conversation where the cache key is another's.
    pub conversation: Option<String>,
}

/// What the model is told to be, encoded once.
#[derive(Debug)]
pub struct EncodedInstructions {
    text: String,
    encoded: OnceLock<Bytes>,
}

impl EncodedInstructions {
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            encoded: OnceLock::new(),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text as a string of JSON.
    pub(crate) fn encoded(&self) -> &Bytes {
        self.encoded.get_or_init(|| {
            let mut bytes = Vec::with_capacity(self.text.len());
            write_json(&mut bytes, &self.text);
            bytes.into()
        })
    }
}

/// Whether the model may call the tools of the request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ModelToolChoice {
    #[default]
    Auto,
    /// It may not. They are there because the history speaks of them, and because a request
    /// that begins like the one before is read from the provider's cache.
    Never,
}

impl ModelToolChoice {
    /// Returns the name that all wires have for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Never => "none",
        }
    }
}

/// The provider already holds the first `covers` input items. Used only by providers that
/// are configured as stateful; the others are sent everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviousResponse {
    pub response_id: ResponseId,
    pub covers: usize,
}

/// One item of a conversation with its encodings, each made when first needed.
#[derive(Debug)]
pub struct HistoryItem {
    item: ResponseItem,
    encoded: [OnceLock<Bytes>; WireEncoding::COUNT],
    /// Made when this item is the last of a block of a long request.
    block: OnceLock<Box<ItemBlock>>,
}

/// Items that follow each other, in one piece: a request of thousands of them refers to few.
#[derive(Debug)]
struct ItemBlock {
    /// Which they are, but for the last.
    before: Vec<Arc<HistoryItem>>,
    encoding: WireEncoding,
    bytes: Bytes,
}

impl HistoryItem {
    pub fn new(item: ResponseItem) -> Self {
        Self {
            item,
            encoded: Default::default(),
            block: OnceLock::new(),
        }
    }

    pub fn item(&self) -> &ResponseItem {
        &self.item
    }

    /// Returns the bytes of one encoding; empty where the item has nothing to say there.
    pub(crate) fn encoded(&self, encoding: WireEncoding) -> &Bytes {
        self.encoded[encoding as usize].get_or_init(|| match encoding {
            WireEncoding::Responses => responses::encode_item(&self.item, FreeformOffer::Native),
            WireEncoding::ResponsesAsFunctions => {
                responses::encode_item(&self.item, FreeformOffer::AsFunction)
            }
            WireEncoding::Chat => chat::encode_item(&self.item),
            WireEncoding::ChatImages => chat::encode_images(&self.item),
            WireEncoding::Messages => messages::encode_item(&self.item),
        })
    }

    /// Returns the bytes of items that follow each other. `None` if the last of them was the
    /// last of others before, or in another encoding: that is rare, and then each has its own.
    pub(crate) fn encoded_together(items: &[Arc<Self>], encoding: WireEncoding) -> Option<&Bytes> {
        let (last, before) = items.split_last()?;
        let block = last.block.get_or_init(|| {
            let mut bytes = Vec::new();
            for item in items {
                bytes.extend_from_slice(item.encoded(encoding));
            }
            Box::new(ItemBlock {
                before: before.to_vec(),
                encoding,
                bytes: bytes.into(),
            })
        });
        let mut pairs = block.before.iter().zip(before);
        let is_same = block.encoding == encoding
            && block.before.len() == before.len()
            && pairs.all(|(known, asked)| Arc::ptr_eq(known, asked));
        is_same.then_some(&block.bytes)
    }

    /// Returns a rough count of the item's tokens: four bytes of text each, and a fixed
    /// number for an image, whose bytes say nothing about its tokens.
    pub fn approx_tokens(&self) -> u64 {
        let ItemWeight { text_bytes, images } = weigh(&self.item);
        (text_bytes as u64).div_ceil(4) + images as u64 * limits::IMAGE_APPROX_TOKENS
    }
}

impl From<ResponseItem> for HistoryItem {
    fn from(item: ResponseItem) -> Self {
        Self::new(item)
    }
}

/// Returns the bytes of an item's text.
pub(crate) fn text_bytes(item: &ResponseItem) -> usize {
    weigh(item).text_bytes
}

#[derive(Default)]
struct ItemWeight {
    text_bytes: usize,
    images: usize,
}

fn weigh(item: &ResponseItem) -> ItemWeight {
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
            ItemWeight {
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
        | ResponseItem::CustomToolCall { name, input, .. } => ItemWeight {
            text_bytes: name.len() + input.len(),
            images: 0,
        },
        ResponseItem::FunctionCallOutput { output, .. }
        | ResponseItem::CustomToolCallOutput { output, .. } => match output {
            ToolOutputBody::Text(text) => ItemWeight {
                text_bytes: text.len(),
                images: 0,
            },
            ToolOutputBody::Parts(parts) => weigh_content(parts),
        },
        // Also the kinds that a later protocol may add: their JSON is what the model gets.
        other @ ResponseItem::Other(_) => ItemWeight {
            text_bytes: serde_json::to_string(other).map_or(0, |json| json.len()),
            images: 0,
        },
    }
}

fn weigh_content(content: &[ContentItem]) -> ItemWeight {
    let mut weight = ItemWeight::default();
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
    encoded: [OnceLock<Bytes>; WireEncoding::COUNT],
}

impl ToolSet {
    pub fn new(specs: Vec<ToolSpec>) -> Self {
        Self {
            specs,
            encoded: Default::default(),
        }
    }

    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// Tells whether the named tool takes free text.
    pub(crate) fn is_freeform(&self, name: &str) -> bool {
        self.specs
            .iter()
            .any(|spec| matches!(spec, ToolSpec::Freeform { name: it, .. } if it == name))
    }

    pub(crate) fn encoded(&self, encoding: WireEncoding) -> &Bytes {
        self.encoded[encoding as usize].get_or_init(|| match encoding {
            WireEncoding::Responses => responses::encode_tools(&self.specs, FreeformOffer::Native),
            WireEncoding::ResponsesAsFunctions => {
                responses::encode_tools(&self.specs, FreeformOffer::AsFunction)
            }
            WireEncoding::Chat | WireEncoding::ChatImages => chat::encode_tools(&self.specs),
            WireEncoding::Messages => messages::encode_tools(&self.specs),
        })
    }
}
