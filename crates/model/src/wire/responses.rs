//! The Responses API: the shape that our history has anyway.

pub(crate) mod decode;

use std::slice::ChunksExact;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use troupe_protocol::ResponseItem;
use troupe_protocol::history::{ContentItem, ReasoningPart, Role, SummaryPart, ToolOutputBody};
use troupe_protocol::policy::ReasoningSummary;
use troupe_protocol::tool::ToolSpec;

use super::messages::ReasoningSeal;
use super::pieces::{ArrayElements, BodyBuilder, BodyPieces, fragment};
use super::{FreeformOffer, WireEncoding};
use crate::catalogue;
use crate::limits::BODY_BLOCK_ITEMS;
use crate::request::{HistoryItem, ModelRequest, PreviousResponse};

pub(crate) fn body(
    request: &ModelRequest,
    freeform: FreeformOffer,
    stateful: bool,
    output_tokens_max: Option<u64>,
) -> BodyPieces {
    let encoding = encoding(freeform);
    let previous = request.previous.as_ref().filter(|_| stateful);
    let covered = previous.map_or(0, |previous| previous.covers.min(request.input.len()));

    let (blocks, rest) = blocks(&request.input, covered);
    let mut builder = BodyBuilder::with_room_for(blocks.len() + rest.len());
    builder.glue("{\"model\":");
    builder.json(&request.model);
    builder.glue(",\"instructions\":");
    builder.share(request.instructions.encoded().clone());
    builder.glue(",\"input\":[");
    let mut elements = ArrayElements::default();
    let mut push = |bytes: &Bytes| elements.push(&mut builder, bytes);
    for block in blocks {
        if let Some(bytes) = HistoryItem::encoded_together(block, encoding) {
            push(bytes);
            continue;
        }
        for item in block {
            push(item.encoded(encoding));
        }
    }
    for item in rest {
        push(item.encoded(encoding));
    }
    builder.glue("]");
    if !request.tools.specs().is_empty() {
        builder.glue(",\"tools\":");
        builder.share(request.tools.encoded(encoding).clone());
        builder.glue(",\"tool_choice\":");
        builder.json(request.tool_choice.as_str());
        builder.glue(",\"parallel_tool_calls\":");
        builder.json(&request.parallel_tool_calls);
    }
    settings(request, previous, stateful, &mut builder);
    if let Some(tokens) = output_tokens_max {
        builder.glue(&format!(",\"max_output_tokens\":{tokens}"));
    }
    builder.glue("}");
    builder.finish()
}

/// Cuts what has to be sent into blocks that stay the same while the history grows, and the
/// rest. What follows a response that the provider holds is short, and begins anywhere.
fn blocks(
    input: &[Arc<HistoryItem>],
    covered: usize,
) -> (ChunksExact<'_, Arc<HistoryItem>>, &[Arc<HistoryItem>]) {
    let (blocks, rest) = if covered == 0 {
        input.split_at(input.len() - input.len() % BODY_BLOCK_ITEMS)
    } else {
        (&[][..], &input[covered..])
    };
    (blocks.chunks_exact(BODY_BLOCK_ITEMS), rest)
}

pub(crate) fn encoding(freeform: FreeformOffer) -> WireEncoding {
    match freeform {
        FreeformOffer::Native => WireEncoding::Responses,
        FreeformOffer::AsFunction => WireEncoding::ResponsesAsFunctions,
    }
}

/// Writes what is small and differs from request to request.
fn settings(
    request: &ModelRequest,
    previous: Option<&PreviousResponse>,
    stateful: bool,
    builder: &mut BodyBuilder,
) {
    let mut field = |name: &str, value: Value| {
        builder.glue(&format!(",\"{name}\":"));
        builder.json(&value);
    };
    if reasons(request) {
        if let Some(reasoning) = reasoning(request) {
            field("reasoning", reasoning);
        }
        // Without a stored response the server needs its reasoning back from us.
        field("include", json!(["reasoning.encrypted_content"]));
    }
    if let Some(schema) = &request.output_schema {
        let format = json!({
            "type": "json_schema",
            "name": "output",
            "strict": true,
            "schema": schema,
        });
        field("text", json!({ "format": format }));
    }
    if let Some(previous) = previous {
        field("previous_response_id", json!(previous.response_id));
    }
    if let Some(key) = &request.prompt_cache_key {
        field("prompt_cache_key", json!(key));
    }
    field("store", json!(stateful));
    field("stream", json!(true));
}

/// A model that does not reason refuses every field about it, so they are left out for those
/// that are known not to. One that nobody knows is newer than the catalogue: on this wire it
/// reasons, and without the fields it would forget its thoughts from one cycle to the next.
fn reasons(request: &ModelRequest) -> bool {
    request.effort.is_some() || catalogue::reasons(&request.model)
}

fn reasoning(request: &ModelRequest) -> Option<Value> {
    let mut fields = serde_json::Map::new();
    if let Some(effort) = request.effort {
        fields.insert("effort".into(), json!(effort));
    }
    if request.summary != ReasoningSummary::None {
        fields.insert("summary".into(), json!(request.summary));
    }
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// An item as it is sent. The server's item ids stay behind: without a stored response
/// they name nothing.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireItem<'a> {
    Message {
        role: Role,
        content: &'a [ContentItem],
    },
    Reasoning {
        summary: &'a [SummaryPart],
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a [ReasoningPart]>,
        #[serde(skip_serializing_if = "Option::is_none")]
        encrypted_content: Option<&'a str>,
    },
    FunctionCall {
        name: &'a str,
        arguments: &'a str,
        call_id: &'a str,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: &'a ToolOutputBody,
    },
    CustomToolCall {
        name: &'a str,
        input: &'a str,
        call_id: &'a str,
    },
    CustomToolCallOutput {
        call_id: &'a str,
        output: &'a ToolOutputBody,
    },
}

/// Encodes one item of `input`; nothing for an item that a server could not use.
pub(crate) fn encode_item(item: &ResponseItem, freeform: FreeformOffer) -> Bytes {
    match item {
        ResponseItem::Message { role, content, .. } => fragment(&WireItem::Message {
            role: *role,
            content,
        }),
        ResponseItem::Reasoning {
            content: None,
            encrypted_content: None,
            ..
        } => Bytes::new(),
        ResponseItem::Reasoning {
            encrypted_content: Some(sealed),
            ..
        } if ReasoningSeal::parse(sealed).is_some() => Bytes::new(),
        ResponseItem::Reasoning {
            summary,
            content,
            encrypted_content,
            ..
        } => fragment(&WireItem::Reasoning {
            summary,
            content: content.as_deref(),
            encrypted_content: encrypted_content.as_deref(),
        }),
        ResponseItem::FunctionCall {
            name,
            arguments,
            call_id,
            ..
        } => fragment(&WireItem::FunctionCall {
            name,
            arguments,
            call_id: call_id.as_str(),
        }),
        ResponseItem::CustomToolCall {
            name,
            input,
            call_id,
            ..
        } => match freeform {
            FreeformOffer::Native => fragment(&WireItem::CustomToolCall {
                name,
                input,
                call_id: call_id.as_str(),
            }),
            FreeformOffer::AsFunction => fragment(&WireItem::FunctionCall {
                name,
                arguments: &input_as_arguments(input),
                call_id: call_id.as_str(),
            }),
        },
        ResponseItem::CustomToolCallOutput { call_id, output }
            if freeform == FreeformOffer::Native =>
        {
            fragment(&WireItem::CustomToolCallOutput {
                call_id: call_id.as_str(),
                output,
            })
        }
        ResponseItem::FunctionCallOutput { call_id, output }
        | ResponseItem::CustomToolCallOutput { call_id, output } => {
            fragment(&WireItem::FunctionCallOutput {
                call_id: call_id.as_str(),
                output,
            })
        }
        // An item that only its provider knows goes back as it came.
        other @ ResponseItem::Other(_) => fragment(other),
    }
}

/// The arguments of a free-text tool that is offered as a function.
pub(crate) fn input_as_arguments(input: &str) -> String {
    json!({ "input": input }).to_string()
}

/// The inverse of [`input_as_arguments`]. A model that ignored the schema and wrote the
/// text itself is taken at its word.
pub(crate) fn arguments_as_input(arguments: String) -> String {
    #[derive(serde::Deserialize)]
    struct FreeformArguments {
        input: String,
    }
    match serde_json::from_str::<FreeformArguments>(&arguments) {
        Ok(parsed) => parsed.input,
        Err(_) => arguments,
    }
}

/// The parameters of a free-text tool that is offered as a function.
pub(crate) fn input_parameters() -> Value {
    json!({
        "type": "object",
        "properties": { "input": { "type": "string" } },
        "required": ["input"],
        "additionalProperties": false,
    })
}

/// Encodes the whole list of tools.
pub(crate) fn encode_tools(specs: &[ToolSpec], freeform: FreeformOffer) -> Bytes {
    let tools: Vec<Value> = specs.iter().map(|spec| tool(spec, freeform)).collect();
    let mut bytes = Vec::new();
    super::pieces::write_json(&mut bytes, &tools);
    bytes.into()
}

fn tool(spec: &ToolSpec, freeform: FreeformOffer) -> Value {
    let function = |name: &str, description: &str, parameters: &Value| {
        json!({
            "type": "function",
            "name": name,
            "description": description,
            "parameters": parameters,
            "strict": false,
        })
    };
    match (spec, freeform) {
        (
            ToolSpec::Function {
                name,
                description,
                parameters,
            },
            _,
        ) => function(name, description, parameters),
        (
            ToolSpec::Freeform {
                name, description, ..
            },
            FreeformOffer::AsFunction,
        ) => function(name, description, &input_parameters()),
        (
            ToolSpec::Freeform {
                name,
                description,
                grammar,
            },
            FreeformOffer::Native,
        ) => json!({
            "type": "custom",
            "name": name,
            "description": description,
            "format": { "type": "grammar", "syntax": "lark", "definition": grammar },
        }),
    }
}

#[cfg(test)]
mod tests;
