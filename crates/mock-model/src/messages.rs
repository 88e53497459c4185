//! A turn as Anthropic Messages streams it.

use http::StatusCode;
use serde_json::{Value, json};

use crate::responses::pieces;
use crate::screenplay::{ScriptedEnd, ScriptedStep, StreamAnswer, TextSplit};
use crate::server::ResponseNames;
use crate::timed_bytes::{TimedBytes, TimedSegment};

pub(crate) fn render(answer: &StreamAnswer, names: &ResponseNames) -> Vec<TimedSegment> {
    let mut scene = MessagesRenderer {
        names,
        reel: TimedBytes::default(),
        blocks: 0,
        calls: 0,
    };
    scene.begin(answer);
    for step in &answer.steps {
        scene.step(step);
    }
    scene.end(answer);
    scene.reel.finish()
}

/// The body of a refusal, and the last event of a stream that fails.
pub(crate) fn error(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

/// The kind that the provider gives to a refusal with this status.
pub(crate) fn error_kind(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

struct MessagesRenderer<'a> {
    names: &'a ResponseNames,
    reel: TimedBytes,
    blocks: usize,
    calls: usize,
}

impl MessagesRenderer<'_> {
    fn begin(&mut self, answer: &StreamAnswer) {
        let usage = &answer.usage;
        let cached = usage.cached_input_tokens + usage.cache_write_input_tokens;
        let message = json!({
            "id": self.names.response_id,
            "type": "message",
            "role": "assistant",
            "content": [],
            "stop_reason": null,
            "usage": {
                "input_tokens": usage.input_tokens.saturating_sub(cached),
                "cache_read_input_tokens": usage.cached_input_tokens,
                "cache_creation_input_tokens": usage.cache_write_input_tokens,
                "output_tokens": 1,
            },
        });
        self.event("message_start", json!({ "message": message }));
        self.event("ping", json!({}));
    }

    fn step(&mut self, step: &ScriptedStep) {
        match step {
            ScriptedStep::Say {
                text,
                split,
                pace,
                unfinished,
            } => {
                self.start(json!({ "type": "text", "text": "" }));
                self.say(&self.names.fill(text), *split, *pace);
                if !unfinished {
                    self.stop();
                }
            }
            ScriptedStep::Think { text } => {
                self.start(json!({ "type": "thinking", "thinking": "", "signature": "" }));
                for piece in pieces(&self.names.fill(text), TextSplit::Words) {
                    self.delta(json!({ "type": "thinking_delta", "thinking": piece }));
                }
                let signature = format!("scripted:{}", self.names.item_id("rs", self.blocks));
                self.delta(json!({ "type": "signature_delta", "signature": signature }));
                self.stop();
            }
            ScriptedStep::Call {
                name,
                arguments,
                call_id,
            } => self.call(name, &self.names.fill(arguments), call_id.as_deref()),
            ScriptedStep::Custom {
                name,
                input,
                call_id,
            } => {
                let arguments = json!({ "input": self.names.fill(input) }).to_string();
                self.call(name, &arguments, call_id.as_deref());
            }
            ScriptedStep::Pause(pause) => self.reel.add(TimedSegment::Pause(*pause)),
            ScriptedStep::Malformed(data) => self.reel.raw(data),
            ScriptedStep::Repeat => {
                if let Some(index) = self.blocks.checked_sub(1) {
                    self.event("content_block_stop", json!({ "index": index }));
                }
            }
        }
    }

    fn say(&mut self, text: &str, split: TextSplit, pace: std::time::Duration) {
        if let TextSplit::Times(times) = split {
            let index = self.blocks;
            self.reel.repeat(times, |reel| {
                let delta = json!({ "type": "text_delta", "text": text });
                event(
                    reel,
                    "content_block_delta",
                    json!({ "index": index, "delta": delta }),
                );
            });
            return;
        }
        for piece in pieces(text, split) {
            self.delta(json!({ "type": "text_delta", "text": piece }));
            if !pace.is_zero() {
                self.reel.add(TimedSegment::Pause(pace));
            }
        }
    }

    /// The arguments come in two pieces, as from a real server.
    fn call(&mut self, name: &str, arguments: &str, call_id: Option<&str>) {
        let id = self.names.call_id(call_id, self.calls);
        self.calls += 1;
        self.start(json!({ "type": "tool_use", "id": id, "name": name, "input": {} }));
        let middle = arguments.floor_char_boundary(arguments.len() / 2);
        let (head, tail) = arguments.split_at(middle);
        for piece in [head, tail] {
            self.delta(json!({ "type": "input_json_delta", "partial_json": piece }));
        }
        self.stop();
    }

    fn end(&mut self, answer: &StreamAnswer) {
        match &answer.end {
            ScriptedEnd::Completed => {
                let reason = if self.calls > 0 {
                    "tool_use"
                } else {
                    "end_turn"
                };
                self.complete(reason, answer);
            }
            ScriptedEnd::Stall => self.reel.add(TimedSegment::Stall),
            ScriptedEnd::Drop => self.reel.add(TimedSegment::Cut),
            ScriptedEnd::Incomplete(reason) => {
                let reason = match reason.as_str() {
                    "max_output_tokens" => "max_tokens",
                    "content_filter" => "refusal",
                    other => other,
                };
                self.complete(reason, answer);
            }
            ScriptedEnd::Failed { code, message } => {
                self.reel.event("error", &error(code, message));
            }
        }
    }

    fn complete(&mut self, reason: &str, answer: &StreamAnswer) {
        let usage = &answer.usage;
        self.event(
            "message_delta",
            json!({
                "delta": { "stop_reason": reason, "stop_sequence": null },
                "usage": {
                    "output_tokens": usage.output_tokens,
                    "output_tokens_details": { "thinking_tokens": usage.reasoning_output_tokens },
                },
            }),
        );
        self.event("message_stop", json!({}));
    }

    fn start(&mut self, block: Value) {
        let fields = json!({ "index": self.blocks, "content_block": block });
        self.event("content_block_start", fields);
    }

    fn delta(&mut self, delta: Value) {
        let fields = json!({ "index": self.blocks, "delta": delta });
        self.event("content_block_delta", fields);
    }

    fn stop(&mut self) {
        self.event("content_block_stop", json!({ "index": self.blocks }));
        self.blocks += 1;
    }

    fn event(&mut self, kind: &str, fields: Value) {
        event(&mut self.reel, kind, fields);
    }
}

fn event(reel: &mut TimedBytes, kind: &str, mut fields: Value) {
    fields["type"] = json!(kind);
    reel.event(kind, &fields);
}
