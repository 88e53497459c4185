//! When a failed attempt is repeated, and how long that waits. Pure but for the jitter's
//! seed.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::error::{ModelError, ModelErrorKind};
use crate::limits::{RETRY_AFTER_MS_MAX, RETRY_DELAY_BASE_MS, RETRY_DELAY_MS_MAX};

/// Where the jitter of delays comes from. A seed makes them the same in every run.
#[derive(Debug, Clone, Copy, Default)]
pub enum RetryJitter {
    #[default]
    Random,
    Seeded(u64),
}

/// Which of the two counters an attempt uses up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttemptStage {
    /// The server could not be reached, or answered with something else than a response.
    Request,
    /// A response broke. One that broke before its first byte is one, too: the server took
    /// the request.
    Stream,
}

/// What to do about a failed attempt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RetryVerdict {
    Again {
        attempt: u32,
        attempts_max: u32,
        delay: Duration,
    },
    GiveUp(ModelError),
}

/// The counters of one response.
#[derive(Debug)]
pub(crate) struct RetryCounters {
    request_max: u32,
    stream_max: u32,
    request_used: u32,
    stream_used: u32,
    jitter: SmallRng,
}

impl RetryCounters {
    pub(crate) fn new(request_max: u32, stream_max: u32, jitter: RetryJitter) -> Self {
        Self {
            request_max,
            stream_max,
            request_used: 0,
            stream_used: 0,
            jitter: match jitter {
                RetryJitter::Random => SmallRng::from_os_rng(),
                RetryJitter::Seeded(seed) => SmallRng::seed_from_u64(seed),
            },
        }
    }

    /// A response began: if it breaks, its repetition may need as many requests again.
    pub(crate) fn connected(&mut self) {
        self.request_used = 0;
    }

    pub(crate) fn judge(&mut self, stage: AttemptStage, error: &ModelError) -> RetryVerdict {
        if !error.is_retryable() {
            return RetryVerdict::GiveUp(error.clone());
        }
        if let Some(asked) = error.retry_after_ms
            && asked > RETRY_AFTER_MS_MAX
        {
            return RetryVerdict::GiveUp(ModelError {
                message: format!(
                    "{error}; the server asks to wait {} s, which is more than {} s",
                    asked / 1_000,
                    RETRY_AFTER_MS_MAX / 1_000,
                ),
                ..error.clone()
            });
        }
        let (used, attempts_max) = match stage {
            AttemptStage::Request => (&mut self.request_used, self.request_max),
            AttemptStage::Stream => (&mut self.stream_used, self.stream_max),
        };
        if *used >= attempts_max {
            return RetryVerdict::GiveUp(exhausted(*used + 1, error));
        }
        *used += 1;
        let attempt = *used;
        let delay_ms = match error.retry_after_ms {
            Some(asked) => asked,
            None => backoff_ms(attempt, self.jitter.random_range(0.9..1.1)),
        };
        RetryVerdict::Again {
            attempt,
            attempts_max,
            delay: Duration::from_millis(delay_ms),
        }
    }
}

/// 200 ms, 400 ms, 800 ms … times the jitter, up to the bound.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a positive number of milliseconds below the bound"
)]
fn backoff_ms(attempt: u32, jitter: f64) -> u64 {
    let exponent = (attempt - 1).min(20);
    let base = (RETRY_DELAY_BASE_MS << exponent).min(RETRY_DELAY_MS_MAX);
    ((base as f64 * jitter) as u64).min(RETRY_DELAY_MS_MAX)
}

fn exhausted(attempts: u32, last: &ModelError) -> ModelError {
    if attempts == 1 {
        return last.clone();
    }
    ModelError {
        kind: ModelErrorKind::TooManyAttempts,
        message: format!("gave up after {attempts} attempts; the last one failed: {last}"),
        http_status: last.http_status,
        retry_after_ms: last.retry_after_ms,
        overflow: last.overflow,
    }
}

/// Reads `Retry-After`: seconds, or the date at which to come back.
pub(crate) fn parse_retry_after_ms(value: &str, now: jiff::Timestamp) -> Option<u64> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return seconds_to_ms(seconds);
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(value)
        .ok()?;
    let wait = date.duration_since(now).as_millis();
    Some(u64::try_from(wait.max(0)).unwrap_or(u64::MAX))
}

/// Reads the start of a text as a duration such as `6m0s`, `1.5s`, `20ms`, `3 seconds`.
pub(crate) fn parse_duration_ms(text: &str) -> Option<u64> {
    let mut rest = text.trim_start();
    let mut total: Option<u64> = None;
    loop {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let Ok(number) = rest[..digits].trim_end_matches('.').parse::<f64>() else {
            return total;
        };
        let after = rest[digits..].trim_start();
        let letters = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let seconds = match &after[..letters] {
            "ms" | "milliseconds" => number / 1_000.0,
            "s" | "sec" | "second" | "seconds" => number,
            "m" | "min" | "minute" | "minutes" => number * 60.0,
            "h" | "hour" | "hours" => number * 3_600.0,
            _ => return total,
        };
        total = Some(total.unwrap_or(0).saturating_add(seconds_to_ms(seconds)?));
        rest = &after[letters..];
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a number that is not negative; a huge one saturates"
)]
fn seconds_to_ms(seconds: f64) -> Option<u64> {
    (seconds.is_finite() && seconds >= 0.0).then(|| (seconds * 1_000.0).round() as u64)
}

#[cfg(test)]
mod tests;
