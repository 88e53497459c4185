//! One item as the blocks that it becomes. What has no place on this wire becomes nothing.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use troupe_protocol::ResponseItem;
use troupe_protocol::history::{ContentItem, SummaryPart, ToolOutputBody};
use troupe_protocol::tool::ToolSpec;

use super::seal::ReasoningSeal;
use crate::wire::pieces::write_json;
use crate::wire::responses::{input_as_arguments, input_parameters};

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum RequestBlock<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: ImageSource<'a>,
    },
    Thinking {
        thinking: String,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: &'a RawValue,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: BlockContent<'a>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ImageSource<'a> {
    Base64 { media_type: &'a str, data: &'a str },
    Url { url: &'a str },
}

#[derive(Serialize)]
#[serde(untagged)]
enum BlockContent<'a> {
    Text(&'a str),
    Blocks(Vec<RequestBlock<'a>>),
}

/// Encodes one item as blocks with a comma in front of each.
pub(crate) fn encode_item(item: &ResponseItem) -> Bytes {
    match item {
        ResponseItem::Message { content, .. } => fragments(&blocks(content)),
        ResponseItem::Reasoning {
            summary,
            encrypted_content,
            ..
        } => match encrypted_content.as_deref().and_then(ReasoningSeal::parse) {
            Some(ReasoningSeal::Signature(signature)) => fragments(&[RequestBlock::Thinking {
                thinking: summary
                    .iter()
                    .map(|SummaryPart::SummaryText { text }| text.as_str())
                    .collect(),
                signature,
            }]),
            Some(ReasoningSeal::Redacted(data)) => {
                fragments(&[RequestBlock::RedactedThinking { data }])
            }
            None => Bytes::new(),
        },
        ResponseItem::FunctionCall {
            name,
            arguments,
            call_id,
            ..
        } => encode_call(name, arguments, call_id.as_str()),
        ResponseItem::CustomToolCall {
            name,
            input,
            call_id,
            ..
        } => encode_call(name, &input_as_arguments(input), call_id.as_str()),
        ResponseItem::FunctionCallOutput { call_id, output }
        | ResponseItem::CustomToolCallOutput { call_id, output } => {
            fragments(&[RequestBlock::ToolResult {
                tool_use_id: permitted_id(call_id.as_str()),
                content: match output {
                    ToolOutputBody::Text(text) => BlockContent::Text(text),
                    ToolOutputBody::Parts(parts) => BlockContent::Blocks(blocks(parts)),
                },
            }])
        }
        ResponseItem::Other(_) => Bytes::new(),
    }
}

fn fragments(blocks: &[RequestBlock<'_>]) -> Bytes {
    let mut bytes = Vec::new();
    for block in blocks {
        bytes.push(b',');
        write_json(&mut bytes, block);
    }
    bytes.into()
}

/// Blank text is refused by the server, and says nothing.
fn blocks(content: &[ContentItem]) -> Vec<RequestBlock<'_>> {
    let is_told = |part: &&ContentItem| part.text().is_none_or(|text| !text.trim().is_empty());
    content.iter().filter(is_told).map(block).collect()
}

fn block(part: &ContentItem) -> RequestBlock<'_> {
    match part {
        ContentItem::InputText { text }
        | ContentItem::OutputText { text }
        | ContentItem::Refusal { refusal: text } => RequestBlock::Text { text },
        ContentItem::InputImage { image_url, .. } => RequestBlock::Image {
            source: source(image_url),
        },
    }
}

fn source(url: &str) -> ImageSource<'_> {
    let inline = url.strip_prefix("data:");
    match inline.and_then(|rest| rest.split_once(";base64,")) {
        Some((media_type, data)) => ImageSource::Base64 { media_type, data },
        None => ImageSource::Url { url },
    }
}

/// Arguments go back exactly as the model wrote them, if they are the object that this wire
/// demands; others go back as text inside one.
fn encode_call(name: &str, arguments: &str, call_id: &str) -> Bytes {
    let as_written = match arguments.trim() {
        "" => "{}",
        text => text,
    };
    let wrapped;
    let object = match serde_json::from_str::<&RawValue>(as_written) {
        Ok(raw) if raw.get().starts_with('{') => raw,
        Ok(_) | Err(_) => {
            wrapped = json!({ "arguments": arguments }).to_string();
            serde_json::from_str(&wrapped).expect("what was just written as JSON is JSON")
        }
    };
    fragments(&[RequestBlock::ToolUse {
        id: permitted_id(call_id),
        name,
        input: object,
    }])
}

/// Ids of other servers may have characters that this one refuses.
fn permitted_id(id: &str) -> Cow<'_, str> {
    let is_permitted = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if id.chars().all(is_permitted) {
        return Cow::Borrowed(id);
    }
    let permitted = id.chars().map(|c| if is_permitted(c) { c } else { '_' });
    Cow::Owned(permitted.collect())
}

/// Encodes the whole list of tools, with a cache mark on the last.
pub(crate) fn encode_tools(specs: &[ToolSpec]) -> Bytes {
    let mut tools: Vec<Value> = specs.iter().map(tool).collect();
    if let Some(last) = tools.last_mut() {
        last["cache_control"] = json!({ "type": "ephemeral" });
    }
    let mut bytes = Vec::new();
    write_json(&mut bytes, &tools);
    bytes.into()
}

fn tool(spec: &ToolSpec) -> Value {
    let (name, description, schema) = match spec {
        ToolSpec::Function {
            name,
            description,
            parameters,
        } => (name, description, Value::clone(parameters)),
        ToolSpec::Freeform {
            name, description, ..
        } => (name, description, input_parameters()),
    };
    json!({ "name": name, "description": description, "input_schema": schema })
}
