//! What a provider says about its limits in response headers. Three families are read:
//! windows with a percentage, and the counters of requests and tokens under two names.

use http::HeaderMap;
use jiff::Timestamp;
use troupe_protocol::usage::{RateLimitSnapshot, RateLimitWindow};

use crate::retry::parse_duration_ms;

pub(crate) fn from_headers(headers: &HeaderMap, now: Timestamp) -> Option<RateLimitSnapshot> {
    let windows = RateLimitSnapshot {
        primary: window(headers, "primary"),
        secondary: window(headers, "secondary"),
    };
    if windows != RateLimitSnapshot::default() {
        return Some(windows);
    }
    let counters = RateLimitSnapshot {
        primary: counter(headers, "requests", now),
        secondary: counter(headers, "tokens", now),
    };
    if counters != RateLimitSnapshot::default() {
        return Some(counters);
    }
    let tokens = ["tokens", "input-tokens", "output-tokens"];
    let counters = RateLimitSnapshot {
        primary: anthropic_counter(headers, "requests"),
        // What is nearest to its end will be met first.
        secondary: tokens
            .iter()
            .filter_map(|name| anthropic_counter(headers, name))
            .max_by(|one, other| one.used_percent.total_cmp(&other.used_percent)),
    };
    (counters != RateLimitSnapshot::default()).then_some(counters)
}

fn window(headers: &HeaderMap, name: &str) -> Option<RateLimitWindow> {
    Some(RateLimitWindow {
        used_percent: read(headers, &format!("x-codex-{name}-used-percent"))
            .filter(|percent: &f64| percent.is_finite())?,
        window_minutes: read(headers, &format!("x-codex-{name}-window-minutes")),
        resets_at: read(headers, &format!("x-codex-{name}-reset-at")),
    })
}

fn counter(headers: &HeaderMap, name: &str, now: Timestamp) -> Option<RateLimitWindow> {
    let limit: f64 = read(headers, &format!("x-ratelimit-limit-{name}"))?;
    let remaining: f64 = read(headers, &format!("x-ratelimit-remaining-{name}"))?;
    let reset_ms = text(headers, &format!("x-ratelimit-reset-{name}"))
        .and_then(parse_duration_ms)
        .and_then(|ms| i64::try_from(ms).ok());
    let resets_at = reset_ms.map(|ms| now.as_second().saturating_add((ms + 999) / 1_000));
    counted(limit, remaining, resets_at)
}

fn anthropic_counter(headers: &HeaderMap, name: &str) -> Option<RateLimitWindow> {
    let field = |field: &str| format!("anthropic-ratelimit-{name}-{field}");
    let reset: Option<Timestamp> = read(headers, &field("reset"));
    counted(
        read(headers, &field("limit"))?,
        read(headers, &field("remaining"))?,
        reset.map(Timestamp::as_second),
    )
}

fn counted(limit: f64, remaining: f64, resets_at: Option<i64>) -> Option<RateLimitWindow> {
    (limit > 0.0).then(|| RateLimitWindow {
        used_percent: ((limit - remaining) / limit * 100.0).clamp(0.0, 100.0),
        window_minutes: None,
        resets_at,
    })
}

fn read<T: std::str::FromStr>(headers: &HeaderMap, name: &str) -> Option<T> {
    text(headers, name)?.parse().ok()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use http::{HeaderName, HeaderValue};

    use super::*;

    #[track_caller]
    fn check(pairs: &[(&'static str, &'static str)], expected: Expect) {
        let headers: HeaderMap = pairs
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect();
        let snapshot = from_headers(&headers, Timestamp::from_second(1_000).unwrap());
        expected.assert_eq(&serde_json::to_string(&snapshot).unwrap());
    }

    #[test]
    fn windows_and_counters() {
        check(
            &[
                ("x-codex-primary-used-percent", "12.5"),
                ("x-codex-primary-window-minutes", "300"),
                ("x-codex-primary-reset-at", "1700000000"),
            ],
            expect![[
                r#"{"primary":{"used_percent":12.5,"window_minutes":300,"resets_at":1700000000}}"#
            ]],
        );
        check(
            &[
                ("x-ratelimit-limit-requests", "500"),
                ("x-ratelimit-remaining-requests", "125"),
                ("x-ratelimit-reset-requests", "1m0.5s"),
                ("x-ratelimit-limit-tokens", "0"),
                ("x-ratelimit-remaining-tokens", "0"),
            ],
            expect![[r#"{"primary":{"used_percent":75.0,"resets_at":1061}}"#]],
        );
    }

    #[test]
    fn counters_of_anthropic() {
        check(
            &[
                ("anthropic-ratelimit-requests-limit", "1000"),
                ("anthropic-ratelimit-requests-remaining", "999"),
                ("anthropic-ratelimit-requests-reset", "1970-01-01T00:16:41Z"),
                ("anthropic-ratelimit-input-tokens-limit", "40000"),
                ("anthropic-ratelimit-input-tokens-remaining", "30000"),
                ("anthropic-ratelimit-output-tokens-limit", "8000"),
                ("anthropic-ratelimit-output-tokens-remaining", "4000"),
            ],
            expect![[
                r#"{"primary":{"used_percent":0.1,"resets_at":1001},"secondary":{"used_percent":50.0}}"#
            ]],
        );
    }

    #[test]
    fn nonsense_is_no_limit() {
        check(&[], expect!["null"]);
        check(&[("x-codex-primary-used-percent", "NaN")], expect!["null"]);
        check(
            &[
                ("x-ratelimit-limit-requests", "many"),
                ("x-ratelimit-remaining-requests", "1"),
            ],
            expect!["null"],
        );
    }
}
