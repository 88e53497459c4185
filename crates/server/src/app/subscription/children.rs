//! The children of a thread that is followed, as threads of their own.

use std::collections::{HashMap, HashSet};

use tokio_util::task::AbortOnDropHandle;
use troupe_agents::{Agents, Arrival, Arrivals};
use troupe_engine::EventStream;
use troupe_protocol::SessionId;
use troupe_protocol::agent::SubagentSummary;

use crate::app::connection::Connection;
use crate::app::translate::Translator;
use crate::app::wire::notification::{ServerNotification, ThreadStartedNotification};
use crate::app::wire::thread::{SubAgentSource, Thread, ThreadSource, ThreadSpawn, ThreadStatus};
use crate::house;
use crate::rpc::Gone;

pub(super) struct Children {
    connection: Connection,
    agents: Agents,
    root: SessionId,
    cwd: std::path::PathBuf,
    model_provider: String,
    arrivals: Option<Arrivals>,
    /// Those that the client knows of.
    told: HashSet<SessionId>,
    /// Those whose events are passed on, with the task that does it.
    followed: HashMap<SessionId, AbortOnDropHandle<()>>,
}

impl Children {
    pub(super) fn new(connection: Connection, thread: &house::Thread) -> Self {
        Self {
            connection,
            agents: thread.agents().clone(),
            root: thread.id(),
            cwd: thread.configured().context.cwd.clone(),
            model_provider: thread.configured().model_provider_id.clone(),
            arrivals: None,
            told: HashSet::new(),
            followed: HashMap::new(),
        }
    }

    /// Begins to listen, if there are children.
    pub(super) async fn listen(&mut self) {
        if self.arrivals.is_none() {
            self.arrivals = self.agents.arrivals().await;
        }
    }

    /// Returns the next child that is in memory. Without children that never is.
    pub(super) async fn next(&mut self) -> Option<Arrival> {
        match &mut self.arrivals {
            Some(arrivals) => arrivals.next().await,
            None => std::future::pending().await,
        }
    }

    /// Tells the client of a new child.
    pub(super) async fn created(&mut self, subagent: &SubagentSummary) -> Result<(), Gone> {
        if self.told.insert(subagent.session_id) {
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

    /// Follows a child whose session has come into memory. No child: the listener was too
    /// slow, or the tree has ended; if it has not, those who are there come again.
    pub(super) async fn arrived(&mut self, arrival: Option<Arrival>) -> Result<(), Gone> {
        let Some(Arrival { view, events }) = arrival else {
            self.arrivals = None;
            self.listen().await;
            return Ok(());
        };
        let id = view.session;
        if self.told.insert(id) {
            let spec = view.spec.as_ref();
            let thread = Thread {
                preview: spec.map(|spec| spec.summary.clone()).unwrap_or_default(),
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
        self.followed.retain(|_, task| !task.is_finished());
        let follow = follow(self.connection.clone(), id, events.after(0));
        let task = AbortOnDropHandle::new(tokio::spawn(follow));
        self.followed.insert(id, task);
        Ok(())
    }

    async fn tell(&self, thread: Thread) -> Result<(), Gone> {
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

/// Passes on what a child says, until it leaves memory. What it asks is asked at the root.
async fn follow(connection: Connection, id: SessionId, mut events: EventStream) {
    let mut translator = Translator::new(id.to_string());
    while let Some(event) = events.next().await {
        for notification in translator.translate(&event) {
            if connection.notify(&notification).await.is_err() {
                return;
            }
        }
    }
}
