use expect_test::expect;

use super::scene::{check, check_with};
use crate::TreeLimits;

#[test]
fn an_interrupt_takes_the_place_of_a_task_that_has_not_begun() {
    check(
        "show facts
         spawn user a
         end a completed
         end root completed
         slow
         send user a
         send user a !
         started a m2
         started a m3
         end a completed
         status",
        expect![[r#"
            > show facts
            > spawn user a
            write root: born /root/a
            load a
            start a with m1
            = 1 /root/a pending_init
            write a: started with m1
            > end a completed
            write a: ended Completed, callback-of-a-2
            load root
            start root with callback-of-a-2
            write root: started with callback-of-a-2
            > end root completed
            write root: ended Completed
            > slow
            > send user a
            write root: sent m2 to a
            start a with m2
            = delivered
            > send user a !
            write root: sent m3 to a
            start a with m2 m3
            = delivered
            > started a m2
            refused: agent 1 has no task 00000000-0000-0000-0000-000000000002 in flight
            > started a m3
            write a: started with m3
            write a: took m2
            > end a completed
            write a: ended Completed, callback-of-a-5
            start root with callback-of-a-5
            > status
            /root pending_init
            /root/a completed
        "#]],
    );
}

#[test]
fn of_interrupts_before_the_beginning_the_newest_begins() {
    check(
        "show facts
         slow
         spawn user a
         send user a !
         send user a !
         send user a
         started a m1
         started a m2
         started a m3",
        expect![[r#"
            > show facts
            > slow
            > spawn user a
            write root: born /root/a
            load a
            start a with m1
            = 1 /root/a pending_init
            > send user a !
            write root: sent m2 to a
            start a with m1 m2
            = delivered
            > send user a !
            write root: sent m3 to a
            start a with m1 m2 m3
            = delivered
            > send user a
            write root: sent m4 to a
            = queued 4
            > started a m1
            refused: agent 1 has no task 00000000-0000-0000-0000-000000000001 in flight
            > started a m2
            refused: agent 1 has no task 00000000-0000-0000-0000-000000000002 in flight
            > started a m3
            write a: started with m3
            write a: took m1 m2
            poke a
        "#]],
    );
}

#[test]
fn of_interrupts_during_a_task_the_newest_begins_the_next() {
    check(
        "show facts
         spawn user a
         send user a
         send user a !
         send user a !
         end a replaced",
        expect![[r#"
            > show facts
            > spawn user a
            write root: born /root/a
            load a
            start a with m1
            = 1 /root/a pending_init
            write a: started with m1
            > send user a
            write root: sent m2 to a
            poke a
            = queued 1
            > send user a !
            write root: sent m3 to a
            abort a: Replaced
            = queued 1
            > send user a !
            write root: sent m4 to a
            = queued 2
            > end a replaced
            write a: ended Replaced
            start a with m3 m4
            write a: started with m4
            write a: took m3
            poke a
        "#]],
    );
}

#[test]
fn an_interrupt_in_line_begins_with_what_it_takes_the_place_of_ahead() {
    let limits = TreeLimits {
        max_threads: 1,
        ..TreeLimits::default()
    };
    check_with(
        limits,
        "show facts
         spawn user a
         spawn user b
         send user b
         send user b !
         send user b
         end a completed
         took b m5
         end b completed
         status",
        expect![[r#"
            > show facts
            > spawn user a
            write root: born /root/a
            load a
            start a with m1
            = 1 /root/a pending_init
            write a: started with m1
            > spawn user b
            write root: born /root/b
            = 2 /root/b queued 1
            > send user b
            write root: sent m3 to b
            = queued 1
            > send user b !
            write root: sent m4 to b
            = queued 1
            > send user b
            write root: sent m5 to b
            = queued 1
            > end a completed
            write a: ended Completed, callback-of-a-6
            load root
            start root with callback-of-a-6
            load b
            start b with m2 m3 m4
            write root: started with callback-of-a-6
            write b: started with m4
            write b: took m2 m3
            poke b
            > took b m5
            write b: took m5
            > end b completed
            write b: ended Completed, callback-of-b-7
            > status
            /root running
            /root/a completed
            /root/b completed
        "#]],
    );
}

#[test]
fn a_cancel_behind_an_interrupt_before_the_beginning_ends_everything() {
    check(
        "show facts
         slow
         spawn user a
         send user a !
         cancel user a
         send user a !
         started a m1
         started a m2
         end a interrupted
         status",
        expect![[r#"
            > show facts
            > slow
            > spawn user a
            write root: born /root/a
            load a
            start a with m1
            = 1 /root/a pending_init
            > send user a !
            write root: sent m2 to a
            start a with m1 m2
            = delivered
            > cancel user a
            write root: asked a: Cancel { by: User, scope: AgentId(1) }
            abort a: Cancelled
            = Cancel a
            > send user a !
            = dead Stopping
            > started a m1
            refused: agent 1 has no task 00000000-0000-0000-0000-000000000001 in flight
            > started a m2
            write a: started with m2
            write a: took m1
            > end a interrupted
            write a: ended Cancelled { by: User, scope: AgentId(1) }, callback-of-a-4
            load root
            start root with callback-of-a-4
            > status
            /root pending_init
            /root/a cancelled
        "#]],
    );
}

#[test]
fn an_interrupt_behind_a_stop_before_the_beginning_begins_after_it() {
    check(
        "show facts
         slow
         spawn user a
         interrupt user a
         send user a !
         started a m1
         end a interrupted
         started a m2
         status",
        expect![[r#"
            > show facts
            > slow
            > spawn user a
            write root: born /root/a
            load a
            start a with m1
            = 1 /root/a pending_init
            > interrupt user a
            write root: asked a: Interrupt { why: User }
            abort a: Interrupted
            = Interrupt a
            > send user a !
            write root: sent m2 to a
            = held Stopping
            > started a m1
            write a: started with m1
            poke a
            > end a interrupted
            write a: ended Interrupted { why: User }, callback-of-a-3
            load root
            start root with callback-of-a-3
            start a with m2
            > started a m2
            write a: started with m2
            > status
            /root pending_init
            /root/a running
        "#]],
    );
}

#[test]
fn a_crash_between_an_interrupt_and_the_beginning_changes_nothing() {
    check(
        "slow
         spawn user a
         send user a !
         crash
         show facts
         started a
         crash
         status",
        expect![[r#"
            > slow
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > send user a !
            start a with m1 m2
            = delivered
            > crash
            load a
            start a with m1 m2
            > show facts
            > started a
            write a: started with m2
            write a: took m1
            > crash
            write a: ended Interrupted { why: Crash }
            > status
            /root pending_init
            /root/a interrupted (crash)
        "#]],
    );
}

#[test]
fn an_interrupt_of_the_root_leaves_the_callback_that_had_not_begun() {
    check(
        "show facts
         spawn user a
         slow
         end a completed
         send user root !
         started root callback-of-a-2
         started root m2
         end root completed",
        expect![[r#"
            > show facts
            > spawn user a
            write root: born /root/a
            load a
            start a with m1
            = 1 /root/a pending_init
            write a: started with m1
            > slow
            > end a completed
            write a: ended Completed, callback-of-a-2
            load root
            start root with callback-of-a-2
            > send user root !
            write root: sent m2 to root
            start root with m2
            = delivered
            > started root callback-of-a-2
            refused: agent 0 has no task fa2bdc5a-8415-5e2d-b215-de0dc4e42de3 in flight
            > started root m2
            write root: started with m2
            > end root completed
            write root: ended Completed
            start root with callback-of-a-2
        "#]],
    );
}
