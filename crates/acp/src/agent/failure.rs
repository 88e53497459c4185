//! Why something is not done, as clients are told.

use agent_client_protocol_schema::v1::ErrorCode;
use serde_json::json;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::ErrorEvent;
use troupe_server::OpenError;
use troupe_transport::rpc::RpcError;

/// What somebody does who has no key: there is nothing here to log in with.
const HOW_TO_GET_A_KEY: &str = "set it in the environment of the editor, or choose a provider that \
    needs none (`model_provider` in config.toml), and open the session again; `troupe doctor` \
    tells what is missing";

/// The model, or the session, failed.
pub(super) fn of(error: &ErrorEvent) -> RpcError {
    refused(&error.message, error.error_info.as_ref())
}

/// A session could not be opened.
pub(super) fn opening(error: &OpenError) -> RpcError {
    match error {
        OpenError::Refused {
            message,
            info: info @ Some(ErrorInfo::Unauthorized),
        } => refused(&format!("{message}; {HOW_TO_GET_A_KEY}"), info.as_ref()),
        OpenError::Refused { message, info } => refused(message, info.as_ref()),
        OpenError::Ended | OpenError::Full { .. } | OpenError::Ending => {
            new(ErrorCode::InternalError, error.to_string())
        }
    }
}

fn refused(message: &str, info: Option<&ErrorInfo>) -> RpcError {
    let code = match info {
        Some(ErrorInfo::Unauthorized) => ErrorCode::AuthRequired,
        Some(ErrorInfo::InvalidSubmission | ErrorInfo::BadRequest) => ErrorCode::InvalidRequest,
        Some(ErrorInfo::NotFound) => ErrorCode::ResourceNotFound,
        _ => ErrorCode::InternalError,
    };
    RpcError {
        data: info.map(|info| json!({"kind": info})),
        ..new(code, message)
    }
}

pub(super) fn no_session(id: &str) -> RpcError {
    RpcError {
        data: Some(json!({"sessionId": id})),
        ..new(
            ErrorCode::ResourceNotFound,
            format!("there is no open session {id}; open it with session/new or session/load"),
        )
    }
}

pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> RpcError {
    RpcError::new(i64::from(i32::from(code)), message)
}
