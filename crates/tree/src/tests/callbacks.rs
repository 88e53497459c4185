use std::fmt::Write;

use expect_test::expect;

use super::scene::check;

#[test]
fn a_result_wakes_an_idle_parent() {
    check(
        "show facts
         started root t1
         spawn root a
         end root completed
         end a completed",
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
            > end root completed
            write root: ended Completed
            > end a completed
            write a: ended Completed, callback-of-a-2
            start root with callback-of-a-2
            write root: started with callback-of-a-2
        "#]],
    );
}

#[test]
fn a_root_that_never_had_a_task_hears_of_the_users_children() {
    check(
        "show facts
         spawn user a
         end a completed",
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
        "#]],
    );
}

#[test]
fn a_busy_parent_takes_callbacks_in_order_one_at_a_time() {
    check(
        "started root t1
         spawn root a
         spawn root b
         spawn root c
         end b completed
         end a errored
         end c budget
         end root completed
         end root completed
         end root completed
         end root completed t9",
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
            > end b completed
            > end a errored
            > end c budget
            > end root completed
            start root with callback-of-b-4
            > end root completed
            start root with callback-of-a-5
            > end root completed
            start root with callback-of-c-6
            > end root completed t9
            refused: agent 0 has no task t9 in flight
        "#]],
    );
}

#[test]
fn input_goes_before_callbacks() {
    check(
        "started root t1
         spawn root a
         end a completed
         send user root
         end root completed
         end root completed",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > end a completed
            > send user root
            poke root
            = queued 1
            > end root completed
            start root with m2
            > end root completed
            start root with callback-of-a-2
        "#]],
    );
}

#[test]
fn the_target_is_the_immediate_caller() {
    check(
        "started root t1
         spawn root a
         spawn a b
         end b completed
         end a completed",
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
            > end b completed
            > end a completed
            start a with callback-of-b-3
        "#]],
    );
}

#[test]
fn once_off_and_persistent() {
    check(
        "show facts
         started root t1
         spawn root a once
         spawn root b silent
         end a completed
         send root a
         end a completed
         end b completed",
        expect![[r#"
            > show facts
            > started root t1
            write root: started
            > spawn root a once
            write root: born /root/a
            load a
            start a with m1
            = 1 /root/a pending_init
            write a: started with m1
            > spawn root b silent
            write root: born /root/b
            load b
            start b with m2
            = 2 /root/b pending_init
            write b: started with m2
            > end a completed
            write a: ended Completed, callback-of-a-3
            > send root a
            write root: sent m3 to a
            start a with m3
            = delivered
            write a: started with m3
            > end a completed
            write a: ended Completed
            > end b completed
            write b: ended Completed
        "#]],
    );
}

#[test]
fn none_on_replaced_nor_on_the_targets_own_cancel() {
    check(
        "show facts
         started root t1
         spawn root a
         spawn root b
         send user a !
         end a replaced
         cancel root b
         end b interrupted",
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
            > spawn root b
            write root: born /root/b
            load b
            start b with m2
            = 2 /root/b pending_init
            write b: started with m2
            > send user a !
            write root: sent m3 to a
            abort a: Replaced
            = queued 1
            > end a replaced
            write a: ended Replaced
            start a with m3
            write a: started with m3
            > cancel root b
            write root: asked b: Cancel { by: Agent(AgentId(0)), scope: AgentId(2) }
            abort b: Cancelled
            = Cancel b
            > end b interrupted
            write b: ended Cancelled { by: Agent(AgentId(0)), scope: AgentId(2) }
        "#]],
    );
}

#[test]
fn a_user_who_cancels_a_child_is_told_to_the_parent() {
    check(
        "started root t1
         spawn root a
         end root completed
         cancel user a
         end a interrupted",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > end root completed
            > cancel user a
            abort a: Cancelled
            = Cancel a
            > end a interrupted
            start root with callback-of-a-2
        "#]],
    );
}

#[test]
fn after_a_stop_callbacks_are_held_until_the_next_word() {
    check(
        "started root t1
         spawn root a
         end a completed
         interrupt user root
         end root interrupted
         status
         send user root
         end root completed",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > end a completed
            > interrupt user root
            abort root: Interrupted
            = Interrupt root
            > end root interrupted
            > status
            /root interrupted (user)
            /root/a completed
            > send user root
            start root with m2
            = delivered
            > end root completed
            start root with callback-of-a-2
        "#]],
    );
}

#[test]
fn an_ended_task_ends_once() {
    check(
        "started root t1
         spawn root a
         end a completed
         end a completed",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > end a completed
            > end a completed
            refused: agent 1 has no task 00000000-0000-0000-0000-000000000001 in flight
        "#]],
    );
}

#[test]
fn a_hundred_results_for_a_busy_parent() {
    let mut script = "started root t1\n".to_owned();
    for child in 0..50 {
        writeln!(script, "spawn root c{child}").unwrap();
    }
    for child in 0..50 {
        writeln!(script, "end c{child} completed\nsend root c{child}").unwrap();
    }
    for child in (0..50).rev() {
        writeln!(script, "end c{child} completed").unwrap();
    }
    for _ in 0..101 {
        script += "end root completed\n";
    }
    let mut starts = Vec::new();
    super::scene::play(64, &script, |shown| {
        starts = shown
            .lines()
            .filter_map(|line| line.strip_prefix("start root with callback-of-c"))
            .map(|rest| rest.split('-').next().unwrap_or_default().to_owned())
            .collect();
    });
    let expected: Vec<String> = (0..50)
        .chain((0..50).rev())
        .map(|child| child.to_string())
        .collect();
    assert_eq!(starts, expected);
}

#[test]
fn a_start_that_fails_loses_no_callback() {
    check(
        "spawn user p
         spawn p a
         end p completed
         slow
         end a completed
         end p errored
         status
         send user p
         started p
         end p completed",
        expect![[r#"
            > spawn user p
            load p
            start p with m1
            = 1 /root/p pending_init
            > spawn p a
            load a
            start a with m2
            = 2 /root/p/a pending_init
            > end p completed
            load root
            start root with callback-of-p-3
            > slow
            > end a completed
            start p with callback-of-a-4
            > end p errored
            > status
            /root running
            /root/p errored
            /root/p/a completed
            > send user p
            start p with m3
            = delivered
            > started p
            > end p completed
            start p with callback-of-a-4
        "#]],
    );
}
