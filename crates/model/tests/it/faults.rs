//! Every way in which a server can fail, and what a caller sees of it.

use std::time::Duration;

use expect_test::{Expect, expect};
use troupe_model::{ProviderConfig, WireApi};

use super::support::{ask, connect, connect_to, request, show, turns};

const GOOD: &str = "steps = [{ say = 'fine', chunks = 1 }]";

#[track_caller]
fn check(turns_played: &[&str], expected: Expect) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let events = runtime.block_on(async {
        let server = turns(turns_played).await;
        ask(&*connect(&server), "go").await
    });
    expected.assert_eq(&show(&events));
}

#[test]
fn too_many_requests_waits_as_told() {
    check(
        &[
            "steps = [{ status = 429, retry_after = 0, code = 'rate_limit_exceeded' }]",
            GOOD,
        ],
        expect![[r#"
            retrying 1/1 in 0 ms: RateLimited: test: 429 Too Many Requests: scripted status 429 (rate_limit_exceeded)
            created
            started Message
            text "fine"
            done "fine"
            completed 100+20
        "#]],
    );
    check(
        &[
            "steps = [{ status = 429, message = 'Please try again in 15ms.' }]",
            GOOD,
        ],
        expect![[r#"
            retrying 1/1 in 15 ms: RateLimited: test: 429 Too Many Requests: Please try again in 15ms. (invalid_request_error)
            created
            started Message
            text "fine"
            done "fine"
            completed 100+20
        "#]],
    );
}

#[test]
fn a_wait_that_is_too_long_is_not_waited() {
    check(
        &["steps = [{ status = 429, retry_after = 86400 }]"],
        expect![[r#"
            failed RateLimited: test: 429 Too Many Requests: scripted status 429 (invalid_request_error); the server asks to wait 86400 s, which is more than 300 s
        "#]],
    );
}

#[test]
fn server_errors_are_tried_again_and_end() {
    check(
        &["steps = [{ status = 500 }]", GOOD],
        expect![[r#"
        retrying 1/1 in 212 ms: ServerError: test: 500 Internal Server Error: scripted status 500 (server_error)
        created
        started Message
        text "fine"
        done "fine"
        completed 100+20
    "#]],
    );
    check(
        &[
            "steps = [{ status = 503, retry_after = 0 }]",
            "steps = [{ status = 502, retry_after = 0, message = 'bad gateway' }]",
        ],
        expect![[r#"
            retrying 1/1 in 0 ms: ServerOverloaded: test: 503 Service Unavailable: scripted status 503 (server_error)
            failed TooManyAttempts: gave up after 2 attempts; the last one failed: test: 502 Bad Gateway: bad gateway (server_error)
        "#]],
    );
}

#[test]
fn refusals_are_final() {
    check(
        &["steps = [{ status = 400, code = 'context_length_exceeded', message = 'too long' }]"],
        expect![[r#"
            failed ContextWindowExceeded: test: 400 Bad Request: too long (context_length_exceeded)
        "#]],
    );
    check(
        &["steps = [{ status = 401, message = 'bad key' }]"],
        expect![[r#"
            failed Unauthorized: test: 401 Unauthorized: bad key (invalid_request_error); the provider has no env_key configured
        "#]],
    );
    check(
        &["steps = [{ status = 429, code = 'insufficient_quota', message = 'no money' }]"],
        expect![[r#"
            failed QuotaExceeded: test: 429 Too Many Requests: no money (insufficient_quota)
        "#]],
    );
}

#[test]
fn a_dropped_stream_is_begun_again() {
    check(
        &[
            "steps = [{ say = 'whole' }, { say = 'half', unfinished = true }, { end = 'drop' }]",
            GOOD,
        ],
        expect![[r#"
            created
            started Message
            text "whole"
            done "whole"
            started Message
            text "half"
            retrying 1/1 in 212 ms: StreamDisconnected: the stream broke: error decoding response body: error reading a body from connection: unexpected EOF during chunk size line
            created
            started Message
            text "fine"
            done "fine"
            completed 100+20
        "#]],
    );
}

#[test]
fn a_stream_that_breaks_every_time_fails_with_the_count() {
    let broken = "steps = [{ end = 'drop' }]";
    check(
        &[broken, broken],
        expect![[r#"
        created
        retrying 1/1 in 212 ms: StreamDisconnected: the stream broke: error decoding response body: error reading a body from connection: unexpected EOF during chunk size line
        created
        failed TooManyAttempts: gave up after 2 attempts; the last one failed: the stream broke: error decoding response body: error reading a body from connection: unexpected EOF during chunk size line
    "#]],
    );
}

#[test]
fn a_malformed_event_breaks_the_stream() {
    check(
        &["steps = [{ malformed = '{\"type\":' }]", GOOD],
        expect![[r#"
            created
            retrying 1/1 in 212 ms: StreamDisconnected: malformed event without a type: EOF while parsing a value at line 1 column 8
            created
            started Message
            text "fine"
            done "fine"
            completed 100+20
        "#]],
    );
}

#[test]
fn a_failure_inside_the_stream() {
    check(
        &[
            "steps = [{ end = 'failed', code = 'server_error', message = 'oops' }]",
            GOOD,
        ],
        expect![[r#"
            created
            retrying 1/1 in 212 ms: StreamDisconnected: oops (server_error)
            created
            started Message
            text "fine"
            done "fine"
            completed 100+20
        "#]],
    );
    check(
        &[
            "steps = [{ end = 'failed', code = 'rate_limit_exceeded', message = 'try again in 7ms' }]",
            GOOD,
        ],
        expect![[r#"
            created
            retrying 1/1 in 7 ms: RateLimited: try again in 7ms (rate_limit_exceeded)
            created
            started Message
            text "fine"
            done "fine"
            completed 100+20
        "#]],
    );
    check(
        &["steps = [{ end = 'failed', code = 'invalid_prompt', message = 'no' }]"],
        expect![[r#"
            created
            failed BadRequest: no (invalid_prompt)
        "#]],
    );
}

#[test]
fn an_incomplete_answer_keeps_what_is_done() {
    check(
        &["steps = [{ say = 'half' }, { incomplete = 'max_output_tokens' }]"],
        expect![[r#"
            created
            started Message
            text "half"
            done "half"
            failed Incomplete: the response was cut at the model's output limit
        "#]],
    );
}

#[test]
fn an_item_that_ends_twice_is_seen_once() {
    check(
        &["steps = [{ say = 'once', chunks = 1 }, { repeat = true }]"],
        expect![[r#"
            created
            started Message
            text "once"
            done "once"
            completed 100+20
        "#]],
    );
}

#[test]
fn the_end_of_the_screenplay_is_an_error_in_words() {
    check(
        &[],
        expect![[r#"
        failed BadRequest: test: 400 Bad Request: screenplay is over: scene 1 has 0 turns and turn 1 was asked for (screenplay_over)
    "#]],
    );
}

#[tokio::test]
async fn a_silent_stream_is_a_broken_one() {
    let server = turns(&[
        "steps = [{ say = 'half', chunks = 1 }, { end = 'stall' }]",
        GOOD,
    ])
    .await;
    let model = connect_to(ProviderConfig {
        stream_idle_timeout_ms: std::num::NonZeroU64::new(100),
        ..server.provider(WireApi::Responses)
    });
    let events = ask(&*model, "go").await;
    server.abandoned(1).await;
    expect![[r#"
        created
        started Message
        text "half"
        done "half"
        retrying 1/5 in 212 ms: StreamDisconnected: the stream was silent for 100 ms
        created
        started Message
        text "fine"
        done "fine"
        completed 100+20
    "#]]
    .assert_eq(&show(&events));
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    let gone = turns(&[]).await;
    let config = ProviderConfig {
        request_max_retries: Some(1),
        query_params: [("key".to_owned(), "s3cret".to_owned())].into(),
        ..gone.provider(WireApi::Responses)
    };
    let port = gone.addr().port().to_string();
    gone.shutdown().await.unwrap();
    let events = ask(&*connect_to(config), "go").await;
    let shown = show(&events).replace(&port, "PORT");
    assert!(!shown.contains("s3cret"));
    expect![[r#"
        failed NotRunning: test at http://127.0.0.1:PORT: the connection was refused, because the server does not run; start it, or set base_url to where it is
    "#]].assert_eq(&shown);
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let server = turns(&["steps = [{ say = 'half' }, { end = 'stall' }]"]).await;
    let mut stream = connect(&server).open(request("go"));
    assert!(stream.next_batch().await.is_some());
    drop(stream);
    server.abandoned(1).await;
}

#[tokio::test]
async fn a_call_of_next_batch_that_is_dropped_loses_nothing() {
    let turn = "steps = [{ say = 'a b c d e f g h', pace_ms = 3 }]";
    let server = turns(&[turn]).await;
    let mut stream = connect(&server).open(request("go"));
    let mut events = Vec::new();
    loop {
        match tokio::time::timeout(Duration::from_millis(1), stream.next_batch()).await {
            Ok(Some(batch)) => events.extend(batch),
            Ok(None) => break,
            Err(_) => {}
        }
    }
    expect![[r#"
        created
        started Message
        text "a "
        text "b "
        text "c "
        text "d "
        text "e "
        text "f "
        text "g "
        text "h"
        done "a b c d e f g h"
        completed 100+20
    "#]]
    .assert_eq(&show(&events));
}

#[tokio::test]
async fn shutting_down_ends_a_stalled_stream() {
    let server = turns(&["steps = [{ say = 'half' }, { end = 'stall' }]"]).await;
    let config = ProviderConfig {
        stream_max_retries: Some(0),
        ..server.provider(WireApi::Responses)
    };
    let mut stream = connect_to(config).open(request("go"));
    assert!(stream.next_batch().await.is_some());
    server.shutdown().await.unwrap();
    let rest = super::support::read_all(stream).await;
    assert!(show(&rest).contains("failed StreamDisconnected: the stream broke"));
}
