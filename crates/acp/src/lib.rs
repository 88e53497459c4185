//! The Agent Client Protocol: editors that drive our sessions, and other agents that are
//! driven by them.
//!
//! ```text
//! editor ─ lines of JSON-RPC ─► agent: one connection ─► session: one conversation ─► SessionPool
//!        ◄─ session/update, session/request_permission ─┘   events ─► updates (pure)
//!
//! a child's session ─► backend: a program in the place of a model ─ lines ─► other agent
//! ```
//!
//! [`agent`] is our side when an editor is the client; in [`backend`] we are the client. The
//! types of the wire are those of the official schema; the messages around them are
//! [`troupe_transport::rpc`].
//!
//! Deliberately absent: any decision. What a session may do, whom it asks and when it is over
//! is decided below; here it is only said in another language.

pub mod agent;
pub mod backend;
pub mod limits;

mod text;
