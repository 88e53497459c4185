//! Numbers as people read them.

/// Returns a duration: `340 ms`, `3.1 s`, `3 m 10 s`, `2 h 5 m`.
pub fn duration_text(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0 if ms < 100 => format!("{ms} ms"),
        0..=9 => format!("{}.{} s", seconds, ms % 1_000 / 100),
        10..=59 => format!("{seconds} s"),
        60..=3_599 => format!("{} m {} s", seconds / 60, seconds % 60),
        3_600..=86_399 => format!("{} h {} m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Returns a duration in whole seconds, as a clock shows it: `9 s`, `3 m 10 s`.
pub fn clock_text(ms: u64) -> String {
    match ms / 1_000 {
        seconds @ 0..=59 => format!("{seconds} s"),
        _ => duration_text(ms),
    }
}

/// Returns an age in one unit: `9 s`, `2 m`, `3 h`, `4 d`.
pub fn age_text(ms: u64) -> String {
    match ms / 1_000 {
        seconds @ 0..=59 => format!("{seconds} s"),
        seconds @ 60..=3_599 => format!("{} m", seconds / 60),
        seconds @ 3_600..=86_399 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// Returns a number of tokens: `812`, `41 k`, `2.1 M`.
pub fn count_text(count: u64) -> String {
    match count {
        0..=999 => count.to_string(),
        1_000..=999_999 => format!("{} k", count / 1_000),
        _ => format!("{}.{} M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(duration_text(3_140), "3.1 s");
        assert_eq!(duration_text(190_000), "3 m 10 s");
        assert_eq!(age_text(121_000), "2 m");
        assert_eq!(count_text(412_345), "412 k");
        assert_eq!(count_text(2_140_000), "2.1 M");
    }
}
