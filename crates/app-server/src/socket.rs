//! A client over a WebSocket: one message of JSON-RPC per text message, both ways.

use std::pin::pin;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;
use troupe_protocol::discard;
use troupe_server::limits::{LINGER_MS_MAX, SIGNS_MISSED_MAX, STALLED_MS_MAX};
use troupe_transport::limits::{BATCH_BYTES_MAX, RPC_MESSAGE_BYTES_MAX};
use troupe_transport::rpc::PeerGone;

use super::AppServer;
use super::connection::AppConnection;

/// Serves a client until it goes, does not read any more, or `ending` says so.
pub(super) async fn converse(
    app: &AppServer,
    socket: WebSocket,
    keepalive: Duration,
    ending: &CancellationToken,
) {
    let (connection, presence, messages) = AppConnection::open(app);
    let (sink, stream) = socket.split();
    let mut written = pin!(write(messages, sink, keepalive));
    let silence_max = keepalive * (SIGNS_MISSED_MAX + 1);
    let served = async {
        read(&connection, stream, silence_max).await;
        connection.finish().await;
    };
    tokio::select! {
        () = &mut written => return,
        () = served => {}
        () = ending.cancelled() => {}
    }
    drop(presence);
    drop(connection);
    // Who does not read its last messages in time does not get them.
    discard!(
        timeout(Duration::from_millis(LINGER_MS_MAX), written).await,
        "a client did not read its last messages in time"
    );
}

/// Takes what the client says, until it is gone or was silent for too long: it answers pings.
async fn read(
    connection: &AppConnection,
    mut stream: SplitStream<WebSocket>,
    silence_max: Duration,
) {
    while let Ok(Some(Ok(message))) = timeout(silence_max, stream.next()).await {
        match message {
            Message::Text(text) => receive(connection, text.as_bytes()).await,
            Message::Binary(bytes) => receive(connection, &bytes).await,
            // The library answers a ping.
            Message::Ping(_) | Message::Pong(_) => {}
            Message::Close(_) => return,
        }
    }
}

async fn receive(connection: &AppConnection, message: &[u8]) {
    if message.len() > RPC_MESSAGE_BYTES_MAX {
        connection.too_long(RPC_MESSAGE_BYTES_MAX).await;
    } else {
        connection.receive(message).await;
    }
}

/// Writes messages until there are no more, or nobody reads.
async fn write(
    mut messages: mpsc::Receiver<Vec<u8>>,
    mut sink: SplitSink<WebSocket, Message>,
    keepalive: Duration,
) {
    let mut signs = interval_at(Instant::now() + keepalive, keepalive);
    signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let first = tokio::select! {
            message = messages.recv() => match message {
                Some(message) => Message::Text(text(message).into()),
                None => break,
            },
            _ = signs.tick() => Message::Ping(Vec::new().into()),
        };
        let sent = send(&mut sink, first, &mut messages);
        let time = Duration::from_millis(STALLED_MS_MAX);
        if !matches!(timeout(time, sent).await, Ok(Ok(()))) {
            return;
        }
    }
    let goodbye = CloseFrame {
        code: close_code::AWAY,
        reason: "the server is done with this connection".into(),
    };
    // Who is gone needs no end.
    discard!(
        sink.send(Message::Close(Some(goodbye))).await,
        "a connection was closed without a last message: the client is gone"
    );
}

/// Sends a message, and what else waits with it.
async fn send(
    sink: &mut SplitSink<WebSocket, Message>,
    first: Message,
    others: &mut mpsc::Receiver<Vec<u8>>,
) -> Result<(), PeerGone> {
    sink.feed(first).await.map_err(|_| PeerGone)?;
    let mut bytes = 0;
    while bytes < BATCH_BYTES_MAX
        && let Ok(message) = others.try_recv()
    {
        bytes += message.len();
        let message = Message::Text(text(message).into());
        sink.feed(message).await.map_err(|_| PeerGone)?;
    }
    sink.flush().await.map_err(|_| PeerGone)
}

fn text(message: Vec<u8>) -> String {
    String::from_utf8(message).expect("messages are written as JSON, which is UTF-8")
}
