//! A channel that knows which item is open.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::oneshot;
use troupe_protocol::approval::{ReviewDecision, UserInputRequest, UserInputResponse};
use troupe_protocol::command::WorkStatus;
use troupe_protocol::item::TurnItem;
use troupe_protocol::mcp::{ElicitationRequest, ElicitationResponse};

use crate::call::{ApprovalQuestion, CallChannel, ToolEvent};

/// Passes everything on and remembers the item that is open, so that a panic leaves none
/// behind: what is started is always completed.
#[derive(Debug)]
pub(crate) struct ItemTracker {
    inner: Arc<dyn CallChannel>,
    open: Mutex<Option<TurnItem>>,
}

impl ItemTracker {
    pub(crate) fn new(inner: Arc<dyn CallChannel>) -> Self {
        Self {
            inner,
            open: Mutex::new(None),
        }
    }

    /// Completes what a tool started and can no longer complete itself.
    pub(crate) async fn close_open_item(&self, text: &str) {
        let Some(mut item) = self.set_open(None) else {
            return;
        };
        match &mut item {
            TurnItem::CommandExecution(item) => item.status = WorkStatus::Failed,
            TurnItem::FileChange(item) => {
                item.status = WorkStatus::Failed;
                text.clone_into(&mut item.stderr);
            }
            TurnItem::McpToolCall(item) => {
                item.status = WorkStatus::Failed;
                item.error = Some(text.to_owned());
            }
            TurnItem::ToolCall(item) => {
                item.status = WorkStatus::Failed;
                item.output = Some(text.to_owned());
            }
            // Kinds without a status: being completed is all that can be said of them.
            _ => {}
        }
        self.inner.report(ToolEvent::Completed(item)).await;
    }

    fn set_open(&self, item: Option<TurnItem>) -> Option<TurnItem> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *open, item)
    }
}

#[async_trait]
impl CallChannel for ItemTracker {
    async fn report(&self, event: ToolEvent) {
        match &event {
            ToolEvent::Started(item) => {
                self.set_open(Some(item.clone()));
            }
            ToolEvent::Completed(_) => {
                self.set_open(None);
            }
            ToolEvent::Output { .. }
            | ToolEvent::Plan { .. }
            | ToolEvent::TerminalInteraction { .. }
            | ToolEvent::Warning(_)
            | ToolEvent::HookWarning(_)
            | ToolEvent::Editing(_)
            | ToolEvent::Files(_)
            | ToolEvent::Other(_) => {}
        }
        self.inner.report(event).await;
    }

    async fn ask(&self, ask: ApprovalQuestion) -> ReviewDecision {
        self.inner.ask(ask).await
    }

    async fn ask_unless_settled(
        &self,
        ask: ApprovalQuestion,
        settled: oneshot::Receiver<ReviewDecision>,
    ) -> ReviewDecision {
        self.inner.ask_unless_settled(ask, settled).await
    }

    async fn question(&self, request: UserInputRequest) -> Option<UserInputResponse> {
        self.inner.question(request).await
    }

    async fn elicit(&self, request: ElicitationRequest) -> ElicitationResponse {
        self.inner.elicit(request).await
    }
}
