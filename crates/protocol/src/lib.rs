//! The words of the system: ids, submissions, events, items, policies, rollout records.
//!
//! A UI sends [`Submission`]s and reads [`Event`]s; both are JSON objects tagged by `type`
//! in snake case, one per line on byte streams. These Rust types are the source of truth:
//! the JSON Schema and the TypeScript types in `schema/` are generated from them, and a
//! test fails when the files are stale.
//!
//! Reading order: [`op`] (what a client may ask) → [`event`] (what it is told) → [`item`]
//! (what a conversation consists of for people) → [`history`] (what it consists of for the
//! model) → [`rollout`] (how it is kept) → [`link`] (how several clients share a session).
//!
//! Deliberately absent: IO, channels, async, clocks, business rules. A type used by only
//! one crate lives in that crate.

pub mod agent;
pub mod approval;
pub mod catalogue;
pub mod command;
mod discard;
pub mod error;
pub mod event;
pub mod fragment;
pub mod history;
pub mod id;
pub mod input;
pub mod item;
pub mod json;
mod limits;
pub mod link;
pub mod mcp;
pub mod op;
pub mod outcome;
pub mod path;
pub mod policy;
pub mod project;
pub mod question;
pub mod result;
pub mod rollout;
pub mod session;
pub mod spawn;
pub mod stop;
pub mod text;
pub mod tool;
pub mod tree;
pub mod undo;
pub mod usage;

pub use event::{Event, EventMsg};
pub use fragment::ContextFragment;
pub use history::ResponseItem;
pub use id::{AgentId, CallId, ClientId, ItemId, ResponseId, SessionId, SubmissionId};
pub use item::TurnItem;
pub use json::JsonCodec;
pub use op::{Op, Submission};
pub use outcome::TaskOutcome;
pub use question::PendingQuestion;
pub use stop::StopVerb;

#[cfg(test)]
mod tests;
