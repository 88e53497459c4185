//! Clients that may not come in, and clients that make no sense.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, UnixStream};
use troupe_client::{Client, ClientError, ClientOptions};
use troupe_protocol::EventMsg;
use troupe_protocol::link::{Goodbye, Secret};
use troupe_server::{ListenReach, ProtoServer};
use troupe_testkit::Stage;
use troupe_transport::limits::LINE_BYTES_MAX;

use super::house::{House, KEEPALIVE, PATIENCE, TOKEN};
use super::raw;

const PLAY: &str = "[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'ok' }]\n";

/// Sends one request by hand and returns the answer's first line and what else came.
async fn raw_http(house: &House, kind: &str, request: &str) -> String {
    raw::http(&house.socket_of(kind), request).await
}

fn get(host: &str, more: &str) -> String {
    format!("GET /v1/events HTTP/1.1\r\nHost: {host}\r\n{more}\r\n")
}

#[tokio::test]
async fn without_the_token_nobody_comes_in() {
    let stage = Stage::new(PLAY).await;
    let house = House::open(&stage).await;
    for kind in ["tcp", "ws", "http", "grpc"] {
        for token in [
            None,
            Some("wrong"),
            Some("a token for this test alonf"),
            Some(""),
        ] {
            let options = ClientOptions {
                token: token.map(|token| Secret(token.to_owned())),
                ..ClientOptions::default()
            };
            match Client::connect(house.address(kind), options).await {
                Err(ClientError::Refused { reason, .. }) => {
                    assert_eq!(reason, Goodbye::Unauthorized, "{kind}");
                }
                other => panic!("{kind} {token:?}: {other:?}"),
            }
        }
    }
    // The user of this machine is known without.
    Client::connect(house.address("unix"), ClientOptions::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_wrong_header_is_refused_before_anything_is_said() {
    let stage = Stage::new(PLAY).await;
    let house = House::open(&stage).await;
    let answer = raw_http(&house, "http", &get("localhost", "")).await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert!(answer.contains("show the token"), "{answer}");
    let wrong = get("localhost", "Authorization: Bearer nonsense\r\n");
    let answer = raw_http(&house, "http", &wrong).await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    let right = get("localhost", &format!("Authorization: Bearer {TOKEN}\r\n"));
    let answer = raw_http(&house, "http", &right).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("text/event-stream"), "{answer}");
}

#[tokio::test]
async fn pages_and_names_of_others_are_refused() {
    let stage = Stage::new(PLAY).await;
    let house = House::open(&stage).await;
    let token = format!("Authorization: Bearer {TOKEN}\r\n");
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for (kind, more) in [("http", ""), ("ws", upgrade)] {
        let check = async |host: &str, origin: &str| {
            let request = get(host, &format!("{token}{more}{origin}"));
            let answer = raw_http(&house, kind, &request).await;
            answer.split(' ').nth(1).unwrap_or_default().to_owned()
        };
        let fine = if kind == "ws" { "101" } else { "200" };
        assert_eq!(check("localhost", "").await, fine, "{kind}");
        assert_eq!(
            check("localhost", "Origin: https://ui.example\r\n").await,
            fine
        );
        assert_eq!(
            check("localhost", "Origin: https://evil.example\r\n").await,
            "403"
        );
        assert_eq!(check("localhost", "Origin: null\r\n").await, "403");
        assert_eq!(check("rebound.example", "").await, "403", "{kind}");
    }
}

#[tokio::test]
async fn other_machines_come_in_only_if_that_is_wanted_and_encrypted() {
    let options = troupe_server::ListenOptions {
        listen: vec!["tcp:0.0.0.0:0".parse().unwrap()],
        token: Some(troupe_server::token::AccessToken::random()),
        reach: ListenReach::ThisMachine,
        hosts: Vec::new(),
        origins: Vec::new(),
        tls: None,
        keepalive: KEEPALIVE,
    };
    let error = ProtoServer::bind(options.clone()).await.unwrap_err();
    assert!(error.to_string().contains("--allow-remote"), "{error}");
    // The token would be readable on the way.
    let reach = ListenReach::Network;
    let open = troupe_server::ListenOptions { reach, ..options };
    let error = ProtoServer::bind(open.clone()).await.unwrap_err();
    assert!(error.to_string().contains("--tls-cert"), "{error}");
    // Where nobody is on the way it need not be encrypted.
    let listen = vec!["tcp:127.0.0.1:0".parse().unwrap()];
    ProtoServer::bind(troupe_server::ListenOptions { listen, ..open })
        .await
        .unwrap();
}

/// Says something that is no submission, and reads lines until one tells of it.
async fn answered(house: &House, nonsense: &[u8], wanted: &str) {
    let stream = UnixStream::connect(house.socket_of("unix")).await.unwrap();
    let (read, mut write) = stream.into_split();
    write.write_all(b"{\"type\":\"hello\"}\n").await.unwrap();
    write.write_all(nonsense).await.unwrap();
    write.write_all(b"\n").await.unwrap();
    let mut lines = BufReader::new(read).lines();
    let found = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains(wanted) {
                return;
            }
        }
        panic!("the connection was closed without {wanted:?}");
    };
    tokio::time::timeout(PATIENCE, found)
        .await
        .expect("an answer");
}

#[tokio::test]
async fn nonsense_is_answered_and_the_connection_stays() {
    let stage = Stage::new(PLAY).await;
    let house = House::open(&stage).await;
    answered(&house, b"not json", "submission is not a JSON object").await;
    answered(&house, b"{\"type\":\"hello\"}", "hello was said before").await;
    answered(&house, b"{\"type\":\"dance\"}", "unknown variant `dance`").await;
    answered(
        &house,
        b"{\"id\":\"7\",\"op\":{\"type\":\"dance\"}}",
        "unknown type `dance`",
    )
    .await;
    let long = vec![b'x'; LINE_BYTES_MAX + 1];
    answered(&house, &long, "submission is longer than").await;
    // To those who follow too, and it is nobody else's business.
    let mut driver = house.drive("unix").await;
    answered(
        &house,
        b"{\"id\":\"8\",\"op\":{}}",
        "\"type\":\"refused\",\"id\":\"8\"",
    )
    .await;
    driver
        .until(|msg| matches!(msg, EventMsg::SessionConfigured(_)))
        .await;
}

#[tokio::test]
async fn a_post_that_is_too_long_or_no_submission_is_answered() {
    let stage = Stage::new(PLAY).await;
    let house = House::open(&stage).await;
    let post = |body: &str, length: usize| {
        format!(
            "POST /v1/submissions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {TOKEN}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    };
    let status = async |request: String| {
        let answer = raw_http(&house, "http", &request).await;
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(status(post("nonsense", 8)).await, "400");
    let note = "{\"id\":\"1\",\"op\":{\"type\":\"configure_session\"}}";
    // Nobody drives, so one who is nobody may.
    assert_eq!(status(post(note, note.len())).await, "202");
    let driver = house.join("unix", ClientOptions::default()).await.unwrap();
    assert_eq!(status(post(note, note.len())).await, "409");
    drop(driver);
    assert_eq!(status(post("", LINE_BYTES_MAX + 1)).await, "413");
}

#[tokio::test]
async fn one_who_shows_no_token_does_not_hold_a_place_for_long() {
    let stage = Stage::new(PLAY).await;
    let house = House::open(&stage).await;
    let mut stream = TcpStream::connect(house.socket_of("tcp")).await.unwrap();
    let mut said = String::new();
    let limit = Duration::from_millis(troupe_server::limits::HELLO_MS_MAX) + PATIENCE;
    tokio::time::timeout(limit, stream.read_to_string(&mut said))
        .await
        .expect("the server cuts the connection")
        .unwrap();
    assert!(said.contains("unauthorized"), "{said}");
}
