//! Lets other terminals attach to a session that this process runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use troupe_engine::{EventTap, SessionHandle};
use troupe_protocol::SessionId;
use troupe_server::limits::KEEPALIVE_MS;
use troupe_server::{
    ListenOptions, ListenReach, PromptCommandLibrary, PromptHistory, ProtoServer, ReadMarks,
    SessionOffice, StopSignal, TreeSource,
};

use super::place::AttachPlace;
use crate::commands::listen_arguments::private_directory;
use crate::commands::tell;
use crate::limits::ATTACHABLE_AFTER_MS;

/// A session that is, or will be, open to others. It ends by itself with the session.
#[derive(Debug)]
pub struct AttachOffer(JoinHandle<()>);

impl AttachOffer {
    /// Returns when everybody who was attached has heard the end of the session. To be called once
    /// that is near.
    pub async fn ended(self) {
        // One that panicked has told nobody, and there is nobody left to tell.
        self.0.await.ok();
    }
}

/// The file of a home that keeps what people typed.
const PROMPTS_FILE: &str = "prompts.jsonl";

/// The file that keeps which results were read.
const READ_MARKS_FILE: &str = "read.jsonl";

/// A session, as others attach to it.
#[derive(Debug)]
pub struct AttachPoint {
    pub session: SessionId,
    pub handle: SessionHandle,
    pub events: EventTap,
    pub tree: TreeSource,
    /// The prompts that clients call by name.
    pub commands: Arc<dyn PromptCommandLibrary>,
}

/// A server at the socket of a session, and the place that it needs to be found.
#[derive(Debug)]
pub struct AttachServer {
    pub server: ProtoServer,
    /// The path of the socket may lead through it.
    _place: AttachPlace,
}

/// Listens at the socket of a session whose lease this process holds.
pub async fn offer(
    home: &Path,
    session: SessionId,
    tree: TreeSource,
    commands: Arc<dyn PromptCommandLibrary>,
) -> anyhow::Result<AttachServer> {
    private_directory(home)?;
    let place = AttachPlace::of(home, session)?;
    let options = ListenOptions {
        listen: vec![place.address()],
        token: None,
        reach: ListenReach::ThisMachine,
        hosts: Vec::new(),
        origins: Vec::new(),
        tls: None,
        keepalive: Duration::from_millis(KEEPALIVE_MS),
    };
    let prompts = PromptHistory::new(home.join(PROMPTS_FILE));
    let marks = ReadMarks::new(home.join(READ_MARKS_FILE));
    let office = SessionOffice::new(tree)
        .with_prompts(prompts)
        .with_read_marks(marks)
        .with_commands(commands);
    Ok(AttachServer {
        server: ProtoServer::bind(options).await?.with_office(office),
        _place: place,
    })
}

/// As [`offer`], beside whoever runs the session, and only once it has lasted for a while: most
/// runs are over before anybody could attach.
pub fn offer_later(home: PathBuf, point: AttachPoint) -> AttachOffer {
    let AttachPoint {
        session,
        handle,
        events,
        tree,
        commands,
    } = point;
    AttachOffer(tokio::spawn(async move {
        tokio::select! {
            () = events.ended() => return,
            () = tokio::time::sleep(Duration::from_millis(ATTACHABLE_AFTER_MS)) => (),
        }
        match offer(&home, session, tree, commands).await {
            Ok(AttachServer { server, _place }) => {
                server.run_beside(handle, events, Endless).await;
            }
            Err(error) => tell(&format!(
                "warning: `troupe attach` cannot reach this session: {error:#}"
            )),
        }
    }))
}

/// Nobody but its owner ends the session.
struct Endless;

impl StopSignal for Endless {
    async fn wanted(&mut self) {
        std::future::pending::<()>().await;
    }
}
