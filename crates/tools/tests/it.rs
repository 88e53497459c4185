//! The tools with real files, real processes and the real sandbox.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

#[path = "it/support.rs"]
mod support;

#[path = "it/arguments.rs"]
mod arguments;
#[path = "it/commands.rs"]
mod commands;
#[path = "it/edits.rs"]
mod edits;
#[path = "it/escape.rs"]
mod escape;
#[path = "it/files.rs"]
mod files;
#[path = "it/hooks.rs"]
mod hooks;
#[path = "it/images.rs"]
mod images;
#[path = "it/plans.rs"]
mod plans;
#[path = "it/questions.rs"]
mod questions;
#[path = "it/registry.rs"]
mod registry;
#[path = "it/rules.rs"]
mod rules;
#[path = "it/terminals.rs"]
mod terminals;
