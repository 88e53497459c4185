//! What a working tree has that its remote does not.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct GitDiffToRemoteParams {
    pub cwd: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct GitDiffToRemoteResponse {
    /// The newest commit that the remote has too.
    pub sha: String,
    /// From there to the files as they are, those that git does not know yet among them.
    pub diff: String,
}
