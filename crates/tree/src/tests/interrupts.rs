use expect_test::expect;

use super::scene::check;

#[test]
fn interrupt_ends_one_task() {
    check(
        "show facts
         spawn user a
         spawn a b
         interrupt user a dry
         interrupt user a
         interrupt user a
         end a interrupted
         interrupt user a
         status",
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
            > interrupt user a dry
            = Interrupt a
            > interrupt user a
            write root: asked a: Interrupt { why: User }
            abort a: Interrupted
            = Interrupt a
            > interrupt user a
            = skip a (AlreadyDone)
            > end a interrupted
            write a: ended Interrupted { why: User }, callback-of-a-3
            load root
            start root with callback-of-a-3
            write root: started with callback-of-a-3
            > interrupt user a
            = skip a (Idle)
            > status
            /root running
            /root/a interrupted (user)
            /root/a/b running
        "#]],
    );
}

#[test]
fn interrupt_cancels_the_children_that_are_bound() {
    check(
        "show facts
         started root t1
         spawn root a
         spawn root b bound
         spawn b c
         interrupt user root dry
         interrupt user root
         end b interrupted
         end c interrupted
         end root interrupted
         status",
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
            > spawn root b bound
            write root: born /root/b
            load b
            start b with m2
            = 2 /root/b pending_init
            write b: started with m2
            > spawn b c
            write b: born /root/b/c
            load c
            start c with m3
            = 3 /root/b/c pending_init
            write c: started with m3
            > interrupt user root dry
            = Interrupt root, Cancel b, Cancel c
            > interrupt user root
            write root: asked root: Interrupt { why: User }
            abort root: Interrupted
            write root: asked b: Cancel { by: User, scope: AgentId(0) }
            abort b: Cancelled
            write root: asked c: Cancel { by: User, scope: AgentId(0) }
            abort c: Cancelled
            = Interrupt root, Cancel b, Cancel c
            > end b interrupted
            write b: ended Cancelled { by: User, scope: AgentId(0) }
            > end c interrupted
            write c: ended Cancelled { by: User, scope: AgentId(0) }
            > end root interrupted
            write root: ended Interrupted { why: User }
            > status
            /root interrupted (user)
            /root/a running
            /root/b cancelled
            /root/b/c cancelled
        "#]],
    );
}

#[test]
fn an_interrupt_that_the_tree_did_not_ask_for_cancels_them_too() {
    check(
        "started root t1
         spawn root b bound
         end root interrupted",
        expect![[r#"
            > started root t1
            > spawn root b bound
            load b
            start b with m1
            = 1 /root/b pending_init
            > end root interrupted
            abort b: Cancelled
        "#]],
    );
}

#[test]
fn a_replaced_task_cancels_no_child() {
    check(
        "started root t1
         spawn root b bound
         end root replaced
         started root t2
         status",
        expect![[r#"
            > started root t1
            > spawn root b bound
            load b
            start b with m1
            = 1 /root/b pending_init
            > end root replaced
            > started root t2
            > status
            /root running
            /root/b running
        "#]],
    );
}

#[test]
fn a_parent_is_told_which_children_its_interrupt_took_along() {
    check(
        "show notices
         started root t1
         spawn root a bound
         spawn root b
         interrupt user root
         end root interrupted",
        expect![[r#"
            > show notices
            > started root t1
            tell root is running
            > spawn root a bound
            tell created a
            load a
            start a with m1
            = 1 /root/a pending_init
            tell a has 0 + 0 mail
            tell a is running
            > spawn root b
            tell created b
            load b
            start b with m2
            = 2 /root/b pending_init
            tell b has 0 + 0 mail
            tell b is running
            > interrupt user root
            abort root: Interrupted
            abort a: Cancelled
            tell root cancelled a
            = Interrupt root, Cancel a
            > end root interrupted
            tell root is interrupted (user)
        "#]],
    );
}
