//! Why there is no connection.

use std::io;

use troupe_protocol::link::Goodbye;
use troupe_transport::SessionAddress;
use troupe_transport::limits::LINE_BYTES_MAX;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot connect to {address}: {source}")]
    Connect {
        address: SessionAddress,
        source: io::Error,
    },
    #[error("the server does not let us in: {message}")]
    Refused { reason: Goodbye, message: String },
    #[error("the connection was lost and could not be made again: {0}")]
    Lost(String),
    #[error("{path} holds no certificates to trust: {problem}")]
    Trust { path: String, problem: String },
    #[error("stdio is not an address to connect to; start `troupe proto` and use its pipes")]
    Stdio,
    #[error("a submission of {bytes} bytes is not sent; the most is {LINE_BYTES_MAX}")]
    TooLong { bytes: usize },
    #[error("a submission cannot be written as JSON: {0}")]
    Unwritable(#[from] serde_json::Error),
    #[error("the session has ended")]
    Ended,
}
