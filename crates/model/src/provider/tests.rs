use std::sync::Arc;

use expect_test::{Expect, expect};
use troupe_protocol::ResponseItem;
use troupe_protocol::policy::ReasoningSummary;

use super::*;
use crate::request::{EncodedInstructions, ModelRequest, ModelToolChoice};
use crate::{ModelErrorKind, ModelEvent};

#[test]
fn a_maker_is_told_apart_from_a_gateway_under_its_name() {
    let own = &ProviderConfig::built_in()["openai"];
    let gateway = ProviderConfig {
        base_url: "https://gateway.test/v1".to_owned(),
        ..own.clone()
    };
    let misfit = |config: &ProviderConfig| {
        let model = config.connect("openai", Some("key".to_owned())).unwrap();
        model.model_mismatch("claude-opus-5-5")
    };
    assert!(misfit(own).is_some());
    assert_eq!(misfit(&gateway), None);
}

#[tokio::test]
async fn a_server_elsewhere_is_told_apart_by_its_list() {
    let screenplay =
        "[[model]]\nid = \"mine:latest\"\n[[model]]\nid = \"his-2026-01-02\"\n[[scene]]\n";
    let screenplay = screenplay.parse().unwrap();
    let server = troupe_mock_model::MockServer::start(screenplay, "127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let config = ProviderConfig {
        base_url: server.base_url(),
        ..ProviderConfig::built_in()["openai"].clone()
    };
    let model = config.connect("openai", Some("key".to_owned())).unwrap();
    // Nobody knows yet what it has.
    assert_eq!(model.model_mismatch("claude-opus-5-5"), None);
    model.models().await.unwrap();
    let told = model.model_mismatch("claude-opus-5-5").unwrap();
    assert!(
        told.contains("does not list the model claude-opus-5-5"),
        "{told}"
    );
    assert!(
        told.contains("it lists mine:latest, his-2026-01-02"),
        "{told}"
    );
    assert_eq!(model.model_mismatch("mine"), None);
    assert_eq!(model.model_mismatch("his"), None);
}

fn request() -> ModelRequest {
    ModelRequest {
        model: "mine".to_owned(),
        instructions: Arc::new(EncodedInstructions::new("Be brief.")),
        input: vec![Arc::new(ResponseItem::user_text("hello").into())],
        tools: Arc::default(),
        tool_choice: ModelToolChoice::Auto,
        parallel_tool_calls: true,
        effort: None,
        summary: ReasoningSummary::Auto,
        output_schema: None,
        previous: None,
        prompt_cache_key: None,
        conversation: None,
    }
}

#[test]
fn every_wire_is_told_how_long_an_answer_may_be() {
    let request = request();
    let sent = |wire_api: WireApi, base_url: &str, max_output_tokens: Option<u64>| {
        let config = ProviderConfig {
            base_url: base_url.to_owned(),
            wire_api,
            max_output_tokens,
            ..ProviderConfig::default()
        };
        let body = config.wire().body(&request).to_text();
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        let fields = ["max_output_tokens", "max_tokens", "max_completion_tokens"];
        let sent = fields.map(|field| body[field].as_u64());
        fields
            .into_iter()
            .zip(sent)
            .find(|(_, tokens)| tokens.is_some())
    };
    let (local, own) = ("http://127.0.0.1:1/v1", "https://api.openai.com/v1");
    let told = |field| Some((field, Some(77)));
    assert_eq!(
        sent(WireApi::Responses, local, Some(77)),
        told("max_output_tokens")
    );
    assert_eq!(sent(WireApi::Chat, local, Some(77)), told("max_tokens"));
    assert_eq!(
        sent(WireApi::Chat, own, Some(77)),
        told("max_completion_tokens")
    );
    assert_eq!(sent(WireApi::Messages, local, Some(77)), told("max_tokens"));
    assert_eq!(sent(WireApi::Responses, local, None), None);
    assert_eq!(sent(WireApi::Chat, local, None), None);
}

#[tokio::test]
async fn a_server_of_this_machine_that_does_not_run_is_not_waited_for() {
    // The port of a listener that is gone.
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let config = ProviderConfig {
        base_url,
        ..ProviderConfig::built_in()["llamacpp"].clone()
    };
    let model = config.connect("llamacpp", None).unwrap();
    let mut stream = model.open(request());
    let batch = stream.next_batch().await.unwrap();
    let [ModelEvent::Failed(error)] = &batch[..] else {
        panic!("it fails at once: {batch:?}");
    };
    assert_eq!(error.kind, ModelErrorKind::NotRunning);
    assert!(
        error
            .message
            .contains("`llama-server -m MODEL.gguf --port "),
        "{error}"
    );
}

#[track_caller]
fn check(section: &str, key: Option<&str>, expected: Expect) {
    let config: ProviderConfig = toml::from_str(section).unwrap();
    let shown = match config.connect("mine", key.map(str::to_owned)) {
        Ok(model) => format!("{model:?}"),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&shown);
}

#[test]
fn the_built_in_providers_read() {
    let names: Vec<_> = ProviderConfig::built_in().keys().collect();
    assert_eq!(names, ["anthropic", "llamacpp", "ollama", "openai", "vllm"]);
    for (id, config) in ProviderConfig::built_in() {
        config.connect(id, Some("key".into())).unwrap();
    }
}

#[test]
fn a_key_is_asked_for_by_its_variable() {
    check(
        "base_url = 'https://a.example/v1'\nenv_key = 'A_KEY'",
        None,
        expect!["model provider mine needs a key: set A_KEY"],
    );
    check(
        "base_url = 'https://a.example/v1'\nenv_key = 'A_KEY'",
        Some("  "),
        expect!["model provider mine needs a key: set A_KEY"],
    );
    check(
        "base_url = 'https://a.example/v1'\nenv_key = 'A_KEY'\nrequires_key = false",
        None,
        expect![[r#"HttpModel { id: "mine", server: "https://a.example", .. }"#]],
    );
}

#[test]
fn bad_values_are_named() {
    check(
        "base_url = 'a.example/v1'",
        None,
        expect![[r#"model provider mine: base_url "a.example/v1" is not an http or https URL"#]],
    );
    check(
        "base_url = 'http://a.example'\nhttp_headers = { 'x y' = '1' }",
        None,
        expect![[r#"model provider mine: header "x y" has a name or value that HTTP forbids"#]],
    );
    check(
        "base_url = 'http://a.example'",
        Some("two\nlines"),
        expect!["model provider mine: the key has characters that HTTP forbids"],
    );
}

#[test]
fn unknown_keys_are_for_the_configuration_to_judge() {
    check(
        "base_url = 'http://a.example'\nsupports_websockets = true",
        None,
        expect![[r#"HttpModel { id: "mine", server: "http://a.example", .. }"#]],
    );
}

#[test]
fn headers_come_from_the_environment_of_the_caller() {
    let config = ProviderConfig {
        env_http_headers: [("x-org", "ORG"), ("x-none", "NONE")]
            .map(|(header, variable)| (header.to_owned(), variable.to_owned()))
            .into(),
        ..ProviderConfig::default()
    };
    let config = config.with_env(|name| (name == "ORG").then(|| "acme".to_owned()));
    assert_eq!(
        config.http_headers,
        [("x-org".to_owned(), "acme".to_owned())].into()
    );
}

#[test]
fn values_of_headers_and_parameters_are_not_shown() {
    let config: ProviderConfig = toml::from_str(
        "base_url = 'http://a.example/v1'\nhttp_headers = { api = 's3cret' }\nquery_params = { key = 's3cret' }",
    )
    .unwrap();
    assert!(!format!("{config:?}").contains("s3cret"));
    let model = config.connect("mine", Some("s3cret".into())).unwrap();
    assert!(!format!("{model:?}").contains("s3cret"));
}
