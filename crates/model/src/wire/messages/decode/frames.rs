//! The events as they come. Fields that not every server sends are optional.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use troupe_protocol::usage::TokenUsage;

#[derive(Deserialize)]
pub(super) struct FrameTag<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(super) struct MessageStart {
    pub message: MessageHead,
}

#[derive(Deserialize)]
pub(super) struct MessageHead {
    pub id: Option<String>,
    pub usage: Option<MessagesUsage>,
}

#[derive(Deserialize)]
pub(super) struct BlockStart<'a> {
    #[serde(default)]
    pub index: u64,
    #[serde(borrow)]
    pub content_block: ContentBlock<'a>,
}

#[derive(Deserialize)]
pub(super) struct ContentBlock<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Cow<'a, str>,
    pub text: Option<String>,
    pub thinking: Option<String>,
    pub signature: Option<String>,
    pub data: Option<String>,
    pub id: Option<String>,
    pub name: Option<String>,
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct BlockDelta {
    #[serde(default)]
    pub index: u64,
    pub delta: BlockDeltaFields,
}

/// A kind of delta that we do not know has none of these.
#[derive(Deserialize)]
pub(super) struct BlockDeltaFields {
    pub text: Option<String>,
    pub partial_json: Option<String>,
    pub thinking: Option<String>,
    pub signature: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct BlockStop {
    #[serde(default)]
    pub index: u64,
}

#[derive(Deserialize)]
pub(super) struct MessageDelta {
    pub delta: Option<MessageEnding>,
    pub usage: Option<MessagesUsage>,
}

#[derive(Deserialize)]
pub(super) struct MessageEnding {
    pub stop_reason: Option<String>,
}

/// Counts so far; a later event repeats those that it knows better.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
pub(super) struct MessagesUsage {
    pub input_tokens: Option<u64>,
    pub cache_creation_input_tokens: Option<u64>,
    pub cache_read_input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub output_tokens_details: Option<MessagesOutputDetails>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct MessagesOutputDetails {
    #[serde(default)]
    thinking_tokens: u64,
}

impl MessagesUsage {
    pub(super) fn learn(&mut self, newer: Option<Self>) {
        let Some(newer) = newer else {
            return;
        };
        *self = Self {
            input_tokens: newer.input_tokens.or(self.input_tokens),
            cache_creation_input_tokens: newer
                .cache_creation_input_tokens
                .or(self.cache_creation_input_tokens),
            cache_read_input_tokens: newer
                .cache_read_input_tokens
                .or(self.cache_read_input_tokens),
            output_tokens: newer.output_tokens.or(self.output_tokens),
            output_tokens_details: newer.output_tokens_details.or(self.output_tokens_details),
        };
    }
}

/// This wire counts what came from the cache, and what went there, beside the input; the
/// others count it within.
impl From<MessagesUsage> for TokenUsage {
    fn from(usage: MessagesUsage) -> Self {
        let read = usage.cache_read_input_tokens.unwrap_or(0);
        let written = usage.cache_creation_input_tokens.unwrap_or(0);
        let fresh = usage.input_tokens.unwrap_or(0);
        let input_tokens = fresh.saturating_add(read).saturating_add(written);
        let output_tokens = usage.output_tokens.unwrap_or(0);
        Self {
            input_tokens,
            cached_input_tokens: read,
            cache_write_input_tokens: written,
            output_tokens,
            reasoning_output_tokens: usage
                .output_tokens_details
                .map_or(0, |details| details.thinking_tokens),
            total_tokens: input_tokens.saturating_add(output_tokens),
        }
    }
}
