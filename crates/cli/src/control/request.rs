//! Requests and answers of the control socket.

use serde::{Deserialize, Serialize};
use troupe_protocol::agent::AgentCard;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::link::query::{MessageReceipt, MessageUrgency, StopExemption};
use troupe_protocol::{AgentId, CallId, SessionId, StopVerb};

/// Of the lines below. A process answers its own version only: the other program on this
/// machine may be older or newer than the one that runs the tree.
pub const VERSION: u32 = 1;

/// One line of the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionedLine<T> {
    pub version: u32,
    #[serde(flatten)]
    pub body: T,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum ControlRequest {
    /// How every agent stands.
    Look,
    Send {
        to: String,
        text: String,
        urgency: MessageUrgency,
    },
    Stop {
        verb: StopVerb,
        target: String,
        mode: ControlMode,
    },
    /// Brings a closed agent back, and has a stopped one go on. Without a target:
    /// everybody who was cut off when the engine stopped.
    Resume { target: Option<String> },
    /// Answers a request for approval of an agent.
    Answer {
        agent: AgentId,
        call_id: CallId,
        decision: ReviewDecision,
    },
}

/// Asks for a line whenever a command of this agent writes something, until either side leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename = "feed")]
pub struct FeedRequest {
    pub session: SessionId,
}

/// One line of a feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "news", rename_all = "snake_case")]
pub enum CommandNews {
    Began { call_id: CallId, command: String },
    Wrote { call_id: CallId, text: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlMode {
    Act,
    /// Only tells what would be touched.
    DryRun,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum ControlAnswer {
    Agents {
        agents: Vec<AgentCard>,
    },
    Sent {
        to: Box<AgentCard>,
        receipt: MessageReceipt,
    },
    Stopped {
        touched: Vec<ReachedAgent>,
        skipped: Vec<StopExemption>,
    },
    Resumed {
        agents: Vec<AgentCard>,
    },
    Answered {
        agent: Box<AgentCard>,
    },
    Refused {
        message: String,
    },
}

/// An agent that a stop reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachedAgent {
    pub agent_id: AgentId,
    pub path: String,
    pub action: StopVerb,
}
