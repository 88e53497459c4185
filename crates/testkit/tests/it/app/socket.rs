//! An app-server with its doors open, and clients that come in over WebSockets.

use std::io;

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{WebSocketStream, client_async};
use tokio_util::sync::CancellationToken;
use troupe_app_server::{AppListener, AppServer};
use troupe_server::{ListenOptions, ListenReach};

use super::client::Client;
use crate::it::wire::house::{KEEPALIVE, TOKEN, token_in};

pub struct Listening {
    urls: Vec<String>,
    ending: CancellationToken,
    running: JoinHandle<()>,
    _directory: TempDir,
}

impl Listening {
    /// Opens an app to clients of this machine, by a socket and by the network.
    pub async fn open(app: &AppServer) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = format!("unix://{}", directory.path().join("a.sock").display());
        let listener = AppListener::bind(ListenOptions {
            listen: vec![socket.parse().unwrap(), "ws://127.0.0.1:0".parse().unwrap()],
            token: Some(token_in(&directory)),
            reach: ListenReach::ThisMachine,
            hosts: Vec::new(),
            origins: Vec::new(),
            tls: None,
            keepalive: KEEPALIVE,
        })
        .await
        .unwrap();
        let urls = listener.urls().collect();
        let ending = CancellationToken::new();
        let (app, until) = (app.clone(), ending.clone());
        let running = tokio::spawn(async move { listener.run(&app, until).await });
        Self {
            urls,
            ending,
            running,
            _directory: directory,
        }
    }

    /// Returns the path of the socket.
    pub fn socket(&self) -> &str {
        self.urls[0].strip_prefix("unix://").unwrap()
    }

    /// Returns where the listener is in the network.
    pub fn place(&self) -> &str {
        self.urls[1].strip_prefix("ws://").unwrap()
    }

    /// Connects a client that has introduced itself, over the Unix socket.
    pub async fn local(&self) -> Client {
        let stream = UnixStream::connect(self.socket()).await.unwrap();
        over(stream, "ws://localhost/").await
    }

    /// As [`Self::local`], over the network, with the token.
    pub async fn remote(&self) -> Client {
        let stream = TcpStream::connect(self.place()).await.unwrap();
        over(stream, &self.urls[1]).await
    }

    pub async fn close(self) {
        self.ending.cancel();
        self.running.await.unwrap();
    }
}

async fn over(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, url: &str) -> Client {
    let mut request = url.into_client_request().unwrap();
    let token = format!("Bearer {TOKEN}").parse().unwrap();
    request.headers_mut().insert("authorization", token);
    let (socket, _) = client_async(request, stream).await.unwrap();
    let mut client = Client::of(|read, write| carry(read, write, socket));
    client.introduce(json!({"experimentalApi": true})).await;
    client
}

/// Carries lines to a WebSocket and back, until both have ended.
async fn carry<S: AsyncRead + AsyncWrite + Unpin>(
    read: impl AsyncRead + Unpin,
    mut write: impl AsyncWrite + Unpin,
    mut socket: WebSocketStream<S>,
) -> io::Result<()> {
    let mut lines = BufReader::new(read).lines();
    let mut open = true;
    loop {
        tokio::select! {
            line = lines.next_line(), if open => {
                let line = line?;
                open = line.is_some();
                let message = line.map_or(Message::Close(None), Message::text);
                socket.send(message).await.unwrap();
            }
            message = socket.next() => match message {
                Some(Ok(Message::Text(text))) => {
                    write.write_all(format!("{text}\n").as_bytes()).await?;
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return write.shutdown().await,
            },
        }
    }
}
