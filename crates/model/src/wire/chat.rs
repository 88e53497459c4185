//! Chat Completions: our items as messages. The differences that this file hides:
//!
//! - A message and the calls that follow it are one assistant message.
//! - Answers of tools must follow the calls directly, and are text. Images among them,
//!   and what the model said after its calls, go into messages after the answers.
//! - Many templates allow a system message only at the start: developer messages that
//!   lead the history join the instructions, later ones speak as the user.
//! - Reasoning is shown to people but not sent back; servers disagree on whether that is
//!   allowed. Items that only another wire knows are left out.

pub(crate) mod decode;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use troupe_protocol::ResponseItem;
use troupe_protocol::history::{ContentItem, Role, ToolOutputBody};
use troupe_protocol::tool::ToolSpec;

use super::pieces::{ArrayElements, BodyBuilder, BodyPieces, fragment, write_json};
use super::responses::{input_as_arguments, input_parameters};
use super::{OutputBound, WireEncoding};
use crate::request::{HistoryItem, ModelRequest};

pub(crate) fn body(request: &ModelRequest, output_tokens_max: Option<OutputBound>) -> BodyPieces {
    let mut builder = BodyBuilder::default();
    builder.glue("{\"model\":");
    builder.json(&request.model);
    builder.glue(",\"messages\":[");
    let (system, rest) = system_message(request);
    let mut messages = ChatMessageWriter::new(&mut builder);
    messages.whole(&system);
    for item in rest {
        messages.item(item);
    }
    messages.end();
    builder.glue("]");
    if !request.tools.specs().is_empty() {
        builder.glue(",\"tools\":");
        builder.share(request.tools.encoded(WireEncoding::Chat).clone());
        builder.glue(",\"tool_choice\":");
        builder.json(request.tool_choice.as_str());
        // Servers that do not know the field refuse it, and one call at a time is asked
        // for rarely.
        if !request.parallel_tool_calls {
            builder.glue(",\"parallel_tool_calls\":false");
        }
    }
    if let Some(effort) = request.effort {
        builder.glue(",\"reasoning_effort\":");
        builder.json(&effort);
    }
    if let Some(schema) = &request.output_schema {
        let format = json!({
            "type": "json_schema",
            "json_schema": { "name": "output", "strict": true, "schema": schema },
        });
        builder.glue(",\"response_format\":");
        builder.json(&format);
    }
    if let Some(OutputBound { field, tokens }) = output_tokens_max {
        builder.glue(&format!(",\"{field}\":{tokens}"));
    }
    builder.glue(",\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
    builder.finish()
}

/// Joins the instructions with the developer messages that lead the history.
fn system_message(request: &ModelRequest) -> (Bytes, &[std::sync::Arc<HistoryItem>]) {
    let leading = request
        .input
        .iter()
        .take_while(|item| {
            matches!(
                item.item(),
                ResponseItem::Message {
                    role: Role::System | Role::Developer,
                    ..
                }
            )
        })
        .count();
    let (leading, rest) = request.input.split_at(leading);
    let mut text = request.instructions.text().to_owned();
    for item in leading {
        if let ResponseItem::Message { content, .. } = item.item() {
            for part in content.iter().filter_map(ContentItem::text) {
                if !text.is_empty() {
                    text.push_str("\n\n");
                }
                text.push_str(part);
            }
        }
    }
    if text.is_empty() {
        return (Bytes::new(), rest);
    }
    let message = fragment(&json!({ "role": "system", "content": text }));
    (message, rest)
}

/// Writes the list of messages.
struct ChatMessageWriter<'a> {
    builder: &'a mut BodyBuilder,
    elements: ArrayElements,
    assistant: AssistantState,
    /// Messages that must wait until all answers of the open calls are written.
    after_answers: Vec<Bytes>,
}

/// The assistant message being written.
#[derive(PartialEq, Eq)]
enum AssistantState {
    None,
    Text,
    Calls,
}

const ASSISTANT_BEGIN: Bytes = Bytes::from_static(b",{\"role\":\"assistant\"");
const CONTENT_NULL: &str = ",\"content\":null";

impl<'a> ChatMessageWriter<'a> {
    fn new(builder: &'a mut BodyBuilder) -> Self {
        Self {
            builder,
            elements: ArrayElements::default(),
            assistant: AssistantState::None,
            after_answers: Vec::new(),
        }
    }

    fn item(&mut self, item: &HistoryItem) {
        let encoded = item.encoded(WireEncoding::Chat);
        match item.item() {
            ResponseItem::Message {
                role: Role::Assistant,
                ..
            } => self.assistant_text(encoded),
            ResponseItem::Message { .. } => {
                self.end_answers();
                self.whole(encoded);
            }
            ResponseItem::FunctionCall { .. } | ResponseItem::CustomToolCall { .. } => {
                self.call(encoded);
            }
            ResponseItem::FunctionCallOutput { .. } | ResponseItem::CustomToolCallOutput { .. } => {
                self.end_assistant();
                self.whole(encoded);
                let images = item.encoded(WireEncoding::ChatImages);
                if !images.is_empty() {
                    self.after_answers.push(images.clone());
                }
            }
            _ => {}
        }
    }

    fn whole(&mut self, message: &Bytes) {
        self.elements.push(self.builder, message);
    }

    fn assistant_text(&mut self, content: &Bytes) {
        if self.assistant == AssistantState::Calls {
            let message = [&ASSISTANT_BEGIN[..], content, b"}"].concat();
            self.after_answers.push(message.into());
            return;
        }
        self.end_answers();
        self.whole(&ASSISTANT_BEGIN);
        self.builder.share(content.clone());
        self.assistant = AssistantState::Text;
    }

    fn call(&mut self, call: &Bytes) {
        match self.assistant {
            AssistantState::Calls => {
                self.builder.share(call.clone());
                return;
            }
            AssistantState::Text => {}
            AssistantState::None => {
                self.end_answers();
                self.whole(&ASSISTANT_BEGIN);
                self.builder.glue(CONTENT_NULL);
            }
        }
        self.builder.glue(",\"tool_calls\":[");
        self.builder.share(call.slice(1..));
        self.assistant = AssistantState::Calls;
    }

    fn end_assistant(&mut self) {
        match self.assistant {
            AssistantState::None => {}
            AssistantState::Text => self.builder.glue("}"),
            AssistantState::Calls => self.builder.glue("]}"),
        }
        self.assistant = AssistantState::None;
    }

    fn end_answers(&mut self) {
        self.end_assistant();
        for message in std::mem::take(&mut self.after_answers) {
            self.whole(&message);
        }
    }

    fn end(mut self) {
        self.end_answers();
    }
}

/// Encodes one item: a whole message, the content of an assistant message, or one call.
pub(crate) fn encode_item(item: &ResponseItem) -> Bytes {
    match item {
        ResponseItem::Message {
            role: Role::Assistant,
            content,
            ..
        } => {
            let text: String = content.iter().filter_map(ContentItem::text).collect();
            let mut bytes = b",\"content\":".to_vec();
            write_json(&mut bytes, &text);
            bytes.into()
        }
        ResponseItem::Message { content, .. } => fragment(&ChatMessage {
            role: "user",
            content: user_content(content),
        }),
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
        | ResponseItem::CustomToolCallOutput { call_id, output } => fragment(&json!({
            "role": "tool",
            "tool_call_id": call_id,
            "content": answer_text(output),
        })),
        _ => Bytes::new(),
    }
}

/// Encodes the images of a tool's answer as a message of the user.
pub(crate) fn encode_images(item: &ResponseItem) -> Bytes {
    let (ResponseItem::FunctionCallOutput { output, .. }
    | ResponseItem::CustomToolCallOutput { output, .. }) = item
    else {
        return Bytes::new();
    };
    let ToolOutputBody::Parts(parts) = output else {
        return Bytes::new();
    };
    let images: Vec<_> = parts.iter().filter(|part| part.text().is_none()).collect();
    if images.is_empty() {
        return Bytes::new();
    }
    fragment(&ChatMessage {
        role: "user",
        content: ChatContent::Parts(images.into_iter().map(part).collect()),
    })
}

#[derive(Serialize)]
struct ChatMessage<'a> {
    role: &'static str,
    content: ChatContent<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ChatContent<'a> {
    Text(&'a str),
    Parts(Vec<ChatPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: &'a str,
}

/// Plain text where possible: not every server takes parts.
fn user_content(content: &[ContentItem]) -> ChatContent<'_> {
    match content {
        [single] if single.text().is_some() => ChatContent::Text(single.text().unwrap_or_default()),
        parts => ChatContent::Parts(parts.iter().map(part).collect()),
    }
}

fn part(item: &ContentItem) -> ChatPart<'_> {
    match item {
        ContentItem::InputText { text }
        | ContentItem::OutputText { text }
        | ContentItem::Refusal { refusal: text } => ChatPart::Text { text },
        ContentItem::InputImage { image_url, .. } => ChatPart::ImageUrl {
            image_url: ImageUrl { url: image_url },
        },
    }
}

fn answer_text(output: &ToolOutputBody) -> String {
    match output {
        ToolOutputBody::Text(text) => text.clone(),
        ToolOutputBody::Parts(parts) => parts
            .iter()
            .map(|part| part.text().unwrap_or("[image: see the message below]"))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

fn encode_call(name: &str, arguments: &str, call_id: &str) -> Bytes {
    fragment(&json!({
        "id": call_id,
        "type": "function",
        "function": { "name": name, "arguments": arguments },
    }))
}

/// Encodes the whole list of tools.
pub(crate) fn encode_tools(specs: &[ToolSpec]) -> Bytes {
    let tools: Vec<Value> = specs
        .iter()
        .map(|spec| {
            let function = match spec {
                ToolSpec::Function {
                    name,
                    description,
                    parameters,
                } => {
                    json!({ "name": name, "description": description, "parameters": parameters })
                }
                ToolSpec::Freeform {
                    name, description, ..
                } => json!({
                    "name": name,
                    "description": description,
                    "parameters": input_parameters(),
                }),
            };
            json!({ "type": "function", "function": function })
        })
        .collect();
    let mut bytes = Vec::new();
    write_json(&mut bytes, &tools);
    bytes.into()
}

#[cfg(test)]
mod tests;
