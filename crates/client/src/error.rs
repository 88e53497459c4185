//! Why there is no connection.

use std::io;

use troupe_protocol::link::Goodbye;
use troupe_transport::Address;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot connect to {address}: {source}")]
    Connect { address: Address, source: io::Error },
    #[error("the server does not let us in: {message}")]
    Refused { reason: Goodbye, message: String },
    #[error("the connection was lost and could not be made again: {0}")]
    Lost(String),
    #[error("{path} holds no certificates to trust: {problem}")]
    Trust { path: String, problem: String },
    #[error("stdio is not an address to connect to; start `troupe proto` and use its pipes")]
    Stdio,
    #[error("the session has ended")]
    Ended,
}
