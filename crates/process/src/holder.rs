//! The small process that forks commands on the engine's behalf.
//!
//! ```text
//! engine ──socket──► holder ──fork──► keeper ──cage, exec──► command
//!    ▲                                  ▲                      └─ …
//!    └── requests, orders and reports ──┘
//! ```
//!
//! * The **holder** is this program again, executed with a name of its own, an empty environment
//!   and one socket. It has a single thread and little memory, so its forks are cheap and may do
//!   what a fork of the many-threaded engine may not.
//! * A **keeper** stays with one command at a time. Processes that lose their parent become its
//!   children, so it can end a whole tree, daemons included, and knows that it is gone when the
//!   kernel says that it has no child left. Only then, and only if the command left nothing
//!   behind, does it take another one: a fork per command is saved, and nothing is shared.
//! * Lifelines are sockets, not signals: whoever reads the end of its socket cleans up and ends.
//!   The engine has to do nothing at all when it dies.
//!
//! These processes have no diagnostic log: their environment is empty, and a fork may do little.
//! What they discard has its reason beside it; the engine logs what they report.
//!
//! Deliberately absent: threads, timers, decisions. What a command may do arrives as a finished
//! [`Cage`](crate::cage::Cage).

mod client;
mod denial_monitor;
mod execute;
mod keeper;
mod namespaces;
mod program;
mod server;
mod shared_memory_fork;
mod startup;
mod tree;
mod wire;

pub(crate) use self::client::{Holder, HolderError, KeeperHandle};
pub(crate) use self::denial_monitor::put_aside;
pub(crate) use self::wire::{
    CommandImage, CommandRequest, ExitRecord, HolderSetup, KeeperOrder, KeeperReport, StartStage,
    StdioDescriptors, TerminalUse,
};
