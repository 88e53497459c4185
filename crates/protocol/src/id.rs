//! Newtype ids. An id of one kind cannot be passed where another is meant.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Identifies one conversation. Version 4, so that its first eight characters are random
/// enough to serve as the short id.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SessionId(pub Uuid);

impl SessionId {
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }

    /// Returns the first eight characters, the form people and models use.
    pub fn short(&self) -> String {
        self.0.simple().to_string()[..8].to_owned()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for SessionId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// A number that is unique in one agent tree. The root is 0; numbers grow and are never
/// reused, also not after a resume.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AgentId(pub u32);

impl AgentId {
    pub const ROOT: Self = Self(0);
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        #[cfg_attr(test, derive(ts_rs::TS))]
        pub struct $name(pub String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }
    };
}

text_id! {
    /// Chosen by the client for each submission. Events of a task carry the id of the
    /// submission that started it, so it is also the id of the task (wire name `turn_id`).
    SubmissionId
}
text_id! {
    /// The model's name for one of its tool calls.
    CallId
}
text_id! {
    /// Names one item of a conversation; the same in `item_started`, deltas and `item_completed`.
    ItemId
}
text_id! {
    /// The provider's name for one finished model response: the bookmark to continue from.
    ResponseId
}
text_id! {
    /// Names one client of a session that several share; given by the server.
    ClientId
}
