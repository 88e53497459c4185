//! Questions about agent trees: rows of many logs, put together when somebody asks.

mod folded_tree;

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Params, Row};
use serde::de::DeserializeOwned;
use troupe_protocol::tree::MessageId;
use troupe_protocol::{AgentId, SessionId};

use crate::clock::UnixMillis;
use crate::error::StoreError;
use crate::limits::LIST_ROWS_MAX;
use crate::store::LogPosition;
use crate::tree::{
    AgentLocation, AgentRow, ApprovalKind, ApprovalRow, MailRow, RecordedStatus, TaskRow, TreeRow,
};

use self::folded_tree::{AgentChange, FoldedTree, TreeEvent};
use super::IndexDatabase;
use super::rows::{integer, read_id, unsigned};
use super::tree_rows::ROOT_PATH;

impl IndexDatabase {
    /// Of several trees, the one that the session joined last.
    pub(crate) fn tree_of(&self, session: SessionId) -> Result<Option<AgentLocation>, StoreError> {
        let query = "SELECT tree, agent FROM births WHERE child = ?1 \
                     ORDER BY at DESC, tree LIMIT 1";
        self.db
            .prepare_cached(query)
            .and_then(|mut statement| {
                statement
                    .query_row([session.to_string()], |row| read_place(row, 0))
                    .optional()
            })
            .map_err(|source| self.failed(source))
    }

    pub(crate) fn trees(&self, limit: usize) -> Result<Vec<TreeRow>, StoreError> {
        let query = "SELECT tree, began, agents, \
                     max(began, coalesce((SELECT at FROM changes WHERE changes.tree = known.tree \
                     ORDER BY ord DESC LIMIT 1), 0)) AS updated \
                     FROM (SELECT tree, min(at) AS began, count(DISTINCT agent) AS agents \
                     FROM births GROUP BY tree) AS known \
                     ORDER BY updated DESC, tree LIMIT ?1";
        let limit = limit.clamp(1, LIST_ROWS_MAX) as u64;
        self.read(query, [integer(limit)], |row| {
            Ok(TreeRow {
                root: read_id(row, 0)?,
                began: UnixMillis(row.get(1)?),
                agents: unsigned(row, 2)?,
                updated: UnixMillis(row.get(3)?),
            })
        })
    }

    pub(crate) fn tree(&self, root: SessionId) -> Result<Vec<AgentRow>, StoreError> {
        Ok(self.fold_tree(root)?.into_agents())
    }

    pub(crate) fn inbox(&self, at: AgentLocation) -> Result<Vec<MailRow>, StoreError> {
        Ok(self.fold_tree(at.root)?.into_mail(at.agent))
    }

    pub(crate) fn tasks_of(&self, session: SessionId) -> Result<Vec<TaskRow>, StoreError> {
        let query = "SELECT tree, agent, change, at, task, stop, last_message, tokens, position, \
                     session FROM changes \
                     WHERE (tree, agent) IN (SELECT tree, agent FROM births WHERE child = ?1) \
                     AND change IN ('started', 'ended') ORDER BY at, tree, ord";
        let lines = self.read(query, [session.to_string()], |row| {
            let change: String = row.get(2)?;
            Ok((change, read_task(row, session)?))
        })?;
        let mut tasks: Vec<TaskRow> = Vec::new();
        for (change, line) in lines {
            let mut known = tasks.iter_mut().rev();
            let begun = known.find(|task| task.at == line.at && task.task == line.task);
            match begun {
                // A task begins once, and ends once.
                Some(_) if change == "started" => {}
                Some(task) if task.ended.is_some() => {}
                Some(task) => {
                    let started = task.started;
                    *task = TaskRow { started, ..line };
                }
                None => tasks.push(line),
            }
        }
        Ok(tasks)
    }

    pub(crate) fn open_approvals(&self, root: SessionId) -> Result<Vec<ApprovalRow>, StoreError> {
        let query = "SELECT DISTINCT a.session, b.agent, b.path, a.call_id, a.task, a.kind, \
                     a.what, a.asked, a.position FROM approvals AS a \
                     LEFT JOIN births AS b ON b.child = a.session AND b.tree = ?1 \
                     WHERE a.decision IS NULL AND (a.session = ?1 OR b.tree IS NOT NULL) \
                     ORDER BY a.asked, a.session, a.position";
        self.read(query, [root.to_string()], |row| {
            let agent: Option<u32> = row.get(1)?;
            let path: Option<String> = row.get(2)?;
            let (call_id, task): (String, String) = (row.get(3)?, row.get(4)?);
            let kind: String = row.get(5)?;
            Ok(ApprovalRow {
                session: read_id(row, 0)?,
                // A session that is alone is the root of what could become a tree.
                agent: agent.map_or(AgentId::ROOT, AgentId),
                path: path.unwrap_or_else(|| ROOT_PATH.to_owned()),
                call_id: call_id.into(),
                task: task.into(),
                kind: ApprovalKind::named(&kind),
                what: row.get(6)?,
                asked: UnixMillis(row.get(7)?),
                position: LogPosition(unsigned(row, 8)?),
            })
        })
    }

    fn fold_tree(&self, root: SessionId) -> Result<FoldedTree, StoreError> {
        let root = root.to_string();
        let root = [root.as_str()];
        let births = self.read(
            "SELECT agent, child, parent, path, origin, role, label, at FROM births \
             WHERE tree = ?1 ORDER BY ord",
            root,
            read_agent,
        )?;
        let mut happenings = self.read(
            "SELECT ord, agent, change, at, task, ending FROM changes WHERE tree = ?1",
            root,
            read_change,
        )?;
        happenings.extend(self.read(
            "SELECT ord, agent, message, at, kind FROM letters WHERE tree = ?1",
            root,
            |row| {
                let letter = TreeEvent::Letter {
                    to: AgentId(row.get(1)?),
                    message: read_message(row, 2)?,
                    at: UnixMillis(row.get(3)?),
                    kind: read_json(row, 4)?,
                };
                Ok((unsigned(row, 0)?, letter))
            },
        )?);
        happenings.extend(self.read(
            "SELECT ord, agent, message, consumed FROM receipts WHERE tree = ?1",
            root,
            |row| {
                let receipt = TreeEvent::Receipt {
                    by: AgentId(row.get(1)?),
                    message: read_message(row, 2)?,
                    consumed: row.get(3)?,
                };
                Ok((unsigned(row, 0)?, receipt))
            },
        )?);
        Ok(FoldedTree::of(births, happenings))
    }

    fn read<T>(
        &self,
        query: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.db
            .prepare_cached(query)
            .and_then(|mut statement| statement.query_map(values, read)?.collect())
            .map_err(|source| self.failed(source))
    }
}

fn read_place(row: &Row<'_>, column: usize) -> rusqlite::Result<AgentLocation> {
    Ok(AgentLocation {
        root: read_id(row, column)?,
        agent: AgentId(row.get(column + 1)?),
    })
}

fn read_agent(row: &Row<'_>) -> rusqlite::Result<AgentRow> {
    let parent: Option<u32> = row.get(2)?;
    let born = UnixMillis(row.get(7)?);
    Ok(AgentRow {
        agent: AgentId(row.get(0)?),
        session: read_id(row, 1)?,
        parent: parent.map(AgentId),
        path: row.get(3)?,
        origin: read_optional_json(row, 4)?,
        role: row.get(5)?,
        label: row.get(6)?,
        born,
        standing: RecordedStatus::PendingInit,
        since: born,
        last_task: None,
        last_end: None,
        is_pruned: false,
        pending_messages: 0,
        pending_interrupts: 0,
    })
}

fn read_change(row: &Row<'_>) -> rusqlite::Result<(u64, TreeEvent)> {
    let name: String = row.get(2)?;
    let task = || -> rusqlite::Result<_> { Ok(row.get::<_, String>(4)?.into()) };
    let change = match name.as_str() {
        "started" => AgentChange::Started(task()?),
        "ended" => AgentChange::Ended(task()?, read_json(row, 5)?),
        "halted" => AgentChange::Halted(read_json(row, 5)?),
        "shut" => AgentChange::Shut,
        "reopened" => AgentChange::Reopened,
        "released" => AgentChange::Released,
        "pruned" => AgentChange::Pruned,
        _ => return Err(unreadable(2, format!("{name:?} is no change").into())),
    };
    let change = TreeEvent::Change {
        agent: AgentId(row.get(1)?),
        at: UnixMillis(row.get(3)?),
        change,
    };
    Ok((unsigned(row, 0)?, change))
}

/// One line of a task, as if it were all there is.
fn read_task(row: &Row<'_>, session: SessionId) -> rusqlite::Result<TaskRow> {
    let change: String = row.get(2)?;
    let at = UnixMillis(row.get(3)?);
    let task: String = row.get(4)?;
    let tokens: Option<i64> = row.get(7)?;
    let is_end = change == "ended";
    let in_own_log = read_id(row, 9)? == session;
    let position = LogPosition(unsigned(row, 8)?);
    Ok(TaskRow {
        at: read_place(row, 0)?,
        task: task.into(),
        started: (!is_end).then_some(at),
        ended: is_end.then_some(at),
        stop: read_optional_json(row, 5)?,
        last_message: row.get(6)?,
        tokens: tokens.map_or(0, i64::unsigned_abs),
        result_at: (is_end && in_own_log).then_some(position),
    })
}

fn read_message(row: &Row<'_>, column: usize) -> rusqlite::Result<MessageId> {
    // A message id is a UUID, as a session's is.
    read_id(row, column).map(|id| MessageId(id.0))
}

fn read_json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| unreadable(column, error.into()))
}

fn read_optional_json<T: DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    let read = text.map(|text| serde_json::from_str(&text)).transpose();
    read.map_err(|error| unreadable(column, error.into()))
}

fn unreadable(column: usize, error: Box<dyn std::error::Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error)
}

#[cfg(test)]
mod tests;
