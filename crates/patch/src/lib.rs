//! Edits as text: the patch format that models write, and its application to real files.
//!
//! ```text
//! text ──Parser──► Patch ──plan(cwd, roots)──► Plan ──apply──► Applied
//!                            reads, matches,     │   stages beside the targets, then renames;
//!                            computes contents   │   on any failure everything is put back
//!                                                └─ changes(): what a person is shown first
//! ```
//!
//! [`PatchParser`] takes the text in any pieces while a model still writes it; [`Patch::parse`] is
//! the same parser fed at once. [`plan`] reads every file and computes every new content, so
//! a patch that does not fit is refused before anything is written. [`PatchPlan::apply`] holds the
//! directories that the plan has opened: a directory swapped meanwhile redirects nothing.
//!
//! # Decisions
//!
//! - **All or nothing.** Contents are staged as `.troupe-patch.*` files in the directories of
//!   their targets and swapped in by rename. A failure rolls everything back; a crash leaves
//!   each file old or new, and at worst a staged file with that recognisable name.
//! - **Beneath the roots.** The kernel resolves each parent directory beneath an allowed root
//!   (`openat2`). Symbolic links in parents are followed while they stay inside. A symbolic
//!   link as the file itself is refused with its target named, because both readings (edit
//!   the target, replace the link) surprise somebody; deleting removes the link.
//!   `..` is resolved by its letters, before links are.
//! - **Bytes that the patch does not mention stay.** Line ends, a byte order mark, trailing
//!   blanks of context lines, mode and owner. New lines take the first line end of the file.
//!   A last line without one keeps it that way unless the patch writes that line or adds
//!   after it. Only UTF-8 files can be edited; any file can be moved or deleted. Hard links
//!   and extended attributes do not survive an edit, as with most editors.
//! - **Places.** A chunk is searched after the previous one, exactly first, then with blanks
//!   and typographic characters forgiven; the first match wins, and a [`PatchNote`] says when
//!   there were others or when something was forgiven. `@@` lines in sequence narrow the
//!   place. Added lines alone go below their `@@` line, without one to the end of the file.
//!   `*** End of File` is tried at the end, then anywhere if that is unambiguous.
//!   The numbers of a unified-diff header (`@@ -1,2 +1,3 @@`) are ignored.
//! - **One operation per file.** Two on one path are refused; a move needs no edit; an add
//!   over an existing file replaces it and says so. Blank lines between operations are fine.
//!
//! Deliberately absent: approval (the caller asks between plan and apply), patches that come as
//! shell commands (`tools` recognises them), several environments in one patch, and any way to
//! write that is not atomic.

pub mod apply;
mod difference;
mod edit;
mod limits;
mod locate;
mod note;
mod parse;
mod plan;
mod standalone;
pub mod target;
mod text;

pub use apply::{AppliedPatch, ApplyError, FileAction};
pub use difference::{DiffContext, difference};
pub use edit::ChunkMismatch;
pub use locate::MatchTolerance;
pub use note::PatchNote;
pub use parse::{ChunkLine, FileOp, ParseError, Patch, PatchChunk, PatchParser};
pub use plan::{FileSighting, PatchPlan, PlanError, plan};
pub use standalone::{StandaloneResult, run_standalone};
pub use target::PatchRoots;

/// The grammar of a patch in Lark syntax, for tools that take plain text.
pub const GRAMMAR: &str = include_str!("grammar.lark");

/// What a model is told about the tool.
pub const DESCRIPTION: &str = include_str!("description.md");

#[cfg(test)]
mod tests;
