//! Errors of the SDK in plain words: its own name types of Rust, and print messages as they lie in
//! memory.

use std::error::Error;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::transport::worker::WorkerQuitReason;

use crate::oauth;

type HttpError = StreamableHttpError<reqwest::Error>;

/// Says why a connection could not be opened.
pub(crate) fn opening(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_)
        | ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            "it did not answer `initialize` as an MCP server does".to_owned()
        }
        ClientInitializeError::ConnectionClosed(_) => {
            "it ended the connection before it had answered `initialize`".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => transport(error),
        ClientInitializeError::JsonRpcError(error) => {
            format!("it refused `initialize`: {}", error.message)
        }
        other => chain(other),
    }
}

/// Says why a request has no answer.
pub(crate) fn request(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => error.message.to_string(),
        ServiceError::TransportSend(error) => transport(error),
        ServiceError::TransportClosed => "the connection is closed".to_owned(),
        ServiceError::UnexpectedResponse => {
            "it answered with something that does not belong to the request".to_owned()
        }
        other => chain(other),
    }
}

/// Tells whether a server answered that it does not know who asks.
pub(crate) fn is_unauthorized(error: &ServiceError) -> bool {
    let ServiceError::TransportSend(error) = error else {
        return false;
    };
    let error = &*error.error;
    let http = match error.downcast_ref::<WorkerQuitReason<HttpError>>() {
        Some(WorkerQuitReason::Fatal { error, .. }) => Some(error),
        Some(_) => None,
        None => error.downcast_ref::<HttpError>(),
    };
    matches!(http, Some(StreamableHttpError::AuthRequired(_)))
}

fn transport(error: &DynamicTransportError) -> String {
    let error = &*error.error;
    if let Some(error) = error.downcast_ref::<HttpError>() {
        return http(error);
    }
    match error.downcast_ref::<WorkerQuitReason<HttpError>>() {
        Some(WorkerQuitReason::Fatal { error, .. }) => http(error),
        Some(_) => "the connection is closed".to_owned(),
        None => chain(error),
    }
}

fn http(error: &HttpError) -> String {
    match error {
        StreamableHttpError::Client(error) => chain(error),
        StreamableHttpError::Auth(error) => oauth::shown(error),
        StreamableHttpError::UnexpectedServerResponse(text) => {
            format!("it answered with something that is not MCP: {text}")
        }
        StreamableHttpError::UnexpectedContentType(Some(kind)) => {
            format!("it answered with {kind}, where MCP has JSON or events")
        }
        StreamableHttpError::UnexpectedContentType(None) => {
            "it did not say what it answered with, where MCP has JSON or events".to_owned()
        }
        other => chain(other),
    }
}

/// Returns an error with its causes, each said once.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
