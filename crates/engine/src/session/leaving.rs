//! How a session ends: when it is told to, or when nobody is left to do anything for. What
//! runs below it in the tree ends first.

use tokio_util::sync::CancellationToken;
use troupe_protocol::SubmissionId;
use troupe_protocol::discard;
use troupe_protocol::event::{AbortReason, EventMsg};
use troupe_protocol::op::{Op, Submission};

use super::{ClientPresence, DeferredInput, Flow, SessionActor, SessionInput};
use crate::conversation::OpenSession;
use crate::host::Completion;
use crate::task::StopCause;

/// How the agents below this session stand to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubtreeState {
    Running,
    /// The session ends when they have nothing more to do.
    Awaited,
    /// They had nothing more to do a moment ago.
    Quiet,
    /// They are told to end; the session ends after them.
    Closing,
    Closed,
}

impl SessionActor {
    /// Ends a session that has nothing more to do and nobody to do it for.
    pub(super) async fn leave_if_done(&mut self) -> Flow {
        let open = self.open.as_ref();
        let busy = self.decoding.is_some() || open.is_some_and(OpenSession::is_busy);
        if self.audience == ClientPresence::Present {
            return Flow::Continue(());
        }
        if busy && self.below == SubtreeState::Quiet {
            self.below = SubtreeState::Running;
        }
        if busy || self.below == SubtreeState::Awaited {
            return Flow::Continue(());
        }
        let quiet = open.and_then(|open| open.host().subtree_idle());
        if let (SubtreeState::Running, Some(quiet)) = (self.below, quiet) {
            self.below = SubtreeState::Awaited;
            self.after(quiet, SessionInput::TreeQuiet);
            return Flow::Continue(());
        }
        Box::pin(self.shutdown(SubmissionId::default())).await
    }

    /// Ends the session, also when the disk fails meanwhile: that is told, and nobody is
    /// kept waiting.
    pub(super) async fn shutdown(&mut self, id: SubmissionId) -> Flow {
        if let Err(error) = self.stop_decoding(AbortReason::Shutdown).await {
            self.storage_failed(&id, &error).await;
        }
        if let Some(open) = &mut self.open {
            if open.task.is_some() {
                let stopped = open
                    .stop(&mut self.emitter, StopCause::quietly(AbortReason::Shutdown))
                    .await;
                if let Err(error) = stopped {
                    self.storage_failed(&id, &error).await;
                }
                let op = Op::Shutdown;
                self.deferred
                    .push_front(DeferredInput::Submission(Box::new(Submission { id, op })));
                return Flow::Continue(());
            }
            if let (false, Some(closed)) = (
                self.below == SubtreeState::Closed,
                open.host().close_subtree(),
            ) {
                self.below = SubtreeState::Closing;
                self.after(closed, SessionInput::TreeClosed);
                let op = Op::Shutdown;
                self.deferred
                    .push_front(DeferredInput::Submission(Box::new(Submission { id, op })));
                return Flow::Continue(());
            }
            if let Err(error) = open.conversation.end_shells(&mut self.emitter) {
                self.storage_failed(&id, &error).await;
            }
        }
        if let Some(open) = &self.open {
            open.conversation.tools.shutdown().await;
        }
        if let Err(error) = self.emitter.commit().await {
            self.storage_failed(&id, &error).await;
        }
        let complete = vec![EventMsg::ShutdownComplete];
        if let Err(error) = self.emitter.emit(&id, complete.clone()) {
            self.storage_failed(&id, &error).await;
            self.emitter.publish_unrecorded(&id, complete);
        }
        tracing::info!("the session ends");
        if let Some(log) = self.emitter.detach() {
            // Everything but the last line is on disk, and that line says nothing new.
            discard!(
                log.close().await,
                error,
                "the log of a session that ends was not closed in order"
            );
        }
        Flow::Break(())
    }

    pub(super) async fn abandoned(&mut self) -> Flow {
        // From now on the deferred shutdown decides; the token stays cancelled.
        self.owner = CancellationToken::new();
        self.deferred.clear();
        self.shutdown(SubmissionId::default()).await
    }

    /// Posts an input when something is over. Ends with it, or with the session.
    fn after(&self, over: Completion, input: SessionInput) {
        let mailbox = self.mailbox.clone();
        tokio::spawn(async move {
            over.await;
            // A session that is gone does not need to know.
            discard!(mailbox.post(input).await, "the actor has ended");
        });
    }
}
