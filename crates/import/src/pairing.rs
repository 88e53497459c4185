//! Keeps calls and answers together. Providers refuse a request in which a call has no answer,
//! an answer no call, or anything stands between a call's answers and the words that follow; and
//! they refuse names and ids of other shapes than their own.

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::{Hash, Hasher};

use troupe_protocol::CallId;
use troupe_protocol::history::{ResponseItem, ToolOutputBody};

use crate::limits::{CALL_ID_CHARS_MAX, TOOL_NAME_CHARS_MAX};
use crate::losses::{LossKind, LossReport};
use crate::passage::{Passage, TimedPassage};

/// What a call is answered with that has no answer.
const MISSING_ANSWER: &str =
    "aborted: the conversation that this call was taken over from holds no answer to it";

/// Passes a conversation on, with what belongs together side by side.
#[derive(Debug, Default)]
pub(crate) struct CallPairing {
    /// The calls that wait for an answer, in their order.
    open: Vec<OpenCall>,
    /// Answers have come, so the response with the calls is over.
    is_answered: bool,
    /// What came between calls and their answers.
    held: Vec<TimedPassage>,
    /// All calls that there were, with what they were about.
    seen: HashMap<String, u64>,
}

#[derive(Debug)]
struct OpenCall {
    /// As the other agent names it.
    foreign: String,
    /// As it is named here.
    own: CallId,
    kind: CallKind,
}

#[derive(Debug, Clone, Copy)]
enum CallKind {
    Function,
    Custom,
}

impl CallPairing {
    /// Takes a piece and adds to `out` what can go on now.
    pub(crate) fn push(
        &mut self,
        piece: TimedPassage,
        out: &mut Vec<TimedPassage>,
        losses: &mut LossReport,
    ) {
        let TimedPassage { at, passage } = piece;
        match passage {
            Passage::Answered(item) => {
                if let Some(answer) = self.answer(item, losses) {
                    out.push(TimedPassage {
                        at,
                        passage: Passage::Answered(answer),
                    });
                    self.release(out, losses);
                }
            }
            Passage::Called(item) if !self.is_answered => {
                if let Some(call) = self.call(item, losses) {
                    out.push(TimedPassage {
                        at,
                        passage: Passage::Called(call),
                    });
                }
            }
            // Part of the response that the calls are in.
            passage @ (Passage::Said(_) | Passage::Thought(_)) if !self.is_answered => {
                out.push(TimedPassage { at, passage });
            }
            passage @ Passage::Named(_) => out.push(TimedPassage { at, passage }),
            passage @ (Passage::TurnBegan
            | Passage::Compacted { .. }
            | Passage::TurnEnded(_)
            | Passage::RolledBack { .. }) => {
                self.close(at, out, losses);
                out.push(TimedPassage { at, passage });
            }
            passage @ (Passage::Asked { .. }
            | Passage::Told(_)
            | Passage::Called(_)
            | Passage::Said(_)
            | Passage::Thought(_)) => {
                let piece = TimedPassage { at, passage };
                if self.open.is_empty() {
                    out.push(piece);
                } else {
                    self.held.push(piece);
                }
            }
        }
    }

    /// Answers what is open, because nothing more comes that could.
    pub(crate) fn close(
        &mut self,
        at: Option<troupe_store::UnixMillis>,
        out: &mut Vec<TimedPassage>,
        losses: &mut LossReport,
    ) {
        while !self.open.is_empty() || !self.held.is_empty() {
            for call in std::mem::take(&mut self.open) {
                losses.add(LossKind::CallWithoutAnswer);
                let answer = call.answer(MISSING_ANSWER.into());
                out.push(TimedPassage {
                    at,
                    passage: Passage::Answered(answer),
                });
            }
            self.release(out, losses);
        }
        self.is_answered = false;
    }

    /// Passes on what was held, once nothing is open any more.
    fn release(&mut self, out: &mut Vec<TimedPassage>, losses: &mut LossReport) {
        if !self.open.is_empty() {
            return;
        }
        self.is_answered = false;
        for piece in std::mem::take(&mut self.held) {
            self.push(piece, out, losses);
        }
    }

    fn call(&mut self, mut item: ResponseItem, losses: &mut LossReport) -> Option<ResponseItem> {
        let (kind, name, about, id) = match &mut item {
            ResponseItem::FunctionCall {
                name,
                arguments,
                call_id,
                ..
            } => (CallKind::Function, name, &*arguments, call_id),
            ResponseItem::CustomToolCall {
                name,
                input,
                call_id,
                ..
            } => (CallKind::Custom, name, &*input, call_id),
            _ => return None,
        };
        let foreign = id.0.clone();
        let about = fingerprint(name, about);
        *name = provider_safe_name(name, TOOL_NAME_CHARS_MAX, "tool");
        let mut own = provider_safe_name(&foreign, CALL_ID_CHARS_MAX, "call");
        match self.seen.entry(own.clone()) {
            Entry::Vacant(entry) => {
                entry.insert(about);
            }
            Entry::Occupied(entry) if *entry.get() == about => {
                losses.add(LossKind::Duplicate);
                return None;
            }
            Entry::Occupied(_) => {
                own = format!("call_imported_{}", self.seen.len());
                self.seen.insert(own.clone(), about);
            }
        }
        *id = CallId(own);
        self.open.push(OpenCall {
            foreign,
            own: id.clone(),
            kind,
        });
        Some(item)
    }

    fn answer(&mut self, item: ResponseItem, losses: &mut LossReport) -> Option<ResponseItem> {
        let (ResponseItem::FunctionCallOutput { call_id, output }
        | ResponseItem::CustomToolCallOutput { call_id, output }) = item
        else {
            return None;
        };
        let asked = self.open.iter().position(|call| call.foreign == call_id.0);
        let Some(asked) = asked else {
            losses.add(LossKind::AnswerWithoutCall);
            return None;
        };
        self.is_answered = true;
        Some(self.open.remove(asked).answer(output))
    }
}

impl OpenCall {
    fn answer(self, output: ToolOutputBody) -> ResponseItem {
        let call_id = self.own;
        match self.kind {
            CallKind::Function => ResponseItem::FunctionCallOutput { call_id, output },
            CallKind::Custom => ResponseItem::CustomToolCallOutput { call_id, output },
        }
    }
}

fn fingerprint(name: &str, about: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (name, about).hash(&mut hasher);
    hasher.finish()
}

/// Returns a name that every provider takes.
fn provider_safe_name(name: &str, chars_max: usize, fallback: &str) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
            c
        } else {
            '_'
        }
    };
    let fit: String = name.chars().map(letter).take(chars_max).collect();
    if fit.is_empty() {
        fallback.to_owned()
    } else {
        fit
    }
}
