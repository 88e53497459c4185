//! Whether a call of a server's tool happens: the user's configuration, what the tool says of
//! itself, and the policies of the turn. Pure.
//!
//! Servers run outside the sandbox, so no kernel holds a tool to the turn's policy. A tool's own
//! word that it only reads is taken: whoever configured the server trusts it that far.

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_tools::rules::Ruling;

/// When a person is asked before a tool is called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// If the policies of the turn would not let a command do what the tool may do.
    #[default]
    Auto,
    /// Always.
    Prompt,
    /// Unless the tool only reads.
    Writes,
    /// Never.
    Approve,
}

/// What a tool says about itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Hints {
    pub read_only: bool,
    pub destructive: bool,
}

/// What the turn allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rights<'a> {
    pub approvals: ApprovalPolicy,
    pub sandbox: &'a SandboxPolicy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allow,
    /// With the reason that a person is told.
    Ask(String),
    /// Nobody can be asked, for this reason.
    Refuse(String),
    /// With what the model is told.
    Forbid(String),
}

pub(crate) fn verdict(mode: ApprovalMode, hints: Hints, rights: Rights<'_>) -> Verdict {
    let Some(reason) = reason_to_ask(mode, hints, rights) else {
        return Verdict::Allow;
    };
    asking(reason.to_owned(), rights)
}

/// Applies the user's rules to what would be without them. What a rule allows is not asked for;
/// a read-only sandbox and a role hold all the same.
pub(crate) fn ruled(
    verdict: Verdict,
    ruling: &Ruling,
    rights: Rights<'_>,
    is_held: bool,
) -> Verdict {
    let is_read_only = matches!(rights.sandbox, SandboxPolicy::ReadOnly { .. });
    match ruling {
        Ruling::Silent => verdict,
        Ruling::Allow { .. } if is_read_only || is_held => verdict,
        Ruling::Allow { .. } => Verdict::Allow,
        Ruling::Ask(rule) => stricter(verdict, format!("{rule} says to ask"), rights),
        Ruling::Unreadable(error) => stricter(
            verdict,
            format!("the rules cannot be read ({error})"),
            rights,
        ),
        Ruling::Forbid(rule) => Verdict::Forbid(format!(
            "refused by {rule}: this tool is not to be called. Do not try it by other means: \
             reach the goal another way, or tell the user what to do"
        )),
    }
}

fn stricter(verdict: Verdict, reason: String, rights: Rights<'_>) -> Verdict {
    match verdict {
        Verdict::Allow => asking(reason, rights),
        Verdict::Ask(other) => Verdict::Ask(format!("{other}; {reason}")),
        refused @ (Verdict::Refuse(_) | Verdict::Forbid(_)) => refused,
    }
}

fn asking(reason: String, rights: Rights<'_>) -> Verdict {
    match rights.approvals {
        ApprovalPolicy::Never => Verdict::Refuse(reason),
        ApprovalPolicy::Untrusted | ApprovalPolicy::OnFailure | ApprovalPolicy::OnRequest => {
            Verdict::Ask(reason)
        }
    }
}

fn reason_to_ask(mode: ApprovalMode, hints: Hints, rights: Rights<'_>) -> Option<&'static str> {
    let asks_readers = mode == ApprovalMode::Prompt;
    if hints.read_only && !asks_readers {
        return None;
    }
    match mode {
        ApprovalMode::Approve => None,
        ApprovalMode::Prompt => Some("the configuration asks before each call of this tool"),
        ApprovalMode::Writes => Some("the tool does not say that it only reads"),
        ApprovalMode::Auto => match (rights.approvals, rights.sandbox) {
            (ApprovalPolicy::Untrusted, _) => Some("the tool does not say that it only reads"),
            (_, SandboxPolicy::DangerFullAccess) => None,
            (_, SandboxPolicy::ReadOnly { .. }) => {
                Some("the sandbox is read-only and the tool does not say that it only reads")
            }
            (_, SandboxPolicy::WorkspaceWrite { .. }) => hints
                .destructive
                .then_some("the tool says that it may destroy something"),
        },
    }
}

#[cfg(test)]
mod tests;
