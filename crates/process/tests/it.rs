//! Commands in the real kernel.

#[path = "it/support.rs"]
mod support;

#[path = "it/process.rs"]
mod process;
#[path = "it/sandbox.rs"]
mod sandbox;
#[path = "it/terminal.rs"]
mod terminal;
