//! The Model Context Protocol: servers that bring tools and resources, and what this program
//! offers to clients itself ([`serve`]).
//!
//! ```text
//! session ──gather──► Servers ──► Server (an actor per configuration) ──► Connection ──► rmcp
//! model ──call──► McpTool ──policy──► Server::connect ──► Connection::call
//!                    ▲                                        │
//!                    └── progress, questions of the server ◄──┘
//! ```
//!
//! A [`McpServerPool`] belongs to the program. It has one [`server::Server`] for each configuration, so
//! that all agents of a tree share its process. A server starts when a session first needs to
//! know its tools, is started again after a crash, and ends with the pool, or when a [`McpServerSet`]
//! that was read again has it no more.
//!
//! What a server says about itself (names, schemas, annotations, results) is hostile input: it is
//! bounded, cleaned, and never trusted further than the user's configuration does.
//!
//! Deliberately absent: sampling and roots (a server gets neither our model nor our files), tasks,
//! and the sandbox: a server is a program that the user configured, and runs with the user's rights
//! and a small environment.

mod approval;
mod calls;
mod client;
mod client_calls;
mod config;
mod connection;
mod content;
mod environment;
mod inspection;
mod limits;
mod lines;
mod name;
mod oauth;
mod plain;
mod prompts;
mod resources;
pub mod serve;
mod server;
mod server_pool;
mod server_set;
mod source;
mod stdio;
mod streamable;
mod tool;

pub use approval::ApprovalMode;
pub use config::{ServerConfig, ServerEndpoint};
pub use inspection::ServerInspection;
pub use oauth::{McpLoginError, McpLoginOptions, McpLoginStore, PendingMcpLogin};
pub use prompts::{FilledServerPrompt, ServerPrompt, ServerPromptArgument};
pub use server_pool::{McpServerPool, McpServerPoolDeps};
pub use server_set::{McpServerSet, ServerList};
pub use source::McpToolSource;
