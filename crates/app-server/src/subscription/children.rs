//! The children of a thread that is followed, as threads of their own.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream, SelectAll};
use troupe_agents::{ChildArrival, ChildArrivals, TreeHandle};
use troupe_engine::{EventStream, EventTap};
use troupe_protocol::agent::SubagentSummary;
use troupe_protocol::{Event, SessionId};
use troupe_server::session_pool;
use troupe_transport::rpc::PeerGone;

use super::child::FollowedChild;
use super::{SubscriptionScope, ThreadControl};
use crate::connection::AppConnection;
use crate::translate::EventTranslator;
use crate::wire::notification::{ServerNotification, ThreadStartedNotification};
use crate::wire::thread::{SubAgentSource, Thread, ThreadSource, ThreadSpawn, ThreadStatus};

pub(super) struct FollowedChildren {
    connection: AppConnection,
    agents: TreeHandle,
    root: SessionId,
    cwd: std::path::PathBuf,
    model_provider: String,
    arrivals: Option<ChildArrivals>,
    /// The only one that is followed, if not all are.
    only: Option<SessionId>,
    /// What the client knows of that one when it begins to follow it.
    seen: u64,
    /// Those that the client knows of.
    told: HashSet<SessionId>,
    known: HashMap<SessionId, FollowedChild>,
    /// Those whose events are read, and what is read when they have left and come back.
    reading: HashMap<SessionId, Option<EventTap>>,
    events: SelectAll<BoxStream<'static, (SessionId, ChildSignal)>>,
}

/// What happens below a thread.
pub(super) enum ChildNews {
    /// No child: the listener was too slow, or the tree has ended.
    Arrived(Option<Box<ChildArrival>>),
    Said(SessionId, ChildSignal),
}

/// What comes from a child.
pub(super) enum ChildSignal {
    Event(Arc<Event>),
    /// Its session has left memory.
    Left,
}

impl FollowedChildren {
    pub(super) fn new(
        connection: AppConnection,
        thread: &session_pool::RootSession,
        scope: SubscriptionScope,
    ) -> Self {
        let mut children = Self {
            connection,
            agents: thread.agents().clone(),
            root: thread.id(),
            cwd: thread.configured().context.cwd.clone(),
            model_provider: thread.configured().model_provider_id.clone(),
            arrivals: None,
            only: None,
            seen: 0,
            told: HashSet::new(),
            known: HashMap::new(),
            reading: HashMap::new(),
            events: SelectAll::new(),
        };
        if let SubscriptionScope::Child(follow) = scope {
            children.only = Some(follow.id);
            children.seen = follow.seen;
            children.told.insert(follow.id);
            let child = FollowedChild::with_translator(follow.id, follow.translator);
            children.known.insert(follow.id, child);
        }
        children
    }

    /// Begins to listen, if there are children.
    pub(super) async fn listen(&mut self) {
        if self.arrivals.is_none() {
            self.arrivals = self.agents.arrivals().await;
        }
    }

    /// Returns what happens next. Without children that is nothing, ever.
    pub(super) async fn next(&mut self) -> ChildNews {
        let arrivals = &mut self.arrivals;
        let arrival = async {
            match arrivals {
                Some(arrivals) => arrivals.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            arrival = arrival => ChildNews::Arrived(arrival.map(Box::new)),
            Some((id, said)) = self.events.next() => ChildNews::Said(id, said),
        }
    }

    pub(super) async fn news(&mut self, news: ChildNews) -> Result<(), PeerGone> {
        match news {
            ChildNews::Arrived(Some(arrival)) => self.arrived(*arrival).await,
            ChildNews::Arrived(None) => {
                // Those who are there come again.
                self.arrivals = None;
                self.listen().await;
                Ok(())
            }
            ChildNews::Said(id, ChildSignal::Event(event)) => match self.known.get_mut(&id) {
                Some(child) => child.event(&self.connection, &event).await,
                None => Ok(()),
            },
            ChildNews::Said(id, ChildSignal::Left) => {
                if let Some(child) = self.known.get_mut(&id) {
                    child.session_unloaded().await;
                }
                if let Some(Some(again)) = self.reading.remove(&id)
                    && !again.is_closed()
                {
                    self.read(id, again.after(0));
                }
                Ok(())
            }
        }
    }

    /// Asks something of a child, whether it is in memory or not.
    pub(super) async fn control(&mut self, id: SessionId, control: ThreadControl) {
        let child = self
            .known
            .entry(id)
            .or_insert_with(|| FollowedChild::new(id));
        child.control(&self.agents.user(), control).await;
        // The first input may have begun the tree.
        self.listen().await;
    }

    /// Returns what tells of a child. It may be one of which the client has not heard yet, because
    /// it has just joined.
    pub(super) fn translator(&mut self, id: SessionId) -> &mut EventTranslator {
        let child = self.known.entry(id);
        let child = child.or_insert_with(|| FollowedChild::new(id));
        child.translator()
    }

    /// Tells the client of a new child.
    pub(super) async fn created(&mut self, subagent: &SubagentSummary) -> Result<(), PeerGone> {
        if self.only.is_none() && self.told.insert(subagent.session_id) {
            let thread = Thread {
                preview: subagent.summary.clone().unwrap_or_default(),
                agent_nickname: subagent.label.clone(),
                agent_path: subagent.path.clone(),
                parent_thread_id: subagent.parent_session_id.map(|id| id.to_string()),
                created_at: subagent.started_at_ms / 1000,
                updated_at: subagent.started_at_ms / 1000,
                source: spawned_by(subagent.parent_session_id, depth(subagent.path.as_deref())),
                ..self.blank(subagent.session_id)
            };
            self.tell(thread).await?;
        }
        self.listen().await;
        Ok(())
    }

    /// Follows a child whose session has come into memory.
    async fn arrived(&mut self, arrival: ChildArrival) -> Result<(), PeerGone> {
        let ChildArrival { view, events } = arrival;
        let id = view.session;
        if self.only.is_some_and(|only| only != id) {
            return Ok(());
        }
        if self.told.insert(id) {
            let spec = view.spec.as_ref();
            let thread = Thread {
                preview: spec.and_then(|spec| spec.summary()).unwrap_or_default(),
                agent_nickname: spec.and_then(|spec| spec.label.clone()),
                agent_role: spec.map(|spec| spec.agent_type.clone()),
                model: spec.map(|spec| spec.model.clone()),
                agent_path: Some(view.path.clone()),
                parent_thread_id: view.parent_session.map(|id| id.to_string()),
                created_at: view.born_at_ms / 1000,
                updated_at: view.updated_at_ms() / 1000,
                source: spawned_by(view.parent_session, view.depth),
                ..self.blank(id)
            };
            self.tell(thread).await?;
        }
        self.known
            .entry(id)
            .or_insert_with(|| FollowedChild::new(id));
        match self.reading.entry(id) {
            // What it said before it left, if it has, is told first.
            Entry::Occupied(mut reading) => {
                reading.insert(Some(events));
            }
            Entry::Vacant(_) => {
                let seen = std::mem::take(&mut self.seen);
                self.read(id, events.after(seen));
            }
        }
        Ok(())
    }

    fn read(&mut self, id: SessionId, events: EventStream) {
        let said = stream::unfold(events, |mut events| async {
            let event = events.next().await?;
            Some((ChildSignal::Event(event), events))
        });
        let said = said.chain(stream::iter([ChildSignal::Left]));
        self.events.push(said.map(move |said| (id, said)).boxed());
        self.reading.insert(id, None);
    }

    async fn tell(&mut self, thread: Thread) -> Result<(), PeerGone> {
        let thread = Box::new(thread);
        let started = ThreadStartedNotification { thread };
        let started = ServerNotification::ThreadStarted(started);
        self.connection.notify(&started).await
    }

    fn blank(&self, id: SessionId) -> Thread {
        Thread {
            id: id.to_string(),
            session_id: self.root.to_string(),
            forked_from_id: None,
            parent_thread_id: None,
            preview: String::new(),
            ephemeral: self.agents.is_ephemeral(),
            project_id: None,
            model_provider: self.model_provider.clone(),
            model: None,
            created_at: 0,
            updated_at: 0,
            status: ThreadStatus::Idle,
            path: None,
            cwd: self.cwd.clone(),
            cli_version: env!("CARGO_PKG_VERSION").to_owned(),
            source: ThreadSource::Unknown,
            agent_nickname: None,
            agent_role: None,
            agent_path: None,
            git_info: None,
            name: None,
            note: None,
            turns: Vec::new(),
        }
    }
}

fn spawned_by(parent: Option<SessionId>, depth: u32) -> ThreadSource {
    let Some(parent) = parent else {
        return ThreadSource::Unknown;
    };
    ThreadSource::SubAgent(SubAgentSource {
        thread_spawn: ThreadSpawn {
            parent_thread_id: parent.to_string(),
            depth,
        },
    })
}

/// `/root/a/b` is two below the root.
fn depth(path: Option<&str>) -> u32 {
    let slashes = path.unwrap_or_default().matches('/').count();
    u32::try_from(slashes.saturating_sub(1)).unwrap_or(u32::MAX)
}
