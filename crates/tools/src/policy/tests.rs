use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;
use crate::rules::{CommandRule, PlacedRule, RuleDecision, RuleMatter, RulesFileError};

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

type Decide<'a> = &'a dyn Fn(ApprovalPolicy, &SandboxPolicy) -> PolicyVerdict;

/// Draws the verdicts of all policies as one table.
fn check(cases: &[(&str, Decide)], expect: Expect) {
    let mut table = String::new();
    for sandbox in sandboxes() {
        writeln!(table, "{:?}", sandbox.mode()).unwrap();
        for (name, decide) in cases {
            write!(table, "  {name:<10}").unwrap();
            for approval in POLICIES {
                let verdict = match decide(approval, &sandbox) {
                    PolicyVerdict::Allow(SandboxChoice::Confined) => "run",
                    PolicyVerdict::Allow(SandboxChoice::Unconfined) => "run bare",
                    PolicyVerdict::Ask {
                        then: SandboxChoice::Confined,
                        ..
                    } => "ask",
                    PolicyVerdict::Ask {
                        then: SandboxChoice::Unconfined,
                        ..
                    } => "ask bare",
                    PolicyVerdict::Refuse(_) => "refuse",
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
    let unknown = SafetyJudgement::Unknown { why: why() };
    let dangerous = SafetyJudgement::Dangerous { why: why() };
    let stay = SandboxEscalation::None;
    let leave = SandboxEscalation::Wanted {
        justification: Some("may I?".to_owned()),
    };
    let leave_mutely = SandboxEscalation::Wanted {
        justification: Some(" ".to_owned()),
    };
    check(
        &[
            ("safe", &|a, s| {
                command(
                    &SafetyJudgement::KnownSafe,
                    &CommandRuling::Silent,
                    &stay,
                    a,
                    s,
                )
            }),
            ("unknown", &|a, s| {
                command(&unknown, &CommandRuling::Silent, &stay, a, s)
            }),
            ("dangerous", &|a, s| {
                command(&dangerous, &CommandRuling::Silent, &stay, a, s)
            }),
            ("leave", &|a, s| {
                command(
                    &SafetyJudgement::KnownSafe,
                    &CommandRuling::Silent,
                    &leave,
                    a,
                    s,
                )
            }),
            ("mutely", &|a, s| {
                command(&unknown, &CommandRuling::Silent, &leave_mutely, a, s)
            }),
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

fn placed(decision: RuleDecision) -> PlacedRule {
    PlacedRule {
        rule: CommandRule {
            matter: RuleMatter::Command(vec!["git".to_owned(), "push".to_owned()]),
            decision,
            sandbox: SandboxUse::On,
            reason: Some("others see it".to_owned()),
        },
        file: "rules.toml".into(),
        line: 3,
    }
}

fn allow(sandbox: SandboxUse, wording: RuleCoverage) -> CommandRuling {
    CommandRuling::Allow {
        rule: placed(RuleDecision::Allow),
        sandbox,
        wording,
    }
}

fn unreadable() -> CommandRuling {
    CommandRuling::Unreadable(RulesFileError {
        file: "rules.toml".into(),
        line: Some(1),
        message: "expected a rule".to_owned(),
    })
}

#[test]
fn commands_that_rules_are_about() {
    let safe = SafetyJudgement::KnownSafe;
    let unknown = SafetyJudgement::Unknown {
        why: "because".to_owned(),
    };
    let dangerous = SafetyJudgement::Dangerous {
        why: "because".to_owned(),
    };
    let stay = SandboxEscalation::None;
    let leave = SandboxEscalation::Wanted {
        justification: Some("may I?".to_owned()),
    };
    let forbid = CommandRuling::Forbid(placed(RuleDecision::Forbid));
    let ask = CommandRuling::Ask(placed(RuleDecision::Ask));
    let whole = allow(SandboxUse::On, RuleCoverage::Whole);
    let begun = allow(SandboxUse::On, RuleCoverage::Beginning);
    let off = allow(SandboxUse::Off, RuleCoverage::Beginning);
    let broken = unreadable();
    check(
        &[
            ("forbid", &|a, s| command(&safe, &forbid, &stay, a, s)),
            ("ask", &|a, s| command(&safe, &ask, &stay, a, s)),
            ("ask leave", &|a, s| command(&safe, &ask, &leave, a, s)),
            ("allow", &|a, s| command(&unknown, &begun, &stay, a, s)),
            ("leave", &|a, s| command(&unknown, &begun, &leave, a, s)),
            ("danger", &|a, s| command(&dangerous, &begun, &stay, a, s)),
            ("spelled", &|a, s| command(&dangerous, &whole, &stay, a, s)),
            ("off", &|a, s| command(&unknown, &off, &stay, a, s)),
            ("off danger", &|a, s| command(&dangerous, &off, &stay, a, s)),
            ("broken", &|a, s| command(&unknown, &broken, &stay, a, s)),
            ("b. safe", &|a, s| command(&safe, &broken, &stay, a, s)),
        ],
        expect![[r#"
            ReadOnly
              forbid     refuse    refuse    refuse    refuse
              ask        ask       ask       ask       refuse
              ask leave  ask bare  ask bare  ask bare  refuse
              allow      run       run       run       run
              leave      ask bare  ask bare  ask bare  refuse
              danger     ask       ask       ask       refuse
              spelled    run       run       run       run
              off        run       run       run       run
              off danger ask       ask       ask       refuse
              broken     ask       ask       ask       refuse
              b. safe    run       run       run       run
            WorkspaceWrite
              forbid     refuse    refuse    refuse    refuse
              ask        ask       ask       ask       refuse
              ask leave  ask bare  ask bare  ask bare  refuse
              allow      run       run       run       run
              leave      ask bare  ask bare  ask bare  refuse
              danger     ask       ask       ask       refuse
              spelled    run       run       run       run
              off        run bare  run bare  run bare  run bare
              off danger ask       ask       ask       refuse
              broken     ask       ask       ask       refuse
              b. safe    run       run       run       run
            DangerFullAccess
              forbid     refuse    refuse    refuse    refuse
              ask        ask bare  ask bare  ask bare  refuse
              ask leave  ask bare  ask bare  ask bare  refuse
              allow      run bare  run bare  run bare  run bare
              leave      run bare  run bare  run bare  run bare
              danger     ask bare  run bare  run bare  run bare
              spelled    run bare  run bare  run bare  run bare
              off        run bare  run bare  run bare  run bare
              off danger ask bare  run bare  run bare  run bare
              broken     ask bare  ask bare  ask bare  refuse
              b. safe    run bare  run bare  run bare  run bare
        "#]],
    );
}

#[test]
fn rules_give_their_reasons() {
    let text = |ruling: &CommandRuling, approval| {
        let judgement = SafetyJudgement::Unknown {
            why: "it is new".to_owned(),
        };
        let read_only = SandboxPolicy::read_only();
        match command(
            &judgement,
            ruling,
            &SandboxEscalation::None,
            approval,
            &read_only,
        ) {
            PolicyVerdict::Refuse(text) | PolicyVerdict::Ask { reason: text, .. } => text,
            PolicyVerdict::Allow(_) => panic!("the rule tightens"),
        }
    };
    let ask = CommandRuling::Ask(placed(RuleDecision::Ask));
    let forbid = CommandRuling::Forbid(placed(RuleDecision::Forbid));
    expect!["refused: the rule `git push` (rules.toml:3: others see it) forbids this command. Do not try it by other means: reach the goal another way, or tell the user what to run"].assert_eq(&text(&forbid, ApprovalPolicy::OnRequest));
    expect!["the rule `git push` (rules.toml:3: others see it) says to ask"]
        .assert_eq(&text(&ask, ApprovalPolicy::OnRequest));
    expect!["not known to be safe: it is new; the rule `git push` (rules.toml:3: others see it) says to ask"].assert_eq(&text(&ask, ApprovalPolicy::Untrusted));
    expect!["refused: the rule `git push` (rules.toml:3: others see it) says to ask, and nobody can be asked under the approval policy `never`. Reach the goal another way, or tell the user what to run"].assert_eq(&text(&ask, ApprovalPolicy::Never));
    expect!["the rules cannot be read (rules.toml:1: expected a rule)"]
        .assert_eq(&text(&unreadable(), ApprovalPolicy::OnFailure));
}

#[test]
fn edits() {
    let outside = EditReach::Outside {
        path: "/etc/hosts".into(),
        why: "/etc/hosts is elsewhere".to_owned(),
    };
    check(
        &[
            ("inside", &|a, s| edit(&EditReach::Inside, a, s)),
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
        PolicyVerdict::Refuse(text) => text,
        other => panic!("{other:?}"),
    };
    let outside = EditReach::Outside {
        path: "/etc/hosts".into(),
        why: "/etc/hosts is elsewhere".to_owned(),
    };
    let read_only = SandboxPolicy::read_only();
    expect!["refused: the sandbox is read-only, so /etc/hosts cannot be changed, and nobody can be asked under the approval policy `never`"]
        .assert_eq(&text(edit(&outside, ApprovalPolicy::Never, &read_only)));
    let wanted = SandboxEscalation::Wanted {
        justification: None,
    };
    expect!["say in `justification`, as a question to the user, why this command has to run outside of the sandbox, and call again"]
        .assert_eq(&text(command(
            &SafetyJudgement::KnownSafe,
            &CommandRuling::Silent,
            &wanted,
            ApprovalPolicy::OnRequest,
            &read_only,
        )));
}

#[test]
fn nothing_leaves_a_sandbox_that_holds() {
    let why = Some("the role scout is read-only");
    let leave = SandboxEscalation::Wanted {
        justification: Some("may I?".to_owned()),
    };
    let outside = EditReach::Outside {
        path: "/etc/hosts".into(),
        why: "/etc/hosts is elsewhere".to_owned(),
    };
    let read_only = SandboxPolicy::read_only();
    let asks = ApprovalPolicy::OnRequest;
    let leaving = command(
        &SafetyJudgement::KnownSafe,
        &CommandRuling::Silent,
        &leave,
        asks,
        &read_only,
    );
    expect!["refused: the role scout is read-only, so nothing leaves this agent's sandbox and nobody is asked to let it. Stay inside it (call without sandbox_permissions), or say in your answer what has to be done outside, and why"]
        .assert_eq(&match keep_in_sandbox(leaving.clone(), why) {
            PolicyVerdict::Refuse(text) => text,
            other => panic!("{other:?}"),
        });
    assert_eq!(keep_in_sandbox(leaving.clone(), None), leaving);
    let edit = edit(&outside, asks, &read_only);
    assert!(matches!(
        keep_in_sandbox(edit, why),
        PolicyVerdict::Refuse(_)
    ));
    // What a rule of the user's lets out runs inside.
    let ruled = keep_in_sandbox(PolicyVerdict::Allow(SandboxChoice::Unconfined), why);
    assert_eq!(ruled, PolicyVerdict::Allow(SandboxChoice::Confined));
}
