//! What the two sides of a fork are told of it.
//!
//! Both find the call that forked them in their history, word for word the same up to its
//! answer. The answer says which side one is.

use serde_json::{Value, json};
use troupe_protocol::SessionId;

/// The answer of a forking call, while the child has no id yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForkAnswer {
    pub label: Option<String>,
    /// The beginning of the prompt, in one line.
    pub summary: Option<String>,
    pub prompt: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForkSide {
    Parent,
    Child,
}

impl ForkAnswer {
    /// Returns what the call is answered with in the child's history.
    pub(crate) fn for_child(&self, child: SessionId, parent: SessionId) -> String {
        json!({"payload": self.payload(ForkSide::Child, child, parent)}).to_string()
    }

    pub(crate) fn payload(&self, side: ForkSide, child: SessionId, parent: SessionId) -> Value {
        let role = match side {
            ForkSide::Parent => "parent",
            ForkSide::Child => "child",
        };
        json!({
            "role": role,
            "child_session_id": child,
            "parent_session_id": parent,
            "label": self.label,
            "summary": self.summary,
            "prompt": self.prompt,
        })
    }
}
