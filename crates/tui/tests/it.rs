//! The crate from outside: the page for users, and a screen on a terminal of its own.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

#[path = "it/page.rs"]
mod page;
#[path = "it/screen.rs"]
mod screen;
