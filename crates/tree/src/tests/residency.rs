use std::fmt::Write;

use expect_test::expect;
use troupe_protocol::agent::AgentOrigin;
use troupe_protocol::tree::{Caller, Genealogy, ParentLink, TimeMs};
use troupe_protocol::{AgentId, SessionId, StopVerb};
use uuid::Uuid;

use super::scene::{check, play};
use crate::command::{SpawnCommand, StopCommand, StopMode};
use crate::limits::RESIDENT_AGENTS_MAX;
use crate::{Tree, TreeAction, TreeCommand, TreeLimits};

#[test]
fn a_session_is_loaded_for_its_first_task() {
    check(
        "spawn user a
         end a completed
         send user a",
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
        "#]],
    );
}

/// A fork without a prompt: it opens, takes no slot, ends waits, and starts when it is told.
#[test]
fn a_child_without_a_message_is_ready() {
    check(
        "show notices
         spawn user a ready
         status
         counts
         wait user a
         cancel user a
         crash
         status
         send user a
         status",
        expect![[r#"
            > show notices
            > spawn user a ready
            tell created a
            load a
            tell a is ready
            = 1 /root/a ready
            > status
            /root pending_init
            /root/a ready
            > counts
            TreeCounts { running: 0, resident: 1, remembered: 2 }
            > wait user a
            = w0
            answer w0: Final a ready
            > cancel user a
            = skip a (Idle)
            > crash
            > status
            /root pending_init
            /root/a ready
            > send user a
            tell a has 1 + 0 mail
            load a
            start a with m2
            = delivered
            tell a has 0 + 0 mail
            tell a is running
            > status
            /root pending_init
            /root/a running
        "#]],
    );
}

/// A released fork still knows whose conversation it goes on with.
#[test]
fn a_released_child_remembers_its_maker() {
    let mut tree = Tree::empty(TreeLimits::default());
    tree.plant(SessionId(Uuid::from_u128(1)), TimeMs(0));
    let apply = |tree: &mut Tree, what| {
        tree.apply(TreeCommand {
            at: TimeMs(0),
            what,
        })
    };
    let spawn = SpawnCommand {
        by: Caller::User.into(),
        session: SessionId(Uuid::from_u128(2)),
        name: "fork".to_owned(),
        genealogy: Genealogy {
            origin: AgentOrigin::Fork,
            point: None,
        },
        bond: ParentLink::default(),
        message: None,
    };
    apply(&mut tree, TreeAction::Spawn(spawn)).unwrap();
    let release = StopCommand {
        by: Caller::User,
        verb: StopVerb::Release,
        targets: vec![AgentId(1)],
        mode: StopMode::Act,
    };
    apply(&mut tree, TreeAction::Stop(release)).unwrap();
    let fork = tree.get(AgentId(1)).unwrap();
    assert_eq!((fork.parent, fork.maker), (None, Some(AgentId::ROOT)));
}

/// The oldest idle one goes first, and comes back when it is addressed.
#[test]
fn idle_sessions_beyond_the_bound_are_unloaded() {
    let mut script = String::new();
    for child in 0..=RESIDENT_AGENTS_MAX {
        writeln!(script, "pass 2\nspawn user c{child}").unwrap();
        if child != 1 {
            writeln!(script, "end c{child} completed").unwrap();
        }
    }
    script += "send user c0\ncounts\n";
    play(64, &script, |shown| {
        let lines: Vec<&str> = shown
            .lines()
            .filter(|line| line.starts_with("unload") || line.starts_with("TreeCounts"))
            .chain(shown.lines().rev().take(6))
            .collect();
        expect![[r#"
            unload c0
            unload c2
            unload c3
            TreeCounts { running: 2, resident: 64, remembered: 66 }
            TreeCounts { running: 2, resident: 64, remembered: 66 }
            > counts
            unload c3
            = delivered
            start c0 with m66
            load c0"#]]
        .assert_eq(&lines.join("\n"));
    });
}
