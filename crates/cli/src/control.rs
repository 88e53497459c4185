//! The way into a tree that another process runs.
//!
//! ```text
//! troupe agents … ──request──►  $TROUPE_HOME/run/<root session>.sock  ──► act ──► TreeAccess
//!                 ◄──answer───  one line of JSON each way
//! ```
//!
//! The process that holds the root's lease listens, from the moment the tree has a child: a
//! session without children opens no socket and makes no directory. What the socket does is
//! what [`act`](act::act) does, so a command that opens a stored tree itself does the same.
//!
//! Only the same user gets in: the directory is theirs alone, and each side asks the kernel
//! who the other is. Whoever takes the lease removes what a crashed process left behind.
//!
//! What the commands of an agent write while they run is told line by line, to whoever asks
//! ([`feed`]).
//!
//! Deliberately absent: results and conversations. The logs have them, also while nobody runs
//! the tree.

pub mod act;
pub mod client;
mod feed;
mod line;
pub mod request;
mod server;
pub mod socket;

pub use feed::command_news;
pub use request::{ControlAnswer, ControlMode, ControlRequest};
pub use server::{Guard, serve};

#[cfg(test)]
mod tests;
