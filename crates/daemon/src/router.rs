//! The router, made of the table: each route with and without the prefix of the version.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter};
use http::{HeaderName, HeaderValue, Method, StatusCode, header};

use crate::daemon::Daemon;
use crate::kept_answers::{KeptAnswer, RequestVerdict, check_key, digest};
use crate::limits::REQUEST_BYTES_MAX;
use crate::problem::Problem;
use crate::route::{PathValues, RawCall, Route, RouteScope};

/// The prefix of the routes that is written into documents. The seed's have none.
pub(crate) const PREFIX: &str = "/v1";

/// Routes that clients find without the prefix too, and those that need no token.
pub(crate) struct DaemonRouters {
    pub open: Router,
    pub protected: Router,
}

pub(crate) fn routers(daemon: &Daemon, table: Vec<Route>) -> DaemonRouters {
    let (mut open, mut protected) = (Router::new(), Router::new());
    for route in table {
        let router = match route.head.scope {
            RouteScope::Open => &mut open,
            RouteScope::Read | RouteScope::Answer | RouteScope::Act => &mut protected,
        };
        let path = route.head.path;
        let served = served(daemon.clone(), route);
        *router = std::mem::take(router)
            .route(path, served.clone())
            .route(&format!("{PREFIX}{path}"), served);
    }
    DaemonRouters {
        open: open.method_not_allowed_fallback(other_method),
        protected: protected
            .fallback(no_route)
            .method_not_allowed_fallback(other_method),
    }
}

fn served(daemon: Daemon, route: Route) -> MethodRouter {
    let filter = match route.head.method {
        Method::POST => MethodFilter::POST,
        Method::PATCH => MethodFilter::PATCH,
        Method::DELETE => MethodFilter::DELETE,
        Method::PUT => MethodFilter::PUT,
        _ => MethodFilter::GET,
    };
    let route = Arc::new(route);
    MethodRouter::new().on(
        filter,
        async move |params: Result<RawPathParams, RawPathParamsRejection>, request: Request| {
            serve(daemon, route, params, request).await
        },
    )
}

async fn serve(
    daemon: Daemon,
    route: Arc<Route>,
    params: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
) -> Response {
    daemon.seen();
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let read = async {
        let params = params.map_err(|error| Problem::bad_request("bad_path", error.body_text()))?;
        let values = params
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(RawCall {
            daemon: daemon.clone(),
            path: PathValues(values.collect()),
            body: read(body).await?,
            uri: head.uri,
            headers: head.headers,
        })
    };
    let call = match read.await {
        Ok(call) => call,
        Err(problem) => return Problem::at(problem, &path).into_response(),
    };
    let response = if route.head.method == Method::GET {
        // A client that leaves ends its wait.
        route.serve(call).await
    } else {
        // What was begun is done, also if its client leaves.
        let done = tokio::spawn(async move { serve_once(&route, call).await }).await;
        done.unwrap_or_else(|error| {
            tracing::error!(%error, "a request broke off");
            Problem::internal("the request broke off; the diagnostic log tells more")
                .at(&path)
                .into_response()
        })
    };
    daemon.seen();
    response
}

/// Serves a request that changes something. One with a key of its client is done once.
async fn serve_once(route: &Route, call: RawCall) -> Response {
    let path = call.uri.path().to_owned();
    let key = match call.headers.get("idempotency-key") {
        Some(key) if route.head.method == Method::POST => {
            key.to_str().unwrap_or_default().to_owned()
        }
        _ => return route.serve(call).await,
    };
    match do_once(route, call, &key).await {
        Ok(response) => response,
        Err(problem) => problem.at(&path).into_response(),
    }
}

async fn do_once(route: &Route, call: RawCall, key: &str) -> Result<Response, Problem> {
    check_key(key)?;
    let daemon = call.daemon.clone();
    let place = call.uri.path_and_query().map_or("", |place| place.as_str());
    // The same route has two spellings.
    let place = place.strip_prefix(PREFIX).unwrap_or(place);
    let digest = digest(route.head.method.as_str(), place, &call.body);
    match daemon.answers().begin(key, digest).await? {
        RequestVerdict::Repeat(answer) => Ok(repeated(&answer)),
        RequestVerdict::Do => {
            let (head, body) = route.serve(call).await.into_parts();
            let bytes = to_bytes(body, usize::MAX).await;
            let bytes = bytes.map_err(|error| Problem::internal(error.to_string()))?;
            let wanted = [header::CONTENT_TYPE, header::LOCATION, header::ETAG];
            let headers = wanted.iter().filter_map(|name| {
                let value = head.headers.get(name)?.to_str().ok()?;
                Some((name.as_str().to_owned(), value.to_owned()))
            });
            let answer = KeptAnswer {
                status: head.status.as_u16(),
                headers: headers.collect(),
                body: serde_json::from_slice(&bytes).unwrap_or_default(),
            };
            daemon.answers().end(key, answer).await?;
            Ok(Response::from_parts(head, Body::from(bytes)))
        }
    }
}

fn repeated(answer: &KeptAnswer) -> Response {
    let mut response = Response::new(Body::from(answer.body.to_string()));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or_default();
    let headers = response.headers_mut();
    let told = answer
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in told.chain([("idempotency-replayed", "true")]) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(value)) {
            headers.insert(name, value);
        }
    }
    response
}

async fn read(body: Body) -> Result<Vec<u8>, Problem> {
    match to_bytes(body, REQUEST_BYTES_MAX).await {
        Ok(bytes) => Ok(bytes.into()),
        Err(_) => Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body_too_large",
            format!("the body broke off, or has more than {REQUEST_BYTES_MAX} bytes"),
        )),
    }
}

async fn no_route(request: Request) -> Response {
    let path = request.uri().path();
    let detail = format!("there is no {path}; the routes are in /openapi.json");
    Problem::not_found("no_route", detail)
        .at(path)
        .into_response()
}

async fn other_method(request: Request) -> Response {
    let path = request.uri().path();
    let detail = format!("{path} does not take {}", request.method());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "bad_method", detail)
        .at(path)
        .into_response()
}
