//! The two ports of this crate: [`SessionStore`], all conversations of a home, and [`SessionLog`], one of
//! them opened for appending.

use std::fmt::{self, Debug};
use std::path::Path;

use async_trait::async_trait;
use troupe_protocol::rollout::{RolloutRecord, SessionMeta};
use troupe_protocol::tree::AgentLine;
use troupe_protocol::{EventMsg, ResponseId, SessionId};

use crate::error::StoreError;
use crate::line::{self, StampedRecord, UnreadableLine};
use crate::list::{IndexFreshness, ListPage, ListQuery, OverviewPage, SessionOverview};
use crate::tree::{AgentLocation, AgentRow, ApprovalRow, MailRow, TaskRow, TreeRow};

/// A byte offset in a log, always just after a line (or 0).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPosition(pub u64);

impl fmt::Display for LogPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[async_trait]
pub trait SessionStore: Send + Sync + Debug {
    /// Begins a log with `meta` as its first line and takes its lease.
    async fn create(&self, meta: &SessionMeta) -> Result<Box<dyn SessionLog>, StoreError>;

    /// Takes the lease of an existing log and reads what is live in it. A torn last line is
    /// cut off (and kept beside the log), so that the next line begins whole.
    async fn open(&self, id: SessionId) -> Result<(Box<dyn SessionLog>, LiveHistory), StoreError>;

    /// Reads what is live without taking the lease.
    async fn read_live(&self, id: SessionId) -> Result<LiveHistory, StoreError>;

    /// Reads what was live when the log ended at `upto`.
    async fn read_live_at(
        &self,
        id: SessionId,
        upto: LogPosition,
    ) -> Result<LiveHistory, StoreError>;

    /// Reads lines forwards from `from`, whatever branch they are on, up to a bounded number
    /// of bytes. Following a log is calling this again with [`LineBatch::next`].
    async fn read_all(&self, id: SessionId, from: LogPosition) -> Result<LineBatch, StoreError>;

    /// Reads the `agent` lines of one log, whatever branch they are on. The rest of the
    /// tree is in the logs of the sessions that its `born` facts name.
    async fn agent_lines(&self, id: SessionId) -> Result<AgentLines, StoreError>;

    /// Looks a bookmark up across all sessions of the home. Where several sessions hold the
    /// same one (a fork copied it), the newest line wins.
    async fn find_bookmark(&self, id: &ResponseId) -> Result<Option<LogBookmark>, StoreError>;

    /// Turns what a person typed into a session: a full id, a unique prefix of one, or a name.
    async fn resolve(&self, text: &str) -> Result<SessionId, StoreError>;

    async fn list(&self, query: &ListQuery) -> Result<ListPage, StoreError>;

    /// Lists sessions with what their trees hold, from one look at the index.
    async fn overview(
        &self,
        query: &ListQuery,
        _freshness: IndexFreshness,
    ) -> Result<OverviewPage, StoreError> {
        let page = self.list(query).await?;
        let mut sessions = Vec::with_capacity(page.sessions.len());
        for summary in page.sessions {
            sessions.push(SessionOverview {
                agents: self.tree(summary.id).await?,
                questions: self.open_approvals(summary.id).await?.len(),
                is_held: self.is_held(summary.id).await?,
                summary,
            });
        }
        Ok(OverviewPage {
            sessions,
            next: page.next,
        })
    }

    /// Returns the place that a session has in a tree; of several trees, in the one that it
    /// joined last. `None` for a session that has no children and is none.
    async fn tree_of(&self, session: SessionId) -> Result<Option<AgentLocation>, StoreError>;

    /// Returns the trees that changed last, the newest first, at most `limit` and at most
    /// [`LIST_ROWS_MAX`](crate::limits::LIST_ROWS_MAX).
    async fn trees(&self, limit: usize) -> Result<Vec<TreeRow>, StoreError>;

    /// Returns the agents of a tree in the order of their birth, the pruned and the released
    /// too. Empty if there is no such tree.
    async fn tree(&self, root: SessionId) -> Result<Vec<AgentRow>, StoreError>;

    /// Returns the mail of one agent in the order in which it came, what was taken too.
    async fn inbox(&self, at: AgentLocation) -> Result<Vec<MailRow>, StoreError>;

    /// Returns the tasks that a session had as a member of trees, oldest first.
    async fn tasks_of(&self, session: SessionId) -> Result<Vec<TaskRow>, StoreError>;

    /// Returns what any agent of a tree asks and nobody has answered, oldest first. The root
    /// may be a session that has no tree.
    async fn open_approvals(&self, root: SessionId) -> Result<Vec<ApprovalRow>, StoreError>;

    /// Returns all of what is asked, as it stands in the log; `None` if that line cannot be
    /// read, and hence nobody can know what an answer would allow.
    async fn question(&self, row: &ApprovalRow) -> Result<Option<EventMsg>, StoreError> {
        let batch = self.read_all(row.session, row.position).await?;
        let line = batch.lines.first();
        let record = line.and_then(|line| line.record().ok());
        Ok(match record.map(|stamped| stamped.record) {
            Some(RolloutRecord::EventMsg(event)) => Some(event.msg),
            _ => None,
        })
    }

    /// Tells whether somebody works with a session: this process or another has its log open for
    /// writing.
    async fn is_held(&self, id: SessionId) -> Result<bool, StoreError>;

    /// Moves a session out of sight. Refused while somebody holds its lease.
    async fn archive(&self, id: SessionId) -> Result<(), StoreError>;

    async fn unarchive(&self, id: SessionId) -> Result<(), StoreError>;

    /// Removes a session for good, and all below it in its tree. Returns who is gone, the
    /// session itself last. Refused while somebody holds the lease of one of them, and for a
    /// member of a tree that stays.
    async fn delete(&self, id: SessionId) -> Result<Vec<SessionId>, StoreError>;

    /// Removes the log of a session if it is empty: whoever made it was killed before its first
    /// line. Returns whether it was. Refused while somebody holds its lease.
    async fn remove_empty(&self, id: SessionId) -> Result<bool, StoreError>;

    /// Rebuilds the index from the logs, each of which is read once.
    async fn reindex(
        &self,
        progress: &mut (dyn FnMut(ReindexProgress) + Send),
    ) -> Result<ReindexReport, StoreError>;
}

/// One conversation, owned by whoever holds this. Dropping it releases the lease; what was
/// appended stays, what was not committed may be lost with the power.
#[async_trait]
pub trait SessionLog: Send + Debug {
    fn session(&self) -> SessionId;

    /// Returns the offset after the last appended line.
    fn position(&self) -> LogPosition;

    /// Returns where the log is, `None` when it is only in memory.
    fn path(&self) -> Option<&Path>;

    /// Hands all records to the kernel in one write and returns the new position. After an
    /// error none of them counts, and the next append begins where this one did.
    fn append(&mut self, records: &[RolloutRecord]) -> Result<LogPosition, StoreError>;

    /// Returns when everything appended so far is on disk.
    async fn commit(&mut self) -> Result<(), StoreError>;

    /// Commits and releases the lease.
    async fn close(self: Box<Self>) -> Result<(), StoreError>;
}

/// What a conversation consists of now: the branch that ends at the end of the log, back to
/// its newest compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveHistory {
    pub meta: SessionMeta,
    /// Oldest first, each with the position after its line: the newest compaction and what
    /// follows it, or everything after the meta line. Rewinds are applied: what they jump
    /// over is absent, and they themselves are there for what they carry.
    pub records: Vec<(LogPosition, StampedRecord<RolloutRecord>)>,
    /// Where the first of the records begins. With a compaction first, `read_live_at` this
    /// position gives what was compacted.
    pub start: LogPosition,
    /// What was left out because it could not be read.
    pub warnings: Vec<String>,
    pub archived: bool,
}

/// What one log says of the agent tree, of any tree that it was part of.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentLines {
    pub meta: SessionMeta,
    /// In the order of the log, each with the position after its line.
    pub lines: Vec<(LogPosition, AgentLine)>,
    pub archived: bool,
    /// What was left out because it could not be read.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogBookmark {
    pub session: SessionId,
    /// After the line that says `response_completed`.
    pub position: LogPosition,
}

/// Some lines of a log, in the order in which they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineBatch {
    pub lines: Vec<LogLine>,
    /// Where the next batch begins.
    pub next: LogPosition,
    /// There was no further whole line when this was read.
    pub at_end: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    pub start: LogPosition,
    /// After the line feed.
    pub end: LogPosition,
    /// As it is in the log, without the line feed; not necessarily readable.
    pub bytes: Vec<u8>,
}

impl LogLine {
    pub fn record(&self) -> Result<StampedRecord<RolloutRecord>, UnreadableLine> {
        line::decode(&self.bytes)
    }

    /// Tells whether this is a record of this kind, by its head alone.
    pub fn is(&self, kind: &str) -> bool {
        line::LineHead::of(&self.bytes).is_ok_and(|head| head.kind == kind)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReindexProgress {
    pub files_done: u64,
    pub files: u64,
    pub bytes_done: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReindexReport {
    pub sessions: u64,
    pub bookmarks: u64,
    pub bytes: u64,
    /// Files and lines that could not be read, and what became of a broken index.
    pub warnings: Vec<String>,
}
