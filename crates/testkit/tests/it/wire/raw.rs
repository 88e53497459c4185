//! Clients made by hand, to say what no good client says.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::handshake;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

use super::house::{House, PATIENCE, TOKEN};

pub const TEXT: u8 = 0x1;
pub const PING: u8 = 0x9;

/// Sends a request by hand, and returns the answer as it came.
pub async fn http(place: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(place).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let read = tokio::time::timeout(PATIENCE, stream.read(&mut piece)).await;
        let read = read.expect("the server answers").unwrap_or(0);
        answer.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&answer).into_owned();
        // Refusals are short; a stream goes on, and its beginning is enough.
        if read == 0 || text.contains("\r\n\r\n") && text.ends_with('\n') {
            return text;
        }
    }
}

/// A WebSocket that answers nothing by itself.
pub struct WebSocket(TcpStream);

impl WebSocket {
    pub async fn open(house: &House) -> Self {
        let mut stream = TcpStream::connect(house.socket_of("ws")).await.unwrap();
        let request = format!(
            "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Authorization: Bearer {TOKEN}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        assert!(head.starts_with(b"HTTP/1.1 101"));
        Self(stream)
    }

    /// Sends the head of a frame, which says that so many bytes follow.
    pub async fn announce(&mut self, kind: u8, bytes: u64) {
        let mut head = vec![0x80 | kind, 0x80 | 127];
        head.extend(bytes.to_be_bytes());
        // A mask of zeros changes nothing.
        head.extend([0; 4]);
        self.0.write_all(&head).await.unwrap();
    }

    pub async fn send(&mut self, kind: u8, message: &[u8]) {
        self.announce(kind, message.len() as u64).await;
        self.0.write_all(message).await.unwrap();
    }

    /// Returns the kind and the contents of the next frame, `None` at the end.
    pub async fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let kind = self.0.read_u8().await.ok()? & 0x0f;
        let length = match self.0.read_u8().await.ok()? {
            126 => self.0.read_u16().await.ok()?.into(),
            127 => self.0.read_u64().await.ok()?,
            short => short.into(),
        };
        let mut contents = vec![0; usize::try_from(length).unwrap()];
        self.0.read_exact(&mut contents).await.ok()?;
        Some((kind, contents))
    }
}

/// A call of the gRPC service whose messages are these bytes.
pub struct Call {
    body: Incoming,
    _connection: AbortOnDropHandle<()>,
}

impl Call {
    pub async fn make(house: &House, messages: Vec<u8>) -> Self {
        let stream = TcpStream::connect(house.socket_of("grpc")).await.unwrap();
        let (mut sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
        let connection = tokio::spawn(async move {
            // Its failure is that of the call.
            connection.await.ok();
        });
        let uri = format!("http://{}/troupe.v1.Troupe/Attach", house.socket_of("grpc"));
        let request = Request::post(uri)
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("authorization", format!("Bearer {TOKEN}"))
            .body(Full::new(Bytes::from(messages)))
            .unwrap();
        let response = sender.send_request(request).await.unwrap();
        Self {
            body: response.into_body(),
            _connection: AbortOnDropHandle::new(connection),
        }
    }

    /// Returns the next piece of what the server says, `None` at the end.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        let frame = self.body.frame().await?.ok()?;
        Some(frame.into_data().map(Vec::from).unwrap_or_default())
    }
}

/// A message of the service with a submission of this op in it.
pub fn grpc_submission(op: &[u8]) -> Vec<u8> {
    let mut inner = vec![0x0a, 1, b'7'];
    inner.extend(field(2, op));
    grpc_message(&field(2, &inner))
}

/// A message of the service with these contents.
pub fn grpc_message(contents: &[u8]) -> Vec<u8> {
    let length = u32::try_from(contents.len()).unwrap();
    let mut message = vec![0];
    message.extend(length.to_be_bytes());
    message.extend(contents);
    message
}

fn field(number: u8, contents: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut length = contents.len();
    while length >= 0x80 {
        field.push(length.to_le_bytes()[0] | 0x80);
        length >>= 7;
    }
    field.push(length.to_le_bytes()[0]);
    field.extend(contents);
    field
}
