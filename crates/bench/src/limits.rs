//! Bounds of the measurements.

use std::time::Duration;

/// How long a measured server may take to listen; then the measurement fails.
pub const BENCH_START_MAX: Duration = Duration::from_secs(20);

/// How long a child that is not answered is kept waiting: longer than the measurement.
pub const BENCH_UNANSWERED_MS: u32 = 600_000;

/// How often a process is asked for its peak. What it reaches after the last time is missed.
pub const BENCH_PEAK_INTERVAL: Duration = Duration::from_millis(1);
