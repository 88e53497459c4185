//! Shared by the tests: a server from a screenplay, a request, and events as text.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use troupe_mock_model::MockServer;
use troupe_model::{
    EncodedInstructions, HistoryItem, LanguageModel, ModelEvent, ModelRequest, ModelStream,
    ModelToolChoice, ProviderConfig, RetryJitter, WireApi,
};
use troupe_protocol::ResponseItem;
use troupe_protocol::policy::ReasoningSummary;

pub async fn server(screenplay: &str) -> MockServer {
    let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    MockServer::start(screenplay.parse().unwrap(), addr)
        .await
        .unwrap()
}

/// Plays these turns to any conversation.
pub async fn turns(turns: &[&str]) -> MockServer {
    let turns: String = turns
        .iter()
        .flat_map(|turn| ["[[scene.turn]]\n", turn, "\n"])
        .collect();
    server(&format!("[[scene]]\n{turns}")).await
}

/// Connects with one retry of each kind, so that giving up does not take long.
pub fn connect(server: &MockServer) -> Arc<dyn LanguageModel> {
    connect_to(ProviderConfig {
        request_max_retries: Some(1),
        stream_max_retries: Some(1),
        ..server.provider(WireApi::Responses)
    })
}

pub fn connect_to(config: ProviderConfig) -> Arc<dyn LanguageModel> {
    config
        .connect_with("test", None, RetryJitter::Seeded(1))
        .unwrap()
}

pub fn request(text: &str) -> ModelRequest {
    ModelRequest {
        model: "scripted".into(),
        instructions: Arc::new(EncodedInstructions::new("Be brief.")),
        input: vec![Arc::new(HistoryItem::new(ResponseItem::user_text(text)))],
        tools: Arc::default(),
        tool_choice: ModelToolChoice::Auto,
        parallel_tool_calls: true,
        effort: None,
        summary: ReasoningSummary::Auto,
        output_schema: None,
        previous: None,
        prompt_cache_key: Some("conversation".into()),
        conversation: None,
    }
}

/// Reads to the end. Exactly the last event is final.
pub async fn read_all(mut stream: ModelStream) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    while let Some(batch) = stream.next_batch().await {
        assert!(!batch.is_empty());
        events.extend(batch);
    }
    let finals = events.iter().filter(|event| event.is_final()).count();
    assert_eq!(finals, 1, "{events:?}");
    assert!(events.last().unwrap().is_final());
    events
}

pub async fn ask(model: &dyn LanguageModel, text: &str) -> Vec<ModelEvent> {
    read_all(model.open(request(text))).await
}

/// Shows what a caller would see, one event per line; deltas by their text only.
pub fn show(events: &[ModelEvent]) -> String {
    let lines: Vec<String> = events.iter().map(line).collect();
    lines.join("\n") + "\n"
}

fn line(event: &ModelEvent) -> String {
    match event {
        ModelEvent::Created { .. } => "created".into(),
        ModelEvent::ItemStarted { kind, .. } => format!("started {kind:?}"),
        ModelEvent::TextDelta { delta, .. } => format!("text {delta:?}"),
        ModelEvent::ReasoningSummaryPart { summary_index, .. } => format!("part {summary_index}"),
        ModelEvent::ReasoningSummaryDelta { delta, .. } => format!("summary {delta:?}"),
        ModelEvent::ReasoningTextDelta { delta, .. } => format!("reasoning {delta:?}"),
        ModelEvent::ItemDone { item, .. } => match item {
            ResponseItem::Message { .. } => {
                format!("done {:?}", item.assistant_message().unwrap_or_default())
            }
            ResponseItem::Reasoning { summary, .. } => format!("done thinking {}", summary.len()),
            ResponseItem::FunctionCall {
                name, arguments, ..
            } => {
                format!("done call {name} {arguments}")
            }
            ResponseItem::CustomToolCall { name, input, .. } => {
                format!("done custom {name} {input}")
            }
            other => format!("done {other:?}"),
        },
        ModelEvent::Paused => "paused".into(),
        ModelEvent::RateLimits(snapshot) => serde_json::to_string(snapshot).unwrap(),
        ModelEvent::Retrying {
            attempt,
            attempts_max,
            delay_ms,
            error,
        } => format!(
            "retrying {attempt}/{attempts_max} in {delay_ms} ms: {:?}: {error}",
            error.kind
        ),
        ModelEvent::Completed { usage, .. } => {
            format!("completed {}+{}", usage.input_tokens, usage.output_tokens)
        }
        ModelEvent::Failed(error) => format!("failed {:?}: {error}", error.kind),
    }
}
