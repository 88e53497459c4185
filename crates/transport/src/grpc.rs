//! gRPC: one stream each way. The code in `generated` comes from `proto/troupe.proto` by
//! `cargo xtask codegen`.

#[rustfmt::skip]
#[allow(clippy::all, clippy::pedantic, reason = "generated")]
mod generated;

pub use generated::troupe_client::TroupeClient;
pub use generated::troupe_server::{Troupe, TroupeServer};
pub use generated::{ClientMessage, ServerMessage};

use generated::client_message::Message as Sent;
use generated::server_message::Message as Told;
use generated::{Role, SeatRequest};
use serde_json::value::RawValue;
use troupe_protocol::link::{ClientRequest, ClientRole, Hello, Secret, ServerNotice};
use troupe_protocol::{ClientId, Event, JsonCodec, Submission};

use crate::limits::LINE_BYTES_MAX;
use crate::link::{FromClient, FromServer, ToServer};
use crate::refusal::LineRefusal;
use crate::write::event_json;

/// Reads what a client sent.
pub fn from_client(message: ClientMessage) -> FromClient {
    let refused = |problem: &str| FromClient::Refused(LineRefusal::new(None, problem));
    match message.message {
        None => refused("message is empty; send a hello, a submission or a seat request"),
        Some(Sent::Hello(hello)) => FromClient::Request(ClientRequest::Hello(Hello {
            role: match hello.role() {
                Role::Drive => ClientRole::Drive,
                Role::Follow => ClientRole::Follow,
            },
            token: non_empty(hello.token).map(Secret),
            client: non_empty(hello.client).map(ClientId),
            secret: non_empty(hello.secret).map(Secret),
            after: hello.after,
        })),
        Some(Sent::Seat(seat)) => match SeatRequest::try_from(seat) {
            Ok(SeatRequest::Take) => FromClient::Request(ClientRequest::TakeSeat),
            Ok(SeatRequest::Release) => FromClient::Request(ClientRequest::ReleaseSeat),
            Ok(SeatRequest::Unspecified) | Err(_) => {
                refused("seat request is unknown; send SEAT_REQUEST_TAKE or SEAT_REQUEST_RELEASE")
            }
        },
        Some(Sent::Submission(submission)) => {
            // Put together to what other transports carry, so that it is judged in the same way.
            let id = serde_json::Value::from(submission.id);
            let line = format!("{{\"id\":{id},\"op\":{}}}", submission.op);
            if line.len() > LINE_BYTES_MAX {
                return FromClient::too_long(&line.as_bytes()[..LINE_BYTES_MAX], LINE_BYTES_MAX);
            }
            FromClient::decode(line.as_bytes())
        }
    }
}

fn non_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// Writes what a client sends.
pub fn to_server(message: &ToServer) -> Result<ClientMessage, serde_json::Error> {
    let message = match message {
        ToServer::Submission(submission) => {
            let Submission { id, op } = submission.as_ref();
            Sent::Submission(generated::Submission {
                id: id.to_string(),
                op: op.to_json()?,
            })
        }
        ToServer::Request(ClientRequest::Hello(hello)) => Sent::Hello(generated::Hello {
            token: hello
                .token
                .clone()
                .map_or_else(String::new, |token| token.0),
            client: hello.client.clone().map_or_else(String::new, |id| id.0),
            secret: hello
                .secret
                .clone()
                .map_or_else(String::new, |secret| secret.0),
            role: match hello.role {
                ClientRole::Drive => Role::Drive,
                ClientRole::Follow => Role::Follow,
            }
            .into(),
            after: hello.after,
        }),
        ToServer::Request(ClientRequest::TakeSeat) => Sent::Seat(SeatRequest::Take.into()),
        ToServer::Request(ClientRequest::ReleaseSeat) => Sent::Seat(SeatRequest::Release.into()),
        // Shows as a refusal, and in the test of all requests.
        ToServer::Request(_) => Sent::Seat(SeatRequest::Unspecified.into()),
    };
    Ok(ClientMessage {
        message: Some(message),
    })
}

/// Writes an event for a client.
pub fn event(event: &Event) -> ServerMessage {
    #[derive(serde::Deserialize)]
    struct EventParts<'a> {
        #[serde(borrow)]
        msg: &'a RawValue,
    }
    let json = event_json(event);
    let msg = serde_json::from_str::<EventParts<'_>>(&json)
        .map_or_else(|_| String::new(), |parts| parts.msg.get().to_owned());
    let message = generated::Event {
        id: event.id.to_string(),
        seq: event.seq,
        msg,
    };
    ServerMessage {
        message: Some(Told::Event(message)),
    }
}

/// Writes a notice for a client.
pub fn notice(notice: &ServerNotice) -> ServerMessage {
    let json = notice
        .to_json()
        .expect("a notice is text, which JSON can express");
    ServerMessage {
        message: Some(Told::Notice(json)),
    }
}

/// Reads what a server sent.
pub fn from_server(message: ServerMessage) -> Result<FromServer, LineRefusal> {
    match message.message {
        None => Err(LineRefusal::new(None, "message is empty")),
        Some(Told::Notice(json)) => FromServer::decode(json.as_bytes()),
        Some(Told::Event(event)) => {
            let id = serde_json::Value::from(event.id);
            let line = format!(
                "{{\"id\":{id},\"seq\":{},\"msg\":{}}}",
                event.seq, event.msg
            );
            FromServer::decode(line.as_bytes())
        }
    }
}

#[cfg(test)]
mod tests;
