//! Chunks of Chat Completions → ours. The wire has one choice whose delta grows by text,
//! reasoning and calls; items are ours, made in the order reasoning, message, calls.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use troupe_protocol::history::ReasoningPart;
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{CallId, ResponseId, ResponseItem};

use crate::error::{ModelError, ModelErrorKind};
use crate::event::{ItemKind, ModelEvent};
use crate::limits::CALLS_PER_RESPONSE_MAX;
use crate::request::ToolSet;
use crate::sse::SseEvent;
use crate::wire::fault::{self, ProviderComplaint};
use crate::wire::responses::arguments_as_input;
use crate::wire::responses::decode::new_call_id;

const MESSAGE_ID: &str = "message";
const REASONING_ID: &str = "reasoning";

#[derive(Debug)]
pub(crate) struct ChatDecoder {
    tools: Arc<ToolSet>,
    /// Ours: servers count theirs from one, or repeat them.
    response_id: ResponseId,
    state: ChatState,
    reasoning: Option<String>,
    message: Option<String>,
    calls: Vec<ChatCall>,
    usage: TokenUsage,
}

#[derive(Debug, PartialEq, Eq)]
enum ChatState {
    Fresh,
    Streaming,
    /// The choice is finished; usage may still follow.
    Finished,
    Completed,
}

#[derive(Debug)]
struct ChatCall {
    index: Option<u32>,
    id: Option<String>,
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct ChatChunk<'a> {
    #[serde(default)]
    choices: Vec<ChatChoice>,
    usage: Option<ChatUsage>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ChatChoice {
    delta: Option<ChatDelta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ChatDelta {
    content: Option<String>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    /// The newer name of the same; some servers send both.
    reasoning: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<u32>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct ChatUsage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl ChatDecoder {
    pub(crate) fn new(tools: Arc<ToolSet>) -> Self {
        Self {
            tools,
            response_id: ResponseId(format!("chat_{}", uuid::Uuid::now_v7().simple())),
            state: ChatState::Fresh,
            reasoning: None,
            message: None,
            calls: Vec::new(),
            usage: TokenUsage::default(),
        }
    }

    pub(crate) fn event(
        &mut self,
        event: SseEvent<'_>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        if event.data == "[DONE]" {
            return self.finish(out);
        }
        let chunk: ChatChunk<'_> = serde_json::from_str(event.data)
            .map_err(|error| fault::malformed("chat chunk", &error))?;
        if let Some(error) = chunk.error {
            return Err(ProviderComplaint::parse(error.get()).into_stream_error());
        }
        if self.state == ChatState::Fresh {
            self.state = ChatState::Streaming;
            out.push(ModelEvent::Created {
                response_id: Some(self.response_id.clone()),
            });
        }
        if let Some(usage) = chunk.usage {
            self.usage = usage.into();
        }
        for choice in chunk.choices {
            if self.state != ChatState::Streaming {
                break;
            }
            if let Some(delta) = choice.delta {
                self.delta(delta, out)?;
            }
            if let Some(reason) = choice.finish_reason {
                self.end_choice(&reason, out)?;
            }
        }
        Ok(())
    }

    pub(crate) fn held_bytes(&self) -> usize {
        self.calls.iter().map(|call| call.arguments.len()).sum()
    }

    /// The stream is over. It is complete if its choice was finished.
    pub(crate) fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match self.state {
            ChatState::Completed => Ok(()),
            ChatState::Finished => {
                self.state = ChatState::Completed;
                out.push(ModelEvent::Completed {
                    response_id: self.response_id.clone(),
                    usage: self.usage,
                });
                Ok(())
            }
            ChatState::Fresh | ChatState::Streaming => Err(fault::closed_early()),
        }
    }

    fn delta(&mut self, delta: ChatDelta, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let reasoning = delta.reasoning_content.or(delta.reasoning);
        if let Some(text) = reasoning.filter(|text| !text.is_empty()) {
            let item_id = REASONING_ID.to_owned();
            grow(
                &mut self.reasoning,
                &text,
                &item_id,
                ItemKind::Reasoning,
                out,
            );
            out.push(ModelEvent::ReasoningTextDelta {
                item_id,
                content_index: 0,
                delta: text,
            });
        }
        for text in [delta.content, delta.refusal].into_iter().flatten() {
            if text.is_empty() {
                continue;
            }
            let item_id = MESSAGE_ID.to_owned();
            grow(&mut self.message, &text, &item_id, ItemKind::Message, out);
            out.push(ModelEvent::TextDelta {
                item_id,
                delta: text,
            });
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.call_delta(call, out)?;
        }
        Ok(())
    }

    fn call_delta(
        &mut self,
        delta: CallDelta,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let known = self.known_call(&delta);
        let (name, arguments) = delta
            .function
            .map_or((None, None), |function| (function.name, function.arguments));
        let position = match known {
            Some(position) => position,
            None if self.calls.len() >= CALLS_PER_RESPONSE_MAX => {
                return Err(ModelError::new(
                    ModelErrorKind::StreamDisconnected,
                    format!("the response makes more than {CALLS_PER_RESPONSE_MAX} tool calls"),
                ));
            }
            None => {
                self.calls.push(ChatCall {
                    index: delta.index,
                    id: delta.id.filter(|id| !id.is_empty()),
                    name: name.unwrap_or_default(),
                    arguments: String::new(),
                });
                let position = self.calls.len() - 1;
                out.push(ModelEvent::ItemStarted {
                    item_id: call_item_id(position),
                    kind: self.call_kind(&self.calls[position].name),
                });
                position
            }
        };
        if let Some(arguments) = arguments {
            self.calls[position].arguments.push_str(&arguments);
        }
        Ok(())
    }

    /// Finds the call that a delta continues. The index says it, but there are servers
    /// without indexes, and servers that number every call 0: a new id begins a call.
    fn known_call(&self, delta: &CallDelta) -> Option<usize> {
        let id = delta.id.as_ref().filter(|id| !id.is_empty());
        if let (None, None) = (delta.index, id) {
            return self.calls.len().checked_sub(1);
        }
        self.calls.iter().rposition(|call| {
            let same_index = delta.index.is_none() || call.index == delta.index;
            same_index && (id.is_none() || call.id.as_ref() == id)
        })
    }

    fn call_kind(&self, name: &str) -> ItemKind {
        let name = name.to_owned();
        if self.tools.is_freeform(&name) {
            ItemKind::CustomToolCall { name }
        } else {
            ItemKind::FunctionCall { name }
        }
    }

    fn end_choice(&mut self, reason: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if let Some(text) = self.reasoning.take() {
            out.push(ModelEvent::ItemDone {
                item_id: REASONING_ID.to_owned(),
                item: ResponseItem::Reasoning {
                    id: None,
                    summary: Vec::new(),
                    content: Some(vec![ReasoningPart::ReasoningText { text }]),
                    encrypted_content: None,
                },
            });
        }
        if let Some(text) = self.message.take() {
            out.push(ModelEvent::ItemDone {
                item_id: MESSAGE_ID.to_owned(),
                item: ResponseItem::assistant_text(text),
            });
        }
        // A cut answer keeps its text, but its last call may be torn: none is passed on.
        if matches!(reason, "length" | "content_filter") {
            return Err(fault::incomplete(reason));
        }
        for (position, call) in std::mem::take(&mut self.calls).into_iter().enumerate() {
            out.push(ModelEvent::ItemDone {
                item_id: call_item_id(position),
                item: self.call_item(call),
            });
        }
        self.state = ChatState::Finished;
        Ok(())
    }

    fn call_item(&self, call: ChatCall) -> ResponseItem {
        let call_id = call.id.map_or_else(new_call_id, CallId);
        if self.tools.is_freeform(&call.name) {
            ResponseItem::CustomToolCall {
                id: None,
                name: call.name,
                input: arguments_as_input(call.arguments),
                call_id,
            }
        } else {
            ResponseItem::FunctionCall {
                id: None,
                name: call.name,
                arguments: call.arguments,
                call_id,
            }
        }
    }
}

fn call_item_id(position: usize) -> String {
    format!("call_{position}")
}

/// Appends to an item's text, beginning the item with its first piece.
fn grow(
    text: &mut Option<String>,
    delta: &str,
    item_id: &str,
    kind: ItemKind,
    out: &mut Vec<ModelEvent>,
) {
    text.get_or_insert_with(|| {
        out.push(ModelEvent::ItemStarted {
            item_id: item_id.to_owned(),
            kind,
        });
        String::new()
    })
    .push_str(delta);
}

impl From<ChatUsage> for TokenUsage {
    fn from(usage: ChatUsage) -> Self {
        let cached = usage.prompt_tokens_details.and_then(|it| it.cached_tokens);
        let reasoning = usage
            .completion_tokens_details
            .and_then(|it| it.reasoning_tokens);
        Self {
            input_tokens: usage.prompt_tokens,
            cached_input_tokens: cached.unwrap_or(0),
            cache_write_input_tokens: 0,
            output_tokens: usage.completion_tokens,
            reasoning_output_tokens: reasoning.unwrap_or(0),
            total_tokens: usage
                .total_tokens
                .unwrap_or(usage.prompt_tokens + usage.completion_tokens),
        }
    }
}

#[cfg(test)]
mod tests;
