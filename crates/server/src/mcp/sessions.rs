//! How sessions stand: `troupe_sessions_list`, `_get` and `_cancel`, and `troupe_agents_tree`.

use std::collections::HashMap;

use troupe_agents::tree_access::{AgentScope, AgentView, TreeStopRequest};
use troupe_protocol::approval::in_full;
use troupe_protocol::tree::TaskEnding;
use troupe_protocol::{AgentId, SessionId, StopVerb};
use troupe_store::{
    AgentRow, ArchivedFilter, ListQuery, RecordedStatus, SessionStore, SourceKind, UnixMillis,
};
use troupe_tree::command::StopMode;
use troupe_tree::effect::StopSkipReason;

use super::answers::{
    AgentAnswer, CancelledSession, OpenApproval, SessionAnswer, SessionCancelAnswer, SessionFamily,
    SessionList, SessionRow, SkippedSession, TreeAnswer,
};
use super::arguments::{CancelArguments, GetArguments, ListSessionsArguments, TreeArguments};
use super::directory::{FoundSession, desk};
use super::error::SessionToolError;
use super::session_tools::SessionTools;
use super::tasks;
use crate::session_pool::RootSession;

impl SessionTools {
    pub(super) async fn list(
        &self,
        arguments: ListSessionsArguments,
    ) -> Result<SessionList, SessionToolError> {
        let query = ListQuery {
            cwds: arguments.working_directory.into_iter().collect(),
            archived: if arguments.archived {
                ArchivedFilter::Archived
            } else {
                ArchivedFilter::Live
            },
            sources: if arguments.include_children {
                SourceKind::ALL.to_vec()
            } else {
                Vec::new()
            },
            search: arguments.search,
            cursor: arguments.cursor,
            limit: arguments.limit,
            ..ListQuery::default()
        };
        let page = self.store()?.list(&query).await?;
        let loaded = self.house.loaded().await;
        let idle: HashMap<SessionId, bool> = loaded
            .iter()
            .map(|thread| (thread.id(), thread.is_idle()))
            .collect();
        let rows = page.sessions.into_iter().map(|summary| SessionRow {
            session_id: summary.id,
            short_id: summary.id.short(),
            title: summary.name,
            preview: summary.preview,
            note: summary.note,
            source: SourceKind::from(&summary.source).as_str().to_owned(),
            working_directory: summary.cwd.display().to_string(),
            model: summary.model,
            created_at: summary.created.to_string(),
            updated_at: summary.updated.to_string(),
            tokens: summary.tokens,
            loaded: idle.contains_key(&summary.id),
            running: idle.get(&summary.id).map(|idle| !idle),
        });
        Ok(SessionList {
            sessions: rows.collect(),
            next_cursor: page.next,
        })
    }

    pub(super) async fn get(
        &self,
        arguments: &GetArguments,
    ) -> Result<SessionAnswer, SessionToolError> {
        let found = self.find(&arguments.session_id).await?;
        let mut session = match self.loaded(found).await {
            Some(thread) => self.live(found, &thread).await?,
            None => self.stored(found).await?,
        };
        let open = self.store()?.open_approvals(found.root).await?;
        let of_it = open
            .into_iter()
            .filter(|row| found.is_root() || row.session == found.session);
        for row in of_it {
            let whole = self.store()?.question(&row).await?;
            let whole = whole.as_ref().and_then(in_full);
            session.open_approvals.push(OpenApproval {
                session_id: row.session,
                path: row.path,
                kind: row.kind.as_str().to_owned(),
                what: whole.unwrap_or_else(|| format!("cannot be read: {} …", row.what)),
                asked_at: row.asked.to_string(),
            });
        }
        let asks_itself = |open: &OpenApproval| open.session_id == found.session;
        let asked = session.open_approvals.iter().find(|open| asks_itself(open));
        if let (false, Some(open)) = (session.ready_for_prompt, asked) {
            let on = if open.is_question() {
                "user"
            } else {
                "approval"
            };
            session.waiting_on = Some(on.to_owned());
        }
        if !arguments.include_last_message {
            session.last_message = None;
        }
        Ok(session)
    }

    /// Tells how a session in memory stands.
    pub(super) async fn live(
        &self,
        found: FoundSession,
        thread: &RootSession,
    ) -> Result<SessionAnswer, SessionToolError> {
        let desk = desk(thread);
        let view = desk.view(&found.address()).await?;
        let others = desk.list(AgentScope::All, true).await?;
        let children = others
            .iter()
            .filter(|other| other.parent == Some(view.agent))
            .map(|other| other.session);
        let last = tasks::read(&*self.store()?, found.session).await?.pop();
        let context = &thread.configured().context;
        let (cwd, model) = match &view.spec {
            Some(spec) => (&spec.cwd, &spec.model),
            None => (&context.cwd, &context.model),
        };
        Ok(SessionAnswer {
            session_id: view.session,
            short_id: view.session.short(),
            status: view.status.row().agents.to_owned(),
            ready_for_prompt: view.status.is_final() && view.pending.messages == 0,
            loaded: true,
            held_elsewhere: false,
            title: thread
                .configured()
                .thread_name
                .clone()
                .filter(|_| found.is_root()),
            note: view.note.clone(),
            path: Some(view.path.clone()),
            genealogy: SessionFamily {
                root_session_id: Some(found.root),
                parent_session_id: view.parent_session,
                children: children.collect(),
            },
            waiting_on: view.waiting_on().map(|on| on.as_str().to_owned()),
            current_tools: view.current_tools().to_vec(),
            status_duration_sec: Some(view.status_duration_s()),
            pending_messages: Some(mail_count(view.pending.messages)),
            last_task_id: last.as_ref().map(|task| task.task_id.clone()),
            error: last.as_ref().and_then(|task| task.error.clone()),
            last_message: last.and_then(|task| task.last_message),
            working_directory: Some(cwd.display().to_string()),
            model: Some(model.clone()),
            tokens: Some(view.subtree_usage.total_tokens),
            open_approvals: Vec::new(),
        })
    }

    /// Tells how a session that is not in memory stands, by what is written. It may be at work
    /// in another process.
    pub(super) async fn stored(
        &self,
        found: FoundSession,
    ) -> Result<SessionAnswer, SessionToolError> {
        let store = self.store()?;
        let live = store.read_live(found.session).await?;
        let rows = store.tree(found.root).await?;
        let row = rows.iter().find(|row| row.session == found.session);
        let last = tasks::read(&*store, found.session).await?.pop();
        let held_elsewhere = self.is_held(found).await?;
        let status = match (row, &last) {
            (Some(row), _) => standing(row.standing, held_elsewhere),
            (None, Some(task)) if task.status == "running" && !held_elsewhere => "interrupted",
            (None, Some(task)) => task.status.as_str(),
            (None, None) => "idle",
        };
        let parent = row.and_then(|row| row.parent);
        let session_of = |agent: AgentId| {
            let row = rows.iter().find(|row| row.agent == agent);
            row.map(|row| row.session)
        };
        let children = rows
            .iter()
            .filter(|other| row.is_some_and(|row| other.parent == Some(row.agent)))
            .map(|row| row.session);
        Ok(SessionAnswer {
            session_id: found.session,
            short_id: found.session.short(),
            status: status.to_owned(),
            // A prompt would be refused by whoever has it.
            ready_for_prompt: !held_elsewhere,
            loaded: false,
            held_elsewhere,
            title: None,
            note: None,
            path: row.map(|row| row.path.clone()),
            genealogy: SessionFamily {
                root_session_id: Some(found.root),
                parent_session_id: parent.and_then(session_of),
                children: children.collect(),
            },
            waiting_on: None,
            current_tools: Vec::new(),
            status_duration_sec: None,
            pending_messages: row.map(|row| mail_count(row.pending_messages)),
            last_task_id: last.as_ref().map(|task| task.task_id.clone()),
            error: last.as_ref().and_then(|task| task.error.clone()),
            last_message: last.and_then(|task| task.last_message),
            working_directory: Some(live.meta.cwd.display().to_string()),
            model: None,
            tokens: None,
            open_approvals: Vec::new(),
        })
    }

    pub(super) async fn cancel(
        &self,
        arguments: CancelArguments,
    ) -> Result<SessionCancelAnswer, SessionToolError> {
        let found = self.find(&arguments.session_id).await?;
        let thread = self.loaded(found).await;
        let thread = thread.ok_or(SessionToolError::NotRunning(found.session))?;
        let request = TreeStopRequest {
            verb: StopVerb::Cancel,
            targets: vec![found.address()],
            mode: if arguments.dry_run {
                StopMode::DryRun
            } else {
                StopMode::Act
            },
            note: arguments.reason,
        };
        let stopped = desk(&thread).stop(request).await?;
        let touched = stopped.touched.into_iter().map(|planned| CancelledSession {
            session_id: planned.view.session,
            path: planned.view.path,
            was: planned.view.status.row().agents.to_owned(),
        });
        let skipped = stopped.skipped.into_iter().map(|planned| SkippedSession {
            session_id: planned.view.session,
            path: planned.view.path,
            why: why(planned.what).to_owned(),
        });
        Ok(SessionCancelAnswer {
            touched: touched.collect(),
            skipped: skipped.collect(),
            dry_run: arguments.dry_run,
        })
    }

    pub(super) async fn tree(
        &self,
        arguments: &TreeArguments,
    ) -> Result<TreeAnswer, SessionToolError> {
        let found = self.find(&arguments.session_id).await?;
        let agents = if let Some(thread) = self.loaded(found).await {
            let desk = desk(&thread);
            let root = desk.view(&AgentId::ROOT.to_string()).await?;
            let others = desk.list(AgentScope::All, arguments.include_closed).await?;
            let views = std::iter::once(&root).chain(&others);
            views.map(live_agent).collect()
        } else {
            let held = self.is_held(found).await?;
            stored_agents(&*self.store()?, found, held, arguments.include_closed).await?
        };
        Ok(TreeAnswer {
            root_session_id: found.root,
            agents,
        })
    }
}

fn live_agent(view: &AgentView) -> AgentAnswer {
    let card = view.card();
    AgentAnswer {
        agent_id: card.agent_id.0,
        session_id: card.session_id,
        parent_agent_id: card.parent_agent_id.map(|parent| parent.0),
        status: card.status.row().agents.to_owned(),
        role: card.made.map(|made| made.role),
        note: card.note,
        waiting_on: card.waiting_on.map(|on| on.as_str().to_owned()),
        current_tools: card.current_tools,
        pending_messages: mail_count(card.pending.messages),
        last_task_id: card.last_task.map(|task| task.0),
        preview: card.preview,
        tokens: Some(card.tokens.own),
        since: UnixMillis(card.since_ms).to_string(),
        path: card.path,
    }
}

/// A session without children is a tree of one.
async fn stored_agents(
    store: &dyn SessionStore,
    found: FoundSession,
    held: bool,
    closed: bool,
) -> Result<Vec<AgentAnswer>, SessionToolError> {
    let rows = store.tree(found.root).await?;
    let shown =
        |row: &&AgentRow| closed || !(row.is_pruned || row.standing == RecordedStatus::Shutdown);
    let agents = rows.iter().filter(shown).map(|row| AgentAnswer {
        agent_id: row.agent.0,
        session_id: row.session,
        parent_agent_id: row.parent.map(|parent| parent.0),
        path: row.path.clone(),
        status: standing(row.standing, held).to_owned(),
        role: row.role.clone(),
        note: None,
        waiting_on: None,
        current_tools: Vec::new(),
        pending_messages: mail_count(row.pending_messages),
        last_task_id: row.last_task.as_ref().map(|task| task.0.clone()),
        preview: None,
        tokens: None,
        since: row.since.to_string(),
    });
    Ok(agents.collect())
}

fn mail_count(messages: u32) -> usize {
    usize::try_from(messages).unwrap_or(usize::MAX)
}

/// What its log says of an agent. What was running when its process died runs no more.
fn standing(standing: RecordedStatus, is_held: bool) -> &'static str {
    match standing {
        RecordedStatus::PendingInit => "pending_init",
        RecordedStatus::Running if is_held => "running",
        RecordedStatus::Running => "interrupted",
        RecordedStatus::Ended(end) => match end {
            TaskEnding::Completed => "completed",
            TaskEnding::Errored | TaskEnding::FailedToStart => "errored",
            TaskEnding::Interrupted { .. } | TaskEnding::Replaced => "interrupted",
            TaskEnding::Cancelled { .. } => "cancelled",
            TaskEnding::BudgetExceeded => "budget_exceeded",
        },
        RecordedStatus::Shutdown => "shutdown",
    }
}

fn why(why: StopSkipReason) -> &'static str {
    match why {
        StopSkipReason::Idle => "nothing runs",
        StopSkipReason::Active => "not finished",
        StopSkipReason::AlreadyDone => "done already",
        StopSkipReason::Unknown => "unknown",
    }
}
