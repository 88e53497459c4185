//! JSON-RPC over any connection that carries one message at a time: requests in both
//! directions, notifications, and answers to what cannot be understood.
//!
//! ```text
//!  bytes ─► message::decode ─► Request, Notification, Response, or what to answer instead
//!  Outbox (bounded) ◄─ responses, notifications, our own requests ─► one writer per connection
//! ```
//!
//! Ids of a peer's requests are kept as they were written. Our own are numbers.
//!
//! Deliberately absent: names of methods, and what a connection is made of.

mod message;
mod outbox;

pub use message::{IncomingMessage, RequestId, RpcDialect, RpcError, RpcResponse, codes, decode};
pub use outbox::{Outbox, PeerGone, PeerRequest, UnknownResponse, write_lines};
