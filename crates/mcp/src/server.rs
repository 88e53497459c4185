//! One server, as all sessions share it: an actor that owns the connection and its life.
//!
//! ```text
//!           connect                    opened
//!   Idle ────────────► Opening ───────────────────► Open ◄─┐
//!    ▲                   │ ▲                         │     │ listed again
//!    │ refresh           │ │ connect, after a while  ├─────┘
//!    └────── Down ◄──────┘ └─────────────────────────┘ found closed
//! ```
//!
//! From each of them it goes to Ended when the configuration has the server no more; calls that
//! run are still answered.
//!
//! A crash is noticed by who calls next. Tools stay known meanwhile, so that a crash does not
//! change what the model is offered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use troupe_protocol::discard;
use troupe_protocol::mcp::McpAuthStatus;

use crate::config::{ServerConfig, ServerEndpoint};
use crate::connection::{McpConnection, ServerCatalogue};
use crate::limits::{BACKOFF_FIRST_MS, BACKOFF_MAX_MS, DOWN_TIME, REQUESTS_MAX, STABLE_TIME};
use crate::server_pool::McpServerPoolDeps;

/// What is said of a server that the configuration has no more.
const REMOVED: &str = "it was removed from the configuration";

/// A way to one server. The server ends with the last of them.
#[derive(Debug, Clone)]
pub(crate) struct McpServerHandle {
    pub name: Arc<str>,
    pub config: Arc<ServerConfig>,
    inputs: mpsc::Sender<McpServerInput>,
    known: watch::Receiver<McpServerSnapshot>,
    /// Counted here and not by the actor: who asks for a refresh sees it at once.
    refreshes: Arc<AtomicU64>,
    /// It is not wanted any more.
    ended: CancellationToken,
    deps: Arc<McpServerPoolDeps>,
}

/// What everybody may know of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct McpServerSnapshot {
    /// It was there once.
    pub was_open: bool,
    pub catalogue: Arc<ServerCatalogue>,
    /// Grows with each change of the catalogue.
    pub revision: u64,
}

#[derive(Debug)]
enum McpServerInput {
    Connect(Reply),
    Opened(Result<OpenedConnection, String>),
    Refresh,
}

type Reply = oneshot::Sender<Result<Arc<McpConnection>, String>>;

#[derive(Debug)]
struct OpenedConnection {
    connection: Arc<McpConnection>,
    catalogue: ServerCatalogue,
}

impl McpServerHandle {
    pub(crate) fn new(name: &str, config: ServerConfig, deps: Arc<McpServerPoolDeps>) -> Self {
        let (sender, inputs) = mpsc::channel(REQUESTS_MAX);
        let (known, reader) = watch::channel(McpServerSnapshot::default());
        let name: Arc<str> = name.into();
        let config = Arc::new(config);
        let ended = CancellationToken::new();
        let actor = McpServerActor {
            name: Arc::clone(&name),
            config: Arc::clone(&config),
            deps: Arc::clone(&deps),
            inputs,
            own: sender.downgrade(),
            known,
            changed: Arc::new(Notify::new()),
            ended: ended.clone(),
            state: McpServerState::Idle,
            crashes: 0,
        };
        // It ends when nobody has a way to it.
        tokio::spawn(actor.run());
        Self {
            name,
            config,
            inputs: sender,
            known: reader,
            refreshes: Arc::default(),
            ended,
            deps,
        }
    }

    /// Tells whether both are ways to one server.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.inputs.same_channel(&other.inputs)
    }

    /// Ends the server as soon as it has answered what it was asked.
    pub(crate) fn end(&self) {
        self.ended.cancel();
    }

    pub(crate) fn known(&self) -> McpServerSnapshot {
        self.known.borrow().clone()
    }

    /// Tells whether somebody has logged in at an address.
    pub(crate) fn login_status(&self) -> McpAuthStatus {
        let ServerEndpoint::Http { url, .. } = &self.config.door else {
            return McpAuthStatus::Unsupported;
        };
        let logins = self.deps.logins.as_ref();
        if logins.is_some_and(|logins| logins.has(&self.name, url)) {
            McpAuthStatus::OAuth
        } else {
            McpAuthStatus::Unsupported
        }
    }

    /// Returns its tools by their own names; `None` as long as they are not known.
    pub(crate) fn tools(&self) -> Option<Vec<String>> {
        let known = self.known();
        if !known.was_open {
            let listed = self.config.listed_tools()?;
            return Some(listed.map(str::to_owned).collect());
        }
        let tools = known.catalogue.tools.iter();
        Some(tools.map(|tool| tool.name.clone()).collect())
    }

    /// Returns a connection, starting the server if it does not run.
    pub(crate) async fn connect(&self) -> Result<Arc<McpConnection>, String> {
        let ended = || "the engine is ending".to_owned();
        let (reply, answer) = oneshot::channel();
        let sent = self.inputs.send(McpServerInput::Connect(reply)).await;
        sent.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }

    /// Returns how often a refresh was asked for.
    pub(crate) fn refreshes(&self) -> u64 {
        self.refreshes.load(Ordering::Relaxed)
    }

    /// Has everything be found out anew by who asks next.
    pub(crate) fn refresh(&self) {
        self.refreshes.fetch_add(1, Ordering::Relaxed);
        // A queue that is full of requests to connect: these find out anew what matters.
        discard!(
            self.inputs.try_send(McpServerInput::Refresh),
            "a refresh was dropped: the queue of the server is full, or it has ended"
        );
    }
}

struct McpServerActor {
    name: Arc<str>,
    config: Arc<ServerConfig>,
    deps: Arc<McpServerPoolDeps>,
    inputs: mpsc::Receiver<McpServerInput>,
    /// For what runs beside the loop. It does not keep the actor alive.
    own: mpsc::WeakSender<McpServerInput>,
    known: watch::Sender<McpServerSnapshot>,
    /// The server has said that its tools changed.
    changed: Arc<Notify>,
    ended: CancellationToken,
    state: McpServerState,
    /// Ends in a row.
    crashes: u32,
}

enum McpServerState {
    Idle,
    Opening {
        waiting: Vec<Reply>,
        /// Dropping it stops the start.
        _work: AbortOnDropHandle<()>,
    },
    Open {
        connection: Arc<McpConnection>,
        since: Instant,
    },
    Down {
        error: String,
        /// Until then nobody waits for another try.
        until: Instant,
    },
    Ended,
}

impl McpServerState {
    /// Returns what the diagnostic log calls it.
    fn name(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Opening { .. } => "opening",
            Self::Open { .. } => "open",
            Self::Down { .. } => "down",
            Self::Ended => "ended",
        }
    }
}

impl McpServerActor {
    fn enter(&mut self, state: McpServerState) {
        let (from, to) = (self.state.name(), state.name());
        tracing::debug!(server = %self.name, from, to, "an MCP server changes");
        self.state = state;
    }

    async fn run(mut self) {
        loop {
            tokio::select! {
                input = self.inputs.recv() => match input {
                    Some(McpServerInput::Connect(reply)) => self.connect(reply),
                    Some(McpServerInput::Opened(opened)) => self.opened(opened),
                    Some(McpServerInput::Refresh) => self.refresh(),
                    None => return,
                },
                () = self.changed.notified() => self.list_again(),
                () = self.ended.cancelled(), if !matches!(self.state, McpServerState::Ended) => self.end(),
            }
        }
    }

    fn connect(&mut self, reply: Reply) {
        match &mut self.state {
            McpServerState::Opening { waiting, .. } => waiting.push(reply),
            McpServerState::Open { connection, .. } if !connection.is_closed() => {
                // Who does not wait any more does not need it.
                discard!(
                    reply.send(Ok(Arc::clone(connection))),
                    "nobody waits for the answer"
                );
            }
            McpServerState::Open { since, .. } => {
                let was_stable = since.elapsed() >= STABLE_TIME;
                self.crashes = if was_stable { 1 } else { self.crashes + 1 };
                self.start(vec![reply], backoff(self.crashes));
            }
            McpServerState::Down { error, until } if *until > Instant::now() => {
                discard!(
                    reply.send(Err(error.clone())),
                    "nobody waits for the answer"
                );
            }
            McpServerState::Ended => {
                discard!(
                    reply.send(Err(REMOVED.to_owned())),
                    "nobody waits for the answer"
                );
            }
            McpServerState::Idle | McpServerState::Down { .. } => {
                self.start(vec![reply], Duration::ZERO);
            }
        }
    }

    /// Lets the connection go. It closes with the last call that uses it.
    fn end(&mut self) {
        tracing::debug!(server = %self.name, from = self.state.name(), to = "ended", "an MCP server changes");
        if let McpServerState::Opening { waiting, .. } =
            std::mem::replace(&mut self.state, McpServerState::Ended)
        {
            for reply in waiting {
                // Who does not wait any more does not need it.
                discard!(
                    reply.send(Err(REMOVED.to_owned())),
                    "nobody waits for the answer"
                );
            }
        }
    }

    /// Starts the server, after a while.
    fn start(&mut self, waiting: Vec<Reply>, delay: Duration) {
        let time_max = self.config.startup_time_max;
        let (name, config) = (Arc::clone(&self.name), Arc::clone(&self.config));
        let (deps, changed) = (Arc::clone(&self.deps), Arc::clone(&self.changed));
        self.work(waiting, async move {
            tokio::time::sleep(delay).await;
            let opening = async {
                let connection = McpConnection::open(&name, &config, &deps, changed).await?;
                let catalogue = connection.catalogue().await;
                Ok(OpenedConnection {
                    catalogue: catalogue.map_err(|trouble| trouble.to_string())?,
                    connection: Arc::new(connection),
                })
            };
            within(time_max, opening).await
        });
    }

    /// Asks an open server for its tools once more.
    fn list_again(&mut self) {
        let McpServerState::Open { connection, .. } = &self.state else {
            return;
        };
        let connection = Arc::clone(connection);
        let time_max = self.config.startup_time_max;
        self.work(Vec::new(), async move {
            let listing = async {
                let catalogue = connection.catalogue().await;
                Ok(OpenedConnection {
                    catalogue: catalogue.map_err(|trouble| trouble.to_string())?,
                    connection,
                })
            };
            within(time_max, listing).await
        });
    }

    /// Does work beside the loop, which ends as an input of it.
    fn work(
        &mut self,
        waiting: Vec<Reply>,
        work: impl Future<Output = Result<OpenedConnection, String>> + Send + 'static,
    ) {
        let own = self.own.clone();
        let work = tokio::spawn(async move {
            let opened = work.await;
            if let Some(own) = own.upgrade() {
                // An actor that is gone has ended this work too.
                discard!(
                    own.send(McpServerInput::Opened(opened)).await,
                    "the actor has ended"
                );
            }
        });
        self.enter(McpServerState::Opening {
            waiting,
            _work: AbortOnDropHandle::new(work),
        });
    }

    fn opened(&mut self, opened: Result<OpenedConnection, String>) {
        let McpServerState::Opening { waiting, .. } = &mut self.state else {
            return;
        };
        let waiting = std::mem::take(waiting);
        let answer = match opened {
            Ok(OpenedConnection {
                connection,
                catalogue,
            }) => {
                self.known
                    .send_modify(|known| known.update_catalogue(catalogue));
                self.enter(McpServerState::Open {
                    connection: Arc::clone(&connection),
                    since: Instant::now(),
                });
                Ok(connection)
            }
            Err(error) => {
                self.crashes += 1;
                // One that never was there keeps every new session waiting; one that was there
                // is missed.
                let was_open = self.known.borrow().was_open;
                let hold = if was_open {
                    backoff(self.crashes)
                } else {
                    DOWN_TIME
                };
                self.enter(McpServerState::Down {
                    error: error.clone(),
                    until: Instant::now() + hold,
                });
                Err(error)
            }
        };
        for reply in waiting {
            // Who does not wait any more does not need it.
            discard!(reply.send(answer.clone()), "nobody waits for the answer");
        }
    }

    fn refresh(&mut self) {
        self.crashes = 0;
        match &self.state {
            McpServerState::Open { connection, .. } if connection.is_closed() => {
                self.enter(McpServerState::Idle);
            }
            McpServerState::Open { .. } => self.list_again(),
            McpServerState::Down { .. } => self.enter(McpServerState::Idle),
            McpServerState::Idle | McpServerState::Opening { .. } | McpServerState::Ended => (),
        }
    }
}

impl McpServerSnapshot {
    fn update_catalogue(&mut self, catalogue: ServerCatalogue) {
        if self.was_open && *self.catalogue == catalogue {
            return;
        }
        self.revision += 1;
        self.was_open = true;
        self.catalogue = Arc::new(catalogue);
    }
}

async fn within<T>(
    time_max: Duration,
    work: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    let done = tokio::time::timeout(time_max, work).await;
    done.unwrap_or_else(|_| {
        Err(format!(
            "it was not ready within {:.1} s (startup_timeout_sec)",
            time_max.as_secs_f64()
        ))
    })
}

/// Returns how long to wait before a start that follows so many ends.
fn backoff(crashes: u32) -> Duration {
    let doubled = 2_u64.saturating_pow(crashes.saturating_sub(1));
    match crashes {
        0 => Duration::ZERO,
        _ => Duration::from_millis(BACKOFF_FIRST_MS.saturating_mul(doubled).min(BACKOFF_MAX_MS)),
    }
}

#[cfg(test)]
mod tests {
    use super::backoff;

    #[test]
    fn the_pauses_grow_to_half_a_minute() {
        let pauses = [0, 1, 2, 3, 7, 8, 9, u32::MAX].map(|crashes| backoff(crashes).as_millis());
        assert_eq!(pauses, [0, 250, 500, 1_000, 16_000, 30_000, 30_000, 30_000]);
    }
}
