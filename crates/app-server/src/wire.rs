//! What clients of the app-server read and write. The names are those that clients of the
//! Codex family speak; what is ours is marked as such.
//!
//! The files in `schema/` are generated from these types; a test fails when they are stale.
//! Fields of parameters that are not here are ignored.

pub mod account;
pub mod approval;
pub mod catalogue;
pub mod command;
pub mod config;
pub mod files;
pub mod git;
pub mod initialize;
pub mod input;
pub mod item;
pub mod mcp;
pub mod notification;
pub mod policy;
pub mod review;
pub mod search;
pub mod thread;
pub mod tool;
pub mod tree;
pub mod turn;

use serde::{Deserialize, Serialize};

/// An answer without content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Empty {}
