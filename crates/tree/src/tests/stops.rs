use expect_test::expect;

use super::scene::check;

#[test]
fn cancel_reaches_the_whole_subtree() {
    check(
        "spawn user a
         spawn a b
         spawn b c
         end b completed
         cancel user a dry
         cancel user a
         end c interrupted
         end a interrupted
         status
         cancel user a",
        expect![[r#"
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn a b
            load b
            start b with m2
            = 2 /root/a/b pending_init
            > spawn b c
            load c
            start c with m3
            = 3 /root/a/b/c pending_init
            > end b completed
            > cancel user a dry
            = Cancel a, Cancel c
            > cancel user a
            abort a: Cancelled
            abort c: Cancelled
            = Cancel a, Cancel c
            > end c interrupted
            > end a interrupted
            load root
            start root with callback-of-a-5
            > status
            /root running
            /root/a cancelled
            /root/a/b completed
            /root/a/b/c cancelled
            > cancel user a
            = skip a (Idle)
        "#]],
    );
}

#[test]
fn a_child_that_finishes_while_it_is_cancelled_stays_cancelled() {
    check(
        "spawn user a
         cancel user a
         end a completed
         status",
        expect![[r#"
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > cancel user a
            abort a: Cancelled
            = Cancel a
            > end a completed
            load root
            start root with callback-of-a-2
            > status
            /root running
            /root/a cancelled
        "#]],
    );
}

#[test]
fn an_interrupt_that_comes_too_late_changes_nothing() {
    check(
        "spawn user a
         interrupt user a
         end a completed
         status",
        expect![[r#"
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > interrupt user a
            abort a: Interrupted
            = Interrupt a
            > end a completed
            load root
            start root with callback-of-a-2
            > status
            /root running
            /root/a completed
        "#]],
    );
}

#[test]
fn cancel_throws_away_input_and_keeps_results() {
    check(
        "show notices
         spawn user a
         spawn a b
         end b completed
         send user a
         cancel user a
         end a interrupted
         send user a
         end a completed",
        expect![[r#"
            > show notices
            > spawn user a
            tell created a
            load a
            start a with m1
            = 1 /root/a pending_init
            tell a has 0 + 0 mail
            tell a is running
            > spawn a b
            tell created b
            load b
            start b with m2
            = 2 /root/a/b pending_init
            tell b has 0 + 0 mail
            tell b is running
            > end b completed
            tell a has 1 + 0 mail
            tell b is completed
            > send user a
            tell a has 2 + 0 mail
            poke a
            = queued 1
            > cancel user a
            abort a: Cancelled
            = Cancel a
            > end a interrupted
            tell a has 1 + 0 mail
            tell root has 1 + 0 mail
            tell a is cancelled
            load root
            start root with callback-of-a-5
            tell root has 0 + 0 mail
            tell root is running
            > send user a
            tell a has 2 + 0 mail
            start a with m4
            = delivered
            tell a has 1 + 0 mail
            tell a is running
            > end a completed
            tell root has 1 + 0 mail
            tell a is completed
            start a with callback-of-b-3
            tell a has 0 + 0 mail
            tell a is running
        "#]],
    );
}

#[test]
fn close_cancels_and_shuts_down_from_the_top() {
    check(
        "show facts
         spawn user a
         spawn a b
         spawn a c
         end c completed
         close user a
         end b interrupted
         end a interrupted
         status
         close user a",
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
            > spawn a c
            write a: born /root/a/c
            load c
            start c with m3
            = 3 /root/a/c pending_init
            write c: started with m3
            > end c completed
            write c: ended Completed, callback-of-c-4
            > close user a
            write root: asked a: Close { by: User, scope: AgentId(1) }
            abort a: Cancelled
            write root: asked b: Close { by: User, scope: AgentId(1) }
            abort b: Cancelled
            write c: shut
            shut c
            = Close a, Close b, Close c
            > end b interrupted
            write b: ended Cancelled { by: User, scope: AgentId(1) }
            write b: shut
            shut b
            > end a interrupted
            write a: ended Cancelled { by: User, scope: AgentId(1) }, callback-of-a-5
            write a: shut
            shut a
            load root
            start root with callback-of-a-5
            write root: started with callback-of-a-5
            > status
            /root running
            /root/a shutdown
            /root/a/b shutdown
            /root/a/c shutdown
            > close user a
            = skip a (AlreadyDone)
        "#]],
    );
}

#[test]
fn resume_brings_back_what_was_closed_or_pruned() {
    check(
        "spawn user a
         close user a
         end a interrupted
         resume user a
         resume user a
         prune user a
         resume user a
         send user a",
        expect![[r#"
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > close user a
            abort a: Cancelled
            = Close a
            > end a interrupted
            shut a
            load root
            start root with callback-of-a-2
            > resume user a
            = cancelled
            > resume user a
            = cancelled
            > prune user a
            = Prune a
            > resume user a
            = cancelled
            > send user a
            load a
            start a with m2
            = delivered
        "#]],
    );
}

#[test]
fn a_child_reaches_only_its_own_subtree() {
    check(
        "started root t1
         spawn root a
         spawn root b
         spawn a c
         close a b
         cancel a root
         interrupt a root
         interrupt root root
         resume a b
         prune a b
         release a b
         close a c dry
         close a a dry
         close root c dry",
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
            > spawn a c
            load c
            start c with m3
            = 3 /root/a/c pending_init
            > close a b
            refused: Not permitted to close agents outside your subtree.
            > cancel a root
            refused: Not permitted to cancel agents outside your subtree.
            > interrupt a root
            refused: agent 0 is the root and cannot be interrupted by agents; send it a regular message
            > interrupt root root
            refused: agent 0 is the root and cannot be interrupted by agents; send it a regular message
            > resume a b
            refused: Not permitted to resume agents outside your subtree.
            > prune a b
            refused: Not permitted to prune agents outside your subtree.
            > release a b
            refused: Not permitted to release agents outside your subtree.
            > close a c dry
            = Close c
            > close a a dry
            = Close a, Close c
            > close root c dry
            = Close c
        "#]],
    );
}

#[test]
fn a_released_child_goes_on_without_a_parent() {
    check(
        "show facts
         started root t1
         spawn root a
         spawn a b bound
         release root b
         close user a
         end a interrupted
         status
         end b completed
         cancel a b
         close root b dry
         release root b",
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
            > spawn a b bound
            write a: born /root/a/b
            load b
            start b with m2
            = 2 /root/a/b pending_init
            write b: started with m2
            > release root b
            write root: released b
            = Release b
            > close user a
            write root: asked a: Close { by: User, scope: AgentId(1) }
            abort a: Cancelled
            = Close a
            > end a interrupted
            write a: ended Cancelled { by: User, scope: AgentId(1) }, callback-of-a-3
            write a: shut
            shut a
            > status
            /root running
            /root/a shutdown
            /root/a/b running
            > end b completed
            write b: ended Completed
            > cancel a b
            refused: Not permitted to cancel agents outside your subtree.
            > close root b dry
            = Close b
            > release root b
            refused: agent 2 has no parent to be released from
        "#]],
    );
}

#[test]
fn a_stop_of_the_root_reaches_the_released_too() {
    check(
        "started root t1
         spawn root a
         spawn a b
         release user a
         end root completed
         cancel user root dry
         cancel user root
         end b interrupted
         end a interrupted
         status
         close user root dry",
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
            > release user a
            = Release a
            > end root completed
            > cancel user root dry
            = Cancel a, Cancel b
            > cancel user root
            abort a: Cancelled
            abort b: Cancelled
            = Cancel a, Cancel b
            > end b interrupted
            > end a interrupted
            > status
            /root completed
            /root/a cancelled
            /root/a/b cancelled
            > close user root dry
            = Close root, Close a, Close b
        "#]],
    );
}

#[test]
fn prune_takes_finished_agents_out_of_the_live_tree() {
    check(
        "show notices
         started root t1
         spawn root a
         spawn a b
         prune root a b root 9
         end b completed
         end a completed
         end a completed
         prune root a dry
         prune root a
         prune root a
         find root a
         counts
         wait root a",
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
            > spawn a b
            tell created b
            load b
            start b with m2
            = 2 /root/a/b pending_init
            tell b has 0 + 0 mail
            tell b is running
            > prune root a b root 9
            = skip a (Active), skip b (Active), skip root (Active), skip 9 (Unknown)
            > end b completed
            tell a has 1 + 0 mail
            tell b is completed
            > end a completed
            tell root has 1 + 0 mail
            tell a is completed
            start a with callback-of-b-3
            tell a has 0 + 0 mail
            tell a is running
            > end a completed
            tell root has 2 + 0 mail
            tell a is completed
            > prune root a dry
            = Prune a, Prune b
            > prune root a
            unload a
            tell deleted a
            unload b
            tell deleted b
            = Prune a, Prune b
            > prune root a
            = skip a (AlreadyDone)
            > find root a
            /root/a
            > counts
            TreeCounts { running: 0, resident: 1, remembered: 3 }
            > wait root a
            = w0
            answer w0: Final a completed (callback-of-a-5)
        "#]],
    );
}

#[test]
fn cancelling_one_that_was_about_to_take_a_callback_holds_it() {
    check(
        "show facts
         spawn user p
         spawn p a
         end p completed
         slow
         end a completed
         cancel user p
         end p interrupted
         status
         send user p
         started p
         end p completed",
        expect![[r#"
            > show facts
            > spawn user p
            write root: born /root/p
            load p
            start p with m1
            = 1 /root/p pending_init
            write p: started with m1
            > spawn p a
            write p: born /root/p/a
            load a
            start a with m2
            = 2 /root/p/a pending_init
            write a: started with m2
            > end p completed
            write p: ended Completed, callback-of-p-3
            load root
            start root with callback-of-p-3
            write root: started with callback-of-p-3
            > slow
            > end a completed
            write a: ended Completed, callback-of-a-4
            start p with callback-of-a-4
            > cancel user p
            write root: asked p: Cancel { by: User, scope: AgentId(1) }
            abort p: Cancelled
            = Cancel p
            > end p interrupted
            write p: halted Cancelled { by: User, scope: AgentId(1) }
            > status
            /root running
            /root/p cancelled
            /root/p/a completed
            > send user p
            write root: sent m3 to p
            start p with m3
            = delivered
            > started p
            write p: started with m3
            > end p completed
            write p: ended Completed, callback-of-p-6
            start p with callback-of-a-4
        "#]],
    );
}

#[test]
fn no_agent_stops_the_root() {
    check(
        "started root t1
         spawn root a
         cancel root root
         close root root
         cancel a root
         close root a dry",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > cancel root root
            refused: agent 0 is the root and agents cannot cancel it; cancel the agents below it instead, or end the task
            > close root root
            refused: agent 0 is the root and agents cannot close it; close the agents below it instead, or end the task
            > cancel a root
            refused: Not permitted to cancel agents outside your subtree.
            > close root a dry
            = Close a
        "#]],
    );
}

#[test]
fn a_root_that_the_user_closed_opens_again_when_it_is_spoken_to() {
    check(
        "show facts
         started root t1
         spawn root a
         close user root
         end root interrupted
         end a interrupted
         status
         started root t2
         spawn root b
         end b completed
         end root completed
         crash",
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
            > close user root
            write root: asked root: Close { by: User, scope: AgentId(0) }
            abort root: Cancelled
            write root: asked a: Close { by: User, scope: AgentId(0) }
            abort a: Cancelled
            = Close root, Close a
            > end root interrupted
            write root: ended Cancelled { by: User, scope: AgentId(0) }
            write root: shut
            shut root
            > end a interrupted
            write a: ended Cancelled { by: User, scope: AgentId(0) }
            write a: shut
            shut a
            > status
            /root shutdown
            /root/a shutdown
            > started root t2
            write root: reopened
            write root: started
            > spawn root b
            write root: born /root/b
            load b
            start b with m2
            = 2 /root/b pending_init
            write b: started with m2
            > end b completed
            write b: ended Completed, callback-of-b-3
            > end root completed
            write root: ended Completed
            start root with callback-of-b-3
            write root: started with callback-of-b-3
            > crash
            write root: ended Interrupted { why: Crash }
        "#]],
    );
}
