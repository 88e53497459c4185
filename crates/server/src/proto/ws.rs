//! WebSocket: one JSON object per text message, both ways, at any path.

use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use http::{HeaderMap, StatusCode};
use tokio::time::timeout;
use troupe_protocol::JsonCodec;
use troupe_protocol::discard;
use troupe_transport::limits::{BATCH_BYTES_MAX, LINE_BYTES_MAX};
use troupe_transport::{FromClient, event_json};

use super::client::{ClientGone, ClientInlet, ClientOutlet, OutgoingMessage, serve_client};
use super::web::{TokenStatus, WebHost};
use crate::limits::SIGNS_MISSED_MAX;
use crate::web::no_place;

pub(super) fn router() -> Router<WebHost> {
    Router::new().fallback(any(upgrade))
}

/// Browsers cannot send the header; they show the token in their hello.
async fn upgrade(
    State(host): State<WebHost>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let door = match host.shown(&headers) {
        TokenStatus::Right => host.door.opened(),
        TokenStatus::Nothing => host.door,
        TokenStatus::Full(full) => return no_place(full),
        TokenStatus::Wrong => {
            return (StatusCode::UNAUTHORIZED, "the token is wrong\n").into_response();
        }
    };
    upgrade
        // The bound of a message is ours, so that a longer one is answered.
        .max_message_size(LINE_BYTES_MAX + 1024 * 1024)
        .max_frame_size(LINE_BYTES_MAX + 1024 * 1024)
        .on_upgrade(async move |socket| {
            let (sink, stream) = socket.split();
            let outlet = WebSocketOutlet {
                sink,
                queue: Vec::new(),
                bytes: 0,
            };
            let inlet = WebSocketInlet {
                stream,
                silence_max: host.hub.keepalive * (SIGNS_MISSED_MAX + 1),
            };
            serve_client(&host.hub, &door, inlet, outlet).await;
        })
}

struct WebSocketInlet {
    stream: SplitStream<WebSocket>,
    /// How long nothing may come, not even the answer to a ping.
    silence_max: Duration,
}

impl ClientInlet for WebSocketInlet {
    async fn next(&mut self) -> Option<FromClient> {
        loop {
            let message = timeout(self.silence_max, self.stream.next()).await.ok()?;
            match message?.ok()? {
                Message::Text(text) => return Some(decode(text.as_bytes())),
                Message::Binary(bytes) => return Some(decode(&bytes)),
                // The library answers a ping.
                Message::Ping(_) | Message::Pong(_) => {}
                Message::Close(_) => return None,
            }
        }
    }
}

fn decode(message: &[u8]) -> FromClient {
    if message.len() > LINE_BYTES_MAX {
        return FromClient::too_long(&message[..LINE_BYTES_MAX], LINE_BYTES_MAX);
    }
    FromClient::decode(message)
}

struct WebSocketOutlet {
    sink: SplitSink<WebSocket, Message>,
    queue: Vec<Message>,
    bytes: usize,
}

impl ClientOutlet for WebSocketOutlet {
    fn add(&mut self, message: OutgoingMessage<'_>) {
        let text = match message {
            OutgoingMessage::Notice(notice) => notice.to_json().unwrap_or_default(),
            OutgoingMessage::Event(event) => event_json(event),
        };
        self.bytes += text.len();
        self.queue.push(Message::Text(text.into()));
    }

    fn add_sign(&mut self) {
        self.queue.push(Message::Ping(Bytes::new()));
    }

    fn is_full(&self) -> bool {
        self.bytes >= BATCH_BYTES_MAX
    }

    async fn flush(&mut self) -> Result<(), ClientGone> {
        for message in self.queue.drain(..) {
            self.sink.feed(message).await.map_err(|_| ClientGone)?;
        }
        self.bytes = 0;
        self.sink.flush().await.map_err(|_| ClientGone)
    }

    async fn close(&mut self) {
        let frame = CloseFrame {
            code: close_code::NORMAL,
            reason: "see the last message".into(),
        };
        // Who is gone needs no end.
        discard!(
            self.sink.send(Message::Close(Some(frame))).await,
            "a connection was closed without a last message: the client is gone"
        );
    }
}
