//! The two sequence diagrams of the protocol, event by event.

use expect_test::expect;
use troupe_protocol::EventMsg;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::Op;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_testkit::{Stage, line};

/// Leaves out what the diagrams call unimportant.
fn important(msgs: &[EventMsg]) -> String {
    let important = |msg: &&EventMsg| {
        matches!(
            msg,
            EventMsg::TurnStarted(_)
                | EventMsg::ExecApprovalRequest(_)
                | EventMsg::ExecCommandBegin(_)
                | EventMsg::ExecCommandEnd(_)
                | EventMsg::PatchApplyBegin { .. }
                | EventMsg::PatchApplyEnd { .. }
                | EventMsg::AgentMessage { .. }
                | EventMsg::ResponseCompleted { .. }
                | EventMsg::TurnComplete(_)
                | EventMsg::TurnAborted(_)
                | EventMsg::Error(_)
        )
    };
    let lines: Vec<String> = msgs.iter().filter(important).map(line).collect();
    lines.join("\n")
}

const BASIC: &str = r#"
[[scene]]
[[scene.turn]]
response_id = "resp_1"
steps = [{ call = "shell_command", arguments = { command = "touch made-by-command" } }]
[[scene.turn]]
response_id = "resp_2"
steps = [{ custom = "apply_patch", input = """
*** Begin Patch
*** Add File: note.txt
+hello
*** End Patch
""" }]
[[scene.turn]]
response_id = "resp_3"
steps = [{ say = "done" }]
"#;

#[tokio::test]
async fn a_basic_flow_with_an_approval() {
    let stage = Stage::new(BASIC)
        .await
        .approval(ApprovalPolicy::Untrusted)
        .sandbox(SandboxPolicy::workspace_write());
    let mut actor = stage.start().await;
    actor.say("make two files").await;
    let mut passed = actor
        .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
        .await;
    let Some(EventMsg::ExecApprovalRequest(request)) = passed.last() else {
        panic!("until returns the event it waited for");
    };
    assert!(!stage.cwd().join("made-by-command").exists());
    let id = request.call_id.to_string();
    actor
        .submit(Op::ExecApproval {
            id,
            decision: ReviewDecision::Approved,
        })
        .await;
    passed.extend(
        actor
            .until(|msg| matches!(msg, EventMsg::ApplyPatchApprovalRequest(_)))
            .await,
    );
    let Some(EventMsg::ApplyPatchApprovalRequest(request)) = passed.last() else {
        panic!("until returns the event it waited for");
    };
    let id = request.call_id.to_string();
    actor
        .submit(Op::PatchApproval {
            id,
            decision: ReviewDecision::ApprovedForSession,
        })
        .await;
    passed.extend(actor.until_task_ends().await);
    assert!(stage.cwd().join("made-by-command").exists());
    assert_eq!(stage.read("note.txt"), "hello\n");
    expect![[r#"
        task_started
        exec_approval_request ["/bin/bash", "-c", "touch made-by-command"]
        exec_command_begin ["/bin/bash", "-c", "touch made-by-command"]
        exec_command_end exit=Some(0) ""
        response_completed resp_1
        patch_apply_begin
        patch_apply_end
        response_completed resp_2
        agent_message "done"
        response_completed resp_3
        task_complete Some("resp_3") Some("done")"#]]
    .assert_eq(&important(&passed));
}

const INTERRUPTED: &str = r#"
[[scene]]
[[scene.turn]]
response_id = "resp_1"
steps = [{ call = "shell_command", arguments = { command = "echo first" } }]
[[scene.turn]]
response_id = "resp_2"
steps = [{ call = "shell_command", arguments = { command = "echo started; sleep 600" } }]
[[scene.turn]]
response_id = "resp_3"
steps = [{ call = "shell_command", arguments = { command = "echo second" } }]
[[scene.turn]]
response_id = "resp_4"
steps = [{ say = "finished" }]
"#;

#[tokio::test]
async fn an_interrupted_task_is_continued_from_its_bookmark() {
    let stage = Stage::new(INTERRUPTED).await;
    let mut actor = stage.start().await;
    actor.say("work").await;
    let mut passed = actor
        .until(|msg| matches!(msg, EventMsg::ResponseCompleted { .. }))
        .await;
    passed.extend(
        actor
            .until(|msg| matches!(msg, EventMsg::ExecCommandOutputDelta(_)))
            .await,
    );
    actor.submit(Op::Interrupt).await;
    passed.extend(actor.until_task_ends().await);
    actor
        .submit(Op::UserInput {
            items: vec![UserInput::text("go on")],
            final_output_json_schema: None,
            last_response_id: Some("resp_1".into()),
        })
        .await;
    passed.extend(actor.until_task_ends().await);
    expect![[r#"
        task_started
        exec_command_begin ["/bin/bash", "-c", "echo first"]
        exec_command_end exit=Some(0) "first\n"
        response_completed resp_1
        exec_command_begin ["/bin/bash", "-c", "echo started; sleep 600"]
        exec_command_end exit=Some(137) "started\n"
        error fatal=true interrupted
        turn_aborted Interrupted
        task_started
        exec_command_begin ["/bin/bash", "-c", "echo second"]
        exec_command_end exit=Some(0) "second\n"
        response_completed resp_3
        agent_message "finished"
        response_completed resp_4
        task_complete Some("resp_4") Some("finished")"#]]
    .assert_eq(&important(&passed));

    // What came after the bookmark is not sent again.
    let input = stage.input_of(2);
    let text = serde_json::to_string(&input).unwrap();
    assert!(
        text.contains("echo first") && !text.contains("sleep 600"),
        "{text}"
    );
}
