//! The ways to stop agents: one type and its words, for the tree, its tools and every client.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is done to an agent that is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum StopVerb {
    /// Ends the running task of this one agent; it can go on later.
    Interrupt,
    /// Ends the tasks of the agent and of everybody below it.
    Cancel,
    /// Cancels, and takes no more messages until it is resumed.
    Close,
    /// The child goes on without a parent.
    Release,
    /// Takes finished agents out of the live tree; results stay.
    Prune,
}

impl StopVerb {
    pub const ALL: [Self; 5] = [
        Self::Interrupt,
        Self::Cancel,
        Self::Close,
        Self::Release,
        Self::Prune,
    ];

    /// Returns its name, on every wire and for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Interrupt => "interrupt",
            Self::Cancel => "cancel",
            Self::Close => "close",
            Self::Release => "release",
            Self::Prune => "prune",
        }
    }

    /// Returns what an agent is called to which it was done.
    pub fn done(self) -> &'static str {
        match self {
            Self::Interrupt => "interrupted",
            Self::Cancel => "cancelled",
            Self::Close => "closed",
            Self::Release => "released",
            Self::Prune => "pruned",
        }
    }

    /// Returns the verb of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::StopVerb;

    #[test]
    fn a_verb_has_the_same_name_on_the_wire_and_for_people() {
        for verb in StopVerb::ALL {
            assert_eq!(serde_json::to_value(verb).unwrap(), verb.as_str());
            assert_eq!(StopVerb::named(verb.as_str()), Some(verb));
        }
    }
}
