//! What the daemon says of itself.

use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HealthView {
    /// `ok`.
    pub status: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VersionView {
    /// Of the program.
    pub version: String,
    /// The prefix of the routes.
    pub api: &'static str,
}
