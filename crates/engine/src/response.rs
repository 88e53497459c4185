//! One model response being received: its events turned into items for people, and into
//! history once it is whole.
//!
//! A response counts only when it is complete. Until then people see deltas, and nothing is
//! history. When the connection breaks and the provider tries again, the texts shown so far
//! are reset by an empty snapshot and the same items are filled anew, so that nobody ever
//! sees a thing twice.

mod headline;

use troupe_model::{ItemKind, ModelEvent};
use troupe_protocol::event::{EventMsg, TextDelta};
use troupe_protocol::history::{ReasoningPart, ResponseItem, SummaryPart};
use troupe_protocol::item::{AgentMessageItem, ReasoningItem, TurnItem};
use troupe_protocol::{ItemId, SessionId, SubmissionId};

use crate::deps::Ids;
use headline::Headline;

/// What a step of a response makes the session say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    Started(TurnItem),
    Delta(EventMsg),
}

#[derive(Debug)]
pub(crate) struct Response {
    session: SessionId,
    turn: SubmissionId,
    ids: Ids,
    items: Vec<Shown>,
    done: Vec<ResponseItem>,
    /// How many items of each kind the current attempt has begun, to find the ones that an
    /// earlier attempt showed.
    attempt: Attempt,
    headline: Headline,
}

#[derive(Debug, Default)]
struct Attempt {
    messages: usize,
    reasonings: usize,
}

/// An item that people have been shown the beginning of.
#[derive(Debug)]
struct Shown {
    /// The provider's id of it in the current attempt; `None` after a retry.
    model_id: Option<String>,
    id: ItemId,
    text: ShownText,
    /// Set once the provider has sent it whole.
    whole: bool,
}

#[derive(Debug)]
enum ShownText {
    Message(String),
    Reasoning {
        summary: Vec<String>,
        raw: Vec<String>,
    },
}

/// The items of a response, for people and for the history.
#[derive(Debug, PartialEq)]
pub(crate) struct Finished {
    pub items: Vec<TurnItem>,
    pub history: Vec<ResponseItem>,
}

impl Response {
    pub(crate) fn new(session: SessionId, turn: SubmissionId, ids: Ids) -> Self {
        Self {
            session,
            turn,
            ids,
            items: Vec::new(),
            done: Vec::new(),
            attempt: Attempt::default(),
            headline: Headline::default(),
        }
    }

    /// Returns a headline that was not there when this was asked before.
    pub(crate) fn take_headline(&mut self) -> Option<String> {
        self.headline.take()
    }

    /// Takes one event that is about an item; the others are the task's business.
    pub(crate) fn apply(&mut self, event: ModelEvent, said: &mut Vec<Said>) {
        match event {
            ModelEvent::ItemStarted { item_id, kind } => self.start(item_id, &kind, said),
            ModelEvent::TextDelta { item_id, delta } => self.text(&item_id, delta, said),
            ModelEvent::ReasoningSummaryPart {
                item_id,
                summary_index,
            } => self.section(&item_id, summary_index, said),
            ModelEvent::ReasoningSummaryDelta {
                item_id,
                summary_index,
                delta,
            } => self.reasoning(&item_id, Part::Summary, summary_index, delta, said),
            ModelEvent::ReasoningTextDelta {
                item_id,
                content_index,
                delta,
            } => self.reasoning(&item_id, Part::Raw, content_index, delta, said),
            ModelEvent::ItemDone { item_id, item } => self.finish_item(item_id, item, said),
            ModelEvent::Created { .. }
            | ModelEvent::RateLimits(_)
            | ModelEvent::Retrying { .. }
            | ModelEvent::Completed { .. }
            | ModelEvent::Failed(_) => (),
        }
    }

    /// Voids the attempt: what was shown is reset, the items stay open.
    pub(crate) fn restart(&mut self, said: &mut Vec<Said>) {
        self.done.clear();
        self.attempt = Attempt::default();
        self.headline.restart();
        for index in 0..self.items.len() {
            self.items[index].model_id = None;
            self.items[index].whole = false;
            for kind in self.items[index].text.clear() {
                said.push(self.delta(index, kind, String::new(), true));
            }
        }
    }

    /// Ends a complete response.
    pub(crate) fn finish(self) -> Finished {
        let items = self.items.iter().map(Shown::to_item).collect();
        Finished {
            items,
            history: self.done,
        }
    }

    /// Ends a response that was stopped: what people have read stays, calls are dropped
    /// because nobody will run them, and reasoning because nothing follows it.
    pub(crate) fn abandon(self) -> Finished {
        let history = self
            .items
            .iter()
            .filter_map(|shown| match &shown.text {
                ShownText::Message(text) if !text.is_empty() => {
                    Some(ResponseItem::assistant_text(text.clone()))
                }
                _ => None,
            })
            .collect();
        Finished {
            items: self.items.iter().map(Shown::to_item).collect(),
            history,
        }
    }

    /// Returns the text of the last message shown.
    pub(crate) fn last_message(&self) -> Option<&str> {
        self.items.iter().rev().find_map(|shown| match &shown.text {
            ShownText::Message(text) if !text.is_empty() => Some(text.as_str()),
            _ => None,
        })
    }

    fn start(&mut self, model_id: String, kind: &ItemKind, said: &mut Vec<Said>) {
        match kind {
            ItemKind::Message => {
                self.open(model_id, ShownText::Message(String::new()), said);
            }
            ItemKind::Reasoning => {
                let text = ShownText::Reasoning {
                    summary: Vec::new(),
                    raw: Vec::new(),
                };
                self.open(model_id, text, said);
            }
            // A call is shown when it runs: its tool knows best how.
            ItemKind::FunctionCall { .. } | ItemKind::CustomToolCall { .. } | ItemKind::Other => (),
        }
    }

    /// Opens an item, or takes up the one that an earlier attempt showed in its place.
    fn open(&mut self, model_id: String, text: ShownText, said: &mut Vec<Said>) -> usize {
        let nth = self.attempt.count(&text);
        let earlier = self
            .items
            .iter()
            .enumerate()
            .filter(|(_, shown)| shown.text.same_kind(&text))
            .nth(nth)
            .map(|(index, _)| index);
        if let Some(index) = earlier {
            self.items[index].model_id = Some(model_id);
            return index;
        }
        let id = self.ids.item(text.id_prefix());
        let shown = Shown {
            model_id: Some(model_id),
            id,
            text,
            whole: false,
        };
        said.push(Said::Started(shown.to_item()));
        self.items.push(shown);
        self.items.len() - 1
    }

    fn find(&self, model_id: &str) -> Option<usize> {
        // The item being streamed is nearly always the last one.
        self.items
            .iter()
            .rposition(|shown| shown.model_id.as_deref() == Some(model_id))
    }

    fn text(&mut self, model_id: &str, delta: String, said: &mut Vec<Said>) {
        let index = self.find(model_id).unwrap_or_else(|| {
            self.open(model_id.to_owned(), ShownText::Message(String::new()), said)
        });
        let shown = &mut self.items[index];
        if shown.whole {
            return;
        }
        if let ShownText::Message(text) = &mut shown.text {
            text.push_str(&delta);
            said.push(self.delta(index, TextKind::Message, delta, false));
        }
    }

    fn section(&mut self, model_id: &str, summary_index: u32, said: &mut Vec<Said>) {
        let index = self.reasoning_item(model_id, said);
        if self.items[index].whole {
            return;
        }
        if let ShownText::Reasoning { summary, .. } = &mut self.items[index].text {
            part_at(summary, summary_index);
            said.push(Said::Delta(EventMsg::AgentReasoningSectionBreak {
                item_id: self.items[index].id.clone(),
                summary_index,
            }));
        }
    }

    fn reasoning(
        &mut self,
        model_id: &str,
        part: Part,
        part_index: u32,
        delta: String,
        said: &mut Vec<Said>,
    ) {
        let index = self.reasoning_item(model_id, said);
        let shown = &mut self.items[index];
        if shown.whole {
            return;
        }
        if let ShownText::Reasoning { summary, raw } = &mut shown.text {
            let (parts, kind) = match part {
                Part::Summary => (summary, TextKind::Summary),
                Part::Raw => (raw, TextKind::Raw),
            };
            let part = part_at(parts, part_index);
            part.push_str(&delta);
            if kind == TextKind::Summary {
                let place = (index, part_index as usize);
                self.headline.look(place, part, &delta);
            }
            said.push(self.delta(index, kind, delta, false));
        }
    }

    fn reasoning_item(&mut self, model_id: &str, said: &mut Vec<Said>) -> usize {
        self.find(model_id).unwrap_or_else(|| {
            let text = ShownText::Reasoning {
                summary: Vec::new(),
                raw: Vec::new(),
            };
            self.open(model_id.to_owned(), text, said)
        })
    }

    /// Takes an item that is whole. Its text is authoritative over the deltas.
    fn finish_item(&mut self, model_id: String, item: ResponseItem, said: &mut Vec<Said>) {
        let text = match &item {
            ResponseItem::Message { .. } => item.assistant_message().map(ShownText::Message),
            ResponseItem::Reasoning {
                summary, content, ..
            } => Some(ShownText::Reasoning {
                summary: summary.iter().map(summary_text).collect(),
                raw: content.iter().flatten().map(raw_text).collect(),
            }),
            _ => None,
        };
        if let Some(text) = text {
            let index = match self.find(&model_id) {
                Some(index) => index,
                None => self.open(model_id, text.empty(), said),
            };
            if let ShownText::Reasoning { summary, .. } = &text
                && let [.., last] = &summary[..]
            {
                self.headline.look((index, summary.len() - 1), last, last);
            }
            self.items[index].text = text;
            self.items[index].whole = true;
        }
        self.done.push(item);
    }

    fn delta(&self, index: usize, kind: TextKind, delta: String, snapshot: bool) -> Said {
        let delta = TextDelta {
            thread_id: self.session,
            turn_id: self.turn.clone(),
            item_id: self.items[index].id.clone(),
            delta,
            snapshot,
        };
        Said::Delta(match kind {
            TextKind::Message => EventMsg::AgentMessageContentDelta(delta),
            TextKind::Summary => EventMsg::ReasoningContentDelta(delta),
            TextKind::Raw => EventMsg::ReasoningRawContentDelta(delta),
        })
    }
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Summary,
    Raw,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Message,
    Summary,
    Raw,
}

impl Attempt {
    fn count(&mut self, text: &ShownText) -> usize {
        let counter = match text {
            ShownText::Message(_) => &mut self.messages,
            ShownText::Reasoning { .. } => &mut self.reasonings,
        };
        *counter += 1;
        *counter - 1
    }
}

impl ShownText {
    fn same_kind(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    fn id_prefix(&self) -> &'static str {
        match self {
            Self::Message(_) => "msg",
            Self::Reasoning { .. } => "rs",
        }
    }

    fn empty(&self) -> Self {
        match self {
            Self::Message(_) => Self::Message(String::new()),
            Self::Reasoning { .. } => Self::Reasoning {
                summary: Vec::new(),
                raw: Vec::new(),
            },
        }
    }

    /// Empties the text and returns the kinds of which something had been shown.
    fn clear(&mut self) -> Vec<TextKind> {
        let mut shown = Vec::new();
        match self {
            Self::Message(text) => {
                if !text.is_empty() {
                    shown.push(TextKind::Message);
                }
                text.clear();
            }
            Self::Reasoning { summary, raw } => {
                if !summary.is_empty() {
                    shown.push(TextKind::Summary);
                }
                if !raw.is_empty() {
                    shown.push(TextKind::Raw);
                }
                summary.clear();
                raw.clear();
            }
        }
        shown
    }
}

impl Shown {
    fn to_item(&self) -> TurnItem {
        match &self.text {
            ShownText::Message(text) => TurnItem::AgentMessage(AgentMessageItem {
                id: self.id.clone(),
                text: text.clone(),
            }),
            ShownText::Reasoning { summary, raw } => TurnItem::Reasoning(ReasoningItem {
                id: self.id.clone(),
                summary_text: summary.clone(),
                raw_content: raw.clone(),
            }),
        }
    }
}

fn summary_text(part: &SummaryPart) -> String {
    match part {
        SummaryPart::SummaryText { text } => text.clone(),
    }
}

fn raw_text(part: &ReasoningPart) -> String {
    match part {
        ReasoningPart::ReasoningText { text } | ReasoningPart::Text { text } => text.clone(),
    }
}

/// Returns the part with this index. A server that skips numbers gets no more parts than
/// it sent: the next one is used.
fn part_at(parts: &mut Vec<String>, index: u32) -> &mut String {
    let index = usize::try_from(index)
        .unwrap_or(usize::MAX)
        .min(parts.len());
    if index == parts.len() {
        parts.push(String::new());
    }
    &mut parts[index]
}

#[cfg(test)]
mod tests;
