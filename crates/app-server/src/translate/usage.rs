//! Token counts and rate limits as clients read them.

use troupe_protocol::usage::{self as core, RateLimitSnapshot, TokenUsage, TokenUsageInfo};

use crate::wire::account::{RateLimitWindow, RateLimits};
use crate::wire::notification::{ThreadTokenUsage, TokenUsageBreakdown};

pub(crate) fn token_usage(info: &TokenUsageInfo) -> ThreadTokenUsage {
    let breakdown = |usage: &TokenUsage| TokenUsageBreakdown {
        total_tokens: usage.total_tokens,
        input_tokens: usage.input_tokens,
        cached_input_tokens: usage.cached_input_tokens,
        cache_write_input_tokens: usage.cache_write_input_tokens,
        output_tokens: usage.output_tokens,
        reasoning_output_tokens: usage.reasoning_output_tokens,
    };
    ThreadTokenUsage {
        total: breakdown(&info.total_token_usage),
        last: breakdown(&info.last_token_usage),
        model_context_window: info.model_context_window,
    }
}

pub(super) fn rate_limits(limits: &RateLimitSnapshot) -> RateLimits {
    let window = |window: &core::RateLimitWindow| RateLimitWindow {
        used_percent: percent(window.used_percent),
        window_duration_mins: window.window_minutes,
        resets_at: window.resets_at,
    };
    RateLimits {
        limit_id: None,
        limit_name: None,
        primary: limits.primary.as_ref().map(window),
        secondary: limits.secondary.as_ref().map(window),
    }
}

/// Rounds to whole percents; what is no number is nothing.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast of a float stops at the bounds of the type, and a percentage is none of them"
)]
fn percent(percent: f64) -> u32 {
    percent.round() as u32
}
