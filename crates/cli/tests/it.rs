//! The real binary over real sockets and files. These prove the wiring; the rules have
//! their own tests.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]
#![expect(
    clippy::needless_raw_string_hashes,
    reason = "expectations are written by the tool in this form"
)]

#[path = "it/agents_command.rs"]
mod agents_command;
#[path = "it/app_client.rs"]
mod app_client;
#[path = "it/app_server.rs"]
mod app_server;
#[path = "it/app_settings.rs"]
mod app_settings;
#[path = "it/attach.rs"]
mod attach;
#[path = "it/brought_along.rs"]
mod brought_along;
#[path = "it/children.rs"]
mod children;
#[path = "it/client.rs"]
mod client;
#[path = "it/completion.rs"]
mod completion;
#[path = "it/config.rs"]
mod config;
#[path = "it/daemon.rs"]
mod daemon;
#[path = "it/diagnostics.rs"]
mod diagnostics;
#[path = "it/diagrams.rs"]
mod diagrams;
#[path = "it/disk.rs"]
mod disk;
#[path = "it/ends.rs"]
mod ends;
#[path = "it/exec.rs"]
mod exec;
#[path = "it/faults.rs"]
mod faults;
#[path = "it/first_contact.rs"]
mod first_contact;
#[path = "it/hooks.rs"]
mod hooks;
#[path = "it/import.rs"]
mod import;
#[path = "it/kill.rs"]
mod kill;
#[path = "it/kill_tree.rs"]
mod kill_tree;
#[path = "it/listen.rs"]
mod listen;
#[path = "it/login.rs"]
mod login;
#[path = "it/machine.rs"]
mod machine;
#[path = "it/mcp.rs"]
mod mcp;
#[path = "it/mcp_login.rs"]
mod mcp_login;
#[path = "it/mcp_server.rs"]
mod mcp_server;
#[path = "it/models.rs"]
mod models;
#[path = "it/partial.rs"]
mod partial;
#[path = "it/plan.rs"]
mod plan;
#[path = "it/prompts.rs"]
mod prompts;
#[path = "it/proto.rs"]
mod proto;
#[path = "it/review.rs"]
mod review;
#[path = "it/roles.rs"]
mod roles;
#[path = "it/rules.rs"]
mod rules;
#[path = "it/screen.rs"]
mod screen;
#[path = "it/screenplay.rs"]
mod screenplay;
#[path = "it/serve.rs"]
mod serve;
#[path = "it/serve_life.rs"]
mod serve_life;
#[path = "it/serve_seed.rs"]
mod serve_seed;
#[path = "it/session_care.rs"]
mod session_care;
#[path = "it/sessions.rs"]
mod sessions;
#[path = "it/skills.rs"]
mod skills;
#[path = "it/start.rs"]
mod start;
#[path = "it/terminal.rs"]
mod terminal;
#[path = "it/tree_runs.rs"]
mod tree_runs;
#[path = "it/trust.rs"]
mod trust;
#[path = "it/undo.rs"]
mod undo;
#[path = "it/watched.rs"]
mod watched;
