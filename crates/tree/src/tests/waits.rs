use expect_test::expect;

use super::scene::check;

#[test]
fn the_answer_is_the_delivery() {
    check(
        "show facts
         started root t1
         spawn root a
         wait root a
         end a completed
         taken root w0
         end root completed",
        expect![[r#"
            > show facts
            > started root t1
            write root: started
            > spawn root a
            write root: born /root/a
            load a
            start a with m1
            = 1 /root/a pending_init
            write a: started with m1
            > wait root a
            = w0
            > end a completed
            write a: ended Completed, callback-of-a-2
            answer w0: Final a completed (callback-of-a-2)
            > taken root w0
            write root: consumed callback-of-a-2
            > end root completed
            write root: ended Completed
        "#]],
    );
}

#[test]
fn an_answer_that_was_not_taken_leaves_the_callback() {
    check(
        "started root t1
         spawn root a
         wait root a
         end a completed
         end root errored",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > wait root a
            = w0
            > end a completed
            answer w0: Final a completed (callback-of-a-2)
            > end root errored
            start root with callback-of-a-2
        "#]],
    );
}

#[test]
fn a_child_that_finished_before_the_wait_satisfies_it_at_once() {
    check(
        "started root t1
         spawn root a
         spawn root b
         end a completed
         wait root b a
         taken root w0
         wait root a
         wait root 77",
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
            > end a completed
            > wait root b a
            = w0
            answer w0: Final a completed (callback-of-a-3)
            > taken root w0
            > wait root a
            = w1
            answer w1: Final a completed
            > wait root 77
            = w2
            answer w2: Final 77 not_found
        "#]],
    );
}

#[test]
fn the_first_final_and_whoever_is_final_too() {
    check(
        "started root t1
         spawn root a
         spawn root b
         spawn root c
         wait root a b c
         close user b c
         end c interrupted
         end b interrupted",
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
            > spawn root c
            load c
            start c with m3
            = 3 /root/c pending_init
            > wait root a b c
            = w0
            > close user b c
            abort b: Cancelled
            abort c: Cancelled
            = Close b, Close c
            > end c interrupted
            shut c
            answer w0: Final c shutdown (callback-of-c-4)
            > end b interrupted
            shut b
        "#]],
    );
}

/// The answer tells the last result alone, so the callback of the one before stays.
#[test]
fn new_work_is_waited_for_not_the_old_result() {
    check(
        "started root t1
         spawn root a
         end a completed
         send root a
         wait root a
         end a errored",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > end a completed
            > send root a
            start a with m2
            = delivered
            > wait root a
            = w0
            > end a errored
            answer w0: Final a errored (callback-of-a-4)
        "#]],
    );
}

#[test]
fn two_waits_for_one_child_deliver_once() {
    check(
        "started root t1
         spawn root a
         wait root a
         wait root a
         end a completed
         taken root w0
         taken root w1
         taken root w1
         end root completed",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > wait root a
            = w0
            > wait root a
            = w1
            > end a completed
            answer w0: Final a completed (callback-of-a-2)
            answer w1: Final a completed
            > taken root w0
            > taken root w1
            > taken root w1
            refused: no open wait 1
            > end root completed
        "#]],
    );
}

#[test]
fn timeout_and_stop_waiting_leave_the_child_alone() {
    check(
        "started root t1
         spawn root a
         wait root a
         timeout w0
         wait root a
         unwait w1
         unwait w1
         status
         end a completed
         end root completed",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > wait root a
            = w0
            > timeout w0
            answer w0: TimedOut
            > wait root a
            = w1
            > unwait w1
            answer w1: Stopped
            > unwait w1
            refused: no open wait 1
            > status
            /root running
            /root/a running
            > end a completed
            > end root completed
            start root with callback-of-a-2
        "#]],
    );
}

#[test]
fn any_child() {
    check(
        "started root t1
         wait root any
         spawn root a
         spawn root b
         end a completed
         wait root any
         taken root w0
         wait root any
         end b completed
         taken root w1
         wait root any",
        expect![[r#"
            > started root t1
            > wait root any
            refused: nothing to wait for: no child is active and every result was delivered
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn root b
            load b
            start b with m2
            = 2 /root/b pending_init
            > end a completed
            > wait root any
            = w0
            answer w0: Final a completed (callback-of-a-3)
            > taken root w0
            > wait root any
            = w1
            > end b completed
            answer w1: Final b completed (callback-of-b-4)
            > taken root w1
            > wait root any
            refused: nothing to wait for: no child is active and every result was delivered
        "#]],
    );
}

#[test]
fn a_wait_dies_with_its_task() {
    check(
        "started root t1
         spawn root a
         spawn a b
         wait a b
         interrupt root a
         end a interrupted
         end b completed
         timeout w0",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn a b
            load b
            start b with m2
            = 2 /root/a/b pending_init
            > wait a b
            = w0
            > interrupt root a
            abort a: Interrupted
            = Interrupt a
            > end a interrupted
            > end b completed
            > timeout w0
            refused: no open wait 0
        "#]],
    );
}

#[test]
fn the_user_waits_without_taking_the_callback() {
    check(
        "started root t1
         spawn root a
         wait user a
         end a completed
         end root completed",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > wait user a
            = w0
            > end a completed
            answer w0: Final a completed
            > end root completed
            start root with callback-of-a-2
        "#]],
    );
}

#[test]
fn an_end_that_nobody_is_called_back_for_is_heard_once_too() {
    check(
        "show facts
         started root t1
         spawn root a silent
         end a completed
         wait root any
         taken root w0
         crash
         started root t2
         wait root any",
        expect![[r#"
            > show facts
            > started root t1
            write root: started
            > spawn root a silent
            write root: born /root/a
            load a
            start a with m1
            = 1 /root/a pending_init
            write a: started with m1
            > end a completed
            write a: ended Completed
            > wait root any
            = w0
            answer w0: Final a completed (untold)
            > taken root w0
            write root: consumed untold
            > crash
            write root: ended Interrupted { why: Crash }
            > started root t2
            write root: started
            > wait root any
            refused: nothing to wait for: no child is active and every result was delivered
        "#]],
    );
}

#[test]
fn ends_are_told_in_the_order_in_which_they_came() {
    check(
        "started root t1
         spawn root a
         end a completed
         send root a
         wait root any
         taken root w0
         wait root any
         end a errored",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > end a completed
            > send root a
            start a with m2
            = delivered
            > wait root any
            = w0
            answer w0: Final a completed (callback-of-a-2)
            > taken root w0
            > wait root any
            = w1
            > end a errored
            answer w1: Final a errored (callback-of-a-4)
        "#]],
    );
}

#[test]
fn two_waits_for_any_child_do_not_tell_the_same() {
    check(
        "started root t1
         spawn root a
         spawn root b
         wait root any
         wait root any
         end a completed
         taken root w0
         end b completed",
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
            > wait root any
            = w0
            > wait root any
            = w1
            > end a completed
            answer w0: Final a completed (callback-of-a-3)
            > taken root w0
            > end b completed
            answer w1: Final b completed (callback-of-b-4)
        "#]],
    );
}

#[test]
fn a_wait_for_any_child_ends_when_another_wait_told_the_last_news() {
    check(
        "started root t1
         spawn root a
         wait root a
         wait root any
         end a completed",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > wait root a
            = w0
            > wait root any
            = w1
            > end a completed
            answer w0: Final a completed (callback-of-a-2)
            answer w1: Exhausted
        "#]],
    );
}

#[test]
fn a_wait_for_any_child_ends_when_the_last_one_at_work_is_released() {
    check(
        "started root t1
         spawn root a
         wait root any
         release user a",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > wait root any
            = w0
            > release user a
            answer w0: Exhausted
            = Release a
        "#]],
    );
}

#[test]
fn a_wait_for_any_child_sees_those_that_came_after_it_and_no_old_ends() {
    check(
        "started root t1
         spawn root a
         end a completed
         spawn root b
         wait root any
         taken root w0
         wait root any
         close user a
         spawn root c
         end c completed",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > end a completed
            > spawn root b
            load b
            start b with m2
            = 2 /root/b pending_init
            > wait root any
            = w0
            answer w0: Final a completed (callback-of-a-2)
            > taken root w0
            > wait root any
            = w1
            > close user a
            shut a
            = Close a
            > spawn root c
            load c
            start c with m3
            = 3 /root/c pending_init
            > end c completed
            answer w1: Final c completed (callback-of-c-5)
        "#]],
    );
}

#[test]
fn a_message_of_a_child_ends_a_wait_that_listens_and_comes_with_it() {
    check(
        "show facts
         started root t1
         spawn root a family
         listen root any
         send a root
         sweep
         took root m2
         taken root w0
         end a completed
         end root completed",
        expect![[r#"
            > show facts
            > started root t1
            write root: started
            > spawn root a family
            write root: born /root/a
            load a
            start a with m1
            = 1 /root/a pending_init
            write a: started with m1
            > listen root any
            = w0
            > send a root
            write a: sent m2 to root
            answer w0: Mail m2
            = queued 1
            > sweep
            > took root m2
            refused: message 00000000-0000-0000-0000-000000000002 is not there for agent 0 to take
            > taken root w0
            write root: consumed m2
            > end a completed
            write a: ended Completed, callback-of-a-3
            > end root completed
            write root: ended Completed
            start root with callback-of-a-3
            write root: started with callback-of-a-3
        "#]],
    );
}

#[test]
fn a_message_that_ended_a_wait_stays_if_the_answer_was_not_taken() {
    check(
        "started root t1
         spawn root a family
         listen root a
         send a root
         end root errored",
        expect![[r#"
            > started root t1
            > spawn root a family
            load a
            start a with m1
            = 1 /root/a pending_init
            > listen root a
            = w0
            > send a root
            answer w0: Mail m2
            = queued 1
            > end root errored
            start root with m2
        "#]],
    );
}

#[test]
fn a_message_that_is_in_hand_or_has_pictures_comes_behind_the_answer() {
    check(
        "started root t1
         spawn root a family
         send a root
         listen root any
         took root m2
         listen root any
         send a root picture",
        expect![[r#"
            > started root t1
            > spawn root a family
            load a
            start a with m1
            = 1 /root/a pending_init
            > send a root
            poke root
            = queued 1
            > listen root any
            = w0
            answer w0: Mail
            > took root m2
            > listen root any
            = w1
            > send a root picture
            answer w1: Mail
            poke root
            = queued 1
        "#]],
    );
}

#[test]
fn a_wait_for_ends_is_deaf_to_messages_and_one_that_listens_to_strangers() {
    check(
        "started root t1
         spawn root a family
         spawn root b family
         wait root a
         listen root b
         send a root
         send user root",
        expect![[r#"
            > started root t1
            > spawn root a family
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn root b family
            load b
            start b with m2
            = 2 /root/b pending_init
            > wait root a
            = w0
            > listen root b
            = w1
            > send a root
            poke root
            = held Waiting(Child)
            > send user root
            poke root
            = held Waiting(Child)
        "#]],
    );
}
