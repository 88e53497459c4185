//! Tools that come from elsewhere: found out before the model is asked, told to who asks.
//!
//! The session never waits in its loop. What takes time runs beside it and posts
//! [`ToolSourceUpdate`], so that an interrupt is heard while servers start.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::task::AbortOnDropHandle;
use troupe_protocol::SubmissionId;
use troupe_protocol::catalogue::ModelEntry;
use troupe_protocol::discard;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{AbortReason, ErrorEvent, EventMsg};
use troupe_protocol::mcp::McpOffer;
use troupe_store::StoreError;
use troupe_tools::{GatherListener, GatheredTools};

use super::{Conversation, OpenSession};
use crate::emit::Emitter;
use crate::limits::LISTINGS_MAX;
use crate::mailbox::Mailbox;
use crate::session::SessionInput;
use crate::task::{StopCause, Task, TaskPhase};

/// What the work beside the loop brings.
#[derive(Debug)]
pub(crate) enum ToolSourceUpdate {
    /// How it goes on, for the task that waits.
    Told { epoch: u64, event: EventMsg },
    /// What a task waited for.
    Gathered { epoch: u64, gathered: GatheredTools },
    /// Which models there are, for a task that waits to know how large its window is.
    Listed { epoch: u64, models: Vec<ModelEntry> },
    /// What a client asked for.
    Offered {
        listing: u64,
        id: SubmissionId,
        offer: McpOffer,
    },
}

impl OpenSession {
    /// Takes news of a source. Those for a task that is over, or does not wait, are ignored.
    pub(crate) async fn source_news(
        &mut self,
        out: &mut Emitter,
        news: ToolSourceUpdate,
    ) -> Result<(), StoreError> {
        let epoch = match news {
            ToolSourceUpdate::Offered { listing, id, offer } => {
                self.conversation.listings.running.remove(&listing);
                return out.delta(&id, EventMsg::McpListToolsResponse(Box::new(offer)));
            }
            ToolSourceUpdate::Told { epoch, .. }
            | ToolSourceUpdate::Gathered { epoch, .. }
            | ToolSourceUpdate::Listed { epoch, .. } => epoch,
        };
        let waits = |task: &&mut Task| {
            task.epoch == epoch && matches!(task.phase, TaskPhase::Equipping { .. })
        };
        let Some(task) = self.task.as_mut().filter(waits) else {
            return Ok(());
        };
        let conversation = &mut self.conversation;
        let done = match news {
            ToolSourceUpdate::Told { event, .. } => out.emit(&task.id, vec![event]),
            ToolSourceUpdate::Gathered { gathered, .. } => {
                conversation.equipped(task, out, gathered).await
            }
            ToolSourceUpdate::Listed { models, .. } => {
                conversation.window_received(task, out, models).await
            }
            ToolSourceUpdate::Offered { .. } => Ok(()),
        };
        self.drop_ended_task();
        done
    }
}

impl Conversation {
    /// Begins to find out which tools there are, if there is something to find out. The task
    /// goes on with what is found.
    pub(super) fn equip(&self, task: &mut Task) -> bool {
        let Some(source) = self.tools.news() else {
            return false;
        };
        let source = Arc::clone(source);
        let line = SourceUpdateSender {
            mailbox: self.services.mailbox.clone(),
            epoch: task.epoch,
        };
        let epoch = task.epoch;
        let line = Arc::new(line);
        let gathering = tokio::spawn(async move {
            let gathered = source
                .gather(Arc::clone(&line) as Arc<dyn GatherListener>)
                .await;
            line.post(ToolSourceUpdate::Gathered { epoch, gathered })
                .await;
        });
        task.enter(TaskPhase::Equipping {
            _work: AbortOnDropHandle::new(gathering),
        });
        true
    }

    async fn equipped(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
        mut gathered: GatheredTools,
    ) -> Result<(), StoreError> {
        if let Some(why) = gathered.failure.take() {
            let stop = StopCause::fatal(AbortReason::Error, why, ErrorInfo::Other);
            return self.stop(task, out, stop).await;
        }
        self.tools = Arc::new(self.tools.with_gathered_tools(gathered));
        self.toolset = self.services.encodings.tools(&self.tools);
        task.enter(TaskPhase::Starting);
        // What came while tools were waited for goes along.
        Box::pin(self.sample(task, out)).await
    }

    /// Answers with everything that the servers offer, once it is known.
    pub(crate) fn list_mcp_tools(
        &mut self,
        out: &mut Emitter,
        id: SubmissionId,
    ) -> Result<(), StoreError> {
        let Some(source) = self.tools.source() else {
            return out.delta(&id, EventMsg::McpListToolsResponse(Box::default()));
        };
        if self.listings.running.len() >= LISTINGS_MAX {
            let message = format!("{LISTINGS_MAX} lists are being made; wait for one of them");
            return out.error(&id, refusal(message));
        }
        let (source, mailbox) = (Arc::clone(source), self.services.mailbox.clone());
        let listing = self.listings.made;
        self.listings.made += 1;
        let work = tokio::spawn(async move {
            let offer = source.offer().await;
            let offered = Box::new(ToolSourceUpdate::Offered { listing, id, offer });
            // A session that is gone answers nobody.
            discard!(
                mailbox.post(SessionInput::Source(offered)).await,
                "the actor has ended"
            );
        });
        let work = AbortOnDropHandle::new(work);
        self.listings.running.insert(listing, work);
        Ok(())
    }

    /// Has servers be asked anew before the next request to the model.
    pub(crate) fn refresh_mcp_servers(
        &self,
        out: &mut Emitter,
        id: &SubmissionId,
    ) -> Result<(), StoreError> {
        match self.tools.source() {
            Some(source) => {
                source.refresh();
                Ok(())
            }
            None => out.warn(id, "no MCP servers are configured".to_owned()),
        }
    }

    /// Tells whether a client waits for a list.
    pub(crate) fn is_offering(&self) -> bool {
        !self.listings.running.is_empty()
    }
}

impl PendingListings {
    /// Counts on, so that a late list of another conversation is not taken for one of ours.
    pub(super) fn after(other: &Self) -> Self {
        Self {
            made: other.made,
            running: BTreeMap::new(),
        }
    }
}

/// The way from the work beside the loop to the session.
#[derive(Debug)]
struct SourceUpdateSender {
    mailbox: Mailbox,
    epoch: u64,
}

impl SourceUpdateSender {
    async fn post(&self, news: ToolSourceUpdate) {
        // A session that is gone has no task that would wait.
        discard!(
            self.mailbox
                .post(SessionInput::Source(Box::new(news)))
                .await,
            "the actor has ended"
        );
    }
}

#[async_trait]
impl GatherListener for SourceUpdateSender {
    async fn tell(&self, event: EventMsg) {
        let epoch = self.epoch;
        self.post(ToolSourceUpdate::Told { epoch, event }).await;
    }
}

/// Lists that clients wait for. They end with the conversation.
#[derive(Debug, Default)]
pub(super) struct PendingListings {
    made: u64,
    running: BTreeMap<u64, AbortOnDropHandle<()>>,
}

fn refusal(message: String) -> ErrorEvent {
    ErrorEvent {
        message,
        fatal: false,
        error_info: Some(ErrorInfo::InvalidSubmission),
    }
}
