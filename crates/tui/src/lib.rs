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
//! What a caller provides: a [`session::SessionLink`], a [`terminal::TerminalDevice`], and
//! [`ScreenOptions`] with what the environment says. [`run::run`] returns how the screen was left.
//!
//! Deliberately absent: the engine, processes (the user's editor is started by the caller), the
//! environment, and any text of a model that acts on the terminal (`text::clean`).

pub mod cells;
pub mod commands;
pub mod composer;
pub mod effect;
pub mod facts;
pub mod highlight;
pub mod keys;
pub mod limits;
pub mod markdown;
pub mod questions;
pub mod resume;
pub mod roster;
pub mod run;
pub mod session;
pub mod settings;
pub mod state;
pub mod terminal;
pub mod text;
pub mod transcript;
pub mod views;

pub use run::{
    EditText, EditorCommand, FindPrompts, NextSession, SavedPrompts, ScreenError, ScreenExit,
    ScreenOptions, SessionEnding, TerminalSurroundings, run as run_screen,
};
pub use settings::TuiSettings;
