use expect_test::expect;

use super::scene::{check, check_with};
use crate::TreeLimits;

#[test]
fn what_ran_is_interrupted_and_what_was_queued_goes_on() {
    let limits = TreeLimits {
        max_threads: 1,
        ..TreeLimits::default()
    };
    check_with(
        limits,
        "started root t1
         spawn root a
         spawn root b
         status
         crash
         status",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn root b
            = 2 /root/b queued 1
            > status
            /root running
            /root/a running
            /root/b queued 1
            > crash
            load b
            start b with m2
            > status
            /root interrupted (crash)
            /root/a interrupted (crash)
            /root/b running
        "#]],
    );
}

#[test]
fn a_task_that_was_only_asked_for_is_asked_for_again() {
    check(
        "slow
         spawn user a
         crash
         started a
         status",
        expect![[r#"
            > slow
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > crash
            load a
            start a with m1
            > started a
            > status
            /root pending_init
            /root/a running
        "#]],
    );
}

#[test]
fn numbers_and_names_are_not_given_again() {
    check(
        "spawn user a
         end a completed
         prune user a
         crash
         spawn user a",
        expect![[r#"
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > end a completed
            load root
            start root with callback-of-a-2
            > prune user a
            unload a
            = Prune a
            > crash
            > spawn user a
            load a_2
            start a_2 with m2
            = 2 /root/a_2 pending_init
        "#]],
    );
}

#[test]
fn a_result_that_no_one_had_taken_is_delivered_after_the_crash() {
    check(
        "started root t1
         spawn root a
         wait root a
         end a completed
         crash
         send user root
         end root completed",
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
            > crash
            > send user root
            load root
            start root with m2
            = delivered
            > end root completed
            start root with callback-of-a-2
        "#]],
    );
}

#[test]
fn a_result_that_was_taken_is_not_delivered_again() {
    check(
        "started root t1
         spawn root a
         wait root a
         end a completed
         taken root w0
         crash
         send user root
         end root completed
         status",
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
            > taken root w0
            > crash
            > send user root
            load root
            start root with m2
            = delivered
            > end root completed
            > status
            /root completed
            /root/a completed
        "#]],
    );
}

#[test]
fn a_stop_that_was_asked_for_stands() {
    check(
        "spawn user a
         spawn user b
         spawn user c
         cancel user a
         close user b
         interrupt user c
         crash
         status",
        expect![[r#"
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn user b
            load b
            start b with m2
            = 2 /root/b pending_init
            > spawn user c
            load c
            start c with m3
            = 3 /root/c pending_init
            > cancel user a
            abort a: Cancelled
            = Cancel a
            > close user b
            abort b: Cancelled
            = Close b
            > interrupt user c
            abort c: Interrupted
            = Interrupt c
            > crash
            load root
            start root with callback-of-a-4
            > status
            /root running
            /root/a cancelled
            /root/b shutdown
            /root/c interrupted (user)
        "#]],
    );
}

#[test]
fn suspend_interrupts_all_and_starts_nothing() {
    check(
        "show facts
         spawn user a
         spawn a b
         slow
         spawn user late
         suspend
         send user b
         end b interrupted
         end a interrupted
         end late interrupted
         status
         crash",
        expect![[r#"
            > show facts
            > spawn user a
            write root: born /root/a
            load a
            start a with m1
            = 1 /root/a pending_init
            write a: started with m1
            > spawn a b
            write a: born /root/a/b
            load b
            start b with m2
            = 2 /root/a/b pending_init
            write b: started with m2
            > slow
            > spawn user late
            write root: born /root/late
            load late
            start late with m3
            = 3 /root/late pending_init
            > suspend
            write a: asked a: Interrupt { why: Shutdown }
            abort a: Shutdown
            write b: asked b: Interrupt { why: Shutdown }
            abort b: Shutdown
            write late: asked late: Interrupt { why: Shutdown }
            abort late: Shutdown
            > send user b
            write root: sent m4 to b
            poke b
            = held Stopping
            > end b interrupted
            write b: ended Interrupted { why: Shutdown }
            > end a interrupted
            write a: ended Interrupted { why: Shutdown }
            > end late interrupted
            write late: withdrawn
            > status
            /root pending_init
            /root/a interrupted (shutdown)
            /root/a/b interrupted (shutdown)
            /root/late pending_init
            > crash
            load b
            start b with m4
            load late
            start late with m3
        "#]],
    );
}

#[test]
fn a_sweep_repeats_hints() {
    check(
        "spawn user a
         send user a
         sweep",
        expect![[r#"
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > send user a
            poke a
            = queued 1
            > sweep
            poke a
        "#]],
    );
}

/// Written logs are read by later versions: a change here needs a reader for the old form.
#[test]
fn the_written_form() {
    check(
        "started root t1
         spawn root a bound
         spawn a b once
         send user a !
         end a replaced
         send user a
         took a m4
         wait a b
         end b completed
         taken a w0
         interrupt user a
         end a interrupted
         release user b
         cancel user b
         close user a
         resume user a
         prune user b
         lines",
        expect![[r#"
            > started root t1
            > spawn root a bound
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn a b once
            load b
            start b with m2
            = 2 /root/a/b pending_init
            > send user a !
            abort a: Replaced
            = queued 1
            > end a replaced
            start a with m3
            > send user a
            poke a
            = queued 1
            > took a m4
            > wait a b
            = w0
            > end b completed
            answer w0: Final b completed (callback-of-b-5)
            > taken a w0
            > interrupt user a
            abort a: Interrupted
            = Interrupt a
            > end a interrupted
            > release user b
            = Release b
            > cancel user b
            = skip b (Idle)
            > close user a
            shut a
            = Close a
            > resume user a
            = interrupted (user)
            > prune user b
            unload b
            = Prune b
            > lines
            {"order":0,"at":0,"log":0,"fact":"rooted","session":"00000000-0000-0000-0000-000000000000"}
            {"order":1,"at":0,"log":0,"fact":"started","agent":0,"task":"t1"}
            {"order":2,"at":0,"log":0,"fact":"born","agent":1,"parent":0,"session":"00000001-0000-0000-0000-000000000000","path":"/root/a","genealogy":{"origin":"spawn"},"bond":{"callback":"persistent","on_parent_interrupt":"cancel","reach":"subtree"},"first":{"id":"00000000-0000-0000-0000-000000000001","kind":"regular","from":{"agent":0}}}
            {"order":3,"at":0,"log":1,"fact":"started","agent":1,"task":"00000000-0000-0000-0000-000000000001","message":"00000000-0000-0000-0000-000000000001"}
            {"order":4,"at":0,"log":1,"fact":"born","agent":2,"parent":1,"session":"00000002-0000-0000-0000-000000000000","path":"/root/a/b","genealogy":{"origin":"spawn"},"bond":{"callback":"once","on_parent_interrupt":"keep_running","reach":"subtree"},"first":{"id":"00000000-0000-0000-0000-000000000002","kind":"regular","from":{"agent":1}}}
            {"order":5,"at":0,"log":2,"fact":"started","agent":2,"task":"00000000-0000-0000-0000-000000000002","message":"00000000-0000-0000-0000-000000000002"}
            {"order":6,"at":0,"log":0,"fact":"sent","to":1,"envelope":{"id":"00000000-0000-0000-0000-000000000003","kind":"interrupt","from":"user"}}
            {"order":7,"at":0,"log":1,"fact":"ended","agent":1,"task":"00000000-0000-0000-0000-000000000001","end":"replaced"}
            {"order":8,"at":0,"log":1,"fact":"started","agent":1,"task":"00000000-0000-0000-0000-000000000003","message":"00000000-0000-0000-0000-000000000003"}
            {"order":9,"at":0,"log":0,"fact":"sent","to":1,"envelope":{"id":"00000000-0000-0000-0000-000000000004","kind":"regular","from":"user"}}
            {"order":10,"at":0,"log":1,"fact":"took","agent":1,"messages":["00000000-0000-0000-0000-000000000004"]}
            {"order":11,"at":0,"log":2,"fact":"ended","agent":2,"task":"00000000-0000-0000-0000-000000000002","end":"completed","callback":{"id":"48df7015-c831-5e07-b3b2-56315f8890b3","target":1}}
            {"order":12,"at":0,"log":1,"fact":"consumed","agent":1,"messages":["48df7015-c831-5e07-b3b2-56315f8890b3"]}
            {"order":13,"at":0,"log":0,"fact":"stop_asked","agent":1,"stop":{"interrupt":{"why":"user"}}}
            {"order":14,"at":0,"log":1,"fact":"ended","agent":1,"task":"00000000-0000-0000-0000-000000000003","end":{"interrupted":{"why":"user"}},"callback":{"id":"da815d7f-78d0-5e6a-8174-70fd330fd0d9","target":0}}
            {"order":15,"at":0,"log":0,"fact":"released","agent":2}
            {"order":16,"at":0,"log":1,"fact":"shut","agent":1}
            {"order":17,"at":0,"log":1,"fact":"reopened","agent":1}
            {"order":18,"at":0,"log":0,"fact":"pruned","agent":2}
        "#]],
    );
}

#[test]
fn an_agent_that_comes_back_stands_as_before_and_nothing_is_announced() {
    check(
        "show notices
         started root t1
         spawn root a
         end a completed
         close root a
         resume root a",
        expect![[r#"
            > show notices
            > started root t1
            tell root is running
            > spawn root a
            tell created a
            load a
            start a with m1
            = 1 /root/a pending_init
            tell a has 0 + 0 mail
            tell a is running
            > end a completed
            tell root has 1 + 0 mail
            tell a is completed
            > close root a
            shut a
            tell a is shutdown
            = Close a
            > resume root a
            tell a is completed again
            = completed
        "#]],
    );
}

#[test]
fn nobody_comes_back_below_a_closed_agent() {
    check(
        "started root t1
         spawn root a
         spawn a b
         close user a
         end a interrupted
         end b interrupted
         resume user b
         resume root a
         resume root b",
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
            > close user a
            abort a: Cancelled
            abort b: Cancelled
            = Close a, Close b
            > end a interrupted
            shut a
            > end b interrupted
            shut b
            > resume user b
            refused: agent 1 above agent 2 is closed; resume agent 1 first
            > resume root a
            = cancelled
            > resume root b
            = cancelled
        "#]],
    );
}

#[test]
fn nobody_comes_back_deeper_than_agents_may_be() {
    check(
        "started root t1
         spawn root a
         spawn a b
         close user b
         end b interrupted
         depth 1
         crash
         resume user b",
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
            > close user b
            abort b: Cancelled
            = Close b
            > end b interrupted
            shut b
            > depth 1
            > crash
            > resume user b
            refused: agent 2 is at depth 2, and the limit is 1 ([agents] max_depth); give its work to an agent further up
        "#]],
    );
}
