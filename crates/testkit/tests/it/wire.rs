//! A session that clients outside the process share, over every transport.

mod encrypted;
mod hostile;
mod house;
mod reconnects;
mod seats;
mod slow;
mod transports;
