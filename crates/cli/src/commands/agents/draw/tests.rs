use expect_test::{Expect, expect};
use troupe_protocol::SessionId;
use troupe_protocol::agent::{AgentMaking, AgentOrigin, PendingMail, TokenSums};
use troupe_protocol::policy::SandboxPolicy;
use troupe_protocol::spawn::ApprovalRoute;

use super::*;

const NOW_MS: i64 = 1_794_823_200_000;

/// Agent `number` below `parent`, for three seconds in this status.
fn row(number: u32, parent: Option<u32>, path: &str, status: AgentStatus) -> AgentCard {
    let made = parent.map(|_| AgentMaking {
        origin: AgentOrigin::Spawn,
        role: "worker".to_owned(),
        persona: None,
        label: None,
        model: "deep".to_owned(),
        effort: None,
        cwd: "/w".into(),
        sandbox: SandboxPolicy::DangerFullAccess,
        sandbox_held: None,
        approvals: ApprovalRoute::Route,
        summary: "count the words".to_owned(),
    });
    AgentCard {
        agent_id: AgentId(number),
        session_id: SessionId(uuid::Uuid::from_u128(number.into())),
        parent_agent_id: parent.map(AgentId),
        parent_session_id: None,
        path: path.to_owned(),
        depth: 0,
        made,
        title: None,
        note: None,
        status,
        detail: None,
        waiting_on: None,
        interruption: None,
        current_tools: Vec::new(),
        reasoning_header: None,
        preview: None,
        since_ms: NOW_MS - 3_000,
        born_ms: NOW_MS - 9_000,
        progress_ms: NOW_MS - 3_000,
        ran_ms: None,
        tokens: TokenSums {
            own: 1_200,
            subtree: 1_200,
        },
        pending: PendingMail::default(),
        last_task: None,
        read: false,
        pruned: false,
    }
}

fn drawn_in(rows: &[AgentCard], top: u32, room: DrawingSize) -> String {
    tree(rows, AgentId(top), NOW_MS, TextStyle::Plain, room)
}

fn check(rows: &[AgentCard], top: u32, expected: Expect) {
    expected.assert_eq(&drawn_in(rows, top, DrawingSize::default()));
}

fn family() -> Vec<AgentCard> {
    let done = AgentStatus::Completed(Some("There are\nthree.".to_owned()));
    let failed = AgentStatus::Errored("the response failed".to_owned());
    let mut root = row(0, None, "/root", AgentStatus::Running);
    root.tokens.subtree = 4_800;
    root.pending.messages = 1;
    let mut asking = row(3, Some(1), "/root/scout/helper", AgentStatus::Running);
    asking.detail = Some("waits for an approval".to_owned());
    let mut noted = row(2, Some(0), "/root/docs", failed);
    noted.note = Some("second try".to_owned());
    noted.pending.interrupts = 2;
    vec![root, row(1, Some(0), "/root/scout", done), noted, asking]
}

#[test]
fn children_stand_below_their_parents() {
    check(
        &family(),
        0,
        expect![[r#"
            /root           running        3s · 1,200 tokens, 4,800 with its agents · 1 message waits
            ├─ 1 scout      completed    ended 3s ago · worker on deep · 1,200 tokens · “There are three.”
            │  └─ 3 helper  running        3s · worker on deep · 1,200 tokens · waits for an approval
            └─ 2 docs       errored      ended 3s ago · worker on deep · 1,200 tokens · 2 interrupts wait · note: second try · “the response failed”
        "#]],
    );
}

#[test]
fn a_subtree_stands_alone() {
    check(
        &family(),
        1,
        expect![[r#"
            1 /root/scout  completed    ended 3s ago · worker on deep · 1,200 tokens · “There are three.”
            └─ 3 helper    running        3s · worker on deep · 1,200 tokens · waits for an approval
        "#]],
    );
}

#[test]
fn the_released_come_after_the_tree() {
    let mut rows = family();
    rows[2].parent_agent_id = None;
    rows[1].pruned = true;
    rows[0].status = AgentStatus::Queued { position: 2 };
    check(
        &rows,
        0,
        expect![[r#"
            /root                    queued (2)     3s · 1,200 tokens, 4,800 with its agents · 1 message waits
            └─ 1 scout               completed    ended 3s ago · worker on deep · 1,200 tokens · pruned · “There are three.”
               └─ 3 helper           running        3s · worker on deep · 1,200 tokens · waits for an approval
            2 /root/docs (released)  errored      ended 3s ago · worker on deep · 1,200 tokens · 2 interrupts wait · note: second try · “the response failed”
        "#]],
    );
}

#[test]
fn ages_and_numbers() {
    let ages = [-5, 0, 59_999, 60_000, 7_200_000, 172_800_000].map(age);
    assert_eq!(ages, ["0s", "0s", "59s", "1m", "2h", "2d"]);
    let numbers = [0, 999, 1_000, 1_234_567].map(thousands);
    assert_eq!(numbers, ["0", "999", "1,000", "1,234,567"]);
}

#[test]
fn a_tree_that_is_too_tall_is_folded_and_stays_within_its_lines() {
    let done = || AgentStatus::Completed(Some("Done.".to_owned()));
    let mut rows = vec![row(0, None, "/root", AgentStatus::Running)];
    rows[0].detail = Some(WAITS_FOR_CHILD.to_owned());
    rows.extend((1..=12).map(|number| row(number, Some(0), &format!("/root/a{number}"), done())));
    rows.push(row(
        13,
        Some(0),
        "/root/failed",
        AgentStatus::Errored("no".to_owned()),
    ));
    rows.extend((14..=18).map(|number| {
        let path = format!("/root/w{number}");
        row(number, Some(0), &path, AgentStatus::Running)
    }));
    let room = |lines| DrawingSize {
        columns: Some(60),
        lines: Some(lines),
    };
    expect![[r#"
        /root      waits for 5    3s · 1,200 tokens
        ├─ 14 w14  running        3s · worker on deep · 1,200 tokens
        ├─ 15 w15  running        3s · worker on deep · 1,200 tokens
        ├─ 16 w16  running        3s · worker on deep · 1,200 tokens
        ├─ 17 w17  running        3s · worker on deep · 1,200 tokens
        ├─ 18 w18  running        3s · worker on deep · 1,200 tokens
        └─ 12 completed, 1 errored
    "#]]
    .assert_eq(&drawn_in(&rows, 0, room(10)));
    expect![[r#"
        /root      waits for 5    3s · 1,200 tokens
        ├─ 14 w14  running        3s · worker on deep · 1,200 tokens
        ├─ 15 w15  running        3s · worker on deep · 1,200 tokens
        … 16 more
    "#]]
    .assert_eq(&drawn_in(&rows, 0, room(4)));
}

#[test]
fn who_has_ended_tells_how_long_it_ran_and_when_that_was() {
    let mut ended = row(1, Some(0), "/root/scout", AgentStatus::Completed(None));
    ended.ran_ms = Some(6_000);
    ended.since_ms = NOW_MS - 14_000;
    let root = row(0, None, "/root", AgentStatus::Completed(None));
    let busy = row(2, Some(0), "/root/busy", AgentStatus::Running);
    check(
        &[root, ended, busy],
        0,
        expect![[r#"
            /root       waits for 1    3s · 1,200 tokens
            ├─ 1 scout  completed    ran 6s, ended 14s ago · worker on deep · 1,200 tokens
            └─ 2 busy   running        3s · worker on deep · 1,200 tokens
        "#]],
    );
}
