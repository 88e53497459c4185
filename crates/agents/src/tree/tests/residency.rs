use std::fmt::Write;

use expect_test::expect;

use super::scene::{check, play};
use crate::tree::limits::RESIDENT_AGENTS_MAX;

#[test]
fn a_session_is_loaded_for_its_first_task() {
    check(
        "spawn user a
         end a completed
         send user a",
        expect![[r#"
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > end a completed
            load root
            start root with callback-of-a-2
            > send user a
            start a with m2
            = delivered
        "#]],
    );
}

/// The oldest idle one goes first, and comes back when it is addressed.
#[test]
fn idle_sessions_beyond_the_bound_are_unloaded() {
    let mut script = String::new();
    for child in 0..=RESIDENT_AGENTS_MAX {
        writeln!(script, "pass 2\nspawn user c{child}").unwrap();
        if child != 1 {
            writeln!(script, "end c{child} completed").unwrap();
        }
    }
    script += "send user c0\ncounts\n";
    play(64, &script, |shown| {
        let lines: Vec<&str> = shown
            .lines()
            .filter(|line| line.starts_with("unload") || line.starts_with("Counts"))
            .chain(shown.lines().rev().take(6))
            .collect();
        expect![[r#"
            unload c0
            unload c2
            unload c3
            Counts { running: 2, resident: 64, remembered: 66 }
            Counts { running: 2, resident: 64, remembered: 66 }
            > counts
            unload c3
            = delivered
            start c0 with m66
            load c0"#]]
        .assert_eq(&lines.join("\n"));
    });
}
