//! The queue pair itself, for many clients at a time.
//!
//! ```text
//!  unix, tcp ─ lines ──┐                        ┌─ hub ── who drives ─► SessionHandle
//!  ws ─ messages ──────┤   converse (one task   │
//!  http ─ POST, SSE ───┼─► per client): hello, ─┤
//!  grpc ─ stream ──────┘   submissions, events  └─ EventSource: each reads at its own pace
//! ```
//!
//! Every transport carries the same messages ([`troupe_protocol::link`]); its file turns its
//! frames into them and back. The rest is the same for all and lies in `converse`.

mod client;
mod errands;
mod grpc;
mod home_lines;
mod http;
mod hub;
mod identities;
mod lines;
mod office;
mod pace;
mod prompts;
mod read_marks;
mod receipts;
mod seats;
mod session_cards;
mod source;
mod web;
mod ws;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use troupe_engine::{EventStream, EventTap, SessionHandle};
use troupe_protocol::discard;
use troupe_transport::SessionAddress;

use crate::connection::{accept_net, accept_unix};
use crate::limits::{CONNECTIONS_MAX, ENDING_MS_MAX};
use crate::listen::{
    BoundListener, BoundListeners, ListenError, ListenOptions, StopSignal, offers,
};
use crate::lobby::ConnectionPlaces;
use client::EntryRequirement;
use hub::ClientHub;
pub use office::{SessionOffice, TreeSource};
pub use prompts::PromptHistory;
pub use read_marks::ReadMarks;
pub use session_cards::session_cards;
use source::SessionEvents;

/// A server that has its addresses and waits for its session.
#[derive(Debug)]
pub struct ProtoServer {
    bound: BoundListeners,
    office: Option<SessionOffice>,
    /// How many clients are connected.
    present: watch::Sender<usize>,
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerEnd {
    /// The session ended, and everybody heard it.
    Orderly,
    /// Somebody did not want to wait.
    Hurried,
}

impl ProtoServer {
    pub async fn bind(options: ListenOptions) -> Result<Self, ListenError> {
        Ok(Self {
            bound: BoundListeners::bind(options).await?,
            office: None,
            present: watch::Sender::new(0),
        })
    }

    /// Answers what clients ask of the tree and the home, which a server without an office
    /// refuses.
    #[must_use]
    pub fn with_office(self, office: SessionOffice) -> Self {
        let office = Some(office);
        Self { office, ..self }
    }

    /// Tells how many clients are connected, from now on.
    pub fn present(&self) -> watch::Receiver<usize> {
        self.present.subscribe()
    }

    /// Returns where clients find the server, ports that the system chose included.
    pub fn addresses(&self) -> impl Iterator<Item = SessionAddress> {
        self.bound.addresses()
    }

    /// Serves a session until it has ended. The first time that somebody wants it to stop, the
    /// session is asked to end; the second time nothing is waited for.
    pub async fn run(
        self,
        handle: SessionHandle,
        events: EventStream,
        stop: impl StopSignal,
    ) -> ServerEnd {
        let source = SessionEvents::Kept(events.into_source());
        self.serve(handle, source, stop).await
    }

    /// As [`Self::run`], beside whoever reads the session's events: nothing is kept in memory
    /// for clients that come later, they read the log.
    pub async fn run_beside(
        self,
        handle: SessionHandle,
        events: EventTap,
        stop: impl StopSignal,
    ) -> ServerEnd {
        self.serve(handle, SessionEvents::Logged(events), stop)
            .await
    }

    async fn serve(
        self,
        handle: SessionHandle,
        source: SessionEvents,
        mut stop: impl StopSignal,
    ) -> ServerEnd {
        let source = Arc::new(source);
        let keepalive = self.bound.keepalive;
        let office = self.office.clone();
        let present = self.present.clone();
        let (hub, working) =
            ClientHub::new(handle, Arc::clone(&source), office, present, keepalive);
        let ending = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let hub_task = tasks.spawn(working);
        let mut accepting = self.accept(&hub, &ending);

        let mut ended = pin!(source.ended());
        tokio::select! {
            () = &mut ended => (),
            () = stop.wanted() => {
                hub.shut_down();
                tokio::select! {
                    () = &mut ended => (),
                    () = stop.wanted() => return ServerEnd::Hurried,
                }
            }
        }
        ending.cancel();
        let all = async { while accepting.join_next().await.is_some() {} };
        // Who does not read the last word in time does not get it.
        discard!(
            timeout(Duration::from_millis(ENDING_MS_MAX), all).await,
            "a client did not read its last messages in time"
        );
        hub_task.abort();
        ServerEnd::Orderly
    }

    /// Starts to listen everywhere. Dropping the set ends all connections.
    fn accept(self, hub: &ClientHub, ending: &CancellationToken) -> JoinSet<()> {
        let mut accepting = JoinSet::new();
        let places = ConnectionPlaces::new(CONNECTIONS_MAX);
        let bound = self.bound;
        let guard = Arc::new(bound.guard);
        for listener in bound.listeners {
            let (hub, ending, places) = (hub.clone(), ending.clone(), places.clone());
            match listener {
                BoundListener::Stdio => {
                    accepting.spawn(async move {
                        let (read, write) = (tokio::io::stdin(), tokio::io::stdout());
                        lines::serve(&hub, &EntryRequirement::default(), read, write).await;
                    });
                }
                BoundListener::Unix(_, socket) => {
                    accepting.spawn(accept_unix(socket, places, ending, move |stream, entry| {
                        let hub = hub.clone();
                        let door = EntryRequirement {
                            token: None,
                            entry: Some(entry),
                        };
                        async move {
                            let (read, write) = stream.into_split();
                            lines::serve(&hub, &door, read, write).await;
                        }
                    }));
                }
                BoundListener::Net(_, protocol, listener) => {
                    let tls = bound.tls.as_ref().map(|tls| tls.acceptor(offers(protocol)));
                    let host = web::WebHost {
                        hub,
                        door: EntryRequirement {
                            token: bound.token.clone(),
                            entry: None,
                        },
                        guard: Arc::clone(&guard),
                        ending: ending.clone(),
                    };
                    let served =
                        move |stream, entry| web::serve(host.clone(), protocol, stream, entry);
                    let keepalive = bound.keepalive;
                    accepting.spawn(accept_net(listener, keepalive, tls, places, ending, served));
                }
            }
        }
        accepting
    }
}
