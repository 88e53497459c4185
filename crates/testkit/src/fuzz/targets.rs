//! The readers, each with what must hold whatever it reads.

mod answers;
mod patches;
mod roles;
mod rollouts;
mod skills;
mod submissions;
mod tags;

use super::Target;

/// Everything that is fuzzed.
pub const TARGETS: &[Target] = &[
    submissions::TARGET,
    answers::RESPONSES,
    answers::CHAT,
    patches::TARGET,
    rollouts::TARGET,
    roles::TARGET,
    skills::TARGET,
    tags::TARGET,
];
