//! Threads that are children: found through the tree that they belong to, and followed alone
//! by clients that do not follow the tree.

use troupe_agents::tree_access::AgentView;
use troupe_protocol::SessionId;
use troupe_server::session_pool;
use troupe_transport::rpc::RpcError;
use troupe_tree::CurrentStatus;

use super::open::{ResumedThread, open_thread, subscribe, subscription_start, usage};
use super::storage;
use crate::connection::AppConnection;
use crate::history::StoredThread;
use crate::questions;
use crate::subscription::{ChildScope, SubscriptionScope, SubscriptionStart, ThreadSubscription};
use crate::translate::EventTranslator;
use crate::trees;
use crate::wire::policy::{ApprovalsReviewer, ReasoningEffort as Effort};
use crate::wire::thread::{
    Thread, ThreadOpenResponse, ThreadResumeParams, ThreadSettings, ThreadStatus,
};

/// Returns the root of the tree that a thread is a child in; `None` if it is nobody's child.
pub(crate) async fn root(
    client: &AppConnection,
    id: SessionId,
) -> Result<Option<SessionId>, RpcError> {
    let root = client.app().session_pool().root_of(id).await;
    let root = root.map_err(|error| storage(&error))?;
    Ok(root.filter(|root| *root != id))
}

/// Returns how a thread stands that is not a root in memory.
pub(super) async fn status(
    client: &AppConnection,
    id: SessionId,
) -> Result<ThreadStatus, RpcError> {
    let Some(root) = root(client, id).await? else {
        return Ok(ThreadStatus::NotLoaded);
    };
    let Some(thread) = client.app().session_pool().get(root).await else {
        return Ok(ThreadStatus::NotLoaded);
    };
    let view = thread.agents().user().view(&id.to_string()).await;
    Ok(view.map_or(ThreadStatus::NotLoaded, |view| standing(&view)))
}

fn standing(view: &AgentView) -> ThreadStatus {
    match view.status {
        CurrentStatus::Running | CurrentStatus::Waiting { .. } => ThreadStatus::Active {
            active_flags: Vec::new(),
        },
        _ => ThreadStatus::Idle,
    }
}

/// Has a client follow a child of a tree in memory, unless it does already. Returns the thread
/// whose subscription the child belongs to; `None` if there is no such child.
pub(crate) async fn follow_child(
    client: &AppConnection,
    id: SessionId,
) -> Result<Option<SessionId>, RpcError> {
    let Some(root) = root(client, id).await? else {
        return Ok(None);
    };
    let Some(thread) = client.app().session_pool().get(root).await else {
        return Ok(None);
    };
    if let Some(followed) = followed(client, root, id) {
        return Ok(Some(followed));
    }
    let stored = stored(client, id).await?;
    let beginning = child_subscription_start(client, thread, id, stored.as_ref()).await?;
    subscribe(client, beginning);
    Ok(Some(id))
}

/// Returns the subscription by which a client hears of a child.
fn followed(client: &AppConnection, root: SessionId, id: SessionId) -> Option<SessionId> {
    let subscriptions = client.subscriptions();
    let is_there = |thread: &SessionId| {
        let subscription = subscriptions.get(thread);
        subscription.is_some_and(|subscription: &ThreadSubscription| !subscription.is_over())
    };
    [root, id].into_iter().find(is_there)
}

/// Opens a child for a client, and the tree around it if it is not in memory.
pub(super) async fn resumed(
    client: &AppConnection,
    root: SessionId,
    id: SessionId,
    params: &ThreadResumeParams,
) -> Result<ResumedThread, RpcError> {
    let thread = open_thread(client, &root.to_string()).await?;
    let view = thread.agents().user().view(&id.to_string()).await;
    let view = view.map_err(trees::refused)?;
    let stored = stored(client, id).await?;
    let mut shown = shown(&thread, &view, stored.as_ref());
    if let Some(stored) = &stored
        && params.exclude_turns != Some(true)
    {
        shown.turns.clone_from(&stored.turns);
    }
    let mut warnings = Vec::new();
    if params.settings != ThreadSettings::default() {
        warnings.push("a child keeps the settings that it was made with".to_owned());
    }
    let response = opened(&thread, &view, stored.as_ref(), shown)?;
    Ok(ResumedThread {
        id,
        response,
        usage: stored.as_ref().and_then(|stored| usage(id, stored)),
        warnings,
        tree: Vec::new(),
        beginning: match followed(client, root, id) {
            Some(_) => None,
            None => Some(child_subscription_start(client, thread, id, stored.as_ref()).await?),
        },
    })
}

/// Reads what is kept of a child; one that waits for a slot has nothing yet.
async fn stored(client: &AppConnection, id: SessionId) -> Result<Option<StoredThread>, RpcError> {
    let store = client
        .app()
        .session_pool()
        .store()
        .map_err(RpcError::internal)?;
    match StoredThread::read(&*store, id).await {
        Ok(stored) => Ok(Some(stored)),
        Err(troupe_store::StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(storage(&error)),
    }
}

/// Finds where a client comes in that follows only this child.
async fn child_subscription_start(
    client: &AppConnection,
    thread: session_pool::RootSession,
    id: SessionId,
    stored: Option<&StoredThread>,
) -> Result<SubscriptionStart, RpcError> {
    let (_, mut beginning) = subscription_start(client, thread, true).await?;
    beginning
        .questions
        .retain(|question| questions::is_of(question, id));
    let translator = EventTranslator::new(id.to_string());
    let translator = match stored.and_then(StoredThread::open_turn) {
        Some((turn, started_ms)) => translator.in_turn(turn, started_ms),
        None => translator,
    };
    beginning.scope = SubscriptionScope::Child(Box::new(ChildScope {
        id,
        translator,
        seen: stored.map_or(0, |stored| stored.last_seq),
    }));
    Ok(beginning)
}

fn shown(
    thread: &session_pool::RootSession,
    view: &AgentView,
    stored: Option<&StoredThread>,
) -> Thread {
    let spec = view.spec.as_ref();
    let base = match stored {
        Some(stored) => stored.thread(standing(view), None),
        None => Thread {
            preview: spec.and_then(|spec| spec.summary()).unwrap_or_default(),
            created_at: view.born_at_ms / 1000,
            updated_at: view.updated_at_ms() / 1000,
            status: standing(view),
            ..super::open::new_thread(thread)
        },
    };
    Thread {
        id: view.session.to_string(),
        session_id: thread.id().to_string(),
        parent_thread_id: view.parent_session.map(|id| id.to_string()),
        agent_nickname: spec.and_then(|spec| spec.label.clone()),
        agent_role: spec.map(|spec| spec.agent_type.clone()),
        agent_path: Some(view.path.clone()),
        note: view.note.clone(),
        ..base
    }
}

/// The settings are those of its last turn, or, before the first, those that it was made with.
fn opened(
    thread: &session_pool::RootSession,
    view: &AgentView,
    stored: Option<&StoredThread>,
    shown: Thread,
) -> Result<ThreadOpenResponse, RpcError> {
    let last = stored.and_then(|stored| stored.context.as_ref());
    let gone = || RpcError::invalid_request("the agent was pruned; only its result is left");
    let (model, cwd, approval, sandbox, effort) = match (last, view.spec.as_ref()) {
        (Some(last), _) => (
            &last.model,
            &last.cwd,
            last.approval_policy,
            &last.sandbox_policy,
            last.effort,
        ),
        (None, Some(spec)) => (
            &spec.model,
            &spec.cwd,
            spec.approval_policy,
            &spec.sandbox_policy,
            spec.reasoning_effort,
        ),
        (None, None) => return Err(gone()),
    };
    let provider = view.spec.as_ref().and_then(|it| it.model_provider.clone());
    let configured = thread.configured();
    Ok(ThreadOpenResponse {
        model: model.clone(),
        model_provider: provider.unwrap_or_else(|| configured.model_provider_id.clone()),
        service_tier: None,
        cwd: cwd.clone(),
        // One that works elsewhere reads others.
        instruction_sources: if *cwd == configured.context.cwd {
            configured.instruction_sources.clone()
        } else {
            Vec::new()
        },
        approval_policy: approval.into(),
        approvals_reviewer: ApprovalsReviewer::User,
        sandbox: sandbox.clone().into(),
        reasoning_effort: effort.map(Effort),
        thread: shown,
    })
}
