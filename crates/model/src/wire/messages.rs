//! Anthropic Messages: our items as blocks of messages that alternate between user and
//! assistant. The differences that this folder hides:
//!
//! - The answers of all calls of a response go into one user message directly after it, in
//!   front of everything else that the user says there (`turns.rs`).
//! - Reasoning goes back unchanged with the signature that vouches for it; ours from another
//!   wire has none and stays here (`seal.rs`).
//! - Developer messages that lead the history join the instructions, later ones speak as the
//!   user; free-text tools are functions with one text argument.
//! - The provider caches only up to marks that the request carries. They stand where the next
//!   request will begin alike: after the tools, the instructions, the newest user message and
//!   the one before it, because a mark is looked back for over few blocks only.
//! - How hard to think is said differently by each generation of models (`thinking.rs`).
//!
//! Tools of the provider's own (search, code execution) are never offered.

mod blocks;
pub(crate) mod decode;
mod message_groups;
mod seal;
mod thinking;

use serde_json::{Value, json};
use troupe_protocol::ResponseItem;
use troupe_protocol::history::{ContentItem, Role};

pub(crate) use blocks::{encode_item, encode_tools};
pub(crate) use seal::ReasoningSeal;

use super::WireEncoding;
use super::pieces::{BodyBuilder, BodyPieces};
use crate::catalogue;
use crate::limits::MESSAGES_OUTPUT_TOKENS_DEFAULT;
use crate::request::{HistoryItem, ModelRequest, ModelToolChoice};
use thinking::ThinkingFields;

const CACHE_MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}}";

pub(crate) fn body(request: &ModelRequest, output_tokens_max: Option<u64>) -> BodyPieces {
    let output_tokens_max = output_tokens_max
        .or_else(|| catalogue::lookup(&request.model).and_then(|model| model.max_output))
        .unwrap_or(MESSAGES_OUTPUT_TOKENS_DEFAULT);
    let (leading, rest) = split_leading(&request.input);
    let turns = message_groups::group(rest);

    let mut builder = BodyBuilder::default();
    builder.glue("{\"model\":");
    builder.json(&request.model);
    builder.glue(",\"max_tokens\":");
    builder.json(&output_tokens_max);
    if !request.tools.specs().is_empty() {
        builder.glue(",\"tools\":");
        builder.share(request.tools.encoded(WireEncoding::Messages).clone());
        builder.glue(",\"tool_choice\":");
        builder.json(&tool_choice(request));
    }
    system(request, leading, &mut builder);
    builder.glue(",\"messages\":[");
    message_groups::write(&turns, &mut builder);
    builder.glue("]");
    settings(request, output_tokens_max, &mut builder);
    builder.glue(",\"stream\":true}");
    builder.finish()
}

fn tool_choice(request: &ModelRequest) -> Value {
    let name = request.tool_choice.as_str();
    match (request.tool_choice, request.parallel_tool_calls) {
        (ModelToolChoice::Auto, false) => {
            json!({ "type": name, "disable_parallel_tool_use": true })
        }
        (ModelToolChoice::Auto | ModelToolChoice::Never, _) => json!({ "type": name }),
    }
}

type Items<'a> = &'a [std::sync::Arc<HistoryItem>];

/// Parts the developer messages that lead the history from the rest.
fn split_leading(input: Items<'_>) -> (Items<'_>, Items<'_>) {
    let leads = |item: &&std::sync::Arc<HistoryItem>| {
        matches!(
            item.item(),
            ResponseItem::Message {
                role: Role::System | Role::Developer,
                ..
            }
        )
    };
    input.split_at(input.iter().take_while(leads).count())
}

/// Writes the instructions with a mark, and behind it what differs from task to task.
fn system(request: &ModelRequest, leading: Items<'_>, builder: &mut BodyBuilder) {
    let mut texts = vec![request.instructions.text()];
    for item in leading {
        if let ResponseItem::Message { content, .. } = item.item() {
            texts.extend(content.iter().filter_map(ContentItem::text));
        }
    }
    texts.retain(|text| !text.trim().is_empty());
    let schema = request.output_schema.as_deref();
    let asked = schema
        .filter(|_| !enforces_schemas(request))
        .map(schema_in_words);
    if texts.is_empty() && asked.is_none() {
        return;
    }
    builder.glue(",\"system\":[");
    if !texts.is_empty() {
        builder.glue("{\"type\":\"text\",\"text\":");
        builder.json(&texts.join("\n\n"));
        builder.glue(CACHE_MARK);
    }
    if let Some(asked) = asked {
        builder.glue(if texts.is_empty() { "" } else { "," });
        builder.json(&json!({ "type": "text", "text": asked }));
    }
    builder.glue("]");
}

fn settings(request: &ModelRequest, output_tokens_max: u64, builder: &mut BodyBuilder) {
    let ThinkingFields { thinking, effort } = ThinkingFields::of(request, output_tokens_max);
    if let Some(thinking) = thinking {
        builder.glue(",\"thinking\":");
        builder.json(&thinking);
    }
    let mut output = serde_json::Map::new();
    if let Some(effort) = effort {
        output.insert("effort".into(), json!(effort));
    }
    if let Some(schema) = request.output_schema.as_deref()
        && enforces_schemas(request)
    {
        let format = json!({ "type": "json_schema", "schema": schema });
        output.insert("format".into(), format);
    }
    if !output.is_empty() {
        builder.glue(",\"output_config\":");
        builder.json(&output);
    }
}

/// Tells whether the server holds the model to a schema. Others that speak this wire pass the
/// field over, so they are asked in words, and the answer is checked in either case.
fn enforces_schemas(request: &ModelRequest) -> bool {
    request.model.contains("claude")
}

fn schema_in_words(schema: &Value) -> String {
    format!(
        "Your final answer must be one JSON value that follows this JSON Schema, with nothing \
         before or after it:\n{schema}"
    )
}

#[cfg(test)]
mod tests;
