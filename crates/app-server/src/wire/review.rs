//! Reviews of changes.

use serde::{Deserialize, Serialize};

use super::turn::Turn;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ReviewStartParams {
    pub thread_id: String,
    pub target: ReviewTarget,
    /// In the thread itself if absent.
    #[serde(default)]
    pub delivery: Option<ReviewDelivery>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ReviewTarget {
    /// What is staged, unstaged and untracked.
    UncommittedChanges,
    /// What the current branch adds to this one.
    BaseBranch {
        branch: String,
    },
    Commit {
        sha: String,
        #[serde(default)]
        title: Option<String>,
    },
    Custom {
        instructions: String,
    },
}

/// Where a review is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ReviewDelivery {
    /// As a turn of the thread.
    Inline,
    /// As a turn of a new thread, which works where this one does.
    Detached,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ReviewStartResponse {
    pub turn: Turn,
    /// The thread that the turn belongs to.
    pub review_thread_id: String,
}
