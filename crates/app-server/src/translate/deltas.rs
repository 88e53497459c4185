//! Pieces of texts that stream: messages, plans, reasoning, the output of commands.

use troupe_protocol::event::{ExecCommandOutputDelta, TextDelta};
use troupe_protocol::{Event, ItemId};

use super::EventTranslator;
use crate::wire::notification::{
    ContentDeltaNotification, ServerNotification, SummaryDeltaNotification,
    SummaryPartNotification, TextDeltaNotification,
};

impl EventTranslator {
    pub(super) fn text(
        &mut self,
        delta: &TextDelta,
        tell: impl FnOnce(TextDeltaNotification) -> ServerNotification,
    ) -> Vec<ServerNotification> {
        let piece = self.texts.piece(delta).map(|text| {
            tell(TextDeltaNotification {
                thread_id: self.thread.clone(),
                turn_id: delta.turn_id.0.clone(),
                item_id: delta.item_id.0.clone(),
                delta: text,
            })
        });
        piece.into_iter().collect()
    }

    pub(super) fn summary(&mut self, delta: &TextDelta) -> Vec<ServerNotification> {
        let index = self.summary_parts.get(&delta.item_id);
        let summary_index = index.copied().unwrap_or_default();
        let piece = self.texts.piece(delta).map(|text| {
            ServerNotification::ReasoningSummaryDelta(SummaryDeltaNotification {
                thread_id: self.thread.clone(),
                turn_id: delta.turn_id.0.clone(),
                item_id: delta.item_id.0.clone(),
                delta: text,
                summary_index,
            })
        });
        piece.into_iter().collect()
    }

    pub(super) fn summary_part(
        &mut self,
        event: &Event,
        item_id: &ItemId,
        summary_index: u32,
    ) -> Vec<ServerNotification> {
        self.summary_parts.insert(item_id.clone(), summary_index);
        vec![ServerNotification::ReasoningSummaryPart(
            SummaryPartNotification {
                thread_id: self.thread.clone(),
                turn_id: event.id.0.clone(),
                item_id: item_id.0.clone(),
                summary_index,
            },
        )]
    }

    pub(super) fn reasoning(&mut self, delta: &TextDelta) -> Vec<ServerNotification> {
        let piece = self.texts.piece(delta).map(|text| {
            ServerNotification::ReasoningDelta(ContentDeltaNotification {
                thread_id: self.thread.clone(),
                turn_id: delta.turn_id.0.clone(),
                item_id: delta.item_id.0.clone(),
                delta: text,
                content_index: 0,
            })
        });
        piece.into_iter().collect()
    }

    pub(super) fn command_output(
        &mut self,
        event: &Event,
        delta: &ExecCommandOutputDelta,
    ) -> Vec<ServerNotification> {
        let piece = self.texts.output(&delta.call_id, &delta.chunk).map(|text| {
            ServerNotification::CommandOutputDelta(TextDeltaNotification {
                thread_id: self.thread.clone(),
                turn_id: event.id.0.clone(),
                item_id: delta.call_id.0.clone(),
                delta: text,
            })
        });
        piece.into_iter().collect()
    }
}
