//! Which calls run, which are asked for, which are refused. Pure: facts in, verdict out.
//!
//! Commands under a sandbox:
//!
//! | policy | known safe | unknown | dangerous | asks to leave the sandbox |
//! |---|---|---|---|---|
//! | `untrusted` | run | ask | ask | ask |
//! | `on-failure` | run, ask when stopped | run, ask when stopped | ask | ask |
//! | `on-request` | run | run | ask | ask |
//! | `never` | run | run | refuse | refuse |
//!
//! Whatever runs, runs in the sandbox; only a person's word takes it out. With
//! `danger-full-access` there is no sandbox to leave, and only `untrusted` asks: somebody chose
//! to let everything happen.
//!
//! The user's rules change this for single commands, see [`crate::rules`]: `forbid` refuses, under
//! every policy; `ask` asks for what would run, and refuses if nobody can be asked; `allow` treats
//! the command as known to be safe. With `sandbox = "off"` it also leaves a `workspace-write`
//! sandbox; a `read-only` one holds, because whoever chose it wants nothing changed.
//!
//! Edits: inside the writable roots they are made, outside they are asked for (`never`: refused);
//! `untrusted` asks for all of them.
//!
//! Where a role or a request narrowed the sandbox, nothing leaves it, see [`held`]: otherwise one
//! careless yes would undo what the role was chosen for.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use troupe_protocol::policy::{ApprovalPolicy, SandboxMode, SandboxPolicy};

use crate::rules::{CommandRuling, RuleCoverage, SandboxUse};
use crate::safety::SafetyJudgement;

/// What is to happen with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyVerdict {
    Allow(SandboxChoice),
    Ask {
        reason: String,
        /// How it runs once a person agrees.
        then: SandboxChoice,
    },
    /// With what the model is told.
    Refuse(String),
}

/// How a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SandboxChoice {
    Confined,
    Unconfined,
}

/// Whether the model wants its command out of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SandboxEscalation {
    None,
    Wanted { justification: Option<String> },
}

/// Decides about a command before it runs.
pub(crate) fn command(
    judgement: &SafetyJudgement,
    ruling: &CommandRuling,
    escalation: &SandboxEscalation,
    approval: ApprovalPolicy,
    sandbox: &SandboxPolicy,
) -> PolicyVerdict {
    let unruled = |judgement| without_rules(judgement, escalation, approval, sandbox);
    match (ruling, judgement) {
        (CommandRuling::Forbid(rule), _) => PolicyVerdict::Refuse(format!(
            "refused: {rule} forbids this command. Do not try it by other means: reach the goal \
             another way, or tell the user what to run"
        )),
        (CommandRuling::Ask(rule), _) => {
            ask_instead(unruled(judgement), &format!("{rule} says to ask"), approval)
        }
        (
            CommandRuling::Unreadable(error),
            SafetyJudgement::Unknown { .. } | SafetyJudgement::Dangerous { .. },
        ) => ask_instead(
            unruled(judgement),
            &format!("the rules cannot be read ({error})"),
            approval,
        ),
        (
            CommandRuling::Allow {
                wording: RuleCoverage::Beginning,
                ..
            },
            SafetyJudgement::Dangerous { .. },
        )
        | (CommandRuling::Silent, _)
        | (CommandRuling::Unreadable(_), SafetyJudgement::KnownSafe) => unruled(judgement),
        (CommandRuling::Allow { sandbox: off, .. }, _) => {
            let leaves = *off == SandboxUse::Off && sandbox.mode() == SandboxMode::WorkspaceWrite;
            if leaves {
                PolicyVerdict::Allow(SandboxChoice::Unconfined)
            } else {
                unruled(&SafetyJudgement::KnownSafe)
            }
        }
    }
}

/// Makes a question of what would run.
fn ask_instead(verdict: PolicyVerdict, why: &str, approval: ApprovalPolicy) -> PolicyVerdict {
    match verdict {
        PolicyVerdict::Refuse(_) => verdict,
        PolicyVerdict::Allow(_) | PolicyVerdict::Ask { .. }
            if approval == ApprovalPolicy::Never =>
        {
            PolicyVerdict::Refuse(format!(
                "refused: {why}, and nobody can be asked under the approval policy `never`. Reach \
                 the goal another way, or tell the user what to run"
            ))
        }
        PolicyVerdict::Allow(then) => PolicyVerdict::Ask {
            reason: why.to_owned(),
            then,
        },
        PolicyVerdict::Ask { reason, then } => PolicyVerdict::Ask {
            reason: format!("{reason}; {why}"),
            then,
        },
    }
}

fn without_rules(
    judgement: &SafetyJudgement,
    escalation: &SandboxEscalation,
    approval: ApprovalPolicy,
    sandbox: &SandboxPolicy,
) -> PolicyVerdict {
    if sandbox.mode() == SandboxMode::DangerFullAccess {
        return unconfined(judgement, approval);
    }
    if let SandboxEscalation::Wanted { justification } = escalation {
        return leaving_verdict(justification.as_deref(), approval);
    }
    match (approval, judgement) {
        (ApprovalPolicy::Never, SafetyJudgement::Dangerous { why }) => {
            PolicyVerdict::Refuse(format!(
                "refused: {why}; nobody can be asked under the approval policy `never`. Reach the \
             goal another way, or tell the user what to run"
            ))
        }
        (_, SafetyJudgement::Dangerous { why }) => PolicyVerdict::Ask {
            reason: format!("dangerous: {why}"),
            then: SandboxChoice::Confined,
        },
        (ApprovalPolicy::Untrusted, SafetyJudgement::Unknown { why }) => PolicyVerdict::Ask {
            reason: format!("not known to be safe: {why}"),
            then: SandboxChoice::Confined,
        },
        (_, SafetyJudgement::KnownSafe)
        | (
            ApprovalPolicy::OnFailure | ApprovalPolicy::OnRequest | ApprovalPolicy::Never,
            SafetyJudgement::Unknown { .. },
        ) => PolicyVerdict::Allow(SandboxChoice::Confined),
    }
}

fn unconfined(judgement: &SafetyJudgement, approval: ApprovalPolicy) -> PolicyVerdict {
    let reason = match (approval, judgement) {
        (ApprovalPolicy::Untrusted, SafetyJudgement::Unknown { why }) => {
            format!("not known to be safe: {why}")
        }
        (ApprovalPolicy::Untrusted, SafetyJudgement::Dangerous { why }) => {
            format!("dangerous: {why}")
        }
        _ => return PolicyVerdict::Allow(SandboxChoice::Unconfined),
    };
    PolicyVerdict::Ask {
        reason,
        then: SandboxChoice::Unconfined,
    }
}

fn leaving_verdict(justification: Option<&str>, approval: ApprovalPolicy) -> PolicyVerdict {
    if approval == ApprovalPolicy::Never {
        return PolicyVerdict::Refuse(
            "refused: under the approval policy `never` nobody can allow a command to leave the \
             sandbox. Call again without sandbox_permissions, or reach the goal another way"
                .to_owned(),
        );
    }
    match justification.map(str::trim) {
        None | Some("") => PolicyVerdict::Refuse(
            "say in `justification`, as a question to the user, why this command has to run \
             outside of the sandbox, and call again"
                .to_owned(),
        ),
        Some(justification) => PolicyVerdict::Ask {
            reason: justification.to_owned(),
            then: SandboxChoice::Unconfined,
        },
    }
}

/// Decides about a command that a rule would let out of the sandbox, where confined commands can
/// have chosen what it runs.
pub(crate) fn unbound(approval: ApprovalPolicy) -> PolicyVerdict {
    let why = "a rule lets it run outside of the sandbox, and here commands in the sandbox can \
               have written what it runs (the program, or hooks and settings of a repository)";
    ask_instead(
        PolicyVerdict::Allow(SandboxChoice::Unconfined),
        why,
        approval,
    )
}

/// Decides about typing into a command that runs outside of the sandbox.
pub(crate) fn typing(approval: ApprovalPolicy, argv: &[String]) -> PolicyVerdict {
    let words = argv.iter().map(String::as_str);
    let command = shlex::try_join(words).unwrap_or_else(|_| argv.join(" "));
    let why = format!("it types this into `{command}`, which runs outside of the sandbox");
    ask_instead(
        PolicyVerdict::Allow(SandboxChoice::Unconfined),
        &why,
        approval,
    )
}

/// Takes out of a verdict what lets a call leave a sandbox that it is held in; `why` says who
/// holds it. What a rule would let out runs inside.
pub(crate) fn keep_in_sandbox(verdict: PolicyVerdict, why: Option<&str>) -> PolicyVerdict {
    let Some(why) = why else {
        return verdict;
    };
    match verdict {
        PolicyVerdict::Allow(_) => PolicyVerdict::Allow(SandboxChoice::Confined),
        PolicyVerdict::Ask {
            then: SandboxChoice::Unconfined,
            ..
        } => PolicyVerdict::Refuse(format!(
            "refused: {why}, so nothing leaves this agent's sandbox and nobody is asked to let it. \
             Stay inside it (call without sandbox_permissions), or say in your answer what has \
             to be done outside, and why"
        )),
        verdict @ (PolicyVerdict::Ask { .. } | PolicyVerdict::Refuse(_)) => verdict,
    }
}

/// Decides whether a person is asked to let a command that the sandbox stopped run without it.
pub(crate) fn after_denial(approval: ApprovalPolicy, denial: &str) -> Option<String> {
    (approval == ApprovalPolicy::OnFailure)
        .then(|| format!("the sandbox stopped it ({denial}); run it again without the sandbox?"))
}

/// Whether a command that the sandbox stops is watched by the call that started it, which is
/// when [`after_denial`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchStart {
    FromTheStart,
    Later,
}

/// Tells the model what it can do about a command that the sandbox stopped.
pub(crate) fn denial_hint(approval: ApprovalPolicy, watched: WatchStart) -> &'static str {
    match (approval, watched) {
        (ApprovalPolicy::Never, _) => "it cannot leave the sandbox: reach the goal another way",
        (ApprovalPolicy::OnFailure, WatchStart::FromTheStart) => {
            "the user was asked and did not let it run without the sandbox"
        }
        (ApprovalPolicy::OnFailure, WatchStart::Later)
        | (ApprovalPolicy::OnRequest | ApprovalPolicy::Untrusted, _) => {
            "if it must run outside of the sandbox, call again with sandbox_permissions \
             \"require_escalated\" and a justification"
        }
    }
}

/// Where the files of an edit lie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum EditReach {
    Inside,
    /// At least this one may not be written.
    Outside {
        path: PathBuf,
        why: String,
    },
}

/// Decides about an edit. [`SandboxChoice::Confined`] keeps it inside the writable roots.
pub(crate) fn edit(
    reach: &EditReach,
    approval: ApprovalPolicy,
    sandbox: &SandboxPolicy,
) -> PolicyVerdict {
    let anywhere = sandbox.mode() == SandboxMode::DangerFullAccess;
    let then = match reach {
        EditReach::Inside if !anywhere => SandboxChoice::Confined,
        EditReach::Inside | EditReach::Outside { .. } => SandboxChoice::Unconfined,
    };
    let reason = match (approval, reach) {
        (ApprovalPolicy::Untrusted, EditReach::Inside) => {
            "every edit is asked for under the approval policy `untrusted`".to_owned()
        }
        (ApprovalPolicy::Untrusted, EditReach::Outside { why, .. }) => why.clone(),
        (_, EditReach::Inside) => return PolicyVerdict::Allow(then),
        (_, EditReach::Outside { .. }) if anywhere => return PolicyVerdict::Allow(then),
        (ApprovalPolicy::Never, EditReach::Outside { path, why }) => {
            return PolicyVerdict::Refuse(refused_outside(path, why, sandbox));
        }
        (ApprovalPolicy::OnFailure | ApprovalPolicy::OnRequest, EditReach::Outside { why, .. }) => {
            why.clone()
        }
    };
    PolicyVerdict::Ask { reason, then }
}

/// Applies the user's rules about edits to what would be without them.
pub(crate) fn ruled_edit(
    verdict: PolicyVerdict,
    ruling: &CommandRuling,
    reach: &EditReach,
    approval: ApprovalPolicy,
) -> PolicyVerdict {
    match (ruling, reach) {
        (CommandRuling::Silent, _) | (CommandRuling::Allow { .. }, EditReach::Outside { .. }) => {
            verdict
        }
        (CommandRuling::Allow { .. }, EditReach::Inside) => match verdict {
            PolicyVerdict::Ask { then, .. } => PolicyVerdict::Allow(then),
            other => other,
        },
        (CommandRuling::Ask(rule), _) => {
            ask_instead(verdict, &format!("{rule} says to ask"), approval)
        }
        (CommandRuling::Unreadable(error), _) => ask_instead(
            verdict,
            &format!("the rules cannot be read ({error})"),
            approval,
        ),
        (CommandRuling::Forbid(rule), _) => PolicyVerdict::Refuse(format!(
            "refused by {rule}: these files are not to be changed. Do not try it by other means: \
             reach the goal another way, or tell the user what to change"
        )),
    }
}

fn refused_outside(path: &Path, why: &str, sandbox: &SandboxPolicy) -> String {
    let why = match sandbox.mode() {
        SandboxMode::ReadOnly => {
            format!(
                "the sandbox is read-only, so {} cannot be changed",
                path.display()
            )
        }
        SandboxMode::WorkspaceWrite | SandboxMode::DangerFullAccess => why.to_owned(),
    };
    format!("refused: {why}, and nobody can be asked under the approval policy `never`")
}

#[cfg(test)]
mod tests;
