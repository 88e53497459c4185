use expect_test::expect;

use super::scene::check;

#[test]
fn every_kind_of_address() {
    check(
        "spawn user scout
         started root t
         spawn scout deep
         find root scout
         find root /root/scout/deep
         find root /root/scout/
         find root scout/deep
         find scout deep
         find deep parent
         find deep root
         find root parent
         find root 2
         find root 00000001-0000-0000-0000-000000000000
         find root 00000002
         find root 0000
         find root 9
         find root nobody
         find root /root/nobody",
        expect![[r#"
            > spawn user scout
            load scout
            start scout with m1
            = 1 /root/scout pending_init
            > started root t
            > spawn scout deep
            load deep
            start deep with m2
            = 2 /root/scout/deep pending_init
            > find root scout
            /root/scout
            > find root /root/scout/deep
            /root/scout/deep
            > find root /root/scout/
            /root/scout
            > find root scout/deep
            /root/scout/deep
            > find scout deep
            /root/scout/deep
            > find deep parent
            /root/scout
            > find deep root
            /root
            > find root parent
            this agent has no parent
            > find root 2
            /root/scout/deep
            > find root 00000001-0000-0000-0000-000000000000
            /root/scout
            > find root 00000002
            /root/scout/deep
            > find root 0000
            "0000" could be /root or /root/scout or /root/scout/deep; give the full path
            > find root 9
            no agent "9"; give an agent number, a path such as /root/name, a session id, "parent" or "root"
            > find root nobody
            no agent "nobody"; give an agent number, a path such as /root/name, a session id, "parent" or "root"
            > find root /root/nobody
            no agent "/root/nobody"; give an agent number, a path such as /root/name, a session id, "parent" or "root"
        "#]],
    );
}

#[test]
fn names_are_made_regular_and_never_given_twice() {
    check(
        "spawn user Fix-The-Bug!
         spawn user fix_the_bug
         spawn user fix.the.bug
         spawn user 42
         spawn user root
         spawn user ---
         close user fix_the_bug_2
         end fix_the_bug_2 interrupted
         prune user fix_the_bug_2
         spawn user fix_the_bug
         spawn user abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
        expect![[r#"
            > spawn user Fix-The-Bug!
            load fix_the_bug
            start fix_the_bug with m1
            = 1 /root/fix_the_bug pending_init
            > spawn user fix_the_bug
            load fix_the_bug_2
            start fix_the_bug_2 with m2
            = 2 /root/fix_the_bug_2 pending_init
            > spawn user fix.the.bug
            load fix_the_bug_3
            start fix_the_bug_3 with m3
            = 3 /root/fix_the_bug_3 pending_init
            > spawn user 42
            load agent_42
            start agent_42 with m4
            = 4 /root/agent_42 pending_init
            > spawn user root
            load root_2
            start root_2 with m5
            = 5 /root/root_2 pending_init
            > spawn user ---
            load agent
            start agent with m6
            = 6 /root/agent pending_init
            > close user fix_the_bug_2
            abort fix_the_bug_2: Cancelled
            = Close fix_the_bug_2
            > end fix_the_bug_2 interrupted
            shut fix_the_bug_2
            load root
            start root with callback-of-fix_the_bug_2-7
            > prune user fix_the_bug_2
            = Prune fix_the_bug_2
            > spawn user fix_the_bug
            load fix_the_bug_4
            start fix_the_bug_4 with m7
            = 7 /root/fix_the_bug_4 pending_init
            > spawn user abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz
            load abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuv
            start abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuv with m8
            = 8 /root/abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuv pending_init
        "#]],
    );
}

#[test]
fn a_name_that_looks_like_a_short_id_is_ambiguous() {
    check(
        "spawn user a
         spawn user abba
         find root 00000001
         find root abba
         spawn user b abba
         find root abba",
        expect![[r#"
            > spawn user a
            load a
            start a with m1
            = 1 /root/a pending_init
            > spawn user abba
            load abba
            start abba with m2
            = 2 /root/abba pending_init
            > find root 00000001
            /root/a
            > find root abba
            /root/abba
            > spawn user b abba
            load b
            start b with m3
            = 3 /root/b pending_init
            > find root abba
            "abba" could be /root/abba or /root/b; give the full path
        "#]],
    );
}
