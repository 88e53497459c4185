//! Takes conversations of other agents over: their files become logs of ours.
//!
//! ```text
//!  file ─► SourceFile (lines, numbered) ─► codex | claude (pure) ─► Passage
//!       ─► Pairing (every call answered) ─► Scribe ─► records of ours ─► Log
//! ```
//!
//! Reading order: [`passage`] (what a conversation consists of, whoever had it) → [`codex`] and
//! [`claude`] (their lines) → `pairing` → `scribe` (our lines) → [`takeover`] (from a file to a
//! session) → [`places`] (where others keep theirs).
//!
//! What is carried over: who said what, calls and their answers, pictures, compactions, going
//! back, name, working directory. What is not: the other agent's instructions and surroundings
//! (ours take their place), its rights (a session works under ours), sealed reasoning, which only
//! the account can open that it was made for. [`LossReport`] counts what was left behind, so that a
//! person is told.
//!
//! Files are somebody else's and of any size: they are read a line at a time, and only the turn at
//! hand is in memory. A line that cannot be read costs itself and is told by its number.
//!
//! Deliberately absent: the environment, the terminal, models, sessions that run. This is the
//! only crate that knows how others keep conversations.

pub mod claude;
pub mod codex;
pub mod error;
pub mod limits;
pub mod losses;
pub mod passage;
pub mod places;
pub mod source;
pub mod takeover;

mod fields;
mod pairing;
mod pictures;
mod rollout_writer;

pub use error::ImportError;
pub use losses::LossReport;
pub use passage::{Passage, TurnEnd};
pub use places::{ForeignDirectories, ImportCandidate};
pub use takeover::{ForeignConversation, ImportReport, ImportSettings, Takeover};
