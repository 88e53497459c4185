//! One headless run: a prompt in, events out, an exit code.
//!
//! ```text
//! request ─► run ─► session ─► events ─┬─ jsonl ─► stdout, for programs
//!                                      └─ human ─► stderr; the final message ─► stdout
//! ```

mod asking;
pub mod changes;
pub mod children;
pub mod command_line;
pub mod escalation;
mod event_kinds;
mod going_on;
mod human;
pub mod introduction;
pub mod invitation;
mod jsonl;
mod left_over;
mod live;
pub mod mentions;
pub mod no_model;
pub mod print;
pub mod prompt;
mod refusal;
mod report;
pub mod request;
mod review;
pub mod roster;
pub mod run;
pub mod saved_prompts;
mod screen;
pub mod shape;
pub mod signals;
mod stream;
pub mod target;
mod terminal_lines;
