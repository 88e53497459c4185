use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;

const POLICIES: [ApprovalPolicy; 4] = [
    ApprovalPolicy::Untrusted,
    ApprovalPolicy::OnFailure,
    ApprovalPolicy::OnRequest,
    ApprovalPolicy::Never,
];

fn sandboxes() -> [SandboxPolicy; 3] {
    [
        SandboxPolicy::read_only(),
        SandboxPolicy::workspace_write(),
        SandboxPolicy::DangerFullAccess,
    ]
}

type Decide<'a> = &'a dyn Fn(ApprovalPolicy, &SandboxPolicy) -> Verdict;

/// Draws the verdicts of all policies as one table.
fn check(cases: &[(&str, Decide)], expect: Expect) {
    let mut table = String::new();
    for sandbox in sandboxes() {
        writeln!(table, "{:?}", sandbox.mode()).unwrap();
        for (name, decide) in cases {
            write!(table, "  {name:<10}").unwrap();
            for approval in POLICIES {
                let verdict = match decide(approval, &sandbox) {
                    Verdict::Allow(Sandbox::Confined) => "run",
                    Verdict::Allow(Sandbox::Unconfined) => "run bare",
                    Verdict::Ask {
                        then: Sandbox::Confined,
                        ..
                    } => "ask",
                    Verdict::Ask {
                        then: Sandbox::Unconfined,
                        ..
                    } => "ask bare",
                    Verdict::Refuse(_) => "refuse",
                };
                write!(table, " {verdict:<9}").unwrap();
            }
            table.truncate(table.trim_end().len());
            table.push('\n');
        }
    }
    expect.assert_eq(&table);
}

#[test]
fn commands() {
    let why = || "because".to_owned();
    let unknown = Judgement::Unknown { why: why() };
    let dangerous = Judgement::Dangerous { why: why() };
    let stay = Escalation::None;
    let leave = Escalation::Wanted {
        justification: Some("may I?".to_owned()),
    };
    let leave_mutely = Escalation::Wanted {
        justification: Some(" ".to_owned()),
    };
    check(
        &[
            ("safe", &|a, s| command(&Judgement::KnownSafe, &stay, a, s)),
            ("unknown", &|a, s| command(&unknown, &stay, a, s)),
            ("dangerous", &|a, s| command(&dangerous, &stay, a, s)),
            ("leave", &|a, s| {
                command(&Judgement::KnownSafe, &leave, a, s)
            }),
            ("mutely", &|a, s| command(&unknown, &leave_mutely, a, s)),
        ],
        // Columns: untrusted, on-failure, on-request, never.
        expect![[r"
            ReadOnly
              safe       run       run       run       run
              unknown    ask       run       run       run
              dangerous  ask       ask       ask       refuse
              leave      ask bare  ask bare  ask bare  refuse
              mutely     refuse    refuse    refuse    refuse
            WorkspaceWrite
              safe       run       run       run       run
              unknown    ask       run       run       run
              dangerous  ask       ask       ask       refuse
              leave      ask bare  ask bare  ask bare  refuse
              mutely     refuse    refuse    refuse    refuse
            DangerFullAccess
              safe       run bare  run bare  run bare  run bare
              unknown    ask bare  run bare  run bare  run bare
              dangerous  ask bare  run bare  run bare  run bare
              leave      run bare  run bare  run bare  run bare
              mutely     ask bare  run bare  run bare  run bare
        "]],
    );
}

#[test]
fn edits() {
    let outside = Reach::Outside {
        path: "/etc/hosts".into(),
        why: "/etc/hosts is elsewhere".to_owned(),
    };
    check(
        &[
            ("inside", &|a, s| edit(&Reach::Inside, a, s)),
            ("outside", &|a, s| edit(&outside, a, s)),
        ],
        expect![[r"
            ReadOnly
              inside     ask       run       run       run
              outside    ask bare  ask bare  ask bare  refuse
            WorkspaceWrite
              inside     ask       run       run       run
              outside    ask bare  ask bare  ask bare  refuse
            DangerFullAccess
              inside     ask bare  run bare  run bare  run bare
              outside    ask bare  run bare  run bare  run bare
        "]],
    );
}

#[test]
fn only_on_failure_asks_again() {
    let asked = POLICIES.map(|policy| after_denial(policy, "write to /etc").is_some());
    assert_eq!(asked, [false, true, false, false]);
}

#[test]
fn refusals_tell_what_to_do() {
    let text = |verdict| match verdict {
        Verdict::Refuse(text) => text,
        other => panic!("{other:?}"),
    };
    let outside = Reach::Outside {
        path: "/etc/hosts".into(),
        why: "/etc/hosts is elsewhere".to_owned(),
    };
    let read_only = SandboxPolicy::read_only();
    expect!["refused: the sandbox is read-only, so /etc/hosts cannot be changed, and nobody can be asked under the approval policy `never`"]
        .assert_eq(&text(edit(&outside, ApprovalPolicy::Never, &read_only)));
    let wanted = Escalation::Wanted {
        justification: None,
    };
    expect!["say in `justification`, as a question to the user, why this command has to run outside of the sandbox, and call again"]
        .assert_eq(&text(command(
            &Judgement::KnownSafe,
            &wanted,
            ApprovalPolicy::OnRequest,
            &read_only,
        )));
}
