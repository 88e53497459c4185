use expect_test::expect;

use super::scene::check;

#[test]
fn regular_mail_joins_the_running_task() {
    check(
        "show facts
         show notices
         spawn user a
         send user a
         send user a
         took a m2 m3
         took a m2
         end a completed",
        expect![[r#"
            > show facts
            > show notices
            > spawn user a
            write root: born /root/a
            tell created a
            load a
            start a with m1
            = 1 /root/a pending_init
            write a: started with m1
            tell a has 0 + 0 mail
            tell a is running
            > send user a
            write root: sent m2 to a
            tell a has 1 + 0 mail
            poke a
            = queued 1
            > send user a
            write root: sent m3 to a
            tell a has 2 + 0 mail
            poke a
            = queued 2
            > took a m2 m3
            write a: took m2 m3
            tell a has 0 + 0 mail
            > took a m2
            refused: message 00000000-0000-0000-0000-000000000002 is not there for agent 1 to take
            > end a completed
            write a: ended Completed, callback-of-a-4
            tell root has 1 + 0 mail
            tell a is completed
            load root
            start root with callback-of-a-4
            write root: started with callback-of-a-4
            tell root has 0 + 0 mail
            tell root is running
        "#]],
    );
}

#[test]
fn regular_mail_starts_an_idle_agent() {
    check(
        "spawn user a
         end a completed
         send user a
         status",
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
            > status
            /root running
            /root/a running
        "#]],
    );
}

#[test]
fn an_interrupt_goes_first_and_takes_the_place_of_the_task() {
    check(
        "spawn user a
         send user a
         send user a !
         send user a !
         end a replaced
         took a m2
         status",
        expect![[r#"
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > send user a
            poke a
            = queued 1
            > send user a !
            abort a: Replaced
            = queued 1
            > send user a !
            = queued 2
            > end a replaced
            start a with m3 m4
            poke a
            > took a m2
            > status
            /root pending_init
            /root/a running
        "#]],
    );
}

#[test]
fn a_receipt_tells_what_became_of_the_message() {
    check(
        "spawn user a
         spawn a b
         send user a
         wait a b
         send user a
         interrupt user a
         send user a
         cancel user a
         send user a
         end a interrupted
         send user a
         end a completed
         close user a
         send user a
         end b interrupted
         prune user a
         send user a",
        expect![[r#"
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn a b
            load b
            start b with m2
            = 2 /root/a/b pending_init
            > send user a
            poke a
            = queued 1
            > wait a b
            = w0
            > send user a
            poke a
            = held Waiting(Child)
            > interrupt user a
            abort a: Interrupted
            = Interrupt a
            > send user a
            poke a
            = held Stopping
            > cancel user a
            abort a: Cancelled
            abort b: Cancelled
            = Cancel a, Cancel b
            > send user a
            = dead Stopping
            > end a interrupted
            load root
            start root with callback-of-a-7
            > send user a
            start a with m7
            = delivered
            > end a completed
            > close user a
            shut a
            abort b: Cancelled
            = Close a, Close b
            > send user a
            = dead Closed
            > end b interrupted
            shut b
            > prune user a
            = Prune a, Prune b
            > send user a
            = dead Pruned
        "#]],
    );
}

#[test]
fn the_same_message_twice_is_one_message() {
    check(
        "show notices
         spawn user a
         send user a
         send user a again m2",
        expect![[r#"
            > show notices
            > spawn user a
            tell created a
            load a
            start a with m1
            = 1 /root/a pending_init
            tell a has 0 + 0 mail
            tell a is running
            > send user a
            tell a has 1 + 0 mail
            poke a
            = queued 1
            > send user a again m2
            = queued 1
        "#]],
    );
}

#[test]
fn whom_an_agent_may_write_to() {
    check(
        "started root t
         spawn root a
         spawn root b family
         spawn a deep
         send a deep
         send a b
         send a root
         send a a
         send b a
         send b root
         send b a !
         send b root !
         send b deep
         send root deep !
         send root root
         send user 77",
        expect![[r#"
            > started root t
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn root b family
            load b
            start b with m2
            = 2 /root/b pending_init
            > spawn a deep
            load deep
            start deep with m3
            = 3 /root/a/deep pending_init
            > send a deep
            poke deep
            = queued 1
            > send a b
            refused: agent 1 may not send messages to its parent and siblings; what it has to say goes into its last message
            > send a root
            refused: agent 1 may not send messages to its parent and siblings; what it has to say goes into its last message
            > send a a
            refused: an agent cannot send messages to itself; go on with the work instead
            > send b a
            poke a
            = queued 1
            > send b root
            poke root
            = queued 1
            > send b a !
            refused: Not permitted to message agents outside your subtree.
            > send b root !
            refused: agent 0 is the root and cannot be interrupted by agents; send it a regular message
            > send b deep
            refused: Not permitted to message agents outside your subtree.
            > send root deep !
            abort deep: Replaced
            = queued 1
            > send root root
            refused: an agent cannot send messages to itself; go on with the work instead
            > send user 77
            refused: no agent 77; list the agents to see their numbers
        "#]],
    );
}

#[test]
fn one_that_writes_to_its_parent_only_does_not_reach_its_siblings() {
    check(
        "started root t
         spawn root a to_parent
         spawn root b family
         send a root
         send a b
         send b a",
        expect![[r#"
            > started root t
            > spawn root a to_parent
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn root b family
            load b
            start b with m2
            = 2 /root/b pending_init
            > send a root
            poke root
            = queued 1
            > send a b
            refused: agent 1 may not send messages to its siblings; write to the parent
            > send b a
            poke a
            = queued 1
        "#]],
    );
}

#[test]
fn an_inbox_is_bounded() {
    let mut script = "spawn user a\nstarted root t\n".to_owned();
    script += &"send user a\n".repeat(257);
    let mut scene_tail = String::new();
    super::scene::play(64, &script, |shown| {
        scene_tail = shown.lines().last().unwrap_or_default().to_owned();
    });
    expect!["refused: the inbox of agent 1 is full (256 messages); wait until it has taken some"]
        .assert_eq(&scene_tail);
}

#[test]
fn a_timer_does_not_rouse_whoever_was_stopped() {
    check(
        "started root t1
         spawn root a
         ping root a
         took a m2
         cancel root a
         ping root a
         end a interrupted
         ping root a
         send root a
         ping root a
         interrupt user a
         end a interrupted
         ping root a",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > ping root a
            poke a
            = queued 1
            > took a m2
            > cancel root a
            abort a: Cancelled
            = Cancel a
            > ping root a
            = dead Stopping
            > end a interrupted
            > ping root a
            refused: agent 1 was stopped; it waits for a message of somebody, not of a timer
            > send root a
            start a with m5
            = delivered
            > ping root a
            poke a
            = queued 1
            > interrupt user a
            abort a: Interrupted
            = Interrupt a
            > end a interrupted
            > ping root a
            refused: agent 1 was stopped; it waits for a message of somebody, not of a timer
        "#]],
    );
}

#[test]
fn a_timer_wakes_whoever_came_to_an_end() {
    check(
        "started root t1
         spawn root a
         end a completed
         ping root a
         end a errored
         ping root a
         crash
         ping root a",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > end a completed
            > ping root a
            start a with m2
            = delivered
            > end a errored
            > ping root a
            start a with m3
            = delivered
            > crash
            > ping root a
            refused: agent 1 was stopped; it waits for a message of somebody, not of a timer
        "#]],
    );
}
