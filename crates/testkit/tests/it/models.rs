//! Which models there are, and what becomes of a turn with one that nobody knows.

use expect_test::expect;
use troupe_engine::{SessionSetup, WindowSettings};
use troupe_model::ProviderConfig;
use troupe_protocol::EventMsg;
use troupe_protocol::catalogue::{ModelList, ModelListSource};
use troupe_protocol::op::Op;
use troupe_protocol::rollout::RolloutRecord;
use troupe_store::LogPosition;
use troupe_testkit::{Actor, Stage, line};

const ANSWERS: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "one" }]
[[scene.turn]]
steps = [{ say = "two" }]
[[scene.turn]]
steps = [{ say = "three" }]
"#;

/// Returns the answers of a server that lists a model, and not how large its window is.
fn listing(model: &str) -> String {
    format!("[[model]]\nid = \"{model}\"\n{ANSWERS}")
}

fn with_model(model: &'static str) -> impl Fn(&mut SessionSetup) + Send + Sync {
    move |setup: &mut SessionSetup| {
        model.clone_into(&mut setup.context.model);
        setup.window = WindowSettings::default();
    }
}

async fn list(actor: &mut Actor, refresh: bool) -> ModelList {
    actor.submit(Op::ListModels { refresh }).await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::ListModelsResponse(_)))
        .await;
    match msgs.into_iter().last() {
        Some(EventMsg::ListModelsResponse(list)) => list,
        other => panic!("until returns what it waited for: {other:?}"),
    }
}

fn warnings(msgs: &[EventMsg]) -> Vec<&str> {
    msgs.iter()
        .filter_map(|msg| match msg {
            EventMsg::Warning { message } => Some(message.as_str()),
            _ => None,
        })
        .collect()
}

fn window(msgs: &[EventMsg]) -> Option<u64> {
    msgs.iter().find_map(|msg| match msg {
        EventMsg::TurnStarted(started) => started.model_context_window,
        _ => None,
    })
}

#[tokio::test]
async fn the_built_in_list_needs_nobody() {
    let stage = Stage::new(ANSWERS).await.adjusting(with_model("gpt-5.1"));
    let mut actor = stage.start().await;
    let session = actor.session_id();
    let built_in = list(&mut actor, false).await;
    assert_eq!(built_in.source, ModelListSource::BuiltIn);
    assert_eq!(built_in.note, None);
    let default: Vec<_> = built_in.models.iter().filter(|it| it.is_default).collect();
    assert_eq!(default.len(), 1, "{default:?}");
    expect![[r#"{"model":"gpt-5.1","is_default":true,"context_window":272000,"max_output":128000,"efforts":["none","low","medium","high"],"default_effort":"none","images":true}"#]]
        .assert_eq(&serde_json::to_string(default[0]).unwrap());
    assert_eq!(stage.requests().len(), 0);

    // An answer is an event like any other: who comes later reads it in the rollout.
    actor.shut_down().await;
    let batch = stage
        .store()
        .read_all(session, LogPosition(0))
        .await
        .unwrap();
    let mut records = batch.lines.iter().map(|line| line.record().unwrap().record);
    let told = records.find_map(|record| match record {
        RolloutRecord::EventMsg(event) => match event.msg {
            EventMsg::ListModelsResponse(list) => Some(list),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(told, Some(built_in));
}

#[tokio::test]
async fn the_provider_is_asked_when_somebody_wants_it() {
    let stage = Stage::new(&listing("scripted")).await;
    let mut actor = stage.start().await;
    let served = list(&mut actor, true).await;
    assert_eq!(
        (served.source, &served.note),
        (ModelListSource::Provider, &None)
    );
    let names: Vec<&str> = served.models.iter().map(|it| it.model.as_str()).collect();
    // The session's own model is good whether it is listed or not.
    assert_eq!(names, ["scripted-1", "scripted"]);
    actor.turn("still there?").await;
}

#[tokio::test]
async fn without_an_answer_the_built_in_list_comes_with_a_note() {
    let nowhere = |setup: &mut SessionSetup| {
        let provider = ProviderConfig {
            // The port of a server that is gone.
            base_url: "http://127.0.0.1:1/v1".to_owned(),
            ..ProviderConfig::default()
        };
        setup.model = provider.connect("nowhere", None).unwrap();
    };
    let stage = Stage::new(ANSWERS).await.adjusting(nowhere);
    let mut actor = stage.start().await;
    let offline = list(&mut actor, true).await;
    assert_eq!(offline.source, ModelListSource::BuiltIn);
    assert!(offline.models.len() > 5, "{offline:?}");
    let note = offline.note.unwrap();
    assert!(note.contains("nowhere at http://127.0.0.1:1"), "{note}");
}

#[tokio::test]
async fn a_list_that_was_asked_for_comes_before_the_end() {
    let stage = Stage::new(ANSWERS).await;
    let mut actor = stage.start().await;
    actor.submit(Op::ListModels { refresh: true }).await;
    let last = actor.finish().await;
    let lines: Vec<String> = last.iter().map(line).collect();
    assert_eq!(lines, ["list_models_response", "shutdown_complete"]);
}

#[tokio::test]
async fn a_model_that_nobody_knows_is_served_with_a_warning() {
    let stage = Stage::new(&listing("my-own")).await;
    let stage = stage.adjusting(with_model("my-own"));
    let mut actor = stage.start().await;
    let session = actor.session_id();
    let msgs = actor.turn("hi").await;
    expect![[r#"
        [
            "nobody tells the context window of the model \"my-own\"; 128000 tokens are assumed, and the provider decides what fits: set model_context_window, and the conversation is summarised in time",
        ]
    "#]]
    .assert_debug_eq(&warnings(&msgs));
    assert_eq!(window(&msgs), Some(128_000));
    assert!(matches!(msgs.last(), Some(EventMsg::TurnComplete(_))));
    // Once is enough.
    let msgs = actor.turn("again").await;
    assert_eq!(warnings(&msgs), Vec::<&str>::new());
    actor.shut_down().await;

    let mut actor = stage.resume(session).await;
    let msgs = actor.turn("and again").await;
    assert_eq!(window(&msgs), Some(128_000));
}

/// Returns the window that the last count of tokens names.
fn counted_window(msgs: &[EventMsg]) -> Option<u64> {
    msgs.iter().rev().find_map(|msg| match msg {
        EventMsg::TokenCount {
            info: Some(info), ..
        } => info.model_context_window,
        _ => None,
    })
}

#[tokio::test]
async fn the_window_of_a_server_is_the_one_that_its_list_tells() {
    let listed = r#"
[[model]]
id = "my-own"
context_window = 10000
[[scene]]
[[scene.turn]]
usage = { input = 9500, output = 100 }
steps = [{ say = "one" }]
[[scene.turn]]
expect = "hand-over"
steps = [{ say = "SUMMARY" }]
[[scene.turn]]
steps = [{ say = "two" }]
"#;
    let stage = Stage::new(listed).await.adjusting(with_model("my-own"));
    let mut actor = stage.start().await;
    let msgs = actor.turn("hi").await;
    assert_eq!(warnings(&msgs), Vec::<&str>::new());
    assert_eq!(counted_window(&msgs), Some(10_000));
    let msgs = actor.turn("and on").await;
    assert_eq!(window(&msgs), Some(10_000));
    let compacted = |msg: &EventMsg| matches!(msg, EventMsg::ContextCompacted);
    assert!(msgs.iter().any(compacted), "it is used: {msgs:?}");
}

#[tokio::test]
async fn a_model_that_the_server_does_not_list_is_told_once() {
    let stage = Stage::new(&listing("another")).await;
    let stage = stage.adjusting(with_model("claude-opus-5-5"));
    let mut actor = stage.start().await;
    let msgs = actor.turn("hi").await;
    let told = warnings(&msgs);
    let is_it = |told: &&&str| told.contains("does not list the model claude-opus-5-5");
    assert_eq!(told.iter().filter(is_it).count(), 1, "{told:?}");
    assert_eq!(warnings(&actor.turn("again").await), Vec::<&str>::new());
}

#[tokio::test]
async fn a_window_that_is_configured_or_catalogued_is_not_assumed() {
    let configured = |setup: &mut SessionSetup| setup.context.model = "my-own".to_owned();
    let stage = Stage::new(ANSWERS).await.adjusting(configured);
    let msgs = stage.start().await.turn("hi").await;
    assert_eq!((window(&msgs), warnings(&msgs)), (Some(272_000), vec![]));
    let stage = Stage::new(&listing("gpt-4o")).await;
    let stage = stage.adjusting(with_model("gpt-4o"));
    let msgs = stage.start().await.turn("hi").await;
    assert_eq!((window(&msgs), warnings(&msgs)), (Some(128_000), vec![]));
}
