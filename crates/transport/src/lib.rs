//! Moves the queue pair over byte streams: one JSON object per line, in both directions,
//! for both ends. [`rpc`] has JSON-RPC for those who speak that.
//!
//! ```text
//!   client                                   engine
//!   SubmissionWriter ── {"id","op"}\n ────►  SubmissionReader ─► Frame
//!   EventReader      ◄─ {"id","seq","msg"}\n EventWriter
//! ```
//!
//! Everything works on any [`tokio::io::AsyncRead`] and [`tokio::io::AsyncWrite`]: stdin
//! and stdout, sockets, in-memory pipes. Reading never fails because of what a peer wrote:
//! a line that is too long, not UTF-8, not JSON or not a submission becomes a [`LineRefusal`]
//! that says what is wrong and where, and the next line is read as if nothing had
//! happened. Memory per reader is bounded by the longest line that is accepted. All reads
//! and writes may be cancelled and taken up again without losing or repeating a byte.
//!
//! Deliberately absent: method names, authentication, sequence numbers of refusals, and
//! any decision about what a submission means.

pub mod grpc;
pub mod limits;
pub mod rpc;
pub mod sse;

mod address;
mod client;
mod decode;
mod engine;
mod field_error;
mod line;
mod link;
mod outline;
mod refusal;
mod write;

pub use address::{HostPort, NetProtocol, SessionAddress, SessionAddressError};
pub use client::{EventReadError, EventReader, SubmissionWriter};
pub use engine::{EventWriter, SubmissionFrame, SubmissionReader};
pub use line::{LineReader, ReceivedLine};
pub use link::{ClientReader, FromClient, FromServer, ServerReader, ToServer};
pub use refusal::LineRefusal;
pub use write::{LineWriter, WriteError, event_json};
