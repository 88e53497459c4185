use expect_test::expect;

use super::scene::{check, check_with};
use crate::TreeLimits;
use crate::limits::OnLimit;

#[test]
fn depth() {
    check(
        "spawn user a
         spawn a b
         spawn b c
         spawn c d",
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
            > spawn c d
            refused: agent depth limit of 3 reached ([agents] max_depth); do the work yourself instead of spawning
        "#]],
    );
}

#[test]
fn number_closed_ones_not_counted() {
    let limits = TreeLimits {
        max_agents: 3,
        ..TreeLimits::default()
    };
    check_with(
        limits,
        "spawn user a
         spawn user b
         spawn user c
         end a completed
         spawn user c
         close user a
         spawn user c
         resume user a",
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
            refused: the tree has 3 agents already ([agents] max_agents); close or prune finished agents, or send the work to an idle one
            > end a completed
            load root
            start root with callback-of-a-4
            > spawn user c
            refused: the tree has 3 agents already ([agents] max_agents); close or prune finished agents, or send the work to an idle one
            > close user a
            shut a
            = Close a
            > spawn user c
            load c
            start c with m5
            = 3 /root/c pending_init
            > resume user a
            refused: the tree has 3 agents already ([agents] max_agents); close or prune finished agents, or send the work to an idle one
        "#]],
    );
}

#[test]
fn rate_in_a_sliding_window() {
    let limits = TreeLimits {
        max_spawns_per_minute: 2,
        ..TreeLimits::default()
    };
    check_with(
        limits,
        "spawn user a
         pass 20
         spawn user b
         pass 20
         spawn user c
         pass 20
         spawn user c
         spawn user d
         pass 20
         spawn user d",
        expect![[r#"
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > pass 20
            > spawn user b
            load b
            start b with m2
            = 2 /root/b pending_init
            > pass 20
            > spawn user c
            refused: 2 agents were spawned within a minute ([agents] max_spawns_per_minute); try again in 20000 ms, or do the work yourself
            > pass 20
            > spawn user c
            load c
            start c with m4
            = 3 /root/c pending_init
            > spawn user d
            refused: 2 agents were spawned within a minute ([agents] max_spawns_per_minute); try again in 20000 ms, or do the work yourself
            > pass 20
            > spawn user d
            load d
            start d with m6
            = 4 /root/d pending_init
        "#]],
    );
}

#[test]
fn slots_with_error_instead_of_a_queue() {
    let limits = TreeLimits {
        max_threads: 1,
        on_limit: OnLimit::Error,
        ..TreeLimits::default()
    };
    check_with(
        limits,
        "spawn user a
         spawn user b
         end a completed
         spawn user b
         send user a",
        expect![[r#"
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn user b
            refused: all 1 slots are taken ([agents] max_threads, on_limit = "error"); wait for a running agent to finish, or do the work yourself
            > end a completed
            load root
            start root with callback-of-a-3
            > spawn user b
            load b
            start b with m3
            = 2 /root/b pending_init
            > send user a
            = queued 1
        "#]],
    );
}

#[test]
fn a_task_that_is_stopped_or_over_spawns_nothing() {
    check(
        "spawn user a
         cancel user a
         spawn a b
         end a interrupted
         spawn a b",
        expect![[r#"
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > cancel user a
            abort a: Cancelled
            = Cancel a
            > spawn a b
            refused: agent 1 is being stopped; it starts nothing new
            > end a interrupted
            load root
            start root with callback-of-a-3
            > spawn a b
            refused: agent 1 has no task in flight
        "#]],
    );
}
