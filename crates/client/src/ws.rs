//! WebSocket: one JSON object per text message.

use std::io;

use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use troupe_transport::limits::LINE_BYTES_MAX;
use troupe_transport::{FromServer, ToServer};

use crate::connect::{HttpOrigin, Stream};

#[derive(Debug)]
pub(crate) struct WsLink(WebSocketStream<Stream>);

impl WsLink {
    pub(crate) async fn new(stream: Stream, origin: &HttpOrigin) -> io::Result<Self> {
        let config = WebSocketConfig::default()
            .max_message_size(Some(LINE_BYTES_MAX))
            .max_frame_size(Some(LINE_BYTES_MAX));
        let url = origin.url("ws", "/v1");
        let (socket, _) = client_async_with_config(url, stream, Some(config))
            .await
            .map_err(failed)?;
        Ok(Self(socket))
    }

    pub(crate) async fn next(&mut self) -> io::Result<Option<FromServer>> {
        while let Some(message) = self.0.next().await {
            let decoded = match message.map_err(failed)? {
                Message::Text(text) => FromServer::decode(text.as_bytes()),
                Message::Binary(bytes) => FromServer::decode(&bytes),
                Message::Close(_) => return Ok(None),
                // The library answers a ping.
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => continue,
            };
            if let Ok(message) = decoded {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    pub(crate) async fn send(&mut self, message: &ToServer) -> io::Result<()> {
        let text = message.to_json()?;
        self.0.send(Message::text(text)).await.map_err(failed)
    }
}

fn failed(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
        error => io::Error::other(error),
    }
}
