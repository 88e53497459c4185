//! The app-server, as a client meets it.

mod account;
mod below;
mod children;
pub(super) mod client;
mod commands;
mod dynamic;
mod family;
mod files;
mod git;
mod handshake;
mod listeners;
mod office;
mod questions;
mod reviews;
mod search;
mod slow;
pub mod socket;
mod storm;
mod threads;
mod trees;
mod turns;
