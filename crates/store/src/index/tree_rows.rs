//! What lines say of agent trees and approvals, into SQLite.

use rusqlite::{Connection, params};
use serde::Serialize;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::tree::{AgentBirth, Callback, MailKind, MessageId, TreeFact};
use troupe_protocol::{AgentId, SessionId, SubmissionId};

use crate::fold::{AgentLineDigest, ApprovalChange, LoggedApproval};

use super::rows::integer;

/// The path of every tree's root.
pub(super) const ROOT_PATH: &str = "/root";

pub(super) fn write(
    tx: &Connection,
    session: &str,
    said: &[AgentLineDigest],
) -> rusqlite::Result<()> {
    for said in said {
        let line = AgentLineWriter { tx, session, said };
        line.write()?;
    }
    Ok(())
}

struct AgentLineWriter<'a> {
    tx: &'a Connection,
    session: &'a str,
    said: &'a AgentLineDigest,
}

impl AgentLineWriter<'_> {
    fn write(&self) -> rusqlite::Result<()> {
        match &self.said.fact {
            TreeFact::Rooted { session, .. } => self.root(*session),
            TreeFact::Born(birth) => {
                self.birth(birth)?;
                match &birth.first {
                    Some(first) => self.write_mail(birth.agent, first.id, &first.kind),
                    None => Ok(()),
                }
            }
            TreeFact::Sent { to, envelope } => self.write_mail(*to, envelope.id, &envelope.kind),
            TreeFact::Started {
                agent,
                task,
                message,
            } => {
                self.change(*agent, "started", Some(task), None)?;
                self.receipts(*agent, message.as_slice(), MailReceipt::Taken)
            }
            TreeFact::Took { agent, messages } => {
                self.receipts(*agent, messages, MailReceipt::Taken)
            }
            TreeFact::Consumed { agent, messages } => {
                self.receipts(*agent, messages, MailReceipt::Consumed)
            }
            TreeFact::Ended {
                agent,
                task,
                end,
                callback,
            } => {
                self.change(*agent, "ended", Some(task), Some(json(end)?))?;
                match callback {
                    None => Ok(()),
                    Some(callback) => self.callback(*agent, task, *callback),
                }
            }
            TreeFact::Halted { agent, end } => {
                self.change(*agent, "halted", None, Some(json(end)?))
            }
            TreeFact::Shut { agent } => self.change(*agent, "shut", None, None),
            TreeFact::Reopened { agent } => self.change(*agent, "reopened", None, None),
            TreeFact::Released { agent } => self.change(*agent, "released", None, None),
            TreeFact::Pruned { agent } => self.change(*agent, "pruned", None, None),
            // What comes of a stop that was asked for is a line of its own; notes are with
            // their sessions, and a watchdog is heard of by what it sends.
            TreeFact::StopAsked { .. }
            | TreeFact::Withdrawn { .. }
            | TreeFact::Rebound { .. }
            | TreeFact::Kept(_) => Ok(()),
        }
    }

    fn root(&self, session: SessionId) -> rusqlite::Result<()> {
        self.insert_birth(&BirthRow {
            agent: AgentId::ROOT,
            child: session,
            parent: None,
            path: ROOT_PATH,
            origin: None,
        })
    }

    fn birth(&self, birth: &AgentBirth) -> rusqlite::Result<()> {
        self.insert_birth(&BirthRow {
            agent: birth.agent,
            child: birth.session,
            parent: Some(birth.parent),
            path: &birth.path,
            origin: Some(json(&birth.genealogy.origin)?),
        })
    }

    fn insert_birth(&self, row: &BirthRow<'_>) -> rusqlite::Result<()> {
        let AgentLineDigest {
            position,
            tree,
            order,
            at,
            role,
            label,
            ..
        } = self.said;
        self.tx
            .prepare_cached(
                "INSERT OR REPLACE INTO births (session, position, tree, ord, at, agent, child, \
                 parent, path, origin, role, label) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )?
            .execute(params![
                self.session,
                integer(position.0),
                tree.to_string(),
                integer(*order),
                at.0,
                row.agent.0,
                row.child.to_string(),
                row.parent.map(|parent| parent.0),
                row.path,
                row.origin,
                role,
                label,
            ])
            .map(drop)
    }

    fn change(
        &self,
        agent: AgentId,
        change: &str,
        task: Option<&SubmissionId>,
        ending: Option<String>,
    ) -> rusqlite::Result<()> {
        let AgentLineDigest {
            position,
            tree,
            order,
            at,
            result,
            ..
        } = self.said;
        let result = result.as_ref();
        let stop = result.map(|result| json(&result.stop)).transpose()?;
        self.tx
            .prepare_cached(
                "INSERT OR REPLACE INTO changes (session, position, tree, ord, at, agent, \
                 change, task, ending, stop, last_message, tokens) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )?
            .execute(params![
                self.session,
                integer(position.0),
                tree.to_string(),
                integer(*order),
                at.0,
                agent.0,
                change,
                task.map(SubmissionId::as_str),
                ending,
                stop,
                result.and_then(|result| result.last_message.as_deref()),
                result.map(|result| integer(result.tokens)),
            ])
            .map(drop)
    }

    fn callback(
        &self,
        child: AgentId,
        task: &SubmissionId,
        callback: Callback,
    ) -> rusqlite::Result<()> {
        let task = task.clone();
        let kind = MailKind::Callback { child, task };
        self.write_mail(callback.target, callback.id, &kind)
    }

    fn write_mail(&self, to: AgentId, message: MessageId, kind: &MailKind) -> rusqlite::Result<()> {
        let AgentLineDigest {
            position,
            tree,
            order,
            at,
            ..
        } = self.said;
        self.tx
            .prepare_cached(
                "INSERT OR REPLACE INTO letters (session, position, tree, ord, at, agent, \
                 message, kind) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                self.session,
                integer(position.0),
                tree.to_string(),
                integer(*order),
                at.0,
                to.0,
                message.to_string(),
                json(kind)?,
            ])
            .map(drop)
    }

    fn receipts(
        &self,
        agent: AgentId,
        messages: &[MessageId],
        receipt: MailReceipt,
    ) -> rusqlite::Result<()> {
        let mut insert = self.tx.prepare_cached(
            "INSERT OR REPLACE INTO receipts (session, position, tree, ord, agent, message, \
             consumed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        for message in messages {
            insert.execute(params![
                self.session,
                integer(self.said.position.0),
                self.said.tree.to_string(),
                integer(self.said.order),
                agent.0,
                message.to_string(),
                receipt == MailReceipt::Consumed,
            ])?;
        }
        Ok(())
    }
}

struct BirthRow<'a> {
    agent: AgentId,
    child: SessionId,
    parent: Option<AgentId>,
    path: &'a str,
    origin: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MailReceipt {
    Taken,
    Consumed,
}

pub(super) fn write_approvals(
    tx: &Connection,
    session: &str,
    changes: &[ApprovalChange],
) -> rusqlite::Result<()> {
    for change in changes {
        match change {
            ApprovalChange::Asked(asked) => write_asked(tx, session, asked)?,
            ApprovalChange::Answered { call_id, decision } => tx
                .prepare_cached(
                    "UPDATE approvals SET decision = ?3 \
                     WHERE session = ?1 AND call_id = ?2 AND decision IS NULL",
                )?
                .execute(params![session, call_id.as_str(), json(decision)?])
                .map(drop)?,
            ApprovalChange::Aborted { task } => tx
                .prepare_cached(
                    "UPDATE approvals SET decision = ?3 \
                     WHERE session = ?1 AND task = ?2 AND decision IS NULL",
                )?
                .execute(params![
                    session,
                    task.as_str(),
                    json(&ReviewDecision::Abort)?
                ])
                .map(drop)?,
            ApprovalChange::Settled { call_id } => tx
                .prepare_cached(
                    "UPDATE approvals SET decision = ?3 \
                     WHERE session = ?1 AND call_id = ?2 AND decision IS NULL",
                )?
                .execute(params![session, call_id.as_str(), json(&"settled")?])
                .map(drop)?,
        }
    }
    Ok(())
}

fn write_asked(tx: &Connection, session: &str, asked: &LoggedApproval) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT OR REPLACE INTO approvals (session, position, call_id, task, kind, what, asked) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        session,
        integer(asked.position.0),
        asked.call_id.as_str(),
        asked.task.as_str(),
        asked.kind.as_str(),
        asked.what,
        asked.at.0,
    ])
    .map(drop)
}

fn json<T: Serialize>(value: &T) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}
