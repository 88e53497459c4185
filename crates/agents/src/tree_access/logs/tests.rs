use expect_test::{Expect, expect};

use super::*;

/// Shows the page that is left of events at these moments, each as its moment and number.
fn check(limit: usize, bytes_max: Option<usize>, moments: &[i64], expected: Expect) {
    expected.assert_eq(&page(limit, bytes_max, moments, i64::MAX).join(" "));
}

fn page(limit: usize, bytes_max: Option<usize>, moments: &[i64], before: i64) -> Vec<String> {
    let mut newest = NewestMoments::new(limit);
    for (number, at) in moments.iter().enumerate().filter(|(_, at)| **at < before) {
        let message = number.to_string();
        newest.push(*at, EventMsg::Warning { message });
    }
    let page = newest.page(bytes_max).into_iter();
    page.map(|logged| {
        let number = logged.event["message"].as_str().unwrap_or_default();
        format!("{}:{number}", logged.timestamp_ms)
    })
    .collect()
}

#[test]
fn a_page_has_the_newest_events() {
    check(2, None, &[1, 2, 3, 4], expect!["3:2 4:3"]);
    check(9, None, &[1, 2], expect!["1:0 2:1"]);
    check(0, None, &[1, 2], expect!["2:1"]);
    check(2, None, &[], expect![""]);
}

#[test]
fn a_page_is_not_cut_inside_of_a_moment() {
    check(3, None, &[1, 2, 2, 3, 4], expect!["3:3 4:4"]);
    check(4, None, &[1, 2, 2, 3, 4], expect!["2:1 2:2 3:3 4:4"]);
    check(1, None, &[1, 2, 2, 2], expect!["2:1 2:2 2:3"]);
    // One of them is about 35 bytes.
    check(9, Some(80), &[1, 2, 2, 3], expect!["3:3"]);
    check(9, Some(120), &[1, 2, 2, 3], expect!["2:1 2:2 3:3"]);
    check(9, Some(1), &[1, 3, 3], expect!["3:1 3:2"]);
}

#[test]
fn a_moment_without_end_is_cut_at_last() {
    let crowded = vec![7; MOMENT_EVENTS_MAX + 3];
    let page = page(1, None, &crowded, i64::MAX);
    assert_eq!(page.len(), MOMENT_EVENTS_MAX);
    assert_eq!(page.first().map(String::as_str), Some("7:3"));
}

#[test]
fn paging_back_by_the_first_moment_of_a_page_reaches_every_event() {
    let moments = [1, 1, 2, 3, 3, 3, 3, 4, 5, 5, 6];
    for limit in 1..moments.len() {
        let mut before = i64::MAX;
        let mut seen = Vec::new();
        loop {
            let page = page(limit, None, &moments, before);
            let Some(first) = page.first().and_then(|event| event.split(':').next()) else {
                break;
            };
            before = first.parse().expect("it is a moment");
            seen.splice(0..0, page);
        }
        assert_eq!(seen.len(), moments.len(), "limit {limit}: {seen:?}");
    }
}
