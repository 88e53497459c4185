//! Lets clients outside this process reach a session.
//!
//! [`pipe`] serves the queue pair itself to one client on two pipes, [`proto`] to many clients
//! at a time, over every transport. [`session_pool`] runs many sessions in one process, for the ways
//! in that need more than one; [`mcp`] offers them to outside agents as tools. The app-server and
//! the agent of the Agent Client Protocol are crates on top.
//!
//! Around it is what any listener needs: [`listen`] (addresses), [`token`] (who may come in),
//! [`guard`] (which pages of a browser may), [`tls`], [`unix_socket`] (a socket as a file),
//! [`lobby`] (how many may be there), [`connection`] (accepting), [`web`] (what is spoken over HTTP).
//!
//! Deliberately absent: what a submission means, configuration files, the environment, and
//! state that is not about connections. A client that goes away changes nothing in a session.

pub mod connection;
pub mod guard;
pub mod headless;
pub mod limits;
pub mod listen;
pub mod lobby;
pub mod mcp;
pub mod pipe;
pub mod prompt_commands;
pub mod proto;
pub mod session_pool;
pub mod tls;
pub mod token;
pub mod unix_socket;
pub mod web;

pub use listen::{ListenError, ListenOptions, ListenReach, StopSignal};
pub use prompt_commands::{FilledCommand, PromptCommandLibrary, called_command};
pub use proto::{
    PromptHistory, ProtoServer, ReadMarks, ServerEnd, SessionOffice, TreeSource, session_cards,
};
pub use session_pool::{
    AttachableRoot, OpenError, RootSession, SessionFactory, SessionPool, SessionRefusal,
};
