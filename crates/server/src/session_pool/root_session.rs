//! One thread, as its users hold it.

use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;
use troupe_agents::TreeHandle;
use troupe_engine::dynamic::{ClientCallQueue, ClientCallSubscriber};
use troupe_engine::{EventStream, EventTap, SessionClosed, SessionHandle};
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{ErrorEvent, SessionConfigured};
use troupe_protocol::session::{TurnContext, TurnOverrides};
use troupe_protocol::{Event, EventMsg, Op, SessionId, Submission, SubmissionId};
use uuid::Uuid;

/// A root session and its tree. Cheap to clone; as long as somebody has one, it stays in
/// memory unless it is told to end.
#[derive(Debug, Clone)]
pub struct RootSession(Arc<RootSessionInner>);

#[derive(Debug)]
pub(super) struct RootSessionInner {
    pub handle: SessionHandle,
    pub events: EventTap,
    pub agents: TreeHandle,
    pub configured: SessionConfigured,
    /// The number of the event that said so.
    pub opened_at: u64,
    /// Where calls of tools wait that clients run.
    pub desk: Arc<ClientCallQueue>,
    pub _companion: Option<AbortOnDropHandle<()>>,
}

/// A session did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SessionRefusal {
    pub message: String,
    pub info: Option<ErrorInfo>,
}

impl From<ErrorEvent> for SessionRefusal {
    fn from(error: ErrorEvent) -> Self {
        Self {
            message: error.message,
            info: error.error_info,
        }
    }
}

impl From<SessionClosed> for SessionRefusal {
    fn from(closed: SessionClosed) -> Self {
        Self {
            message: closed.to_string(),
            info: None,
        }
    }
}

impl RootSession {
    pub(super) fn new(inner: RootSessionInner) -> Self {
        Self(Arc::new(inner))
    }

    pub fn id(&self) -> SessionId {
        self.0.configured.session_id
    }

    /// Returns what the session said when it was opened.
    pub fn configured(&self) -> &SessionConfigured {
        &self.0.configured
    }

    /// Returns the tree that this session is the root of.
    pub fn agents(&self) -> &TreeHandle {
        &self.0.agents
    }

    /// Has a client be asked to run its tools, from now on and for what waits already.
    pub fn follow_tools(&self) -> ClientCallSubscriber {
        self.0.desk.follow()
    }

    /// Returns the events since the session was opened, and all that come.
    pub fn events(&self) -> EventStream {
        self.0.events.after(self.0.opened_at)
    }

    /// Returns the events after this number, and all that come.
    pub fn events_after(&self, seq: u64) -> EventStream {
        self.0.events.after(seq)
    }

    /// Returns the number of the newest event.
    pub fn last_seq(&self) -> u64 {
        self.0.events.last_seq()
    }

    /// Tells whether the root has no task; its children may.
    pub fn is_idle(&self) -> bool {
        self.0.events.is_idle()
    }

    /// Tells whether the session has ended.
    pub fn is_over(&self) -> bool {
        self.0.events.is_closed()
    }

    /// Returns when the session has ended.
    pub async fn ended(&self) {
        self.0.events.ended().await;
    }

    /// Submits under an id of its own, which is returned: of a turn it is the turn's id.
    pub async fn submit(&self, op: Op) -> Result<SubmissionId, SessionClosed> {
        let id = new_id();
        self.submit_as(id.clone(), op).await?;
        Ok(id)
    }

    pub async fn submit_as(&self, id: SubmissionId, op: Op) -> Result<(), SessionClosed> {
        self.0.handle.submit(Submission { id, op }).await
    }

    /// Submits, and waits for the first event of that submission that is an answer, or for
    /// the error that says why there is none.
    pub async fn ask<T>(
        &self,
        op: Op,
        answer: impl Fn(&EventMsg) -> Option<T>,
    ) -> Result<T, SessionRefusal> {
        let mut events = self.events_after(self.last_seq());
        let id = self.submit(op).await?;
        let is_ours = |event: &Event| event.id == id;
        loop {
            let event = events.next().await.ok_or(SessionClosed)?;
            if !is_ours(&event) {
                continue;
            }
            if let EventMsg::Error(error) = &event.msg {
                return Err(error.clone().into());
            }
            if let Some(answer) = answer(&event.msg) {
                return Ok(answer);
            }
        }
    }

    /// Returns the settings that hold now, which a turn may have changed since the session was
    /// opened: who makes a child for this thread must not give it more than the thread has.
    pub async fn context(&self) -> Result<TurnContext, SessionRefusal> {
        let unchanged = Op::OverrideTurnContext {
            overrides: TurnOverrides::default(),
        };
        self.ask(unchanged, |msg| match msg {
            EventMsg::TurnContextUpdated(context) => Some(context.clone()),
            _ => None,
        })
        .await
    }

    /// Tells whether nobody but the pool holds it. Only the pool gives threads away, so
    /// there it stays true until it does.
    pub(super) fn is_unused(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

/// Ids that sort by their time, which is kind to whoever looks at a log.
fn new_id() -> SubmissionId {
    SubmissionId(Uuid::now_v7().to_string())
}
