//! Messages, read and written.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Codes that clients branch on.
pub mod codes {
    pub const PARSE: i64 = -32_700;
    pub const INVALID_REQUEST: i64 = -32_600;
    pub const METHOD_NOT_FOUND: i64 = -32_601;
    pub const INVALID_PARAMS: i64 = -32_602;
    pub const INTERNAL: i64 = -32_603;
    pub const OVERLOADED: i64 = -32_001;
}

/// Whether messages carry `"jsonrpc": "2.0"`. It is not asked for when reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RpcDialect {
    Bare,
    Tagged,
}

impl RpcDialect {
    fn tag(self) -> Option<&'static str> {
        match self {
            Self::Bare => None,
            Self::Tagged => Some("2.0"),
        }
    }
}

/// The name that a peer gave its request: a string or a number, kept as it was written.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct RequestId(Box<RawValue>);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.get())
    }
}

/// Why a request is not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(codes::INVALID_REQUEST, message)
    }

    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(codes::INVALID_PARAMS, message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(codes::INTERNAL, message)
    }
}

/// What a peer says.
#[derive(Debug)]
pub enum IncomingMessage {
    Request {
        id: RequestId,
        method: String,
        params: Option<Box<RawValue>>,
    },
    Notification {
        method: String,
        params: Option<Box<RawValue>>,
    },
    Response(RpcResponse),
}

/// The answer to a request of ours.
#[derive(Debug)]
pub struct RpcResponse {
    pub id: i64,
    pub outcome: Result<Value, RpcError>,
}

/// Something that is no message, and whom to tell.
#[derive(Debug)]
pub struct UnreadableMessage {
    pub id: Option<RequestId>,
    pub error: RpcError,
}

#[derive(Deserialize)]
struct RawMessage<'a> {
    #[serde(default, borrow)]
    id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
    #[serde(default, borrow)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<RpcError>,
}

/// Reads one message.
pub fn decode(text: &[u8]) -> Result<IncomingMessage, UnreadableMessage> {
    let raw: RawMessage<'_> = serde_json::from_slice(text).map_err(|error| UnreadableMessage {
        id: None,
        error: if error.is_data() {
            RpcError::invalid_request(format!("not a request: {error}"))
        } else {
            RpcError::new(codes::PARSE, format!("not JSON: {error}"))
        },
    })?;
    let params = raw.params.map(ToOwned::to_owned);
    match (raw.id, raw.method) {
        (Some(id), Some(method)) => Ok(IncomingMessage::Request {
            id: request_id(id)?,
            method: method.into_owned(),
            params,
        }),
        (None, Some(method)) => Ok(IncomingMessage::Notification {
            method: method.into_owned(),
            params,
        }),
        (Some(id), None) => response(id, raw.result, raw.error),
        (None, None) => Err(UnreadableMessage {
            id: None,
            error: RpcError::invalid_request("a message needs a method, or an id and a result"),
        }),
    }
}

fn request_id(id: &RawValue) -> Result<RequestId, UnreadableMessage> {
    match id.get().as_bytes() {
        [b'"' | b'-' | b'0'..=b'9', ..] => Ok(RequestId(id.to_owned())),
        _ => Err(UnreadableMessage {
            id: None,
            error: RpcError::invalid_request("the id of a request is a string or a number"),
        }),
    }
}

fn response(
    id: &RawValue,
    result: Option<&RawValue>,
    error: Option<RpcError>,
) -> Result<IncomingMessage, UnreadableMessage> {
    let invalid = |message: &str| UnreadableMessage {
        id: request_id(id).ok(),
        error: RpcError::invalid_request(message),
    };
    let outcome = match (result, error) {
        (None, Some(error)) => Err(error),
        (Some(result), None) => Ok(serde_json::from_str(result.get())
            .map_err(|error| invalid(&format!("the result cannot be read: {error}")))?),
        (None, None) => return Err(invalid("a message with an id needs a method or a result")),
        (Some(_), Some(_)) => return Err(invalid("a response has a result or an error, not both")),
    };
    let id = serde_json::from_str(id.get())
        .map_err(|_| invalid("this id is not one of a request that was sent"))?;
    Ok(IncomingMessage::Response(RpcResponse { id, outcome }))
}

#[derive(Serialize)]
pub(super) struct AnswerMessage<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    jsonrpc: Option<&'static str>,
    /// `null` if the request could not be read so far.
    id: Option<&'a RequestId>,
    #[serde(flatten)]
    outcome: AnswerOutcome<'a, T>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum AnswerOutcome<'a, T> {
    Result(&'a T),
    Error(&'a RpcError),
}

impl<'a, T> AnswerMessage<'a, T> {
    pub(super) fn new(
        dialect: RpcDialect,
        id: Option<&'a RequestId>,
        outcome: Result<&'a T, &'a RpcError>,
    ) -> Self {
        Self {
            jsonrpc: dialect.tag(),
            id,
            outcome: match outcome {
                Ok(result) => AnswerOutcome::Result(result),
                Err(error) => AnswerOutcome::Error(error),
            },
        }
    }
}

#[derive(Serialize)]
pub(super) struct RequestMessage<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    jsonrpc: Option<&'static str>,
    id: i64,
    method: &'a str,
    params: &'a T,
}

impl<'a, T> RequestMessage<'a, T> {
    pub(super) fn new(dialect: RpcDialect, id: i64, method: &'a str, params: &'a T) -> Self {
        Self {
            jsonrpc: dialect.tag(),
            id,
            method,
            params,
        }
    }
}

#[cfg(test)]
mod tests;
