//! Questions.

use std::path::PathBuf;

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params_from_iter};
use troupe_protocol::session::SessionSource;
use troupe_protocol::{ResponseId, SessionId};

use crate::clock::UnixMillis;
use crate::error::StoreError;
use crate::limits::{CANDIDATES_MAX, LIST_ROWS_DEFAULT, LIST_ROWS_MAX};
use crate::list::{
    ArchivedFilter, ListOrder, ListPage, ListQuery, SessionSummary, SortKey, SourceKind,
};
use crate::store::{LogBookmark, LogPosition, ReindexReport};

use super::IndexDatabase;
use super::rows::{read_id, unsigned};

impl IndexDatabase {
    pub(crate) fn bookmark(&self, id: &ResponseId) -> Result<Option<LogBookmark>, StoreError> {
        let query = "SELECT session, position FROM bookmarks WHERE response_id = ?1 \
                     ORDER BY written DESC, session LIMIT 1";
        self.db
            .prepare_cached(query)
            .and_then(|mut statement| {
                statement
                    .query_row([id.as_str()], |row| {
                        Ok(LogBookmark {
                            session: read_id(row, 0)?,
                            position: LogPosition(unsigned(row, 1)?),
                        })
                    })
                    .optional()
            })
            .map_err(|source| self.failed(source))
    }

    pub(crate) fn session_named(&self, name: &str) -> Result<SessionId, StoreError> {
        let read = || -> rusqlite::Result<Vec<SessionId>> {
            let mut statement = self.db.prepare_cached(
                "SELECT id FROM sessions WHERE name = ?1 AND created IS NOT NULL \
                 ORDER BY updated DESC, id",
            )?;
            let rows = statement.query_map([name], |row| read_id(row, 0))?;
            rows.take(CANDIDATES_MAX).collect()
        };
        let candidates = read().map_err(|source| self.failed(source))?;
        match candidates[..] {
            [] => Err(StoreError::NotFound {
                what: name.to_owned(),
            }),
            [id] => Ok(id),
            [..] => Err(StoreError::SameName {
                name: name.to_owned(),
                candidates,
            }),
        }
    }

    pub(crate) fn list(&mut self, query: &ListQuery) -> Result<ListPage, StoreError> {
        let limit = query
            .limit
            .unwrap_or(LIST_ROWS_DEFAULT)
            .clamp(1, LIST_ROWS_MAX);
        let select = SelectStatement::of(query, limit)?;
        let read = || -> rusqlite::Result<Vec<SessionSummary>> {
            let mut statement = self.db.prepare_cached(&select.text)?;
            let rows = statement.query_map(params_from_iter(select.values), read_summary)?;
            rows.collect()
        };
        let mut sessions = read().map_err(|source| self.failed(source))?;
        // One row more than asked for tells whether there is another page.
        let has_more = sessions.len() > limit;
        sessions.truncate(limit);
        let next = sessions.last().filter(|_| has_more).map(|last| {
            let at = match query.sort {
                SortKey::Created => last.created,
                SortKey::Updated => last.updated,
            };
            format!("{}_{}", at.0, last.id)
        });
        Ok(ListPage {
            sessions,
            next,
            warnings: std::mem::take(&mut self.warnings),
        })
    }

    pub(crate) fn report(&mut self) -> Result<ReindexReport, StoreError> {
        let count = |query| {
            let count = self.db.query_row(query, [], |row| unsigned(row, 0));
            count.map_err(|source| self.failed(source))
        };
        Ok(ReindexReport {
            sessions: count("SELECT count(*) FROM sessions")?,
            bookmarks: count("SELECT count(*) FROM bookmarks")?,
            bytes: count("SELECT coalesce(sum(offset), 0) FROM sessions")?,
            warnings: std::mem::take(&mut self.warnings),
        })
    }
}

/// A statement being written, with the values for its question marks.
struct SelectStatement {
    text: String,
    values: Vec<Value>,
}

impl SelectStatement {
    fn of(query: &ListQuery, limit: usize) -> Result<Self, StoreError> {
        let mut select = Self {
            text: "SELECT id, path, created, updated, cwd, source, model_provider, model, name, \
                   note, preview, tokens, archived, forked_from \
                   FROM sessions WHERE created IS NOT NULL"
                .to_owned(),
            values: Vec::new(),
        };
        let cwds = query.cwds.iter();
        select.and_one_of("cwd", cwds.map(|cwd| cwd.to_string_lossy().into_owned()));
        match query.archived {
            ArchivedFilter::Live => select.and(" AND archived = 0", []),
            ArchivedFilter::Archived => select.and(" AND archived = 1", []),
            ArchivedFilter::Any => {}
        }
        if query.sources.is_empty() {
            let children = SourceKind::SubSession.as_str().to_owned();
            select.and(" AND source_kind <> ?", [Value::Text(children)]);
        }
        let kinds = query.sources.iter().map(|kind| kind.as_str().to_owned());
        select.and_one_of("source_kind", kinds);
        select.and_one_of("model_provider", query.model_providers.iter().cloned());
        if let Some(search) = &query.search {
            let escaped = search
                .replace('\\', r"\\")
                .replace('%', r"\%")
                .replace('_', r"\_");
            let pattern = Value::Text(format!("%{escaped}%"));
            select.and(
                r" AND (name LIKE ? ESCAPE '\' OR preview LIKE ? ESCAPE '\')",
                [pattern.clone(), pattern],
            );
        }
        select.page(query, limit)?;
        Ok(select)
    }

    /// Goes on behind the last row of the page before, which stays right when rows come
    /// and go meanwhile.
    fn page(&mut self, query: &ListQuery, limit: usize) -> Result<(), StoreError> {
        let column = match query.sort {
            SortKey::Created => "created",
            SortKey::Updated => "updated",
        };
        let (order, behind) = match query.direction {
            ListOrder::NewestFirst => ("DESC", "<"),
            ListOrder::OldestFirst => ("ASC", ">"),
        };
        if let Some(cursor) = &query.cursor {
            let parsed = cursor.split_once('_').and_then(|(at, id)| {
                let id: SessionId = id.parse().ok()?;
                Some((at.parse().ok()?, id))
            });
            let (at, id) = parsed.ok_or_else(|| StoreError::Cursor {
                cursor: cursor.clone(),
            })?;
            self.and(
                &format!(" AND ({column}, id) {behind} (?, ?)"),
                [Value::Integer(at), Value::Text(id.to_string())],
            );
        }
        let rows = limit + 1;
        self.and(
            &format!(" ORDER BY {column} {order}, id {order} LIMIT {rows}"),
            [],
        );
        Ok(())
    }

    fn and<const N: usize>(&mut self, clause: &str, values: [Value; N]) {
        self.text += clause;
        self.values.extend(values);
    }

    fn and_one_of(&mut self, column: &str, wanted: impl Iterator<Item = String>) {
        let before = self.values.len();
        self.values.extend(wanted.map(Value::Text));
        let count = self.values.len() - before;
        if count > 0 {
            let marks = vec!["?"; count].join(", ");
            self.and(&format!(" AND {column} IN ({marks})"), []);
        }
    }
}

fn read_summary(row: &rusqlite::Row<'_>) -> rusqlite::Result<SessionSummary> {
    let path: Option<String> = row.get(1)?;
    let cwd: String = row.get(4)?;
    let source: String = row.get(5)?;
    let forked_from: Option<String> = row.get(13)?;
    Ok(SessionSummary {
        id: read_id(row, 0)?,
        path: path.map(PathBuf::from),
        created: UnixMillis(row.get(2)?),
        updated: UnixMillis(row.get(3)?),
        cwd: cwd.into(),
        // It was written from this type; and what it does not know is a variant of it.
        source: serde_json::from_str(&source)
            .unwrap_or_else(|_| SessionSource::Unknown(source.into())),
        model_provider: row.get(6)?,
        model: row.get(7)?,
        name: row.get(8)?,
        note: row.get(9)?,
        preview: row.get(10)?,
        tokens: unsigned(row, 11)?,
        archived: row.get(12)?,
        forked_from: forked_from.and_then(|id| id.parse().ok()),
    })
}
