//! The thread that owns the index.

mod trees;

use tokio::sync::{mpsc, oneshot};
use troupe_protocol::discard;
use troupe_protocol::{ResponseId, SessionId};

use crate::clock::StoreClock;
use crate::error::StoreError;
use crate::layout::HomeLayout;
use crate::limits::INDEX_REQUESTS_QUEUED_MAX;
use crate::list::{
    IndexFreshness, ListPage, ListQuery, OverviewPage, SessionOverview, SessionSummary,
};
use crate::store::{LogBookmark, ReindexProgress, ReindexReport};
use crate::worker::WorkerThread;

use self::trees::TreeQuestion;
use super::IndexDatabase;
use super::catch_up::error_chain;
use super::database::{IndexFault, move_aside, verdict};

#[derive(Debug)]
pub(crate) struct IndexerHandle {
    layout: HomeLayout,
    clock: StoreClock,
    worker: WorkerThread<IndexRequest>,
}

type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

#[derive(Debug)]
enum IndexRequest {
    Bookmark(ResponseId, Reply<Option<LogBookmark>>),
    Named(String, Reply<SessionId>),
    List(Box<ListQuery>, Reply<ListPage>),
    Overview(Box<ListQuery>, IndexFreshness, Reply<OverviewPage>),
    Trees(TreeQuestion),
    Reindex(mpsc::Sender<ReindexProgress>, Reply<ReindexReport>),
}

impl IndexerHandle {
    pub(crate) fn new(layout: HomeLayout, clock: StoreClock) -> Self {
        Self {
            layout,
            clock,
            worker: WorkerThread::new("index"),
        }
    }

    pub(crate) async fn find_bookmark(
        &self,
        id: ResponseId,
    ) -> Result<Option<LogBookmark>, StoreError> {
        self.ask(|reply| IndexRequest::Bookmark(id, reply)).await
    }

    pub(crate) async fn resolve_name(&self, name: String) -> Result<SessionId, StoreError> {
        self.ask(|reply| IndexRequest::Named(name, reply)).await
    }

    pub(crate) async fn list(&self, query: ListQuery) -> Result<ListPage, StoreError> {
        self.ask(|reply| IndexRequest::List(Box::new(query), reply))
            .await
    }

    /// Whether anybody holds a session, the index does not know.
    pub(crate) async fn overview(
        &self,
        query: ListQuery,
        freshness: IndexFreshness,
    ) -> Result<OverviewPage, StoreError> {
        self.ask(|reply| IndexRequest::Overview(Box::new(query), freshness, reply))
            .await
    }

    pub(crate) async fn reindex(
        &self,
        progress: &mut (dyn FnMut(ReindexProgress) + Send),
    ) -> Result<ReindexReport, StoreError> {
        let (tell, mut told) = mpsc::channel(1);
        let (reply, answer) = oneshot::channel();
        let request = IndexRequest::Reindex(tell, reply);
        let sent = self.mailbox()?.send(request).await;
        sent.map_err(|_| self.worker.stopped())?;
        while let Some(now) = told.recv().await {
            progress(now);
        }
        answer.await.map_err(|_| self.worker.stopped())?
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(Reply<T>) -> IndexRequest,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let sent = self.mailbox()?.send(request(reply)).await;
        sent.map_err(|_| self.worker.stopped())?;
        answer.await.map_err(|_| self.worker.stopped())?
    }

    fn mailbox(&self) -> Result<&mpsc::Sender<IndexRequest>, StoreError> {
        self.worker.mailbox(INDEX_REQUESTS_QUEUED_MAX, || {
            let mut actor = IndexActor {
                layout: self.layout.clone(),
                clock: self.clock.clone(),
                index: None,
            };
            move |mut requests: mpsc::Receiver<IndexRequest>| {
                while let Some(request) = requests.blocking_recv() {
                    actor.handle(request);
                }
            }
        })
    }
}

struct IndexActor {
    layout: HomeLayout,
    clock: StoreClock,
    /// Opened by the first request.
    index: Option<IndexDatabase>,
}

impl IndexActor {
    /// Whoever asked may have gone meanwhile, so an answer that nobody takes is dropped.
    fn handle(&mut self, request: IndexRequest) {
        match request {
            IndexRequest::Bookmark(id, reply) => {
                discard!(
                    reply.send(self.find_bookmark(&id)),
                    "nobody waits for the answer"
                );
            }
            IndexRequest::Named(name, reply) => {
                discard!(
                    reply.send(self.caught_up(|index| index.session_named(&name))),
                    "nobody waits for the answer"
                );
            }
            IndexRequest::List(query, reply) => {
                discard!(reply.send(self.list(&query)), "nobody waits for the answer");
            }
            IndexRequest::Overview(query, freshness, reply) => {
                discard!(
                    reply.send(self.overview(&query, freshness)),
                    "nobody waits for the answer"
                );
            }
            IndexRequest::Trees(question) => self.answer(question),
            IndexRequest::Reindex(tell, reply) => {
                let answer = self.reindex(&tell);
                drop(tell);
                discard!(reply.send(answer), "nobody waits for the answer");
            }
        }
    }

    /// The index may know the bookmark without being up to date.
    fn find_bookmark(&mut self, id: &ResponseId) -> Result<Option<LogBookmark>, StoreError> {
        match self.with(|index, _| index.bookmark(id))? {
            Some(found) if self.layout.find(found.session).is_ok() => Ok(Some(found)),
            _ => self.caught_up(|index| index.bookmark(id)),
        }
    }

    fn list(&mut self, query: &ListQuery) -> Result<ListPage, StoreError> {
        let mut page = self.caught_up(|index| index.list(query))?;
        for session in &mut page.sessions {
            self.find_path(session);
        }
        Ok(page)
    }

    fn overview(
        &mut self,
        query: &ListQuery,
        freshness: IndexFreshness,
    ) -> Result<OverviewPage, StoreError> {
        let mut page = self.with(|index, layout| {
            if freshness == IndexFreshness::CaughtUp {
                index.catch_up(layout)?;
            }
            let page = index.list(query)?;
            let sessions = page.sessions.into_iter().map(|summary| {
                Ok(SessionOverview {
                    agents: index.tree(summary.id)?,
                    questions: index.open_approvals(summary.id)?.len(),
                    is_held: false,
                    summary,
                })
            });
            Ok(OverviewPage {
                sessions: sessions.collect::<Result<_, StoreError>>()?,
                next: page.next,
            })
        })?;
        for session in &mut page.sessions {
            self.find_path(&mut session.summary);
        }
        Ok(page)
    }

    /// Says where a log is; the index knows it below the home.
    fn find_path(&self, session: &mut SessionSummary) {
        let path = session.path.take();
        session.path = path.map(|path| self.layout.home().join(path));
    }

    fn reindex(
        &mut self,
        tell: &mpsc::Sender<ReindexProgress>,
    ) -> Result<ReindexReport, StoreError> {
        self.with(|index, layout| {
            index.rebuild(layout, &mut |progress| {
                // The listener may have gone; the rebuild goes on.
                discard!(
                    tell.blocking_send(progress),
                    "news was dropped: nobody listens"
                );
            })
        })
    }

    fn caught_up<T>(
        &mut self,
        mut ask: impl FnMut(&mut IndexDatabase) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.with(|index, layout| {
            index.catch_up(layout)?;
            ask(index)
        })
    }

    /// Runs `work` on the index, which is opened if need be. An index that is of no use is
    /// replaced once: a damaged file by a new one, one that cannot be used now by memory.
    fn with<T>(
        &mut self,
        mut work: impl FnMut(&mut IndexDatabase, &HomeLayout) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut attempt = |index: &mut Option<IndexDatabase>| {
            if index.is_none() {
                *index = Some(IndexDatabase::open(&self.layout.index())?);
            }
            let index = index.as_mut().expect("it was opened above");
            work(index, &self.layout)
        };
        let error = match attempt(&mut self.index) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let path = self.layout.index();
        let (mut replacement, warning) = match verdict(&error) {
            IndexFault::Other => return Err(error),
            IndexFault::Corrupt => {
                self.index = None;
                let aside = move_aside(&path, self.clock.now())?;
                let aside = aside.display();
                let warning =
                    format!("the index was damaged; it is rebuilt, the old one is {aside}");
                (IndexDatabase::open(&path)?, warning)
            }
            IndexFault::Unusable => {
                let why = error_chain(&error);
                let warning = format!("the index is kept in memory for now: {why}");
                (IndexDatabase::in_memory()?, warning)
            }
        };
        replacement.warn(warning);
        self.index = Some(replacement);
        attempt(&mut self.index)
    }
}
