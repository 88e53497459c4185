use expect_test::expect;

use super::scene::check;

#[test]
fn nobody_waits_in_a_circle() {
    check(
        "started root t1
         spawn root a
         spawn root b
         wait a b
         wait b a
         wait b b",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn root b
            load b
            start b with m2
            = 2 /root/b pending_init
            > wait a b
            = w0
            > wait b a
            refused: waiting for agent 1 would never end, because it waits for this agent; end the task instead, and it will be called back
            > wait b b
            refused: waiting for agent 2 would never end, because it waits for this agent; end the task instead, and it will be called back
        "#]],
    );
}

#[test]
fn a_wait_that_another_agent_can_end_is_no_circle() {
    check(
        "started root t1
         spawn root a
         spawn root b
         wait a b root
         wait root a
         end b completed
         taken a w0
         end a completed",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn root b
            load b
            start b with m2
            = 2 /root/b pending_init
            > wait a b root
            = w0
            > wait root a
            = w1
            > end b completed
            answer w0: Final b completed
            > taken a w0
            > end a completed
            answer w1: Final a completed (callback-of-a-4)
        "#]],
    );
}

#[test]
fn the_last_one_who_moves_does_not_wait_for_the_others() {
    check(
        "started root t1
         spawn root a
         spawn root b
         wait a b root
         wait root a
         wait b root a
         wait b b",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn root b
            load b
            start b with m2
            = 2 /root/b pending_init
            > wait a b root
            = w0
            > wait root a
            = w1
            > wait b root a
            refused: waiting for agent 0 would never end, because it waits for this agent; end the task instead, and it will be called back
            > wait b b
            refused: waiting for agent 2 would never end, because it waits for this agent; end the task instead, and it will be called back
        "#]],
    );
}

#[test]
fn a_task_with_two_waits_goes_on_when_both_have_ended() {
    check(
        "started root t1
         spawn root a
         spawn root b
         wait a b
         wait a root
         wait root a",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn root b
            load b
            start b with m2
            = 2 /root/b pending_init
            > wait a b
            = w0
            > wait a root
            = w1
            > wait root a
            refused: waiting for agent 1 would never end, because it waits for this agent; end the task instead, and it will be called back
        "#]],
    );
}

#[test]
fn who_is_being_ended_waits_for_nobody() {
    check(
        "started root t1
         spawn root a
         wait a root
         wait root a
         send user a !
         wait root a",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > wait a root
            = w0
            > wait root a
            refused: waiting for agent 1 would never end, because it waits for this agent; end the task instead, and it will be called back
            > send user a !
            abort a: Replaced
            = queued 1
            > wait root a
            = w1
        "#]],
    );
}
