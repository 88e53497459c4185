//! Events of the Responses API → ours. Fields that not every server sends (indexes,
//! sequence numbers, even ids) are optional.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use troupe_protocol::history::{ContentItem, ReasoningPart, Role, SummaryPart};
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{CallId, ResponseId, ResponseItem};

use super::arguments_as_input;
use crate::error::ModelError;
use crate::event::{ItemKind, ModelEvent};
use crate::request::ToolSet;
use crate::sse::SseEvent;
use crate::wire::FreeformOffer;
use crate::wire::fault::{self, ProviderComplaint};
use crate::wire::items::ResponseItems;

#[derive(Debug)]
pub(crate) struct ResponsesDecoder {
    freeform: FreeformOffer,
    tools: Arc<ToolSet>,
    items: ResponseItems,
    response_id: Option<ResponseId>,
}

#[derive(Deserialize)]
struct EventTag<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct OutputTextDelta<'a> {
    #[serde(borrow, default)]
    item_id: Cow<'a, str>,
    delta: String,
}

#[derive(Deserialize)]
struct SummaryDelta<'a> {
    #[serde(borrow, default)]
    item_id: Cow<'a, str>,
    #[serde(default)]
    summary_index: u32,
    #[serde(default)]
    delta: String,
}

#[derive(Deserialize)]
struct ReasoningDelta<'a> {
    #[serde(borrow, default)]
    item_id: Cow<'a, str>,
    #[serde(default)]
    content_index: u32,
    delta: String,
}

#[derive(Deserialize)]
struct ItemEvent<'a> {
    #[serde(borrow)]
    item: &'a RawValue,
}

#[derive(Deserialize)]
struct ItemHead<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    id: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct ResponseEvent<'a> {
    #[serde(borrow)]
    response: ResponseFields<'a>,
}

#[derive(Deserialize)]
struct ResponseFields<'a> {
    id: Option<String>,
    usage: Option<ResponsesUsage>,
    #[serde(borrow)]
    output: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    incomplete_details: Option<IncompleteDetails>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct ResponsesUsage {
    #[serde(default)]
    input_tokens: u64,
    input_tokens_details: Option<InputDetails>,
    #[serde(default)]
    output_tokens: u64,
    output_tokens_details: Option<ResponsesOutputDetails>,
    total_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct InputDetails {
    #[serde(default)]
    cached_tokens: u64,
    #[serde(default)]
    cache_write_tokens: u64,
}

#[derive(Deserialize)]
struct ResponsesOutputDetails {
    #[serde(default)]
    reasoning_tokens: u64,
}

impl ResponsesDecoder {
    pub(crate) fn new(freeform: FreeformOffer, tools: Arc<ToolSet>) -> Self {
        Self {
            freeform,
            tools,
            items: ResponseItems::default(),
            response_id: None,
        }
    }

    pub(crate) fn event(
        &mut self,
        event: SseEvent<'_>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let SseEvent { name, data } = event;
        // The name of the SSE event saves a first pass over the data; not all send it.
        if name.starts_with("response.") || name == "error" {
            return self.named(name, data, out);
        }
        if data == "[DONE]" {
            return Ok(());
        }
        let tag: EventTag<'_> = parse("without a type", data)?;
        match (&*tag.kind, tag.error) {
            ("", Some(_)) => self.named("error", data, out),
            (kind, _) => self.named(kind, data, out),
        }
    }

    fn named(
        &mut self,
        kind: &str,
        data: &str,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        match kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                let event: OutputTextDelta<'_> = parse(kind, data)?;
                self.items.text_delta(&event.item_id, event.delta, out);
            }
            "response.reasoning_summary_text.delta" => {
                let event: SummaryDelta<'_> = parse(kind, data)?;
                self.items
                    .summary_delta(&event.item_id, event.summary_index, event.delta, out);
            }
            "response.reasoning_summary_part.added" => {
                let event: SummaryDelta<'_> = parse(kind, data)?;
                self.items
                    .summary_part(&event.item_id, event.summary_index, out);
            }
            "response.reasoning_text.delta" => {
                let event: ReasoningDelta<'_> = parse(kind, data)?;
                self.items
                    .reasoning_delta(&event.item_id, event.content_index, event.delta, out);
            }
            "response.created" => {
                let event: ResponseEvent<'_> = parse(kind, data)?;
                self.response_id = event.response.id.map(ResponseId);
                out.push(ModelEvent::Created {
                    response_id: self.response_id.clone(),
                });
            }
            "response.output_item.added" => {
                let event: ItemEvent<'_> = parse(kind, data)?;
                let head: ItemHead<'_> = parse(kind, event.item.get())?;
                let id = head.id.as_deref().unwrap_or_default();
                self.items.start(id, self.kind(&head), out);
            }
            "response.output_item.done" => {
                let event: ItemEvent<'_> = parse(kind, data)?;
                let (id, item) = self.item(event.item)?;
                self.items.finish(&id, item, out);
            }
            "response.completed" | "response.done" => self.completed(parse(kind, data)?, out)?,
            "response.failed" => {
                let event: ResponseEvent<'_> = parse(kind, data)?;
                let error = event.response.error.map_or("", RawValue::get);
                return Err(ProviderComplaint::parse(error).into_stream_error());
            }
            "response.incomplete" => {
                let event: ResponseEvent<'_> = parse(kind, data)?;
                let reason = event.response.incomplete_details.and_then(|it| it.reason);
                return Err(fault::incomplete(
                    reason.as_deref().unwrap_or("no reason given"),
                ));
            }
            "error" => return Err(ProviderComplaint::parse(data).into_stream_error()),
            // The rest repeats what other events say, or is about things that we do not
            // ask for. Providers add kinds freely; an unknown one is no fault.
            _ => {}
        }
        self.items.check_number()
    }

    fn completed(
        &mut self,
        event: ResponseEvent<'_>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let response = event.response;
        let list = response.output.unwrap_or_default();
        let list = list
            .into_iter()
            .map(|raw| self.item(raw))
            .collect::<Result<Vec<_>, _>>()?;
        self.items.reconcile(list, out)?;
        let response_id = response
            .id
            .map(ResponseId)
            .or(self.response_id.take())
            .unwrap_or_else(|| ResponseId(format!("resp_{}", uuid::Uuid::new_v4().simple())));
        out.push(ModelEvent::Completed {
            response_id,
            usage: response.usage.map(TokenUsage::from).unwrap_or_default(),
        });
        Ok(())
    }

    fn kind(&self, head: &ItemHead<'_>) -> ItemKind {
        let name = || head.name.clone().unwrap_or_default();
        match &*head.kind {
            "message" => ItemKind::Message,
            "reasoning" => ItemKind::Reasoning,
            "function_call" if self.is_disguised(&name()) => {
                ItemKind::CustomToolCall { name: name() }
            }
            "function_call" => ItemKind::FunctionCall { name: name() },
            "custom_tool_call" => ItemKind::CustomToolCall { name: name() },
            _ => ItemKind::Other,
        }
    }

    /// Tells whether a function is one of our free-text tools in disguise.
    fn is_disguised(&self, name: &str) -> bool {
        self.freeform == FreeformOffer::AsFunction && self.tools.is_freeform(name)
    }

    /// Reads an item and its id, which is empty when the server gave none.
    fn item(&self, raw: &RawValue) -> Result<(String, ResponseItem), ModelError> {
        let head: ItemHead<'_> = parse("item", raw.get())?;
        let item = read_item(&head.kind, raw.get()).map_err(|e| fault::malformed("item", &e))?;
        let item = match item {
            ResponseItem::FunctionCall {
                id,
                name,
                arguments,
                call_id,
            } if self.is_disguised(&name) => ResponseItem::CustomToolCall {
                id,
                name,
                input: arguments_as_input(arguments),
                call_id,
            },
            item => item,
        };
        Ok((head.id.unwrap_or_default(), item))
    }
}

fn parse<'a, T: Deserialize<'a>>(what: &str, data: &'a str) -> Result<T, ModelError> {
    serde_json::from_str(data).map_err(|error| fault::malformed(what, &error))
}

#[derive(Deserialize)]
struct MessageItem {
    id: Option<String>,
    role: Option<Role>,
    content: Option<Vec<ResponsesPart>>,
}

/// A part of a message or a reasoning item. A kind of part that we do not know is left
/// out; its message stays.
#[derive(Deserialize)]
struct ResponsesPart {
    #[serde(default, rename = "type")]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct ReasoningFields {
    id: Option<String>,
    summary: Option<Vec<ResponsesPart>>,
    content: Option<Vec<ResponsesPart>>,
    encrypted_content: Option<String>,
}

#[derive(Deserialize)]
struct CallItem<'a> {
    id: Option<String>,
    name: String,
    /// Text by the book; some servers send the object itself.
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(default)]
    input: String,
    call_id: Option<CallId>,
}

fn read_item(kind: &str, json: &str) -> Result<ResponseItem, serde_json::Error> {
    Ok(match kind {
        "message" => {
            let item: MessageItem = serde_json::from_str(json)?;
            ResponseItem::Message {
                id: item.id,
                role: item.role.unwrap_or(Role::Assistant),
                content: item
                    .content
                    .into_iter()
                    .flatten()
                    .filter_map(content_part)
                    .collect(),
                metadata: None,
                said: false,
            }
        }
        "reasoning" => {
            let item: ReasoningFields = serde_json::from_str(json)?;
            let content = item.content.map(|parts| {
                let texts = parts.into_iter().filter_map(|part| part.text);
                texts
                    .map(|text| ReasoningPart::ReasoningText { text })
                    .collect()
            });
            ResponseItem::Reasoning {
                id: item.id,
                summary: item
                    .summary
                    .into_iter()
                    .flatten()
                    .filter_map(|part| part.text)
                    .map(|text| SummaryPart::SummaryText { text })
                    .collect(),
                content: content.filter(|parts: &Vec<_>| !parts.is_empty()),
                encrypted_content: item.encrypted_content.filter(|text| !text.is_empty()),
            }
        }
        "function_call" => {
            let item: CallItem<'_> = serde_json::from_str(json)?;
            ResponseItem::FunctionCall {
                id: item.id,
                name: item.name,
                arguments: item.arguments.map(text_or_json).unwrap_or_default(),
                call_id: item.call_id.unwrap_or_else(new_call_id),
            }
        }
        "custom_tool_call" => {
            let item: CallItem<'_> = serde_json::from_str(json)?;
            ResponseItem::CustomToolCall {
                id: item.id,
                name: item.name,
                input: item.input,
                call_id: item.call_id.unwrap_or_else(new_call_id),
            }
        }
        _ => ResponseItem::Other(serde_json::from_str(json)?),
    })
}

fn content_part(part: ResponsesPart) -> Option<ContentItem> {
    match part.kind.as_str() {
        "output_text" | "text" => part.text.map(|text| ContentItem::OutputText { text }),
        "refusal" => part.refusal.map(|refusal| ContentItem::Refusal { refusal }),
        _ => None,
    }
}

fn text_or_json(raw: &RawValue) -> String {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
}

pub(crate) fn new_call_id() -> CallId {
    CallId(format!("call_{}", uuid::Uuid::new_v4().simple()))
}

impl From<ResponsesUsage> for TokenUsage {
    fn from(usage: ResponsesUsage) -> Self {
        let input = usage.input_tokens_details;
        Self {
            input_tokens: usage.input_tokens,
            cached_input_tokens: input.as_ref().map_or(0, |it| it.cached_tokens),
            cache_write_input_tokens: input.as_ref().map_or(0, |it| it.cache_write_tokens),
            output_tokens: usage.output_tokens,
            reasoning_output_tokens: usage
                .output_tokens_details
                .map_or(0, |it| it.reasoning_tokens),
            total_tokens: usage
                .total_tokens
                .unwrap_or(usage.input_tokens + usage.output_tokens),
        }
    }
}

#[cfg(test)]
mod tests;
