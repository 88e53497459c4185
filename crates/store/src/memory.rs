//! A store that leaves nothing on disk, for runs that are to be forgotten. Its logs have the
//! same lines, positions and branches as files do.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use troupe_protocol::rollout::{RolloutRecord, SessionMeta};
use troupe_protocol::{ResponseId, SessionId};

use crate::agent_lines;
use crate::clock::StoreClock;
use crate::deletion;
use crate::embedded;
use crate::error::StoreError;
use crate::forwards;
use crate::index::{IndexDatabase, LogLocation};
use crate::layout;
use crate::line;
use crate::list::{ListPage, ListQuery};
use crate::live;
use crate::source::ByteSource;
use crate::store::{
    AgentLines, LineBatch, LiveHistory, LogBookmark, LogPosition, ReindexProgress, ReindexReport,
    SessionLog, SessionStore,
};
use crate::tree::{AgentLocation, AgentRow, ApprovalRow, MailRow, TaskRow, TreeRow};

#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    clock: StoreClock,
    logs: Arc<Mutex<BTreeMap<SessionId, MemoryRollout>>>,
}

#[derive(Debug)]
struct MemoryRollout {
    meta: SessionMeta,
    bytes: Vec<u8>,
    archived: bool,
    leased: bool,
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with_clock(clock: StoreClock) -> Self {
        Self {
            clock,
            logs: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, MemoryRollout>> {
        // Every change of the map is a single step, so a panic elsewhere leaves it whole.
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        id: SessionId,
        work: impl FnOnce(&mut MemoryRollout) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut logs = self.lock();
        work(logs.get_mut(&id).ok_or_else(|| StoreError::not_found(id))?)
    }

    /// Lists and looks up are rare here, so the index is made when one is asked for.
    fn index(&self) -> Result<IndexDatabase, StoreError> {
        let mut index = IndexDatabase::in_memory()?;
        for (id, kept) in &*self.lock() {
            let log = LogLocation {
                id: *id,
                path: None,
                archived: kept.archived,
            };
            index.apply(&log, kept.bytes.as_slice())?;
        }
        Ok(index)
    }
}

#[async_trait]
impl SessionStore for MemoryStore {
    async fn create(&self, meta: &SessionMeta) -> Result<Box<dyn SessionLog>, StoreError> {
        embedded::created(meta)?;
        let first = RolloutRecord::SessionMeta(Box::new(meta.clone()));
        let mut bytes = Vec::new();
        line::encode(&[first], self.clock.now(), &mut bytes)?;
        let end = bytes.len() as u64;
        let kept = MemoryRollout {
            meta: meta.clone(),
            bytes,
            archived: false,
            leased: true,
        };
        let mut logs = self.lock();
        if logs.contains_key(&meta.id) {
            return Err(StoreError::Exists {
                session: meta.id,
                path: "memory".into(),
            });
        }
        logs.insert(meta.id, kept);
        drop(logs);
        Ok(Box::new(MemoryLog::new(self, meta.id, end)))
    }

    async fn open(&self, id: SessionId) -> Result<(Box<dyn SessionLog>, LiveHistory), StoreError> {
        let (end, history) = self.with(id, |kept| {
            if kept.leased {
                let by = Some(std::process::id());
                return Err(StoreError::Owned { session: id, by });
            }
            let end = kept.bytes.len() as u64;
            let history = kept.history(LogPosition(end))?;
            kept.leased = true;
            Ok((end, history))
        })?;
        Ok((Box::new(MemoryLog::new(self, id, end)), history))
    }

    async fn read_live(&self, id: SessionId) -> Result<LiveHistory, StoreError> {
        self.with(id, |kept| {
            kept.history(LogPosition(kept.bytes.len() as u64))
        })
    }

    async fn read_live_at(
        &self,
        id: SessionId,
        upto: LogPosition,
    ) -> Result<LiveHistory, StoreError> {
        self.with(id, |kept| {
            kept.check(id, upto)?;
            kept.history(upto)
        })
    }

    async fn read_all(&self, id: SessionId, from: LogPosition) -> Result<LineBatch, StoreError> {
        self.with(id, |kept| {
            kept.check(id, from)?;
            forwards::batch(kept.bytes.as_slice(), from).map_err(in_memory)
        })
    }

    async fn agent_lines(&self, id: SessionId) -> Result<AgentLines, StoreError> {
        self.with(id, |kept| {
            let read = agent_lines::read(kept.bytes.as_slice()).map_err(in_memory)?;
            Ok(read.into_lines(kept.meta.clone(), kept.archived))
        })
    }

    async fn find_bookmark(&self, id: &ResponseId) -> Result<Option<LogBookmark>, StoreError> {
        self.index()?.bookmark(id)
    }

    async fn resolve(&self, text: &str) -> Result<SessionId, StoreError> {
        let ids: Vec<SessionId> = self.lock().keys().copied().collect();
        match layout::match_id(text, ids.into_iter())? {
            Some(id) => Ok(id),
            None => self.index()?.session_named(text),
        }
    }

    async fn list(&self, query: &ListQuery) -> Result<ListPage, StoreError> {
        self.index()?.list(query)
    }

    async fn tree_of(&self, session: SessionId) -> Result<Option<AgentLocation>, StoreError> {
        self.index()?.tree_of(session)
    }

    async fn trees(&self, limit: usize) -> Result<Vec<TreeRow>, StoreError> {
        self.index()?.trees(limit)
    }

    async fn tree(&self, root: SessionId) -> Result<Vec<AgentRow>, StoreError> {
        self.index()?.tree(root)
    }

    async fn inbox(&self, at: AgentLocation) -> Result<Vec<MailRow>, StoreError> {
        self.index()?.inbox(at)
    }

    async fn tasks_of(&self, session: SessionId) -> Result<Vec<TaskRow>, StoreError> {
        self.index()?.tasks_of(session)
    }

    async fn open_approvals(&self, root: SessionId) -> Result<Vec<ApprovalRow>, StoreError> {
        self.index()?.open_approvals(root)
    }

    async fn is_held(&self, id: SessionId) -> Result<bool, StoreError> {
        self.with(id, |kept| Ok(kept.leased))
    }

    async fn archive(&self, id: SessionId) -> Result<(), StoreError> {
        self.with(id, |kept| kept.set_archived(id, true))
    }

    async fn unarchive(&self, id: SessionId) -> Result<(), StoreError> {
        self.with(id, |kept| kept.set_archived(id, false))
    }

    async fn delete(&self, id: SessionId) -> Result<Vec<SessionId>, StoreError> {
        let index = self.index()?;
        let sessions = match index.tree_of(id)? {
            None => vec![id],
            Some(AgentLocation { root, .. }) => {
                deletion::with_descendants(id, root, &index.tree(root)?)?
            }
        };
        let mut logs = self.lock();
        if !logs.contains_key(&id) {
            return Err(StoreError::not_found(id));
        }
        let is_leased = |id: &&SessionId| logs.get(id).is_some_and(|kept| kept.leased);
        if let Some(session) = sessions.iter().find(is_leased) {
            return Err(StoreError::Owned {
                session: *session,
                by: Some(std::process::id()),
            });
        }
        logs.retain(|id, _| !sessions.contains(id));
        Ok(sessions)
    }

    /// A log in memory begins with its first line.
    async fn remove_empty(&self, _id: SessionId) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// There is nothing to rebuild: the index is made from the logs each time.
    async fn reindex(
        &self,
        progress: &mut (dyn FnMut(ReindexProgress) + Send),
    ) -> Result<ReindexReport, StoreError> {
        let report = self.index()?.report()?;
        let logs = self.lock();
        let bytes = logs.values().map(|kept| kept.bytes.len() as u64).sum();
        progress(ReindexProgress {
            files_done: logs.len() as u64,
            files: logs.len() as u64,
            bytes_done: bytes,
            bytes,
        });
        Ok(ReindexReport { bytes, ..report })
    }
}

impl MemoryRollout {
    fn history(&self, end: LogPosition) -> Result<LiveHistory, StoreError> {
        let live = live::read(self.bytes.as_slice(), end).map_err(in_memory)?;
        Ok(live.into_history(self.meta.clone(), self.archived))
    }

    fn check(&self, session: SessionId, position: LogPosition) -> Result<(), StoreError> {
        match self.bytes.as_slice().is_line_boundary(position.0) {
            Ok(true) => Ok(()),
            _ => Err(StoreError::Position { session, position }),
        }
    }

    fn set_archived(&mut self, session: SessionId, archived: bool) -> Result<(), StoreError> {
        if self.leased {
            let by = Some(std::process::id());
            return Err(StoreError::Owned { session, by });
        }
        self.archived = archived;
        Ok(())
    }
}

fn in_memory(source: std::io::Error) -> StoreError {
    StoreError::read(Path::new("memory"), source)
}

#[derive(Debug)]
struct MemoryLog {
    store: MemoryStore,
    session: SessionId,
    end: u64,
}

impl MemoryLog {
    fn new(store: &MemoryStore, session: SessionId, end: u64) -> Self {
        Self {
            store: store.clone(),
            session,
            end,
        }
    }
}

impl Drop for MemoryLog {
    fn drop(&mut self) {
        if let Some(kept) = self.store.lock().get_mut(&self.session) {
            kept.leased = false;
        }
    }
}

#[async_trait]
impl SessionLog for MemoryLog {
    fn session(&self) -> SessionId {
        self.session
    }

    fn position(&self) -> LogPosition {
        LogPosition(self.end)
    }

    fn path(&self) -> Option<&Path> {
        None
    }

    fn append(&mut self, records: &[RolloutRecord]) -> Result<LogPosition, StoreError> {
        let now = self.store.clock.now();
        self.end = self.store.with(self.session, |kept| {
            let before = kept.bytes.len();
            line::encode(records, now, &mut kept.bytes)
                .inspect_err(|_| kept.bytes.truncate(before))?;
            Ok(kept.bytes.len() as u64)
        })?;
        Ok(self.position())
    }

    async fn commit(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}
