//! One client on a pair of pipes: the queue pair as lines of JSON, and nothing else. There is
//! no hello and no seat, because nobody else can come.

use std::io;
use std::pin::pin;

use futures_util::stream;
use tokio::io::{AsyncRead, AsyncWrite};
use troupe_engine::{EventStream, SessionHandle};
use troupe_protocol::discard;
use troupe_transport::{EventWriter, SubmissionFrame, SubmissionReader, WriteError};

/// Why a client cannot be served any more.
#[derive(Debug, thiserror::Error)]
pub enum PipeError {
    #[error("submissions cannot be read: {0}")]
    Read(#[from] io::Error),
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Moves lines until the session ends. When the client's input ends before it, the session
/// does what it was asked, refuses what it would have to ask, and ends.
pub async fn serve(
    handle: SessionHandle,
    events: EventStream,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
) -> Result<(), PipeError> {
    let mut writer = EventWriter::new(output);
    let written = writer.forward(stream::unfold(events, async |mut events| {
        Some((events.next().await?, events))
    }));
    // The handle lives until the last event is written: without it the session would end
    // before it has done what it was asked.
    let read = read(&handle, SubmissionReader::new(input));
    let mut written = pin!(written);
    tokio::select! {
        // The session may end while the client still holds its end open.
        outcome = &mut written => outcome?,
        outcome = read => {
            outcome?;
            written.await?;
        }
    }
    Ok(())
}

/// Hands submissions to the session, and at the end of input its last word.
async fn read(
    handle: &SessionHandle,
    mut reader: SubmissionReader<impl AsyncRead + Unpin>,
) -> io::Result<()> {
    while let Some(frame) = reader.next().await? {
        let taken = match frame {
            SubmissionFrame::Submission(submission) => handle.submit(*submission).await,
            SubmissionFrame::Refused(refusal) => {
                let id = refusal.id.clone().unwrap_or_default();
                handle.refuse(id, refusal.into()).await
            }
        };
        if taken.is_err() {
            return Ok(());
        }
    }
    // A session that has already ended needs no last word.
    discard!(handle.finish().await, "the session has ended");
    Ok(())
}
