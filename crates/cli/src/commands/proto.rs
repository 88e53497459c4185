//! `troupe proto`: the queue pair itself, as lines of JSON.

use std::env;
use std::sync::Arc;

use clap::Args;
use futures_util::{StreamExt as _, stream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use troupe_engine::{Deps, EventStream, SessionHandle, spawn};
use troupe_protocol::session::SessionSource;
use troupe_protocol::{Event, EventMsg, Op, Submission, SubmissionId};
use troupe_transport::{EventWriter, Frame, Refusal, SubmissionReader};

use crate::arguments::{Layers, Overrides};
use crate::commands::block_on;
use crate::failure::{Exit, Failure, Outcome};
use crate::home::Home;
use crate::layers::ConfigSource;
use crate::limits::REFUSALS_WAITING_MAX;
use crate::wiring::Wiring;

#[derive(Debug, Args)]
#[command(
    after_help = "The first submission must be configure_session. End of input shuts the session down.

Example:
  printf '%s\\n' '{\"id\":\"1\",\"op\":{\"type\":\"configure_session\"}}' \\
                '{\"id\":\"2\",\"op\":{\"type\":\"user_input\",\"items\":[{\"type\":\"text\",\"text\":\"hi\"}]}}' \\
    | troupe proto"
)]
pub struct ProtoArguments {
    #[command(flatten)]
    overrides: Overrides,
}

pub fn run(arguments: ProtoArguments, overrides: Overrides, layers: Layers) -> Outcome {
    let cwd = env::current_dir().map_err(Failure::not_started)?;
    let source = ConfigSource {
        home: Home::find()?,
        overrides: overrides.then(arguments.overrides),
        layers,
        flags: Vec::new(),
    };
    let wiring = Wiring::new(source, &cwd, SessionSource::Cli)?;
    block_on(async {
        let (handle, events) = spawn(Deps::new(Arc::new(wiring)));
        serve(handle, events, tokio::io::stdin(), tokio::io::stdout()).await
    })
}

/// Moves lines until the session or the client's input ends.
async fn serve(
    handle: SessionHandle,
    events: EventStream,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
) -> Outcome {
    // A client that floods us with nonsense waits for its own refusals to be read.
    let (refuse, refusals) = mpsc::channel(REFUSALS_WAITING_MAX);
    let mut writer = EventWriter::new(output);
    let written = writer.forward(merged(events, refusals));
    // The handle lives until the last event is written: without it the session would end
    // before it has done what it was asked.
    let read = read(&handle, refuse, SubmissionReader::new(input));
    let mut written = std::pin::pin!(written);
    tokio::select! {
        // The session may end while the client still holds its end open.
        outcome = &mut written => outcome.map_err(Failure::failed)?,
        outcome = read => {
            outcome?;
            written.await.map_err(Failure::failed)?;
        }
    }
    Ok(Exit::Success)
}

/// Hands submissions to the session. At the end of input the session is shut down, and
/// what it still has to say is written.
async fn read(
    handle: &SessionHandle,
    refuse: mpsc::Sender<Refusal>,
    mut reader: SubmissionReader<impl AsyncRead + Unpin>,
) -> Result<(), Failure> {
    while let Some(frame) = reader.next().await? {
        let taken = match frame {
            Frame::Submission(submission) => handle.submit(*submission).await.is_ok(),
            Frame::Refused(refusal) => refuse.send(refusal).await.is_ok(),
        };
        if !taken {
            return Ok(());
        }
    }
    let shutdown = Submission {
        id: SubmissionId::from("end-of-input"),
        op: Op::Shutdown,
    };
    // A session that has already ended needs no shutdown.
    let _ = handle.submit(shutdown).await;
    Ok(())
}

/// Merges the session's events and the refusals of lines that never became submissions.
/// A refusal is no event of the session, so it takes no number of its own but repeats the
/// last one: a client that counts them misses nothing.
fn merged(
    events: EventStream,
    refusals: mpsc::Receiver<Refusal>,
) -> impl futures_util::Stream<Item = Arc<Event>> {
    struct State {
        events: EventStream,
        refusals: mpsc::Receiver<Refusal>,
        seq: u64,
    }
    let state = State {
        events,
        refusals,
        seq: 0,
    };
    stream::unfold(state, async |mut state| {
        let event = tokio::select! {
            // A refusal comes before what later lines cause.
            biased;
            Some(refusal) = state.refusals.recv() => Arc::new(Event {
                id: refusal.id.clone().unwrap_or_default(),
                seq: state.seq,
                msg: EventMsg::Error(refusal.into()),
            }),
            event = state.events.next() => event?,
        };
        state.seq = event.seq;
        Some((event, state))
    })
    .fuse()
}
