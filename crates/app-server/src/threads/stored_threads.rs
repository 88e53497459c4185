//! Stored threads: listed, read, put away and brought back.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::timeout;
use troupe_protocol::SessionId;
use troupe_server::limits::THREAD_QUIET_MS_MAX;
use troupe_store::{ArchivedFilter, ListOrder, ListQuery, SessionStore, SortKey, SourceKind};
use troupe_transport::rpc::RpcError;

use super::{child, status, storage, stored};
use crate::call::{Handling, MethodCall, thread_id};
use crate::connection::AppConnection;
use crate::history::listed;
use crate::limits::{CWD_FILTERS_MAX, LIST_ROWS_DEFAULT};
use crate::wire::Empty;
use crate::wire::notification::{ServerNotification, ThreadIdNotification};
use crate::wire::thread::{
    CwdFilter, SortDirection, Thread, ThreadIdParams, ThreadListParams, ThreadListResponse,
    ThreadLoadedListParams, ThreadLoadedListResponse, ThreadReadParams, ThreadResponse,
    ThreadSortKey, ThreadStatus,
};

pub(crate) fn list(call: MethodCall) -> Handling {
    call.answer(|client, params: ThreadListParams| async move {
        let store = client
            .app()
            .session_pool()
            .store()
            .map_err(RpcError::internal)?;
        let page = store.list(&query(params)?).await;
        let page = page.map_err(|error| storage(&error))?;
        let loaded = client.app().session_pool().loaded().await;
        let statuses: HashMap<SessionId, ThreadStatus> = loaded
            .iter()
            .map(|thread| (thread.id(), status(thread)))
            .collect();
        let thread = |summary: troupe_store::SessionSummary| {
            let status = statuses.get(&summary.id).cloned();
            listed(summary, status.unwrap_or(ThreadStatus::NotLoaded))
        };
        Ok(ThreadListResponse {
            data: page.sessions.into_iter().map(thread).collect(),
            next_cursor: page.next,
            backwards_cursor: None,
        })
    })
}

fn query(params: ThreadListParams) -> Result<ListQuery, RpcError> {
    let cwds = match params.cwd {
        None => Vec::new(),
        Some(CwdFilter::One(cwd)) => vec![cwd],
        Some(CwdFilter::Any(directories)) => directories,
    };
    if cwds.len() > CWD_FILTERS_MAX {
        return Err(RpcError::invalid_request(format!(
            "cwd: {} directories were given; at most {CWD_FILTERS_MAX} are taken",
            cwds.len()
        )));
    }
    let kinds = params.source_kinds.unwrap_or_default();
    Ok(ListQuery {
        cwds,
        archived: match params.archived {
            Some(true) => ArchivedFilter::Archived,
            Some(false) | None => ArchivedFilter::Live,
        },
        sources: kinds.iter().flat_map(|kind| sources(kind)).collect(),
        model_providers: params.model_providers.unwrap_or_default(),
        search: params.search_term,
        sort: match params.sort_key {
            Some(ThreadSortKey::UpdatedAt | ThreadSortKey::RecencyAt) => SortKey::Updated,
            Some(ThreadSortKey::CreatedAt) | None => SortKey::Created,
        },
        direction: match params.sort_direction {
            Some(SortDirection::Asc) => ListOrder::OldestFirst,
            Some(SortDirection::Desc) | None => ListOrder::NewestFirst,
        },
        cursor: params.cursor,
        limit: params
            .limit
            .map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
    })
}

fn sources(kind: &str) -> Vec<SourceKind> {
    match kind {
        "cli" => vec![SourceKind::Cli, SourceKind::Tui],
        "exec" => vec![SourceKind::Exec],
        "appServer" => vec![SourceKind::AppServer],
        kind if kind.starts_with("subAgent") => vec![SourceKind::SubSession],
        _ => vec![SourceKind::Unknown, SourceKind::Mcp, SourceKind::Acp],
    }
}

pub(crate) fn loaded(call: MethodCall) -> Handling {
    call.answer(|client, params: ThreadLoadedListParams| async move {
        let after = params.cursor.as_deref().map(thread_id).transpose()?;
        let limit = params.limit.and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(LIST_ROWS_DEFAULT).max(1);
        let loaded = client.app().session_pool().loaded().await;
        let mut ids = loaded
            .iter()
            .map(troupe_server::session_pool::RootSession::id)
            .filter(|id| after.is_none_or(|after| *id > after))
            .map(|id| id.to_string());
        let data: Vec<String> = ids.by_ref().take(limit).collect();
        let next_cursor = ids.next().and_then(|_| data.last().cloned());
        Ok(ThreadLoadedListResponse { data, next_cursor })
    })
}

pub(crate) fn read(call: MethodCall) -> Handling {
    call.answer(|client, params: ThreadReadParams| async move {
        let thread = shown(&client, &params.thread_id, params.include_turns).await?;
        Ok(ThreadResponse { thread })
    })
}

async fn shown(client: &AppConnection, id: &str, with_turns: bool) -> Result<Thread, RpcError> {
    let session = thread_id(id)?;
    let running = client.app().session_pool().get(session).await;
    let stored = stored(client, id).await?;
    let turns = if with_turns {
        stored.turns.clone()
    } else {
        Vec::new()
    };
    let status = match &running {
        Some(thread) => status(thread),
        None => child::status(client, session).await?,
    };
    let path = running.and_then(|thread| thread.configured().rollout_path.clone());
    let shown = stored.thread(status, path);
    Ok(Thread { turns, ..shown })
}

pub(crate) fn archive(call: MethodCall) -> Handling {
    call.answer(|client, params: ThreadIdParams| async move {
        let id = thread_id(&params.thread_id)?;
        let house = client.app().session_pool();
        let store = house.store().map_err(RpcError::internal)?;
        house.unload(id).await;
        for id in subtree(&*store, id).await? {
            store.archive(id).await.map_err(|error| storage(&error))?;
            let thread_id = id.to_string();
            let archived = ServerNotification::ThreadArchived(ThreadIdNotification { thread_id });
            client.app().announce(archived);
        }
        Ok(Empty {})
    })
}

pub(crate) fn unarchive(call: MethodCall) -> Handling {
    call.answer(|client, params: ThreadIdParams| async move {
        let id = thread_id(&params.thread_id)?;
        let store = client
            .app()
            .session_pool()
            .store()
            .map_err(RpcError::internal)?;
        for id in subtree(&*store, id).await? {
            store.unarchive(id).await.map_err(|error| storage(&error))?;
        }
        let thread = shown(&client, &params.thread_id, false).await?;
        let thread_id = params.thread_id;
        let unarchived = ServerNotification::ThreadUnarchived(ThreadIdNotification { thread_id });
        client.app().announce(unarchived);
        Ok(ThreadResponse { thread })
    })
}

pub(crate) fn delete(call: MethodCall) -> Handling {
    call.answer(|client, params: ThreadIdParams| async move {
        let id = thread_id(&params.thread_id)?;
        let house = client.app().session_pool();
        let loaded = house.get(id).await;
        if let Some(thread) = &loaded {
            ensure_idle(thread).await?;
            house.unload(id).await;
        }
        let is_kept = loaded.is_none_or(|thread| !thread.agents().is_ephemeral());
        let deleted = if is_kept {
            let store = house.store().map_err(RpcError::internal)?;
            store.delete(id).await.map_err(|error| storage(&error))?
        } else {
            // It was nowhere but in memory.
            vec![id]
        };
        for id in deleted {
            let thread_id = id.to_string();
            let deleted = ServerNotification::ThreadDeleted(ThreadIdNotification { thread_id });
            client.app().announce(deleted);
        }
        Ok(Empty {})
    })
}

/// Refuses for a thread that has something to do.
async fn ensure_idle(thread: &troupe_server::session_pool::RootSession) -> Result<(), RpcError> {
    if !thread.is_idle() {
        let message = "a turn is running; interrupt it or wait for its end";
        return Err(RpcError::invalid_request(message));
    }
    let time = Duration::from_millis(THREAD_QUIET_MS_MAX);
    timeout(time, thread.agents().wait_until_idle())
        .await
        .map_err(|_| {
            let message = "agents below the thread are at work; stop them or wait for their end";
            RpcError::invalid_request(message)
        })
}

/// Returns a thread and all that it spawned, itself last: what is cut short can be done again.
async fn subtree(store: &dyn SessionStore, root: SessionId) -> Result<Vec<SessionId>, RpcError> {
    let rows = store.tree(root).await.map_err(|error| storage(&error))?;
    let children = rows.iter().map(|row| row.session).filter(|id| *id != root);
    Ok(children.chain([root]).collect())
}
