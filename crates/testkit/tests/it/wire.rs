//! A session that clients outside the process share, over every transport.

mod encrypted;
mod frames;
mod hostile;
mod house;
mod quiet;
mod raw;
mod reconnects;
mod seats;
mod slow;
mod transports;
