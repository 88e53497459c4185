//! `troupe mcp-server`: an outside agent runs and orchestrates sessions.
//!
//! ```text
//!  client ── troupe_mcp::serve ──► Orchestra ──► House ──► Thread ── Desk of the user
//!                                     │                      │
//!                                     └── Store (what is not in memory) ── Watch: progress, asks
//! ```
//!
//! A session is addressed by its id, a unique beginning of it, or its name, whether it is a root
//! or a child. What is in memory is asked at the user's desk of its tree, the rest is read from
//! the store, so that looking at a session never opens it.
//!
//! Who waits for a session (`troupe_sessions_prompt`, `troupe_sessions_wait`) is also who is
//! asked what only a person can decide, if the client shows forms. For a client that does not,
//! the headless policy answers from the moment that it starts something (`attend`). A question
//! that nobody waits for stays open, and is seen in `troupe_sessions_get`.
//!
//! Deliberately absent: decisions. What a tool may do, a session's configuration says.

mod answers;
mod arguments;
mod directory;
mod error;
mod forms;
mod headless_approvals;
mod listening;
mod session_tools;
mod sessions;
mod spawning;
mod tasks;
mod tools;
mod transcript;
mod waiting;
mod watch;

pub use listening::McpListener;
pub use session_tools::SessionTools;
