//! Keeps conversations: append-only rollouts, the lease on each, and an index over them.
//!
//! ```text
//!  Log::append ─► rollout file (page cache) ─► Log::commit ─► committer thread (fdatasync)
//!  Store::list ─► indexer thread ─► state.db, brought up to date from the logs
//!  Store::open ─► lease ─► backwards from the end to the newest compaction ─► LiveHistory
//! ```
//!
//! The rollout is the truth. `state.db` is a projection of it: each row carries the offset
//! up to which its log was applied, what lies behind is applied on demand, and all of it can
//! be deleted and rebuilt. A run that asks nothing about other sessions never opens SQLite.
//!
//! Reading order: [`store`] (the two traits and what they hand out) → `line` (how a record
//! becomes bytes) → `backwards` and `live` (resume), `agent_lines` (the resume of a tree) →
//! `log` and `committer` (append) → `fold` and `index` (listing, bookmarks, [`tree`]) →
//! [`embedded`] and [`memory`], which put the parts together.
//!
//! Deliberately absent: decisions. The store knows lines and rows, not why they change; it
//! never interprets a conversation beyond what a list shows, reads no environment, prints
//! nothing, and repairs nothing but a torn last line.

pub mod clock;
pub mod embedded;
pub mod error;
pub mod limits;
pub mod list;
pub mod memory;
pub mod search;
pub mod store;
pub mod tree;

mod agent_lines;
mod backwards;
mod committer;
mod deletion;
mod fold;
mod forwards;
mod index;
mod layout;
mod line;
mod live;
mod log;
mod log_reader;
mod session_lock;
mod source;
mod worker;

pub use clock::{StoreClock, UnixMillis};
pub use embedded::EmbeddedStore;
pub use error::StoreError;
pub use line::{StampedRecord, UnreadableLine};
pub use list::{
    ArchivedFilter, IndexFreshness, ListOrder, ListPage, ListQuery, OverviewPage, SessionOverview,
    SessionSummary, SortKey, SourceKind,
};
pub use log_reader::LogReader;
pub use memory::MemoryStore;
pub use store::{
    AgentLines, LineBatch, LiveHistory, LogBookmark, LogLine, LogPosition, ReindexProgress,
    ReindexReport, SessionLog, SessionStore,
};
pub use tree::{
    AgentLocation, AgentRow, ApprovalKind, ApprovalRow, MailRow, MailState, RecordedStatus,
    TaskRow, TreeRow,
};
