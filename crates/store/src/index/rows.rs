//! Rows in and out of SQLite.

use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use troupe_protocol::SessionId;

use crate::clock::UnixMillis;
use crate::error::StoreError;
use crate::fold::{BookmarkRow, SessionDescription, SessionFold, SummaryRow};
use crate::list::SourceKind;

use super::{IndexDatabase, LogLocation, tree_rows};

/// What a fold went on from, and so what the row must still say for it to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoldBase {
    /// There was no row.
    Nothing,
    /// The row had this offset.
    Offset(u64),
    /// The log was read from its start; whatever the row says is replaced.
    Replaced,
}

#[derive(Debug)]
pub(super) struct FoldChange {
    pub(super) log: LogLocation,
    pub(super) base: FoldBase,
    pub(super) fold: SessionFold,
}

/// What the index knows of a log's place and progress.
#[derive(Debug)]
pub(super) struct IndexedLog {
    pub(super) path: Option<PathBuf>,
    pub(super) archived: bool,
    pub(super) offset: u64,
}

impl IndexDatabase {
    pub(super) fn row(&self, id: SessionId) -> Result<Option<SummaryRow>, StoreError> {
        let query = "SELECT created, cwd, source, source_kind, model_provider, forked_from, \
                     updated, model, name, note, preview, tokens, offset, lines \
                     FROM sessions WHERE id = ?1";
        self.db
            .prepare_cached(query)
            .and_then(|mut statement| {
                statement
                    .query_row([id.to_string()], |row| read_row(id, row))
                    .optional()
            })
            .map_err(|source| self.failed(source))
    }

    pub(super) fn known(&self) -> Result<Vec<(SessionId, IndexedLog)>, StoreError> {
        let read = || -> rusqlite::Result<Vec<(SessionId, IndexedLog)>> {
            let mut statement = self
                .db
                .prepare_cached("SELECT id, path, archived, offset FROM sessions")?;
            let rows = statement.query_map([], |row| {
                let path: Option<String> = row.get(1)?;
                let known = IndexedLog {
                    path: path.map(PathBuf::from),
                    archived: row.get(2)?,
                    offset: unsigned(row, 3)?,
                };
                Ok((read_id(row, 0)?, known))
            })?;
            rows.collect()
        };
        read().map_err(|source| self.failed(source))
    }

    /// Writes rows, and what their lines say, in one transaction. A change whose base is no longer what
    /// the row says is left out: somebody else applied the same lines meanwhile.
    pub(super) fn save(&mut self, changes: &[FoldChange]) -> Result<(), StoreError> {
        let path = self.path.clone();
        let mut write = || -> rusqlite::Result<()> {
            let tx = self
                .db
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            for change in changes {
                if is_current(&tx, change)? {
                    write_change(&tx, change)?;
                }
            }
            tx.commit()
        };
        write().map_err(|source| StoreError::Index { path, source })
    }

    /// Forgets what is said by logs that are not there.
    pub(super) fn drop_orphans(&mut self) -> Result<(), StoreError> {
        for table in TOLD {
            let orphans =
                format!("DELETE FROM {table} WHERE session NOT IN (SELECT id FROM sessions)");
            let dropped = self.db.execute(&orphans, []);
            dropped.map_err(|source| self.failed(source))?;
        }
        Ok(())
    }

    /// Notes that logs were moved, and forgets those that are gone.
    pub(super) fn relocate(
        &mut self,
        moved: &[LogLocation],
        gone: &[SessionId],
    ) -> Result<(), StoreError> {
        if moved.is_empty() && gone.is_empty() {
            return Ok(());
        }
        let path = self.path.clone();
        let mut write = || -> rusqlite::Result<()> {
            let tx = self
                .db
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            for log in moved {
                tx.prepare_cached("UPDATE sessions SET path = ?2, archived = ?3 WHERE id = ?1")?
                    .execute(params![log.id.to_string(), path_text(log), log.archived])?;
            }
            for id in gone {
                forget_lines(&tx, *id)?;
                tx.prepare_cached("DELETE FROM sessions WHERE id = ?1")?
                    .execute([id.to_string()])?;
            }
            tx.commit()
        };
        write().map_err(|source| StoreError::Index { path, source })
    }
}

fn is_current(tx: &Connection, change: &FoldChange) -> rusqlite::Result<bool> {
    let stored: Option<u64> = tx
        .prepare_cached("SELECT offset FROM sessions WHERE id = ?1")?
        .query_row([change.log.id.to_string()], |row| unsigned(row, 0))
        .optional()?;
    Ok(match change.base {
        FoldBase::Nothing => stored.is_none(),
        FoldBase::Offset(offset) => stored == Some(offset),
        FoldBase::Replaced => true,
    })
}

fn write_change(tx: &Connection, change: &FoldChange) -> rusqlite::Result<()> {
    let SummaryRow {
        id,
        described,
        updated,
        model,
        name,
        note,
        preview,
        tokens,
        offset,
        lines,
    } = &change.fold.row;
    let id = id.to_string();
    let described = described.as_ref();
    tx.prepare_cached(
        "INSERT OR REPLACE INTO sessions (id, path, archived, created, cwd, source, source_kind, \
         model_provider, forked_from, updated, model, name, note, preview, tokens, offset, lines) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
    )?
    .execute(params![
        id,
        path_text(&change.log),
        change.log.archived,
        described.map(|d| d.created.0),
        described.map(|d| &d.cwd),
        described.map(|d| &d.source),
        described.map(|d| d.source_kind),
        described.map(|d| &d.model_provider),
        described
            .and_then(|d| d.forked_from)
            .map(|id| id.to_string()),
        updated.0,
        model,
        name,
        note,
        preview,
        integer(*tokens),
        integer(*offset),
        integer(*lines),
    ])?;
    if change.base == FoldBase::Replaced {
        forget_lines(tx, change.log.id)?;
    }
    write_bookmarks(tx, &id, &change.fold.bookmarks)?;
    tree_rows::write(tx, &id, &change.fold.said)?;
    tree_rows::write_approvals(tx, &id, &change.fold.approvals)
}

fn write_bookmarks(
    tx: &Connection,
    session: &str,
    bookmarks: &[BookmarkRow],
) -> rusqlite::Result<()> {
    let mut insert = tx.prepare_cached(
        "INSERT OR REPLACE INTO bookmarks (response_id, session, position, written) \
         VALUES (?1, ?2, ?3, ?4)",
    )?;
    for bookmark in bookmarks {
        insert.execute(params![
            bookmark.response_id.as_str(),
            session,
            integer(bookmark.position.0),
            bookmark.written.0,
        ])?;
    }
    Ok(())
}

/// The tables whose rows are what single lines of a log say.
const TOLD: [&str; 6] = [
    "bookmarks",
    "births",
    "changes",
    "letters",
    "receipts",
    "approvals",
];

fn forget_lines(tx: &Connection, id: SessionId) -> rusqlite::Result<()> {
    for table in TOLD {
        tx.prepare_cached(&format!("DELETE FROM {table} WHERE session = ?1"))?
            .execute([id.to_string()])?;
    }
    Ok(())
}

fn read_row(id: SessionId, row: &rusqlite::Row<'_>) -> rusqlite::Result<SummaryRow> {
    let created: Option<i64> = row.get(0)?;
    let described = match created {
        None => None,
        Some(created) => {
            let kind: String = row.get(3)?;
            let forked_from: Option<String> = row.get(5)?;
            Some(SessionDescription {
                created: UnixMillis(created),
                cwd: row.get(1)?,
                source: row.get(2)?,
                source_kind: SourceKind::named(&kind).as_str(),
                model_provider: row.get(4)?,
                forked_from: forked_from.and_then(|id| id.parse().ok()),
            })
        }
    };
    Ok(SummaryRow {
        id,
        described,
        updated: UnixMillis(row.get(6)?),
        model: row.get(7)?,
        name: row.get(8)?,
        note: row.get(9)?,
        preview: row.get(10)?,
        tokens: unsigned(row, 11)?,
        offset: unsigned(row, 12)?,
        lines: unsigned(row, 13)?,
    })
}

pub(super) fn read_id(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<SessionId> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error| {
        let kind = rusqlite::types::Type::Text;
        rusqlite::Error::FromSqlConversionFailure(column, kind, Box::new(error))
    })
}

/// SQLite has no unsigned numbers; what is too large for it is as good as its largest.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

/// Only UTF-8 names are found, and the home is not part of the path.
fn path_text(log: &LogLocation) -> Option<&str> {
    log.path.as_deref().and_then(|path| path.to_str())
}
