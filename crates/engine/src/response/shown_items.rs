//! What people have been shown of a response so far.

use troupe_protocol::ItemId;
use troupe_protocol::history::{ReasoningPart, SummaryPart};
use troupe_protocol::item::{AgentMessageItem, PlanItem, ReasoningItem, TurnItem};

/// An item that people have been shown the beginning of.
#[derive(Debug)]
pub(super) struct ShownItem {
    /// The provider's id of it in the current attempt; `None` after a retry, and for a plan,
    /// which is a part of a message.
    pub model_id: Option<String>,
    pub id: ItemId,
    pub text: ShownText,
    /// Set once the provider has sent it whole.
    pub whole: bool,
}

#[derive(Debug)]
pub(super) enum ShownText {
    Message(String),
    Plan(String),
    Reasoning {
        summary: Vec<String>,
        raw: Vec<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownTextKind {
    Message,
    Plan,
    Summary,
    Raw,
}

impl ShownText {
    pub(super) fn same_kind(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    pub(super) fn id_prefix(&self) -> &'static str {
        match self {
            Self::Message(_) => "msg",
            Self::Plan(_) => "plan",
            Self::Reasoning { .. } => "rs",
        }
    }

    pub(super) fn empty(&self) -> Self {
        match self {
            Self::Message(_) => Self::Message(String::new()),
            Self::Plan(_) => Self::Plan(String::new()),
            Self::Reasoning { .. } => Self::Reasoning {
                summary: Vec::new(),
                raw: Vec::new(),
            },
        }
    }

    /// Empties the text and returns the kinds of which something had been shown.
    pub(super) fn clear(&mut self) -> Vec<ShownTextKind> {
        let mut shown = Vec::new();
        match self {
            Self::Message(text) => {
                if !text.is_empty() {
                    shown.push(ShownTextKind::Message);
                }
                text.clear();
            }
            Self::Plan(text) => {
                if !text.is_empty() {
                    shown.push(ShownTextKind::Plan);
                }
                text.clear();
            }
            Self::Reasoning { summary, raw } => {
                if !summary.is_empty() {
                    shown.push(ShownTextKind::Summary);
                }
                if !raw.is_empty() {
                    shown.push(ShownTextKind::Raw);
                }
                summary.clear();
                raw.clear();
            }
        }
        shown
    }
}

impl ShownItem {
    pub(super) fn to_item(&self) -> TurnItem {
        match &self.text {
            ShownText::Message(text) => TurnItem::AgentMessage(AgentMessageItem {
                id: self.id.clone(),
                text: text.clone(),
            }),
            ShownText::Plan(text) => TurnItem::Plan(PlanItem {
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

pub(super) fn summary_text(part: &SummaryPart) -> String {
    match part {
        SummaryPart::SummaryText { text } => text.clone(),
    }
}

pub(super) fn raw_text(part: &ReasoningPart) -> String {
    match part {
        ReasoningPart::ReasoningText { text } | ReasoningPart::Text { text } => text.clone(),
    }
}

/// Returns the part with this index. A server that skips numbers gets no more parts than
/// it sent: the next one is used.
pub(super) fn part_at(parts: &mut Vec<String>, index: u32) -> &mut String {
    let index = usize::try_from(index)
        .unwrap_or(usize::MAX)
        .min(parts.len());
    if index == parts.len() {
        parts.push(String::new());
    }
    &mut parts[index]
}
