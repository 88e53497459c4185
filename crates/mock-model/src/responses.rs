//! A turn as the Responses API streams it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::screenplay::{ScriptedEnd, ScriptedStep, StreamAnswer, TextSplit};
use crate::server::ResponseNames;
use crate::timed_bytes::{TimedBytes, TimedSegment};

pub(crate) fn render(answer: &StreamAnswer, names: &ResponseNames) -> Vec<TimedSegment> {
    let mut scene = ResponsesRenderer {
        names,
        reel: TimedBytes::default(),
        output: Vec::new(),
    };
    let response =
        json!({ "id": names.response_id, "object": "response", "status": "in_progress" });
    scene.event("response.created", json!({ "response": response }));
    for step in &answer.steps {
        scene.step(step);
    }
    scene.end(answer);
    scene.reel.finish()
}

struct ResponsesRenderer<'a> {
    names: &'a ResponseNames,
    reel: TimedBytes,
    output: Vec<Value>,
}

impl ResponsesRenderer<'_> {
    fn step(&mut self, step: &ScriptedStep) {
        match step {
            ScriptedStep::Say {
                text,
                split,
                pace,
                unfinished,
            } => {
                let message = self.say(&self.names.fill(text), *split, *pace);
                if !unfinished {
                    self.done(message);
                }
            }
            ScriptedStep::Think { text } => self.think(&self.names.fill(text)),
            ScriptedStep::Call {
                name,
                arguments,
                call_id,
            } => {
                let item = json!({
                    "type": "function_call",
                    "id": self.item_id("fc"),
                    "call_id": self.call_id(call_id.as_deref()),
                    "name": name,
                    "arguments": self.names.fill(arguments),
                    "status": "completed",
                });
                self.whole(item);
            }
            ScriptedStep::Custom {
                name,
                input,
                call_id,
            } => {
                let item = json!({
                    "type": "custom_tool_call",
                    "id": self.item_id("ctc"),
                    "call_id": self.call_id(call_id.as_deref()),
                    "name": name,
                    "input": self.names.fill(input),
                    "status": "completed",
                });
                self.whole(item);
            }
            ScriptedStep::Pause(pause) => self.reel.add(TimedSegment::Pause(*pause)),
            ScriptedStep::Malformed(data) => self.reel.raw(data),
            ScriptedStep::Repeat => {
                if let Some(item) = self.output.last().cloned() {
                    let output_index = self.output.len() - 1;
                    self.event(
                        "response.output_item.done",
                        json!({ "output_index": output_index, "item": item }),
                    );
                }
            }
        }
    }

    /// Streams a message and returns it whole.
    fn say(&mut self, text: &str, split: TextSplit, pace: Duration) -> Value {
        let id = self.item_id("msg");
        let output_index = self.output.len();
        let message = |status: &str, text: &str| {
            json!({
                "type": "message",
                "id": id,
                "role": "assistant",
                "status": status,
                "content": [{ "type": "output_text", "text": text, "annotations": [] }],
            })
        };
        self.event(
            "response.output_item.added",
            json!({ "output_index": output_index, "item": message("in_progress", "") }),
        );
        let delta = |reel: &mut TimedBytes, delta: &str| {
            event(
                reel,
                "response.output_text.delta",
                json!({
                    "item_id": id,
                    "output_index": output_index,
                    "content_index": 0,
                    "delta": delta,
                }),
            );
        };
        let full = match split {
            TextSplit::Times(times) => {
                self.reel.repeat(times, |reel| delta(reel, text));
                text.repeat(times)
            }
            TextSplit::Words | TextSplit::Chunks(_) => {
                for piece in pieces(text, split) {
                    delta(&mut self.reel, piece);
                    if !pace.is_zero() {
                        self.reel.add(TimedSegment::Pause(pace));
                    }
                }
                text.to_owned()
            }
        };
        message("completed", &full)
    }

    fn think(&mut self, text: &str) {
        let id = self.item_id("rs");
        let output_index = self.output.len();
        self.event(
            "response.output_item.added",
            json!({
                "output_index": output_index,
                "item": { "type": "reasoning", "id": id, "summary": [] },
            }),
        );
        let at = json!({ "item_id": id, "output_index": output_index, "summary_index": 0 });
        let with = |name: &str, value: Value| {
            let mut event = at.clone();
            event[name] = value;
            event
        };
        let part = json!({ "type": "summary_text", "text": "" });
        self.event("response.reasoning_summary_part.added", with("part", part));
        for piece in pieces(text, TextSplit::Words) {
            self.event(
                "response.reasoning_summary_text.delta",
                with("delta", json!(piece)),
            );
        }
        self.done(json!({
            "type": "reasoning",
            "id": id,
            "summary": [{ "type": "summary_text", "text": text }],
            "encrypted_content": format!("scripted:{id}"),
        }));
    }

    /// An item that comes in one piece.
    fn whole(&mut self, item: Value) {
        let output_index = self.output.len();
        self.event(
            "response.output_item.added",
            json!({ "output_index": output_index, "item": item }),
        );
        self.done(item);
    }

    fn done(&mut self, item: Value) {
        let output_index = self.output.len();
        self.event(
            "response.output_item.done",
            json!({ "output_index": output_index, "item": item }),
        );
        self.output.push(item);
    }

    fn complete(&mut self, answer: &StreamAnswer) {
        let usage = &answer.usage;
        let response = json!({
            "id": self.names.response_id,
            "object": "response",
            "status": "completed",
            "output": self.output,
            "usage": {
                "input_tokens": usage.input_tokens,
                "input_tokens_details": {
                    "cached_tokens": usage.cached_input_tokens,
                    "cache_write_tokens": usage.cache_write_input_tokens,
                },
                "output_tokens": usage.output_tokens,
                "output_tokens_details": { "reasoning_tokens": usage.reasoning_output_tokens },
                "total_tokens": usage.total_tokens,
            },
        });
        self.event("response.completed", json!({ "response": response }));
    }

    fn end(&mut self, answer: &StreamAnswer) {
        let id = &self.names.response_id;
        match &answer.end {
            ScriptedEnd::Completed => self.complete(answer),
            ScriptedEnd::Stall => self.reel.add(TimedSegment::Stall),
            ScriptedEnd::Drop => self.reel.add(TimedSegment::Cut),
            ScriptedEnd::Incomplete(reason) => {
                let response = json!({
                    "id": id,
                    "status": "incomplete",
                    "incomplete_details": { "reason": reason },
                });
                self.event("response.incomplete", json!({ "response": response }));
            }
            ScriptedEnd::Failed { code, message } => {
                let response = json!({
                    "id": id,
                    "status": "failed",
                    "error": { "code": code, "message": message },
                });
                self.event("response.failed", json!({ "response": response }));
            }
        }
    }

    fn event(&mut self, kind: &str, fields: Value) {
        event(&mut self.reel, kind, fields);
    }

    fn item_id(&self, prefix: &str) -> String {
        self.names.item_id(prefix, self.output.len())
    }

    fn call_id(&self, given: Option<&str>) -> String {
        self.names.call_id(given, self.output.len())
    }
}

fn event(reel: &mut TimedBytes, kind: &str, mut fields: Value) {
    fields["type"] = json!(kind);
    reel.event(kind, &fields);
}

/// Cuts a text into deltas that give it back when joined.
pub(crate) fn pieces(text: &str, split: TextSplit) -> Vec<&str> {
    match split {
        TextSplit::Words => text.split_inclusive(char::is_whitespace).collect(),
        TextSplit::Times(times) => vec![text; times],
        TextSplit::Chunks(chunks) => {
            let size = text.chars().count().div_ceil(chunks).max(1);
            let mut rest = text;
            let mut pieces = Vec::new();
            while !rest.is_empty() {
                let end = rest
                    .char_indices()
                    .nth(size)
                    .map_or(rest.len(), |(at, _)| at);
                let (piece, after) = rest.split_at(end);
                pieces.push(piece);
                rest = after;
            }
            pieces
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_join_to_the_text() {
        let text = "a grüße  b\n";
        assert_eq!(pieces(text, TextSplit::Words), ["a ", "grüße ", " ", "b\n"]);
        assert_eq!(pieces(text, TextSplit::Chunks(2)), ["a grüß", "e  b\n"]);
        assert_eq!(pieces(text, TextSplit::Chunks(100)).concat(), text);
        assert_eq!(pieces("", TextSplit::Chunks(3)), [""; 0]);
    }
}
