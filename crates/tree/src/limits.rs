//! The limits of a tree, and every bound of this module, unit last.

use serde::{Deserialize, Serialize};

/// What bounds one tree: the section `[agents]` of the configuration, as far as the tree
/// decides by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TreeLimits {
    /// Agents that run at the same time. The root is not counted: the user's own
    /// conversation never queues behind the children.
    pub max_threads: usize,
    pub on_limit: OnLimit,
    /// The root has depth 0.
    pub max_depth: u32,
    /// Agents of the live tree, the root included; closed and pruned ones do not count.
    pub max_agents: usize,
    pub max_spawns_per_minute: usize,
    /// Sessions kept in memory. Beyond it the one idle for longest is unloaded; running ones
    /// stay, so `max_threads` may push the number higher.
    pub max_resident: usize,
}

/// What a spawn meets when every slot is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLimit {
    #[default]
    Queue,
    Error,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self {
            max_threads: 12,
            on_limit: OnLimit::Queue,
            max_depth: 3,
            max_agents: 256,
            max_spawns_per_minute: 60,
            max_resident: RESIDENT_AGENTS_MAX,
        }
    }
}

/// The window in which spawns are counted.
pub const SPAWN_WINDOW_MS: i64 = 60_000;

/// Messages of other agents and of the user that may wait in one inbox. The next one is
/// refused. Callbacks are not counted: a result is never turned away.
pub const INBOX_MESSAGES_MAX: usize = 256;

/// Ends of children's tasks that are kept as news for one agent. With callbacks the inbox
/// bounds nothing either; without them nobody may ever ask.
pub const NEWS_MAX: usize = 4096;

/// Sessions kept in memory if the configuration does not say otherwise.
pub const RESIDENT_AGENTS_MAX: usize = 64;

/// Characters of an agent's name, its `_2` not counted.
pub const NAME_CHARS_MAX: usize = 48;

/// The shortest piece of a session id that is taken for one.
pub const SHORT_ID_CHARS_MIN: usize = 4;

/// Candidates named when an address is ambiguous.
pub const CANDIDATES_MAX: usize = 10;

/// Waits that one agent may have open at once, as parallel tool calls.
pub const WAITS_OPEN_MAX: usize = 32;
