//! Plays scenarios: a screenplay for the model, submissions for the session, and what came
//! out of it.
//!
//! Everything but the model is real: the HTTP wire, the rollout on disk, the commands, the
//! sandbox. A [`Stage`] owns the home, the working directory and the model's server; an
//! [`Actor`] is the client of one queue pair on that stage, at the other end of a wire. [`fuzz`]
//! feeds the readers of foreign text. The workspace's scenario tests are in `tests/`.
//!
//! Deliberately absent: anything the product needs. Nothing depends on this crate.

mod actor;
pub mod fuzz;
mod stage;
mod transcript;

pub use actor::Actor;
pub use stage::Stage;
pub use transcript::line;
