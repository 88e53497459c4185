//! The chat wire, end to end.

use std::sync::Arc;

use expect_test::expect;
use serde_json::Value;
use troupe_model::{ProviderConfig, ToolSet, WireApi};
use troupe_protocol::tool::ToolSpec;

use super::support::{ask, connect_to, read_all, request, server, show, turns};

#[tokio::test]
async fn a_turn_with_everything() {
    let server = turns(&[r#"
usage = { input = 11, cached = 4, output = 7 }
steps = [
    { think = "Look first." },
    { say = "On it." },
    { call = "shell", arguments = { command = ["ls"] } },
    { custom = "apply_patch", input = "*** Begin Patch" },
]
"#])
    .await;
    let mut request = request("go");
    request.tools = Arc::new(ToolSet::new(vec![ToolSpec::Freeform {
        name: "apply_patch".into(),
        description: String::new(),
        grammar: String::new(),
    }]));
    let model = connect_to(server.provider(WireApi::Chat));
    let events = read_all(model.open(request)).await;
    expect![[r#"
        created
        started Reasoning
        reasoning "Look "
        reasoning "first."
        started Message
        text "On "
        text "it."
        started FunctionCall { name: "shell" }
        started CustomToolCall { name: "apply_patch" }
        done thinking 0
        done "On it."
        done call shell {"command":["ls"]}
        done custom apply_patch *** Begin Patch
        completed 11+7
    "#]]
    .assert_eq(&show(&events));

    let sent = &server.requests()[0];
    assert_eq!(sent.path, "/v1/chat/completions");
    let body: Value = serde_json::from_slice(&sent.body).unwrap();
    assert_eq!(body["messages"][1]["content"], "go");
}

#[tokio::test]
async fn faults_are_judged_alike() {
    let server = turns(&[
        "steps = [{ status = 429, retry_after = 0 }]",
        "steps = [{ say = 'half' }, { end = 'drop' }]",
        "steps = [{ malformed = 'nonsense' }]",
        "steps = [{ end = 'failed', code = 'context_length_exceeded', message = 'too long' }]",
    ])
    .await;
    let model = connect_to(ProviderConfig {
        stream_max_retries: Some(2),
        ..server.provider(WireApi::Chat)
    });
    expect![[r#"
        retrying 1/4 in 0 ms: RateLimited: test: 429 Too Many Requests: scripted status 429 (invalid_request_error)
        created
        started Message
        text "half"
        retrying 1/2 in 212 ms: StreamDisconnected: the stream broke: error decoding response body: error reading a body from connection: unexpected EOF during chunk size line
        created
        retrying 2/2 in 419 ms: StreamDisconnected: malformed event chat chunk: expected ident at line 1 column 2
        created
        failed ContextWindowExceeded: too long (context_length_exceeded)
    "#]].assert_eq(&show(&ask(&*model, "go").await));
}

#[tokio::test]
async fn an_answer_cut_at_the_limit_keeps_its_text() {
    let server =
        turns(&["steps = [{ say = 'half', chunks = 1 }, { incomplete = 'max_output_tokens' }]"])
            .await;
    let model = connect_to(server.provider(WireApi::Chat));
    expect![[r#"
        created
        started Message
        text "half"
        done "half"
        failed Incomplete: the response was cut at the model's output limit
    "#]]
    .assert_eq(&show(&ask(&*model, "go").await));
}

#[tokio::test]
async fn conversations_are_kept_apart() {
    let server = server("[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'first', deltas = 2 }]").await;
    let model = connect_to(server.provider(WireApi::Chat));
    for key in ["a", "b"] {
        let mut request = request("go");
        request.prompt_cache_key = Some(key.into());
        let events = read_all(model.open(request)).await;
        assert!(show(&events).contains("done \"firstfirst\""));
    }
}
