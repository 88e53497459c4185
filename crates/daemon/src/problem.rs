//! What went wrong, as every answer that is an error says it: `application/problem+json` (RFC 9457).

use std::borrow::Cow;
use std::ops::Deref;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;
use troupe_agents::TemplateFault;
use troupe_agents::tree_access::TreeError;
use troupe_protocol::error::ErrorInfo;
use troupe_server::{OpenError, SessionRefusal};
use troupe_store::StoreError;
use troupe_tree::{AgentAddressError, TreeRefusal};

/// An error as clients read it. It is handed on by many functions, which are the quicker for a small
/// one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Problem(Box<ProblemDetails>);

/// `code` is for programs, `detail` for people.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub struct ProblemDetails {
    /// Always `about:blank`: the code says what kind of problem it is.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The name of the HTTP status.
    pub title: String,
    pub status: u16,
    /// What is wrong and what to do, in a sentence.
    pub detail: String,
    /// The path of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// Names the kind of problem; it does not change.
    pub code: &'static str,
    /// The member, parameter or header that is concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What would have been accepted in its place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
    /// How what was to be changed stands now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<Value>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self(Box::new(ProblemDetails {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            instance: None,
            code,
            field: None,
            allowed: Vec::new(),
            current: None,
        }))
    }

    pub(crate) fn bad_request(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    pub(crate) fn unprocessable(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", detail).field(field)
    }

    pub(crate) fn not_found(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, detail)
    }

    pub(crate) fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail)
    }

    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
    }

    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    pub(crate) fn field(mut self, field: impl Into<String>) -> Self {
        self.0.field = Some(field.into());
        self
    }

    pub(crate) fn allowed<T: Into<String>>(mut self, allowed: impl IntoIterator<Item = T>) -> Self {
        self.0.allowed = allowed.into_iter().map(Into::into).collect();
        self
    }

    pub(crate) fn current(mut self, current: Value) -> Self {
        self.0.current = Some(current);
        self
    }

    pub(crate) fn at(mut self, path: &str) -> Self {
        self.0.instance = Some(path.to_owned());
        self
    }
}

impl Deref for Problem {
    type Target = ProblemDetails;

    fn deref(&self) -> &ProblemDetails {
        &self.0
    }
}

impl JsonSchema for Problem {
    fn schema_name() -> Cow<'static, str> {
        ProblemDetails::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        ProblemDetails::json_schema(generator)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        let json = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, json);
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let detail = error.to_string();
        match error {
            StoreError::NotFound { .. } => Self::not_found("session_not_found", detail),
            StoreError::NoTurn { .. } => Self::not_found("task_not_found", detail).field("task_id"),
            StoreError::TurnRuns { .. } => Self::conflict("task_running", detail).field("task_id"),
            StoreError::Ambiguous { candidates, .. } | StoreError::SameName { candidates, .. } => {
                let candidates = candidates.iter().map(ToString::to_string);
                Self::conflict("ambiguous", detail).allowed(candidates)
            }
            StoreError::Owned { .. } => Self::conflict("held_elsewhere", detail),
            StoreError::Member { .. } => Self::conflict("member_of_tree", detail),
            StoreError::Cursor { .. } => Self::bad_request("bad_cursor", detail).field("cursor"),
            StoreError::Full { .. } => {
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "disk_full", detail)
            }
            StoreError::NotWritable { .. } => {
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "not_writable", detail)
            }
            _ => Self::internal(detail),
        }
    }
}

impl From<TreeError> for Problem {
    fn from(error: TreeError) -> Self {
        let detail = error.to_string();
        match error {
            TreeError::Refused(TreeRefusal::Unknown(_))
            | TreeError::Address(AgentAddressError::Unknown(_)) => {
                Self::not_found("session_not_found", detail)
            }
            TreeError::Address(_) => Self::conflict("ambiguous", detail),
            TreeError::Refused(_) | TreeError::Kept { .. } => Self::conflict("refused", detail),
            TreeError::Role(_) => Self::unprocessable("agent_type", detail),
            TreeError::OutputSchema(_) => Self::unprocessable("output_schema", detail),
            TreeError::Template(fault) => fault.into(),
            TreeError::UnknownModel { known, .. } | TreeError::UnlistedModel { known, .. } => {
                Self::unprocessable("model", detail).allowed(known)
            }
            TreeError::UnsupportedEffort { known, .. } => {
                Self::unprocessable("reasoning_effort", detail).allowed(known)
            }
            TreeError::WiderSandbox { .. } => Self::unprocessable("sandbox_mode", detail),
            TreeError::Invalid(_) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", detail),
            TreeError::NoResult(_) => Self::not_found("no_result", detail),
            TreeError::ResultLost { .. } => Self::new(StatusCode::GONE, "result_lost", detail),
            TreeError::NoWayBack { .. } => Self::conflict("log_unreadable", detail),
            TreeError::ModelsLoading { .. } | TreeError::Ended => Self::unavailable(detail),
            TreeError::Storage(_) => Self::internal(detail),
        }
    }
}

impl From<TemplateFault> for Problem {
    fn from(fault: TemplateFault) -> Self {
        let problem = Self::unprocessable("callback_config.template", fault.to_string());
        match fault.place {
            None => problem,
            Some((line, column)) => {
                problem.current(serde_json::json!({"line": line, "column": column}))
            }
        }
    }
}

impl From<OpenError> for Problem {
    fn from(error: OpenError) -> Self {
        let detail = error.to_string();
        match error {
            OpenError::Refused { info, .. } => refused(info.as_ref(), detail),
            OpenError::Full { .. } | OpenError::Ending | OpenError::Ended => {
                Self::unavailable(detail)
            }
        }
    }
}

impl From<SessionRefusal> for Problem {
    fn from(refusal: SessionRefusal) -> Self {
        let SessionRefusal { message, info } = refusal;
        refused(info.as_ref(), message)
    }
}

fn refused(info: Option<&ErrorInfo>, detail: String) -> Problem {
    match info {
        Some(ErrorInfo::NotFound) => Problem::not_found("session_not_found", detail),
        Some(ErrorInfo::StorageFailed) => Problem::internal(detail),
        _ => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "refused", detail),
    }
}
