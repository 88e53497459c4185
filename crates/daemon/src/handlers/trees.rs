//! Who is in a tree, and who comes from whom.

use troupe_agents::tree_access::{AgentScope, AgentView};
use troupe_protocol::{AgentId, SessionId};
use troupe_store::{AgentRow, RecordedStatus, UnixMillis};

use super::describing::stored_standing;
use crate::daemon::Daemon;
use crate::members::{FoundSession, root_view, user};
use crate::problem::Problem;
use crate::route::{NoMembers, RouteCall, RouteReply};
use crate::wire::session::{LineageView, TokenCount};
use crate::wire::tree::{TreeAgentView, TreeQuery, TreeView};

pub(crate) async fn tree(
    call: RouteCall<TreeQuery, NoMembers>,
) -> Result<RouteReply<TreeView>, Problem> {
    let RouteCall {
        daemon,
        path,
        query,
        ..
    } = call;
    let found = daemon.find(path.get("session")).await?;
    let agents = daemon.agents_of(found).await?;
    let shown = below(&agents, found.session);
    let shown = shown.filter(|agent| query.closed || !(agent.pruned || agent.status == "shutdown"));
    Ok(RouteReply::new(TreeView {
        root_session_id: found.root,
        agents: shown.cloned().collect(),
    }))
}

pub(crate) async fn genealogy(
    call: RouteCall<NoMembers, NoMembers>,
) -> Result<RouteReply<LineageView>, Problem> {
    let RouteCall { daemon, path, .. } = call;
    let found = daemon.find(path.get("session")).await?;
    let agents = daemon.agents_of(found).await?;
    let mut ancestors = Vec::new();
    let mut next = parent_of(&agents, found.session);
    while let Some(above) = next
        && ancestors.len() < agents.len()
    {
        ancestors.push(above);
        next = parent_of(&agents, above);
    }
    Ok(RouteReply::new(LineageView {
        session_id: found.session,
        ancestors,
        genealogy: daemon.describe(found).await?.genealogy,
    }))
}

fn parent_of(agents: &[TreeAgentView], session: SessionId) -> Option<SessionId> {
    let agent = agents.iter().find(|agent| agent.session_id == session)?;
    agent.parent_session_id
}

/// Returns an agent and all below it. Parents come before their children.
fn below(agents: &[TreeAgentView], top: SessionId) -> impl Iterator<Item = &TreeAgentView> {
    let mut within = vec![top];
    agents.iter().filter(move |agent| {
        let belongs = agent.session_id == top
            || agent
                .parent_session_id
                .is_some_and(|parent| within.contains(&parent));
        if belongs {
            within.push(agent.session_id);
        }
        belongs
    })
}

impl Daemon {
    /// Returns everybody in a tree by number. A session without children is a tree of one.
    pub(crate) async fn agents_of(
        &self,
        found: FoundSession,
    ) -> Result<Vec<TreeAgentView>, Problem> {
        if let Some(thread) = self.loaded(found).await {
            let root = root_view(&thread).await?;
            let others = user(&thread).list(AgentScope::All, true).await?;
            return Ok(std::iter::once(&root)
                .chain(&others)
                .map(live_agent)
                .collect());
        }
        let store = self.store()?;
        let held = self.is_held(found).await?;
        let rows = store.tree(found.root).await?;
        if rows.is_empty() {
            return Ok(vec![self.lone_agent(found).await?]);
        }
        let session_of = |agent: AgentId| {
            let row = rows.iter().find(|row| row.agent == agent);
            row.map(|row| row.session)
        };
        let views = rows
            .iter()
            .map(|row| stored_agent(row, row.parent.and_then(session_of), held));
        Ok(views.collect())
    }

    async fn lone_agent(&self, found: FoundSession) -> Result<TreeAgentView, Problem> {
        let session = self.describe(found).await?;
        Ok(TreeAgentView {
            agent_id: session.agent_id,
            session_id: session.id,
            parent_agent_id: None,
            parent_session_id: None,
            path: session.path,
            status: session.status,
            detail: session.interruption,
            role: None,
            title: session.title,
            note: session.note,
            waiting_on: None,
            current_tools: Vec::new(),
            preview: None,
            since: session.updated_at,
            progress_at: None,
            tokens: None,
            queue_length: session.queue_length,
            last_task_id: session.last_task_id,
            pruned: false,
        })
    }
}

fn live_agent(view: &AgentView) -> TreeAgentView {
    let card = view.card();
    TreeAgentView {
        agent_id: card.agent_id,
        session_id: card.session_id,
        parent_agent_id: card.parent_agent_id,
        parent_session_id: card.parent_session_id,
        status: card.status.row().agents.to_owned(),
        detail: card.detail,
        role: card.made.map(|made| made.role),
        title: card.title,
        note: card.note,
        waiting_on: card.waiting_on.map(|on| on.as_str().to_owned()),
        current_tools: card.current_tools,
        preview: card.preview,
        since: UnixMillis(card.since_ms).to_string(),
        progress_at: Some(UnixMillis(card.progress_ms).to_string()),
        tokens: Some(TokenCount {
            own: card.tokens.own,
            subtree: card.tokens.subtree,
        }),
        queue_length: card.pending.messages + card.pending.interrupts,
        last_task_id: card.last_task.map(|task| task.0),
        pruned: card.pruned,
        path: card.path,
    }
}

fn stored_agent(row: &AgentRow, parent: Option<SessionId>, held: bool) -> TreeAgentView {
    let standing = stored_standing(row, held);
    let is_over = row.standing != RecordedStatus::Running || !held;
    TreeAgentView {
        agent_id: row.agent,
        session_id: row.session,
        parent_agent_id: row.parent,
        parent_session_id: parent,
        path: row.path.clone(),
        status: standing.status.to_owned(),
        detail: standing
            .interruption
            .filter(|_| is_over)
            .map(super::describing::interruption_name),
        role: row.role.clone(),
        title: row.label.clone(),
        note: None,
        waiting_on: None,
        current_tools: Vec::new(),
        preview: None,
        since: row.since.to_string(),
        progress_at: None,
        tokens: None,
        queue_length: row.pending_messages + row.pending_interrupts,
        last_task_id: row.last_task.as_ref().map(|task| task.0.clone()),
        pruned: row.is_pruned,
    }
}
