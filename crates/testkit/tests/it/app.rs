//! The app-server, as a client meets it.

mod children;
mod client;
mod handshake;
mod questions;
mod threads;
mod turns;
