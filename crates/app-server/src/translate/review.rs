//! A review as a turn of the thread that asked for it. The engine knows it as a child; clients
//! that do not look at children see it begin and end like any other work.

use troupe_protocol::event::ReviewOutput;
use troupe_protocol::{Event, SubmissionId};

use super::{EventTranslator, TranslatedTurn, items};
use crate::now_ms;
use crate::wire::item::ThreadItem;
use crate::wire::notification::{ServerNotification, TurnNotification};
use crate::wire::turn::{ItemsView, TurnError, TurnStatus};

/// The review that runs.
#[derive(Debug)]
pub(crate) struct OpenReview {
    turn: TranslatedTurn,
    /// This client wants it to end.
    interrupted: bool,
}

impl OpenReview {
    fn new(id: SubmissionId, started_at_ms: i64) -> Self {
        Self {
            turn: TranslatedTurn::new(id, started_at_ms),
            interrupted: false,
        }
    }

    pub(crate) fn id(&self) -> &SubmissionId {
        &self.turn.id
    }

    pub(crate) fn interrupt(&mut self) {
        self.interrupted = true;
    }
}

impl EventTranslator {
    /// Takes up a thread whose review runs already.
    pub(crate) fn in_review(mut self, id: SubmissionId, started_at_ms: i64) -> Self {
        self.review = Some(OpenReview::new(id, started_at_ms));
        self
    }

    pub(crate) fn review(&self) -> Option<&OpenReview> {
        self.review.as_ref()
    }

    pub(crate) fn review_mut(&mut self) -> Option<&mut OpenReview> {
        self.review.as_mut()
    }

    pub(super) fn review_entered(
        &mut self,
        event: &Event,
        hint: Option<&str>,
    ) -> Vec<ServerNotification> {
        let review = OpenReview::new(event.id.clone(), now_ms());
        let turn = review
            .turn
            .snapshot(TurnStatus::InProgress, ItemsView::NotLoaded, None);
        self.review = Some(review);
        let mut told = vec![
            self.status_changed(),
            ServerNotification::TurnStarted(TurnNotification {
                thread_id: self.thread.clone(),
                turn,
            }),
        ];
        told.extend(self.whole_item(event, entered(&event.id, hint)));
        told
    }

    pub(super) fn review_exited(
        &mut self,
        event: &Event,
        output: Option<&ReviewOutput>,
    ) -> Vec<ServerNotification> {
        // One of an earlier life of the session is in its history.
        let Some(mut review) = self.review.take_if(|review| *review.id() == event.id) else {
            return Vec::new();
        };
        let item = exited(&event.id, output);
        let mut told = self.whole_item(event, item.clone());
        let status = match output {
            Some(_) => TurnStatus::Completed,
            None if review.interrupted => TurnStatus::Interrupted,
            None => {
                review.turn.error = Some(no_result());
                TurnStatus::Failed
            }
        };
        review.turn.last_message = Some(item);
        let duration_ms = now_ms() - review.turn.started_at_ms;
        let turn = review
            .turn
            .snapshot(status, ItemsView::Summary, Some(duration_ms));
        told.push(self.status_changed());
        told.push(ServerNotification::TurnCompleted(TurnNotification {
            thread_id: self.thread.clone(),
            turn,
        }));
        told
    }
}

pub(crate) fn entered(id: &SubmissionId, hint: Option<&str>) -> ThreadItem {
    ThreadItem::EnteredReviewMode {
        id: format!("review-{id}"),
        review: hint.unwrap_or_default().to_owned(),
    }
}

pub(crate) fn exited(id: &SubmissionId, output: Option<&ReviewOutput>) -> ThreadItem {
    ThreadItem::ExitedReviewMode {
        id: format!("reviewed-{id}"),
        review: items::review_text(output),
    }
}

pub(crate) fn no_result() -> TurnError {
    TurnError {
        message: "the reviewer came to no result; its own thread tells why".to_owned(),
        codex_error_info: None,
        additional_details: None,
    }
}
