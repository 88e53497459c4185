//! Many who come, and say nothing.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Notify;
use troupe_client::ClientOptions;
use troupe_server::ListenReach;
use troupe_server::headless::HeadlessPolicy;
use troupe_server::limits::{CONNECTIONS_MAX, HELLO_MS_MAX};
use troupe_server::mcp::{McpListener, SessionTools};
use troupe_testkit::Stage;

use super::house::{ALL, Bell, House, KEEPALIVE, PATIENCE, TOKEN, following, token_in};
use super::raw;
use crate::it::app::client::app;
use crate::it::app::socket::Listening;

const PLAY: &str = "[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'ok' }]\n";

/// More than a server has places.
const CROWD: usize = CONNECTIONS_MAX + 8;

const NETWORK: [&str; 4] = ["tcp", "ws", "http", "grpc"];

trait Silent: AsyncRead + Unpin {}
impl<T: AsyncRead + Unpin> Silent for T {}

async fn connect(kind: &str, place: &str) -> Box<dyn Silent> {
    match kind {
        "unix" => Box::new(UnixStream::connect(place).await.unwrap()),
        _ => Box::new(TcpStream::connect(place).await.unwrap()),
    }
}

async fn crowd(kind: &str, place: &str) -> Vec<Box<dyn Silent>> {
    let mut crowd = Vec::new();
    for _ in 0..CROWD {
        crowd.push(connect(kind, place).await);
    }
    crowd
}

#[tokio::test]
async fn silent_connections_lock_nobody_out_of_a_session() {
    let stage = Stage::new(PLAY).await;
    let house = House::open(&stage).await;
    let mut driver = house.drive("unix").await;
    for kind in ALL {
        let silent = crowd(kind, &house.socket_of(kind)).await;
        for other in ALL {
            let joined = tokio::time::timeout(PATIENCE, house.join(other, following(0))).await;
            let joined = joined.unwrap_or_else(|_| panic!("{kind} keeps clients out of {other}"));
            joined.unwrap();
        }
        drop(silent);
    }
    // Who was there before is not disturbed.
    driver.say("hello").await;
    driver.until_task_ends().await;
}

#[tokio::test]
async fn silent_connections_lock_nobody_out_of_the_app_server() {
    let stage = Stage::new(PLAY).await;
    let app = app(&stage);
    let listening = Listening::open(&app).await;
    for (kind, place) in [("ws", listening.place()), ("unix", listening.socket())] {
        let silent = crowd(kind, place).await;
        let both = async {
            listening.remote().await.leave().await;
            listening.local().await.leave().await;
        };
        let came = tokio::time::timeout(PATIENCE, both).await;
        came.unwrap_or_else(|_| panic!("{kind} keeps clients out"));
        drop(silent);
    }
    listening.close().await;
    app.end().await;
}

#[tokio::test]
async fn silent_connections_lock_nobody_out_of_the_mcp_server() {
    let stage = Stage::new(PLAY).await;
    let directory = tempfile::tempdir().unwrap();
    let listener = McpListener::bind(troupe_server::ListenOptions {
        listen: vec!["http:127.0.0.1:0".parse().unwrap()],
        token: Some(token_in(&directory)),
        reach: ListenReach::ThisMachine,
        hosts: Vec::new(),
        origins: Vec::new(),
        tls: None,
        keepalive: KEEPALIVE,
    })
    .await
    .unwrap();
    let url = listener.urls().next().unwrap();
    let place = url.strip_prefix("http://").unwrap();
    let place = place.strip_suffix("/mcp").unwrap();
    let house = troupe_server::SessionPool::new(stage.ground());
    let orchestra = SessionTools::new(house.clone(), HeadlessPolicy::Refuse, "0.0.0");
    let bell = Arc::new(Notify::new());
    let serving = tokio::spawn(listener.run(Arc::new(orchestra), Bell(Arc::clone(&bell))));

    let silent = crowd("tcp", place).await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\
         Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = raw::http(place, &request).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // Those who say nothing are cut off, the last of them too.
    let limit = Duration::from_millis(HELLO_MS_MAX) + PATIENCE;
    for mut stream in silent {
        let mut said = Vec::new();
        let read = tokio::time::timeout(limit, stream.read_to_end(&mut said)).await;
        // Some are reset.
        read.expect("who says nothing is cut off").ok();
    }
    bell.notify_one();
    serving.await.unwrap();
    house.end().await;
}

#[tokio::test]
async fn who_says_nothing_is_cut_off_on_every_listener_of_the_network() {
    let stage = Stage::new(PLAY).await;
    let house = House::open(&stage).await;
    let app = app(&stage);
    let listening = Listening::open(&app).await;
    // Who has shown the token may be silent for as long as it wants.
    let mut quiet = house.join("ws", ClientOptions::default()).await.unwrap();
    let mut places: Vec<String> = NETWORK.map(|kind| house.socket_of(kind)).to_vec();
    places.push(listening.place().to_owned());
    let limit = Duration::from_millis(HELLO_MS_MAX) + PATIENCE;
    let cut_off = places.iter().map(async |place| {
        let mut stream = connect("tcp", place).await;
        let mut said = Vec::new();
        let read = tokio::time::timeout(limit, stream.read_to_end(&mut said)).await;
        let read = read.unwrap_or_else(|_| panic!("{place} keeps who says nothing"));
        // Some are told why, and some are reset.
        read.ok();
    });
    join_all(cut_off).await;
    quiet.submit(troupe_protocol::Op::Shutdown).await;
    quiet.rest().await;
    listening.close().await;
    app.end().await;
}
