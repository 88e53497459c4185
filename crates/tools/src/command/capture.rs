//! What is kept of a command's output, and what is passed on while it runs.

use bytes::Bytes;
use troupe_process::OutputBuffer;
use troupe_protocol::command::OutputStream;

use crate::call::{CallChannel, ToolEvent};
use crate::limits::{CAPTURE_BYTES_MAX, OUTPUT_EVENT_BYTES_MAX, OUTPUT_EVENTS_MAX};

/// What people who watch are told when no more is passed on.
const NOT_STREAMED: &str =
    "\n… there is more output than can be shown while the command runs; its end follows …\n";

/// One read's worth of output.
#[derive(Debug, Clone)]
pub(crate) struct OutputPiece {
    pub stream: OutputStream,
    pub bytes: Bytes,
}

/// The output of one call: both streams together, and each alone.
#[derive(Debug)]
pub(crate) struct OutputCapture {
    pub aggregated: OutputBuffer,
    pub stdout: OutputBuffer,
    pub stderr: OutputBuffer,
    events_left: usize,
}

impl OutputCapture {
    pub(crate) fn new() -> Self {
        Self {
            aggregated: OutputBuffer::new(CAPTURE_BYTES_MAX),
            stdout: OutputBuffer::new(CAPTURE_BYTES_MAX),
            stderr: OutputBuffer::new(CAPTURE_BYTES_MAX),
            events_left: OUTPUT_EVENTS_MAX,
        }
    }

    /// Keeps the piece and passes it on. After [`OUTPUT_EVENTS_MAX`] events it is only kept, which
    /// the last of them says.
    pub(crate) async fn take(&mut self, piece: OutputPiece, channel: &dyn CallChannel) {
        self.keep(&piece);
        let mut rest = piece.bytes;
        while !rest.is_empty() && self.events_left > 0 {
            self.events_left -= 1;
            let stream = piece.stream;
            let bytes = match self.events_left {
                0 => Bytes::from_static(NOT_STREAMED.as_bytes()),
                _ => rest.split_to(rest.len().min(OUTPUT_EVENT_BYTES_MAX)),
            };
            channel.report(ToolEvent::Output { stream, bytes }).await;
        }
    }

    pub(super) fn keep(&mut self, piece: &OutputPiece) {
        self.aggregated.push(&piece.bytes);
        match piece.stream {
            OutputStream::Stdout => self.stdout.push(&piece.bytes),
            OutputStream::Stderr => self.stderr.push(&piece.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use troupe_protocol::approval::{ReviewDecision, UserInputRequest, UserInputResponse};

    use super::*;
    use crate::call::ApprovalQuestion;

    #[derive(Debug, Default)]
    struct Onlooker(Mutex<Vec<Bytes>>);

    #[async_trait]
    impl CallChannel for Onlooker {
        async fn report(&self, event: ToolEvent) {
            if let ToolEvent::Output { bytes, .. } = event {
                self.0.lock().unwrap().push(bytes);
            }
        }

        async fn ask(&self, _: ApprovalQuestion) -> ReviewDecision {
            ReviewDecision::Denied
        }

        async fn question(&self, _: UserInputRequest) -> Option<UserInputResponse> {
            None
        }
    }

    #[tokio::test]
    async fn who_watches_a_flood_is_told_once_that_no_more_is_shown() {
        let (mut capture, onlooker) = (OutputCapture::new(), Onlooker::default());
        for _ in 0..OUTPUT_EVENTS_MAX + 10 {
            let piece = OutputPiece {
                stream: OutputStream::Stdout,
                bytes: Bytes::from_static(b"y\n"),
            };
            capture.take(piece, &onlooker).await;
        }
        let seen = onlooker.0.into_inner().unwrap();
        assert_eq!(seen.len(), OUTPUT_EVENTS_MAX);
        let notes = seen.iter().filter(|bytes| **bytes == NOT_STREAMED);
        assert_eq!(notes.count(), 1);
        assert_eq!(seen.last().unwrap(), NOT_STREAMED);
    }
}
