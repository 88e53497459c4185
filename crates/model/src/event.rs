//! What a response brings, in the order in which it happens.

use serde::{Deserialize, Serialize};
use troupe_protocol::usage::{RateLimitSnapshot, TokenUsage};
use troupe_protocol::{ResponseId, ResponseItem};

use crate::error::ModelError;
use crate::request::text_bytes;

/// One step of a response. Item ids are unique within it; an item's deltas never follow
/// its [`ModelEvent::ItemDone`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ModelEvent {
    Created {
        response_id: Option<ResponseId>,
    },
    ItemStarted {
        item_id: String,
        kind: ItemKind,
    },
    TextDelta {
        item_id: String,
        delta: String,
    },
    ReasoningSummaryPart {
        item_id: String,
        summary_index: u32,
    },
    ReasoningSummaryDelta {
        item_id: String,
        summary_index: u32,
        delta: String,
    },
    ReasoningTextDelta {
        item_id: String,
        content_index: u32,
        delta: String,
    },
    ItemDone {
        item_id: String,
        item: ResponseItem,
    },
    RateLimits(RateLimitSnapshot),
    /// The model is not done: it wants to be asked again with what it has said. The end of the
    /// response follows.
    Paused,
    /// The attempt broke and another one follows after `delay_ms`. Everything of this
    /// response so far is void: the consumer discards it.
    Retrying {
        attempt: u32,
        attempts_max: u32,
        delay_ms: u64,
        error: ModelError,
    },
    /// The last event of a response that succeeded.
    Completed {
        response_id: ResponseId,
        usage: TokenUsage,
    },
    /// The last event of a response that did not. Items that were done before stay valid.
    Failed(ModelError),
}

impl ModelEvent {
    /// Tells whether nothing follows this event.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Completed { .. } | Self::Failed(_))
    }

    /// Returns how long the part of the answer is that this event brings.
    pub(crate) fn content_bytes(&self) -> usize {
        match self {
            Self::TextDelta { delta, .. }
            | Self::ReasoningSummaryDelta { delta, .. }
            | Self::ReasoningTextDelta { delta, .. } => delta.len(),
            Self::ItemDone { item, .. } => text_bytes(item),
            Self::Created { .. }
            | Self::ItemStarted { .. }
            | Self::ReasoningSummaryPart { .. }
            | Self::RateLimits(_)
            | Self::Paused
            | Self::Retrying { .. }
            | Self::Completed { .. }
            | Self::Failed(_) => 0,
        }
    }
}

/// What an item will be, as far as is known when it begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ItemKind {
    Message,
    Reasoning,
    FunctionCall {
        name: String,
    },
    CustomToolCall {
        name: String,
    },
    /// A kind that only the provider knows.
    Other,
}
