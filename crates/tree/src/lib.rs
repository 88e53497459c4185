//! The agent tree: every decision about many agents, and nothing that runs.
//!
//! ```text
//!              ┌────────────── Tree ──────────────┐
//! Command ───► │ decide ──► facts ──fold──► Memory │ ───► effects, in order
//!   (with its  │    │                              │      (persist, start, abort,
//!    moment)   │    └─────► Live: slots, runs,     │       answer, emit, …)
//!              │            waits, residents       │
//!              └───────────────────────────────────┘
//! ```
//!
//! [`Tree::apply`] refuses a command and changes nothing, or carries it out. What must
//! survive the process changes only by folding a [`TreeFact`], which is handed out to be
//! written in the same breath; so folding the written facts gives the same memory again.
//! What ends with the process (who holds a slot, who waits, who is loaded) is `LiveState`.
//!
//! Who writes what: a status stands in the log of the agent it belongs to. While a task is
//! in flight only the reports of its own session change it; a stop leaves an order that the
//! session answers. For an agent without a task nobody else can speak, so the tree does.
//!
//! Reading order: the facts are [`troupe_protocol::tree::TreeFact`]; [`fold`] makes the
//! [`memory`] of them, of [`agent`]s with a [`lifecycle`], an [`inbox`] and [`unheard_ends`].
//! [`command`] → `decisions`, with one file for each verb → [`effect`].
//!
//! [`memory`] and what it is made of is also the read model: the index of `store`, a restart
//! and `troupe agents` fold the same facts with it.
//!
//! Deliberately absent: IO, clock, randomness, async; the contents of messages and results;
//! rights, roles, budgets' arithmetic; how a task runs.

pub mod address;
pub mod agent;
pub mod command;
mod decisions;
pub mod effect;
pub mod fold;
pub mod inbox;
pub mod lifecycle;
pub mod limits;
pub mod logged_facts;
pub mod logged_lives;
pub mod memory;
pub mod refusal;
pub mod status;
pub mod unheard_ends;
mod words;

pub use address::AgentAddressError;
pub use agent::AgentRecord;
pub use command::{TreeAction, TreeCommand};
pub use decisions::{TakenNames, Tree, TreeCounts, WaitId};
pub use effect::TreeEffect;
pub use fold::FoldError;
pub use limits::TreeLimits;
pub use logged_facts::LoggedFacts;
pub use memory::TreeMemory;
pub use refusal::TreeRefusal;
pub use status::CurrentStatus;
pub use words::WAITS_FOR_CHILD;

#[cfg(test)]
mod tests;
