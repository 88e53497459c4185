//! Server-sent events that a provider answers with.

use std::fmt::Debug;
use std::sync::Arc;

use troupe_model::{
    EncodedInstructions, HistoryItem, ModelEvent, ModelRequest, ModelToolChoice, ProviderConfig,
    WireApi,
};
use troupe_protocol::ResponseItem;
use troupe_protocol::policy::ReasoningSummary;

use crate::fuzz::pieces::cut;
use crate::fuzz::{Shape, Target};

pub(super) const RESPONSES: Target = Target {
    name: "responses",
    run: |input| run(WireApi::Responses, input),
    words: &[
        "data: {\"type\":\"response.",
        "\"}\n\n",
        "event: ",
        "\r\n",
        "output_item.done",
        "output_item.added",
        "output_text.delta",
        "reasoning_summary_text.delta",
        "completed",
        "failed",
        "incomplete",
        "\"item\":{\"type\":\"function_call\",\"call_id\":\"",
        "\"output_index\":",
        "18446744073709551616",
        "\u{feff}",
    ],
};

pub(super) const CHAT: Target = Target {
    name: "chat",
    run: |input| run(WireApi::Chat, input),
    words: &[
        "data: {\"choices\":[{\"index\":0,\"delta\":{",
        "\"content\":\"",
        "\"reasoning_content\":\"",
        "\"tool_calls\":[{\"index\":",
        "\"function\":{\"name\":\"",
        "\"arguments\":\"",
        "}}]}\n\n",
        "\"finish_reason\":\"stop\"",
        "[DONE]",
        "\"usage\":{\"prompt_tokens\":",
        "99999999999",
        "-1",
    ],
};

fn run(wire_api: WireApi, input: &[u8]) -> Shape {
    let provider = ProviderConfig {
        wire_api,
        ..ProviderConfig::default()
    };
    let request = request();
    let whole = provider.decode(&request, [input]);
    let pieces = provider.decode(&request, cut(input));
    assert_eq!(
        without_made_up_ids(&pieces),
        without_made_up_ids(&whole),
        "pieces mean what the whole does"
    );
    let (events, error) = whole;
    let finals = events.iter().filter(|event| event.is_final()).count();
    assert!(finals <= 1, "a response has one end");
    let ended = events.last().is_some_and(ModelEvent::is_final);
    assert!(ended || error.is_some(), "what did not end is an error");
    let kinds: Vec<String> = events
        .iter()
        .map(|event| format!("{event:?}").chars().take(12).collect())
        .collect();
    Shape::of(&format!(
        "{}{:?}",
        kinds.join(""),
        error.map(|it| it.message)
    ))
}

/// Where a provider sends no id we make one, which is another one each time.
fn without_made_up_ids(decoded: &impl Debug) -> String {
    const DIGITS: usize = 32;
    let is_no_digit = |letter: char| !letter.is_ascii_hexdigit();
    let text = format!("{decoded:?}");
    let runs = text.split_inclusive(is_no_digit);
    runs.flat_map(|run| {
        let digits = run.trim_end_matches(is_no_digit);
        let kept = if digits.len() == DIGITS { "" } else { digits };
        [kept, &run[digits.len()..]]
    })
    .collect()
}

fn request() -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        instructions: Arc::new(EncodedInstructions::new("")),
        input: vec![Arc::new(HistoryItem::new(ResponseItem::user_text("go")))],
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
