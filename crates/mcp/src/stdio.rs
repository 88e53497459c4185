//! A server that is a process of ours: messages are lines on its stdin and stdout.
//!
//! One task owns the process and carries lines both ways. What the process writes to stderr is
//! kept a little, to tell why it ended. When either end is gone, so is the process, and everything
//! that it had started.

use std::collections::VecDeque;
use std::fmt;
use std::io;

use rmcp::model::{ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot, watch};
use troupe_process::{Process, ProcessEvent};
use troupe_protocol::command::OutputStream;
use troupe_protocol::discard;

use crate::limits::{COMPLAINT_BYTES_MAX, MESSAGE_BYTES_MAX, MESSAGES_MAX, OBITUARY_TIME};
use crate::lines::{McpLineBuffer, StderrTail, TooLong};

const NOT_NEEDED: &str = "it was no longer needed";

/// Why a server's process is gone; empty while it runs.
#[derive(Debug, Clone)]
pub(crate) struct ServerExitReason(watch::Receiver<Option<String>>);

impl ServerExitReason {
    /// Returns why the process is gone. Who met its end may be earlier than the news of it, and
    /// waits a moment.
    pub(crate) async fn read(&self) -> Option<String> {
        let mut text = self.0.clone();
        let written = tokio::time::timeout(OBITUARY_TIME, text.wait_for(Option::is_some)).await;
        written.ok()?.ok()?.clone()
    }
}

/// The SDK's way to a process.
pub(crate) struct StdioTransport {
    outgoing: mpsc::Sender<OutgoingLine>,
    incoming: mpsc::Receiver<Vec<u8>>,
}

impl fmt::Debug for StdioTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StdioTransport")
    }
}

#[derive(Debug)]
struct OutgoingLine {
    line: Vec<u8>,
    written: oneshot::Sender<io::Result<()>>,
}

impl StdioTransport {
    /// Takes over a process that was started with a pipe as stdin.
    pub(crate) fn new(process: Process) -> (Self, ServerExitReason) {
        let (outgoing, to_write) = mpsc::channel(MESSAGES_MAX);
        let (read, incoming) = mpsc::channel(MESSAGES_MAX);
        let (obituary, reader) = watch::channel(None);
        let carrier = StdioPump {
            process,
            to_write,
            read,
            pending: VecDeque::new(),
            lines: McpLineBuffer::new(MESSAGE_BYTES_MAX),
            complaint: StderrTail::new(COMPLAINT_BYTES_MAX),
            obituary,
        };
        // It ends with the process, and when the transport is dropped.
        tokio::spawn(carrier.run());
        (Self { outgoing, incoming }, ServerExitReason(reader))
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let (written, done) = oneshot::channel();
            let sent = outgoing.send(OutgoingLine { line, written }).await;
            sent.map_err(|_| gone())?;
            done.await.map_err(|_| gone())?
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = self.incoming.recv().await?;
            if let Some(message) = parse(&line) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.incoming.close();
        Ok(())
    }
}

/// Reads a message. A line that is none is passed over, as servers that print to stdout are
/// common; but one that answers a request ends that request with an error.
fn parse(line: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
    #[derive(Deserialize)]
    struct AnswerHead {
        id: RequestId,
        #[serde(default)]
        method: Option<serde::de::IgnoredAny>,
    }
    match serde_json::from_slice(line) {
        Ok(message) => Some(message),
        Err(error) => {
            let answer: AnswerHead = serde_json::from_slice(line).ok()?;
            if answer.method.is_some() {
                return None;
            }
            let text = format!("the server's answer cannot be read: {error}");
            let error = ErrorData::parse_error(text, None);
            Some(JsonRpcMessage::error(error, Some(answer.id)))
        }
    }
}

/// Owns the process and carries lines both ways.
struct StdioPump {
    process: Process,
    to_write: mpsc::Receiver<OutgoingLine>,
    read: mpsc::Sender<Vec<u8>>,
    /// Whole lines that were read and not taken.
    pending: VecDeque<Vec<u8>>,
    lines: McpLineBuffer,
    complaint: StderrTail,
    obituary: watch::Sender<Option<String>>,
}

impl StdioPump {
    async fn run(mut self) {
        let mut end = self.carry().await;
        if end == NOT_NEEDED {
            // A server that exits before it has read its first line is left, too: the line could
            // not be written. Then its own end is the reason.
            self.process.kill().await;
            end = self.drain_after_exit().await.unwrap_or(end);
        }
        let text = match (end, self.complaint.text()) {
            (end, None) => end,
            (end, Some(complaint)) => format!("{end}; it wrote: {complaint}"),
        };
        // Before the channels close: who notices their end looks here.
        self.obituary.send_replace(Some(text));
        self.process.kill().await;
    }

    /// Reads what is left of a process that was ended. Returns how it ended if that was its own
    /// doing.
    async fn drain_after_exit(&mut self) -> Option<String> {
        let mut end = None;
        while let Some(event) = self.process.next().await {
            match event {
                ProcessEvent::Output {
                    stream: OutputStream::Stderr,
                    bytes,
                } => self.complaint.push(&bytes),
                ProcessEvent::Output { .. } => (),
                ProcessEvent::Exited(exit) => end = exit.code.map(|_| exit.in_words()),
            }
        }
        end
    }

    /// Returns why nothing is carried any more.
    async fn carry(&mut self) -> String {
        loop {
            // Nothing is read as long as there are lines that nobody took: the server waits
            // then. What we have to say to it goes on, so neither waits for the other.
            let is_free = self.pending.is_empty();
            tokio::select! {
                permit = self.read.reserve(), if !is_free => match permit {
                    Ok(permit) => {
                        if let Some(line) = self.pending.pop_front() {
                            permit.send(line);
                        }
                    }
                    Err(_) => return NOT_NEEDED.to_owned(),
                },
                event = self.process.next(), if is_free => match event {
                    Some(ProcessEvent::Output { stream: OutputStream::Stdout, bytes }) => {
                        match self.lines.push(&bytes) {
                            Ok(lines) => self.pending.extend(lines),
                            Err(TooLong) => return too_long(),
                        }
                    }
                    Some(ProcessEvent::Output { bytes, .. }) => self.complaint.push(&bytes),
                    Some(ProcessEvent::Exited(exit)) => return exit.in_words(),
                    None => return "it ended".to_owned(),
                },
                outgoing = self.to_write.recv() => match outgoing {
                    Some(OutgoingLine { line, written }) => {
                        let result = self.process.write_stdin(&line).await;
                        // Who does not wait any more does not need to know.
                        discard!(written.send(result), "nobody waits for the answer");
                    }
                    None => return NOT_NEEDED.to_owned(),
                },
                () = self.read.closed() => return NOT_NEEDED.to_owned(),
            }
        }
    }
}

fn too_long() -> String {
    format!("it sent a message of more than {MESSAGE_BYTES_MAX} bytes and was ended")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::parse;

    fn check(line: &str, expected: Expect) {
        let shown = match parse(line.as_bytes()) {
            Some(message) => serde_json::to_string(&message).unwrap(),
            None => "passed over".to_owned(),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn what_is_no_message_is_passed_over() {
        check("Server listening on stdio", expect!["passed over"]);
        check("{}", expect!["passed over"]);
        check("[1, 2]", expect!["passed over"]);
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_an_error() {
        check(
            r#"{"jsonrpc":"1.0","id":7,"result":{}}"#,
            expect![[
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32700,"message":"the server's answer cannot be read: unrecognized JSON-RPC message"}}"#
            ]],
        );
    }
}
