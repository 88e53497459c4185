//! What a command says: told as it comes, or kept until its end; of each stream so much.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use troupe_protocol::command::OutputStream;
use troupe_protocol::discard;

use crate::connection::AppConnection;
use crate::wire::command::{CommandExecOutputDeltaNotification, CommandExecOutputStream};
use crate::wire::notification::ServerNotification;

#[derive(Debug)]
pub(super) struct CommandOutputs {
    kind: OutputDelivery,
    stdout: StreamCapture,
    stderr: StreamCapture,
}

#[derive(Debug)]
enum OutputDelivery {
    Streamed {
        client: AppConnection,
        process_id: String,
    },
    Collected,
}

#[derive(Debug)]
struct StreamCapture {
    /// What may still come.
    room_bytes: u64,
    /// More came than counts.
    is_cut: bool,
    kept: Vec<u8>,
}

impl CommandOutputs {
    pub(super) fn streamed(client: AppConnection, process_id: String, bytes_max: u64) -> Self {
        Self::new(OutputDelivery::Streamed { client, process_id }, bytes_max)
    }

    pub(super) fn collected(bytes_max: u64) -> Self {
        Self::new(OutputDelivery::Collected, bytes_max)
    }

    fn new(kind: OutputDelivery, bytes_max: u64) -> Self {
        let stream = || StreamCapture {
            room_bytes: bytes_max,
            is_cut: false,
            kept: Vec::new(),
        };
        Self {
            kind,
            stdout: stream(),
            stderr: stream(),
        }
    }

    /// Takes output. A client that does not read makes the command wait.
    pub(super) async fn take(&mut self, from: OutputStream, bytes: &[u8]) {
        let (stream, name) = match from {
            OutputStream::Stdout => (&mut self.stdout, CommandExecOutputStream::Stdout),
            OutputStream::Stderr => (&mut self.stderr, CommandExecOutputStream::Stderr),
        };
        let Some((piece, cap_reached)) = stream.admit(bytes) else {
            return;
        };
        match &self.kind {
            OutputDelivery::Collected => stream.kept.extend_from_slice(piece),
            OutputDelivery::Streamed { client, process_id } => {
                let delta = CommandExecOutputDeltaNotification {
                    process_id: process_id.clone(),
                    stream: name,
                    delta_base64: BASE64_STANDARD.encode(piece),
                    cap_reached,
                };
                let delta = ServerNotification::CommandExecOutputDelta(delta);
                // With a client that is gone this command ends.
                discard!(client.notify(&delta).await, "the client is gone");
            }
        }
    }

    /// Returns what was kept, as text.
    pub(super) fn into_texts(self) -> (String, String) {
        let text = |stream: StreamCapture| String::from_utf8_lossy(&stream.kept).into_owned();
        (text(self.stdout), text(self.stderr))
    }
}

impl StreamCapture {
    /// Returns what still counts of these bytes, and whether the rest does not.
    fn admit<'a>(&mut self, bytes: &'a [u8]) -> Option<(&'a [u8], bool)> {
        if self.is_cut || bytes.is_empty() {
            return None;
        }
        let room = usize::try_from(self.room_bytes).unwrap_or(usize::MAX);
        let piece = &bytes[..bytes.len().min(room)];
        self.room_bytes -= piece.len() as u64;
        self.is_cut = piece.len() < bytes.len();
        Some((piece, self.is_cut))
    }
}
