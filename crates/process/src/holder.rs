//! The small process that forks commands on the engine's behalf.
//!
//! ```text
//! engine ──request + descriptors──► holder ──fork──► keeper ──fork, cage, exec──► command
//!    ▲                                                 │                            └─ …
//!    └──────────── control socket of that command ─────┘
//! ```
//!
//! * The **holder** is this program again, executed with a name of its own, an empty environment
//!   and one socket. It has a single thread and little memory, so its forks are cheap and may do
//!   what a fork of the many-threaded engine may not.
//! * The **keeper** stays for one command. Processes that lose their parent become its children,
//!   so it can end a whole tree, daemons included, and knows that it is gone when the kernel says
//!   that it has no child left.
//! * Lifelines are sockets, not signals: whoever reads the end of its socket cleans up and ends.
//!   The engine has to do nothing at all when it dies.
//!
//! Deliberately absent: threads, timers, decisions. What a command may do arrives as a finished
//! [`Cage`](crate::cage::Cage).

mod client;
mod execute;
mod keeper;
mod namespaces;
mod server;
mod startup;
mod tree;
mod wire;
mod witness;

pub(crate) use self::client::{Holder, HolderError};
pub(crate) use self::wire::{
    Descriptors, ExitRecord, Image, Order, Report, Request, Setup, Stage, TerminalUse,
    receive_report, send_order,
};
