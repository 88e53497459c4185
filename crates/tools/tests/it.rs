//! The tools with real files, real processes and the real sandbox.

#[path = "it/support.rs"]
mod support;

#[path = "it/arguments.rs"]
mod arguments;
#[path = "it/commands.rs"]
mod commands;
#[path = "it/edits.rs"]
mod edits;
#[path = "it/files.rs"]
mod files;
#[path = "it/images.rs"]
mod images;
#[path = "it/plans.rs"]
mod plans;
#[path = "it/registry.rs"]
mod registry;
#[path = "it/terminals.rs"]
mod terminals;
