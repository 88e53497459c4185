//! A store in memory that can be made to fail.

use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use troupe_protocol::rollout::{RolloutRecord, SessionMeta};
use troupe_protocol::{ResponseId, SessionId};
use troupe_store::{
    AgentLines, AgentLocation, AgentRow, ApprovalRow, LineBatch, ListPage, ListQuery, LiveHistory,
    LogBookmark, LogPosition, MailRow, MemoryStore, ReindexProgress, ReindexReport, SessionLog,
    SessionStore, StoreError, TaskRow, TreeRow,
};

pub type Refused = fn(&RolloutRecord) -> bool;

/// Keeps everything but what it is told to refuse, and remembers what came together.
#[derive(Debug, Clone, Default)]
pub struct Faulty {
    inner: MemoryStore,
    refused: Arc<Mutex<Option<Refused>>>,
    /// Where nothing is refused.
    spared: Arc<Mutex<Option<SessionId>>>,
    appends: Arc<Mutex<Vec<Vec<RolloutRecord>>>>,
}

impl Faulty {
    /// Refuses appends that hold such a record from now on.
    pub fn refuse(&self, refused: Refused) {
        *self.lock() = Some(refused);
    }

    /// Refuses nothing in the log of this session.
    pub fn spare(&self, session: SessionId) {
        *self.spared.lock().expect("nobody panics with it") = Some(session);
    }

    fn is_spared(&self, session: SessionId) -> bool {
        *self.spared.lock().expect("nobody panics with it") == Some(session)
    }

    pub fn heal(&self) {
        *self.lock() = None;
    }

    /// Returns what was kept, each append by itself.
    pub fn appends(&self) -> Vec<Vec<RolloutRecord>> {
        self.appends.lock().expect("nobody panics with it").clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Refused>> {
        self.refused.lock().expect("nobody panics with it")
    }

    fn wrap(&self, inner: Box<dyn SessionLog>) -> Box<dyn SessionLog> {
        Box::new(FaultyLog {
            inner,
            store: self.clone(),
        })
    }
}

#[derive(Debug)]
struct FaultyLog {
    inner: Box<dyn SessionLog>,
    store: Faulty,
}

#[async_trait]
impl SessionLog for FaultyLog {
    fn session(&self) -> SessionId {
        self.inner.session()
    }

    fn position(&self) -> LogPosition {
        self.inner.position()
    }

    fn path(&self) -> Option<&std::path::Path> {
        self.inner.path()
    }

    fn append(&mut self, records: &[RolloutRecord]) -> Result<LogPosition, StoreError> {
        let refused = *self.store.lock();
        let refused = refused.filter(|_| !self.store.is_spared(self.session()));
        if refused.is_some_and(|refused| records.iter().any(refused)) {
            return Err(StoreError::Full {
                path: "memory".into(),
                source: std::io::ErrorKind::StorageFull.into(),
            });
        }
        let mut appends = self.store.appends.lock().expect("nobody panics with it");
        appends.push(records.to_vec());
        self.inner.append(records)
    }

    async fn commit(&mut self) -> Result<(), StoreError> {
        self.inner.commit().await
    }

    async fn close(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.close().await
    }
}

#[async_trait]
impl SessionStore for Faulty {
    async fn create(&self, meta: &SessionMeta) -> Result<Box<dyn SessionLog>, StoreError> {
        Ok(self.wrap(self.inner.create(meta).await?))
    }

    async fn open(&self, id: SessionId) -> Result<(Box<dyn SessionLog>, LiveHistory), StoreError> {
        let (log, live) = self.inner.open(id).await?;
        Ok((self.wrap(log), live))
    }

    async fn read_live(&self, id: SessionId) -> Result<LiveHistory, StoreError> {
        self.inner.read_live(id).await
    }

    async fn read_live_at(
        &self,
        id: SessionId,
        upto: LogPosition,
    ) -> Result<LiveHistory, StoreError> {
        self.inner.read_live_at(id, upto).await
    }

    async fn read_all(&self, id: SessionId, from: LogPosition) -> Result<LineBatch, StoreError> {
        self.inner.read_all(id, from).await
    }

    async fn agent_lines(&self, id: SessionId) -> Result<AgentLines, StoreError> {
        self.inner.agent_lines(id).await
    }

    async fn tree_of(&self, session: SessionId) -> Result<Option<AgentLocation>, StoreError> {
        self.inner.tree_of(session).await
    }

    async fn trees(&self, limit: usize) -> Result<Vec<TreeRow>, StoreError> {
        self.inner.trees(limit).await
    }

    async fn tree(&self, root: SessionId) -> Result<Vec<AgentRow>, StoreError> {
        self.inner.tree(root).await
    }

    async fn inbox(&self, at: AgentLocation) -> Result<Vec<MailRow>, StoreError> {
        self.inner.inbox(at).await
    }

    async fn tasks_of(&self, session: SessionId) -> Result<Vec<TaskRow>, StoreError> {
        self.inner.tasks_of(session).await
    }

    async fn open_approvals(&self, root: SessionId) -> Result<Vec<ApprovalRow>, StoreError> {
        self.inner.open_approvals(root).await
    }

    async fn find_bookmark(&self, id: &ResponseId) -> Result<Option<LogBookmark>, StoreError> {
        self.inner.find_bookmark(id).await
    }

    async fn resolve(&self, text: &str) -> Result<SessionId, StoreError> {
        self.inner.resolve(text).await
    }

    async fn list(&self, query: &ListQuery) -> Result<ListPage, StoreError> {
        self.inner.list(query).await
    }

    async fn is_held(&self, id: SessionId) -> Result<bool, StoreError> {
        self.inner.is_held(id).await
    }

    async fn archive(&self, id: SessionId) -> Result<(), StoreError> {
        self.inner.archive(id).await
    }

    async fn unarchive(&self, id: SessionId) -> Result<(), StoreError> {
        self.inner.unarchive(id).await
    }

    async fn delete(&self, id: SessionId) -> Result<Vec<SessionId>, StoreError> {
        self.inner.delete(id).await
    }

    async fn remove_empty(&self, id: SessionId) -> Result<bool, StoreError> {
        self.inner.remove_empty(id).await
    }

    async fn reindex(
        &self,
        progress: &mut (dyn FnMut(ReindexProgress) + Send),
    ) -> Result<ReindexReport, StoreError> {
        self.inner.reindex(progress).await
    }
}
