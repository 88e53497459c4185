//! The app-server, as a client meets it.

mod children;
pub(super) mod client;
mod commands;
mod files;
mod handshake;
mod office;
mod questions;
mod reviews;
mod threads;
mod trees;
mod turns;
