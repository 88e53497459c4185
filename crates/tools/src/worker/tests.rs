use expect_test::{Expect, expect};
use troupe_protocol::policy::{ApprovalPolicy, CollaborationMode};

use super::*;

fn check(policy: SandboxPolicy, rights: WriteRights, expected: Expect) {
    let context = CallContext {
        session_id: troupe_protocol::SessionId::random(),
        turn_id: "turn".into(),
        cwd: "/cwd".into(),
        approval_policy: ApprovalPolicy::default(),
        sandbox_policy: policy,
        sandbox_held: None,
        collaboration_mode: CollaborationMode::Default,
        model: "model".to_owned(),
        effort: None,
        message_index: 0,
    };
    let text = match confinement(&context, rights) {
        None => "none".to_owned(),
        Some(Confinement::Unconfined) => "unconfined".to_owned(),
        Some(Confinement::Policy { policy, cwd }) => {
            let table = troupe_process::writable_roots(&policy, &cwd, &Variables::new());
            format!("{:?} {:?}", table.writable, table.network)
        }
    };
    expected.assert_eq(&text);
}

fn granted() -> WriteRights {
    WriteRights::Granted(vec!["/a".into(), "/b/c".into()])
}

#[test]
fn a_turn_has_the_rights_of_its_commands() {
    check(
        SandboxPolicy::read_only(),
        WriteRights::Turn,
        expect!["[] Denied"],
    );
    check(
        SandboxPolicy::workspace_write(),
        WriteRights::Turn,
        expect![[r#"["/cwd", "/tmp"] Denied"#]],
    );
    check(
        SandboxPolicy::DangerFullAccess,
        WriteRights::Turn,
        expect!["none"],
    );
}

#[test]
fn what_a_person_grants_is_added_and_nothing_else() {
    check(
        SandboxPolicy::read_only(),
        granted(),
        expect![[r#"["/a", "/b/c"] Denied"#]],
    );
    check(
        SandboxPolicy::workspace_write(),
        granted(),
        expect![[r#"["/cwd", "/a", "/b/c", "/tmp"] Denied"#]],
    );
    check(SandboxPolicy::DangerFullAccess, granted(), expect!["none"]);
}
