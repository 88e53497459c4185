//! `fuzzyFileSearch` and its sessions: files found by pieces of their paths.
//!
//! ```text
//!  roots ─► paths (a walk without what git ignores) ─► ranking (the best few) ─► client
//! ```
//!
//! A search of its own walks and ranks at once, and forgets. A session keeps the paths, so that
//! each letter that a person types costs a ranking and no walk.

mod paths;
mod ranking;
mod session;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use troupe_transport::rpc::RpcError;

use super::call::{Handling, MethodCall};
use super::connection::AppConnection;
use super::wire::Empty;
use super::wire::search::{
    FuzzyFileSearchParams, FuzzyFileSearchResponse, FuzzyFileSearchSessionStartParams,
    FuzzyFileSearchSessionStopParams, FuzzyFileSearchSessionUpdateParams,
};
use crate::limits::{SEARCH_ROOTS_MAX, SEARCH_SESSIONS_MAX};
use ranking::PathRanking;
use session::SearchSession;

/// The searches of one client.
#[derive(Debug, Default)]
pub(super) struct ClientSearches {
    /// By the names that the client gave them.
    sessions: Mutex<HashMap<String, SearchSession>>,
    /// Searches that one with the same token ends.
    tokens: Mutex<HashMap<String, CancellationToken>>,
}

impl ClientSearches {
    pub(super) fn end(&self) {
        self.sessions().clear();
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, SearchSession>> {
        let sessions = self.sessions.lock();
        sessions.unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the search before this one, and remembers this one in its place.
    fn take_over(&self, token: Option<String>, stop: &CancellationToken) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|_, stop| !stop.is_cancelled());
        if let Some(token) = token
            && let Some(before) = tokens.insert(token, stop.clone())
        {
            before.cancel();
        }
    }
}

pub(super) fn search(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: FuzzyFileSearchParams| async move {
            let roots = checked_roots(params.roots)?;
            let stop = CancellationToken::new();
            // Ends with the request, whatever that ends with.
            let _stop = stop.clone().drop_guard();
            let searches = &client.belongings().searches;
            searches.take_over(params.cancellation_token, &stop);
            let found = spawn_blocking(move || {
                let mut ranking = PathRanking::new(&params.query);
                if !ranking.is_empty() {
                    paths::walk(&roots, &stop, |path| ranking.consider(&path));
                }
                ranking.results(&roots)
            });
            let files = found.await.map_err(|_| search_failed())?;
            Ok(FuzzyFileSearchResponse { files })
        },
    )
}

pub(super) fn start_session(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: FuzzyFileSearchSessionStartParams| async move {
            let roots = checked_roots(params.roots)?;
            let id = params.session_id;
            let mut sessions = client.belongings().searches.sessions();
            if !sessions.contains_key(&id) && sessions.len() >= SEARCH_SESSIONS_MAX {
                let message = format!(
                    "there are {SEARCH_SESSIONS_MAX} search sessions, and no more may be; stop \
                     one first"
                );
                return Err(RpcError::invalid_request(message));
            }
            let session = SearchSession::start(client.clone(), id.clone(), roots);
            // One of the same name ends.
            sessions.insert(id, session);
            Ok(Empty {})
        },
    )
}

pub(super) fn update_session(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: FuzzyFileSearchSessionUpdateParams| async move {
            let sessions = client.belongings().searches.sessions();
            let id = &params.session_id;
            let session = sessions
                .get(id)
                .ok_or_else(|| RpcError::invalid_request(format!("no search session {id:?}")))?;
            session.ask(params.query);
            Ok(Empty {})
        },
    )
}

pub(super) fn stop_session(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: FuzzyFileSearchSessionStopParams| async move {
            // One that is not there has stopped already.
            client
                .belongings()
                .searches
                .sessions()
                .remove(&params.session_id);
            Ok(Empty {})
        },
    )
}

fn checked_roots(roots: Vec<PathBuf>) -> Result<Arc<[PathBuf]>, RpcError> {
    if roots.len() > SEARCH_ROOTS_MAX {
        let message = format!("invalid params: roots: at most {SEARCH_ROOTS_MAX}");
        return Err(RpcError::invalid_params(message));
    }
    match roots.iter().find(|root| !root.is_absolute()) {
        Some(root) => {
            let message = format!("{} is not an absolute path", root.display());
            Err(RpcError::invalid_request(message))
        }
        None => Ok(roots.into()),
    }
}

fn search_failed() -> RpcError {
    RpcError::internal("the search broke off")
}
