//! Plays scenarios: a screenplay for the model, submissions for the session, and what came
//! out of it.
//!
//! Everything but the model is real: the HTTP wire, the rollout on disk, the commands, the
//! sandbox. A [`Stage`] owns the home, the working directory and the model's server; an
//! [`Actor`] is one queue pair on that stage. [`fuzz`] feeds the readers of foreign text. The workspace's scenario tests are in `tests/`.
//!
//! Deliberately absent: anything the product needs. Nothing depends on this crate.

pub mod fuzz;
mod stage;
mod transcript;

pub use stage::{Actor, Stage};
pub use transcript::line;
