use expect_test::{Expect, expect};
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};

use super::{ApprovalMode, CallRights, ToolHints, verdict};

const SILENT: ToolHints = ToolHints {
    read_only: false,
    destructive: false,
};
const READS: ToolHints = ToolHints {
    read_only: true,
    destructive: false,
};
const DESTROYS: ToolHints = ToolHints {
    read_only: false,
    destructive: true,
};

/// Shows the verdicts on a tool under each sandbox, with somebody to ask and with nobody.
fn check(mode: ApprovalMode, hints: ToolHints, expected: Expect) {
    let sandboxes = [
        SandboxPolicy::read_only(),
        SandboxPolicy::workspace_write(),
        SandboxPolicy::DangerFullAccess,
    ];
    let policies = [
        ApprovalPolicy::Untrusted,
        ApprovalPolicy::OnRequest,
        ApprovalPolicy::Never,
    ];
    let shown = sandboxes.iter().map(|sandbox| {
        let verdicts = policies.map(|approvals| {
            let verdict = verdict(mode, hints, CallRights { approvals, sandbox });
            let shown = format!("{verdict:?}");
            shown.split('(').next().unwrap_or_default().to_lowercase()
        });
        format!("{:?}: {}\n", sandbox.mode(), verdicts.join(" "))
    });
    expected.assert_eq(&shown.collect::<Vec<_>>().concat());
}

#[test]
fn what_only_reads_is_not_asked_for() {
    check(
        ApprovalMode::Auto,
        READS,
        expect![[r#"
            ReadOnly: allow allow allow
            WorkspaceWrite: allow allow allow
            DangerFullAccess: allow allow allow
        "#]],
    );
    check(
        ApprovalMode::Writes,
        READS,
        expect![[r#"
            ReadOnly: allow allow allow
            WorkspaceWrite: allow allow allow
            DangerFullAccess: allow allow allow
        "#]],
    );
}

#[test]
fn what_may_write_is_held_to_the_turns_policies() {
    check(
        ApprovalMode::Auto,
        SILENT,
        expect![[r#"
            ReadOnly: ask ask refuse
            WorkspaceWrite: ask allow allow
            DangerFullAccess: ask allow allow
        "#]],
    );
    check(
        ApprovalMode::Auto,
        DESTROYS,
        expect![[r#"
            ReadOnly: ask ask refuse
            WorkspaceWrite: ask ask refuse
            DangerFullAccess: ask allow allow
        "#]],
    );
}

#[test]
fn the_configuration_has_the_last_word() {
    check(
        ApprovalMode::Approve,
        DESTROYS,
        expect![[r#"
            ReadOnly: allow allow allow
            WorkspaceWrite: allow allow allow
            DangerFullAccess: allow allow allow
        "#]],
    );
    check(
        ApprovalMode::Prompt,
        READS,
        expect![[r#"
            ReadOnly: ask ask refuse
            WorkspaceWrite: ask ask refuse
            DangerFullAccess: ask ask refuse
        "#]],
    );
    check(
        ApprovalMode::Writes,
        SILENT,
        expect![[r#"
            ReadOnly: ask ask refuse
            WorkspaceWrite: ask ask refuse
            DangerFullAccess: ask ask refuse
        "#]],
    );
}
