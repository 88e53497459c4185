//! How a session stands, in one look: of a tree in memory by what the tree says, else by the logs.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use troupe_agents::tree_access::{AgentScope, AgentView};
use troupe_protocol::spawn::{CallbackConfig, SpawnSpec};
use troupe_protocol::tree::{Interruption, TaskEnding};
use troupe_protocol::{AgentId, SessionId};
use troupe_server::RootSession;
use troupe_store::{AgentRow, RecordedStatus, StoreError, UnixMillis};

use crate::daemon::Daemon;
use crate::members::{FoundSession, user};
use crate::problem::Problem;
use crate::session_log::{LoggedBirth, SessionLogFold};
use crate::wire::session::{GenealogyView, SessionView, TokenCount};

/// How an agent stands by what is written of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredStanding {
    pub status: &'static str,
    pub interruption: Option<Interruption>,
}

impl Daemon {
    pub(crate) async fn describe(&self, found: FoundSession) -> Result<SessionView, Problem> {
        match self.loaded(found).await {
            Some(thread) => self.describe_live(found, &thread).await,
            None => self.describe_stored(found).await,
        }
    }

    pub(crate) async fn describe_live(
        &self,
        found: FoundSession,
        thread: &RootSession,
    ) -> Result<SessionView, Problem> {
        let access = user(thread);
        let view = access.view(&found.address()).await?;
        let others = access.list(AgentScope::All, true).await?;
        let children = others
            .iter()
            .filter(|other| other.parent == Some(view.agent));
        let children = children.map(|other| other.session).collect();
        let log = self.read_log(found.session).await?;
        let birth = self.birth(found, view.parent_session).await?;
        let configured = thread.configured();
        let context = log.context.as_ref();
        let spec = view.spec.as_deref();
        let root_callback = thread.agents().callback();
        let ready =
            view.status.is_final() && view.pending.messages == 0 && view.pending.interrupts == 0;
        Ok(versioned(SessionView {
            id: found.session,
            short_id: found.session.short(),
            status: view.status.row().agents.to_owned(),
            interruption: view.status.interruption().map(interruption_name),
            ready_for_prompt: ready,
            version: String::new(),
            loaded: true,
            held_elsewhere: false,
            title: view.name.clone().or_else(|| log.title.clone()),
            note: view.note.clone().or_else(|| log.note.clone()),
            archived: false,
            agent_id: view.agent,
            path: view.path.clone(),
            waiting_on: view.waiting_on().map(|on| on.as_str().to_owned()),
            current_tools: view.current_tools().to_vec(),
            since: Some(UnixMillis(view.since_ms).to_string()),
            queue_length: view.pending.messages + view.pending.interrupts,
            message_count: log.messages.len(),
            last_task_id: last_task(&log, &view),
            working_directory: match (context, spec) {
                (Some(context), _) => context.cwd.clone(),
                (None, Some(spec)) => spec.cwd.clone(),
                (None, None) => configured.context.cwd.clone(),
            },
            model: Some(match (context, spec) {
                (Some(context), _) => context.model.clone(),
                (None, Some(spec)) => spec.model.clone(),
                (None, None) => configured.context.model.clone(),
            }),
            model_provider: spec
                .and_then(|spec| spec.model_provider.clone())
                .unwrap_or_else(|| configured.model_provider_id.clone()),
            created_at: created_at(&log, view.born_at_ms),
            updated_at: UnixMillis(log.updated.0.max(view.updated_at_ms())).to_string(),
            tokens: Some(TokenCount {
                own: view.usage.total_tokens,
                subtree: view.subtree_usage.total_tokens,
            }),
            callback_config: Some(callback_of(spec, root_callback)),
            genealogy: genealogy(found, view.parent_session, children, birth, &log),
        }))
    }

    async fn describe_stored(&self, found: FoundSession) -> Result<SessionView, Problem> {
        let store = self.store()?;
        let live = store.read_live(found.session).await?;
        let rows = store.tree(found.root).await?;
        let row = rows.iter().find(|row| row.session == found.session);
        let held = self.is_held(found).await?;
        let log = self.read_log(found.session).await?;
        let session_of = |agent: AgentId| rows.iter().find(|row| row.agent == agent);
        let parent = row
            .and_then(|row| session_of(row.parent?))
            .map(|row| row.session);
        let children = rows
            .iter()
            .filter(|other| row.is_some_and(|row| other.parent == Some(row.agent)));
        let children = children.map(|row| row.session).collect();
        let birth = self.birth(found, parent).await?;
        let standing = match row {
            Some(row) => stored_standing(row, held),
            None => logged_standing(&log, held),
        };
        let queued = row.map_or(0, |row| row.pending_messages + row.pending_interrupts);
        let context = log.context.as_ref();
        let spec = birth.as_ref().and_then(|birth| birth.spec.as_ref());
        let callback = match spec {
            Some(spec) => Some(spec.callback.clone()),
            None => log.callback.clone(),
        };
        Ok(versioned(SessionView {
            id: found.session,
            short_id: found.session.short(),
            status: standing.status.to_owned(),
            interruption: standing.interruption.map(interruption_name),
            // A prompt would be refused by whoever has it.
            ready_for_prompt: !held && queued == 0,
            version: String::new(),
            loaded: false,
            held_elsewhere: held,
            title: log.title.clone(),
            note: log.note.clone(),
            archived: live.archived,
            agent_id: row.map_or(AgentId::ROOT, |row| row.agent),
            path: row.map_or_else(|| "/root".to_owned(), |row| row.path.clone()),
            waiting_on: None,
            current_tools: Vec::new(),
            since: row.map(|row| row.since.to_string()),
            queue_length: queued,
            message_count: log.messages.len(),
            last_task_id: log.tasks.last().map(|task| task.id.clone()),
            working_directory: context.map_or_else(|| live.meta.cwd.clone(), |it| it.cwd.clone()),
            model: context.map(|context| context.model.clone()),
            model_provider: live.meta.model_provider.clone(),
            created_at: created_at(&log, log.updated.0),
            updated_at: log.updated.to_string(),
            tokens: None,
            callback_config: callback,
            genealogy: genealogy(found, parent, children, birth, &log),
        }))
    }

    pub(crate) async fn read_log(&self, session: SessionId) -> Result<SessionLogFold, Problem> {
        Ok(self.logs().read(&*self.store()?, session).await?)
    }

    /// Returns how a child came to be: its maker's log tells, or that of the root, if a person made
    /// it.
    async fn birth(
        &self,
        found: FoundSession,
        parent: Option<SessionId>,
    ) -> Result<Option<LoggedBirth>, Problem> {
        if found.is_root() {
            return Ok(None);
        }
        for log in [Some(found.root), parent].into_iter().flatten() {
            let born = self.read_log(log).await?.births.remove(&found.session);
            if born.is_some() {
                return Ok(born);
            }
        }
        Ok(None)
    }
}

/// Returns how a child is told of its own children: as its spawn said, else as the root is.
pub(crate) fn callback_of(spec: Option<&SpawnSpec>, of_root: CallbackConfig) -> CallbackConfig {
    match spec {
        Some(spec) if !spec.callback_wish.is_some_and(|wish| wish.inherits) => {
            spec.callback.clone()
        }
        _ => of_root,
    }
}

fn last_task(log: &SessionLogFold, view: &AgentView) -> Option<String> {
    let logged = log.tasks.last().map(|task| task.id.clone());
    logged.or_else(|| view.last_task.as_ref().map(|task| task.0.clone()))
}

fn created_at(log: &SessionLogFold, or: i64) -> String {
    let meta = log.meta.as_ref().map(|meta| meta.timestamp.clone());
    meta.unwrap_or_else(|| UnixMillis(or).to_string())
}

fn genealogy(
    found: FoundSession,
    parent: Option<SessionId>,
    children: Vec<SessionId>,
    birth: Option<LoggedBirth>,
    log: &SessionLogFold,
) -> GenealogyView {
    let (point, spec) = birth.map_or((None, None), |birth| (birth.point, birth.spec));
    GenealogyView {
        root_session_id: found.root,
        parent_session_id: parent,
        children,
        spawn_point_task_id: point.as_ref().map(|point| point.task.0.clone()),
        spawn_point_message_index: point.as_ref().map(|point| point.message_index),
        spawn_config: spec.as_ref().map(spawn_config),
        forked_from_session_id: log.meta.as_ref().and_then(|meta| meta.forked_from_id),
    }
}

/// Returns what a child was made with, as far as it concerns whoever looks at it.
fn spawn_config(spec: &SpawnSpec) -> Value {
    json!({
        "tool": spec.tool,
        "agent_type": spec.agent_type,
        "title": spec.label,
        "prompt": spec.summary,
        "working_directory": spec.cwd,
        "model": spec.model,
        "model_provider": spec.model_provider,
        "reasoning_effort": spec.reasoning_effort,
        "approval_policy": spec.approval_policy,
        "approvals": spec.approvals,
        "sandbox_mode": spec.sandbox_policy.mode(),
        "output_schema": spec.output_schema,
        "callback": spec.callback,
    })
}

/// What was running when its process died runs no more.
pub(crate) fn stored_standing(row: &AgentRow, is_held: bool) -> StoredStanding {
    let interrupted = |why| StoredStanding {
        status: "interrupted",
        interruption: Some(why),
    };
    let named = |status| StoredStanding {
        status,
        interruption: None,
    };
    match row.standing {
        RecordedStatus::PendingInit => named("pending_init"),
        RecordedStatus::Running if is_held => named("running"),
        RecordedStatus::Running => interrupted(Interruption::Crash),
        RecordedStatus::Ended(end) => match end {
            TaskEnding::Completed => named("completed"),
            TaskEnding::Errored | TaskEnding::FailedToStart => named("errored"),
            TaskEnding::Interrupted { why } => interrupted(why),
            TaskEnding::Replaced => named("interrupted"),
            TaskEnding::Cancelled { .. } => named("cancelled"),
            TaskEnding::BudgetExceeded => named("budget_exceeded"),
        },
        RecordedStatus::Shutdown => named("shutdown"),
    }
}

/// Returns how a session stands that was never in a tree.
fn logged_standing(log: &SessionLogFold, is_held: bool) -> StoredStanding {
    use troupe_protocol::outcome::OutcomeClass;
    let last = log.tasks.last().map(|task| task.end.as_ref());
    let (status, interruption) = match last {
        None => ("ready", None),
        Some(None) if is_held => ("running", None),
        Some(None) => ("interrupted", Some(Interruption::Crash)),
        Some(Some(end)) => match end.outcome.class() {
            OutcomeClass::Completed => ("completed", None),
            OutcomeClass::Failed => ("errored", None),
            OutcomeClass::Interrupted => ("interrupted", None),
            OutcomeClass::Cancelled => ("cancelled", None),
        },
    };
    StoredStanding {
        status,
        interruption,
    }
}

pub(crate) fn interruption_name(why: Interruption) -> String {
    let name = match why {
        Interruption::User => "user",
        Interruption::Parent => "parent",
        Interruption::Crash => "crash",
        Interruption::Shutdown => "shutdown",
        Interruption::Reconfigured => "reconfigured",
    };
    name.to_owned()
}

/// Adds the version: one for status, readiness and queue, and all that a client may change.
fn versioned(view: SessionView) -> SessionView {
    let what = json!([
        view.id,
        view.status,
        view.interruption,
        view.ready_for_prompt,
        view.queue_length,
        view.last_task_id,
        view.since,
        view.title,
        view.note,
        view.archived,
        view.callback_config,
    ]);
    let digest = Sha256::digest(what.to_string().as_bytes());
    let version: Vec<String> = digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    SessionView {
        version: version.concat(),
        ..view
    }
}

/// Tells whether a session that the store does not know is only not there yet.
pub(crate) fn is_missing(error: &StoreError) -> bool {
    matches!(error, StoreError::NotFound { .. })
}
