//! Tools, what they tell, and what is asked before they run.

use expect_test::expect;
use troupe_protocol::EventMsg;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_testkit::Stage;

use super::{GO, kept, play, told};

#[tokio::test]
async fn tools_and_what_they_tell() {
    let steps = [
        "{ call = 'shell_command', arguments = { command = 'echo out' } }",
        "{ call = 'update_plan', arguments = { plan = [{ step = 'one', status = 'in_progress' }] } }",
        "{ custom = 'apply_patch', input = \"*** Begin Patch\\n*** Add File: a\\n+a\\n*** End Patch\" }",
        "{ call = 'view_image', arguments = { path = 'dot.png' } }",
        "{ call = 'exec_command', arguments = { cmd = 'cat', tty = true, yield_time_ms = 250 } }",
        "{ call = 'write_stdin', arguments = { session_id = 1, chars = \"\\u0004\" } }",
        "{ say = 'done' }",
    ];
    let stage = Stage::new(&play(&steps)).await;
    std::fs::write(stage.cwd().join("dot.png"), DOT).unwrap();
    let mut actor = stage.start().await;
    let tags = [
        "exec_command_begin",
        "exec_command_output_delta",
        "exec_command_end",
        "plan_update",
        "patch_apply_begin",
        "patch_apply_end",
        "turn_diff",
        "view_image_tool_call",
        "terminal_interaction",
        "task_complete",
    ];
    told(&mut actor, GO, &tags).await;
    kept(&stage, actor).await;
}

/// A picture of one point.
const DOT: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 0, 0, 0, 0, 0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0, 10, b'I', b'D', b'A', b'T',
    0x78, 0x9c, 0x63, 0x60, 0, 0, 0, 2, 0, 1, 0x48, 0xaf, 0xa4, 0x71, 0, 0, 0, 0, b'I', b'E', b'N',
    b'D', 0xae, 0x42, 0x60, 0x82,
];

#[tokio::test]
async fn what_patches_come_to_is_one_diff() {
    let patch = |text: &str| format!("{{ custom = 'apply_patch', input = \"\"\"{text}\"\"\" }}");
    let steps = [
        patch("*** Begin Patch\n*** Add File: new\n+one\n*** Delete File: old\n*** End Patch"),
        patch("*** Begin Patch\n*** Update File: new\n@@\n-one\n+two\n*** End Patch"),
        "{ say = 'done' }".to_owned(),
    ];
    let stage = Stage::new(&play(&steps.each_ref().map(String::as_str))).await;
    stage.write("old", "line\n");
    let mut actor = stage.start().await;
    let msgs = told(&mut actor, GO, &["turn_diff", "task_complete"]).await;
    let diff = |msg: &EventMsg| match msg {
        EventMsg::TurnDiff { unified_diff } => Some(unified_diff.clone()),
        _ => None,
    };
    let diffs: Vec<String> = msgs.iter().filter_map(diff).collect();
    assert_eq!(diffs.len(), 2, "one after each patch");
    expect![[r#"
        diff --git a/new b/new
        new file mode 100644
        --- /dev/null
        +++ b/new
        @@ -0,0 +1 @@
        +two
        diff --git a/old b/old
        deleted file mode 100644
        --- a/old
        +++ /dev/null
        @@ -1 +0,0 @@
        -line
    "#]]
    .assert_eq(&diffs[1]);
    kept(&stage, actor).await;
}

#[tokio::test]
async fn approvals_are_asked_and_answered() {
    let steps = [
        "{ call = 'shell_command', call_id = 'c1', arguments = { command = 'touch made' } }",
        "{ custom = 'apply_patch', call_id = 'c2', input = \"*** Begin Patch\\n*** Add File: a\\n+a\\n*** End Patch\" }",
        "{ say = 'done' }",
    ];
    let stage = Stage::new(&play(&steps))
        .await
        .approval(ApprovalPolicy::Untrusted)
        .sandbox(SandboxPolicy::workspace_write());
    let mut actor = stage.start().await;
    told(&mut actor, GO, &["exec_approval_request"]).await;
    let op = r#"{"type":"exec_approval","id":"c1","decision":"approved"}"#;
    told(
        &mut actor,
        op,
        &["approval_resolved", "apply_patch_approval_request"],
    )
    .await;
    let op = r#"{"type":"patch_approval","id":"c2","decision":"denied"}"#;
    told(&mut actor, op, &["approval_resolved", "task_complete"]).await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn questions_are_put_and_answered() {
    let arguments =
        r#"{"questions":[{"id":"name","header":"Name","question":"What is it called?"}]}"#;
    let ask =
        format!("{{ call = 'request_user_input', call_id = 'q', arguments = '''{arguments}''' }}");
    let stage = Stage::new(&play(&[&ask, "{ say = 'done' }"])).await;
    let mut actor = stage.start().await;
    told(&mut actor, GO, &["request_user_input"]).await;
    let op = r#"{"type":"user_input_answer","id":"q","response":{"answers":{"name":{"selected":[],"other":"Bob"}}}}"#;
    told(&mut actor, op, &["user_input_resolved", "task_complete"]).await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn the_user_runs_a_command() {
    let stage = Stage::new(&play(&[])).await;
    let mut actor = stage.start().await;
    let op = r#"{"type":"run_user_shell_command","command":"echo mine"}"#;
    let tags = [
        "task_started",
        "exec_command_begin",
        "exec_command_end",
        "task_complete",
    ];
    told(&mut actor, op, &tags).await;
    kept(&stage, actor).await;
}
