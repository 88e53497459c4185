//! One route: what the table says of it is all that routing, token checks and documents know.

pub(crate) mod body;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::daemon::Daemon;
use crate::limits::CLIENT_NAME_CHARS_MAX;
use crate::problem::Problem;
use body::{KnownMembers, read_body, read_query};

/// What a client must have shown before a route serves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteScope {
    /// Nothing.
    Open,
    /// The token. It changes nothing.
    Read,
    /// The token. It answers what only a person may.
    Answer,
    /// The token. It changes sessions.
    Act,
}

/// What an answer is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyMedia {
    Json,
    /// Server-sent events, for as long as the client stays.
    Events,
}

/// The words of a route.
#[derive(Debug, Clone)]
pub(crate) struct RouteHead {
    pub method: Method,
    /// With its parameters in braces, without the prefix of the version.
    pub path: &'static str,
    /// What clients that are made from the OpenAPI file call it.
    pub operation: &'static str,
    pub summary: &'static str,
    pub scope: RouteScope,
    /// Of the answer when it did what was asked.
    pub status: StatusCode,
    pub media: ReplyMedia,
}

impl RouteHead {
    pub(crate) fn new(
        method: Method,
        path: &'static str,
        operation: &'static str,
        scope: RouteScope,
        summary: &'static str,
    ) -> Self {
        Self {
            method,
            path,
            operation,
            summary,
            scope,
            status: StatusCode::OK,
            media: ReplyMedia::Json,
        }
    }

    pub(crate) fn events(mut self) -> Self {
        self.media = ReplyMedia::Events;
        self
    }

    pub(crate) fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }
}

type SchemaMaker = fn(&mut SchemaGenerator) -> Schema;
type RouteFuture = Pin<Box<dyn Future<Output = Result<Response, Problem>> + Send>>;

/// A route with its types and its handler.
#[derive(Clone)]
pub(crate) struct Route {
    pub head: RouteHead,
    pub query: SchemaMaker,
    pub body: SchemaMaker,
    pub answer: SchemaMaker,
    serve: Arc<dyn Fn(RawCall) -> RouteFuture + Send + Sync>,
}

impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.head.method, self.head.path)
    }
}

/// A request as it came, its body read.
#[derive(Debug)]
pub(crate) struct RawCall {
    pub daemon: Daemon,
    pub path: PathValues,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// The values of the parameters in the path.
#[derive(Debug, Default)]
pub(crate) struct PathValues(pub Vec<(String, String)>);

impl PathValues {
    /// Returns a value; that of a parameter which the path does not have is empty.
    pub(crate) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }
}

/// A request that makes sense.
#[derive(Debug)]
pub(crate) struct RouteCall<Q, B> {
    pub daemon: Daemon,
    pub path: PathValues,
    pub query: Q,
    pub body: B,
    /// The version that the client knows, of `If-Match`.
    pub if_match: Option<String>,
    /// How far a client of a stream has come, of `Last-Event-ID`.
    pub last_event_id: Option<String>,
    /// Who asks, as it calls itself.
    pub client: String,
}

impl<Q, B> RouteCall<Q, B> {
    /// Refuses a request that was made for another version than this one.
    pub(crate) fn check_version(
        &self,
        version: &str,
        current: impl FnOnce() -> serde_json::Value,
    ) -> Result<(), Problem> {
        match self.if_match.as_deref() {
            None | Some("*") => Ok(()),
            Some(asked) if asked == version => Ok(()),
            Some(_) => Err(Problem::new(
                StatusCode::PRECONDITION_FAILED,
                "version_changed",
                "it was changed meanwhile; look at `current`, and send If-Match with its version",
            )
            .field("If-Match")
            .current(current())),
        }
    }
}

/// An answer with the headers that belong to it.
#[derive(Debug)]
pub(crate) struct RouteReply<T> {
    pub value: T,
    version: Option<String>,
    location: Option<String>,
}

impl<T> RouteReply<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            value,
            version: None,
            location: None,
        }
    }

    /// Adds the ETag.
    pub(crate) fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Says where what was made is found.
    pub(crate) fn location(mut self, path: String) -> Self {
        self.location = Some(path);
        self
    }
}

/// A body or a query with nothing in it.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoMembers {}

/// Makes a route of its words and its handler, from whose types all else follows.
pub(crate) fn route<Q, B, T, H, F>(head: RouteHead, handler: H) -> Route
where
    Q: DeserializeOwned + JsonSchema + Send + 'static,
    B: DeserializeOwned + JsonSchema + Send + 'static,
    T: Serialize + JsonSchema + 'static,
    H: Fn(RouteCall<Q, B>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<RouteReply<T>, Problem>> + Send + 'static,
{
    let status = head.status;
    let answered = move |call| {
        let served = handler(call);
        async move { Ok(respond(&served.await?, status)) }
    };
    Route {
        answer: |generator| generator.subschema_for::<T>(),
        ..stream(head, answered)
    }
}

/// Makes a route whose answer has no end of its own.
pub(crate) fn stream<Q, B, H, F>(head: RouteHead, handler: H) -> Route
where
    Q: DeserializeOwned + JsonSchema + Send + 'static,
    B: DeserializeOwned + JsonSchema + Send + 'static,
    H: Fn(RouteCall<Q, B>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response, Problem>> + Send + 'static,
{
    let known_query = KnownMembers::of::<Q>();
    let known_body = KnownMembers::of::<B>();
    let serve = move |raw: RawCall| -> RouteFuture {
        match read_call(raw, &known_query, &known_body) {
            Err(problem) => Box::pin(std::future::ready(Err(problem))),
            Ok(call) => Box::pin(handler(call)),
        }
    };
    Route {
        head,
        query: |generator| generator.subschema_for::<Q>(),
        body: |generator| generator.subschema_for::<B>(),
        answer: |generator| generator.subschema_for::<String>(),
        serve: Arc::new(serve),
    }
}

fn read_call<Q: DeserializeOwned, B: DeserializeOwned>(
    raw: RawCall,
    known_query: &KnownMembers,
    known_body: &KnownMembers,
) -> Result<RouteCall<Q, B>, Problem> {
    let last_event_id = raw.headers.get("last-event-id");
    let last_event_id = last_event_id.map(|value| value.to_str().unwrap_or_default().to_owned());
    Ok(RouteCall {
        query: read_query(&raw.uri, known_query)?,
        body: read_body(&raw.headers, &raw.body, known_body)?,
        if_match: if_match(&raw.headers)?,
        last_event_id,
        client: client_name(&raw.headers),
        daemon: raw.daemon,
        path: raw.path,
    })
}

impl Route {
    pub(crate) async fn serve(&self, call: RawCall) -> Response {
        let path = call.uri.path().to_owned();
        match (self.serve)(call).await {
            Ok(response) => response,
            Err(problem) => problem.at(&path).into_response(),
        }
    }
}

fn respond<T: Serialize>(reply: &RouteReply<T>, status: StatusCode) -> Response {
    let body = match serde_json::to_vec(&reply.value) {
        Ok(body) => body,
        Err(error) => return Problem::internal(error.to_string()).into_response(),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    let tag = reply
        .version
        .as_ref()
        .map(|version| format!("\"{version}\""));
    for (name, text) in [
        (header::ETAG, tag),
        (header::LOCATION, reply.location.clone()),
    ] {
        if let Some(Ok(value)) = text.map(|text| HeaderValue::from_str(&text)) {
            headers.insert(name, value);
        }
    }
    response
}

/// Returns the version of `If-Match`, without its quotes.
fn if_match(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get(header::IF_MATCH) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default().trim();
    let bare = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match (text, bare) {
        ("*", _) => Ok(Some("*".to_owned())),
        (_, Some(bare)) if !bare.contains('"') => Ok(Some(bare.to_owned())),
        _ => Err(Problem::bad_request(
            "bad_header",
            "If-Match takes one ETag with its quotes, or *",
        )
        .field("If-Match")),
    }
}

/// Returns what a client calls itself: `X-Troupe-Client`, else `User-Agent`.
fn client_name(headers: &HeaderMap) -> String {
    let named = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let name = named("x-troupe-client").or_else(|| named("user-agent"));
    name.unwrap_or("somebody")
        .chars()
        .take(CLIENT_NAME_CHARS_MAX)
        .collect()
}
