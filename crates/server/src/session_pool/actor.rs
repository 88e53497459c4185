//! Who is in memory: one loop that owns the list of threads.
//!
//! What takes time (a session that opens, a tree that may be quiet, a session that ends) is a
//! job beside the loop, whose outcome is the next thing that happens.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use troupe_protocol::discard;
use troupe_protocol::{Op, SessionId};

use super::open::open;
use super::{OpenError, RootSession, SessionFactory, SessionOpening};
use crate::limits::{
    THREAD_QUIET_MS_MAX, THREADS_LOOK_INTERVAL_MS, THREADS_MAX, THREADS_UNUSED_MAX,
    THREADS_UNUSED_MS_MAX,
};

type Reply = oneshot::Sender<Result<RootSession, OpenError>>;

/// What is asked of the house.
#[derive(Debug)]
pub(super) enum PoolRequest {
    Begin {
        opening: Box<SessionOpening>,
        reply: Reply,
    },
    Resume {
        id: SessionId,
        opening: Box<SessionOpening>,
        reply: Reply,
    },
    Get {
        id: SessionId,
        reply: oneshot::Sender<Option<RootSession>>,
    },
    Loaded {
        reply: oneshot::Sender<Vec<RootSession>>,
    },
    Unload {
        id: SessionId,
        done: oneshot::Sender<()>,
    },
    End {
        done: oneshot::Sender<()>,
    },
}

#[derive(Debug)]
pub(super) struct PoolActor {
    ground: Arc<dyn SessionFactory>,
    threads: BTreeMap<SessionId, PooledSession>,
    /// New threads that have no id yet.
    beginning: usize,
    /// How often a thread was given away.
    uses: u64,
    jobs: JoinSet<PoolJobOutcome>,
    /// Told when nothing is left; there are some once the house is to end.
    ending: Option<Vec<oneshot::Sender<()>>>,
}

/// Where a thread is.
#[derive(Debug)]
enum PooledSession {
    Opening(Vec<Reply>),
    Open {
        thread: RootSession,
        rest: IdleState,
        /// The number of its last use.
        used: u64,
    },
    /// Its log is not free yet.
    Leaving {
        done: Vec<oneshot::Sender<()>>,
        /// Who wants it back.
        waiting: Vec<(Box<SessionOpening>, Reply)>,
    },
}

/// Since when nobody needs a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdleState {
    Needed,
    Unused {
        since: Instant,
        /// The newest event by then.
        seq: u64,
    },
    /// Its tree is asked whether anything runs.
    Asked,
}

/// A thread that nobody needs.
#[derive(Debug, Clone, Copy)]
struct UnusedSession {
    id: SessionId,
    used: u64,
    since: Instant,
}

/// What a job came to.
enum PoolJobOutcome {
    Begun {
        opened: Result<RootSession, OpenError>,
        reply: Reply,
    },
    Resumed {
        id: SessionId,
        opened: Result<RootSession, OpenError>,
    },
    Looked {
        id: SessionId,
        quiet: bool,
    },
    Left {
        id: SessionId,
    },
}

impl PoolActor {
    pub(super) fn new(ground: Arc<dyn SessionFactory>) -> Self {
        Self {
            ground,
            threads: BTreeMap::new(),
            beginning: 0,
            uses: 0,
            jobs: JoinSet::new(),
            ending: None,
        }
    }

    /// Runs until it was told to end, or everybody has let go of it, and no thread is left.
    pub(super) async fn run(mut self, mut asks: mpsc::Receiver<PoolRequest>) {
        let pause = Duration::from_millis(THREADS_LOOK_INTERVAL_MS);
        let mut looks = interval_at(Instant::now() + pause, pause);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.is_over() {
            tokio::select! {
                ask = asks.recv(), if self.ending.is_none() => match ask {
                    Some(ask) => self.ask(ask),
                    None => self.end(None),
                },
                Some(done) = self.jobs.join_next() => {
                    // A job that panicked is a defect; the thread it was for stays as it is.
                    match done {
                        Ok(outcome) => self.done(outcome),
                        Err(error) => tracing::error!(%error, "a job of the thread pool panicked"),
                    }
                }
                _ = looks.tick() => self.unload_expired(),
            }
        }
        for done in self.ending.into_iter().flatten() {
            // Whoever asked may have stopped waiting.
            discard!(done.send(()), "nobody waits for the answer");
        }
    }

    fn is_over(&self) -> bool {
        self.ending.is_some() && self.jobs.is_empty() && self.threads.is_empty()
    }

    fn ask(&mut self, ask: PoolRequest) {
        match ask {
            PoolRequest::Begin { opening, reply } => self.begin(*opening, reply),
            PoolRequest::Resume { id, opening, reply } => self.resume(id, opening, reply),
            PoolRequest::Get { id, reply } => {
                // Who stopped waiting does not need it.
                discard!(
                    reply.send(self.open_thread(id)),
                    "nobody waits for the answer"
                );
            }
            PoolRequest::Loaded { reply } => {
                let open = self.threads.values().filter_map(PooledSession::thread);
                discard!(
                    reply.send(open.cloned().collect()),
                    "nobody waits for the answer"
                );
            }
            PoolRequest::Unload { id, done } => self.unload(id, done),
            PoolRequest::End { done } => self.end(Some(done)),
        }
    }

    fn begin(&mut self, opening: SessionOpening, reply: Reply) {
        if let Err(full) = self.make_room() {
            discard!(reply.send(Err(full)), "nobody waits for the answer");
            return;
        }
        self.beginning += 1;
        let ground = Arc::clone(&self.ground);
        self.jobs.spawn(async move {
            let opened = open(&*ground, opening).await;
            PoolJobOutcome::Begun { opened, reply }
        });
    }

    fn resume(&mut self, id: SessionId, opening: Box<SessionOpening>, reply: Reply) {
        if let Some(thread) = self.open_thread(id) {
            discard!(reply.send(Ok(thread)), "nobody waits for the answer");
            return;
        }
        match self.threads.get_mut(&id) {
            Some(PooledSession::Opening(waiting)) => waiting.push(reply),
            Some(PooledSession::Leaving { waiting, .. }) => waiting.push((opening, reply)),
            Some(PooledSession::Open { .. }) | None => match self.make_room() {
                Ok(()) => self.bring_back(id, *opening, vec![reply]),
                Err(full) => {
                    discard!(reply.send(Err(full)), "nobody waits for the answer");
                }
            },
        }
    }

    fn bring_back(&mut self, id: SessionId, opening: SessionOpening, waiting: Vec<Reply>) {
        tracing::info!(thread = %id, "a thread is brought back");
        self.threads.insert(id, PooledSession::Opening(waiting));
        let ground = Arc::clone(&self.ground);
        self.jobs.spawn(async move {
            let opened = open(&*ground, opening).await;
            PoolJobOutcome::Resumed { id, opened }
        });
    }

    /// Returns a thread that is in memory, and forgets one that has ended by itself.
    fn open_thread(&mut self, id: SessionId) -> Option<RootSession> {
        let PooledSession::Open { thread, used, .. } = self.threads.get_mut(&id)? else {
            return None;
        };
        if thread.is_over() {
            tracing::info!(thread = %id, "a thread has ended by itself");
            self.threads.remove(&id);
            return None;
        }
        self.uses += 1;
        *used = self.uses;
        Some(thread.clone())
    }

    fn unload(&mut self, id: SessionId, done: oneshot::Sender<()>) {
        match self.threads.get_mut(&id) {
            None => {
                discard!(done.send(()), "nobody waits for the answer");
            }
            Some(PooledSession::Leaving { done: told, .. }) => told.push(done),
            // What is not open yet has nothing to end; whoever opens it decides.
            Some(PooledSession::Opening(_)) => drop(done),
            Some(PooledSession::Open { thread, .. }) => {
                let thread = thread.clone();
                self.leave(thread, vec![done]);
            }
        }
    }

    /// Ends a session beside the loop.
    fn leave(&mut self, thread: RootSession, done: Vec<oneshot::Sender<()>>) {
        let id = thread.id();
        let waiting = Vec::new();
        tracing::info!(thread = %id, "a thread leaves");
        self.threads
            .insert(id, PooledSession::Leaving { done, waiting });
        self.jobs.spawn(async move {
            // One that takes nothing more has ended already.
            discard!(thread.submit(Op::Shutdown).await, "the session has ended");
            thread.ended().await;
            PoolJobOutcome::Left { id }
        });
    }

    fn end(&mut self, done: Option<oneshot::Sender<()>>) {
        self.ending.get_or_insert_default().extend(done);
        let open = self.threads.values().filter_map(PooledSession::thread);
        for thread in open.cloned().collect::<Vec<_>>() {
            self.leave(thread, Vec::new());
        }
    }

    fn done(&mut self, outcome: PoolJobOutcome) {
        match outcome {
            PoolJobOutcome::Begun { opened, reply } => {
                self.beginning -= 1;
                match &opened {
                    Ok(thread) => self.keep(thread.clone()),
                    Err(error) => tracing::warn!(%error, "a thread could not be begun"),
                }
                // A thread that nobody waits for any more is unused, and goes as such.
                discard!(reply.send(opened), "nobody waits for the answer");
            }
            PoolJobOutcome::Resumed { id, opened } => {
                let waiting = match self.threads.remove(&id) {
                    Some(PooledSession::Opening(waiting)) => waiting,
                    _ => Vec::new(),
                };
                match &opened {
                    Ok(thread) => self.keep(thread.clone()),
                    Err(error) => {
                        tracing::warn!(thread = %id, %error, "a thread could not be resumed");
                    }
                }
                for reply in waiting {
                    discard!(reply.send(opened.clone()), "nobody waits for the answer");
                }
            }
            PoolJobOutcome::Looked { id, quiet } => self.idle_check_done(id, quiet),
            PoolJobOutcome::Left { id } => self.session_ended(id),
        }
    }

    fn keep(&mut self, thread: RootSession) {
        if self.ending.is_some() {
            return self.leave(thread, Vec::new());
        }
        self.uses += 1;
        let place = PooledSession::Open {
            rest: IdleState::Needed,
            used: self.uses,
            thread: thread.clone(),
        };
        tracing::info!(thread = %thread.id(), "a thread is open");
        self.threads.insert(thread.id(), place);
    }

    fn session_ended(&mut self, id: SessionId) {
        let Some(PooledSession::Leaving { done, waiting }) = self.threads.remove(&id) else {
            return;
        };
        tracing::info!(thread = %id, "a thread has left");
        for done in done {
            discard!(done.send(()), "nobody waits for the answer");
        }
        let mut waiting = waiting.into_iter();
        if let Some((opening, first)) = waiting.next() {
            let others = waiting.map(|(_, reply)| reply);
            let replies = std::iter::once(first).chain(others).collect();
            self.bring_back(id, *opening, replies);
        }
    }

    /// Looks who is needed, and lets go of who was not for long.
    fn unload_expired(&mut self) {
        let now = Instant::now();
        self.threads
            .retain(|_, place| place.thread().is_none_or(|thread| !thread.is_over()));
        for place in self.threads.values_mut() {
            place.update_idle_state(now);
        }
        let long = Duration::from_millis(THREADS_UNUSED_MS_MAX);
        let tired = |unused: &UnusedSession| now.duration_since(unused.since) >= long;
        for unused in self.unused().into_iter().filter(tired) {
            self.ask_tree(unused.id);
        }
    }

    /// Returns the threads that nobody needs, in the order of their last use.
    fn unused(&self) -> Vec<UnusedSession> {
        let places = self.threads.iter();
        let unused = places.filter_map(|(id, place)| match place {
            PooledSession::Open {
                rest: IdleState::Unused { since, .. },
                used,
                ..
            } => Some(UnusedSession {
                id: *id,
                used: *used,
                since: *since,
            }),
            PooledSession::Open { .. }
            | PooledSession::Opening(_)
            | PooledSession::Leaving { .. } => None,
        });
        let mut unused: Vec<UnusedSession> = unused.collect();
        unused.sort_unstable_by_key(|unused| unused.used);
        unused
    }

    /// Lets go of the threads that were not needed for longest, if there are too many of them.
    /// Refuses one more when too many are needed.
    fn make_room(&mut self) -> Result<(), OpenError> {
        let open = self.threads.len() + self.beginning;
        if open >= THREADS_UNUSED_MAX {
            let now = Instant::now();
            for place in self.threads.values_mut() {
                place.update_idle_state(now);
            }
            let unused = self.unused();
            let too_many = unused.len().saturating_sub(THREADS_UNUSED_MAX - 1);
            for unused in unused.into_iter().take(too_many) {
                self.ask_tree(unused.id);
            }
        }
        if open < THREADS_MAX {
            Ok(())
        } else {
            tracing::warn!(open, "the thread pool is full");
            Err(OpenError::Full { open })
        }
    }

    /// Asks beside the loop whether a thread's children have nothing to do.
    fn ask_tree(&mut self, id: SessionId) {
        let Some(PooledSession::Open { thread, rest, .. }) = self.threads.get_mut(&id) else {
            return;
        };
        tracing::debug!(thread = %id, "an unused thread is asked whether its tree is quiet");
        *rest = IdleState::Asked;
        let agents = thread.agents().clone();
        self.jobs.spawn(async move {
            let time = Duration::from_millis(THREAD_QUIET_MS_MAX);
            let quiet = timeout(time, agents.wait_until_idle()).await.is_ok();
            PoolJobOutcome::Looked { id, quiet }
        });
    }

    fn idle_check_done(&mut self, id: SessionId, quiet: bool) {
        let Some(PooledSession::Open { thread, rest, .. }) = self.threads.get_mut(&id) else {
            return;
        };
        if quiet && *rest == IdleState::Asked && thread.is_unused() && thread.is_idle() {
            let thread = thread.clone();
            self.leave(thread, Vec::new());
        } else {
            *rest = IdleState::Needed;
        }
    }
}

impl PooledSession {
    fn thread(&self) -> Option<&RootSession> {
        match self {
            Self::Open { thread, .. } => Some(thread),
            Self::Opening(_) | Self::Leaving { .. } => None,
        }
    }

    /// Notes since when nobody needs the thread. One that said something meanwhile was at work.
    fn update_idle_state(&mut self, now: Instant) {
        let Self::Open { thread, rest, .. } = self else {
            return;
        };
        let seq = thread.last_seq();
        *rest = match *rest {
            IdleState::Asked => IdleState::Asked,
            _ if !thread.is_unused() || !thread.is_idle() => IdleState::Needed,
            IdleState::Unused { since, seq: before } if before == seq => {
                IdleState::Unused { since, seq }
            }
            IdleState::Unused { .. } | IdleState::Needed => IdleState::Unused { since: now, seq },
        };
    }
}
