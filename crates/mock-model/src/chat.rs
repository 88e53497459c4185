//! A turn as Chat Completions streams it.

use serde_json::{Value, json};

use crate::responses::pieces;
use crate::screenplay::{ScriptedEnd, ScriptedStep, StreamAnswer, TextSplit};
use crate::server::ResponseNames;
use crate::timed_bytes::{TimedBytes, TimedSegment};

pub(crate) fn render(answer: &StreamAnswer, names: &ResponseNames) -> Vec<TimedSegment> {
    let mut scene = ChatRenderer {
        names,
        reel: TimedBytes::default(),
        calls: 0,
    };
    scene.delta(json!({ "role": "assistant", "content": "" }));
    for step in &answer.steps {
        scene.step(step);
    }
    scene.end(answer);
    scene.reel.finish()
}

struct ChatRenderer<'a> {
    names: &'a ResponseNames,
    reel: TimedBytes,
    calls: usize,
}

impl ChatRenderer<'_> {
    fn step(&mut self, step: &ScriptedStep) {
        match step {
            // A message has no end of its own on this wire.
            ScriptedStep::Say {
                text, split, pace, ..
            } => {
                let text = self.names.fill(text);
                if let TextSplit::Times(times) = split {
                    let chunk = chunk(self.names, delta(json!({ "content": text })));
                    self.reel.repeat(*times, |reel| reel.data(&chunk));
                    return;
                }
                for piece in pieces(&text, *split) {
                    self.delta(json!({ "content": piece }));
                    if !pace.is_zero() {
                        self.reel.add(TimedSegment::Pause(*pace));
                    }
                }
            }
            ScriptedStep::Think { text } => {
                for piece in pieces(&self.names.fill(text), TextSplit::Words) {
                    self.delta(json!({ "reasoning_content": piece }));
                }
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
            // This wire has no ids of items that could be repeated.
            ScriptedStep::Repeat => {}
        }
    }

    /// The arguments come in two pieces, as from a real server.
    fn call(&mut self, name: &str, arguments: &str, call_id: Option<&str>) {
        let index = self.calls;
        self.calls += 1;
        let id = self.names.call_id(call_id, index);
        let middle = arguments.floor_char_boundary(arguments.len() / 2);
        let (head, tail) = arguments.split_at(middle);
        let call = json!({
            "index": index,
            "id": id,
            "type": "function",
            "function": { "name": name, "arguments": head },
        });
        self.delta(json!({ "tool_calls": [call] }));
        let rest = json!({ "index": index, "function": { "arguments": tail } });
        self.delta(json!({ "tool_calls": [rest] }));
    }

    fn end(&mut self, answer: &StreamAnswer) {
        match &answer.end {
            ScriptedEnd::Completed => self.complete(answer),
            ScriptedEnd::Stall => self.reel.add(TimedSegment::Stall),
            ScriptedEnd::Drop => self.reel.add(TimedSegment::Cut),
            ScriptedEnd::Incomplete(reason) => self.finish(match reason.as_str() {
                "max_output_tokens" => "length",
                other => other,
            }),
            ScriptedEnd::Failed { code, message } => {
                self.reel
                    .data(&json!({ "error": { "code": code, "message": message } }));
            }
        }
    }

    fn complete(&mut self, answer: &StreamAnswer) {
        self.finish(if self.calls > 0 { "tool_calls" } else { "stop" });
        let usage = &answer.usage;
        let usage = json!({
            "prompt_tokens": usage.input_tokens,
            "prompt_tokens_details": { "cached_tokens": usage.cached_input_tokens },
            "completion_tokens": usage.output_tokens,
            "completion_tokens_details": { "reasoning_tokens": usage.reasoning_output_tokens },
            "total_tokens": usage.total_tokens,
        });
        self.chunk(json!({ "choices": [], "usage": usage }));
        self.reel.raw("[DONE]");
    }

    fn finish(&mut self, reason: &str) {
        self.chunk(json!({
            "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }],
        }));
    }

    fn delta(&mut self, fields: Value) {
        self.chunk(delta(fields));
    }

    fn chunk(&mut self, fields: Value) {
        self.reel.data(&chunk(self.names, fields));
    }
}

fn delta(fields: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": fields, "finish_reason": null }] })
}

fn chunk(names: &ResponseNames, mut fields: Value) -> Value {
    fields["id"] = json!(names.response_id);
    fields["object"] = json!("chat.completion.chunk");
    fields
}
