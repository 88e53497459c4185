//! Why a response failed, in the kinds that callers branch on.

use std::fmt;

use serde::{Deserialize, Serialize};
use troupe_protocol::error::ErrorInfo;

/// A failure of the provider, the connection or the tape. The message names the cause and
/// holds no key, no URL with query parameters and at most a capped part of what was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelError {
    pub kind: ModelErrorKind,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// How long the server asks to wait before the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// By how much a request was too long, where the server tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overflow: Option<ContextOverflow>,
}

/// A request that did not fit, in the server's own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextOverflow {
    /// Tokens that the request has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// Tokens that the server's context window has.
    pub window: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// No answer: the server could not be reached, or not in time.
    ConnectionFailed,
    /// The answer broke off, stalled, or was not what the wire says.
    StreamDisconnected,
    /// Too many requests or tokens for now.
    RateLimited,
    ServerOverloaded,
    ServerError,
    /// The request does not fit into the model's context window.
    ContextWindowExceeded,
    /// The account's quota or plan is used up; waiting does not help.
    QuotaExceeded,
    Unauthorized,
    /// The server understood the request and refuses it.
    BadRequest,
    /// The server does not have the response that the request continues from. The whole
    /// history can be sent instead.
    PreviousResponseUnknown,
    /// The server could not use a picture of the request: not fetch, not read, not allow it.
    PictureRefused,
    /// The answer ended before it was complete, for a reason that a repetition would meet
    /// again: the output limit, or a content filter.
    Incomplete,
    /// The model declined to go on; the same request would meet the same answer.
    Refused,
    /// The model says the same again and again, and would never come to an end.
    Repeating,
    /// Nothing listens at an address of this machine. Waiting does not start a server.
    NotRunning,
    /// Every attempt failed; the message tells how many and the last cause.
    TooManyAttempts,
    /// A cassette has no answer for this request, or could not be written.
    Cassette,
}

impl ModelError {
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            http_status: None,
            retry_after_ms: None,
            overflow: None,
        }
    }

    /// Tells whether the same request may succeed when it is sent again.
    pub fn is_retryable(&self) -> bool {
        match self.kind {
            ModelErrorKind::ConnectionFailed
            | ModelErrorKind::StreamDisconnected
            | ModelErrorKind::RateLimited
            | ModelErrorKind::ServerOverloaded
            | ModelErrorKind::ServerError => true,
            ModelErrorKind::ContextWindowExceeded
            | ModelErrorKind::QuotaExceeded
            | ModelErrorKind::Unauthorized
            | ModelErrorKind::BadRequest
            | ModelErrorKind::PreviousResponseUnknown
            | ModelErrorKind::PictureRefused
            | ModelErrorKind::Incomplete
            | ModelErrorKind::Refused
            | ModelErrorKind::Repeating
            | ModelErrorKind::NotRunning
            | ModelErrorKind::TooManyAttempts
            | ModelErrorKind::Cassette => false,
        }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

impl std::error::Error for ModelError {}

impl From<&ModelError> for ErrorInfo {
    fn from(error: &ModelError) -> Self {
        let http_status_code = error.http_status;
        match error.kind {
            ModelErrorKind::ConnectionFailed | ModelErrorKind::NotRunning => {
                Self::HttpConnectionFailed { http_status_code }
            }
            ModelErrorKind::Repeating => Self::ModelRepeatsItself,
            ModelErrorKind::StreamDisconnected => {
                Self::ResponseStreamDisconnected { http_status_code }
            }
            ModelErrorKind::RateLimited | ModelErrorKind::TooManyAttempts => {
                Self::ResponseTooManyFailedAttempts { http_status_code }
            }
            ModelErrorKind::ServerOverloaded => Self::ServerOverloaded,
            ModelErrorKind::ServerError => Self::InternalServerError,
            ModelErrorKind::ContextWindowExceeded => Self::ContextWindowExceeded,
            ModelErrorKind::QuotaExceeded => Self::UsageLimitExceeded,
            ModelErrorKind::Unauthorized => Self::Unauthorized,
            ModelErrorKind::BadRequest
            | ModelErrorKind::PreviousResponseUnknown
            | ModelErrorKind::PictureRefused => Self::BadRequest,
            ModelErrorKind::Incomplete | ModelErrorKind::Refused | ModelErrorKind::Cassette => {
                Self::Other
            }
        }
    }
}

impl From<ModelError> for ErrorInfo {
    fn from(error: ModelError) -> Self {
        Self::from(&error)
    }
}
