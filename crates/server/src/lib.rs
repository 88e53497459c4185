//! Lets clients outside this process reach a session.
//!
//! [`pipe`] serves the queue pair itself to one client on two pipes, [`proto`] to many clients
//! at a time, over every transport. [`app`] is the app-server: JSON-RPC ([`rpc`]) for clients of
//! the Codex family.
//! [`house`] runs many sessions in one process, for the ways in that need more than one.
//! [`mcp`] offers them to outside agents as tools.
//! Around it is what any listener needs: `listen` (addresses), [`token`] (who may come in),
//! `guard` (which pages of a browser may), `tls`, `unix_socket` (a socket as a file),
//! `lobby` (how many may be there), `connection` (accepting), `web` (what is spoken over HTTP).
//!
//! Deliberately absent: what a submission means, configuration files, the environment, and
//! state that is not about connections. A client that goes away changes nothing in a session.

pub mod app;
pub mod headless;
pub mod limits;
pub mod mcp;
pub mod pipe;
pub mod proto;
pub mod rpc;
pub mod session_pool;
pub mod tls;
pub mod token;

mod connection;
mod guard;
mod listen;
mod lobby;
mod unix_socket;
mod web;

pub use listen::{ListenError, ListenOptions, ListenReach, StopSignal};
pub use proto::{ProtoServer, ServerEnd};
pub use session_pool::{OpenError, RootSession, SessionFactory, SessionPool, SessionRefusal};
