//! Notifications about changes of a tree, for clients that follow its root.

use troupe_agents::tree_access::AgentScope;
use troupe_protocol::agent::{AgentInbox, AgentStatus, SubagentLifecycle};
use troupe_protocol::{AgentId, EventMsg};
use troupe_server::session_pool::RootSession;

use crate::wire::notification::ServerNotification;
use crate::wire::tree::{
    AgentInboxNotification, AgentStanding, InboxDepth, TreeChange, TreeChangedNotification,
};

/// Returns what an event of the root says of its tree.
///
/// That agents were restored is left out: the event is in no log, so a client that comes a moment
/// after the resume would miss it. Each client is told by [`present`] instead.
pub(crate) fn tree_notification(root: &str, msg: &EventMsg) -> Option<ServerNotification> {
    match msg {
        EventMsg::SubagentLifecycle(SubagentLifecycle::Restored { .. }) => None,
        EventMsg::SubagentLifecycle(life) => Some(changed(root, life)),
        EventMsg::AgentInbox(inbox) => Some(mail(root, inbox)),
        _ => None,
    }
}

fn changed(root: &str, life: &SubagentLifecycle) -> ServerNotification {
    let (agent, session, change) = match life {
        SubagentLifecycle::Created { subagent } => {
            let (status, _) = standing(&subagent.status);
            let change = TreeChange::Created {
                parent_thread_id: subagent.parent_session_id.map(|id| id.to_string()),
                path: subagent.path.clone(),
                status,
            };
            (subagent.agent_id, subagent.session_id, change)
        }
        SubagentLifecycle::Status {
            agent_id,
            session_id,
            status,
            ..
        } => {
            let (status, preview) = standing(status);
            let change = TreeChange::Status { status, preview };
            (*agent_id, *session_id, change)
        }
        SubagentLifecycle::ReasoningHeader {
            agent_id,
            session_id,
            reasoning_header,
            ..
        } => {
            let header = reasoning_header.clone();
            (*agent_id, *session_id, TreeChange::Thinking { header })
        }
        SubagentLifecycle::Deleted {
            agent_id,
            session_id,
            ..
        } => (*agent_id, *session_id, TreeChange::Pruned),
        SubagentLifecycle::Restored { subagent } => {
            let (status, preview) = standing(&subagent.status);
            let change = TreeChange::Restored {
                parent_thread_id: subagent.parent_session_id.map(|id| id.to_string()),
                path: subagent.path.clone(),
                status,
                preview,
            };
            (subagent.agent_id, subagent.session_id, change)
        }
    };
    ServerNotification::TreeChanged(TreeChangedNotification {
        root_thread_id: root.to_owned(),
        agent_id: agent.to_string(),
        thread_id: session.to_string(),
        change,
    })
}

/// Tells who is in the tree of a thread, for a client that begins to follow it.
pub(crate) async fn present(thread: &RootSession) -> Vec<ServerNotification> {
    let agents = thread.agents();
    if !agents.is_planted() {
        return Vec::new();
    }
    let root = thread.id().to_string();
    // A tree that is ending cannot be asked, and has nothing more to tell.
    let views = agents.user().list(AgentScope::All, false).await;
    let views = views.into_iter().flatten();
    let below = views.filter(|view| view.agent != AgentId::ROOT);
    below
        .map(|view| {
            let subagent = view.summary();
            changed(&root, &SubagentLifecycle::Restored { subagent })
        })
        .collect()
}

fn mail(root: &str, inbox: &AgentInbox) -> ServerNotification {
    ServerNotification::AgentInbox(AgentInboxNotification {
        root_thread_id: root.to_owned(),
        agent_id: inbox.agent_id.to_string(),
        thread_id: inbox.session_id.to_string(),
        inbox: InboxDepth {
            messages: inbox.pending_messages,
            interrupts: inbox.pending_interrupts,
        },
    })
}

/// Returns how an agent stands, and the beginning of what it said last.
fn standing(status: &AgentStatus) -> (AgentStanding, Option<String>) {
    (
        AgentStanding::from(status),
        status.text().map(str::to_owned),
    )
}
