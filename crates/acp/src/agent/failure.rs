//! Why something is not done, as clients are told.

use agent_client_protocol_schema::v1::ErrorCode;
use serde_json::json;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::ErrorEvent;
use troupe_server::OpenError;
use troupe_server::rpc::RpcError;

/// The model, or the session, failed.
pub(super) fn of(error: &ErrorEvent) -> RpcError {
    let code = match &error.error_info {
        Some(ErrorInfo::Unauthorized) => ErrorCode::AuthRequired,
        Some(ErrorInfo::InvalidSubmission | ErrorInfo::BadRequest) => ErrorCode::InvalidRequest,
        Some(ErrorInfo::NotFound) => ErrorCode::ResourceNotFound,
        _ => ErrorCode::InternalError,
    };
    let data = error.error_info.as_ref().map(|info| json!({"kind": info}));
    RpcError {
        data,
        ..new(code, error.message.clone())
    }
}

/// A session could not be opened.
pub(super) fn opening(error: &OpenError) -> RpcError {
    let code = if error.is_not_found() {
        ErrorCode::ResourceNotFound
    } else {
        ErrorCode::InternalError
    };
    new(code, error.to_string())
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
