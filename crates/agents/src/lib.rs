//! Many agents: what a child may be, who is whose child, and what makes it run.
//!
//! ```text
//! families (tools) ─┐
//! UIs ──────────────┴─► TreeAccess ─► supervisor ─► troupe-tree (pure: decides)
//!                                  │  └─────► callback, rights, watchdog (pure: texts, rules)
//!                                  └────────► engine (one session per agent)
//! ```
//!
//! [`roles`] reads the files that describe kinds of children: prompt, model, tools, rights.
//! The crate `troupe-tree` decides, purely, what happens to the agents of one tree; the
//! [`supervisor`] performs it. [`tree_access`] gives one caller access to the tree; the tools of
//! all [`families`] are thin faces over it. [`configurator`] adds all this to a session; a
//! [`RootDeps`] is that, for one root.
//!
//! Deliberately absent: how a turn runs, provider names, rendering, the environment and the
//! home directory; paths come in as arguments.

mod callback;
pub mod configurator;
pub mod families;
mod limits;
mod rights;
pub mod roles;
mod root_deps;
pub mod supervisor;
pub mod tree_access;
mod watchdog;

pub use callback::{CallbackPreview, TemplateFault, preview as preview_callback};
pub use configurator::AgentsConfigurator;
pub use families::Family;
pub use root_deps::RootDeps;
pub use supervisor::{
    ChildArrival, ChildArrivals, NewTrees, RecoveryPolicy, SettingsReader, TreeHandle, TreeOptions,
    TreeSettings,
};
pub use tree_access::TreeAccess;
