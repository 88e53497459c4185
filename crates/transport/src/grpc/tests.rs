use troupe_protocol::link::{ClientRequest, ClientRole, Hello, HistoryStart, Secret, ServerNotice};
use troupe_protocol::{AgentId, Event, EventMsg, Op, Submission};

use super::{event, from_client, from_server, notice, to_server};
use crate::link::{FromClient, FromServer, ToServer};

#[test]
fn what_a_client_sends_arrives() {
    let hello = Hello {
        token: Some(Secret("t".to_owned())),
        client: Some("c".into()),
        secret: Some(Secret("s".to_owned())),
        role: ClientRole::Follow,
        after: 7,
        history: HistoryStart::Session,
    };
    for request in [
        ClientRequest::Hello(hello),
        ClientRequest::Hello(Hello::default()),
        ClientRequest::TakeSeat,
        ClientRequest::ReleaseSeat,
        ClientRequest::FollowAgent {
            agent: AgentId(2),
            after: 17,
        },
    ] {
        let sent = to_server(&ToServer::Request(request.clone())).unwrap();
        assert_eq!(from_client(sent), FromClient::Request(request));
    }
    let submission = Box::new(Submission {
        id: "\"quoted\"".into(),
        op: Op::SetThreadNote {
            note: "line\nline".to_owned(),
        },
    });
    let sent = to_server(&ToServer::Submission(submission.clone())).unwrap();
    assert_eq!(from_client(sent), FromClient::Submission(submission));
}

#[test]
fn what_a_server_tells_arrives() {
    let told = Event {
        id: "1".into(),
        seq: 2,
        msg: EventMsg::Warning {
            message: "\u{1F3AD} \"}".to_owned(),
        },
    };
    let received = from_server(event(&told)).unwrap();
    assert_eq!(received, FromServer::Event(Box::new(told)));
    let told = ServerNotice::Lagged { after: 1, upto: 2 };
    let received = from_server(notice(&told)).unwrap();
    assert_eq!(received, FromServer::Notice(Box::new(told)));
}

#[test]
fn nonsense_is_refused_as_on_other_transports() {
    use super::generated::client_message::Message;
    use super::generated::{ClientMessage, Submission};
    for op in [
        "",
        "not json",
        "{\"type\":\"dance\"}",
        "1}{",
        "null,\"op\":{\"type\":\"interrupt\"}",
    ] {
        let message = Message::Submission(Submission {
            id: "7".to_owned(),
            op: op.to_owned(),
        });
        let message = Some(message);
        let read = from_client(ClientMessage { message });
        assert!(matches!(read, FromClient::Refused(_)), "{op}: {read:?}");
    }
    let empty = from_client(ClientMessage { message: None });
    assert!(matches!(empty, FromClient::Refused(_)));
}
