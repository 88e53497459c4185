//! The family `sessions`: a child is created, waited for, or cancelled, and its last message
//! is its result.
//!
//! Nobody is asked for approvals of such a child, and it ends with the interrupted task of
//! its parent. Like any child it calls back by its parent's configuration: a parent that
//! waits has the result as the answer of `wait_session`, and one that goes idle instead is
//! told by a message, never both.

mod cancel_session;
mod create_session;
mod wait_session;

use std::sync::Arc;

use troupe_protocol::SessionId;
use troupe_tools::Tool;
use troupe_tree::AgentAddressError;

use crate::tree_access::{AgentView, RolePlace, TreeAccess, TreeError};

use self::cancel_session::CancelSession;
use self::create_session::CreateSession;
use self::wait_session::WaitSession;
use super::child;

pub(super) fn tools(desk: &TreeAccess, place: &RolePlace) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(CreateSession::new(desk.clone(), place.clone())),
        Arc::new(WaitSession::new(desk.clone())),
        Arc::new(CancelSession::new(desk.clone())),
    ]
}

/// Finds the child session that the caller means.
async fn find(
    desk: &TreeAccess,
    session_id: &str,
    verb: &'static str,
) -> Result<AgentView, String> {
    let id = parse(session_id)?;
    let found = child::find_below_caller(desk, &id.to_string(), verb).await;
    found.map_err(|trouble| explain(id, &trouble))
}

fn parse(session_id: &str) -> Result<SessionId, String> {
    let parsed = session_id.trim().parse();
    parsed.map_err(|error| format!("invalid session_id {session_id}: {error}"))
}

fn explain(id: SessionId, trouble: &TreeError) -> String {
    match trouble {
        TreeError::Address(AgentAddressError::Unknown(_)) => format!("unknown session {id}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
