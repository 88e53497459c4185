//! Carries lines between the program and its connection, and owns the process. When either end
//! is gone, so is the process, and everything that it had started.

use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES as AGENT, CLIENT_METHOD_NAMES as CLIENT, CancelNotification, ContentBlock,
    ContentChunk, RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    SessionId, SessionNotification, SessionUpdate,
};
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};
use tokio::time::{Duration, Instant, sleep_until};
use troupe_process::{Process, ProcessEvent, ProcessExit};
use troupe_protocol::command::OutputStream;
use troupe_protocol::discard;
use troupe_transport::rpc::{IncomingMessage, Outbox, RequestId, RpcError, codes, decode};

use super::connection::{PermissionQuestion, ProgramUpdate, TextPiece};
use crate::limits::{BACKEND_CANCEL_MS_MAX, BACKEND_MESSAGE_BYTES_MAX};
use crate::text::OutputTail;

pub(super) struct IoPump {
    pub process: Process,
    pub to_write: mpsc::Receiver<Vec<u8>>,
    pub outbox: Outbox,
    pub said: mpsc::Sender<ProgramUpdate>,
    /// The number of the request that is cancelled.
    pub cancelled: watch::Receiver<u64>,
    /// How many requests were answered. They are made one after the other.
    pub answered: u64,
    /// The conversation, once it has begun.
    pub session: watch::Receiver<Option<SessionId>>,
    pub lines: AcpLineBuffer,
    pub complaint: OutputTail,
    pub obituary: watch::Sender<Option<String>>,
    /// When the prompt that was cancelled must have been answered, until it is.
    pub patience: Option<Instant>,
}

/// Why nothing is carried any more.
enum PumpEnd {
    Exited(ProcessExit),
    NotNeeded,
    TooLong,
    /// It was told to stop, and did not.
    Deaf,
}

/// Receiver of the program's updates.
enum UpdateListener {
    Companion,
    Nobody,
}

impl IoPump {
    pub(super) async fn run(mut self) {
        let mut end = self.carry().await;
        self.process.kill().await;
        if let PumpEnd::NotNeeded = end {
            // A program that exits before it has read its first line is left, too. Then its own
            // end is the reason.
            while let Some(event) = self.process.next().await {
                match event {
                    ProcessEvent::Output { stream, bytes } => self.note(stream, &bytes),
                    ProcessEvent::Exited(exit) => end = PumpEnd::Exited(exit),
                }
            }
        }
        let end = match end {
            PumpEnd::Exited(exit) => exit.in_words(),
            PumpEnd::NotNeeded => "it was no longer needed".to_owned(),
            PumpEnd::TooLong => format!(
                "it sent a message of more than {BACKEND_MESSAGE_BYTES_MAX} bytes and was ended"
            ),
            PumpEnd::Deaf => format!(
                "it went on for {BACKEND_CANCEL_MS_MAX} ms after it was cancelled and was ended"
            ),
        };
        let complaint = self.complaint.as_str().trim();
        self.obituary.send_replace(Some(if complaint.is_empty() {
            end
        } else {
            format!("{end}; it wrote: {complaint}")
        }));
    }

    async fn carry(&mut self) -> PumpEnd {
        loop {
            let patience = self.patience;
            tokio::select! {
                event = self.process.next() => match event {
                    Some(ProcessEvent::Output { stream: OutputStream::Stdout, bytes }) => {
                        self.lines.push(&bytes);
                        if let Err(end) = self.read().await {
                            return end;
                        }
                    }
                    Some(ProcessEvent::Output { stream, bytes }) => self.note(stream, &bytes),
                    Some(ProcessEvent::Exited(exit)) => return PumpEnd::Exited(exit),
                    None => return PumpEnd::NotNeeded,
                },
                message = self.to_write.recv() => match message {
                    Some(message) => self.write(message).await,
                    None => return PumpEnd::NotNeeded,
                },
                changed = self.cancelled.changed() => match changed {
                    Ok(()) => self.write_cancel().await,
                    Err(_) => return PumpEnd::NotNeeded,
                },
                () = self.said.closed() => return PumpEnd::NotNeeded,
                () = sleep_until(patience.unwrap_or_else(Instant::now)), if patience.is_some() => {
                    return PumpEnd::Deaf;
                }
            }
        }
    }

    fn note(&mut self, stream: OutputStream, bytes: &[u8]) {
        if stream == OutputStream::Stderr {
            self.complaint.push(&String::from_utf8_lossy(bytes));
        }
    }

    /// A program that reads no more has ended, or will be ended; its exit says so.
    async fn write(&mut self, mut message: Vec<u8>) {
        message.push(b'\n');
        discard!(
            self.process.write_stdin(&message).await,
            "a process that reads no more was written to"
        );
    }

    async fn write_cancel(&mut self) {
        let Some(session) = self.session.borrow().clone() else {
            return;
        };
        if self.answered >= *self.cancelled.borrow_and_update() {
            // The answer was earlier.
            return;
        }
        let message = json!({
            "jsonrpc": "2.0",
            "method": AGENT.session_cancel,
            "params": CancelNotification::new(session),
        });
        self.patience = Some(Instant::now() + Duration::from_millis(BACKEND_CANCEL_MS_MAX));
        self.write(message.to_string().into_bytes()).await;
    }

    /// Takes the lines that are whole.
    async fn read(&mut self) -> Result<(), PumpEnd> {
        while let Some(line) = self.lines.next() {
            match decode(&line) {
                Ok(IncomingMessage::Response(response)) => {
                    self.answered += 1;
                    self.patience = None;
                    // A program may answer what nobody asked; nobody waits for it.
                    discard!(
                        self.outbox.answered(response),
                        "a program answered what nobody asked"
                    );
                }
                Ok(IncomingMessage::Notification { method, params })
                    if method == CLIENT.session_update =>
                {
                    let told = read::<SessionNotification>(params.as_deref());
                    if let Some(said) = told.ok().and_then(|told| program_update(told.update)) {
                        self.say(said).await?;
                    }
                }
                Ok(IncomingMessage::Request { id, method, params }) => {
                    self.asked(id, &method, params.as_deref()).await?;
                }
                // Programs that print to stdout are common, and other notifications are allowed.
                Ok(IncomingMessage::Notification { .. }) | Err(_) => {}
            }
        }
        if self.lines.is_too_long() {
            Err(PumpEnd::TooLong)
        } else {
            Ok(())
        }
    }

    /// Hands on what the program says. While it is slow to hear that it was cancelled, nobody
    /// listens: what it says is dropped, so that its answer is not behind it in a full queue.
    async fn say(&mut self, said: ProgramUpdate) -> Result<UpdateListener, PumpEnd> {
        if self.patience.is_some() {
            return Ok(UpdateListener::Nobody);
        }
        let sender = self.said.clone();
        tokio::select! {
            sent = sender.send(said) => match sent {
                Ok(()) => Ok(UpdateListener::Companion),
                Err(_) => Err(PumpEnd::NotNeeded),
            },
            changed = self.cancelled.changed() => match changed {
                Ok(()) => {
                    self.write_cancel().await;
                    Ok(UpdateListener::Nobody)
                }
                Err(_) => Err(PumpEnd::NotNeeded),
            },
        }
    }

    async fn asked(
        &mut self,
        id: RequestId,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(), PumpEnd> {
        let refusal = if method == CLIENT.session_request_permission {
            match read::<RequestPermissionRequest>(params) {
                Ok(request) => {
                    let permission = Box::new(PermissionQuestion {
                        request,
                        id: id.clone(),
                    });
                    if let UpdateListener::Nobody =
                        self.say(ProgramUpdate::Permission(permission)).await?
                    {
                        let outcome = RequestPermissionOutcome::Cancelled;
                        let answer = RequestPermissionResponse::new(outcome);
                        let answer = json!({"jsonrpc": "2.0", "id": id, "result": answer});
                        self.write(answer.to_string().into_bytes()).await;
                    }
                    return Ok(());
                }
                Err(problem) => RpcError::invalid_params(problem),
            }
        } else {
            let message = format!("{method} is not offered; the capabilities say so");
            RpcError::new(codes::METHOD_NOT_FOUND, message)
        };
        // Never from here through the queue that only we empty: it may be full.
        let answer = json!({"jsonrpc": "2.0", "id": id, "error": refusal});
        self.write(answer.to_string().into_bytes()).await;
        Ok(())
    }
}

fn read<T: DeserializeOwned>(params: Option<&RawValue>) -> Result<T, String> {
    let text = params.map_or("{}", RawValue::get);
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Returns what an update says to us; none for what has no place in a child.
fn program_update(update: SessionUpdate) -> Option<ProgramUpdate> {
    Some(match update {
        SessionUpdate::AgentMessageChunk(chunk) => ProgramUpdate::Text(words(chunk)?),
        SessionUpdate::AgentThoughtChunk(chunk) => ProgramUpdate::Thought(words(chunk)?),
        SessionUpdate::ToolCall(call) => ProgramUpdate::Call(Box::new(call)),
        SessionUpdate::ToolCallUpdate(update) => ProgramUpdate::CallChanged(Box::new(update)),
        SessionUpdate::Plan(plan) => ProgramUpdate::Plan(plan),
        _ => return None,
    })
}

fn words(chunk: ContentChunk) -> Option<TextPiece> {
    match chunk.content {
        ContentBlock::Text(text) => Some(TextPiece {
            message: chunk.message_id.map(|id| id.to_string()),
            text: text.text,
        }),
        _ => None,
    }
}

/// Bytes, cut into lines.
#[derive(Debug, Default)]
pub(super) struct AcpLineBuffer {
    bytes: Vec<u8>,
    /// There is no line break before this.
    searched: usize,
}

impl AcpLineBuffer {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the next whole line out.
    fn next(&mut self) -> Option<Vec<u8>> {
        let unseen = &self.bytes[self.searched..];
        let Some(at) = unseen.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.bytes.len();
            return None;
        };
        let rest = self.bytes.split_off(self.searched + at + 1);
        let mut line = std::mem::replace(&mut self.bytes, rest);
        line.pop();
        self.searched = 0;
        Some(line)
    }

    fn is_too_long(&self) -> bool {
        self.bytes.len() > BACKEND_MESSAGE_BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::AcpLineBuffer;

    #[test]
    fn lines_come_whole_however_they_arrive() {
        let mut lines = AcpLineBuffer::default();
        let mut seen = Vec::new();
        for piece in ["a", "b\nc", "\n\nd"] {
            lines.push(piece.as_bytes());
            seen.extend(std::iter::from_fn(|| lines.next()));
        }
        assert_eq!(seen, [b"ab".to_vec(), b"c".to_vec(), Vec::new()]);
    }
}
