//! Questions of the model's to the user, from the root and from children.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use troupe_agents::Family;
use troupe_agents::tree_access::{AgentView, TreeStopRequest};
use troupe_process::{Launcher, LauncherOptions};
use troupe_protocol::agent::WaitingOn;
use troupe_protocol::approval::{ReviewDecision, UserInputRequest, UserInputResponse};
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{AbortReason, ErrorEvent};
use troupe_protocol::op::Op;
use troupe_protocol::{EventMsg, StopVerb};
use troupe_testkit::{Actor, Stage};
use troupe_tools::rules::RuleSource;
use troupe_tools::{EnvironmentPolicy, ToolDeps, Toolbox};
use troupe_tree::command::StopMode;
use troupe_tree::status::CurrentStatus;

use super::agents::play::scene;

const NOBODY: &str = r#"{"answers":{},"reason":"nobody is there who could answer"#;

fn ask() -> String {
    let options = json!([
        {"value": "red", "label": "Red (Recommended)", "description": "Warm."},
        {"value": "blue", "label": "Blue", "description": "Cold."},
    ]);
    let questions = json!([
        {"id": "colour", "header": "Colour", "question": "Which one?", "options": options},
        {"id": "name", "header": "Name", "question": "What is it called?"},
    ]);
    call("request_user_input", &json!({ "questions": questions }))
}

fn call(tool: &str, arguments: &Value) -> String {
    format!("{{ call = '{tool}', call_id = '{tool}', arguments = '''{arguments}''' }}")
}

async fn stage() -> Stage {
    Stage::new(&scene("", &[&ask(), "{ say = 'ok' }", "{ say = 'again' }"])).await
}

/// Waits for questions.
async fn asked(actor: &mut Actor) -> UserInputRequest {
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::RequestUserInput(_)))
        .await;
    match msgs.into_iter().next_back() {
        Some(EventMsg::RequestUserInput(request)) => request,
        other => panic!("until returns what it waited for: {other:?}"),
    }
}

async fn answer(actor: &mut Actor, id: &str, answers: Value) {
    let response = json!({ "answers": answers });
    let response = serde_json::from_value(response).expect("the answers are well-formed");
    let id = id.to_owned();
    actor.submit(Op::UserInputAnswer { id, response }).await;
}

async fn refused(actor: &mut Actor) -> ErrorEvent {
    let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    match msgs.into_iter().next_back() {
        Some(EventMsg::Error(error)) => error,
        other => panic!("until returns what it waited for: {other:?}"),
    }
}

/// Returns how questions ended, by the id they were asked under.
fn resolved(msgs: &[EventMsg]) -> Vec<(String, Option<UserInputResponse>)> {
    let ends = msgs.iter().filter_map(|msg| match msg {
        EventMsg::UserInputResolved { call_id, response } => {
            Some((call_id.to_string(), response.clone()))
        }
        _ => None,
    });
    ends.collect()
}

/// Returns the answers of tools that a model was sent which heard `prompt`.
fn told(stage: &Stage, prompt: &str) -> Vec<String> {
    let bodies = stage.requests().into_iter().filter_map(|request| {
        let body: Value = serde_json::from_slice(&request.body).expect("a request is JSON");
        let items = body["input"].as_array()?.iter();
        let mut said = items.filter(|item| item["role"] == "user");
        let heard = said.any(|item| item["content"][0]["text"] == prompt);
        heard.then_some(body)
    });
    let last = bodies.last().expect("the model was asked");
    let items = last["input"].as_array().expect("a request has an input");
    let outputs = items
        .iter()
        .filter(|item| item["type"] == "function_call_output");
    outputs
        .map(|item| item["output"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test]
async fn an_answer_reaches_the_model() {
    let stage = stage().await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    let request = asked(&mut actor).await;
    let ids: Vec<&str> = request
        .questions
        .iter()
        .map(|one| one.id.as_str())
        .collect();
    assert_eq!(ids, ["colour", "name"]);
    assert_eq!(request.agent, None);
    let answers =
        json!({"colour": {"selected": ["blue"]}, "name": {"selected": [], "other": "sky"}});
    answer(&mut actor, "request_user_input", answers.clone()).await;
    let msgs = actor.until_task_ends().await;
    assert!(matches!(msgs.last(), Some(EventMsg::TurnComplete(_))));
    assert_eq!(resolved(&msgs).len(), 1, "{msgs:#?}");
    let told: Value = serde_json::from_str(&told(&stage, "go")[0]).unwrap();
    assert_eq!(told, json!({ "answers": answers }));
}

#[tokio::test]
async fn an_answer_without_answers_is_told_as_such() {
    let stage = stage().await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    asked(&mut actor).await;
    answer(&mut actor, "request_user_input", json!({})).await;
    actor.until_task_ends().await;
    let told = &told(&stage, "go")[0];
    assert!(
        told.starts_with(r#"{"answers":{},"reason":"no answer was given"#),
        "{told}"
    );
}

#[tokio::test]
async fn an_answer_to_nothing_is_an_error() {
    let stage = stage().await;
    let mut actor = stage.start().await;
    answer(&mut actor, "call_nobody", json!({})).await;
    let error = refused(&mut actor).await;
    assert!(error.message.contains("call_nobody"), "{}", error.message);
    assert_eq!(error.error_info, Some(ErrorInfo::NotFound));
}

#[tokio::test]
async fn an_answer_that_does_not_fit_leaves_the_question_open() {
    let stage = stage().await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    let id = asked(&mut actor).await.call_id.to_string();
    answer(&mut actor, &id, json!({"colour": {"selected": ["mauve"]}})).await;
    let error = refused(&mut actor).await;
    assert!(
        error.message.contains("the options are: red, blue"),
        "{}",
        error.message
    );
    assert_eq!(error.error_info, Some(ErrorInfo::InvalidSubmission));
    let decision = ReviewDecision::Approved;
    actor
        .submit(Op::ExecApproval {
            id: id.clone(),
            decision,
        })
        .await;
    let error = refused(&mut actor).await;
    assert!(
        error.message.contains("user_input_answer"),
        "{}",
        error.message
    );
    answer(&mut actor, &id, json!({"colour": {"selected": ["red"]}})).await;
    let msgs = actor.until_task_ends().await;
    assert!(matches!(msgs.last(), Some(EventMsg::TurnComplete(_))));
    answer(&mut actor, &id, json!({})).await;
    assert_eq!(
        refused(&mut actor).await.error_info,
        Some(ErrorInfo::NotFound)
    );
}

#[tokio::test]
async fn an_interrupt_withdraws_the_question() {
    let stage = stage().await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    let id = asked(&mut actor).await.call_id.to_string();
    actor.submit(Op::Interrupt).await;
    let msgs = actor.until_task_ends().await;
    assert_eq!(resolved(&msgs), [(id, None)]);
    assert!(matches!(msgs.last(), Some(EventMsg::TurnAborted(_))));
    actor.turn("and now").await;
    let told = &told(&stage, "go")[0];
    assert!(told.contains("withdrawn"), "{told}");
}

#[tokio::test]
async fn new_input_takes_the_place_of_the_question() {
    let stage = stage().await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    let id = asked(&mut actor).await.call_id.to_string();
    actor.say("never mind").await;
    let msgs = actor.until_task_ends().await;
    assert_eq!(resolved(&msgs), [(id, None)]);
    let Some(EventMsg::TurnAborted(aborted)) = msgs.last() else {
        panic!("the task is replaced: {msgs:#?}");
    };
    assert_eq!(aborted.reason, AbortReason::Replaced);
    actor.until_task_ends().await;
}

#[tokio::test]
async fn other_calls_go_on_while_a_question_is_open() {
    let look = call("shell_command", &json!({"command": "touch seen"}));
    let both = format!("{}, {look}", ask());
    let stage = Stage::new(&scene("", &[&both, "{ say = 'ok' }"])).await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    let id = asked(&mut actor).await.call_id.to_string();
    actor
        .until(|msg| matches!(msg, EventMsg::ExecCommandEnd(_)))
        .await;
    assert!(stage.cwd().join("seen").exists());
    answer(&mut actor, &id, json!({})).await;
    actor.until_task_ends().await;
    assert_eq!(told(&stage, "go").len(), 2);
}

#[tokio::test]
async fn questions_that_nobody_could_be_shown_are_sent_back() {
    let question = json!({"id": "a", "header": "thirteen here", "question": "Which?"});
    let wrong = call("request_user_input", &json!({"questions": [question]}));
    let stage = Stage::new(&scene("", &[&wrong, "{ say = 'ok' }"])).await;
    let mut actor = stage.start().await;
    let msgs = actor.turn("go").await;
    let shown = msgs
        .iter()
        .any(|msg| matches!(msg, EventMsg::RequestUserInput(_)));
    assert!(!shown, "{msgs:#?}");
    assert_eq!(
        told(&stage, "go"),
        ["request_user_input: questions[0].header has 13 characters; use at most 12"]
    );
}

#[tokio::test]
async fn when_nobody_is_left_the_model_is_told_and_finishes() {
    let stage = stage().await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    let id = asked(&mut actor).await.call_id.to_string();
    let msgs = actor.finish().await;
    assert_eq!(resolved(&msgs), [(id, None)]);
    let complete = |msg: &EventMsg| matches!(msg, EventMsg::TurnComplete(_));
    assert!(msgs.iter().any(complete), "{msgs:#?}");
    let told = &told(&stage, "go")[0];
    assert!(told.starts_with(NOBODY), "{told}");
}

#[tokio::test]
async fn a_question_that_is_not_answered_in_time_is_withdrawn() {
    let stage = stage().await.adjusting(|setup| {
        let toolbox = Toolbox::new(ToolDeps {
            launcher: Launcher::new(LauncherOptions::default()),
            environment: EnvironmentPolicy::default(),
            inherited: BTreeMap::new(),
            secrets: Vec::new(),
            troupe_home: None,
            rules: RuleSource::default(),
        });
        let soon = Some(Duration::from_secs(1));
        setup.tools = toolbox.with_answer_time_max(soon).registry();
    });
    let mut actor = stage.start().await;
    let msgs = actor.turn("go").await;
    assert_eq!(
        resolved(&msgs),
        [("request_user_input".to_owned(), None)],
        "{msgs:#?}"
    );
    assert!(matches!(msgs.last(), Some(EventMsg::TurnComplete(_))));
    let told = &told(&stage, "go")[0];
    assert!(
        told.starts_with(r#"{"answers":{},"reason":"no answer came within 1 s"#),
        "{told}"
    );
}

#[tokio::test]
async fn a_question_that_was_open_at_a_crash_is_answered_as_aborted() {
    let stage = stage().await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    asked(&mut actor).await;
    let session = actor.session_id();
    let path = rollout_path(&actor);
    let last = actor.shut_down().await;
    assert_eq!(
        resolved(&last).len(),
        1,
        "a shutdown withdraws it: {last:#?}"
    );
    let text = std::fs::read_to_string(&path).unwrap();
    let withdrawn = text.find("\"type\":\"user_input_resolved\"").unwrap();
    let end = text[..withdrawn].rfind('\n').unwrap() + 1;
    std::fs::write(&path, &text[..end]).unwrap();

    let mut actor = stage.resume(session).await;
    actor.turn("go on").await;
    let told = &told(&stage, "go")[0];
    assert!(told.starts_with("aborted: the engine stopped"), "{told}");
}

fn rollout_path(actor: &Actor) -> PathBuf {
    let mut events = actor.seen().iter();
    let path = events.find_map(|event| match &event.msg {
        EventMsg::SessionConfigured(configured) => configured.rollout_path.clone(),
        _ => None,
    });
    path.expect("the session is on disk")
}

/// A root whose child has a child that asks.
async fn deep_stage(approvals: &str) -> Stage {
    let spawn = |name: &str, message: &str, approvals: &str| {
        let arguments = json!({"message": message, "task_name": name, "approvals": approvals});
        call("spawn_agent", &arguments)
    };
    let wait = |name: &str| call("wait", &json!({"ids": [name]}));
    let inner = scene("ask the user", &[&ask(), "{ say = 'asked' }"]);
    let outer = scene(
        "have a child",
        &[
            &spawn("inner", "ask the user", approvals),
            &wait("inner"),
            "{ say = 'had' }",
        ],
    );
    let root = scene(
        "curtain up",
        &[
            &spawn("outer", "have a child", "route"),
            &wait("outer"),
            "{ say = 'done' }",
            "{ say = 'noted' }",
        ],
    );
    let stage = Stage::new(&format!("{inner}{outer}{root}")).await;
    stage.with_agents(&[Family::Agents])
}

async fn inner(actor: &Actor) -> AgentView {
    let desk = actor.agents().user();
    desk.view("/root/outer/inner")
        .await
        .expect("the agent is there")
}

async fn end(actor: Actor) {
    actor.agents().wait_until_idle().await;
    actor.shut_down().await;
}

#[tokio::test]
async fn a_question_from_two_deep_is_answered_at_the_root() {
    let stage = deep_stage("route").await;
    let mut actor = stage.start().await;
    actor.say("curtain up").await;
    let request = asked(&mut actor).await;
    let label = request.agent.clone().expect("it is not the root's own");
    assert_eq!(label.path, "/root/outer/inner");
    assert_eq!(request.call_id.0, "/root/outer/inner#request_user_input");
    let waiting = CurrentStatus::Waiting {
        on: WaitingOn::User,
    };
    assert_eq!(inner(&actor).await.status, waiting);

    let id = request.call_id.to_string();
    answer(&mut actor, &id, json!({"size": {"other": "big"}})).await;
    let error = refused(&mut actor).await;
    assert!(
        error.message.contains("there is no question \"size\""),
        "{}",
        error.message
    );
    answer(&mut actor, &id, json!({"name": {"other": "sky"}})).await;
    let msgs = actor.until_task_ends().await;
    let ends = resolved(&msgs);
    assert_eq!(ends.len(), 1, "{msgs:#?}");
    assert_eq!(ends[0].0, id);
    assert_eq!(
        told(&stage, "ask the user"),
        [r#"{"answers":{"name":{"selected":[],"other":"sky"}}}"#]
    );
    end(actor).await;
}

#[tokio::test]
async fn a_child_that_may_ask_nobody_is_told_so() {
    let stage = deep_stage("never").await;
    let mut actor = stage.start().await;
    let msgs = actor.turn("curtain up").await;
    let shown = |msg: &EventMsg| matches!(msg, EventMsg::RequestUserInput(_));
    assert!(!msgs.iter().any(shown), "{msgs:#?}");
    let told = &told(&stage, "ask the user")[0];
    assert!(told.starts_with(NOBODY), "{told}");
    end(actor).await;
}

#[tokio::test]
async fn when_nobody_is_left_a_childs_question_is_not_waited_for() {
    let stage = deep_stage("route").await;
    let mut actor = stage.start().await;
    actor.say("curtain up").await;
    let id = asked(&mut actor).await.call_id.to_string();
    let msgs = actor.finish().await;
    assert_eq!(resolved(&msgs), [(id, None)]);
    let told = &told(&stage, "ask the user")[0];
    assert!(told.starts_with(NOBODY), "{told}");
}

#[tokio::test]
async fn a_child_that_is_stopped_withdraws_its_question_at_the_root() {
    let stage = deep_stage("route").await;
    let mut actor = stage.start().await;
    actor.say("curtain up").await;
    let id = asked(&mut actor).await.call_id.to_string();
    let desk = actor.agents().user();
    let request = TreeStopRequest {
        verb: StopVerb::Interrupt,
        targets: vec!["/root/outer/inner".to_owned()],
        mode: StopMode::Act,
        note: None,
    };
    desk.stop(request).await.unwrap();
    let msgs = actor.until_task_ends().await;
    assert_eq!(resolved(&msgs), [(id, None)]);
    end(actor).await;
}
