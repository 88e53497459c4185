//! Messages that are too long, and messages that are none, on every network transport: they are
//! answered or their connection is cut, and the session goes on.

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use troupe_client::{ClientError, ClientOptions};
use troupe_protocol::EventMsg;
use troupe_protocol::link::{ClientRole, ServerNotice};
use troupe_protocol::op::{ConfigureSession, Op};
use troupe_testkit::Stage;
use troupe_transport::limits::LINE_BYTES_MAX;

use super::house::{House, PATIENCE, TOKEN};
use super::raw::{Call, TEXT, WebSocket, grpc_message, grpc_submission};

const PLAY: &str = "[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'ok' }]\n";

const NO_OBJECT: &str = "is not a JSON object";
const TOO_LONG: &str = "longer than";

fn long() -> Vec<u8> {
    vec![b'x'; LINE_BYTES_MAX + 1]
}

/// Reads until something says these words.
macro_rules! hears {
    ($words:expr, $next:expr) => {{
        let words: &str = $words;
        let heard = async {
            while let Some(piece) = $next.await {
                if String::from_utf8_lossy(&piece).contains(words) {
                    return;
                }
            }
            panic!("the connection ended without {words:?}");
        };
        tokio::time::timeout(PATIENCE, heard)
            .await
            .expect("an answer");
    }};
}

/// Reads until the server ends the connection.
macro_rules! is_cut {
    ($next:expr) => {{
        let cut = async { while $next.await.is_some() {} };
        tokio::time::timeout(PATIENCE, cut).await.expect("an end");
    }};
}

/// The session is there for others, as soon as the one before is known to be gone.
async fn goes_on(house: &House) {
    let mut driver = house.join("unix", ClientOptions::default()).await.unwrap();
    if driver.client.welcome().seat.role != ClientRole::Drive {
        let has_seat = |notice: &ServerNotice| matches!(notice, ServerNotice::Seat(seat) if seat.role == ClientRole::Drive);
        driver.notice(has_seat).await;
    }
    driver
        .submit(Op::ConfigureSession(ConfigureSession::default()))
        .await;
    let is_it = |msg: &EventMsg| matches!(msg, EventMsg::SessionConfigured(_));
    driver.until(is_it).await;
}

#[tokio::test]
async fn lines() {
    let house = House::open(&Stage::new(PLAY).await).await;
    let stream = TcpStream::connect(house.socket_of("tcp")).await.unwrap();
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let mut next = async || lines.next_line().await.ok()?.map(String::into_bytes);
    let hello = format!("{{\"type\":\"hello\",\"token\":\"{TOKEN}\"}}\nnonsense\n");
    write.write_all(hello.as_bytes()).await.unwrap();
    hears!(NO_OBJECT, next());
    write.write_all(b"\xff\xfe\n").await.unwrap();
    hears!("not UTF-8", next());
    // It is answered before it ends, and what still comes of it is not kept.
    write.write_all(&long()).await.unwrap();
    hears!(TOO_LONG, next());
    write.write_all(&long()).await.unwrap();
    write.write_all(b"\nnonsense\n").await.unwrap();
    hears!(NO_OBJECT, next());
    drop((write, lines));
    goes_on(&house).await;
}

#[tokio::test]
async fn web_socket_messages() {
    let house = House::open(&Stage::new(PLAY).await).await;
    let contents = async |socket: &mut WebSocket| Some(socket.next().await?.1);
    let mut socket = WebSocket::open(&house).await;
    socket.send(TEXT, b"nonsense").await;
    hears!(NO_OBJECT, contents(&mut socket));
    socket.send(TEXT, &long()).await;
    hears!(TOO_LONG, contents(&mut socket));
    // Nobody waits for as much as this, nor makes room for it.
    socket.announce(TEXT, 1 << 40).await;
    is_cut!(contents(&mut socket));
    let mut socket = WebSocket::open(&house).await;
    socket.send(TEXT, b"\xff\xfe").await;
    is_cut!(contents(&mut socket));
    drop(socket);
    goes_on(&house).await;
}

#[tokio::test]
async fn posts() {
    let house = House::open(&Stage::new(PLAY).await).await;
    let post = async |more: &str, body: &[u8]| {
        let mut stream = TcpStream::connect(house.socket_of("http")).await.unwrap();
        let head = format!(
            "POST /v1/submissions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {TOKEN}\r\n{more}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        // The server may have heard enough before the end.
        stream.write_all(body).await.ok();
        let mut answer = Vec::new();
        tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer))
            .await
            .expect("an answer")
            .ok();
        String::from_utf8_lossy(&answer).into_owned()
    };
    let answer = post("Content-Length: 8", b"nonsense").await;
    assert!(answer.contains(NO_OBJECT), "{answer}");
    let answer = post("Content-Length: 99999999999", b"").await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(answer.contains(TOO_LONG), "{answer}");
    // One that does not say how long it is.
    let mut chunk = format!("{:x}\r\n", LINE_BYTES_MAX + 1).into_bytes();
    chunk.extend(long());
    chunk.extend(b"\r\n0\r\n\r\n");
    let answer = post("Transfer-Encoding: chunked", &chunk).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    goes_on(&house).await;
}

#[tokio::test]
async fn grpc_messages() {
    let house = House::open(&Stage::new(PLAY).await).await;
    let mut call = Call::make(&house, grpc_submission(b"nonsense")).await;
    hears!("submission", call.next());
    drop(call);
    let mut call = Call::make(&house, grpc_submission(&long())).await;
    hears!(TOO_LONG, call.next());
    drop(call);
    // No message at all, and one that is announced to be far too long.
    for messages in [
        grpc_message(b"\xff\xff\xff"),
        vec![0, 0xff, 0xff, 0xff, 0xff, 1],
    ] {
        let mut call = Call::make(&house, messages).await;
        is_cut!(call.next());
    }
    goes_on(&house).await;
}

#[tokio::test]
async fn our_own_client_does_not_send_what_nobody_takes() {
    let house = House::open(&Stage::new(PLAY).await).await;
    let guest = house.join("http", ClientOptions::default()).await.unwrap();
    let note = "x".repeat(LINE_BYTES_MAX);
    let error = guest.client.submit("1", Op::SetThreadNote { note }).await;
    assert!(
        matches!(error, Err(ClientError::TooLong { .. })),
        "{error:?}"
    );
    drop(guest);
    goes_on(&house).await;
}
