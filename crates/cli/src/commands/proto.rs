//! `troupe proto`: the queue pair itself, as lines of JSON or over a socket.

mod listening;

use std::env;

use clap::Args;
use futures_util::stream;
use tokio::io::{AsyncRead, AsyncWrite};
use troupe_engine::{EventStream, SessionHandle, spawn};
use troupe_protocol::session::SessionSource;
use troupe_transport::{Address, EventWriter, Frame, SubmissionReader};

use crate::arguments::{Layers, Overrides};
use crate::commands::block_on;
use crate::control;
use crate::failure::{Exit, Failure, Outcome};
use crate::home::Home;
use crate::layers::ConfigSource;
use crate::wiring::{Grove, Wiring};
use listening::ListenArguments;

#[derive(Debug, Args)]
#[command(
    after_help = "The first submission must be configure_session. On standard input and output, at the end of
input the session does what it was asked, refuses what it would have to ask, and ends.

With --listen any number of clients share the session: one drives, the others follow. It ends
by a shutdown of the driver's, or by Ctrl-C. docs/wire.md has the messages.

Examples:
  printf '%s\\n' '{\"id\":\"1\",\"op\":{\"type\":\"configure_session\"}}' \\
                '{\"id\":\"2\",\"op\":{\"type\":\"user_input\",\"items\":[{\"type\":\"text\",\"text\":\"hi\"}]}}' \\
    | troupe proto

  troupe proto --listen unix:/tmp/t.sock --listen http:127.0.0.1:7000
  curl -N -H \"Authorization: Bearer $(cat ~/.troupe/run/proto.token)\" \\
    --http2-prior-knowledge 'http://127.0.0.1:7000/v1/events'"
)]
pub struct ProtoArguments {
    #[command(flatten)]
    listen: ListenArguments,
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
    let home = source.home.clone();
    let listen = arguments.listen;
    listen.check()?;
    let wiring = Wiring::new(source, &cwd, SessionSource::Cli)?;
    block_on(async {
        let server = match listen.addresses() {
            [] | [Address::Stdio] => None,
            _ => Some(listen.bind(&home).await?),
        };
        let Grove { deps, configurator } = wiring.with_agents(None);
        let _control = control::serve(&configurator, home.path());
        let (handle, events) = spawn(deps);
        match server {
            Some(listening) => listening.serve(handle, events).await,
            None => serve(handle, events, tokio::io::stdin(), tokio::io::stdout()).await,
        }
    })
}

/// Moves lines until the session or the client's input ends.
async fn serve(
    handle: SessionHandle,
    events: EventStream,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
) -> Outcome {
    let mut writer = EventWriter::new(output);
    let written = writer.forward(stream::unfold(events, async |mut events| {
        Some((events.next().await?, events))
    }));
    // The handle lives until the last event is written: without it the session would end
    // before it has done what it was asked.
    let read = read(&handle, SubmissionReader::new(input));
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

/// Hands submissions to the session. At the end of input it does what it was asked, refuses
/// what it would have to ask, and ends.
async fn read(
    handle: &SessionHandle,
    mut reader: SubmissionReader<impl AsyncRead + Unpin>,
) -> Result<(), Failure> {
    while let Some(frame) = reader.next().await? {
        let taken = match frame {
            Frame::Submission(submission) => handle.submit(*submission).await,
            Frame::Refused(refusal) => {
                let id = refusal.id.clone().unwrap_or_default();
                handle.refuse(id, refusal.into()).await
            }
        };
        if taken.is_err() {
            return Ok(());
        }
    }
    // A session that has already ended needs no last word.
    handle.finish().await.ok();
    Ok(())
}
