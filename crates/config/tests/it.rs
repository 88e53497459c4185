//! The crate as its callers see it: real files, typed sections, printed errors.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]
#![expect(
    clippy::needless_raw_string_hashes,
    reason = "expectations are written by the tool in this form"
)]

#[path = "it/home.rs"]
mod home;
#[path = "it/layers.rs"]
mod layers;
#[path = "it/mcp_json.rs"]
mod mcp_json;
#[path = "it/unknown.rs"]
mod unknown;
#[path = "it/values.rs"]
mod values;
