//! Clients that say nothing: those who are there stay, those who are gone are found out.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use troupe_client::ClientUpdate;
use troupe_protocol::EventMsg;
use troupe_protocol::link::ServerNotice;
use troupe_protocol::op::Op;
use troupe_testkit::Stage;

use super::house::{House, PATIENCE, TOKEN};
use super::raw::{PING, TEXT, WebSocket};

const PLAY: &str = "[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'ok' }]\n";

const OFTEN: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_web_socket_that_answers_no_ping_is_cut() {
    let house = House::open_asking(&Stage::new(PLAY).await, OFTEN).await;
    let mut living = house.drive("ws").await;
    let is_configured = |msg: &EventMsg| matches!(msg, EventMsg::SessionConfigured(_));
    living.until(is_configured).await;
    let mut dead = WebSocket::open(&house).await;
    dead.send(TEXT, br#"{"type":"hello","role":"follow"}"#)
        .await;
    let mut pings = 0;
    let cut = async {
        while let Some((kind, _)) = dead.next().await {
            pings += usize::from(kind == PING);
        }
    };
    tokio::time::timeout(PATIENCE, cut).await.expect("an end");
    assert!(pings > 1, "it was asked {pings} times");
    // Meanwhile the other one was as quiet, and answered.
    let note = "here".to_owned();
    living.submit(Op::SetThreadNote { note }).await;
    loop {
        match living.next().await.expect("the session goes on") {
            ClientUpdate::Event(event)
                if matches!(event.msg, EventMsg::ThreadNoteUpdated { .. }) =>
            {
                break;
            }
            ClientUpdate::Notice(notice) => {
                let is_new = matches!(*notice, ServerNotice::Welcome(_));
                assert!(!is_new, "the connection was made again");
            }
            ClientUpdate::Event(_) => {}
        }
    }
}

#[tokio::test]
async fn a_stream_of_events_shows_that_somebody_is_there() {
    let house = House::open_asking(&Stage::new(PLAY).await, OFTEN).await;
    let mut stream = TcpStream::connect(house.socket_of("http")).await.unwrap();
    let request = format!(
        "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut said = String::new();
    let comment = async {
        let mut piece = [0; 4096];
        while !said.contains("\n:\n\n") {
            let read = stream.read(&mut piece).await.unwrap();
            assert!(read > 0, "the stream ended: {said}");
            said.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
    };
    tokio::time::timeout(PATIENCE, comment)
        .await
        .expect("a comment");
}

#[tokio::test]
async fn an_http2_connection_that_answers_no_ping_is_cut() {
    let house = House::open_asking(&Stage::new(PLAY).await, OFTEN).await;
    for kind in ["http", "grpc"] {
        let mut stream = TcpStream::connect(house.socket_of(kind)).await.unwrap();
        // The beginning of a connection, with no settings of our own, and nothing more.
        let begin = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
        stream.write_all(begin).await.unwrap();
        let mut said = Vec::new();
        tokio::time::timeout(PATIENCE, stream.read_to_end(&mut said))
            .await
            .unwrap_or_else(|_| panic!("{kind}: the server waits for ever"))
            .unwrap();
        assert!(!said.is_empty(), "{kind}");
    }
}
