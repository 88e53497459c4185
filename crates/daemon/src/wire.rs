//! The forms of requests and answers. Names are snake case; those of the seed keep theirs.

pub(crate) mod approval;
pub(crate) mod callback;
pub(crate) mod message;
pub(crate) mod meta;
pub(crate) mod session;
pub(crate) mod spawn;
pub(crate) mod stop;
pub(crate) mod task;
pub(crate) mod tree;
