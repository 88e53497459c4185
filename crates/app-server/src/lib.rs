//! The app-server: many threads for many clients, in the JSON-RPC that clients of the Codex
//! family speak.
//!
//! ```text
//!  bytes ─► connection ─► methods (a table) ─► threads, turns, … ─► SessionPool, store, HostServices
//!              ▲                                    │ starts
//!           outbox ◄── subscription (one task per client and thread): events → notifications,
//!                      questions → requests, answers in their place among the events
//! ```
//!
//! To add a method: its types go to a file in `wire/`, its handler to the file of its group
//! beside `threads.rs` (`fn name(call: Call) -> Handling`, nearly always `call.answer(…)`), and
//! one line to the table in `methods.rs`. The types belong in the list of `schema.rs` too.
//!
//! Deliberately absent: decisions. What a request means is decided by the session, the tree or
//! the store; here it is only said in other words. Configuration files and the environment are
//! behind [`HostServices`]; listeners and the pool of sessions are those of `troupe_server`.

mod account;
mod broadcast;
mod call;
mod catalogue;
mod client_resources;
mod commands;
mod connection;
mod files;
mod git;
mod history;
mod host_services;
mod limits;
mod listening;
mod methods;
mod questions;
mod reviews;
pub mod schema;
mod search;
mod servers;
mod settings;
mod socket;
mod subscription;
mod thread_queues;
mod threads;
mod translate;
mod trees;
mod turns;
mod unsupported_methods;
mod usage;
mod wire;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use troupe_transport::{LineReader, ReceivedLine};

use broadcast::ClientBroadcast;
use connection::AppConnection;
pub use host_services::{
    CommandWorkplace, EffectiveSetting, HostServices, KeyStatus, OverriddenSetting, SettingEdit,
    SettingMerge, SettingSource, SettingsChange, SettingsWriteResult, TakeoverResult, WriteRefusal,
};
pub use listening::AppListener;
use troupe_server::SessionPool;
use troupe_transport::limits::RPC_MESSAGE_BYTES_MAX;
use troupe_transport::rpc::write_lines;
use wire::account::RateLimits;
use wire::notification::ServerNotification;

/// What all connections share. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AppServer(Arc<AppServerState>);

#[derive(Debug)]
struct AppServerState {
    house: SessionPool,
    office: Arc<dyn HostServices>,
    home: PathBuf,
    numbers: AtomicU64,
    /// What the provider last said of its limits to a thread that somebody follows.
    rate_limits: Mutex<RateLimits>,
    news: ClientBroadcast,
}

impl AppServer {
    /// `home` is what clients are told that everything is kept in.
    pub fn new(house: SessionPool, office: Arc<dyn HostServices>, home: PathBuf) -> Self {
        Self(Arc::new(AppServerState {
            house: house.for_tool_clients(),
            office,
            home,
            numbers: AtomicU64::new(1),
            rate_limits: Mutex::default(),
            news: ClientBroadcast::new(),
        }))
    }

    /// Serves one client that speaks in lines, until it closes its end or `ending` says so. Its
    /// threads go on.
    pub async fn serve_lines(
        &self,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Unpin,
        ending: CancellationToken,
    ) -> io::Result<()> {
        let (connection, presence, messages) = AppConnection::open(self);
        let written = write_lines(messages, output);
        let read = async move {
            let mut lines = LineReader::new(input, RPC_MESSAGE_BYTES_MAX);
            loop {
                let line = tokio::select! {
                    line = lines.next() => line?,
                    () = ending.cancelled() => break,
                };
                match line {
                    Some(ReceivedLine::Whole(text)) => connection.receive(text).await,
                    Some(ReceivedLine::TooLong { .. }) => {
                        connection.too_long(RPC_MESSAGE_BYTES_MAX).await;
                    }
                    None => {
                        // What was asked is still done.
                        connection.finish().await;
                        break;
                    }
                }
            }
            // What was answered is still written.
            drop(presence);
            drop(connection);
            io::Result::Ok(())
        };
        let (read, written) = tokio::join!(read, written);
        read.and(match written {
            // Nobody reads any more, which is an end like another.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        })
    }

    /// Ends every thread in an orderly way.
    pub async fn end(&self) {
        self.0.house.end().await;
    }

    fn session_pool(&self) -> &SessionPool {
        &self.0.house
    }

    fn host_services(&self) -> &dyn HostServices {
        &*self.0.office
    }

    fn home(&self) -> &Path {
        &self.0.home
    }

    fn next_number(&self) -> u64 {
        self.0.numbers.fetch_add(1, Ordering::Relaxed)
    }

    fn news(&self) -> &ClientBroadcast {
        &self.0.news
    }

    /// Tells all clients something that concerns none in particular.
    fn announce(&self, notification: ServerNotification) {
        self.0.news.publish(notification, None);
    }

    fn note_rate_limits(&self, limits: &RateLimits) {
        *self.limits() = limits.clone();
    }

    fn rate_limits(&self) -> RateLimits {
        self.limits().clone()
    }

    fn limits(&self) -> MutexGuard<'_, RateLimits> {
        let limits = self.0.rate_limits.lock();
        limits.unwrap_or_else(PoisonError::into_inner)
    }
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
