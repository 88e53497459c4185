//! Listens for as long as this process runs a tree.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::net::UnixStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;
use troupe_agents::{Agents, AgentsConfigurator, Plantings};
use troupe_process::check_peer;

use super::act::act;
use super::request::{Answer, Request, VERSION, Versioned};
use super::{line, socket};
use crate::commands::tell;
use crate::limits::{
    CONTROL_ANSWER_MS_MAX, CONTROL_CONNECTIONS_MAX, CONTROL_REQUEST_BYTES_MAX,
    CONTROL_REQUEST_MS_MAX,
};

/// Ends the listening when it is dropped.
pub type Guard = AbortOnDropHandle<()>;

/// Opens the trees of this process's sessions to other programs of the same user. Costs a
/// session without children nothing but a task that sleeps.
pub fn serve(configurator: &AgentsConfigurator, home: &Path) -> Guard {
    let listening = run(configurator.plantings(), home.to_owned());
    Guard::new(tokio::spawn(listening))
}

async fn run(mut plantings: Plantings, home: PathBuf) {
    let mut next = plantings.next().await;
    while let Some((root, agents)) = next {
        if agents.is_ephemeral() {
            // Nothing of it is in the home, so nobody can name it there.
            next = plantings.next().await;
            continue;
        }
        next = match socket::Socket::bind(&home, root) {
            Ok(socket) => tokio::select! {
                later = plantings.next() => later,
                error = accept(&socket, &agents) => {
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
async fn accept(socket: &socket::Socket, agents: &Agents) -> io::Error {
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
        let desk = agents.user();
        connections.spawn(async move {
            let act = |request| async move { act(&desk, request).await };
            // A client that went away hears nothing; there is nobody else to tell.
            answer(stream, socket::own_user(), act).await.ok();
            drop(place);
        });
    }
}

/// Takes one request of `user` and answers it.
pub(super) async fn answer<F, A>(stream: UnixStream, user: u32, act: A) -> io::Result<()>
where
    F: Future<Output = Answer>,
    A: FnOnce(Request) -> F,
{
    let (read, write) = stream.into_split();
    if let Err(error) = check_peer(read.as_ref(), user) {
        return line::write(write, &refused(error.to_string())).await;
    }
    let request = timeout(
        Duration::from_millis(CONTROL_REQUEST_MS_MAX),
        line::read::<Versioned<Value>>(read, CONTROL_REQUEST_BYTES_MAX),
    );
    let answer = match request.await {
        Err(_) => return Err(io::ErrorKind::TimedOut.into()),
        Ok(Err(error)) => refused(format!("not understood: {error}")),
        Ok(Ok(request)) => perform(request, act).await,
    };
    line::write(write, &answer).await
}

async fn perform<F, A>(request: Versioned<Value>, act: A) -> Answer
where
    F: Future<Output = Answer>,
    A: FnOnce(Request) -> F,
{
    let Versioned { version, body } = request;
    if version != VERSION {
        return refused(format!(
            "the tree is run by troupe {} (control version {VERSION}), and this one speaks \
             version {version}; use the same troupe",
            env!("CARGO_PKG_VERSION")
        ));
    }
    let request: Request = match serde_json::from_value(body) {
        Ok(request) => request,
        Err(error) => return refused(format!("not understood: {error}")),
    };
    let time = Duration::from_millis(CONTROL_ANSWER_MS_MAX);
    match timeout(time, act(request)).await {
        Ok(answer) => answer,
        Err(_) => refused("the tree does not answer; its disk may be slow or full".to_owned()),
    }
}

fn refused(message: String) -> Answer {
    Answer::Refused { message }
}
