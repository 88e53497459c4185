use std::fmt::Write;

use expect_test::expect;

use super::scene::{check_with, play};
use crate::TreeLimits;

fn check(slots: usize, script: &str, expected: expect_test::Expect) {
    let limits = TreeLimits {
        max_threads: slots,
        ..TreeLimits::default()
    };
    check_with(limits, script, expected);
}

#[test]
fn first_come_first_served() {
    check(
        1,
        "show notices
         spawn user a
         spawn user b
         spawn user c
         status
         end a completed
         status
         end b errored
         end c budget
         status",
        expect![[r#"
            > show notices
            > spawn user a
            tell created a
            load a
            start a with m1
            = 1 /root/a pending_init
            tell a has 0 + 0 mail
            tell a is running
            > spawn user b
            tell created b
            = 2 /root/b queued 1
            tell b is queued 1
            > spawn user c
            tell created c
            = 3 /root/c queued 2
            tell c is queued 2
            > status
            /root pending_init
            /root/a running
            /root/b queued 1
            /root/c queued 2
            > end a completed
            tell root has 1 + 0 mail
            tell a is completed
            load root
            start root with callback-of-a-4
            load b
            start b with m2
            tell root has 0 + 0 mail
            tell root is running
            tell b has 0 + 0 mail
            tell b is running
            > status
            /root running
            /root/a completed
            /root/b running
            /root/c queued 1
            > end b errored
            tell root has 1 + 0 mail
            tell b is errored
            load c
            start c with m3
            tell c has 0 + 0 mail
            tell c is running
            > end c budget
            tell root has 2 + 0 mail
            tell c is budget_exceeded
            > status
            /root running
            /root/a completed
            /root/b errored
            /root/c budget_exceeded
        "#]],
    );
}

#[test]
fn the_root_needs_no_slot() {
    check(
        1,
        "started root t1
         spawn root a
         send user root
         counts",
        expect![[r#"
            > started root t1
            > spawn root a
            load a
            start a with m1
            = 1 /root/a pending_init
            > send user root
            poke root
            = queued 1
            > counts
            TreeCounts { running: 1, resident: 2, remembered: 2 }
        "#]],
    );
}

#[test]
fn a_waiting_parent_lends_its_slot_and_returns_before_new_spawns() {
    check(
        1,
        "spawn user boss
         spawn boss child
         spawn user other
         wait boss child
         status
         end child completed
         status",
        expect![[r#"
            > spawn user boss
            load boss
            start boss with m1
            = 1 /root/boss pending_init
            > spawn boss child
            = 2 /root/boss/child queued 1
            > spawn user other
            = 3 /root/other queued 2
            > wait boss child
            = w0
            load child
            start child with m2
            > status
            /root pending_init
            /root/boss waiting on child
            /root/boss/child running
            /root/other queued 1
            > end child completed
            answer w0: Final child completed (callback-of-child-4)
            > status
            /root pending_init
            /root/boss running
            /root/boss/child completed
            /root/other queued 1
        "#]],
    );
}

#[test]
fn an_answer_is_held_until_the_slot_is_back() {
    check(
        1,
        "spawn user boss
         spawn boss child
         wait boss child
         spawn user other
         status
         timeout w0
         status
         end child completed
         status",
        expect![[r#"
            > spawn user boss
            load boss
            start boss with m1
            = 1 /root/boss pending_init
            > spawn boss child
            = 2 /root/boss/child queued 1
            > wait boss child
            = w0
            load child
            start child with m2
            > spawn user other
            = 3 /root/other queued 1
            > status
            /root pending_init
            /root/boss waiting on child
            /root/boss/child running
            /root/other queued 1
            > timeout w0
            > status
            /root pending_init
            /root/boss waiting on slot
            /root/boss/child running
            /root/other queued 2
            > end child completed
            answer w0: TimedOut
            > status
            /root pending_init
            /root/boss running
            /root/boss/child completed
            /root/other queued 1
        "#]],
    );
}

#[test]
fn twelve_waiting_parents_do_not_starve_their_children() {
    let parents: Vec<String> = (1..=12).map(|n| format!("p{n}")).collect();
    let mut script = String::new();
    for parent in &parents {
        writeln!(script, "spawn user {parent}").unwrap();
    }
    for parent in &parents {
        writeln!(script, "spawn {parent} {parent}_child").unwrap();
    }
    script += "counts\n";
    for parent in &parents {
        writeln!(script, "wait {parent} {parent}_child").unwrap();
    }
    script += "counts\n";
    for parent in &parents {
        writeln!(script, "end {parent}_child completed").unwrap();
    }
    script += "counts\n";
    play(12, &script, |shown| {
        let told = |line: &&str| line.starts_with("TreeCounts") || line.starts_with("answer");
        let told: Vec<&str> = shown.lines().filter(told).collect();
        expect![[r#"
            TreeCounts { running: 12, resident: 12, remembered: 25 }
            TreeCounts { running: 12, resident: 24, remembered: 25 }
            answer w0: Final p1_child completed (callback-of-p1_child-25)
            answer w1: Final p2_child completed (callback-of-p2_child-26)
            answer w2: Final p3_child completed (callback-of-p3_child-27)
            answer w3: Final p4_child completed (callback-of-p4_child-28)
            answer w4: Final p5_child completed (callback-of-p5_child-29)
            answer w5: Final p6_child completed (callback-of-p6_child-30)
            answer w6: Final p7_child completed (callback-of-p7_child-31)
            answer w7: Final p8_child completed (callback-of-p8_child-32)
            answer w8: Final p9_child completed (callback-of-p9_child-33)
            answer w9: Final p10_child completed (callback-of-p10_child-34)
            answer w10: Final p11_child completed (callback-of-p11_child-35)
            answer w11: Final p12_child completed (callback-of-p12_child-36)
            TreeCounts { running: 12, resident: 24, remembered: 25 }"#]]
        .assert_eq(&told.join("\n"));
    });
}

#[test]
fn approvals_lend_the_slot_and_models_keep_it() {
    check(
        1,
        "spawn user a
         spawn user b
         busy a model
         status
         busy a approval
         status
         unblock a
         status
         end b completed
         busy a child
         unblock a",
        expect![[r#"
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn user b
            = 2 /root/b queued 1
            > busy a model
            > status
            /root pending_init
            /root/a waiting on model
            /root/b queued 1
            > busy a approval
            load b
            start b with m2
            > status
            /root pending_init
            /root/a waiting on approval
            /root/b running
            > unblock a
            > status
            /root pending_init
            /root/a waiting on slot
            /root/b running
            > end b completed
            load root
            start root with callback-of-b-3
            proceed a
            > busy a child
            refused: an agent that is running cannot say itself that it waits on a child or a slot
            > unblock a
            refused: an agent that is running cannot go on, because it had not asked
        "#]],
    );
}

#[test]
fn a_replaced_task_keeps_its_slot_before_the_queue() {
    check(
        1,
        "spawn user a
         spawn user b
         send user a !
         end a replaced
         status",
        expect![[r#"
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn user b
            = 2 /root/b queued 1
            > send user a !
            abort a: Replaced
            = queued 1
            > end a replaced
            start a with m3
            > status
            /root pending_init
            /root/a running
            /root/b queued 1
        "#]],
    );
}

#[test]
fn a_cancelled_place_in_the_queue_is_given_up() {
    check(
        1,
        "show facts
         spawn user a
         spawn user b
         spawn user c
         cancel user b
         status
         end a completed",
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
            > spawn user c
            write root: born /root/c
            = 3 /root/c queued 2
            > cancel user b
            write b: ended Cancelled { by: User, scope: AgentId(2) }, callback-of-b-4
            load root
            start root with callback-of-b-4
            = Cancel b
            write root: started with callback-of-b-4
            > status
            /root running
            /root/a running
            /root/b cancelled
            /root/c queued 1
            > end a completed
            write a: ended Completed, callback-of-a-5
            load c
            start c with m3
            write c: started with m3
        "#]],
    );
}
