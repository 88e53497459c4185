//! What is sent: headers, query parameters, the key, the body.

use std::sync::Arc;

use serde_json::Value;
use troupe_model::{HistoryItem, PreviousResponse, ProviderConfig, RetryJitter, WireApi};
use troupe_protocol::ResponseItem;

use super::support::{ask, connect_to, read_all, request, turns};

const GOOD: &str = "steps = [{ say = 'fine' }]";

#[tokio::test]
async fn headers_parameters_and_key_arrive() {
    let server = turns(&[GOOD]).await;
    let config = ProviderConfig {
        http_headers: [("x-team".to_owned(), "blue".to_owned())].into(),
        query_params: [("api-version".to_owned(), "2026 05".to_owned())].into(),
        ..server.provider(WireApi::Responses)
    };
    let model = config
        .connect_with("test", Some("s3cret\n".into()), RetryJitter::Seeded(1))
        .unwrap();
    ask(&*model, "go").await;
    assert!(!format!("{model:?}").contains("s3cret"));

    let sent = &server.requests()[0];
    let header = |name: &str| sent.headers[name].to_str().unwrap();
    assert_eq!(sent.path, "/v1/responses");
    assert_eq!(sent.query.as_deref(), Some("api-version=2026+05"));
    assert_eq!(header("authorization"), "Bearer s3cret");
    assert_eq!(header("x-team"), "blue");
    assert_eq!(header("accept"), "text/event-stream");
    assert_eq!(header("content-length"), sent.body.len().to_string());
    let body: Value = serde_json::from_slice(&sent.body).unwrap();
    assert_eq!(body["prompt_cache_key"], "conversation");
}

#[tokio::test]
async fn without_a_key_none_is_sent() {
    let server = turns(&[GOOD]).await;
    ask(&*connect_to(server.provider(WireApi::Responses)), "go").await;
    assert!(!server.requests()[0].headers.contains_key("authorization"));
}

#[tokio::test]
async fn a_refused_key_names_its_variable_and_not_itself() {
    let server = turns(&["steps = [{ status = 401, message = 'wrong: s3cret' }]"]).await;
    let config = ProviderConfig {
        env_key: Some("MY_KEY".into()),
        ..server.provider(WireApi::Responses)
    };
    let model = config.connect("mine", Some("s3cret".into())).unwrap();
    let events = ask(&*model, "go").await;
    let shown = format!("{events:?}");
    assert!(
        shown.contains("mine: 401 Unauthorized: wrong: [secret]"),
        "{shown}"
    );
    assert!(shown.contains("check the key in MY_KEY"), "{shown}");
    assert!(!shown.contains("s3cret"));
}

#[tokio::test]
async fn a_stateful_provider_sends_only_what_is_new() {
    let server = turns(&[GOOD, GOOD]).await;
    let mut request = request("first");
    request
        .input
        .push(Arc::new(HistoryItem::new(ResponseItem::user_text(
            "second",
        ))));
    request.previous = Some(PreviousResponse {
        response_id: "resp_1".into(),
        covers: 1,
    });
    for stateful in [true, false] {
        let model = connect_to(ProviderConfig {
            stateful,
            ..server.provider(WireApi::Responses)
        });
        read_all(model.open(request.clone())).await;
    }
    let bodies: Vec<Value> = server
        .requests()
        .iter()
        .map(|sent| serde_json::from_slice(&sent.body).unwrap())
        .collect();
    assert_eq!(bodies[0]["previous_response_id"], "resp_1");
    assert_eq!(bodies[0]["input"].as_array().unwrap().len(), 1);
    assert_eq!(bodies[1]["previous_response_id"], Value::Null);
    assert_eq!(bodies[1]["input"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_long_history_arrives_whole() {
    let server = turns(&[GOOD]).await;
    let mut request = request("first");
    for number in 0..600 {
        let text = format!("{number} {}", "x".repeat(number * 37 % 12_000));
        request
            .input
            .push(Arc::new(HistoryItem::new(ResponseItem::user_text(text))));
    }
    read_all(connect_to(server.provider(WireApi::Responses)).open(request)).await;
    let body: Value = serde_json::from_slice(&server.requests()[0].body).unwrap();
    assert_eq!(body["input"].as_array().unwrap().len(), 601);
}
