//! Conversations of other agents, one folder each: `input.jsonl` is the other agent's file,
//! `expected.txt` what becomes of it. Those named after a version were written by that version.
//! `UPDATE_EXPECT=1` writes what is expected anew.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

#[path = "it/cases.rs"]
mod cases;
#[path = "it/chronicle.rs"]
mod chronicle;
#[path = "it/files.rs"]
mod files;
#[path = "it/searching.rs"]
mod searching;
#[path = "it/twice.rs"]
mod twice;
