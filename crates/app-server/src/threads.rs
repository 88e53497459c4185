//! `thread/*`: threads are opened, found, named, put away.

mod child;
mod client_tools;
mod open;
mod stored_threads;

pub(super) use child::follow_child;
pub(super) use open::{follow, fork, introduce, open_thread, resume, start};
pub(super) use stored_threads::{archive, delete, list, loaded, read, unarchive};

use troupe_protocol::{EventMsg, Op};
use troupe_server::session_pool::{self, OpenError, SessionRefusal};
use troupe_transport::rpc::RpcError;

use super::call::{Handling, MethodCall, thread_id};
use super::connection::AppConnection;
use super::history::StoredThread;
use super::trees;
use super::wire::Empty;
use super::wire::thread::{
    Thread, ThreadIdParams, ThreadInjectItemsParams, ThreadResponse, ThreadRollbackParams,
    ThreadSetNameParams, ThreadSetNoteParams, ThreadStatus, ThreadUnsubscribeResponse,
    UnsubscribeStatus,
};

pub(super) fn set_name(call: MethodCall) -> Handling {
    call.answer(|client, params: ThreadSetNameParams| async move {
        if let Some(root) = child::root(&client, thread_id(&params.thread_id)?).await? {
            let desk = open_thread(&client, &root.to_string())
                .await?
                .agents()
                .user();
            let named = desk.set_name(&params.thread_id, &params.name).await;
            return named.map(|()| Empty {}).map_err(trees::refused);
        }
        let thread = open_thread(&client, &params.thread_id).await?;
        let op = Op::SetThreadName { name: params.name };
        let named =
            |msg: &EventMsg| matches!(msg, EventMsg::ThreadNameUpdated { .. }).then_some(());
        thread.ask(op, named).await.map_err(refused)?;
        Ok(Empty {})
    })
}

pub(super) fn set_note(call: MethodCall) -> Handling {
    call.answer(|client, params: ThreadSetNoteParams| async move {
        if let Some(root) = child::root(&client, thread_id(&params.thread_id)?).await? {
            let desk = open_thread(&client, &root.to_string())
                .await?
                .agents()
                .user();
            let noted = desk.set_note(&params.thread_id, &params.note).await;
            return noted.map(|_| Empty {}).map_err(trees::refused);
        }
        let thread = open_thread(&client, &params.thread_id).await?;
        let op = Op::SetThreadNote { note: params.note };
        let noted =
            |msg: &EventMsg| matches!(msg, EventMsg::ThreadNoteUpdated { .. }).then_some(());
        thread.ask(op, noted).await.map_err(refused)?;
        Ok(Empty {})
    })
}

pub(super) fn inject_items(call: MethodCall) -> Handling {
    call.answer(|client, params: ThreadInjectItemsParams| async move {
        let mut items = Vec::with_capacity(params.items.len());
        for (index, item) in params.items.into_iter().enumerate() {
            let item = serde_json::from_value(item).map_err(|error| {
                RpcError::invalid_request(format!("items[{index}] is no item: {error}"))
            })?;
            items.push(item);
        }
        let thread = open_thread(&client, &params.thread_id).await?;
        let done = |msg: &EventMsg| matches!(msg, EventMsg::ItemsInjected { .. }).then_some(());
        let op = Op::InjectItems { items };
        thread.ask(op, done).await.map_err(refused)?;
        Ok(Empty {})
    })
}

pub(super) fn compact(call: MethodCall) -> Handling {
    call.answer(|client, params: ThreadIdParams| async move {
        let thread = open_thread(&client, &params.thread_id).await?;
        let begun = |msg: &EventMsg| matches!(msg, EventMsg::TurnStarted(_)).then_some(());
        thread.ask(Op::Compact, begun).await.map_err(refused)?;
        Ok(Empty {})
    })
}

pub(super) fn roll_back(call: MethodCall) -> Handling {
    call.answer(|client, params: ThreadRollbackParams| async move {
        if params.num_turns == 0 {
            return Err(RpcError::invalid_request("numTurns must be >= 1"));
        }
        let thread = open_thread(&client, &params.thread_id).await?;
        if !thread.is_idle() {
            let message = "a turn is running; interrupt it or wait for its end";
            return Err(RpcError::invalid_request(message));
        }
        let op = Op::ThreadRollback {
            num_turns: params.num_turns,
        };
        let done = |msg: &EventMsg| matches!(msg, EventMsg::ThreadRolledBack { .. }).then_some(());
        thread.ask(op, done).await.map_err(refused)?;
        let stored = stored(&client, &params.thread_id).await?;
        let thread = Thread {
            turns: stored.turns.clone(),
            ..stored.thread(status(&thread), thread.configured().rollout_path.clone())
        };
        Ok(ThreadResponse { thread })
    })
}

pub(super) fn unsubscribe(call: MethodCall) -> Handling {
    call.answer(|client, params: ThreadIdParams| async move {
        let id = thread_id(&params.thread_id)?;
        let left = client.subscriptions().remove(&id);
        let status = match left {
            Some(_) => UnsubscribeStatus::Unsubscribed,
            None if client.app().session_pool().get(id).await.is_some() => {
                UnsubscribeStatus::NotSubscribed
            }
            None => UnsubscribeStatus::NotLoaded,
        };
        Ok(ThreadUnsubscribeResponse { status })
    })
}

pub(super) fn status(thread: &session_pool::RootSession) -> ThreadStatus {
    if thread.is_idle() {
        return ThreadStatus::Idle;
    }
    ThreadStatus::Active {
        active_flags: Vec::new(),
    }
}

/// Reads what is kept of a thread.
pub(super) async fn stored(client: &AppConnection, id: &str) -> Result<StoredThread, RpcError> {
    let store = client
        .app()
        .session_pool()
        .store()
        .map_err(RpcError::internal)?;
    StoredThread::read(&*store, thread_id(id)?)
        .await
        .map_err(|error| storage(&error))
}

pub(super) fn storage(error: &troupe_store::StoreError) -> RpcError {
    match error {
        troupe_store::StoreError::NotFound { what } => {
            RpcError::invalid_request(format!("thread not found: {what}"))
        }
        troupe_store::StoreError::Cursor { .. }
        | troupe_store::StoreError::Owned { .. }
        | troupe_store::StoreError::Member { .. } => RpcError::invalid_request(error.to_string()),
        _ => RpcError::internal(error.to_string()),
    }
}

pub(super) fn refused(refused: SessionRefusal) -> RpcError {
    RpcError::invalid_request(refused.message)
}

pub(super) fn not_open(error: OpenError) -> RpcError {
    RpcError::invalid_request(error.to_string())
}
