//! What a conversation consists of, whichever agent had it.

use troupe_protocol::ResponseItem;
use troupe_protocol::input::UserInput;
use troupe_store::UnixMillis;

/// One piece of a conversation, in the order in which it happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Passage {
    /// The other agent says where its turns begin. Where it does not, each question begins one.
    TurnBegan,
    /// A person spoke.
    Asked {
        /// As people read it.
        shown: Vec<UserInput>,
        /// As the model reads it.
        told: ResponseItem,
    },
    /// The model was told something that no person said.
    Told(ResponseItem),
    /// The model spoke.
    Said(ResponseItem),
    /// The model's thoughts, as far as they can be read. They are for people: a provider takes
    /// back only what it has sealed itself.
    Thought(String),
    Called(ResponseItem),
    Answered(ResponseItem),
    /// The conversation up to here was replaced, for the model.
    Compacted {
        summary: String,
        replacement: Vec<ResponseItem>,
    },
    TurnEnded(TurnEnd),
    /// The last turns were taken back.
    RolledBack {
        turns: u32,
    },
    /// The conversation was given a name.
    Named(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    Completed,
    Interrupted,
}

/// A piece, and when it happened.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedPassage {
    /// `None` where the other agent wrote none that can be read: the time of the piece before.
    pub at: Option<UnixMillis>,
    pub passage: Passage,
}

/// What is known of a conversation before its first words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConversationHeading {
    /// As the other agent names the conversation.
    pub id: Option<String>,
    pub started: Option<UnixMillis>,
    pub cwd: Option<std::path::PathBuf>,
    pub branch: Option<String>,
    pub commit: Option<String>,
    /// The model that was asked last.
    pub model: Option<String>,
    /// The program that had the conversation, as it names itself.
    pub originator: Option<String>,
    pub version: Option<String>,
    /// The first words of a person.
    pub preview: Option<String>,
    /// Another agent of the same program had this conversation with its parent.
    pub is_child: bool,
}
