//! HTTP/2, or 1.1: events as server-sent events, submissions by `POST`.
//!
//! | request | answer |
//! |---|---|
//! | `GET /v1/events?role=follow&after=41&client=c-1` | the stream; `Last-Event-ID` goes before `after` |
//! | `POST /v1/submissions` with one submission or seat request | `202` accepted, `204` done, or why not |
//!
//! A stream is a client, and its `welcome` names it. A submission says whose it is by the header
//! `Troupe-Client`, and proves it by `Troupe-Client-Secret`; one without belongs to nobody, and is
//! accepted while nobody drives.

use std::convert::Infallible;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use troupe_protocol::ClientId;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::link::{ClientRequest, ClientRole, Hello, Secret, ServerNotice};
use troupe_transport::limits::{BATCH_BYTES_MAX, LINE_BYTES_MAX};
use troupe_transport::{FromClient, sse};

use super::client::{ClientGone, ClientInlet, ClientOutlet, OutgoingMessage, serve_client};
use super::hub::MessageSender;
use super::web::{TokenStatus, WebHost};
use crate::limits::OUTGOING_QUEUED_MAX;
use crate::web::no_place;

const CLIENT_HEADER: &str = "troupe-client";
/// In a header, because addresses are written to logs.
const SECRET_HEADER: &str = "troupe-client-secret";
const LAST_EVENT_HEADER: &str = "last-event-id";

pub(super) fn router() -> Router<WebHost> {
    Router::new()
        .route("/v1/events", get(events))
        .route("/v1/submissions", post(submissions))
}

#[derive(Debug, Deserialize)]
struct EventStreamQuery {
    #[serde(default = "follow")]
    role: ClientRole,
    #[serde(default)]
    after: u64,
    client: Option<ClientId>,
}

/// Who only reads a stream has no use for the seat.
fn follow() -> ClientRole {
    ClientRole::Follow
}

async fn events(
    State(host): State<WebHost>,
    headers: HeaderMap,
    Query(wish): Query<EventStreamQuery>,
) -> Response {
    if let Some(refusal) = refuse_stranger(&host, &headers) {
        return refusal;
    }
    let last = headers.get(LAST_EVENT_HEADER);
    let after = match last.map(|value| value.to_str().unwrap_or_default().parse()) {
        None => wish.after,
        Some(Ok(seq)) => seq,
        Some(Err(_)) => return complaint(StatusCode::BAD_REQUEST, "Last-Event-ID is no number"),
    };
    let hello = Hello {
        token: None,
        client: wish.client,
        secret: secret(&headers),
        role: wish.role,
        after,
    };
    let (sender, mut pieces) = mpsc::channel(OUTGOING_QUEUED_MAX);
    let gone = CancellationToken::new();
    let reading = gone.clone().drop_guard();
    tokio::spawn(async move {
        let inlet = HttpInlet {
            hello: Some(hello),
            gone,
        };
        let outlet = HttpOutlet {
            sender,
            batch: Vec::new(),
        };
        // Ends when the response is dropped, and `reading` with it.
        serve_client(&host.hub, &host.door.opened(), inlet, outlet).await;
    });
    let next = move |context: &mut Context<'_>| -> Poll<Option<Result<Bytes, Infallible>>> {
        let _reading = &reading;
        pieces.poll_recv(context).map(|piece| piece.map(Ok))
    };
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, Body::from_stream(stream::poll_fn(next))).into_response()
}

/// The one thing that a reader of a stream says is how it came.
struct HttpInlet {
    hello: Option<Hello>,
    gone: CancellationToken,
}

impl ClientInlet for HttpInlet {
    async fn next(&mut self) -> Option<FromClient> {
        if let Some(hello) = self.hello.take() {
            return Some(FromClient::Request(ClientRequest::Hello(hello)));
        }
        self.gone.cancelled().await;
        None
    }
}

struct HttpOutlet {
    sender: mpsc::Sender<Bytes>,
    batch: Vec<u8>,
}

impl ClientOutlet for HttpOutlet {
    fn add(&mut self, message: OutgoingMessage<'_>) {
        match message {
            OutgoingMessage::Notice(notice) => sse::push_notice(&mut self.batch, notice),
            OutgoingMessage::Event(event) => sse::push_event(&mut self.batch, event),
        }
    }

    fn add_sign(&mut self) {
        sse::push_comment(&mut self.batch);
    }

    fn is_full(&self) -> bool {
        self.batch.len() >= BATCH_BYTES_MAX
    }

    async fn flush(&mut self) -> Result<(), ClientGone> {
        if !self.batch.is_empty() {
            let place = self.sender.reserve().await.map_err(|_| ClientGone)?;
            place.send(std::mem::take(&mut self.batch).into());
        }
        Ok(())
    }

    async fn close(&mut self) {
        // In place of the only sender comes one that nobody reads from: the stream ends.
        self.sender = mpsc::channel(1).0;
    }
}

async fn submissions(State(host): State<WebHost>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    if let Some(refusal) = refuse_stranger(&host, &head.headers) {
        return refusal;
    }
    // One that says that it is too long is not read at all.
    let announced = body.size_hint().lower();
    let read = match usize::try_from(announced) {
        Ok(bytes) if bytes <= LINE_BYTES_MAX => to_bytes(body, LINE_BYTES_MAX).await.ok(),
        _ => None,
    };
    let Some(body) = read else {
        let message = format!("submission is longer than {LINE_BYTES_MAX} bytes, or not complete");
        return complaint(StatusCode::PAYLOAD_TOO_LARGE, &message);
    };
    let client = head.headers.get(CLIENT_HEADER).map(HeaderValue::to_str);
    let speaker = match client.transpose() {
        Ok(None) => MessageSender::Nobody,
        Ok(Some(client)) => MessageSender::Named {
            client: ClientId::from(client),
            secret: secret(&head.headers),
        },
        Err(_) => return complaint(StatusCode::BAD_REQUEST, "Troupe-Client is not text"),
    };
    match FromClient::decode(&body) {
        FromClient::Refused(refusal) => {
            let notice = ServerNotice::Refused {
                id: refusal.id.clone(),
                error: refusal.into(),
            };
            (StatusCode::BAD_REQUEST, Json(notice)).into_response()
        }
        message => match host.hub.say(speaker, message).await {
            None => StatusCode::NO_CONTENT.into_response(),
            Some(notice) => (status_of(&notice), Json(notice)).into_response(),
        },
    }
}

fn secret(headers: &HeaderMap) -> Option<Secret> {
    let shown = headers.get(SECRET_HEADER)?.to_str().ok()?;
    Some(Secret(shown.to_owned()))
}

fn status_of(notice: &ServerNotice) -> StatusCode {
    match notice {
        ServerNotice::Accepted { .. } => StatusCode::ACCEPTED,
        ServerNotice::Goodbye { .. } => StatusCode::GONE,
        ServerNotice::Refused { error, .. } => match error.error_info {
            Some(ErrorInfo::NotDriving) => StatusCode::CONFLICT,
            Some(ErrorInfo::NotFound) => StatusCode::NOT_FOUND,
            Some(ErrorInfo::Unauthorized) => StatusCode::UNAUTHORIZED,
            _ => StatusCode::BAD_REQUEST,
        },
        _ => StatusCode::OK,
    }
}

fn refuse_stranger(host: &WebHost, headers: &HeaderMap) -> Option<Response> {
    let message = match host.shown(headers) {
        TokenStatus::Right => return None,
        TokenStatus::Full(full) => return Some(no_place(full)),
        TokenStatus::Wrong => "the token is wrong",
        TokenStatus::Nothing => "show the token: Authorization: Bearer TOKEN",
    };
    Some(complaint(StatusCode::UNAUTHORIZED, message))
}

fn complaint(status: StatusCode, message: &str) -> Response {
    (status, format!("{message}\n")).into_response()
}
