//! The user's rules, and the way out of the sandbox, through a whole session.

use troupe_protocol::EventMsg;
use troupe_protocol::approval::{ExecApprovalRequest, ReviewDecision};
use troupe_protocol::op::Op;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_testkit::{Actor, Stage};

/// A model that runs one script in each of two turns.
fn screenplay(script: &str) -> String {
    let turn = format!(
        "[[scene.turn]]\nsteps = [{{ call = \"shell_command\", arguments = {{ command = {script:?} }} }}]\n"
    );
    format!("[[scene]]\n{turn}{turn}[[scene.turn]]\nsteps = [{{ say = \"ok\" }}]\n")
}

async fn stage(script: &str, policy: ApprovalPolicy) -> Stage {
    let workspace_only = SandboxPolicy::WorkspaceWrite {
        writable_roots: Vec::new(),
        network_access: false,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    };
    let stage = Stage::new(&screenplay(script)).await;
    std::fs::create_dir_all(stage.home()).expect("the stage is writable");
    stage.approval(policy).sandbox(workspace_only)
}

/// Waits for a question and answers it.
async fn answer(actor: &mut Actor, decision: ReviewDecision) -> ExecApprovalRequest {
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
        .await;
    let Some(EventMsg::ExecApprovalRequest(request)) = msgs.into_iter().next_back() else {
        panic!("until returns the event it waited for");
    };
    let id = request.call_id.to_string();
    actor.submit(Op::ExecApproval { id, decision }).await;
    request
}

fn count(actor: &Actor, is_it: impl Fn(&EventMsg) -> bool) -> usize {
    actor
        .seen()
        .iter()
        .filter(|event| is_it(&event.msg))
        .count()
}

fn questions(actor: &Actor) -> usize {
    count(actor, |msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
}

/// What the model was told about the call of its first turn.
fn told(stage: &Stage) -> String {
    let input = stage.input_of(1);
    let output = input
        .iter()
        .find(|item| item["type"] == "function_call_output");
    output.expect("the call was answered")["output"].to_string()
}

#[tokio::test]
async fn what_the_sandbox_stopped_runs_outside_once_the_user_agrees() {
    // The home lies beside the working directory, outside of the sandbox.
    let stage = stage("touch ../home/made", ApprovalPolicy::OnFailure).await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    let request = answer(&mut actor, ReviewDecision::Approved).await;
    let reason = request.reason.unwrap();
    assert!(
        reason.starts_with("the sandbox stopped it (write to "),
        "{reason}"
    );
    assert!(reason.contains("home/made"), "{reason}");
    // One word holds once.
    answer(&mut actor, ReviewDecision::Denied).await;
    actor.until_task_ends().await;
    assert!(stage.home().join("made").exists());
    assert!(
        told(&stage).starts_with("\"Exit code: 0"),
        "{}",
        told(&stage)
    );
}

#[tokio::test]
async fn what_is_forbidden_is_told_to_the_model_and_nothing_runs() {
    let stage = stage("touch made", ApprovalPolicy::OnRequest).await;
    let rules = "[[rule]]\nprefix = ['touch']\ndecision = 'forbid'\nreason = 'no new files'\n";
    std::fs::write(stage.home().join("rules.toml"), rules).unwrap();
    let mut actor = stage.start().await;
    actor.turn("go").await;
    assert_eq!(questions(&actor), 0);
    assert!(!stage.cwd().join("made").exists());
    let told = told(&stage);
    assert!(
        told.contains("no new files) forbids this command"),
        "{told}"
    );
}

#[tokio::test]
async fn always_is_remembered_in_the_file() {
    let stage = stage("touch made", ApprovalPolicy::Untrusted).await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    let request = answer(&mut actor, ReviewDecision::ApprovedAlways).await;
    assert!(
        request
            .available_decisions
            .contains(&ReviewDecision::ApprovedAlways)
    );
    actor.until_task_ends().await;
    assert_eq!(questions(&actor), 1, "the second turn is not asked for");
    let file = std::fs::read_to_string(stage.home().join("rules.toml")).unwrap();
    assert_eq!(
        file,
        "[[rule]]\nprefix = [\"touch\", \"made\"]\ndecision = \"allow\"\n"
    );
}

#[tokio::test]
async fn a_project_cannot_allow_itself_anything() {
    let stage = stage("touch made", ApprovalPolicy::Untrusted).await;
    std::fs::create_dir(stage.cwd().join(".troupe")).unwrap();
    let rules = "[[rule]]\nprefix = ['touch']\ndecision = 'allow'\n";
    stage.write(".troupe/rules.toml", rules);
    let mut actor = stage.start().await;
    actor.say("go").await;
    answer(&mut actor, ReviewDecision::Denied).await;
    answer(&mut actor, ReviewDecision::Denied).await;
    actor.until_task_ends().await;
    assert!(!stage.cwd().join("made").exists());
    let ignored = |msg: &EventMsg| matches!(msg, EventMsg::Warning { message } if message.contains("is ignored"));
    assert_eq!(count(&actor, ignored), 1);
}
