//! What a session of `create_session` is made of: its type, and the turn of its parent.

use serde_json::{Value, json};
use troupe_agents::Family;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::Op;
use troupe_protocol::policy::{ApprovalPolicy, EffortChoice, ReasoningEffort, SandboxPolicy};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::session::{TurnContext, TurnOverrides};
use troupe_testkit::{Actor, Stage};

use super::cast;
use super::play::{
    agent, agents, backgrounds, call, end, named, records, requests_of, role, scene, seen,
};

const PROVER: &str = "---
description: proves
model: scripted-2
reasoning_effort: high
---
You prove things.
";

/// A stage whose root creates one session of a type and waits for it.
async fn stage(children: &str, session_type: &str) -> Stage {
    let create = call(&(
        "create_session",
        json!({"session_type": session_type, "prompt": "errand"}),
    ));
    let id = "{{output.1.session_id}}";
    let wait = call(&(
        "wait_session",
        json!({"session_id": id, "timeout_ms": 20_000}),
    ));
    let root = [&*create, &wait, "{ say = 'done' }"];
    cast::stage(children, &root, &[Family::Sessions]).await
}

/// The first requests of the root and of its session.
async fn first_requests(stage: &Stage, actor: &Actor) -> [Value; 2] {
    let child = agent(actor, "1").await.session;
    [actor.session_id(), child].map(|session| requests_of(stage, session).remove(0))
}

#[tokio::test]
async fn a_type_decides_on_prompt_model_and_effort() {
    let stage = stage("", "prover").await;
    role(&stage, "prover", PROVER);
    let actor = cast::open(&stage).await;
    let [root, child] = first_requests(&stage, &actor).await;
    assert_eq!(root["model"], "scripted-1");
    assert_eq!(child["model"], "scripted-2");
    assert_eq!(child["reasoning"]["effort"], "high");
    let instructions = child["instructions"].as_str().expect("it is a text");
    assert!(instructions.contains("You prove things."), "{instructions}");
    let told = backgrounds(&seen(&actor)).remove(0);
    assert_eq!(
        named(&stage, &agents(&actor).await, &told),
        "spawned child session /root/prover with model scripted-2"
    );
    end(actor).await;
}

#[tokio::test]
async fn a_session_has_the_tools_of_its_parent() {
    let stage = stage("", "default").await;
    let actor = cast::open(&stage).await;
    let [root, child] = first_requests(&stage, &actor).await;
    assert!(root["tools"].to_string().contains("create_session"));
    assert_eq!(child["tools"], root["tools"]);
    end(actor).await;
}

/// The settings that a session's log begins with.
async fn recorded(stage: &Stage, actor: &Actor) -> TurnContext {
    let child = agent(actor, "1").await.session;
    let records = records(stage, child).await;
    let mut contexts = records.into_iter().filter_map(|record| match record {
        RolloutRecord::TurnContext(context) => Some(context),
        _ => None,
    });
    contexts.next().expect("settings are recorded")
}

#[tokio::test]
async fn a_session_is_made_as_the_turn_of_its_parent_is_and_asks_nobody() {
    let touch = call(&("shell_command", json!({"command": "pwd; touch made"})));
    let children = scene("errand", &[&touch, "{ say = 'tried' }"]);
    let stage = stage(&children, "default")
        .await
        .approval(ApprovalPolicy::OnRequest);
    let inner = stage.cwd().join("inner");
    std::fs::create_dir_all(&inner).expect("the stage is writable");
    let mut actor = stage.start().await;
    actor
        .submit(Op::UserTurn {
            items: vec![UserInput::text(cast::OPENING)],
            overrides: TurnOverrides {
                cwd: Some(inner.clone()),
                sandbox_policy: Some(SandboxPolicy::read_only()),
                model: Some("scripted-2".to_owned()),
                effort: Some(EffortChoice::Level(ReasoningEffort::Low)),
                ..TurnOverrides::default()
            },
            final_output_json_schema: None,
            last_response_id: None,
            client_id: None,
        })
        .await;
    actor.until_task_ends().await;
    let [_, child] = first_requests(&stage, &actor).await;
    assert_eq!(child["model"], "scripted-2");
    assert_eq!(child["reasoning"]["effort"], "low");
    let context = recorded(&stage, &actor).await;
    assert_eq!(context.cwd, inner);
    assert_eq!(context.sandbox_policy, SandboxPolicy::read_only());
    assert_eq!(context.model, "scripted-2");
    assert_eq!(context.effort, Some(ReasoningEffort::Low));
    assert_eq!(context.approval_policy, ApprovalPolicy::Never);
    assert!(!inner.join("made").exists());
    end(actor).await;
}
