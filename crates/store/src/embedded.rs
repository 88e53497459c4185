//! The store of one machine: a directory of rollout files, and SQLite over them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use troupe_protocol::rollout::SessionMeta;
use troupe_protocol::{ResponseId, SessionId};

use crate::agent_lines;
use crate::clock::{StoreClock, UnixMillis};
use crate::committer::LogCommitter;
use crate::deletion;
use crate::error::StoreError;
use crate::forwards;
use crate::index::IndexerHandle;
use crate::layout::{self, FoundRollout, HomeLayout};
use crate::limits::OPEN_ATTEMPTS_MAX;
use crate::line::UnreadableLine;
use crate::list::{IndexFreshness, ListPage, ListQuery, OverviewPage};
use crate::live;
use crate::log::{FILE_MODE, FileLog};
use crate::session_lock::{self, SessionLock};
use crate::source::ByteSource;
use crate::store::{
    AgentLines, LineBatch, LiveHistory, LogBookmark, LogPosition, ReindexProgress, ReindexReport,
    SessionLog, SessionStore,
};
use crate::tree::{AgentLocation, AgentRow, ApprovalRow, MailRow, TaskRow, TreeRow};

/// All sessions of a home directory. Clones share the threads, which end with the last clone
/// and the last log.
#[derive(Debug, Clone)]
pub struct EmbeddedStore {
    home: Arc<StoreHome>,
}

/// What a store and its logs share.
#[derive(Debug)]
pub(crate) struct StoreHome {
    layout: HomeLayout,
    pub(crate) clock: StoreClock,
    pub(crate) committer: LogCommitter,
    pub(crate) indexer: IndexerHandle,
}

impl EmbeddedStore {
    /// Makes the directory if it is missing. Nothing else is read, opened or started.
    pub fn open(home: &Path) -> Result<Self, StoreError> {
        Self::with_clock(home, StoreClock::system())
    }

    pub fn with_clock(home: &Path, clock: StoreClock) -> Result<Self, StoreError> {
        layout::create_directory(home)?;
        Ok(Self::of(HomeLayout::new(home), clock))
    }

    /// Opens a home for who only reads: what the index has to be told goes to a copy of it, in
    /// a directory of the caller's.
    pub fn open_for_reading(home: &Path, scratch: &Path) -> Result<Self, StoreError> {
        let layout = HomeLayout::new(home).with_copied_index(scratch)?;
        Ok(Self::of(layout, StoreClock::system()))
    }

    fn of(layout: HomeLayout, clock: StoreClock) -> Self {
        Self {
            home: Arc::new(StoreHome {
                clock: clock.clone(),
                committer: LogCommitter::new(),
                indexer: IndexerHandle::new(layout.clone(), clock),
                layout,
            }),
        }
    }

    /// Reads files on a thread where waiting for the disk holds nobody up.
    async fn read_on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<StoreHome>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let home = self.home.clone();
        tokio::task::spawn_blocking(move || work(&home))
            .await
            .map_err(|_| StoreError::Stopped { thread: "reading" })?
    }
}

#[async_trait]
impl SessionStore for EmbeddedStore {
    async fn create(&self, meta: &SessionMeta) -> Result<Box<dyn SessionLog>, StoreError> {
        let created = created(meta)?;
        let path = self.home.layout.new_log(meta.id, created);
        let changed = match path.parent() {
            Some(directory) => layout::create_directory(directory)?,
            None => Vec::new(),
        };
        let log = FileLog::create(self.home.clone(), meta, path, changed)?;
        Ok(Box::new(log))
    }

    async fn open(&self, id: SessionId) -> Result<(Box<dyn SessionLog>, LiveHistory), StoreError> {
        let opened = self.read_on_thread(move |home| open_log(home, id)).await?;
        Ok((Box::new(opened.0), opened.1))
    }

    async fn read_live(&self, id: SessionId) -> Result<LiveHistory, StoreError> {
        self.read_on_thread(move |home| {
            let (found, file) = open_for_reading(home, id)?;
            let failed = |source| StoreError::read(&found.path, source);
            let end = live::whole_end(&file).map_err(failed)?;
            let mut history = live_history(&found, &file, end)?;
            let torn = file.bytes().map_err(failed)?.saturating_sub(end.0);
            if torn > 0 {
                history.warnings.push(live::torn_warning(end, torn));
            }
            Ok(history)
        })
        .await
    }

    async fn read_live_at(
        &self,
        id: SessionId,
        upto: LogPosition,
    ) -> Result<LiveHistory, StoreError> {
        self.read_on_thread(move |home| {
            let (found, file) = open_for_reading(home, id)?;
            check_position(&found, &file, upto)?;
            live_history(&found, &file, upto)
        })
        .await
    }

    async fn read_all(&self, id: SessionId, from: LogPosition) -> Result<LineBatch, StoreError> {
        self.read_on_thread(move |home| {
            let (found, file) = open_for_reading(home, id)?;
            check_position(&found, &file, from)?;
            forwards::batch(&file, from).map_err(|source| StoreError::read(&found.path, source))
        })
        .await
    }

    async fn agent_lines(&self, id: SessionId) -> Result<AgentLines, StoreError> {
        self.read_on_thread(move |home| {
            let (found, file) = open_for_reading(home, id)?;
            let meta = read_meta(&found, &file)?;
            let read = agent_lines::read(&file);
            let read = read.map_err(|source| StoreError::read(&found.path, source))?;
            Ok(read.into_lines(meta, found.archived))
        })
        .await
    }

    async fn find_bookmark(&self, id: &ResponseId) -> Result<Option<LogBookmark>, StoreError> {
        self.home.indexer.find_bookmark(id.clone()).await
    }

    async fn resolve(&self, text: &str) -> Result<SessionId, StoreError> {
        let typed = text.to_owned();
        let by_id = self.read_on_thread(move |home| {
            let ids = home.layout.all()?.into_iter().map(|found| found.id);
            layout::match_id(&typed, ids)
        });
        match by_id.await? {
            Some(id) => Ok(id),
            None => self.home.indexer.resolve_name(text.to_owned()).await,
        }
    }

    async fn list(&self, query: &ListQuery) -> Result<ListPage, StoreError> {
        self.home.indexer.list(query.clone()).await
    }

    async fn overview(
        &self,
        query: &ListQuery,
        freshness: IndexFreshness,
    ) -> Result<OverviewPage, StoreError> {
        let indexer = &self.home.indexer;
        let mut page = indexer.overview(query.clone(), freshness).await?;
        self.read_on_thread(move |_| {
            for session in &mut page.sessions {
                let path = session.summary.path.as_deref();
                // A log that is gone, or that we may not read, is one that nobody is seen at.
                session.is_held =
                    path.is_some_and(|path| session_lock::is_held(path).unwrap_or(false));
            }
            Ok(page)
        })
        .await
    }

    async fn tree_of(&self, session: SessionId) -> Result<Option<AgentLocation>, StoreError> {
        self.home.indexer.tree_of(session).await
    }

    async fn trees(&self, limit: usize) -> Result<Vec<TreeRow>, StoreError> {
        self.home.indexer.trees(limit).await
    }

    async fn tree(&self, root: SessionId) -> Result<Vec<AgentRow>, StoreError> {
        self.home.indexer.tree(root).await
    }

    async fn inbox(&self, at: AgentLocation) -> Result<Vec<MailRow>, StoreError> {
        self.home.indexer.inbox(at).await
    }

    async fn tasks_of(&self, session: SessionId) -> Result<Vec<TaskRow>, StoreError> {
        self.home.indexer.tasks_of(session).await
    }

    async fn open_approvals(&self, root: SessionId) -> Result<Vec<ApprovalRow>, StoreError> {
        self.home.indexer.open_approvals(root).await
    }

    async fn is_held(&self, id: SessionId) -> Result<bool, StoreError> {
        self.read_on_thread(move |home| {
            let found = home.layout.find(id)?;
            session_lock::is_held(&found.path)
        })
        .await
    }

    async fn archive(&self, id: SessionId) -> Result<(), StoreError> {
        self.read_on_thread(move |home| relocate(home, id, true))
            .await
    }

    async fn unarchive(&self, id: SessionId) -> Result<(), StoreError> {
        self.read_on_thread(move |home| relocate(home, id, false))
            .await
    }

    async fn delete(&self, id: SessionId) -> Result<Vec<SessionId>, StoreError> {
        let indexer = &self.home.indexer;
        let sessions = match indexer.tree_of(id).await? {
            None => vec![id],
            Some(AgentLocation { root, .. }) => {
                let rows = indexer.tree(root).await?;
                deletion::with_descendants(id, root, &rows)?
            }
        };
        let doomed = sessions.clone();
        self.read_on_thread(move |home| deletion::remove(home, &doomed))
            .await?;
        // What the index has of them goes now, and not when somebody asks next.
        indexer.tree_of(id).await?;
        Ok(sessions)
    }

    async fn remove_empty(&self, id: SessionId) -> Result<bool, StoreError> {
        self.read_on_thread(move |home| deletion::remove_empty(home, id))
            .await
    }

    async fn reindex(
        &self,
        progress: &mut (dyn FnMut(ReindexProgress) + Send),
    ) -> Result<ReindexReport, StoreError> {
        self.home.indexer.reindex(progress).await
    }
}

/// Returns when the session began, which is part of its file's name.
pub(crate) fn created(meta: &SessionMeta) -> Result<UnixMillis, StoreError> {
    meta.timestamp.parse().map_err(|error| StoreError::Meta {
        path: PathBuf::from(meta.id.to_string()),
        reason: format!("timestamp {:?}: {error}", meta.timestamp),
    })
}

fn open_log(home: &Arc<StoreHome>, id: SessionId) -> Result<(FileLog, LiveHistory), StoreError> {
    let (found, file) = open_leased(home, id)?;
    let failed = |source| StoreError::read(&found.path, source);
    let end = live::whole_end(&*file).map_err(failed)?;
    // Before anything is repaired: a file that is not a rollout is left alone.
    let mut history = live_history(&found, &file, end)?;
    let torn = file.bytes().map_err(failed)?.saturating_sub(end.0);
    if torn > 0 {
        let kept = cut_torn_line(&found.path, &file, end, torn)?;
        let warning = format!(
            "{}, kept in {}",
            live::torn_warning(end, torn),
            kept.display()
        );
        history.warnings.push(warning);
    }
    let log = FileLog::resume(home.clone(), id, found.path, file, end);
    Ok((log, history))
}

/// Finds, opens and locks a log. Between these steps another process may move the file, so
/// the three are checked to be about the same one.
pub(crate) fn open_leased(
    home: &StoreHome,
    id: SessionId,
) -> Result<(FoundRollout, SessionLock), StoreError> {
    for _ in 0..OPEN_ATTEMPTS_MAX {
        let found = home.layout.find(id)?;
        match OpenOptions::new().read(true).append(true).open(&found.path) {
            Ok(file) => {
                let lease = SessionLock::take(file, id, &found.path)?;
                if lease.is_at(&found.path) {
                    return Ok((found, lease));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(StoreError::io("open", &found.path, source)),
        }
    }
    Err(StoreError::not_found(id))
}

fn open_for_reading(home: &StoreHome, id: SessionId) -> Result<(FoundRollout, File), StoreError> {
    for _ in 0..OPEN_ATTEMPTS_MAX {
        let found = home.layout.find(id)?;
        match File::open(&found.path) {
            Ok(file) => return Ok((found, file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(StoreError::read(&found.path, source)),
        }
    }
    Err(StoreError::not_found(id))
}

fn live_history(
    found: &FoundRollout,
    file: &File,
    end: LogPosition,
) -> Result<LiveHistory, StoreError> {
    let failed = |source| StoreError::read(&found.path, source);
    let first = live::read_meta(file).map_err(failed)?;
    let mut live = live::read(file, end).map_err(failed)?;
    let meta = match first {
        Ok(meta) => meta,
        Err(why) => match live.stand_in_meta(found.id) {
            Some(meta) => {
                live.warnings.insert(0, live::left_out(1, 0, &why));
                meta
            }
            None => return Err(no_meta(found, why)),
        },
    };
    Ok(live.into_history(meta, found.archived))
}

fn read_meta(found: &FoundRollout, file: &File) -> Result<SessionMeta, StoreError> {
    live::read_meta(file)
        .map_err(|source| StoreError::read(&found.path, source))?
        .map_err(|why| no_meta(found, why))
}

fn no_meta(found: &FoundRollout, why: UnreadableLine) -> StoreError {
    StoreError::Meta {
        path: found.path.clone(),
        reason: why.reason,
    }
}

fn check_position(
    found: &FoundRollout,
    file: &File,
    position: LogPosition,
) -> Result<(), StoreError> {
    match file.is_line_boundary(position.0) {
        Ok(true) => Ok(()),
        Ok(false) => Err(StoreError::Position {
            session: found.id,
            position,
        }),
        Err(source) => Err(StoreError::read(&found.path, source)),
    }
}

/// Moves the unfinished line into a file beside the log, so that the next line begins whole.
fn cut_torn_line(
    path: &Path,
    file: &File,
    end: LogPosition,
    torn: u64,
) -> Result<PathBuf, StoreError> {
    let kept = deletion::torn_side(path);
    let copy = || -> io::Result<()> {
        let mut side = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(FILE_MODE)
            .open(&kept)?;
        forwards::copy(file, end.0..end.0 + torn, &mut side)?;
        side.write_all(b"\n")?;
        side.sync_data()
    };
    copy().map_err(|source| StoreError::io("write", &kept, source))?;
    file.set_len(end.0)
        .map_err(|source| StoreError::io("repair", path, source))?;
    Ok(kept)
}

/// Moves a log into or out of the archive, holding its lease meanwhile.
fn relocate(home: &StoreHome, id: SessionId, archived: bool) -> Result<(), StoreError> {
    let (found, _lease) = open_leased(home, id)?;
    if found.archived == archived {
        return Ok(());
    }
    let name = found.path.file_name().and_then(|name| name.to_str());
    let name = name.expect("only files with a UTF-8 name are found");
    let target = if archived {
        home.layout.archived_log(name)
    } else {
        home.layout.live_log(name)
    };
    if let Some(directory) = target.parent() {
        layout::create_directory(directory)?;
    }
    fs::rename(&found.path, &target).map_err(|source| StoreError::io("move", &found.path, source))
}
