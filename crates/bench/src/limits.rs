//! Bounds of the measurements.

use std::time::Duration;

/// How long a measured server may take to listen; then the measurement fails.
pub const BENCH_START_MAX: Duration = Duration::from_secs(20);

/// How long a child that is not answered is kept waiting: longer than the measurement.
pub const BENCH_UNANSWERED_MS: u32 = 600_000;

/// How often a process is asked for its peak. What it reaches after the last time is missed.
pub const BENCH_PEAK_INTERVAL: Duration = Duration::from_millis(1);

/// How long a screen may take to show what it should; then the measurement fails.
pub const BENCH_SCREEN_MAX: Duration = Duration::from_mins(1);

/// Bytes of a screen that are read at once.
pub const BENCH_TERMINAL_READ_BYTES: usize = 64 * 1024;

/// How long a screen is watched in which nothing happens.
pub const BENCH_IDLE: Duration = Duration::from_secs(20);

/// How long a screen is left alone before it is looked at, so that what came before is over.
pub const BENCH_SETTLE: Duration = Duration::from_millis(1_500);

/// Time between two pieces of an answer that comes slowly.
pub const BENCH_PACE_MS: u32 = 10;

/// Time between two keys, so that each is painted before the next; a little more each time, so
/// that they have no beat in common with frames.
pub const BENCH_KEY_INTERVAL: Duration = Duration::from_millis(25);
