//! One model response being received: its events turned into items for people, and into
//! history once it is whole.
//!
//! A response counts only when it is complete. Until then people see deltas, and nothing is
//! history. When the connection breaks and the provider tries again, the texts shown so far
//! are reset by an empty snapshot and the same items are filled anew, so that nobody ever
//! sees a thing twice.
//!
//! In plan mode a message is read by `plans`, which tells the proposed plan in it from the
//! rest; the history keeps the message as the model wrote it.

mod headline;
pub mod plans;
mod shown_items;

use troupe_model::{ItemKind, ModelEvent};
use troupe_protocol::event::{EventMsg, TextDelta};
use troupe_protocol::history::ResponseItem;
use troupe_protocol::item::TurnItem;
use troupe_protocol::policy::CollaborationMode;
use troupe_protocol::{SessionId, SubmissionId};

use crate::context::cut_text;
use crate::deps::IdSource;
use crate::limits::BROKEN_OFF_TEXT_BYTES_MAX;
use headline::ReasoningHeadline;
use plans::{PlanPiece, PlanReader, without_tags};
use shown_items::{ShownItem, ShownText, ShownTextKind, part_at, raw_text, summary_text};

/// What a step of a response makes the session say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ResponseUpdate {
    Started(TurnItem),
    Delta(EventMsg),
}

#[derive(Debug)]
pub(crate) struct IncomingResponse {
    session: SessionId,
    turn: SubmissionId,
    ids: IdSource,
    items: Vec<ShownItem>,
    done: Vec<ResponseItem>,
    /// How many items of each kind the current attempt has begun, to find the ones that an
    /// earlier attempt showed.
    attempt: AttemptCounts,
    headline: ReasoningHeadline,
    /// How messages are read in plan mode.
    plans: Option<PlanReader>,
    is_paused: bool,
}

#[derive(Debug, Default)]
struct AttemptCounts {
    messages: usize,
    plans: usize,
    reasonings: usize,
}

/// The items of a response, for people and for the history.
#[derive(Debug, PartialEq)]
pub(crate) struct FinishedResponse {
    pub items: Vec<TurnItem>,
    pub history: Vec<ResponseItem>,
}

impl IncomingResponse {
    pub(crate) fn new(
        session: SessionId,
        turn: SubmissionId,
        mode: CollaborationMode,
        ids: IdSource,
    ) -> Self {
        Self {
            session,
            turn,
            ids,
            items: Vec::new(),
            done: Vec::new(),
            attempt: AttemptCounts::default(),
            headline: ReasoningHeadline::default(),
            plans: match mode {
                CollaborationMode::Plan => Some(PlanReader::default()),
                CollaborationMode::Default => None,
            },
            is_paused: false,
        }
    }

    /// Tells whether the model wants to go on from here.
    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Returns a headline that was not there when this was asked before.
    pub(crate) fn take_headline(&mut self) -> Option<String> {
        self.headline.take()
    }

    /// Takes one event that is about an item; the others are the task's business.
    pub(crate) fn apply(&mut self, event: ModelEvent, said: &mut Vec<ResponseUpdate>) {
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
            } => self.reasoning(
                &item_id,
                ReasoningPartKind::Summary,
                summary_index,
                delta,
                said,
            ),
            ModelEvent::ReasoningTextDelta {
                item_id,
                content_index,
                delta,
            } => self.reasoning(&item_id, ReasoningPartKind::Raw, content_index, delta, said),
            ModelEvent::ItemDone { item_id, item } => self.finish_item(item_id, item, said),
            ModelEvent::Paused => self.is_paused = true,
            ModelEvent::Created { .. }
            | ModelEvent::RateLimits(_)
            | ModelEvent::Retrying { .. }
            | ModelEvent::Completed { .. }
            | ModelEvent::Failed(_) => (),
        }
    }

    /// Voids the attempt: what was shown is reset, the items stay open.
    pub(crate) fn restart(&mut self, said: &mut Vec<ResponseUpdate>) {
        self.done.clear();
        self.attempt = AttemptCounts::default();
        self.headline.restart();
        self.is_paused = false;
        if let Some(plans) = &mut self.plans {
            *plans = PlanReader::default();
        }
        for index in 0..self.items.len() {
            self.items[index].model_id = None;
            self.items[index].whole = false;
            for kind in self.items[index].text.clear() {
                said.push(self.delta(index, kind, String::new(), true));
            }
        }
    }

    /// Ends a complete response.
    pub(crate) fn finish(mut self) -> FinishedResponse {
        self.flush();
        FinishedResponse {
            items: self.completed_items(),
            history: self.done,
        }
    }

    /// Ends a response that was stopped: what people have read stays, calls are dropped
    /// because nobody will run them, and reasoning because nothing follows it.
    pub(crate) fn abandon(mut self) -> FinishedResponse {
        self.flush();
        let kept = |text: &str| {
            let text = cut_text(text, BROKEN_OFF_TEXT_BYTES_MAX, "message");
            (!text.is_empty()).then(|| ResponseItem::assistant_text(text))
        };
        let history = match &self.plans {
            Some(plans) => plans.raw().filter_map(kept).collect(),
            None => self
                .items
                .iter()
                .filter_map(|shown| match &shown.text {
                    ShownText::Message(text) => kept(text),
                    ShownText::Plan(_) | ShownText::Reasoning { .. } => None,
                })
                .collect(),
        };
        FinishedResponse {
            items: self.completed_items(),
            history,
        }
    }

    /// Returns the items as they are completed. A plan of nothing is not: whoever asks whether
    /// to go by a plan would ask about nothing.
    fn completed_items(&self) -> Vec<TurnItem> {
        let is_kept = |shown: &&ShownItem| match &shown.text {
            ShownText::Plan(text) => !text.trim().is_empty(),
            ShownText::Message(_) | ShownText::Reasoning { .. } => true,
        };
        let kept = self.items.iter().filter(is_kept);
        kept.map(ShownItem::to_item).collect()
    }

    /// Returns the text of the last message: all of it, the plan in it included.
    pub(crate) fn last_message(&self) -> Option<String> {
        if let Some(plans) = &self.plans {
            let said = plans.raw().rev().map(without_tags);
            return said
                .map(|text| text.trim().to_owned())
                .find(|text| !text.is_empty());
        }
        self.items.iter().rev().find_map(|shown| match &shown.text {
            ShownText::Message(text) if !text.is_empty() => Some(text.clone()),
            _ => None,
        })
    }

    fn start(&mut self, model_id: String, kind: &ItemKind, said: &mut Vec<ResponseUpdate>) {
        match kind {
            // A message of plan mode begins with its first word.
            ItemKind::Message if self.plans.is_some() => (),
            ItemKind::Message => {
                self.open(Some(model_id), ShownText::Message(String::new()), said);
            }
            ItemKind::Reasoning => {
                let text = ShownText::Reasoning {
                    summary: Vec::new(),
                    raw: Vec::new(),
                };
                self.open(Some(model_id), text, said);
            }
            // A call is shown when it runs: its tool knows best how.
            ItemKind::FunctionCall { .. } | ItemKind::CustomToolCall { .. } | ItemKind::Other => (),
        }
    }

    /// Opens an item, or takes up the one that an earlier attempt showed in its place.
    fn open(
        &mut self,
        model_id: Option<String>,
        text: ShownText,
        said: &mut Vec<ResponseUpdate>,
    ) -> usize {
        let nth = self.attempt.count(&text);
        let earlier = self
            .items
            .iter()
            .enumerate()
            .filter(|(_, shown)| shown.text.same_kind(&text))
            .nth(nth)
            .map(|(index, _)| index);
        if let Some(index) = earlier {
            self.items[index].model_id = model_id;
            return index;
        }
        let id = self.ids.item(text.id_prefix());
        let shown = ShownItem {
            model_id,
            id,
            text,
            whole: false,
        };
        said.push(ResponseUpdate::Started(shown.to_item()));
        self.items.push(shown);
        self.items.len() - 1
    }

    fn find(&self, model_id: &str) -> Option<usize> {
        // The item being streamed is nearly always the last one.
        self.items
            .iter()
            .rposition(|shown| shown.model_id.as_deref() == Some(model_id))
    }

    fn text(&mut self, model_id: &str, delta: String, said: &mut Vec<ResponseUpdate>) {
        if let Some(plans) = &mut self.plans {
            let pieces = plans.push(model_id, &delta);
            self.show(model_id, pieces, said);
        } else {
            let index = self.message_item(model_id, said);
            self.append(index, delta, said);
        }
    }

    fn message_item(&mut self, model_id: &str, said: &mut Vec<ResponseUpdate>) -> usize {
        self.find(model_id).unwrap_or_else(|| {
            let text = ShownText::Message(String::new());
            self.open(Some(model_id.to_owned()), text, said)
        })
    }

    /// Shows what plan mode made of a piece of a message.
    fn show(&mut self, model_id: &str, pieces: Vec<PlanPiece>, said: &mut Vec<ResponseUpdate>) {
        for piece in pieces {
            match piece {
                PlanPiece::Message(text) => {
                    let index = self.message_item(model_id, said);
                    self.append(index, text, said);
                }
                // A plan begins with its first word: an empty block is none.
                PlanPiece::PlanBegins => {}
                PlanPiece::Plan(text) if self.plan_item().is_none() && text.trim().is_empty() => {}
                PlanPiece::Plan(text) => {
                    let index = self
                        .plan_item()
                        .unwrap_or_else(|| self.open(None, ShownText::Plan(String::new()), said));
                    self.append(index, text, said);
                }
            }
        }
    }

    /// Returns the plan, of which a response has one at most.
    fn plan_item(&self) -> Option<usize> {
        let is_plan = |shown: &ShownItem| matches!(shown.text, ShownText::Plan(_));
        self.items.iter().position(is_plan)
    }

    fn append(&mut self, index: usize, delta: String, said: &mut Vec<ResponseUpdate>) {
        let shown = &mut self.items[index];
        if shown.whole {
            return;
        }
        let kind = match &mut shown.text {
            ShownText::Message(text) => {
                text.push_str(&delta);
                ShownTextKind::Message
            }
            ShownText::Plan(text) => {
                text.push_str(&delta);
                ShownTextKind::Plan
            }
            ShownText::Reasoning { .. } => return,
        };
        said.push(self.delta(index, kind, delta, false));
    }

    /// Adds what was held back of messages that do not become whole to what is shown of
    /// them. Nothing is begun for it.
    fn flush(&mut self) {
        let Some(plans) = &mut self.plans else {
            return;
        };
        for (model_id, pieces) in plans.flush() {
            for piece in pieces {
                let (index, text) = match piece {
                    PlanPiece::Message(text) => (self.find(&model_id), text),
                    PlanPiece::Plan(text) => (self.plan_item(), text),
                    PlanPiece::PlanBegins => continue,
                };
                if let Some(index) = index {
                    self.append(index, text, &mut Vec::new());
                }
            }
        }
    }

    fn section(&mut self, model_id: &str, summary_index: u32, said: &mut Vec<ResponseUpdate>) {
        let index = self.reasoning_item(model_id, said);
        if self.items[index].whole {
            return;
        }
        if let ShownText::Reasoning { summary, .. } = &mut self.items[index].text {
            part_at(summary, summary_index);
            said.push(ResponseUpdate::Delta(
                EventMsg::AgentReasoningSectionBreak {
                    item_id: self.items[index].id.clone(),
                    summary_index,
                },
            ));
        }
    }

    fn reasoning(
        &mut self,
        model_id: &str,
        part: ReasoningPartKind,
        part_index: u32,
        delta: String,
        said: &mut Vec<ResponseUpdate>,
    ) {
        let index = self.reasoning_item(model_id, said);
        let shown = &mut self.items[index];
        if shown.whole {
            return;
        }
        if let ShownText::Reasoning { summary, raw } = &mut shown.text {
            let (parts, kind) = match part {
                ReasoningPartKind::Summary => (summary, ShownTextKind::Summary),
                ReasoningPartKind::Raw => (raw, ShownTextKind::Raw),
            };
            let part = part_at(parts, part_index);
            part.push_str(&delta);
            if kind == ShownTextKind::Summary {
                let place = (index, part_index as usize);
                self.headline.look(place, part, &delta);
            }
            said.push(self.delta(index, kind, delta, false));
        }
    }

    fn reasoning_item(&mut self, model_id: &str, said: &mut Vec<ResponseUpdate>) -> usize {
        self.find(model_id).unwrap_or_else(|| {
            let text = ShownText::Reasoning {
                summary: Vec::new(),
                raw: Vec::new(),
            };
            self.open(Some(model_id.to_owned()), text, said)
        })
    }

    /// Takes an item that is whole. Its text is authoritative over the deltas.
    fn finish_item(
        &mut self,
        model_id: String,
        item: ResponseItem,
        said: &mut Vec<ResponseUpdate>,
    ) {
        match item.assistant_message() {
            Some(text) if self.plans.is_some() => self.finish_message(&model_id, &text, said),
            _ => self.finish_whole(model_id, &item, said),
        }
        self.done.push(item);
    }

    /// Takes a whole message apart, in plan mode.
    fn finish_message(&mut self, model_id: &str, text: &str, said: &mut Vec<ResponseUpdate>) {
        let Some(plans) = &mut self.plans else {
            return;
        };
        let (parts, had_plan) = plans.finish(model_id, text);
        if !parts.message.is_empty() || self.find(model_id).is_some() {
            let index = self.message_item(model_id, said);
            self.settle(index, ShownText::Message(parts.message));
        }
        let shown = if had_plan { self.plan_item() } else { None };
        let plan = parts.plan.filter(|plan| !plan.trim().is_empty());
        match (plan, shown) {
            (Some(plan), Some(index)) => self.settle(index, ShownText::Plan(plan)),
            (Some(plan), None) => {
                let index = self.open(None, ShownText::Plan(String::new()), said);
                self.settle(index, ShownText::Plan(plan));
            }
            // The whole message has no plan after all. Another one may have it.
            (None, Some(index)) => {
                self.items[index].text = ShownText::Plan(String::new());
                self.attempt.plans = 0;
                said.push(self.delta(index, ShownTextKind::Plan, String::new(), true));
            }
            (None, None) => (),
        }
    }

    fn settle(&mut self, index: usize, text: ShownText) {
        self.items[index].text = text;
        self.items[index].whole = true;
    }

    fn finish_whole(
        &mut self,
        model_id: String,
        item: &ResponseItem,
        said: &mut Vec<ResponseUpdate>,
    ) {
        let text = match item {
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
                None => self.open(Some(model_id), text.empty(), said),
            };
            if let ShownText::Reasoning { summary, .. } = &text
                && let [.., last] = &summary[..]
            {
                self.headline.look((index, summary.len() - 1), last, last);
            }
            self.settle(index, text);
        }
    }

    fn delta(
        &self,
        index: usize,
        kind: ShownTextKind,
        delta: String,
        snapshot: bool,
    ) -> ResponseUpdate {
        let delta = TextDelta {
            thread_id: self.session,
            turn_id: self.turn.clone(),
            item_id: self.items[index].id.clone(),
            delta,
            snapshot,
        };
        ResponseUpdate::Delta(match kind {
            ShownTextKind::Message => EventMsg::AgentMessageContentDelta(delta),
            ShownTextKind::Plan => EventMsg::PlanDelta(delta),
            ShownTextKind::Summary => EventMsg::ReasoningContentDelta(delta),
            ShownTextKind::Raw => EventMsg::ReasoningRawContentDelta(delta),
        })
    }
}

#[derive(Debug, Clone, Copy)]
enum ReasoningPartKind {
    Summary,
    Raw,
}

impl AttemptCounts {
    fn count(&mut self, text: &ShownText) -> usize {
        let counter = match text {
            ShownText::Message(_) => &mut self.messages,
            ShownText::Plan(_) => &mut self.plans,
            ShownText::Reasoning { .. } => &mut self.reasonings,
        };
        *counter += 1;
        *counter - 1
    }
}

#[cfg(test)]
mod tests;
