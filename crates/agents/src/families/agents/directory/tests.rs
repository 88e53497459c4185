use std::fs;
use std::sync::Arc;

use async_trait::async_trait;
use expect_test::{Expect, expect};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use troupe_protocol::approval::{UserInputRequest, UserInputResponse};
use troupe_protocol::policy::{CollaborationMode, SandboxPolicy};
use troupe_tools::{CallChannel, ToolInput};

use super::*;
use crate::families::example;

fn context(sandbox_policy: SandboxPolicy) -> CallContext {
    CallContext {
        session_id: example::session(0),
        turn_id: "task".into(),
        cwd: "/srv/work".into(),
        approval_policy: ApprovalPolicy::Never,
        sandbox_policy,
        sandbox_held: None,
        collaboration_mode: CollaborationMode::Default,
        model: "deep".to_owned(),
        effort: None,
        message_index: 0,
    }
}

#[test]
fn where_nobody_is_asked_no_right_is_given() {
    let check = |policy: &SandboxPolicy, directory: &str, expected: ReviewDecision| {
        let home = Path::new("/srv/work/home");
        let found = unasked(&context(policy.clone()), Path::new(directory), home);
        assert_eq!(found, expected, "{policy:?} {directory}");
    };
    let workspace = SandboxPolicy::workspace_write();
    check(&workspace, "/srv/work/sub", ReviewDecision::Approved);
    check(&workspace, "/tmp/sub", ReviewDecision::Approved);
    check(&workspace, "/srv", ReviewDecision::Denied);
    check(&workspace, "/srv/other", ReviewDecision::Denied);
    check(&workspace, "/srv/work/.git", ReviewDecision::Denied);
    let reader = SandboxPolicy::read_only();
    check(&reader, "/srv/other", ReviewDecision::Approved);
    let free = SandboxPolicy::DangerFullAccess;
    check(&free, "/srv/other", ReviewDecision::Approved);
}

#[test]
fn no_child_is_given_the_engines_own_directory() {
    let home = TempDir::new().unwrap();
    let home = home.path().canonicalize().unwrap();
    let agents = home.join("agents");
    fs::create_dir(&agents).unwrap();
    // It lies in a writable root, as everything in /tmp does.
    let inside =
        |policy: SandboxPolicy, directory: &Path| opens_home(&context(policy), directory, &home);
    let workspace = SandboxPolicy::workspace_write();
    assert!(inside(workspace.clone(), &home));
    assert!(inside(workspace.clone(), &agents));
    assert!(inside(SandboxPolicy::read_only(), &agents));
    assert!(!inside(workspace.clone(), home.parent().unwrap()));
    assert!(!inside(SandboxPolicy::DangerFullAccess, &agents));
    let link = TempDir::new().unwrap();
    let link = link.path().join("home");
    std::os::unix::fs::symlink(&home, &link).unwrap();
    assert!(opens_home(&context(workspace), &agents, &link));

    // What the user listed by name may be handed down, and no more.
    let listed = SandboxPolicy::WorkspaceWrite {
        writable_roots: vec![agents.clone()],
        network_access: false,
        exclude_tmpdir_env_var: false,
        exclude_slash_tmp: false,
    };
    assert!(!inside(listed.clone(), &agents));
    assert!(inside(listed, &home));
}

#[tokio::test]
async fn only_an_existing_directory_will_do() {
    let home = TempDir::new().unwrap();
    let real = home.path().canonicalize().unwrap();
    fs::write(real.join("file"), "").unwrap();
    fs::create_dir(real.join("sub")).unwrap();
    std::os::unix::fs::symlink(real.join("sub"), real.join("link")).unwrap();
    let check = async |name: &str, expected: Expect| {
        let found = match existing(&real.join(name)).await {
            Ok(path) => path.display().to_string(),
            Err(trouble) => trouble.to_string(),
        };
        expected.assert_eq(&found.replace(&real.display().to_string(), "<home>"));
    };
    check("sub", expect!["<home>/sub"]).await;
    check("link/../sub/.", expect!["<home>/sub"]).await;
    check("link", expect!["<home>/sub"]).await;
    check(
        "file",
        expect!["working_directory <home>/file: it is not a directory; give an existing directory"],
    )
    .await;
    check("nothing", expect!["working_directory <home>/nothing: No such file or directory (os error 2); give an existing directory"]).await;
}

#[derive(Debug)]
struct Nobody;

#[async_trait]
impl CallChannel for Nobody {
    async fn report(&self, _: ToolEvent) {}

    async fn ask(&self, _: ApprovalQuestion) -> ReviewDecision {
        ReviewDecision::Denied
    }

    async fn question(&self, _: UserInputRequest) -> Option<UserInputResponse> {
        None
    }
}

#[test]
fn a_person_reads_which_directory_and_why() {
    let call = ToolInvocation {
        id: "call".into(),
        input: ToolInput::Json("{}".to_owned()),
        context: Arc::new(context(SandboxPolicy::workspace_write())),
        channel: Arc::new(Nobody),
        cancel: CancellationToken::new(),
        aborted: Arc::default(),
    };
    let request = request(&call, Path::new("/srv/other"));
    expect![[r#"
        {
          "call_id": "call",
          "turn_id": "task",
          "command": [
            "spawn_agent",
            "--working-directory",
            "/srv/other"
          ],
          "cwd": "/srv/work",
          "reason": "the new agent is to work in /srv/other; this agent works in /srv/work",
          "parsed_cmd": [
            {
              "type": "unknown",
              "cmd": "spawn_agent --working-directory /srv/other"
            }
          ],
          "available_decisions": [
            "approved",
            "denied",
            "abort"
          ]
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&request).unwrap());
}
