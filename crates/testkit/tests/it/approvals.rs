//! Questions to the user, and what becomes of the answers.

use troupe_protocol::EventMsg;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::event::AbortReason;
use troupe_protocol::op::Op;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_testkit::{Actor, Stage};

const TWICE: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch made" } }]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch made" } }]
[[scene.turn]]
steps = [{ say = "ok" }]
"#;

async fn stage() -> Stage {
    Stage::new(TWICE)
        .await
        .approval(ApprovalPolicy::Untrusted)
        .sandbox(SandboxPolicy::workspace_write())
}

/// Waits for a question and answers it.
async fn answer(actor: &mut Actor, decision: ReviewDecision) {
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
        .await;
    let Some(EventMsg::ExecApprovalRequest(request)) = msgs.last() else {
        panic!("until returns the event it waited for");
    };
    let id = request.call_id.to_string();
    actor.submit(Op::ExecApproval { id, decision }).await;
}

fn questions(actor: &Actor) -> usize {
    let is_question = |msg: &EventMsg| matches!(msg, EventMsg::ExecApprovalRequest(_));
    let seen = actor.seen().iter();
    seen.filter(|event| is_question(&event.msg)).count()
}

#[tokio::test]
async fn approved_once_is_asked_again() {
    let stage = stage().await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    answer(&mut actor, ReviewDecision::Approved).await;
    answer(&mut actor, ReviewDecision::Approved).await;
    actor.until_task_ends().await;
    assert!(
        stage.cwd().join("made").exists(),
        "{:#?}",
        stage.input_of(1)
    );
}

#[tokio::test]
async fn approved_for_the_session_is_not_asked_again() {
    let stage = stage().await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    answer(&mut actor, ReviewDecision::ApprovedForSession).await;
    actor.until_task_ends().await;
    assert_eq!(questions(&actor), 1);
}

#[tokio::test]
async fn a_denial_is_told_to_the_model_and_the_task_goes_on() {
    let stage = stage().await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    answer(&mut actor, ReviewDecision::Denied).await;
    answer(&mut actor, ReviewDecision::Denied).await;
    let msgs = actor.until_task_ends().await;
    assert!(matches!(msgs.last(), Some(EventMsg::TurnComplete(_))));
    assert!(!stage.cwd().join("made").exists());
    let input = serde_json::to_string(&stage.input_of(1)).unwrap();
    assert!(input.contains("not approved"), "{input}");
}

#[tokio::test]
async fn an_abort_ends_the_task() {
    let stage = stage().await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    answer(&mut actor, ReviewDecision::Abort).await;
    let msgs = actor.until_task_ends().await;
    let Some(EventMsg::TurnAborted(aborted)) = msgs.last() else {
        panic!("the task is aborted: {msgs:?}");
    };
    assert_eq!(aborted.reason, AbortReason::Interrupted);
    assert!(!stage.cwd().join("made").exists());
}

/// The model is told what happened: nobody refused anything.
#[tokio::test]
async fn an_end_of_the_task_is_not_told_as_a_refusal() {
    for op in [None, Some(Op::Interrupt)] {
        let stage = stage().await;
        let mut actor = stage.start().await;
        actor.say("go").await;
        match op {
            None => answer(&mut actor, ReviewDecision::Abort).await,
            Some(op) => {
                actor
                    .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
                    .await;
                actor.submit(op).await;
            }
        }
        actor.until_task_ends().await;
        actor.say("and now?").await;
        actor
            .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
            .await;
        let input = serde_json::to_string(&stage.input_of(1)).unwrap();
        assert!(!input.contains("not approved"), "{input}");
        // Nor did it run.
        assert!(input.contains("aborted before it was run"), "{input}");
        assert!(input.contains("The user interrupted"), "{input}");
    }
}

#[tokio::test]
async fn an_answer_that_nobody_waits_for_is_an_error() {
    let stage = stage().await;
    let mut actor = stage.start().await;
    actor
        .submit(Op::ExecApproval {
            id: "call_nobody".to_owned(),
            decision: ReviewDecision::Approved,
        })
        .await;
    let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    let Some(EventMsg::Error(error)) = msgs.last() else {
        panic!("until returns the event it waited for");
    };
    assert!(error.message.contains("call_nobody"), "{}", error.message);
}

#[tokio::test]
async fn an_interrupt_withdraws_the_question() {
    let stage = stage().await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    actor
        .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
        .await;
    actor.submit(Op::Interrupt).await;
    let msgs = actor.until_task_ends().await;
    let resolved = msgs.iter().any(|msg| {
        matches!(
            msg,
            EventMsg::ApprovalResolved {
                decision: ReviewDecision::Abort,
                ..
            }
        )
    });
    assert!(resolved, "{msgs:?}");
    assert!(!stage.cwd().join("made").exists());
}

#[tokio::test]
async fn when_nobody_is_left_questions_are_refused_and_the_task_is_finished() {
    let stage = stage().await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    actor
        .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
        .await;
    let msgs = actor.finish().await;
    let refused = msgs.iter().filter(|msg| {
        matches!(
            msg,
            EventMsg::ApprovalResolved {
                decision: ReviewDecision::Denied,
                ..
            }
        )
    });
    assert_eq!(refused.count(), 2, "{msgs:?}");
    let complete = msgs
        .iter()
        .any(|msg| matches!(msg, EventMsg::TurnComplete(_)));
    assert!(complete, "{msgs:?}");
    assert!(!stage.cwd().join("made").exists());
}

const PLANTS_A_HOOK: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ custom = "apply_patch", input = "*** Begin Patch\n*** Add File: sub/.git/hooks/pre-commit\n+evil\n*** End Patch\n" }]
[[scene.turn]]
steps = [{ say = "ok" }]
"#;

/// Git runs what a repository inside another one is configured to run.
#[tokio::test]
async fn a_hook_of_a_repository_inside_is_not_written_without_approval() {
    for decision in [ReviewDecision::Denied, ReviewDecision::Approved] {
        let stage = Stage::new(PLANTS_A_HOOK).await;
        let stage = stage
            .approval(ApprovalPolicy::OnRequest)
            .sandbox(SandboxPolicy::workspace_write());
        let hook = stage.cwd().join("sub/.git/hooks/pre-commit");
        std::fs::create_dir_all(stage.cwd().join("sub/.git")).unwrap();
        let mut actor = stage.start().await;
        actor.say("go").await;
        let msgs = actor
            .until(|msg| matches!(msg, EventMsg::ApplyPatchApprovalRequest(_)))
            .await;
        let Some(EventMsg::ApplyPatchApprovalRequest(request)) = msgs.last() else {
            panic!("until returns the event it waited for");
        };
        assert!(!hook.exists());
        let id = request.call_id.to_string();
        let is_approved = decision == ReviewDecision::Approved;
        actor.submit(Op::PatchApproval { id, decision }).await;
        actor.until_task_ends().await;
        assert_eq!(hook.exists(), is_approved);
    }
}

#[tokio::test]
async fn an_exec_approval_approves_no_patch() {
    let stage = Stage::new(PLANTS_A_HOOK).await;
    let stage = stage
        .approval(ApprovalPolicy::OnRequest)
        .sandbox(SandboxPolicy::workspace_write());
    let hook = stage.cwd().join("sub/.git/hooks/pre-commit");
    std::fs::create_dir_all(stage.cwd().join("sub/.git")).unwrap();
    let mut actor = stage.start().await;
    actor.say("go").await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::ApplyPatchApprovalRequest(_)))
        .await;
    let Some(EventMsg::ApplyPatchApprovalRequest(request)) = msgs.last() else {
        panic!("until returns the event it waited for");
    };
    let (id, decision) = (request.call_id.to_string(), ReviewDecision::Approved);
    let exec = Op::ExecApproval {
        id: id.clone(),
        decision,
    };
    actor.submit(exec).await;
    let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    let Some(EventMsg::Error(error)) = msgs.last() else {
        panic!("until returns the event it waited for");
    };
    let message = &error.message;
    assert!(message.contains("send a patch_approval"), "{message}");
    assert!(!hook.exists());
    // It is still asked.
    actor.submit(Op::PatchApproval { id, decision }).await;
    actor.until_task_ends().await;
    assert!(hook.exists());
}

const WRITES_OUTSIDE: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch made", sandbox_permissions = "require_escalated", justification = "May I?" } }]
[[scene.turn]]
steps = [{ say = "ok" }]
"#;

#[tokio::test]
async fn a_patch_approval_approves_no_command() {
    let stage = Stage::new(WRITES_OUTSIDE).await;
    let stage = stage
        .approval(ApprovalPolicy::OnRequest)
        .sandbox(SandboxPolicy::workspace_write());
    let mut actor = stage.start().await;
    actor.say("go").await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
        .await;
    let Some(EventMsg::ExecApprovalRequest(request)) = msgs.last() else {
        panic!("until returns the event it waited for");
    };
    let (id, decision) = (request.call_id.to_string(), ReviewDecision::Approved);
    let patch = Op::PatchApproval {
        id: id.clone(),
        decision,
    };
    actor.submit(patch).await;
    let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    let Some(EventMsg::Error(error)) = msgs.last() else {
        panic!("until returns the event it waited for");
    };
    assert!(error.message.contains("exec_approval"), "{}", error.message);
    assert!(!stage.cwd().join("made").exists());
    // It is still asked.
    actor.submit(Op::ExecApproval { id, decision }).await;
    actor.until_task_ends().await;
    assert!(stage.cwd().join("made").exists());
}

#[tokio::test]
async fn a_command_whose_approval_is_withdrawn_never_began() {
    let stage = Stage::new(WRITES_OUTSIDE).await;
    let stage = stage
        .approval(ApprovalPolicy::OnRequest)
        .sandbox(SandboxPolicy::workspace_write());
    let mut actor = stage.start().await;
    actor.say("go").await;
    actor
        .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
        .await;
    actor.submit(Op::Interrupt).await;
    let msgs = actor.until_task_ends().await;
    let resolved = |msg: &EventMsg| {
        matches!(msg, EventMsg::ApprovalResolved { decision, .. }
            if *decision == ReviewDecision::Abort)
    };
    assert!(msgs.iter().any(resolved), "{msgs:?}");
    let began = actor.seen().iter().any(|event| {
        matches!(
            event.msg,
            EventMsg::ExecCommandBegin(_) | EventMsg::ExecCommandEnd(_)
        )
    });
    assert!(!began, "{:?}", actor.seen());
}
