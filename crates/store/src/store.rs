//! The two ports of this crate: [`Store`], all conversations of a home, and [`Log`], one of
//! them opened for appending.

use std::fmt::{self, Debug};
use std::path::Path;

use async_trait::async_trait;
use troupe_protocol::rollout::{RolloutRecord, SessionMeta};
use troupe_protocol::tree::AgentLine;
use troupe_protocol::{EventMsg, ResponseId, SessionId};

use crate::error::Error;
use crate::line::{self, Stamped, Unreadable};
use crate::list::{ListPage, ListQuery};
use crate::tree::{AgentRow, ApprovalRow, MailRow, TaskRow, TreeAt, TreeRow};

/// A byte offset in a log, always just after a line (or 0).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[async_trait]
pub trait Store: Send + Sync + Debug {
    /// Begins a log with `meta` as its first line and takes its lease.
    async fn create(&self, meta: &SessionMeta) -> Result<Box<dyn Log>, Error>;

    /// Takes the lease of an existing log and reads what is live in it. A torn last line is
    /// cut off (and kept beside the log), so that the next line begins whole.
    async fn open(&self, id: SessionId) -> Result<(Box<dyn Log>, LiveHistory), Error>;

    /// Reads what is live without taking the lease.
    async fn read_live(&self, id: SessionId) -> Result<LiveHistory, Error>;

    /// Reads what was live when the log ended at `upto`.
    async fn read_live_at(&self, id: SessionId, upto: Position) -> Result<LiveHistory, Error>;

    /// Reads lines forwards from `from`, whatever branch they are on, up to a bounded number
    /// of bytes. Following a log is calling this again with [`Batch::next`].
    async fn read_all(&self, id: SessionId, from: Position) -> Result<Batch, Error>;

    /// Reads the `agent` lines of one log, whatever branch they are on. The rest of the
    /// tree is in the logs of the sessions that its `born` facts name.
    async fn agent_lines(&self, id: SessionId) -> Result<AgentLines, Error>;

    /// Looks a bookmark up across all sessions of the home. Where several sessions hold the
    /// same one (a fork copied it), the newest line wins.
    async fn find_bookmark(&self, id: &ResponseId) -> Result<Option<Bookmark>, Error>;

    /// Turns what a person typed into a session: a full id, a unique prefix of one, or a name.
    async fn resolve(&self, text: &str) -> Result<SessionId, Error>;

    async fn list(&self, query: &ListQuery) -> Result<ListPage, Error>;

    /// Returns the place that a session has in a tree; of several trees, in the one that it
    /// joined last. `None` for a session that has no children and is none.
    async fn tree_of(&self, session: SessionId) -> Result<Option<TreeAt>, Error>;

    /// Returns the trees that changed last, the newest first, at most `limit` and at most
    /// [`LIST_ROWS_MAX`](crate::limits::LIST_ROWS_MAX).
    async fn trees(&self, limit: usize) -> Result<Vec<TreeRow>, Error>;

    /// Returns the agents of a tree in the order of their birth, the pruned and the released
    /// too. Empty if there is no such tree.
    async fn tree(&self, root: SessionId) -> Result<Vec<AgentRow>, Error>;

    /// Returns the mail of one agent in the order in which it came, what was taken too.
    async fn inbox(&self, at: TreeAt) -> Result<Vec<MailRow>, Error>;

    /// Returns the tasks that a session had as a member of trees, oldest first.
    async fn tasks_of(&self, session: SessionId) -> Result<Vec<TaskRow>, Error>;

    /// Returns what any agent of a tree asks and nobody has answered, oldest first. The root
    /// may be a session that has no tree.
    async fn open_approvals(&self, root: SessionId) -> Result<Vec<ApprovalRow>, Error>;

    /// Returns all of what is asked, as it stands in the log; `None` if that line cannot be
    /// read, and hence nobody can know what an answer would allow.
    async fn question(&self, row: &ApprovalRow) -> Result<Option<EventMsg>, Error> {
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
    async fn is_held(&self, id: SessionId) -> Result<bool, Error>;

    /// Moves a session out of sight. Refused while somebody holds its lease.
    async fn archive(&self, id: SessionId) -> Result<(), Error>;

    async fn unarchive(&self, id: SessionId) -> Result<(), Error>;

    /// Removes a session for good, and all below it in its tree. Returns who is gone, the
    /// session itself last. Refused while somebody holds the lease of one of them, and for a
    /// member of a tree that stays.
    async fn delete(&self, id: SessionId) -> Result<Vec<SessionId>, Error>;

    /// Removes the log of a session if it is empty: whoever made it was killed before its first
    /// line. Returns whether it was. Refused while somebody holds its lease.
    async fn remove_empty(&self, id: SessionId) -> Result<bool, Error>;

    /// Rebuilds the index from the logs, each of which is read once.
    async fn reindex(
        &self,
        progress: &mut (dyn FnMut(ReindexProgress) + Send),
    ) -> Result<ReindexReport, Error>;
}

/// One conversation, owned by whoever holds this. Dropping it releases the lease; what was
/// appended stays, what was not committed may be lost with the power.
#[async_trait]
pub trait Log: Send + Debug {
    fn session(&self) -> SessionId;

    /// Returns the offset after the last appended line.
    fn position(&self) -> Position;

    /// Returns where the log is, `None` when it is only in memory.
    fn path(&self) -> Option<&Path>;

    /// Hands all records to the kernel in one write and returns the new position. After an
    /// error none of them counts, and the next append begins where this one did.
    fn append(&mut self, records: &[RolloutRecord]) -> Result<Position, Error>;

    /// Returns when everything appended so far is on disk.
    async fn commit(&mut self) -> Result<(), Error>;

    /// Commits and releases the lease.
    async fn close(self: Box<Self>) -> Result<(), Error>;
}

/// What a conversation consists of now: the branch that ends at the end of the log, back to
/// its newest compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveHistory {
    pub meta: SessionMeta,
    /// Oldest first, each with the position after its line: the newest compaction and what
    /// follows it, or everything after the meta line. Rewinds are applied: what they jump
    /// over is absent, and they themselves are there for what they carry.
    pub records: Vec<(Position, Stamped<RolloutRecord>)>,
    /// Where the first of the records begins. With a compaction first, `read_live_at` this
    /// position gives what was compacted.
    pub start: Position,
    /// What was left out because it could not be read.
    pub warnings: Vec<String>,
    pub archived: bool,
}

/// What one log says of the agent tree, of any tree that it was part of.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentLines {
    pub meta: SessionMeta,
    /// In the order of the log, each with the position after its line.
    pub lines: Vec<(Position, AgentLine)>,
    pub archived: bool,
    /// What was left out because it could not be read.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bookmark {
    pub session: SessionId,
    /// After the line that says `response_completed`.
    pub position: Position,
}

/// Some lines of a log, in the order in which they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    pub lines: Vec<Line>,
    /// Where the next batch begins.
    pub next: Position,
    /// There was no further whole line when this was read.
    pub at_end: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub start: Position,
    /// After the line feed.
    pub end: Position,
    /// As it is in the log, without the line feed; not necessarily readable.
    pub bytes: Vec<u8>,
}

impl Line {
    pub fn record(&self) -> Result<Stamped<RolloutRecord>, Unreadable> {
        line::decode(&self.bytes)
    }

    /// Tells whether this is a record of this kind, by its head alone.
    pub fn is(&self, kind: &str) -> bool {
        line::Head::of(&self.bytes).is_ok_and(|head| head.kind == kind)
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
