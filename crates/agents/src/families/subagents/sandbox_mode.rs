//! How `subagent_spawn` and `subagent_fork` are told of a sandbox.

use troupe_protocol::policy::SandboxMode;

use crate::tree_access::TreeError;

/// Reads a sandbox mode in any of the spellings that models use for it.
pub(super) fn parse(text: Option<&str>) -> Result<Option<SandboxMode>, TreeError> {
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
            .map(|text| match parse(Some(text)) {
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
