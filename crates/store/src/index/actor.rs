//! The thread that owns the index.

mod trees;

use tokio::sync::{mpsc, oneshot};
use troupe_protocol::discard;
use troupe_protocol::{ResponseId, SessionId};

use crate::clock::Clock;
use crate::error::Error;
use crate::layout::Layout;
use crate::limits::INDEX_REQUESTS_QUEUED_MAX;
use crate::list::{ListPage, ListQuery};
use crate::store::{Bookmark, ReindexProgress, ReindexReport};
use crate::worker::Worker;

use self::trees::TreeQuestion;
use super::Index;
use super::catch_up::shown;
use super::database::{Verdict, move_aside, verdict};

#[derive(Debug)]
pub(crate) struct Indexer {
    layout: Layout,
    clock: Clock,
    worker: Worker<Request>,
}

type Reply<T> = oneshot::Sender<Result<T, Error>>;

#[derive(Debug)]
enum Request {
    Bookmark(ResponseId, Reply<Option<Bookmark>>),
    Named(String, Reply<SessionId>),
    List(Box<ListQuery>, Reply<ListPage>),
    Trees(TreeQuestion),
    Reindex(mpsc::Sender<ReindexProgress>, Reply<ReindexReport>),
}

impl Indexer {
    pub(crate) fn new(layout: Layout, clock: Clock) -> Self {
        Self {
            layout,
            clock,
            worker: Worker::new("index"),
        }
    }

    pub(crate) async fn find_bookmark(&self, id: ResponseId) -> Result<Option<Bookmark>, Error> {
        self.ask(|reply| Request::Bookmark(id, reply)).await
    }

    pub(crate) async fn resolve_name(&self, name: String) -> Result<SessionId, Error> {
        self.ask(|reply| Request::Named(name, reply)).await
    }

    pub(crate) async fn list(&self, query: ListQuery) -> Result<ListPage, Error> {
        self.ask(|reply| Request::List(Box::new(query), reply))
            .await
    }

    pub(crate) async fn reindex(
        &self,
        progress: &mut (dyn FnMut(ReindexProgress) + Send),
    ) -> Result<ReindexReport, Error> {
        let (tell, mut told) = mpsc::channel(1);
        let (reply, answer) = oneshot::channel();
        let request = Request::Reindex(tell, reply);
        let sent = self.mailbox()?.send(request).await;
        sent.map_err(|_| self.worker.stopped())?;
        while let Some(now) = told.recv().await {
            progress(now);
        }
        answer.await.map_err(|_| self.worker.stopped())?
    }

    async fn ask<T>(&self, request: impl FnOnce(Reply<T>) -> Request) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let sent = self.mailbox()?.send(request(reply)).await;
        sent.map_err(|_| self.worker.stopped())?;
        answer.await.map_err(|_| self.worker.stopped())?
    }

    fn mailbox(&self) -> Result<&mpsc::Sender<Request>, Error> {
        self.worker.mailbox(INDEX_REQUESTS_QUEUED_MAX, || {
            let mut actor = Actor {
                layout: self.layout.clone(),
                clock: self.clock.clone(),
                index: None,
            };
            move |mut requests: mpsc::Receiver<Request>| {
                while let Some(request) = requests.blocking_recv() {
                    actor.handle(request);
                }
            }
        })
    }
}

struct Actor {
    layout: Layout,
    clock: Clock,
    /// Opened by the first request.
    index: Option<Index>,
}

impl Actor {
    /// Whoever asked may have gone meanwhile, so an answer that nobody takes is dropped.
    fn handle(&mut self, request: Request) {
        match request {
            Request::Bookmark(id, reply) => {
                discard!(
                    reply.send(self.find_bookmark(&id)),
                    "nobody waits for the answer"
                );
            }
            Request::Named(name, reply) => {
                discard!(
                    reply.send(self.caught_up(|index| index.session_named(&name))),
                    "nobody waits for the answer"
                );
            }
            Request::List(query, reply) => {
                discard!(reply.send(self.list(&query)), "nobody waits for the answer");
            }
            Request::Trees(question) => self.answer(question),
            Request::Reindex(tell, reply) => {
                let answer = self.reindex(&tell);
                drop(tell);
                discard!(reply.send(answer), "nobody waits for the answer");
            }
        }
    }

    /// The index may know the bookmark without being up to date.
    fn find_bookmark(&mut self, id: &ResponseId) -> Result<Option<Bookmark>, Error> {
        match self.with(|index, _| index.bookmark(id))? {
            Some(found) if self.layout.find(found.session).is_ok() => Ok(Some(found)),
            _ => self.caught_up(|index| index.bookmark(id)),
        }
    }

    fn list(&mut self, query: &ListQuery) -> Result<ListPage, Error> {
        let mut page = self.caught_up(|index| index.list(query))?;
        for session in &mut page.sessions {
            session.path = session
                .path
                .take()
                .map(|path| self.layout.home().join(path));
        }
        Ok(page)
    }

    fn reindex(&mut self, tell: &mpsc::Sender<ReindexProgress>) -> Result<ReindexReport, Error> {
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
        mut ask: impl FnMut(&mut Index) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.with(|index, layout| {
            index.catch_up(layout)?;
            ask(index)
        })
    }

    /// Runs `work` on the index, which is opened if need be. An index that is of no use is
    /// replaced once: a damaged file by a new one, one that cannot be used now by memory.
    fn with<T>(
        &mut self,
        mut work: impl FnMut(&mut Index, &Layout) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut attempt = |index: &mut Option<Index>| {
            if index.is_none() {
                *index = Some(Index::open(&self.layout.index())?);
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
            Verdict::Other => return Err(error),
            Verdict::Corrupt => {
                self.index = None;
                let aside = move_aside(&path, self.clock.now())?;
                let aside = aside.display();
                let warning =
                    format!("the index was damaged; it is rebuilt, the old one is {aside}");
                (Index::open(&path)?, warning)
            }
            Verdict::Unusable => {
                let why = shown(&error);
                let warning = format!("the index is kept in memory for now: {why}");
                (Index::in_memory()?, warning)
            }
        };
        replacement.warn(warning);
        self.index = Some(replacement);
        attempt(&mut self.index)
    }
}
