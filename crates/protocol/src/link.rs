//! What clients and a server say to each other beside submissions and events, where several
//! clients share one session.
//!
//! ```text
//! client                                          server
//! {"type":"hello","role":"follow","after":41} ──► {"type":"welcome","client":"…",…}
//!                                             ◄── {"id":"7","seq":42,"msg":{…}}     events
//! {"id":"8","op":{…}}                         ──► {"type":"accepted","id":"8"}
//! {"type":"take_seat"}                        ──► {"type":"seat","role":"drive",…}
//! ```
//!
//! One client drives: it has the *seat*, and its submissions reach the session. The others
//! follow. Messages of this module belong to one connection: they take no `seq`, and they are
//! not in the rollout.
//!
//! A client also asks here what no event tells: how the agents of the tree stand, which sessions
//! there are ([`query`]). It follows one agent beside the root with `follow_agent`.

pub mod query;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::event::{ErrorEvent, Event};
use crate::id::{AgentId, ClientId, SubmissionId};

pub use query::{LinkAnswer, LinkQuery};

/// The version of this exchange; it grows when an old client would misunderstand.
pub const LINK_VERSION: u32 = 2;

/// What a client sends beside submissions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ClientRequest {
    /// Comes first, once.
    Hello(Hello),
    /// Asks for the seat. Whoever has it keeps it until they release it or are gone.
    TakeSeat,
    /// Gives the seat back, or takes the wish for it back.
    ReleaseSeat,
    /// Asks something, or has something done in the tree. Followers may only look.
    Query {
        /// Comes back with the answer, or with `refused`.
        id: SubmissionId,
        query: LinkQuery,
    },
    /// Wants to be told what an agent of the tree says, as `agent_event`: first what its log has,
    /// then what happens, texts while they grow too. Said again, it begins anew.
    FollowAgent {
        agent: AgentId,
        /// The last event of the agent that the client has seen; 0 for none.
        #[serde(default)]
        after: u64,
    },
    /// Has seen enough of that agent.
    UnfollowAgent { agent: AgentId },
}

/// How a client introduces itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Hello {
    /// Required where the operating system does not tell who connects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Secret>,
    /// The name that an earlier `welcome` gave. The new connection takes the place of the old
    /// one, and submissions that were already accepted from it are not done twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientId>,
    /// What that `welcome` gave with the name. A name without it is not given away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Secret>,
    #[serde(default)]
    pub role: ClientRole,
    /// The last event that the client has seen; 0 for none.
    #[serde(default)]
    pub after: u64,
    /// Where a client begins that has seen nothing.
    #[serde(default, skip_serializing_if = "is_run")]
    pub history: HistoryStart,
}

/// Where a client begins that has seen nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum HistoryStart {
    /// With what this run of the session has said.
    #[default]
    Run,
    /// With the session: what earlier runs recorded is told first.
    Session,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde gives what it asks about by reference"
)]
fn is_run(start: &HistoryStart) -> bool {
    *start == HistoryStart::Run
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ClientRole {
    /// Has the seat. In a `hello`: wants it, as soon as it is free.
    #[default]
    Drive,
    /// Is told everything, and may only ask for lists.
    Follow,
}

/// A text that must not be shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// What is kept of a client's secret: enough to know the client again, too little to show the
/// secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SecretDigest(pub String);

/// What a client is told beside events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ServerNotice {
    /// The answer to `hello`.
    Welcome(Welcome),
    /// Somebody else drives now, or wants to.
    Seat(Seat),
    /// The session has the submission. Said again when it is submitted again.
    Accepted { id: SubmissionId },
    /// The session never saw this message.
    Refused {
        /// Absent if it could not be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<SubmissionId>,
        error: ErrorEvent,
    },
    /// The client reads more slowly than the session speaks. What it missed up to `upto` comes
    /// from the rollout, without deltas; texts that are still open come whole, as snapshots.
    Lagged { after: u64, upto: u64 },
    /// What a query came to.
    Answer {
        id: SubmissionId,
        answer: LinkAnswer,
    },
    /// What an agent said that the client follows. `seq` is that of the agent's own session.
    AgentEvent { agent: AgentId, event: Box<Event> },
    /// The last message of a connection.
    Goodbye { reason: Goodbye, message: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Welcome {
    pub version: u32,
    /// The client's name, for its next `hello`.
    pub client: ClientId,
    /// What proves that a later connection is the same client. Nobody else is told.
    pub secret: Secret,
    #[serde(flatten)]
    pub seat: Seat,
    /// The newest event: a client that has seen it has caught up.
    pub seq: u64,
}

/// Who drives, as one client sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Seat {
    /// What this client is.
    pub role: ClientRole,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<ClientId>,
    /// Who wants to drive next, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asking: Vec<ClientId>,
}

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum Goodbye {
    /// There is nothing to come back to.
    SessionEnded,
    /// The token is missing or wrong.
    Unauthorized,
    /// The client did not keep to the protocol.
    Misunderstood,
    /// The client came back by another connection.
    Replaced,
    /// All places are taken; there may be one later.
    Full,
}
