//! Asks the process that runs a tree.

use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::UnixStream;
use tokio::time::timeout;
use troupe_protocol::SessionId;

use super::request::{Answer, Request, VERSION, Versioned};
use super::{line, socket};
use crate::limits::{CONTROL_ANSWER_BYTES_MAX, CONTROL_ANSWER_MS_MAX, CONTROL_REQUEST_MS_MAX};

/// Asks, and returns the answer; `None` if no process runs the tree.
pub async fn ask(
    home: &Path,
    root: SessionId,
    request: &Request,
) -> anyhow::Result<Option<Answer>> {
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

/// Tells whether a process runs the tree. One that cannot be asked is there all the same.
pub async fn is_there(home: &Path, root: SessionId) -> bool {
    !matches!(socket::connect(home, root).await, Ok(None))
}

pub(super) async fn exchange(
    stream: UnixStream,
    request: &Request,
    user: u32,
) -> anyhow::Result<Answer> {
    let listener = socket::peer_user(&stream)?;
    if listener != user {
        anyhow::bail!("another user ({listener}) listens there; look at who may write in the home");
    }
    let (read, write) = stream.into_split();
    let exchanged = async {
        let request = Versioned {
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
