//! The messages wire, end to end.

use std::sync::Arc;

use expect_test::expect;
use serde_json::Value;
use troupe_mock_model::cassette::{CassettePlayer, CassetteRecorder};
use troupe_model::{HistoryItem, LanguageModel, ModelEvent, ProviderConfig, ToolSet, WireApi};
use troupe_protocol::ResponseItem;
use troupe_protocol::tool::ToolSpec;

use super::support::{ask, connect_to, read_all, request, show, turns};

const EVERYTHING: &str = r#"
usage = { input = 111, cached = 60, cache_write = 40, output = 7, reasoning = 3 }
headers = { anthropic-ratelimit-requests-limit = "50", anthropic-ratelimit-requests-remaining = "25" }
steps = [
    { think = "Look first." },
    { say = "On it." },
    { call = "shell", arguments = { command = ["ls"] } },
    { repeat = true },
    { custom = "apply_patch", input = "*** Begin Patch" },
]
"#;

fn tools() -> Arc<ToolSet> {
    Arc::new(ToolSet::new(vec![ToolSpec::Freeform {
        name: "apply_patch".into(),
        description: String::new(),
        grammar: String::new(),
    }]))
}

#[tokio::test]
async fn a_turn_with_everything() {
    let server = turns(&[EVERYTHING]).await;
    let mut request = request("go");
    request.tools = tools();
    let model = connect_to(server.provider(WireApi::Messages));
    let events = read_all(model.open(request)).await;
    expect![[r#"
        {"primary":{"used_percent":50.0}}
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
        started CustomToolCall { name: "apply_patch" }
        done custom apply_patch *** Begin Patch
        completed 111+7
    "#]]
    .assert_eq(&show(&events));
    let Some(ModelEvent::Completed { usage, .. }) = events.last() else {
        panic!("{events:?}");
    };
    assert_eq!(usage.cached_input_tokens, 60);
    assert_eq!(usage.cache_write_input_tokens, 40);
    assert_eq!(usage.reasoning_output_tokens, 3);
    assert_eq!(usage.total_tokens, 118);

    let sent = &server.requests()[0];
    assert_eq!(sent.path, "/v1/messages");
    assert_eq!(sent.headers["anthropic-version"], "2023-06-01");
    let body: Value = serde_json::from_slice(&sent.body).unwrap();
    assert_eq!(body["messages"][0]["content"][0]["text"], "go");
    assert_eq!(body["system"][0]["text"], "Be brief.");
}

#[tokio::test]
async fn a_tool_loop_returns_the_thinking_as_it_came() {
    let answer = "expect = 'Cargo\\.toml'\nsteps = [{ say = 'Found {{last_output}}', chunks = 1 }]";
    let server = turns(&[
        "steps = [{ think = 'hm' }, { call = 'shell', call_id = 'c1' }]",
        answer,
    ])
    .await;
    let model = connect_to(server.provider(WireApi::Messages));
    let mut second = request("go");
    for event in ask(&*model, "go").await {
        if let ModelEvent::ItemDone { item, .. } = event {
            second.input.push(Arc::new(HistoryItem::new(item)));
        }
    }
    second.input.push(Arc::new(HistoryItem::new(
        ResponseItem::FunctionCallOutput {
            call_id: "c1".into(),
            output: "Cargo.toml".into(),
        },
    )));
    let events = read_all(model.open(second)).await;
    assert!(show(&events).contains("done \"Found Cargo.toml\""));

    let body: Value = serde_json::from_slice(&server.requests()[1].body).unwrap();
    let thinking = &body["messages"][1]["content"][0];
    assert_eq!(thinking["type"], "thinking");
    assert_eq!(thinking["thinking"], "hm");
    let signature = thinking["signature"].as_str().unwrap();
    assert!(signature.starts_with("scripted:"), "{signature}");
}

#[tokio::test]
async fn faults_are_judged_alike() {
    let server = turns(&[
        "steps = [{ status = 429, retry_after = 0 }]",
        "steps = [{ status = 529, retry_after = 0 }]",
        "steps = [{ say = 'half', unfinished = true }, { end = 'drop' }]",
        "steps = [{ malformed = 'nonsense' }]",
        "steps = [{ end = 'failed', code = 'overloaded_error', message = 'Overloaded' }]",
        "steps = [{ say = 'half', unfinished = true }, { end = 'stall' }]",
        "steps = [{ end = 'failed', code = 'invalid_request_error', message = 'prompt is too long' }]",
    ])
    .await;
    let model = connect_to(ProviderConfig {
        stream_max_retries: Some(4),
        stream_idle_timeout_ms: std::num::NonZeroU64::new(200),
        ..server.provider(WireApi::Messages)
    });
    expect![[r#"
        retrying 1/4 in 0 ms: RateLimited: test: 429 Too Many Requests: scripted status 429 (rate_limit_error)
        retrying 2/4 in 0 ms: ServerOverloaded: test: 529 <unknown status code>: scripted status 529 (overloaded_error)
        created
        started Message
        text "half"
        retrying 1/4 in 212 ms: StreamDisconnected: the stream broke: error decoding response body: error reading a body from connection: unexpected EOF during chunk size line
        created
        retrying 2/4 in 419 ms: StreamDisconnected: malformed event without a type: expected ident at line 1 column 2
        created
        retrying 3/4 in 736 ms: ServerOverloaded: Overloaded (overloaded_error)
        created
        started Message
        text "half"
        retrying 4/4 in 1678 ms: StreamDisconnected: the stream was silent for 200 ms
        created
        failed ContextWindowExceeded: prompt is too long (invalid_request_error)
    "#]].assert_eq(&show(&ask(&*model, "go").await));
}

#[tokio::test]
async fn ends_that_are_none() {
    let turn = |reason: &str| {
        format!("steps = [{{ say = 'half', chunks = 1 }}, {{ incomplete = '{reason}' }}]")
    };
    let cut = turn("max_output_tokens");
    let refused = turn("refusal");
    let full = turn("model_context_window_exceeded");
    let server = turns(&[&cut, &refused, &full]).await;
    let model = connect_to(server.provider(WireApi::Messages));
    for expected in [
        expect!["failed Incomplete: the response was cut at the model's output limit"],
        expect![
            "failed Refused: the model refused to answer; word the request differently, or take back the turns that it objects to"
        ],
        expect![
            "failed ContextWindowExceeded: the answer did not fit into what was left of the model's context window"
        ],
    ] {
        expected.assert_eq(show(&ask(&*model, "go").await).lines().last().unwrap());
    }
}

#[tokio::test]
async fn the_key_goes_where_the_provider_looks_and_nowhere_else() {
    let server = turns(&["steps = [{ status = 401, message = 'bad key s3cret-key' }]"]).await;
    let config = ProviderConfig {
        env_key: Some("ANTHROPIC_API_KEY".into()),
        ..server.provider(WireApi::Messages)
    };
    let model = config
        .connect("anthropic", Some("s3cret-key".into()))
        .unwrap();
    let shown = show(&ask(&*model, "go").await);
    expect![[r#"
        failed Unauthorized: anthropic: 401 Unauthorized: bad key [secret] (authentication_error); check the key in ANTHROPIC_API_KEY
    "#]].assert_eq(&shown);
    let headers = &server.requests()[0].headers;
    assert_eq!(headers["x-api-key"], "s3cret-key");
    assert!(!headers.contains_key("authorization"));
}

#[tokio::test]
async fn a_cassette_repeats_it() {
    let server = turns(&[EVERYTHING]).await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tape.jsonl");
    let recorder =
        CassetteRecorder::wrap(connect_to(server.provider(WireApi::Messages)), &path).unwrap();
    let recorded = ask(&recorder, "go").await;
    let player: Arc<dyn LanguageModel> = Arc::new(CassettePlayer::open(&path).unwrap());
    assert_eq!(ask(&*player, "go").await, recorded);
}

#[tokio::test]
async fn many_deltas_and_cuts_inside_characters() {
    let words: Vec<String> = (0..5_000).map(|number| format!("tick{number} ")).collect();
    let words = words.concat();
    let server = turns(&[
        &format!("steps = [{{ say = '{words}' }}]"),
        "chunk_bytes = 3\nsteps = [{ say = 'grüße 👋 welt' }]",
    ])
    .await;
    let model = connect_to(server.provider(WireApi::Messages));
    let ticks = show(&ask(&*model, "go").await);
    assert!(ticks.contains(&format!("done {words:?}")));
    let greeting = show(&ask(&*model, "go").await);
    assert!(greeting.contains("done \"grüße 👋 welt\""), "{greeting}");
}
