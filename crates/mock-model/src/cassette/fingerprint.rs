//! What makes two requests the same for a tape: the model, the kinds of the items, the
//! tools called and what the user said. Left out is what differs from run to run: ids,
//! and in the user's text every word with a digit or a path; what tools answered.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use troupe_model::ModelRequest;
use troupe_protocol::ResponseItem;
use troupe_protocol::history::{ContentItem, Role};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RequestFingerprint {
    model: String,
    /// For people who compare two requests.
    items: usize,
    last: String,
    hash: String,
}

impl RequestFingerprint {
    pub(super) fn of(request: &ModelRequest) -> Self {
        let mut hash = Sha256::new();
        let mut last = "nothing".to_owned();
        for item in &request.input {
            last = kind(item.item());
            hash.update(&last);
            hash.update([0]);
            if let ResponseItem::Message {
                role: Role::User,
                content,
                ..
            } = item.item()
            {
                for text in content.iter().filter_map(ContentItem::text) {
                    hash.update(steady_words(text));
                    hash.update([0]);
                }
            }
        }
        let digest = hash.finalize();
        let head = u64::from_be_bytes(std::array::from_fn(|index| digest[index]));
        Self {
            model: request.model.clone(),
            items: request.input.len(),
            last,
            hash: format!("{head:016x}"),
        }
    }

    pub(super) fn matches(&self, asked: &Self) -> bool {
        self.model == asked.model && self.hash == asked.hash
    }
}

impl fmt::Display for RequestFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            model,
            items,
            last,
            hash,
        } = self;
        write!(f, "{model} with {items} items, the last a {last} ({hash})")
    }
}

fn kind(item: &ResponseItem) -> String {
    match item {
        ResponseItem::Message { role, .. } => match role {
            Role::System => "system message".into(),
            Role::Developer => "developer message".into(),
            Role::User => "user message".into(),
            Role::Assistant => "assistant message".into(),
        },
        ResponseItem::Reasoning { .. } => "reasoning".into(),
        ResponseItem::FunctionCall { name, .. } | ResponseItem::CustomToolCall { name, .. } => {
            format!("call of {name}")
        }
        ResponseItem::FunctionCallOutput { .. } | ResponseItem::CustomToolCallOutput { .. } => {
            "tool output".into()
        }
        ResponseItem::Other(value) => format!("provider item {}", value["type"]),
    }
}

fn steady_words(text: &str) -> String {
    let steady = |word: &&str| !word.contains(|c: char| c.is_ascii_digit() || c == '/');
    text.split_whitespace()
        .filter(steady)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_left_out() {
        let first = "Fix it. cwd: /tmp/.tmpAbC date: 2026-11-16T10:00:00Z";
        let second = "Fix it. cwd: /tmp/.tmpXyZ date: 2026-11-17T11:30:00Z";
        assert_eq!(steady_words(first), "Fix it. cwd: date:");
        assert_eq!(steady_words(first), steady_words(second));
    }
}
