//! How the model is asked to speak: in the instructions, and in the history once it changes.

use serde_json::Value;
use troupe_engine::SessionSetup;
use troupe_protocol::EventMsg;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::{ConfigureSession, Op};
use troupe_protocol::policy::Personality;
use troupe_protocol::session::TurnOverrides;
use troupe_testkit::{Actor, Stage};

const ANSWERS: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "one" }]
[[scene.turn]]
steps = [{ say = "two" }]
[[scene.turn]]
steps = [{ say = "three" }]
"#;

fn speaking(personality: Personality) -> TurnOverrides {
    TurnOverrides {
        personality: Some(personality),
        ..TurnOverrides::default()
    }
}

async fn start(stage: &Stage, personality: Personality) -> Actor {
    stage
        .start_with(ConfigureSession {
            overrides: speaking(personality),
            ..ConfigureSession::default()
        })
        .await
}

async fn turn_with(actor: &mut Actor, text: &str, personality: Personality) {
    actor
        .submit(Op::UserTurn {
            items: vec![UserInput::text(text)],
            overrides: speaking(personality),
            final_output_json_schema: None,
            last_response_id: None,
            client_id: None,
        })
        .await;
    actor.until_task_ends().await;
}

fn instructions(stage: &Stage, n: usize) -> String {
    let body: Value = serde_json::from_slice(&stage.requests()[n].body).expect("a request is JSON");
    body["instructions"].as_str().unwrap_or_default().to_owned()
}

/// Returns the notes about the manner in the n-th request.
fn notes(stage: &Stage, n: usize) -> Vec<String> {
    let input = stage.input_of(n);
    let texts = input
        .iter()
        .filter_map(|item| item["content"][0]["text"].as_str());
    texts
        .filter(|text| text.starts_with("<personality_spec>"))
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn the_placeholder_is_filled_or_leaves_nothing() {
    for (personality, says) in [
        (Personality::Friendly, Some("Be warm")),
        (Personality::Pragmatic, Some("Be direct")),
        (Personality::None, None),
    ] {
        let stage = Stage::new(ANSWERS).await;
        let mut actor = start(&stage, personality).await;
        actor.turn("hi").await;
        let text = instructions(&stage, 0);
        assert!(!text.contains("{{personality}}"), "{text}");
        assert_eq!(text.contains("# Manner"), says.is_some(), "{text}");
        assert!(says.is_none_or(|says| text.contains(says)), "{text}");
        assert_eq!(notes(&stage, 0), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_change_is_told_and_leaves_what_was_sent_as_it_was() {
    let stage = Stage::new(ANSWERS).await;
    let mut actor = start(&stage, Personality::Friendly).await;
    let session = actor.session_id();
    actor.turn("one").await;
    turn_with(&mut actor, "two", Personality::Pragmatic).await;
    assert_eq!(instructions(&stage, 0), instructions(&stage, 1));
    let (before, after) = (stage.input_of(0), stage.input_of(1));
    assert_eq!(after[..before.len()], before[..]);
    let told = notes(&stage, 1);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("Be direct"), "{told:?}");
    actor.shut_down().await;

    // After a resume the same beginning is sent again, and nothing is told twice.
    let mut actor = stage.resume(session).await;
    let EventMsg::SessionConfigured(configured) = &actor.seen()[0].msg else {
        panic!("a session is configured first");
    };
    assert_eq!(configured.context.personality, Some(Personality::Pragmatic));
    actor.turn("three").await;
    assert_eq!(instructions(&stage, 0), instructions(&stage, 2));
    assert_eq!(notes(&stage, 2), told);
}

#[tokio::test]
async fn none_in_the_middle_of_a_session_empties_the_place_for_a_manner() {
    let stage = Stage::new(ANSWERS).await;
    let mut actor = start(&stage, Personality::Friendly).await;
    actor.turn("one").await;
    actor
        .submit(Op::OverrideTurnContext {
            overrides: speaking(Personality::None),
        })
        .await;
    actor
        .until(|msg| matches!(msg, EventMsg::TurnContextUpdated(_)))
        .await;
    assert!(instructions(&stage, 0).contains("Be warm"));
    actor.turn("two").await;
    let text = instructions(&stage, 1);
    assert!(!text.contains("Be warm"), "{text}");
    assert!(!text.contains("{{personality}}"), "{text}");
    // Nothing is left that a note would have to take back.
    assert_eq!(notes(&stage, 1), Vec::<String>::new());
}

#[tokio::test]
async fn instructions_without_a_placeholder_do_not_lose_the_wish() {
    let own = |setup: &mut SessionSetup| setup.instructions.base = Some("Be Bob.".into());
    let stage = Stage::new(ANSWERS).await.adjusting(own);
    let mut actor = start(&stage, Personality::Friendly).await;
    actor.turn("one").await;
    assert_eq!(instructions(&stage, 0), "Be Bob.");
    let told = notes(&stage, 0);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("Be warm"), "{told:?}");
}
