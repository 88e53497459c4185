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

use crate::rules::{Ruling, SandboxUse, Wording};
use crate::safety::Judgement;

/// What is to happen with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allow(Sandbox),
    Ask {
        reason: String,
        /// How it runs once a person agrees.
        then: Sandbox,
    },
    /// With what the model is told.
    Refuse(String),
}

/// How a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sandbox {
    Confined,
    Unconfined,
}

/// Whether the model wants its command out of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Escalation {
    None,
    Wanted { justification: Option<String> },
}

/// Decides about a command before it runs.
pub(crate) fn command(
    judgement: &Judgement,
    ruling: &Ruling,
    escalation: &Escalation,
    approval: ApprovalPolicy,
    sandbox: &SandboxPolicy,
) -> Verdict {
    let unruled = |judgement| without_rules(judgement, escalation, approval, sandbox);
    match (ruling, judgement) {
        (Ruling::Forbid(rule), _) => Verdict::Refuse(format!(
            "refused: {rule} forbids this command. Do not try it by other means: reach the goal \
             another way, or tell the user what to run"
        )),
        (Ruling::Ask(rule), _) => {
            ask_instead(unruled(judgement), &format!("{rule} says to ask"), approval)
        }
        (Ruling::Unreadable(error), Judgement::Unknown { .. } | Judgement::Dangerous { .. }) => {
            ask_instead(
                unruled(judgement),
                &format!("the rules cannot be read ({error})"),
                approval,
            )
        }
        (
            Ruling::Allow {
                wording: Wording::Beginning,
                ..
            },
            Judgement::Dangerous { .. },
        )
        | (Ruling::Silent, _)
        | (Ruling::Unreadable(_), Judgement::KnownSafe) => unruled(judgement),
        (Ruling::Allow { sandbox: off, .. }, _) => {
            let leaves = *off == SandboxUse::Off && sandbox.mode() == SandboxMode::WorkspaceWrite;
            if leaves {
                Verdict::Allow(Sandbox::Unconfined)
            } else {
                unruled(&Judgement::KnownSafe)
            }
        }
    }
}

/// Makes a question of what would run.
fn ask_instead(verdict: Verdict, why: &str, approval: ApprovalPolicy) -> Verdict {
    match verdict {
        Verdict::Refuse(_) => verdict,
        Verdict::Allow(_) | Verdict::Ask { .. } if approval == ApprovalPolicy::Never => {
            Verdict::Refuse(format!(
                "refused: {why}, and nobody can be asked under the approval policy `never`. Reach \
                 the goal another way, or tell the user what to run"
            ))
        }
        Verdict::Allow(then) => Verdict::Ask {
            reason: why.to_owned(),
            then,
        },
        Verdict::Ask { reason, then } => Verdict::Ask {
            reason: format!("{reason}; {why}"),
            then,
        },
    }
}

fn without_rules(
    judgement: &Judgement,
    escalation: &Escalation,
    approval: ApprovalPolicy,
    sandbox: &SandboxPolicy,
) -> Verdict {
    if sandbox.mode() == SandboxMode::DangerFullAccess {
        return unconfined(judgement, approval);
    }
    if let Escalation::Wanted { justification } = escalation {
        return leaving(justification.as_deref(), approval);
    }
    match (approval, judgement) {
        (ApprovalPolicy::Never, Judgement::Dangerous { why }) => Verdict::Refuse(format!(
            "refused: {why}; nobody can be asked under the approval policy `never`. Reach the \
             goal another way, or tell the user what to run"
        )),
        (_, Judgement::Dangerous { why }) => Verdict::Ask {
            reason: format!("dangerous: {why}"),
            then: Sandbox::Confined,
        },
        (ApprovalPolicy::Untrusted, Judgement::Unknown { why }) => Verdict::Ask {
            reason: format!("not known to be safe: {why}"),
            then: Sandbox::Confined,
        },
        (_, Judgement::KnownSafe)
        | (
            ApprovalPolicy::OnFailure | ApprovalPolicy::OnRequest | ApprovalPolicy::Never,
            Judgement::Unknown { .. },
        ) => Verdict::Allow(Sandbox::Confined),
    }
}

fn unconfined(judgement: &Judgement, approval: ApprovalPolicy) -> Verdict {
    let reason = match (approval, judgement) {
        (ApprovalPolicy::Untrusted, Judgement::Unknown { why }) => {
            format!("not known to be safe: {why}")
        }
        (ApprovalPolicy::Untrusted, Judgement::Dangerous { why }) => format!("dangerous: {why}"),
        _ => return Verdict::Allow(Sandbox::Unconfined),
    };
    Verdict::Ask {
        reason,
        then: Sandbox::Unconfined,
    }
}

fn leaving(justification: Option<&str>, approval: ApprovalPolicy) -> Verdict {
    if approval == ApprovalPolicy::Never {
        return Verdict::Refuse(
            "refused: under the approval policy `never` nobody can allow a command to leave the \
             sandbox. Call again without sandbox_permissions, or reach the goal another way"
                .to_owned(),
        );
    }
    match justification.map(str::trim) {
        None | Some("") => Verdict::Refuse(
            "say in `justification`, as a question to the user, why this command has to run \
             outside of the sandbox, and call again"
                .to_owned(),
        ),
        Some(justification) => Verdict::Ask {
            reason: justification.to_owned(),
            then: Sandbox::Unconfined,
        },
    }
}

/// Decides about a command that a rule would let out of the sandbox, where confined commands can
/// have chosen what it runs.
pub(crate) fn unbound(approval: ApprovalPolicy) -> Verdict {
    let why = "a rule lets it run outside of the sandbox, and here commands in the sandbox can \
               have written what it runs (the program, or hooks and settings of a repository)";
    ask_instead(Verdict::Allow(Sandbox::Unconfined), why, approval)
}

/// Decides about typing into a command that runs outside of the sandbox.
pub(crate) fn typing(approval: ApprovalPolicy, argv: &[String]) -> Verdict {
    let words = argv.iter().map(String::as_str);
    let command = shlex::try_join(words).unwrap_or_else(|_| argv.join(" "));
    let why = format!("it types this into `{command}`, which runs outside of the sandbox");
    ask_instead(Verdict::Allow(Sandbox::Unconfined), &why, approval)
}

/// Takes out of a verdict what lets a call leave a sandbox that it is held in; `why` says who
/// holds it. What a rule would let out runs inside.
pub(crate) fn held(verdict: Verdict, why: Option<&str>) -> Verdict {
    let Some(why) = why else {
        return verdict;
    };
    match verdict {
        Verdict::Allow(_) => Verdict::Allow(Sandbox::Confined),
        Verdict::Ask {
            then: Sandbox::Unconfined,
            ..
        } => Verdict::Refuse(format!(
            "refused: {why}, so nothing leaves this agent's sandbox and nobody is asked to let it. \
             Stay inside it (call without sandbox_permissions), or say in your answer what has \
             to be done outside, and why"
        )),
        verdict @ (Verdict::Ask { .. } | Verdict::Refuse(_)) => verdict,
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
pub(crate) enum Watched {
    FromTheStart,
    Later,
}

/// Tells the model what it can do about a command that the sandbox stopped.
pub(crate) fn denial_hint(approval: ApprovalPolicy, watched: Watched) -> &'static str {
    match (approval, watched) {
        (ApprovalPolicy::Never, _) => "it cannot leave the sandbox: reach the goal another way",
        (ApprovalPolicy::OnFailure, Watched::FromTheStart) => {
            "the user was asked and did not let it run without the sandbox"
        }
        (ApprovalPolicy::OnFailure, Watched::Later)
        | (ApprovalPolicy::OnRequest | ApprovalPolicy::Untrusted, _) => {
            "if it must run outside of the sandbox, call again with sandbox_permissions \
             \"require_escalated\" and a justification"
        }
    }
}

/// Where the files of an edit lie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reach {
    Inside,
    /// At least this one may not be written.
    Outside {
        path: PathBuf,
        why: String,
    },
}

/// Decides about an edit. [`Sandbox::Confined`] keeps it inside the writable roots.
pub(crate) fn edit(reach: &Reach, approval: ApprovalPolicy, sandbox: &SandboxPolicy) -> Verdict {
    let anywhere = sandbox.mode() == SandboxMode::DangerFullAccess;
    let then = match reach {
        Reach::Inside if !anywhere => Sandbox::Confined,
        Reach::Inside | Reach::Outside { .. } => Sandbox::Unconfined,
    };
    let reason = match (approval, reach) {
        (ApprovalPolicy::Untrusted, Reach::Inside) => {
            "every edit is asked for under the approval policy `untrusted`".to_owned()
        }
        (ApprovalPolicy::Untrusted, Reach::Outside { why, .. }) => why.clone(),
        (_, Reach::Inside) => return Verdict::Allow(then),
        (_, Reach::Outside { .. }) if anywhere => return Verdict::Allow(then),
        (ApprovalPolicy::Never, Reach::Outside { path, why }) => {
            return Verdict::Refuse(refused_outside(path, why, sandbox));
        }
        (ApprovalPolicy::OnFailure | ApprovalPolicy::OnRequest, Reach::Outside { why, .. }) => {
            why.clone()
        }
    };
    Verdict::Ask { reason, then }
}

/// Applies the user's rules about edits to what would be without them.
pub(crate) fn ruled_edit(
    verdict: Verdict,
    ruling: &Ruling,
    reach: &Reach,
    approval: ApprovalPolicy,
) -> Verdict {
    match (ruling, reach) {
        (Ruling::Silent, _) | (Ruling::Allow { .. }, Reach::Outside { .. }) => verdict,
        (Ruling::Allow { .. }, Reach::Inside) => match verdict {
            Verdict::Ask { then, .. } => Verdict::Allow(then),
            other => other,
        },
        (Ruling::Ask(rule), _) => ask_instead(verdict, &format!("{rule} says to ask"), approval),
        (Ruling::Unreadable(error), _) => ask_instead(
            verdict,
            &format!("the rules cannot be read ({error})"),
            approval,
        ),
        (Ruling::Forbid(rule), _) => Verdict::Refuse(format!(
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
