//! One headless run: a prompt in, events out, an exit code.
//!
//! ```text
//! request ─► run ─► session ─► events ─┬─ jsonl ─► stdout, for programs
//!                                      └─ human ─► stderr; the final message ─► stdout
//! ```

mod command_line;
mod event_kinds;
mod human;
mod jsonl;
mod no_model;
mod print;
pub mod prompt;
pub mod request;
pub mod run;
pub mod signals;
mod stream;
mod target;
