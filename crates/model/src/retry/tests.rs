use expect_test::{Expect, expect};

use super::*;

fn error(kind: ModelErrorKind) -> ModelError {
    ModelError::new(kind, "it broke")
}

fn play(retries: &mut RetryCounters, stage: AttemptStage, error: &ModelError) -> String {
    match retries.judge(stage, error) {
        RetryVerdict::Again {
            attempt,
            attempts_max,
            delay,
        } => format!("{attempt}/{attempts_max} after {} ms", delay.as_millis()),
        RetryVerdict::GiveUp(error) => format!("{:?}: {error}", error.kind),
    }
}

#[track_caller]
fn check(max: u32, error: &ModelError, times: usize, expected: Expect) {
    let mut retries = RetryCounters::new(max, max, RetryJitter::Seeded(7));
    let lines: Vec<_> = (0..times)
        .map(|_| play(&mut retries, AttemptStage::Request, error))
        .collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn delays_double_and_the_end_names_the_attempts() {
    check(
        4,
        &error(ModelErrorKind::ConnectionFailed),
        5,
        expect![[r#"
            1/4 after 182 ms
            2/4 after 373 ms
            3/4 after 834 ms
            4/4 after 1576 ms
            TooManyAttempts: gave up after 5 attempts; the last one failed: it broke"#]],
    );
}

#[test]
fn what_cannot_succeed_is_not_repeated() {
    check(
        4,
        &error(ModelErrorKind::BadRequest),
        1,
        expect!["BadRequest: it broke"],
    );
    check(
        0,
        &error(ModelErrorKind::ServerError),
        1,
        expect!["ServerError: it broke"],
    );
}

#[test]
fn the_servers_delay_wins_within_reason() {
    let asked = |ms| ModelError {
        retry_after_ms: Some(ms),
        ..error(ModelErrorKind::RateLimited)
    };
    check(4, &asked(1_500), 1, expect!["1/4 after 1500 ms"]);
    check(4, &asked(0), 1, expect!["1/4 after 0 ms"]);
    check(
        4,
        &asked(3_600_000),
        1,
        expect!["RateLimited: it broke; the server asks to wait 3600 s, which is more than 300 s"],
    );
}

#[test]
fn a_delay_never_grows_past_the_bound() {
    assert_eq!(backoff_ms(1, 1.0), 200);
    assert_eq!(backoff_ms(9, 1.0), 51_200);
    assert_eq!(backoff_ms(100, 1.1), RETRY_DELAY_MS_MAX);
}

#[test]
fn a_response_that_began_gives_new_requests_but_no_new_streams() {
    let mut retries = RetryCounters::new(1, 1, RetryJitter::Seeded(7));
    let broken = ModelError {
        retry_after_ms: Some(1),
        ..error(ModelErrorKind::StreamDisconnected)
    };
    let steps = [
        play(&mut retries, AttemptStage::Request, &broken),
        {
            retries.connected();
            play(&mut retries, AttemptStage::Stream, &broken)
        },
        play(&mut retries, AttemptStage::Request, &broken),
        {
            retries.connected();
            play(&mut retries, AttemptStage::Stream, &broken)
        },
    ];
    expect![[r#"
        1/1 after 1 ms
        1/1 after 1 ms
        1/1 after 1 ms
        TooManyAttempts: gave up after 2 attempts; the last one failed: it broke"#]]
    .assert_eq(&steps.join("\n"));
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    let now: jiff::Timestamp = "2026-11-16T10:00:00Z".parse().unwrap();
    let read = |value| parse_retry_after_ms(value, now);
    assert_eq!(read("7"), Some(7_000));
    assert_eq!(read(" 0.25 "), Some(250));
    assert_eq!(read("Mon, 16 Nov 2026 10:00:30 GMT"), Some(30_000));
    assert_eq!(read("Mon, 16 Nov 2026 09:00:00 GMT"), Some(0));
    assert_eq!(read("soon"), None);
    assert_eq!(read("-3"), None);
    assert_eq!(read("inf"), None);
}

#[test]
fn durations_in_words_and_units() {
    assert_eq!(parse_duration_ms("6m0s"), Some(360_000));
    assert_eq!(parse_duration_ms("1.5s."), Some(1_500));
    assert_eq!(parse_duration_ms("20ms or so"), Some(20));
    assert_eq!(parse_duration_ms("1h2m3s"), Some(3_723_000));
    assert_eq!(parse_duration_ms("3 seconds"), Some(3_000));
    assert_eq!(parse_duration_ms("12 parsecs"), None);
    assert_eq!(parse_duration_ms("..s"), None);
}
