//! Taking back what turns did to files.
//!
//! ```text
//! first command that may write ─► Trees: what the work tree holds ───┐
//! each patch ───────────────────► Blobs: what it touches ────────────┤
//! end of the turn ──────────────► Turn: before and after of each ◄───┘ ─► FileFact::Changed
//!
//! undo: facts of the log ─► Ledger ─► Way per file ─► Plan (what is there now?) ─► files
//! ```
//!
//! A patch says exactly what it touches. A command does not, so what it changed is found by
//! comparing the work tree before the first and after the last one; outside of a repository
//! it stays unknown, and `undo` says so. Once a turn is over, everything needed to take it
//! back is in its line of the log and in `Blobs`; git is asked again only for a turn that a
//! crash cut off.
//!
//! Nothing is lost: if a file is not as the turn left it, none is touched, and what an undo
//! overwrites is kept first, so that it can be taken back too.
//!
//! Deliberately absent: the user's own repository (its index, refs and objects are never
//! written; the kernel sees to it), files that git ignores unless a patch touched them, empty
//! directories that a turn removed, and what servers of other programs write.

mod assemble;
mod blobs;
mod conversion;
mod file_state;
mod find;
mod git;
mod index;
mod ledger;
mod listing;
mod manifest;
mod plan;
mod recheck;
mod recorder;
mod scan;
mod snapshots;
mod store;
mod task;
mod work_tree_root;

pub(crate) use file_state::read_state;
pub use ledger::{FileRestore, NothingToUndo, PastUndo, UndoEntry, UndoLedger};
pub use plan::{UndoExtent, UndoPlan};
pub(crate) use recorder::SnapshotHome;
pub use recorder::UndoRecorder;
pub use task::EndedTask;
