//! Texts of the model that still grow, for readers who asked for them.

use std::collections::BTreeMap;

use troupe_protocol::event::TextDelta;
use troupe_protocol::{EventMsg, ItemId};

use super::line::JsonItemDetails;

/// The texts that are not whole yet.
#[derive(Debug, Default)]
pub struct GrowingTexts(BTreeMap<ItemId, GrowingText>);

#[derive(Debug)]
struct GrowingText {
    kind: GrowingTextKind,
    text: String,
    is_begun: bool,
    /// It has grown since it was told.
    is_stale: bool,
}

#[derive(Debug, Clone, Copy)]
enum GrowingTextKind {
    Message,
    Plan,
    Reasoning,
}

/// A text as it is at the moment.
#[derive(Debug)]
pub struct TextSoFar {
    pub item: ItemId,
    pub details: JsonItemDetails,
    /// Nothing of it was told before.
    pub is_first: bool,
}

impl GrowingTexts {
    /// Takes a piece in. Tells whether there is something to tell.
    pub fn hear(&mut self, msg: &EventMsg) -> bool {
        let (kind, delta) = match msg {
            EventMsg::AgentMessageContentDelta(delta) => (GrowingTextKind::Message, delta),
            EventMsg::PlanDelta(delta) => (GrowingTextKind::Plan, delta),
            EventMsg::ReasoningContentDelta(delta) => (GrowingTextKind::Reasoning, delta),
            _ => return false,
        };
        self.grow(kind, delta);
        true
    }

    fn grow(&mut self, kind: GrowingTextKind, delta: &TextDelta) {
        let growing = self
            .0
            .entry(delta.item_id.clone())
            .or_insert_with(|| GrowingText {
                kind,
                text: String::new(),
                is_begun: false,
                is_stale: false,
            });
        if delta.snapshot {
            growing.text.clear();
        }
        growing.text.push_str(&delta.delta);
        growing.is_stale = true;
    }

    /// A whole text is told as such.
    pub fn is_whole(&mut self, item: &ItemId) {
        self.0.remove(item);
    }

    pub fn end_turn(&mut self) {
        self.0.clear();
    }

    /// Returns the texts that have grown since they were told.
    pub fn take_grown(&mut self) -> Vec<TextSoFar> {
        let grown = self.0.iter_mut().filter(|(_, growing)| growing.is_stale);
        let told = grown.map(|(item, growing)| {
            growing.is_stale = false;
            let is_first = !std::mem::replace(&mut growing.is_begun, true);
            TextSoFar {
                item: item.clone(),
                details: growing.details(),
                is_first,
            }
        });
        told.collect()
    }
}

impl GrowingText {
    fn details(&self) -> JsonItemDetails {
        let text = self.text.clone();
        match self.kind {
            GrowingTextKind::Message => JsonItemDetails::AgentMessage { text },
            GrowingTextKind::Plan => JsonItemDetails::Plan { text },
            GrowingTextKind::Reasoning => JsonItemDetails::Reasoning { text },
        }
    }
}
