//! What the two sides of a fork are told of it.
//!
//! Both find the call that forked them in their history, word for word the same up to its
//! answer. The answer says which side one is.

use serde_json::{Value, json};
use troupe_protocol::spawn::AnsweredCall;
use troupe_protocol::{CallId, SessionId};

/// The answer of a forking call, while the child has no id yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkAnswer {
    /// The call. Beside it others may be open, also such that fork.
    pub call: CallId,
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
    /// Returns the call as it is answered in the child's history.
    pub(crate) fn for_child(&self, child: SessionId, parent: SessionId) -> AnsweredCall {
        let payload = self.payload(ForkSide::Child, child, parent);
        AnsweredCall {
            call_id: self.call.clone(),
            answer: json!({"payload": payload}).to_string(),
        }
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
