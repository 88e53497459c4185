//! Answers that no screenplay gives, written to the socket byte by byte.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use expect_test::{Expect, expect};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use troupe_model::{ProviderConfig, WireApi, limits};

use super::support::{ask, connect_to, show};

/// Serves these bytes to one request and closes.
async fn serve_once(answer: Vec<u8>) -> ProviderConfig {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        if read_request(&mut socket).await {
            socket.write_all(&answer).await.unwrap();
            socket.shutdown().await.unwrap();
        }
    });
    ProviderConfig {
        base_url: format!("http://{addr}/v1/"),
        wire_api: WireApi::Responses,
        request_max_retries: Some(0),
        stream_max_retries: Some(0),
        ..ProviderConfig::default()
    }
}

/// Reads headers and as much body as they announce; false if that is not HTTP.
async fn read_request(socket: &mut tokio::net::TcpStream) -> bool {
    let mut request = Vec::new();
    loop {
        socket.read_buf(&mut request).await.unwrap();
        if !b"POST /v1".starts_with(&request[..request.len().min(8)]) {
            return false;
        }
        let text = String::from_utf8_lossy(&request).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let (_, length) = head.split_once("content-length: ").unwrap();
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if body.len() >= length {
                return true;
            }
        }
    }
}

async fn check(head: &str, body: &[u8], expected: Expect) {
    let head = format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n");
    let config = serve_once([head.as_bytes(), body].concat()).await;
    let addr = config.base_url.clone();
    let events = ask(&*connect_to(config), "go").await;
    let server = addr.trim_end_matches("/v1/");
    expected.assert_eq(&show(&events).replace(server, "SERVER"));
}

#[tokio::test]
async fn a_kept_connection_that_the_server_closed_is_not_a_failure() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let addr = listener.local_addr().unwrap();
    let body = "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\"}}\n\n";
    let answer = format!(
        "HTTP/1.1 {STREAM}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    tokio::spawn(async move {
        let (mut kept, _) = listener.accept().await.unwrap();
        assert!(read_request(&mut kept).await);
        kept.write_all(answer.as_bytes()).await.unwrap();
        // The second request is met by the end of the connection.
        assert!(read_request(&mut kept).await);
        drop(kept);
        let (mut new, _) = listener.accept().await.unwrap();
        assert!(read_request(&mut new).await);
        new.write_all(answer.as_bytes()).await.unwrap();
    });
    let model = connect_to(ProviderConfig {
        base_url: format!("http://{addr}/v1/"),
        request_max_retries: Some(0),
        stream_max_retries: Some(0),
        ..ProviderConfig::default()
    });
    for _ in 0..2 {
        expect![[r#"
            completed 0+0
        "#]]
        .assert_eq(&show(&ask(&*model, "go").await));
    }
}

#[tokio::test]
async fn a_request_that_a_fresh_connection_took_is_not_repeated_unseen() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let addr = listener.local_addr().unwrap();
    let taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&taken);
    let server = tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            assert!(read_request(&mut socket).await);
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let model = connect_to(ProviderConfig {
        base_url: format!("http://{addr}/v1/"),
        request_max_retries: Some(0),
        stream_max_retries: Some(0),
        ..ProviderConfig::default()
    });
    let told = show(&ask(&*model, "go").await);
    assert!(told.contains("failed StreamDisconnected"), "{told}");
    assert_eq!(taken.load(Ordering::SeqCst), 1);
    server.abort();
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_answer_is_a_broken_stream() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let addr = listener.local_addr().unwrap();
    let body = "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\"}}\n\n";
    let answer = format!("HTTP/1.1 {STREAM}\r\nconnection: close\r\n\r\n{body}");
    tokio::spawn(async move {
        let (mut broken, _) = listener.accept().await.unwrap();
        assert!(read_request(&mut broken).await);
        drop(broken);
        let (mut socket, _) = listener.accept().await.unwrap();
        assert!(read_request(&mut socket).await);
        socket.write_all(answer.as_bytes()).await.unwrap();
    });
    let model = connect_to(ProviderConfig {
        base_url: format!("http://{addr}/v1/"),
        request_max_retries: Some(0),
        stream_max_retries: Some(3),
        ..ProviderConfig::default()
    });
    let told = show(&ask(&*model, "go").await);
    assert!(told.starts_with("retrying 1/3 in "), "{told}");
    assert!(
        told.contains("the connection broke before the answer began"),
        "{told}"
    );
    assert!(told.ends_with("completed 0+0\n"), "{told}");
}

/// Writes the same event until the reader has had enough, and tells how much was written.
async fn serve_for_ever(event: String) -> (ProviderConfig, tokio::task::JoinHandle<usize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let addr = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        assert!(read_request(&mut socket).await);
        let head = format!("HTTP/1.1 {STREAM}\r\nconnection: close\r\n\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut written = 0;
        while socket.write_all(event.as_bytes()).await.is_ok() {
            written += event.len();
        }
        written
    });
    let config = ProviderConfig {
        base_url: format!("http://{addr}/v1/"),
        request_max_retries: Some(0),
        stream_max_retries: Some(2),
        ..ProviderConfig::default()
    };
    (config, server)
}

#[tokio::test]
async fn an_answer_that_never_ends_is_cut_by_what_it_holds() {
    // One that repeats itself is stopped earlier.
    let text: Vec<String> = (0..800).map(|number| format!("w{number} ")).collect();
    let text = text.concat();
    let argument = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"c\",\"function\":{{\"name\":\"f\",\"arguments\":\"{text}\"}}}}]}}}}]}}\n\n"
    );
    let said = format!(
        "data: {{\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"delta\":\"{text}\"}}\n\n"
    );
    let unended = format!("data: {text}");
    for (wire_api, event) in [
        (WireApi::Responses, said),
        (WireApi::Chat, argument),
        (WireApi::Responses, unended.replace("data: ", "")),
    ] {
        let (config, server) = serve_for_ever(event).await;
        let model = connect_to(ProviderConfig { wire_api, ..config });
        let events = ask(&*model, "go").await;
        let last = show(&events[events.len() - 1..]);
        assert!(
            last.starts_with("failed Incomplete: the response holds more than 8388608 bytes"),
            "{last}"
        );
        let written = server.await.unwrap();
        // What the sockets of both ends hold comes on top.
        assert!(written < 3 * limits::RESPONSE_HELD_BYTES_MAX, "{written}");
    }
}

#[tokio::test]
async fn signs_of_life_do_not_keep_a_stream_open_for_ever() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let addr = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        assert!(read_request(&mut socket).await);
        let head = format!("HTTP/1.1 {STREAM}\r\nconnection: close\r\n\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        // Until the reader has had enough.
        while socket.write_all(b": still here\n\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let model = connect_to(ProviderConfig {
        base_url: format!("http://{addr}/v1/"),
        request_max_retries: Some(0),
        stream_max_retries: Some(0),
        stream_idle_timeout_ms: NonZeroU64::new(100),
        ..ProviderConfig::default()
    });
    let told = show(&ask(&*model, "go").await);
    assert!(
        told.contains("nothing but signs of life for 400 ms"),
        "{told}"
    );
    server.await.unwrap();
}

const STREAM: &str = "200 OK\r\ncontent-type: text/event-stream";

#[tokio::test]
async fn a_stream_with_mark_and_bare_returns() {
    let body = "\u{feff}data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\"}}\r\r";
    check(
        STREAM,
        body.as_bytes(),
        expect![[r#"
        completed 0+0
    "#]],
    )
    .await;
}

#[tokio::test]
async fn invalid_utf8_breaks_the_stream() {
    check(
        STREAM,
        b"data: {\"a\":\"\xFF\"}\n\n",
        expect![[r#"
        failed StreamDisconnected: an event is not valid UTF-8
    "#]],
    )
    .await;
}

#[tokio::test]
async fn an_end_without_completion_breaks_the_stream() {
    check(
        STREAM,
        b"",
        expect![[r#"
        failed StreamDisconnected: the stream ended before the response was complete
    "#]],
    )
    .await;
}

#[tokio::test]
async fn nothing_counts_after_the_end() {
    let body = b"data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\"}}\n\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"late\"}\n\ndata: nonsense\n\n";
    check(
        STREAM,
        body,
        expect![[r#"
        completed 0+0
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_page_instead_of_a_stream() {
    check(
        "200 OK\r\ncontent-type: text/html",
        b"<html>Sign in to the network</html>",
        expect![[r#"
            failed BadRequest: test at SERVER answered with text/html instead of an event stream; check base_url: <html>Sign in to the network</html>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    check(
        "302 Found\r\nlocation: http://127.0.0.1:1/",
        b"",
        expect![[r#"
            failed BadRequest: test: 302 Found: the server gave no reason
        "#]],
    )
    .await;
}

#[tokio::test]
async fn an_error_of_llama_cpp_with_a_number_for_a_code() {
    check(
        "400 Bad Request\r\ncontent-type: application/json",
        br#"{"error":{"code":400,"message":"'messages' is required","type":"invalid_request_error"}}"#,
        expect![[r#"
            failed BadRequest: test: 400 Bad Request: 'messages' is required (invalid_request_error)
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls() {
    let config = serve_once(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()).await;
    let config = ProviderConfig {
        base_url: config.base_url.replace("http://", "https://"),
        ..config
    };
    let shown = show(&ask(&*connect_to(config), "go").await);
    assert!(
        shown.starts_with("failed ConnectionFailed: test at https://"),
        "{shown}"
    );
}

#[tokio::test]
async fn a_response_of_too_many_items_ends() {
    let item =
        "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"message\"}}\n\n";
    let body = item.repeat(limits::ITEMS_PER_RESPONSE_MAX + 1);
    let head = format!("HTTP/1.1 {STREAM}\r\nconnection: close\r\n\r\n");
    let config = serve_once((head + &body).into_bytes()).await;
    let events = ask(&*connect_to(config), "go").await;
    let last = show(&events[events.len() - 1..]);
    assert_eq!(
        last,
        "failed Incomplete: the response has more than 4096 items\n"
    );
}

#[tokio::test]
async fn a_huge_error_is_shown_in_part() {
    let body = "x".repeat(5_000_000);
    let config = serve_once(
        [
            b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n",
            body.as_bytes(),
        ]
        .concat(),
    );
    let events = ask(&*connect_to(config.await), "go").await;
    assert!(show(&events).len() < 1_200);
}
