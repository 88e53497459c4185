//! The wish for a child, as `subagent_spawn` and `subagent_fork` put it.

use troupe_protocol::agent::AgentOrigin;
use troupe_protocol::input::UserInput;
use troupe_protocol::policy::SandboxMode;
use troupe_protocol::spawn::HistoryShare;
use troupe_protocol::tree::OnParentInterrupt;
use troupe_tools::CallContext;

use crate::tree_access::{CallbackChoice, SpawnContext, SpawnRequest, TreeError};

/// What the two calls have in common, made regular.
#[derive(Debug)]
pub(super) struct SubagentRequest {
    /// Without one the child waits to be told.
    pub prompt: Option<String>,
    pub model: Option<String>,
    pub backend: Option<String>,
    pub label: Option<String>,
    pub sandbox: Option<SandboxMode>,
}

/// A child without history. What is not asked for is the default role's, or inherited.
pub(super) fn request(
    tool: &'static str,
    context: &CallContext,
    wish: SubagentRequest,
) -> SpawnRequest {
    SpawnRequest {
        tool,
        origin: AgentOrigin::Spawn,
        items: wish.prompt.map(UserInput::text).into_iter().collect(),
        agent_type: None,
        agent_name: None,
        name: None,
        label: wish.label,
        working_directory: None,
        model: wish.model,
        backend: wish.backend,
        reasoning_effort: None,
        sandbox: wish.sandbox,
        history: HistoryShare::None,
        fork_answer: None,
        output_schema: None,
        approvals: None,
        on_parent_interrupt: OnParentInterrupt::KeepRunning,
        callback: CallbackChoice::default(),
        thread_note: None,
        turn: SpawnContext::from(context),
    }
}

/// Reads a sandbox mode in any of the spellings that models use for it.
pub(super) fn sandbox(text: Option<&str>) -> Result<Option<SandboxMode>, TreeError> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let mut plain = text.to_ascii_lowercase();
    plain.retain(|character| !matches!(character, '-' | '_' | ' '));
    match plain.as_str() {
        "read" | "readonly" | "ro" => Ok(Some(SandboxMode::ReadOnly)),
        "workspace" | "workspacewrite" | "write" | "rw" => Ok(Some(SandboxMode::WorkspaceWrite)),
        "full" | "fullaccess" | "danger" | "dangerfullaccess" => {
            Ok(Some(SandboxMode::DangerFullAccess))
        }
        _ => Err(TreeError::Invalid(format!(
            "unknown sandbox_mode {text}; use read-only, workspace-write or danger-full-access"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(spellings: &[&str], expected: Expect) {
        let mut read: Vec<String> = spellings
            .iter()
            .map(|text| match sandbox(Some(text)) {
                Ok(mode) => format!("{mode:?}"),
                Err(trouble) => trouble.to_string(),
            })
            .collect();
        read.dedup();
        expected.assert_eq(&read.join("\n"));
    }

    #[test]
    fn sandbox_modes_have_many_spellings() {
        check(
            &[
                "read",
                "read-only",
                "readonly",
                "read_only",
                "Read Only",
                "ro",
            ],
            expect!["Some(ReadOnly)"],
        );
        check(
            &[
                "workspace",
                "workspace-write",
                "workspace_write",
                "WorkspaceWrite",
                "write",
            ],
            expect!["Some(WorkspaceWrite)"],
        );
        check(
            &[
                "full",
                "full-access",
                "danger-full-access",
                "danger_full_access",
            ],
            expect!["Some(DangerFullAccess)"],
        );
        check(&["", "  "], expect!["None"]);
        check(
            &["none"],
            expect![
                "unknown sandbox_mode none; use read-only, workspace-write or danger-full-access"
            ],
        );
    }
}
