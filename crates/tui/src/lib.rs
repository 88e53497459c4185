//! The terminal: a place where a person runs one agent or many.
//!
//! ```text
//! keys ────┐                                    ┌─► sinks: inline, full screen, plain
//! session ─┼─► AppState::update ──► effects     │
//! clock ───┘          └──► view(state, size) ───┘
//! ```
//!
//! The state is pure: [`state::AppState::update`] takes what happened and returns what is to be
//! done, [`views::view`] returns rows. Only [`run`] and [`terminal`] touch the world.
//!
//! What a caller provides: a [`session::SessionLink`] (`troupe_client::Client` is one), a
//! [`terminal::TerminalPort`], and [`ScreenOptions`] with what the environment says. [`run()`]
//! returns how the screen was left.
//!
//! Deliberately absent: the engine, processes (the user's editor is started by the caller), the
//! environment, and any text of a model that acts on the terminal (`text::clean`).

pub mod cells;
pub mod effect;
pub mod highlight;
pub mod limits;
pub mod markdown;
pub mod run;
pub mod session;
pub mod settings;
pub mod text;
pub mod transcript;

pub use run::{EditText, EditorCommand, ScreenOptions, SessionEnding, TerminalSurroundings};
pub use settings::TuiSettings;
