//! One headless run: a prompt in, events out, an exit code.
//!
//! ```text
//! request ─► run ─► session ─► events ─┬─ jsonl ─► stdout, for programs
//!                                      └─ human ─► stderr; the final message ─► stdout
//! ```

pub mod approval_required;
mod asking;
pub mod changes;
pub mod command_line;
mod event_kinds;
mod human;
mod jsonl;
mod live;
pub mod mentions;
pub mod missing_creation;
pub mod no_model;
pub mod pending_approval;
pub mod print;
pub mod prompt;
mod refusal;
mod report;
pub mod request;
mod resume_stopped;
mod review;
pub mod roster;
pub mod run;
pub mod saved_prompts;
mod screen;
pub mod shape;
pub mod signals;
mod stopped_agents;
mod stream;
pub mod target;
mod terminal_lines;
pub mod unfinished_children;
