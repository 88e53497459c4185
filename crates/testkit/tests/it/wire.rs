//! A session that clients outside the process share, over every transport.

mod crowds;
mod encrypted;
mod frames;
mod hostile;
pub mod house;
mod quiet;
pub mod raw;
mod reconnects;
mod seats;
mod slow;
mod transports;
mod trees;
