use expect_test::{Expect, expect};
use troupe_protocol::ClientId;

use super::DriverSeats;

/// Plays `+a` (a asks) and `-a` (a releases, or is gone), and shows `driver: line`.
#[expect(clippy::needless_pass_by_value, reason = "reads as a literal")]
fn check(steps: &str, expected: Expect) {
    let mut seats = DriverSeats::default();
    for step in steps.split(' ') {
        let client = ClientId::from(&step[1..]);
        match &step[..1] {
            "+" => seats.ask(&client),
            _ => seats.release(&client),
        }
    }
    let driver = seats.driver().map_or("nobody", ClientId::as_str);
    let asking: Vec<&str> = seats.asking.iter().map(ClientId::as_str).collect();
    expected.assert_eq(&format!("{driver}: {}", asking.join(" ")));
}

#[test]
fn the_first_who_asks_drives_and_the_others_wait() {
    check("+a", expect!["a: "]);
    check("+a +b +c +b +a", expect!["a: b c"]);
}

#[test]
fn the_seat_goes_to_the_next_in_line() {
    check("+a +b +c -a", expect!["b: c"]);
    check("+a +b +c -b -a", expect!["c: "]);
    check("+a +b -a +a", expect!["b: a"]);
}

#[test]
fn a_free_seat_is_for_the_next_who_asks() {
    check("+a -a", expect!["nobody: "]);
    check("+a -a -b +b", expect!["b: "]);
}
