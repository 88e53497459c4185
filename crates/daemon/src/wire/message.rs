//! Messages and the queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use troupe_protocol::SessionId;
use troupe_protocol::tree::MessageMetadata;

/// Marks a message that the engine wrote for a child that ended.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct MessageMetadataView {
    pub is_callback: bool,
    /// The same under the seed's name.
    pub is_agor_callback: bool,
    /// Always `troupe`.
    pub source: String,
    pub child_session_id: SessionId,
    pub child_task_id: String,
}

impl From<MessageMetadata> for MessageMetadataView {
    fn from(metadata: MessageMetadata) -> Self {
        Self {
            is_callback: metadata.is_callback,
            is_agor_callback: metadata.is_callback,
            source: metadata.source,
            child_session_id: metadata.child_session_id,
            child_task_id: metadata.child_task_id.0,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessageQuery {
    /// Those behind this index.
    pub after: Option<u64>,
    /// Those before this index, the newest of them.
    pub before: Option<u64>,
    /// At most 200; 50 if absent.
    pub limit: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventQuery {
    /// The number of the last event that is known, as in `Last-Event-ID`, which wins. Without it: from
    /// now on.
    pub after: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MessagePage {
    /// Oldest first.
    pub data: Vec<MessageView>,
    /// All that the session has.
    pub total: usize,
}

/// An item of a conversation: what somebody said, or a tool did.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MessageView {
    /// Its number in the conversation, from 0.
    pub index: u64,
    pub id: String,
    pub task_id: String,
    /// `user`, `assistant` or `tool`.
    pub role: &'static str,
    pub completed_at: String,
    /// What was said, for messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MessageMetadataView>,
    /// The whole item, as the protocol has it; `type` says what it is.
    pub item: Value,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct QueuePage {
    /// In the order in which they are taken.
    pub data: Vec<QueuedMessageView>,
    /// Of the session, as in its ETag.
    pub version: String,
}

/// A message that waits for its session.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct QueuedMessageView {
    pub id: String,
    /// From 1.
    pub position: usize,
    /// `interrupt`, `message` or `callback`.
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MessageMetadataView>,
}
