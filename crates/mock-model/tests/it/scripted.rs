//! What a screenplay plays when nothing goes wrong.

use std::sync::Arc;

use expect_test::expect;
use troupe_mock_model::ScriptedModel;
use troupe_model::{HistoryItem, LanguageModel, ModelEvent};
use troupe_protocol::ResponseItem;

use super::support::{ask, connect, read_all, request, server, show, turns};

#[tokio::test]
async fn a_turn_with_everything() {
    let server = turns(&[r#"
usage = { input = 11, output = 7 }
headers = { x-codex-primary-used-percent = "40" }
steps = [
    { think = "Look first." },
    { say = "On it." },
    { call = "shell", arguments = { command = ["ls"] } },
    { call = "shell", arguments = "{not json" },
    { custom = "apply_patch", input = "*** Begin Patch" },
]
"#])
    .await;
    let events = ask(&*connect(&server), "go").await;
    expect![[r#"
        {"primary":{"used_percent":40.0}}
        created
        started Reasoning
        part 0
        summary "Look "
        summary "first."
        done thinking 1
        started Message
        text "On "
        text "it."
        done "On it."
        started FunctionCall { name: "shell" }
        done call shell {"command":["ls"]}
        started FunctionCall { name: "shell" }
        done call shell {not json
        started CustomToolCall { name: "apply_patch" }
        done custom apply_patch *** Begin Patch
        completed 11+7
    "#]]
    .assert_eq(&show(&events));
}

#[tokio::test]
async fn turns_follow_each_other_and_refer_to_what_tools_said() {
    let server = turns(&[
        "steps = [{ call = 'shell', call_id = 'c1' }]",
        "expect = 'Cargo\\.toml'\nsteps = [{ say = 'Found {{last_output}}', chunks = 1 }]",
    ])
    .await;
    let model = connect(&server);
    ask(&*model, "go").await;
    let mut second = request("go");
    second
        .input
        .push(Arc::new(HistoryItem::new(ResponseItem::FunctionCall {
            id: None,
            name: "shell".into(),
            arguments: "{}".into(),
            call_id: "c1".into(),
        })));
    second.input.push(Arc::new(HistoryItem::new(
        ResponseItem::FunctionCallOutput {
            call_id: "c1".into(),
            output: "Cargo.toml".into(),
        },
    )));
    let events = read_all(model.open(second)).await;
    expect![[r#"
        created
        started Message
        text "Found Cargo.toml"
        done "Found Cargo.toml"
        completed 100+20
    "#]]
    .assert_eq(&show(&events));
}

#[tokio::test]
async fn a_conversation_keeps_its_scene() {
    let server = server(
        r#"
[[scene]]
when = "(?i)blue"
[[scene.turn]]
steps = [{ say = "blue" }]
[[scene.turn]]
steps = [{ say = "still" }]

[[scene]]
when = "red"
[[scene.turn]]
steps = [{ say = "red" }]
"#,
    )
    .await;
    let model = connect(&server);
    let ask_as = async |key: &str, text: &str| {
        let mut request = request(text);
        request.prompt_cache_key = Some(key.into());
        let events = read_all(model.open(request)).await;
        show(&events).lines().last().unwrap().to_owned() + "|" + &said(&events)
    };
    assert_eq!(ask_as("a", "paint it BLUE").await, "completed 100+20|blue");
    assert_eq!(ask_as("b", "paint it red").await, "completed 100+20|red");
    assert_eq!(ask_as("a", "now red").await, "completed 100+20|still");
    expect!["failed BadRequest: test: 400 Bad Request: screenplay has no scene for a conversation that begins with: green (screenplay_no_scene)|"].assert_eq(&ask_as("c", "green").await);
    expect!["failed BadRequest: test: 400 Bad Request: screenplay is over: scene 2 has 1 turns and turn 2 was asked for (screenplay_over)|"].assert_eq(&ask_as("b", "more").await);
}

fn said(events: &[ModelEvent]) -> String {
    let deltas = events.iter().filter_map(|event| match event {
        ModelEvent::TextDelta { delta, .. } => Some(delta.as_str()),
        _ => None,
    });
    deltas.collect()
}

#[tokio::test]
async fn an_expectation_that_is_not_met_says_what_came() {
    let server = turns(&["expect = 'tests passed'\nsteps = []"]).await;
    let events = ask(&*connect(&server), "tests failed").await;
    expect![[r#"
        failed BadRequest: test: 400 Bad Request: screenplay, scene 1, turn 1: expected /tests passed/ in the last input, which is: tests failed (screenplay_mismatch)
    "#]].assert_eq(&show(&events));
}

#[tokio::test]
async fn twenty_thousand_deltas_arrive_in_few_batches() {
    let words: Vec<String> = (0..20_000).map(|number| format!("tick{number} ")).collect();
    let words = words.concat();
    let server = turns(&[&format!("steps = [{{ say = '{words}' }}]")]).await;
    let mut stream = connect(&server).open(request("go"));
    let (mut deltas, mut batches) = (0, 0);
    let mut text = String::new();
    while let Some(batch) = stream.next_batch().await {
        batches += 1;
        for event in batch {
            match event {
                ModelEvent::TextDelta { .. } => deltas += 1,
                ModelEvent::ItemDone { item, .. } => text = item.assistant_message().unwrap(),
                _ => {}
            }
        }
    }
    assert_eq!(deltas, 20_000);
    assert_eq!(text, words);
    assert!(batches < 2_000, "{batches} batches");
}

#[tokio::test]
async fn a_stream_cut_inside_characters_is_whole_again() {
    for chunk_bytes in [1, 2, 3, 7] {
        let turn = format!("chunk_bytes = {chunk_bytes}\nsteps = [{{ say = 'grüße 👋 welt' }}]");
        let server = turns(&[&turn]).await;
        let events = ask(&*connect(&server), "go").await;
        assert_eq!(said(&events), "grüße 👋 welt");
    }
}

#[tokio::test]
async fn the_same_request_has_the_same_ids_on_every_run() {
    let play = async || {
        let screenplay = "[[scene]]\n[[scene.turn]]\nsteps = [{ call = 'shell' }]";
        let model = ScriptedModel::start(screenplay.parse().unwrap())
            .await
            .unwrap();
        assert_eq!(model.provider_id(), "scripted");
        ask(&model, "go").await
    };
    assert_eq!(play().await, play().await);
}

#[tokio::test]
async fn a_paused_answer_still_arrives() {
    let turn = "steps = [{ say = 'a' }, { pause_ms = 20 }, { say = 'b', pace_ms = 1 }]";
    let server = turns(&[turn]).await;
    assert_eq!(said(&ask(&*connect(&server), "go").await), "ab");
}

#[tokio::test]
async fn a_finished_response_leaves_its_connection_for_the_next() {
    let turn = "steps = [{ say = 'tick ', deltas = 500 }]";
    let server = turns(&[turn, turn, turn]).await;
    let model = connect(&server);
    for _ in 0..3 {
        ask(&*model, "go").await;
    }
    let clients: Vec<_> = server.requests().iter().map(|it| it.client).collect();
    assert_eq!(clients, [clients[0]; 3]);
}
