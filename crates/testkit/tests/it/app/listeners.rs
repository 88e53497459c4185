//! Many clients of one server, over sockets.

use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use troupe_protocol::policy::ApprovalPolicy;
use troupe_testkit::Stage;

use super::client::app;
use super::socket::Listening;
use crate::it::wire::house::TOKEN;
use crate::it::wire::raw;

const HELLO: &str = r#"
    [[scene]]
    [[scene.turn]]
    steps = [{ say = "Hello to you." }]
"#;

const ASKING: &str = r#"
    [[scene]]
    [[scene.turn]]
    steps = [{ call = "shell_command", arguments = { command = "touch made" } }]
    [[scene.turn]]
    steps = [{ say = "done" }]
"#;

const COMMAND: &str = "item/commandExecution/requestApproval";

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

#[tokio::test]
async fn clients_share_threads_and_each_follows_what_it_wants() {
    let stage = Stage::new(HELLO).await;
    let app = app(&stage);
    let listening = Listening::open(&app).await;
    let mut local = listening.local().await;
    let mut remote = listening.remote().await;
    let thread = local.thread().await;
    // All hear of a thread; its turns are for those who follow it.
    let started = remote.told("thread/started").await;
    assert_eq!(started["thread"]["id"], thread);
    local.whole_turn(&thread, "hello").await;
    let resumed = json!({"threadId": thread});
    let resumed = remote.call("thread/resume", resumed).await.unwrap();
    assert_eq!(
        resumed["thread"]["turns"][0]["items"][1]["text"],
        "Hello to you."
    );
    local.whole_turn(&thread, "again").await;
    let told = remote.all_until("turn/completed").await;
    let turns = told.iter().filter(|it| it["method"] == "turn/started");
    assert_eq!(turns.count(), 1);
    local.leave().await;
    remote.leave().await;
    listening.close().await;
    app.end().await;
}

#[tokio::test]
async fn the_first_answer_counts_and_who_leaves_loses_nothing() {
    let stage = Stage::new(ASKING).await.approval(ApprovalPolicy::Untrusted);
    let app = app(&stage);
    let listening = Listening::open(&app).await;
    let mut first = listening.remote().await;
    let thread = first.thread().await;
    let mut second = listening.local().await;
    let follow = json!({"threadId": thread});
    second.call("thread/resume", follow.clone()).await.unwrap();
    first.turn(&thread, "work").await;
    first.asked(COMMAND).await;
    let (id, _) = second.asked(COMMAND).await;
    // It goes without waiting for anything: what it said is done.
    second.respond(&id, json!({"decision": "accept"})).await;
    second.leave().await;
    first.told("serverRequest/resolved").await;
    let ended = first.told("turn/completed").await;
    assert_eq!(ended["turn"]["status"], "completed");
    assert_eq!(stage.read("made"), "");
    first.leave().await;
    let mut third = listening.local().await;
    let resumed = third.call("thread/resume", follow).await.unwrap();
    assert_eq!(resumed["thread"]["turns"][0]["status"], "completed");
    third.leave().await;
    listening.close().await;
    app.end().await;
}

#[tokio::test]
async fn the_network_needs_the_token_and_no_page_may_come() {
    let stage = Stage::new(HELLO).await;
    let app = app(&stage);
    let listening = Listening::open(&app).await;
    let status = async |path: &str, headers: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        let answer = raw::http(listening.place(), &request).await;
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(status("/readyz", "").await, "200");
    assert_eq!(status("/healthz", "").await, "200");
    let foreign = "Origin: https://evil.example\r\n";
    assert_eq!(status("/readyz", foreign).await, "403");
    assert_eq!(status("/", UPGRADE).await, "401");
    let wrong = format!("{UPGRADE}Authorization: Bearer nonsense\r\n");
    assert_eq!(status("/", &wrong).await, "401");
    let right = format!("{UPGRADE}Authorization: Bearer {TOKEN}\r\n");
    assert_eq!(status("/", &format!("{right}{foreign}")).await, "403");
    assert_eq!(status("/", &right).await, "101");
    let plain = format!("Authorization: Bearer {TOKEN}\r\n");
    assert_eq!(status("/", &plain).await, "400");
    listening.close().await;
}

/// A client that says nothing, or half of something, is in nobody's way when the server ends.
#[tokio::test]
async fn a_server_ends_whatever_its_clients_do() {
    let stage = Stage::new(HELLO).await;
    let app = app(&stage);
    let listening = Listening::open(&app).await;
    let mut half = TcpStream::connect(listening.place()).await.unwrap();
    half.write_all(b"GET / HT").await.unwrap();
    let mut client = listening.local().await;
    client.thread().await;
    listening.close().await;
    client.ended().await;
    app.end().await;
}
