//! What the routes do: each file has those of one resource.

pub(crate) mod approvals;
pub(crate) mod callbacks;
pub(crate) mod describing;
pub(crate) mod events;
pub(crate) mod messages;
pub(crate) mod meta;
pub(crate) mod prompts;
pub(crate) mod sessions;
pub(crate) mod spawning;
pub(crate) mod stops;
pub(crate) mod tasks;
pub(crate) mod trees;
pub(crate) mod waiting;
