//! A search that goes on while a person types: the paths are read once, and each query is held
//! against them. A query that a newer one has overtaken is not told of.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use troupe_protocol::discard;
use troupe_transport::rpc::PeerGone;

use super::paths::{self, FoundPath};
use super::ranking::PathRanking;
use crate::connection::AppConnection;
use crate::wire::notification::ServerNotification;
use crate::wire::search::{
    FuzzyFileSearchResult, FuzzyFileSearchSessionCompletedNotification,
    FuzzyFileSearchSessionUpdatedNotification,
};

/// The way to the task. Dropping it ends the session.
#[derive(Debug)]
pub(super) struct SearchSession {
    queries: watch::Sender<Option<String>>,
    _task: AbortOnDropHandle<()>,
}

impl SearchSession {
    pub(super) fn start(client: AppConnection, id: String, roots: Arc<[PathBuf]>) -> Self {
        let (queries, asked) = watch::channel(None);
        let searcher = SearchActor { client, id, roots };
        let task = tokio::spawn(async move {
            // A client that is gone has nobody to tell.
            discard!(searcher.run(asked).await, "the client is gone");
        });
        Self {
            queries,
            _task: AbortOnDropHandle::new(task),
        }
    }

    pub(super) fn ask(&self, query: String) {
        self.queries.send_replace(Some(query));
    }
}

struct SearchActor {
    client: AppConnection,
    id: String,
    roots: Arc<[PathBuf]>,
}

impl SearchActor {
    async fn run(self, mut asked: watch::Receiver<Option<String>>) -> Result<(), PeerGone> {
        let stop = CancellationToken::new();
        let _stop = stop.clone().drop_guard();
        let Some(paths) = self.paths(stop).await else {
            return Ok(());
        };
        loop {
            let query = asked.borrow_and_update().clone();
            if let Some(query) = query {
                let overtaken = CancellationToken::new();
                let _overtaken = overtaken.clone().drop_guard();
                let ranked = self.ranked(query.clone(), Arc::clone(&paths), overtaken);
                let files = tokio::select! {
                    files = ranked => files,
                    changed = asked.changed() => match changed {
                        Ok(()) => continue,
                        Err(_) => return Ok(()),
                    },
                };
                if let Some(files) = files {
                    self.tell(query, files).await?;
                }
            }
            if asked.changed().await.is_err() {
                return Ok(());
            }
        }
    }

    async fn paths(&self, stop: CancellationToken) -> Option<Arc<Vec<FoundPath>>> {
        let roots = Arc::clone(&self.roots);
        let walked = spawn_blocking(move || {
            let mut all = Vec::new();
            paths::walk(&roots, &stop, |found| all.push(found));
            Arc::new(all)
        });
        // Nothing that it does panics; if it did, there would be nothing to search.
        walked.await.ok()
    }

    async fn ranked(
        &self,
        query: String,
        paths: Arc<Vec<FoundPath>>,
        stop: CancellationToken,
    ) -> Option<Vec<FuzzyFileSearchResult>> {
        let roots = Arc::clone(&self.roots);
        let ranked = spawn_blocking(move || {
            let mut ranking = PathRanking::new(&query);
            if !ranking.is_empty() {
                for found in paths.iter().take_while(|_| !stop.is_cancelled()) {
                    ranking.consider(found);
                }
            }
            ranking.results(&roots)
        });
        ranked.await.ok()
    }

    async fn tell(&self, query: String, files: Vec<FuzzyFileSearchResult>) -> Result<(), PeerGone> {
        let session_id = self.id.clone();
        let updated = FuzzyFileSearchSessionUpdatedNotification {
            session_id: session_id.clone(),
            query,
            files,
        };
        let updated = ServerNotification::FuzzyFileSearchSessionUpdated(updated);
        self.client.notify(&updated).await?;
        let completed = FuzzyFileSearchSessionCompletedNotification { session_id };
        let completed = ServerNotification::FuzzyFileSearchSessionCompleted(completed);
        self.client.notify(&completed).await
    }
}
