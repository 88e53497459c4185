//! Asks the process that runs a tree.

use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;
use troupe_protocol::SessionId;

use super::request::{
    CommandNews, ControlAnswer, ControlRequest, FeedRequest, VERSION, VersionedLine,
};
use super::{line, socket};
use crate::limits::{CONTROL_ANSWER_BYTES_MAX, CONTROL_ANSWER_MS_MAX, CONTROL_REQUEST_MS_MAX};

/// Asks, and returns the answer; `None` if no process runs the tree.
pub async fn ask(
    home: &Path,
    root: SessionId,
    request: &ControlRequest,
) -> anyhow::Result<Option<ControlAnswer>> {
    let context = || {
        let directory = socket::directory(home);
        format!(
            "cannot ask the process that runs session {}, at {}",
            root.short(),
            directory.display()
        )
    };
    let connected = socket::connect(home, root).await.with_context(context)?;
    let Some(stream) = connected else {
        return Ok(None);
    };
    let answer = exchange(stream, request, socket::own_user());
    answer.await.map(Some).with_context(context)
}

/// Tells whether a process runs the tree.
pub async fn is_run(home: &Path, root: SessionId) -> bool {
    socket::connect(home, root)
        .await
        .is_ok_and(|it| it.is_some())
}

/// What a process tells of a child's commands, piece by piece.
#[derive(Debug)]
pub struct OutputFeed {
    source: BufReader<OwnedReadHalf>,
    line: Vec<u8>,
    /// Closing it would be leaving.
    _open: OwnedWriteHalf,
}

impl OutputFeed {
    /// Returns the next piece; `None` at the end. Safe to cancel.
    pub async fn next(&mut self) -> Option<CommandNews> {
        let mut source = (&mut self.source).take(CONTROL_ANSWER_BYTES_MAX);
        source.read_until(b'\n', &mut self.line).await.ok()?;
        let line = std::mem::take(&mut self.line);
        serde_json::from_slice(&line).ok()
    }
}

/// Asks what a child's commands write; `None` if nobody is there to tell.
pub async fn feed(home: &Path, root: SessionId, session: SessionId) -> Option<OutputFeed> {
    let stream = socket::connect(home, root).await.ok()??;
    if socket::peer_user(&stream).ok()? != socket::own_user() {
        return None;
    }
    let (read, mut write) = stream.into_split();
    let request = VersionedLine {
        version: VERSION,
        body: FeedRequest { session },
    };
    line::write(&mut write, &request).await.ok()?;
    Some(OutputFeed {
        source: BufReader::new(read),
        line: Vec::new(),
        _open: write,
    })
}

/// Tells whether a process runs the tree. One that cannot be asked is there all the same.
pub async fn is_there(home: &Path, root: SessionId) -> bool {
    !matches!(socket::connect(home, root).await, Ok(None))
}

pub(super) async fn exchange(
    stream: UnixStream,
    request: &ControlRequest,
    user: u32,
) -> anyhow::Result<ControlAnswer> {
    let listener = socket::peer_user(&stream)?;
    if listener != user {
        anyhow::bail!("another user ({listener}) listens there; look at who may write in the home");
    }
    let (read, write) = stream.into_split();
    let exchanged = async {
        let request = VersionedLine {
            version: VERSION,
            body: request,
        };
        line::write(write, &request).await?;
        line::read(read, CONTROL_ANSWER_BYTES_MAX).await
    };
    // The other side gives up a little earlier, and says why.
    let time = Duration::from_millis(CONTROL_REQUEST_MS_MAX + CONTROL_ANSWER_MS_MAX);
    match timeout(time, exchanged).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut))
            .context("it does not answer; it may be stopped"),
    }
}
