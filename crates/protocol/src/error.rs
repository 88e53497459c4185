//! Error kinds that clients branch on.

use serde::{Deserialize, Serialize};

/// The machine-readable part of an `error` or `stream_error` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ErrorInfo {
    ContextWindowExceeded,
    UsageLimitExceeded,
    ServerOverloaded,
    HttpConnectionFailed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        http_status_code: Option<u16>,
    },
    ResponseStreamConnectionFailed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        http_status_code: Option<u16>,
    },
    ResponseStreamDisconnected {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        http_status_code: Option<u16>,
    },
    ResponseTooManyFailedAttempts {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        http_status_code: Option<u16>,
    },
    /// The model said the same again and again, and was stopped.
    ModelRepeatsItself,
    InternalServerError,
    Unauthorized,
    BadRequest,
    SandboxError,
    /// The task was ended by `interrupt`.
    Interrupted,
    /// The submission could not be understood, or may not be sent now.
    InvalidSubmission,
    /// The submission is understood but names something that is not there.
    NotFound,
    /// Another client drives the session.
    NotDriving,
    /// This engine does not offer what the submission asks for.
    Unsupported,
    /// The conversation could not be written to disk.
    StorageFailed,
    ThreadRollbackFailed,
    ActiveTurnNotSteerable,
    /// The answer does not have the shape that was asked for, also not the second time.
    OutputInvalid,
    /// The model is done, and a hook of the user's still says that the task is not.
    HookRefused,
    /// As many model requests were made as the run may make.
    TurnLimitReached,
    Other,
}
