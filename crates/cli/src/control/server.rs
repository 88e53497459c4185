//! Listens for as long as this process runs a tree.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize as _;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;
use troupe_agents::{AgentsConfigurator, NewTrees};
use troupe_engine::EventTap;
use troupe_process::check_peer;
use troupe_protocol::SessionId;
use troupe_protocol::discard;

use super::act::act;
use super::feed::OutputFeeder;
use super::request::{ControlAnswer, ControlRequest, FeedRequest, VERSION, VersionedLine};
use super::{line, socket};
use crate::commands::tell;
use crate::limits::{
    CONTROL_ANSWER_MS_MAX, CONTROL_CONNECTIONS_MAX, CONTROL_REQUEST_BYTES_MAX,
    CONTROL_REQUEST_MS_MAX,
};

/// Ends the listening when it is dropped.
pub type Guard = AbortOnDropHandle<()>;

/// Opens the trees of this process's sessions to other programs of the same user. Costs a
/// session without children nothing but a task that sleeps. Without the root's events only those
/// of its children can be fed to others.
pub fn serve(
    configurator: &AgentsConfigurator,
    home: &Path,
    root_events: Option<EventTap>,
) -> Guard {
    let listening = run(configurator.plantings(), home.to_owned(), root_events);
    Guard::new(tokio::spawn(listening))
}

async fn run(mut plantings: NewTrees, home: PathBuf, root_events: Option<EventTap>) {
    let mut next = plantings.next().await;
    while let Some((root, agents)) = next {
        if agents.is_ephemeral() {
            // Nothing of it is in the home, so nobody can name it there.
            next = plantings.next().await;
            continue;
        }
        let feeder = OutputFeeder::new(agents, root, root_events.clone());
        next = match socket::ControlSocket::bind(&home, root) {
            Ok(socket) => tokio::select! {
                later = plantings.next() => later,
                error = accept(&socket, &feeder) => {
                    warn(&error);
                    plantings.next().await
                }
            },
            Err(error) => {
                warn(&error);
                plantings.next().await
            }
        };
    }
}

fn warn(error: &io::Error) {
    tell(&format!(
        "warning: `troupe agents` cannot reach this session while it runs: {error}"
    ));
}

/// Answers whoever connects. One that finds all places taken waits for one.
async fn accept(socket: &socket::ControlSocket, feeder: &OutputFeeder) -> io::Error {
    let places = Arc::new(Semaphore::new(CONTROL_CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return io::Error::other("the places for connections are gone");
        };
        while connections.try_join_next().is_some() {}
        let stream = match socket.listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => return error,
        };
        let feeder = feeder.clone();
        let span = tracing::info_span!("connection", entrance = "control");
        let served = async move {
            tracing::debug!("a client of the control socket connects");
            let desk = feeder.agents().user();
            let act = |request| async move { act(&desk, request).await };
            // A client that went away hears nothing; there is nobody else to tell.
            if let Ok(Some(wanted)) = answer(stream, socket::own_user(), act).await {
                let FeedSubscription {
                    session,
                    read,
                    write,
                } = wanted;
                discard!(
                    feeder.feed(session, read, write).await,
                    "a client of the control socket is gone"
                );
            }
            drop(place);
        };
        connections.spawn(served.instrument(span));
    }
}

/// A client that is told more than one answer.
#[derive(Debug)]
pub(super) struct FeedSubscription {
    session: SessionId,
    read: OwnedReadHalf,
    write: OwnedWriteHalf,
}

/// Takes one request of `user` and answers it, unless it takes more than one answer.
pub(super) async fn answer<F, A>(
    stream: UnixStream,
    user: u32,
    act: A,
) -> io::Result<Option<FeedSubscription>>
where
    F: Future<Output = ControlAnswer>,
    A: FnOnce(ControlRequest) -> F,
{
    let (mut read, write) = stream.into_split();
    if let Err(error) = check_peer(read.as_ref(), user) {
        line::write(write, &refused(error.to_string())).await?;
        return Ok(None);
    }
    let request = timeout(
        Duration::from_millis(CONTROL_REQUEST_MS_MAX),
        line::read::<VersionedLine<Value>>(&mut read, CONTROL_REQUEST_BYTES_MAX),
    );
    let request = match request.await {
        Err(_) => return Err(io::ErrorKind::TimedOut.into()),
        Ok(Err(error)) => Err(format!("not understood: {error}")),
        Ok(Ok(request)) => understood(request),
    };
    let answer = match request {
        Err(message) => refused(message),
        Ok(SocketRequest::Feed(FeedRequest { session })) => {
            return Ok(Some(FeedSubscription {
                session,
                read,
                write,
            }));
        }
        Ok(SocketRequest::Answer(request)) => perform(request, act).await,
    };
    line::write(write, &answer).await?;
    Ok(None)
}

/// What a client asks for.
enum SocketRequest {
    Answer(ControlRequest),
    Feed(FeedRequest),
}

fn understood(request: VersionedLine<Value>) -> Result<SocketRequest, String> {
    let VersionedLine { version, body } = request;
    if version != VERSION {
        return Err(format!(
            "the tree is run by troupe {} (control version {VERSION}), and this one speaks \
             version {version}; use the same troupe",
            env!("CARGO_PKG_VERSION")
        ));
    }
    if let Ok(feed) = FeedRequest::deserialize(&body) {
        return Ok(SocketRequest::Feed(feed));
    }
    let request = serde_json::from_value(body);
    request
        .map(SocketRequest::Answer)
        .map_err(|error| format!("not understood: {error}"))
}

async fn perform<F, A>(request: ControlRequest, act: A) -> ControlAnswer
where
    F: Future<Output = ControlAnswer>,
    A: FnOnce(ControlRequest) -> F,
{
    let time = Duration::from_millis(CONTROL_ANSWER_MS_MAX);
    match timeout(time, act(request)).await {
        Ok(answer) => answer,
        Err(_) => refused("the tree does not answer; its disk may be slow or full".to_owned()),
    }
}

fn refused(message: String) -> ControlAnswer {
    ControlAnswer::Refused { message }
}
