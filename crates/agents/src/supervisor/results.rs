//! Results, read from where they were written.

use troupe_protocol::result::TaskResult;
use troupe_protocol::tree::{AgentLine, TreeFact};
use troupe_protocol::{SessionId, SubmissionId};
use troupe_store::{SessionStore, StoreError};

use crate::tree_access::TreeError;

/// Finds the result of a session's task; of the last one if none is named. It stands in the
/// session's own log, or in the root's if that log could not be written.
pub(super) async fn find(
    store: &dyn SessionStore,
    root: Option<SessionId>,
    session: SessionId,
    task: Option<&SubmissionId>,
) -> Result<Option<TaskResult>, TreeError> {
    let (own, trouble) = match lines(store, session).await {
        Ok(own) => (newest(own, session, task), None),
        // What the root has of it counts then.
        Err(trouble) => (None, Some(trouble)),
    };
    let elsewhere = match root.filter(|root| *root != session) {
        Some(root) if own.is_none() || task.is_none() => {
            newest(lines(store, root).await?, session, task)
        }
        Some(_) | None => None,
    };
    let found = own.into_iter().chain(elsewhere);
    let newest = found.max_by_key(|(order, _)| *order);
    match (newest, trouble) {
        (Some((_, result)), _) => Ok(Some(result)),
        (None, Some(trouble)) => Err(trouble),
        (None, None) => Ok(None),
    }
}

/// A session that never opened has no log, and so no lines.
async fn lines(store: &dyn SessionStore, session: SessionId) -> Result<Vec<AgentLine>, TreeError> {
    match store.agent_lines(session).await {
        Ok(found) => Ok(found.lines.into_iter().map(|(_, line)| line).collect()),
        Err(StoreError::NotFound { .. }) => Ok(Vec::new()),
        Err(error) => Err(TreeError::Storage(error.to_string())),
    }
}

fn newest(
    lines: Vec<AgentLine>,
    session: SessionId,
    task: Option<&SubmissionId>,
) -> Option<(u64, TaskResult)> {
    lines.into_iter().rev().find_map(|line| {
        let is_asked = match (&line.record.fact, task) {
            (TreeFact::Ended { task: ended, .. }, Some(task)) => ended == task,
            (TreeFact::Ended { .. }, None) => true,
            _ => false,
        };
        let result = line.result.filter(|_| is_asked)?;
        (result.session_id == session).then_some((line.record.order, *result))
    })
}
