use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use jiff::civil::Date;

use super::usage;

fn check(days: &[(&str, u64)], today: &str, expected: Expect) {
    let day = |text: &str| text.parse::<Date>().unwrap();
    let days: BTreeMap<Date, u64> = days.iter().map(|(at, n)| (day(at), *n)).collect();
    let summary = usage(&days, day(today)).summary;
    expected.assert_eq(&serde_json::to_string(&summary).unwrap());
}

#[test]
fn days_in_a_row_are_counted() {
    check(
        &[],
        "2026-11-16",
        expect![[
            r#"{"lifetimeTokens":0,"peakDailyTokens":0,"currentStreakDays":0,"longestStreakDays":0}"#
        ]],
    );
    check(
        &[
            ("2026-10-30", 5),
            ("2026-10-31", 7),
            ("2026-11-01", 1),
            ("2026-11-15", 2),
        ],
        "2026-11-16",
        expect![[
            r#"{"lifetimeTokens":15,"peakDailyTokens":7,"currentStreakDays":1,"longestStreakDays":3}"#
        ]],
    );
    check(
        &[("2026-11-01", 1)],
        "2026-11-16",
        expect![[
            r#"{"lifetimeTokens":1,"peakDailyTokens":1,"currentStreakDays":0,"longestStreakDays":1}"#
        ]],
    );
}
