//! Whether a call of a server's tool happens: the user's configuration, what the tool says of
//! itself, and the policies of the turn. Pure.
//!
//! Servers run outside the sandbox, so no kernel holds a tool to the turn's policy. A tool's own
//! word that it only reads is taken: whoever configured the server trusts it that far.

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_tools::rules::CommandRuling;

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
pub(crate) struct ToolHints {
    pub read_only: bool,
    pub destructive: bool,
}

/// What the turn allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallRights<'a> {
    pub approvals: ApprovalPolicy,
    pub sandbox: &'a SandboxPolicy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ApprovalVerdict {
    Allow,
    /// With the reason that a person is told.
    Ask(String),
    /// Nobody can be asked, for this reason.
    Refuse(String),
    /// With what the model is told.
    Forbid(String),
}

pub(crate) fn verdict(
    mode: ApprovalMode,
    hints: ToolHints,
    rights: CallRights<'_>,
) -> ApprovalVerdict {
    let Some(reason) = reason_to_ask(mode, hints, rights) else {
        return ApprovalVerdict::Allow;
    };
    asking(reason.to_owned(), rights)
}

/// Applies the user's rules to what would be without them. What a rule allows is not asked for;
/// a read-only sandbox and a role hold all the same.
pub(crate) fn ruled(
    verdict: ApprovalVerdict,
    ruling: &CommandRuling,
    rights: CallRights<'_>,
    is_held: bool,
) -> ApprovalVerdict {
    let is_read_only = matches!(rights.sandbox, SandboxPolicy::ReadOnly { .. });
    match ruling {
        CommandRuling::Silent => verdict,
        CommandRuling::Allow { .. } if is_read_only || is_held => verdict,
        CommandRuling::Allow { .. } => ApprovalVerdict::Allow,
        CommandRuling::Ask(rule) => stricter(verdict, format!("{rule} says to ask"), rights),
        CommandRuling::Unreadable(error) => stricter(
            verdict,
            format!("the rules cannot be read ({error})"),
            rights,
        ),
        CommandRuling::Forbid(rule) => ApprovalVerdict::Forbid(format!(
            "refused by {rule}: this tool is not to be called. Do not try it by other means: \
             reach the goal another way, or tell the user what to do"
        )),
    }
}

fn stricter(verdict: ApprovalVerdict, reason: String, rights: CallRights<'_>) -> ApprovalVerdict {
    match verdict {
        ApprovalVerdict::Allow => asking(reason, rights),
        ApprovalVerdict::Ask(other) => ApprovalVerdict::Ask(format!("{other}; {reason}")),
        refused @ (ApprovalVerdict::Refuse(_) | ApprovalVerdict::Forbid(_)) => refused,
    }
}

fn asking(reason: String, rights: CallRights<'_>) -> ApprovalVerdict {
    match rights.approvals {
        ApprovalPolicy::Never => ApprovalVerdict::Refuse(reason),
        ApprovalPolicy::Untrusted | ApprovalPolicy::OnFailure | ApprovalPolicy::OnRequest => {
            ApprovalVerdict::Ask(reason)
        }
    }
}

fn reason_to_ask(
    mode: ApprovalMode,
    hints: ToolHints,
    rights: CallRights<'_>,
) -> Option<&'static str> {
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
