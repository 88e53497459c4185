//! Messages as plan mode reads them: a proposed plan in the text is an item of its own.
//!
//! ```text
//! Here is what I would do.        ─► the message
//! <proposed_plan>
//! 1. Read the parser.             ─► the plan
//! </proposed_plan>
//! ```
//!
//! Decided: a response proposes one plan, in its first block. The text of a further block
//! stays in the message, without its tags: nothing is lost, and nobody has to guess which of
//! two plans is meant. A task whose model answers several times (after a tool, or because
//! something was steered in) may propose a plan each time; the newest one counts.
//!
//! A message of nothing but blanks beside its plan is none, so it is begun with its first
//! word and not before.

use troupe_protocol::fragment::PLAN_TAGS;

use crate::tags::{self, BlockTag, TagReader, TagSegment};

/// The only kind of block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProposedPlan;

pub const TAGS: &[BlockTag<ProposedPlan>] = &[BlockTag {
    block: ProposedPlan,
    open: PLAN_TAGS[0],
    close: PLAN_TAGS[1],
}];

/// Returns what a message says, without the lines that are tags.
pub(crate) fn without_tags(text: &str) -> String {
    let segments = tags::read(TAGS, [text]).into_iter();
    let texts = segments.filter_map(|segment| match segment {
        TagSegment::Text(text) | TagSegment::Inner(ProposedPlan, text) => Some(text),
        TagSegment::Open(_) | TagSegment::Close(_) => None,
    });
    texts.collect()
}

/// Returns the plan that a message proposes.
pub(crate) fn proposed_in(text: &str) -> Option<String> {
    let mut segments = tags::read(TAGS, [text]).into_iter();
    segments.find(|segment| matches!(segment, TagSegment::Open(ProposedPlan)))?;
    let inner = segments.map_while(|segment| match segment {
        TagSegment::Inner(ProposedPlan, text) => Some(text),
        TagSegment::Open(_) | TagSegment::Close(_) | TagSegment::Text(_) => None,
    });
    Some(inner.collect())
}

/// What people are to be shown of a message next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PlanPiece {
    Message(String),
    PlanBegins,
    Plan(String),
}

/// A whole message, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MessageParts {
    pub message: String,
    pub plan: Option<String>,
}

/// The messages of one attempt at a response.
#[derive(Debug, Default)]
pub(super) struct PlanReader {
    messages: Vec<PlanMessage>,
    /// The message that has the plan.
    proposed_in: Option<usize>,
}

#[derive(Debug)]
struct PlanMessage {
    model_id: String,
    /// As the model wrote it.
    raw: String,
    reader: TagReader<ProposedPlan>,
    place: PlanTextPlace,
    /// Blanks that are shown if a word follows them.
    blanks: String,
    is_begun: bool,
    is_whole: bool,
}

/// Where the text that comes next belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlanTextPlace {
    Message,
    Plan,
}

impl PlanReader {
    /// Takes a piece of a message.
    pub(super) fn push(&mut self, model_id: &str, delta: &str) -> Vec<PlanPiece> {
        let index = self.message(model_id);
        if self.messages[index].is_whole {
            return Vec::new();
        }
        self.messages[index].raw.push_str(delta);
        let mut segments = Vec::new();
        self.messages[index].reader.push(delta, &mut segments);
        self.sort(index, segments)
    }

    /// Takes a message that is whole. Its text is authoritative over what was streamed.
    /// Returns its parts, and whether the plan shown so far was a part of it.
    pub(super) fn finish(&mut self, model_id: &str, text: &str) -> (MessageParts, bool) {
        let index = self.message(model_id);
        let had_plan = self.proposed_in == Some(index);
        if had_plan {
            self.proposed_in = None;
        }
        self.messages[index] = PlanMessage {
            raw: text.to_owned(),
            is_whole: true,
            ..PlanMessage::new(model_id)
        };
        let pieces = self.sort(index, tags::read(TAGS, [text]));
        (MessageParts::of(pieces), had_plan)
    }

    /// Returns what was held back of messages that will not become whole, by their ids.
    pub(super) fn flush(&mut self) -> Vec<(String, Vec<PlanPiece>)> {
        let mut rest = Vec::new();
        for index in 0..self.messages.len() {
            let message = &mut self.messages[index];
            if !message.is_whole {
                message.is_whole = true;
                let reader = std::mem::replace(&mut message.reader, TagReader::new(TAGS));
                let mut segments = Vec::new();
                reader.finish(&mut segments);
                let pieces = self.sort(index, segments);
                rest.push((self.messages[index].model_id.clone(), pieces));
            }
        }
        rest
    }

    /// Returns each message as the model wrote it.
    pub(super) fn raw(&self) -> impl DoubleEndedIterator<Item = &str> {
        let messages = self.messages.iter();
        messages.map(|message| message.raw.as_str())
    }

    fn message(&mut self, model_id: &str) -> usize {
        let known = self
            .messages
            .iter()
            .rposition(|message| message.model_id == model_id);
        known.unwrap_or_else(|| {
            self.messages.push(PlanMessage::new(model_id));
            self.messages.len() - 1
        })
    }

    fn sort(&mut self, index: usize, segments: Vec<TagSegment<ProposedPlan>>) -> Vec<PlanPiece> {
        let mut pieces = Vec::new();
        for segment in segments {
            let message = &mut self.messages[index];
            match segment {
                TagSegment::Open(ProposedPlan) if self.proposed_in.is_none() => {
                    self.proposed_in = Some(index);
                    message.place = PlanTextPlace::Plan;
                    pieces.push(PlanPiece::PlanBegins);
                }
                TagSegment::Open(ProposedPlan) | TagSegment::Close(ProposedPlan) => {
                    message.place = PlanTextPlace::Message;
                }
                TagSegment::Text(text) | TagSegment::Inner(ProposedPlan, text) => {
                    pieces.extend(message.put(text));
                }
            }
        }
        pieces
    }
}

impl PlanMessage {
    fn new(model_id: &str) -> Self {
        Self {
            model_id: model_id.to_owned(),
            raw: String::new(),
            reader: TagReader::new(TAGS),
            place: PlanTextPlace::Message,
            blanks: String::new(),
            is_begun: false,
            is_whole: false,
        }
    }

    fn put(&mut self, text: String) -> Option<PlanPiece> {
        match self.place {
            PlanTextPlace::Plan => Some(PlanPiece::Plan(text)),
            PlanTextPlace::Message if self.is_begun => Some(PlanPiece::Message(text)),
            PlanTextPlace::Message => {
                self.blanks.push_str(&text);
                self.is_begun = !self.blanks.trim().is_empty();
                self.is_begun
                    .then(|| PlanPiece::Message(std::mem::take(&mut self.blanks)))
            }
        }
    }
}

impl MessageParts {
    fn of(pieces: Vec<PlanPiece>) -> Self {
        let mut parts = Self::default();
        for piece in pieces {
            match piece {
                PlanPiece::Message(text) => parts.message.push_str(&text),
                PlanPiece::PlanBegins => parts.plan = Some(String::new()),
                PlanPiece::Plan(text) => parts.plan.get_or_insert_default().push_str(&text),
            }
        }
        parts
    }
}
