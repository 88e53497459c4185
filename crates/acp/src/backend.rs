//! Other agents as children: a program that speaks the protocol, in the place of a model.
//!
//! ```text
//! session ─ request ─► Puppet (a Model) ── text ◄──┐
//!    │                    └ a call, if work is due │ Companion: the program, one conversation
//!    └─ call ──► Strings (a Tool) ── calls ◄───────┘   └ carrier: its process, line by line
//! ```
//!
//! The session stays what it is: inbox, callbacks, approvals, cancelling, results and the
//! rollout are the engine's. The program's words come in as a response of the model. What it
//! does comes in as a call of the one tool that such a session has, because a call can ask a
//! person, be cancelled, and knows the rights that it runs under: the tool starts the program,
//! held to them by the kernel. So each turn is: call (the prompt goes out, work is shown and
//! asked for) → response (what it says) → call, if it works on → … → the last response.
//!
//! Deliberately absent: files and terminals of ours for the program. It has its own, inside its
//! sandbox.

mod config;
mod connection;
mod io_pump;
mod link;
mod model;
mod tool;
mod usage;
mod work;

pub use config::BackendConfig;
pub use link::AcpBackend;
