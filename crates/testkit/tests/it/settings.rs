//! The settings of a turn: each is honoured, recorded, and there after a resume.

use expect_test::expect;
use serde_json::Value;
use troupe_engine::{SessionSetup, WindowSettings};
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::{ConfigureSession, Op};
use troupe_protocol::policy::{
    ApprovalPolicy, CollaborationMode, EffortChoice, Personality, ReasoningEffort,
    ReasoningSummary, SandboxPolicy,
};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::session::{TurnContext, TurnOverrides};
use troupe_protocol::{EventMsg, SessionId};
use troupe_store::LogPosition;
use troupe_testkit::{Actor, Stage};

const LOOK: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "pwd; touch made" } }]
[[scene.turn]]
steps = [{ say = "one" }]
[[scene.turn]]
steps = [{ say = "two" }]
"#;

/// Every setting, each different from the stage's own.
fn everything(stage: &Stage) -> TurnOverrides {
    let cwd = stage.cwd().join("inner");
    std::fs::create_dir_all(&cwd).expect("the stage is writable");
    TurnOverrides {
        cwd: Some(cwd),
        approval_policy: Some(ApprovalPolicy::OnRequest),
        sandbox_policy: Some(SandboxPolicy::read_only()),
        model: Some("scripted-2".to_owned()),
        effort: Some(EffortChoice::Level(ReasoningEffort::Low)),
        summary: Some(ReasoningSummary::Detailed),
        collaboration_mode: Some(CollaborationMode::Plan.into()),
        plan_writes: Some(true),
        personality: Some(Personality::Pragmatic),
        developer_instructions: Some("speak in verse".to_owned()),
    }
}

fn body(stage: &Stage, n: usize) -> Value {
    serde_json::from_slice(&stage.requests()[n].body).expect("a request is JSON")
}

/// Returns the settings as the rollout has them last.
async fn recorded(stage: &Stage, session: SessionId) -> TurnContext {
    let batch = stage.store().read_all(session, LogPosition(0)).await;
    let batch = batch.expect("the session has a log");
    let newest_first = batch.lines.iter().rev();
    let records = newest_first.filter_map(|line| line.record().ok());
    let mut contexts = records.filter_map(|line| match line.record {
        RolloutRecord::TurnContext(context) => Some(context),
        _ => None,
    });
    contexts
        .next()
        .expect("settings are recorded with the session")
}

fn configured(actor: &Actor) -> TurnContext {
    match &actor.seen()[0].msg {
        EventMsg::SessionConfigured(configured) => configured.context.clone(),
        other => panic!("a session is configured first: {other:?}"),
    }
}

fn overridden(context: &TurnContext) -> TurnOverrides {
    TurnOverrides {
        cwd: Some(context.cwd.clone()),
        approval_policy: Some(context.approval_policy),
        sandbox_policy: Some(context.sandbox_policy.clone()),
        model: Some(context.model.clone()),
        effort: Some(context.effort.into()),
        summary: Some(context.summary),
        collaboration_mode: Some(context.mode_choice()),
        plan_writes: Some(context.plan_writes),
        personality: context.personality,
        developer_instructions: context.developer_instructions.clone(),
    }
}

#[tokio::test]
async fn a_turn_runs_with_all_its_settings_and_so_do_those_after_it() {
    let stage = Stage::new(LOOK).await;
    let wanted = everything(&stage);
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor
        .submit(Op::UserTurn {
            items: vec![UserInput::text("look")],
            overrides: wanted.clone(),
            final_output_json_schema: None,
            last_response_id: None,
            client_id: None,
        })
        .await;
    actor.until_task_ends().await;
    let sent = body(&stage, 0);
    assert_eq!(sent["model"], "scripted-2");
    assert_eq!(sent["reasoning"]["effort"], "low");
    assert_eq!(sent["reasoning"]["summary"], "detailed");
    let input = sent["input"].to_string();
    assert!(input.contains("<sandbox_mode>read-only<"), "{input}");
    assert!(input.contains("<approval_policy>on-request<"), "{input}");
    assert!(input.contains("# Plan mode"), "{input}");
    assert!(input.contains("Be direct"), "{input}");
    // The command ran there, and could not write.
    let told = body(&stage, 1)["input"].to_string();
    assert!(told.contains("/work/inner"), "{told}");
    assert!(!stage.cwd().join("inner/made").exists(), "{told}");
    assert_eq!(overridden(&recorded(&stage, session).await), wanted);
    actor.shut_down().await;

    let mut actor = stage.resume(session).await;
    assert_eq!(overridden(&configured(&actor)), wanted);
    actor.turn("go on").await;
    assert_eq!(body(&stage, 2)["model"], "scripted-2");
}

#[tokio::test]
async fn settings_change_without_a_turn() {
    let stage = Stage::new(LOOK).await;
    let wanted = everything(&stage);
    let mut actor = stage.start().await;
    let session = actor.session_id();
    let overrides = wanted.clone();
    actor.submit(Op::OverrideTurnContext { overrides }).await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::TurnContextUpdated(_)))
        .await;
    let Some(EventMsg::TurnContextUpdated(context)) = msgs.last() else {
        panic!("until returns what it waited for");
    };
    assert_eq!(overridden(context), wanted);
    assert_eq!(recorded(&stage, session).await, *context);
    actor.shut_down().await;
    let actor = stage.resume(session).await;
    assert_eq!(overridden(&configured(&actor)), wanted);
}

/// Opens a session with a model that the catalogue knows.
fn with_model(model: &'static str, effort: Option<ReasoningEffort>) -> impl Fn(&mut SessionSetup) {
    move |setup: &mut SessionSetup| {
        model.clone_into(&mut setup.context.model);
        setup.context.effort = effort;
        setup.window = WindowSettings::default();
    }
}

async fn refusal(actor: &mut Actor, op: Op) -> String {
    actor.submit(op).await;
    let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    let Some(EventMsg::Error(error)) = msgs.last() else {
        panic!("until returns what it waited for");
    };
    assert!(!error.fatal);
    assert_eq!(error.error_info, Some(ErrorInfo::InvalidSubmission));
    error.message.clone()
}

#[tokio::test]
async fn an_effort_that_the_model_does_not_take_is_refused_by_name() {
    let stage = Stage::new(LOOK).await.adjusting(with_model("gpt-5", None));
    let mut actor = stage.start().await;
    let change = |overrides| Op::OverrideTurnContext { overrides };
    let message = refusal(
        &mut actor,
        change(TurnOverrides {
            effort: Some(EffortChoice::Level(ReasoningEffort::Xhigh)),
            ..TurnOverrides::default()
        }),
    )
    .await;
    expect!["gpt-5 does not take the effort xhigh; it takes minimal, low, medium, high"]
        .assert_eq(&message);
    let message = refusal(
        &mut actor,
        change(TurnOverrides {
            model: Some("gpt-4.1".to_owned()),
            effort: Some(EffortChoice::Level(ReasoningEffort::Low)),
            ..TurnOverrides::default()
        }),
    )
    .await;
    expect!["gpt-4.1 does not reason, so it takes no effort such as low"].assert_eq(&message);
    let message = refusal(
        &mut actor,
        Op::UserTurn {
            items: vec![UserInput::text("hi")],
            overrides: TurnOverrides {
                model: Some(" ".to_owned()),
                ..TurnOverrides::default()
            },
            final_output_json_schema: None,
            last_response_id: None,
            client_id: None,
        },
    )
    .await;
    expect!["the model's name is empty; list_models tells which there are"].assert_eq(&message);
    assert_eq!(stage.requests().len(), 0);
}

#[tokio::test]
async fn a_session_is_not_opened_with_an_effort_that_its_model_does_not_take() {
    let stage = Stage::new(LOOK).await.adjusting(with_model("gpt-5", None));
    let mut actor = stage.enter();
    let request = ConfigureSession {
        overrides: TurnOverrides {
            effort: Some(EffortChoice::Level(ReasoningEffort::Ultra)),
            ..TurnOverrides::default()
        },
        ..ConfigureSession::default()
    };
    let message = refusal(&mut actor, Op::ConfigureSession(request)).await;
    assert!(message.contains("it takes minimal, low"), "{message}");
}

#[tokio::test]
async fn an_effort_from_before_a_change_of_the_model_is_left_out_and_told() {
    let stage = Stage::new(LOOK)
        .await
        .adjusting(with_model("gpt-5.2", Some(ReasoningEffort::Xhigh)));
    let mut actor = stage.start().await;
    actor
        .submit(Op::UserTurn {
            items: vec![UserInput::text("hi")],
            overrides: TurnOverrides {
                model: Some("gpt-5".to_owned()),
                ..TurnOverrides::default()
            },
            final_output_json_schema: None,
            last_response_id: None,
            client_id: None,
        })
        .await;
    let msgs = actor.until_task_ends().await;
    let warning = msgs.iter().find_map(|msg| match msg {
        EventMsg::Warning { message } => Some(message.as_str()),
        _ => None,
    });
    expect!["gpt-5 does not take the effort xhigh; it takes minimal, low, medium, high; the effort that this session has is not sent"]
        .assert_eq(warning.unwrap_or_default());
    assert_eq!(body(&stage, 0)["reasoning"]["effort"], Value::Null);
}

#[tokio::test]
async fn an_effort_can_be_taken_back() {
    let stage = Stage::new(LOOK).await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    let effort = async |actor: &mut Actor, op: &str| {
        actor.submit_json(op).await;
        let is_it = |msg: &EventMsg| matches!(msg, EventMsg::TurnContextUpdated(_));
        match actor.until(is_it).await.pop() {
            Some(EventMsg::TurnContextUpdated(context)) => context.effort,
            other => panic!("until returns what it waited for: {other:?}"),
        }
    };
    let set = r#"{"type":"override_turn_context","effort":"low"}"#;
    assert_eq!(effort(&mut actor, set).await, Some(ReasoningEffort::Low));
    let other = r#"{"type":"override_turn_context","summary":"none"}"#;
    assert_eq!(effort(&mut actor, other).await, Some(ReasoningEffort::Low));
    let back = r#"{"type":"override_turn_context","effort":null}"#;
    assert_eq!(effort(&mut actor, back).await, None);
    assert_eq!(recorded(&stage, session).await.effort, None);
}
