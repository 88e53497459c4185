//! The items of one response. Servers repeat ids, leave them out, or send a delta before
//! its item; what leaves here always begins once, ends once, and is quiet afterwards.

use troupe_protocol::{CallId, ResponseItem};

use crate::error::{ModelError, ModelErrorKind};
use crate::event::{ItemKind, ModelEvent};
use crate::limits::ITEMS_PER_RESPONSE_MAX;

#[derive(Debug, Default)]
pub(crate) struct ResponseItems {
    known: Vec<TrackedItem>,
    done: usize,
}

#[derive(Debug)]
struct TrackedItem {
    /// Unique within the response: the server's id where it gave one.
    id: String,
    kind: ItemKind,
    state: TrackedItemState,
}

#[derive(Debug)]
enum TrackedItemState {
    /// The text so far is kept for servers that never finish the item.
    Open {
        text: String,
    },
    Done {
        call: Option<CallId>,
    },
}

impl ResponseItems {
    /// Notes that an item begins. A repetition changes nothing.
    pub(crate) fn start(&mut self, id: &str, kind: ItemKind, out: &mut Vec<ModelEvent>) {
        if id.is_empty() || self.find(id).is_none() {
            self.open(id, kind, out);
        }
    }

    pub(crate) fn check_number(&self) -> Result<(), ModelError> {
        if self.known.len() > ITEMS_PER_RESPONSE_MAX {
            return Err(ModelError::new(
                ModelErrorKind::Incomplete,
                format!("the response has more than {ITEMS_PER_RESPONSE_MAX} items"),
            ));
        }
        Ok(())
    }

    pub(crate) fn text_delta(&mut self, id: &str, delta: String, out: &mut Vec<ModelEvent>) {
        let known = self.for_delta(id, &ItemKind::Message, out);
        if let Some((item_id, text)) = known {
            text.push_str(&delta);
            let item_id = item_id.clone();
            out.push(ModelEvent::TextDelta { item_id, delta });
        }
    }

    pub(crate) fn summary_part(&mut self, id: &str, summary_index: u32, out: &mut Vec<ModelEvent>) {
        if let Some((item_id, _)) = self.for_delta(id, &ItemKind::Reasoning, out) {
            let item_id = item_id.clone();
            out.push(ModelEvent::ReasoningSummaryPart {
                item_id,
                summary_index,
            });
        }
    }

    pub(crate) fn summary_delta(
        &mut self,
        id: &str,
        summary_index: u32,
        delta: String,
        out: &mut Vec<ModelEvent>,
    ) {
        if let Some((item_id, _)) = self.for_delta(id, &ItemKind::Reasoning, out) {
            let item_id = item_id.clone();
            out.push(ModelEvent::ReasoningSummaryDelta {
                item_id,
                summary_index,
                delta,
            });
        }
    }

    pub(crate) fn reasoning_delta(
        &mut self,
        id: &str,
        content_index: u32,
        delta: String,
        out: &mut Vec<ModelEvent>,
    ) {
        if let Some((item_id, _)) = self.for_delta(id, &ItemKind::Reasoning, out) {
            let item_id = item_id.clone();
            out.push(ModelEvent::ReasoningTextDelta {
                item_id,
                content_index,
                delta,
            });
        }
    }

    /// Notes that an item is complete. A repetition changes nothing, but a second call
    /// under a reused item id is another item: a call must never be lost.
    pub(crate) fn finish(&mut self, id: &str, item: ResponseItem, out: &mut Vec<ModelEvent>) {
        let kind = kind_of(&item);
        let index = match self.find(id) {
            Some(index) => match &self.known[index].state {
                TrackedItemState::Open { .. } => index,
                TrackedItemState::Done { call } if call.as_ref() == item.open_call() => return,
                TrackedItemState::Done { .. } => self.open("", kind, out),
            },
            None => match self.open_of_kind(&kind) {
                Some(index) if id.is_empty() => index,
                _ => self.open(id, kind, out),
            },
        };
        self.close(index, item, out);
    }

    /// Takes the list of all items that ends a response, and adds what the events before
    /// did not bring. Where the ids of the list are new, positions tell what is known.
    pub(crate) fn reconcile(
        &mut self,
        list: Vec<(String, ResponseItem)>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let finished_before = self.done;
        for (position, (id, item)) in list.into_iter().enumerate() {
            if self.find(&id).is_some() {
                self.finish(&id, item, out);
            } else if position >= finished_before {
                match self.open_of_kind(&kind_of(&item)) {
                    Some(index) => self.close(index, item, out),
                    None => self.finish(&id, item, out),
                }
            }
        }
        self.close_rest(out)
    }

    /// Finishes messages whose end the server left out; anything else that is still open
    /// has lost its content.
    fn close_rest(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        for index in 0..self.known.len() {
            let known = &mut self.known[index];
            let TrackedItemState::Open { text } = &mut known.state else {
                continue;
            };
            if known.kind != ItemKind::Message {
                return Err(ModelError::new(
                    ModelErrorKind::StreamDisconnected,
                    format!("the response ended without finishing item {}", known.id),
                ));
            }
            let item = ResponseItem::assistant_text(std::mem::take(text));
            self.close(index, item, out);
        }
        Ok(())
    }

    fn open(&mut self, id: &str, kind: ItemKind, out: &mut Vec<ModelEvent>) -> usize {
        let id = if id.is_empty() {
            format!("local_{}", self.known.len())
        } else {
            id.to_owned()
        };
        out.push(ModelEvent::ItemStarted {
            item_id: id.clone(),
            kind: kind.clone(),
        });
        self.known.push(TrackedItem {
            id,
            kind,
            state: TrackedItemState::Open {
                text: String::new(),
            },
        });
        self.known.len() - 1
    }

    fn close(&mut self, index: usize, item: ResponseItem, out: &mut Vec<ModelEvent>) {
        let known = &mut self.known[index];
        known.state = TrackedItemState::Done {
            call: item.open_call().cloned(),
        };
        self.done += 1;
        out.push(ModelEvent::ItemDone {
            item_id: known.id.clone(),
            item,
        });
    }

    /// Finds the item of a delta, opening one if there is none. `None` after its end.
    fn for_delta(
        &mut self,
        id: &str,
        kind: &ItemKind,
        out: &mut Vec<ModelEvent>,
    ) -> Option<(&String, &mut String)> {
        let found = if id.is_empty() {
            self.open_of_kind(kind)
        } else {
            self.find(id)
        };
        let index = found.unwrap_or_else(|| self.open(id, kind.clone(), out));
        match &mut self.known[index] {
            TrackedItem {
                id,
                state: TrackedItemState::Open { text },
                ..
            } => Some((id, text)),
            _ => None,
        }
    }

    /// The newest first: deltas belong to it.
    fn find(&self, id: &str) -> Option<usize> {
        if id.is_empty() {
            return None;
        }
        self.known.iter().rposition(|known| known.id == id)
    }

    fn open_of_kind(&self, kind: &ItemKind) -> Option<usize> {
        self.known.iter().position(|known| {
            matches!(known.state, TrackedItemState::Open { .. }) && known.kind == *kind
        })
    }
}

pub(crate) fn kind_of(item: &ResponseItem) -> ItemKind {
    match item {
        ResponseItem::Message { .. } => ItemKind::Message,
        ResponseItem::Reasoning { .. } => ItemKind::Reasoning,
        ResponseItem::FunctionCall { name, .. } => ItemKind::FunctionCall { name: name.clone() },
        ResponseItem::CustomToolCall { name, .. } => {
            ItemKind::CustomToolCall { name: name.clone() }
        }
        _ => ItemKind::Other,
    }
}
