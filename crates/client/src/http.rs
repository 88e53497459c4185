//! HTTP/2: events as server-sent events, submissions by `POST`.

use std::collections::VecDeque;
use std::io;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use troupe_protocol::ClientId;
use troupe_protocol::link::{ClientRole, Goodbye, Hello, Secret, ServerNotice};
use troupe_transport::limits::LINE_BYTES_MAX;
use troupe_transport::sse::SseReader;
use troupe_transport::{FromServer, ToServer};

use crate::connect::{HttpOrigin, Stream};
use crate::h2::Http2Connection;

const CLIENT_HEADER: &str = "troupe-client";
const SECRET_HEADER: &str = "troupe-client-secret";

#[derive(Debug)]
pub(crate) struct HttpLink {
    connection: Http2Connection<Full<Bytes>>,
    origin: HttpOrigin,
    token: Option<Secret>,
    /// Our name, and what proves that it is ours.
    client: Option<(ClientId, Secret)>,
    events: Incoming,
    reader: SseReader,
    /// Answers to what was sent.
    answers: VecDeque<FromServer>,
}

impl HttpLink {
    pub(crate) async fn new(stream: Stream, origin: HttpOrigin, hello: &Hello) -> io::Result<Self> {
        let mut connection = Http2Connection::new(stream).await?;
        let role = match hello.role {
            ClientRole::Drive => "drive",
            ClientRole::Follow => "follow",
        };
        let mut path = format!("/v1/events?role={role}&after={}", hello.after);
        if let Some(client) = &hello.client {
            path.push_str("&client=");
            path.push_str(client.as_str());
        }
        let mut request = request(&origin, Method::GET, &path, hello.token.as_ref());
        if let Some(secret) = &hello.secret {
            request = request.header(SECRET_HEADER, secret.0.as_str());
        }
        let request = request.body(Full::default()).map_err(io::Error::other)?;
        let response = connection.request(request).await?;
        let status = response.status();
        let mut link = Self {
            connection,
            origin,
            token: hello.token.clone(),
            client: None,
            events: response.into_body(),
            reader: SseReader::default(),
            answers: VecDeque::new(),
        };
        if status != StatusCode::OK {
            let goodbye = link.refusal(status).await?;
            link.answers
                .push_back(FromServer::Notice(Box::new(goodbye)));
        }
        Ok(link)
    }

    /// Reads why there is no stream.
    async fn refusal(&mut self, status: StatusCode) -> io::Result<ServerNotice> {
        let body = Limited::new(&mut self.events, LINE_BYTES_MAX);
        let body = body.collect().await.map_err(io::Error::other)?;
        let message = String::from_utf8_lossy(&body.to_bytes()).trim().to_owned();
        Ok(ServerNotice::Goodbye {
            reason: match status {
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Goodbye::Unauthorized,
                _ => Goodbye::Misunderstood,
            },
            message,
        })
    }

    pub(crate) async fn next(&mut self) -> io::Result<Option<FromServer>> {
        loop {
            if let Some(answer) = self.answers.pop_front() {
                return Ok(Some(answer));
            }
            while let Some(data) = self.reader.next_data().map_err(unreadable)? {
                if let Ok(message) = FromServer::decode(&data) {
                    return Ok(Some(self.remember_identity(message)));
                }
            }
            match self.events.frame().await {
                None => return Ok(None),
                Some(frame) => {
                    if let Ok(piece) = frame.map_err(io::Error::other)?.into_data() {
                        self.reader.feed(&piece);
                    }
                }
            }
        }
    }

    /// Remembers who we are.
    fn remember_identity(&mut self, message: FromServer) -> FromServer {
        if let FromServer::Notice(notice) = &message
            && let ServerNotice::Welcome(welcome) = notice.as_ref()
        {
            self.client = Some((welcome.client.clone(), welcome.secret.clone()));
        }
        message
    }

    pub(crate) async fn send(&mut self, message: &ToServer) -> io::Result<()> {
        let body = message.to_json()?;
        let path = "/v1/submissions";
        let mut request = request(&self.origin, Method::POST, path, self.token.as_ref())
            .header(CONTENT_TYPE, "application/json");
        if let Some((client, secret)) = &self.client {
            request = request
                .header(CLIENT_HEADER, client.as_str())
                .header(SECRET_HEADER, secret.0.as_str());
        }
        let request = request.body(Full::from(body)).map_err(io::Error::other)?;
        let response = self.connection.request(request).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LINE_BYTES_MAX);
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        match FromServer::decode(&body) {
            Ok(answer) => self.answers.push_back(answer),
            Err(_) if status == StatusCode::NO_CONTENT => {}
            Err(_) => return Err(io::Error::other(format!("the server answered {status}"))),
        }
        Ok(())
    }
}

fn request(
    origin: &HttpOrigin,
    method: Method,
    path: &str,
    token: Option<&Secret>,
) -> http::request::Builder {
    let request = Request::builder()
        .method(method)
        .uri(origin.url("http", path));
    match token {
        Some(token) => request.header(AUTHORIZATION, format!("Bearer {}", token.0)),
        None => request,
    }
}

fn unreadable(refusal: troupe_transport::LineRefusal) -> io::Error {
    io::Error::other(refusal.message)
}
