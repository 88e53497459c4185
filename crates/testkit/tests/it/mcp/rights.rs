//! Who is asked before a server's tool is called.

use serde_json::{Value, json};
use troupe_protocol::EventMsg;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::command::WorkStatus;
use troupe_protocol::op::Op;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_testkit::Actor;

use super::{Works, call, calls, one_call, scene, status, told, works};

async fn held(screenplay: &str, keys: Value, policy: ApprovalPolicy) -> Works {
    let works = works(screenplay, keys).await;
    let stage = works.stage.sandbox(SandboxPolicy::read_only());
    Works {
        stage: stage.approval(policy),
        ..works
    }
}

/// Waits for the question, and says this to it.
async fn decide(actor: &mut Actor, decision: ReviewDecision) -> Vec<String> {
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
        .await;
    let Some(EventMsg::ExecApprovalRequest(request)) = msgs.last() else {
        panic!("until returns what it waited for");
    };
    let id = request.call_id.to_string();
    actor.submit(Op::ExecApproval { id, decision }).await;
    request.command.clone()
}

#[tokio::test]
async fn in_a_read_only_sandbox_what_only_reads_is_called_unasked() {
    let works = held(&one_call("look"), json!({}), ApprovalPolicy::Never).await;
    let msgs = works.stage.start().await.turn("go").await;
    assert_eq!(status(&msgs), WorkStatus::Completed);
}

#[tokio::test]
async fn in_a_read_only_sandbox_the_rest_is_refused_where_nobody_is_asked() {
    let works = held(&one_call("echo"), json!({}), ApprovalPolicy::Never).await;
    let msgs = works.stage.start().await.turn("go").await;
    assert_eq!(status(&msgs), WorkStatus::Declined);
    let told = &told(&works.stage)["echo"];
    assert!(
        told.contains("mcp_servers.ore.tools.echo.approval_mode"),
        "{told}"
    );
}

#[tokio::test]
async fn a_person_is_asked_and_may_say_no() {
    let works = held(&one_call("echo"), json!({}), ApprovalPolicy::OnRequest).await;
    let mut actor = works.stage.start().await;
    actor.say("go").await;
    let command = decide(&mut actor, ReviewDecision::Denied).await;
    assert_eq!(command, ["mcp__ore__echo", r#"{"text":"gold"}"#]);
    let msgs = actor.until_task_ends().await;
    assert_eq!(status(&msgs), WorkStatus::Declined);
    assert_eq!(
        told(&works.stage)["echo"],
        "not approved (the user said no, or nobody was there to ask)"
    );
}

#[tokio::test]
async fn a_yes_for_the_session_is_asked_for_once() {
    let echo = |id: &str| super::named("mcp__ore__echo", id, &json!({"text": id}));
    let play = scene("", &[&echo("one"), &echo("two"), "{ say = 'done' }"]);
    let works = held(&play, json!({}), ApprovalPolicy::OnRequest).await;
    let mut actor = works.stage.start().await;
    actor.say("go").await;
    decide(&mut actor, ReviewDecision::ApprovedForSession).await;
    let msgs = actor.until_task_ends().await;
    assert_eq!(calls(&msgs).len(), 2);
    let told = told(&works.stage);
    assert_eq!([&told["one"], &told["two"]], ["one", "two"]);
}

#[tokio::test]
async fn the_configuration_can_allow_a_tool_and_ask_for_another() {
    let keys = json!({
        "default_tools_approval_mode": "prompt", "tools": {"echo": {"approval_mode": "approve"}},
    });
    let play = scene(
        "",
        &[
            &call("echo", &json!({"text": "gold"})),
            &call("look", &json!({"text": "gold"})),
            "{ say = 'done' }",
        ],
    );
    let works = held(&play, keys, ApprovalPolicy::Never).await;
    works.stage.start().await.turn("go").await;
    let told = told(&works.stage);
    assert_eq!(told["echo"], "gold");
    assert!(
        told["look"].contains("needs a person's approval"),
        "{told:?}"
    );
}
