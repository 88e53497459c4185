//! The program, and one conversation with it.

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES as AGENT, ContentBlock, Implementation, InitializeRequest,
    InitializeResponse, NewSessionRequest, NewSessionResponse, Plan, PromptRequest, PromptResponse,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, SessionId,
    StopReason, ToolCall, ToolCallUpdate,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use troupe_process::{CommandSpec, Launcher, SpawnError};
use troupe_protocol::discard;
use troupe_protocol::text::one_line;
use troupe_protocol::usage::TokenUsage;
use troupe_transport::rpc::{Outbox, RequestId, RpcDialect, RpcError};

use super::io_pump::{AcpLineBuffer, IoPump};
use super::usage::UsageCounter;
use crate::limits::{
    BACKEND_COMPLAINT_BYTES_MAX, BACKEND_OBITUARY_MS_MAX, BACKEND_SAID_QUEUED_MAX,
    ERROR_DATA_CHARS_MAX,
};
use crate::text::OutputTail;

/// What the program says.
#[derive(Debug)]
pub(super) enum ProgramUpdate {
    Text(TextPiece),
    Thought(TextPiece),
    Call(Box<ToolCall>),
    CallChanged(Box<ToolCallUpdate>),
    Permission(Box<PermissionQuestion>),
    Plan(Plan),
    /// The prompt is answered.
    Ended {
        reason: StopReason,
        /// What it took, if the program says so.
        usage: TokenUsage,
    },
    /// The prompt is not answered.
    Failed(String),
}

/// A piece of a text.
#[derive(Debug)]
pub(super) struct TextPiece {
    /// Which text it belongs to, where the program tells them apart.
    pub message: Option<String>,
    pub text: String,
}

/// The program wants a person's word.
#[derive(Debug)]
pub(super) struct PermissionQuestion {
    pub request: RequestPermissionRequest,
    pub(super) id: RequestId,
}

/// How the program is met.
pub(super) struct HandshakeOptions {
    /// Of our own program.
    pub version: &'static str,
    pub time_max: Duration,
}

type Answer = Pin<Box<dyn Future<Output = Result<PromptResponse, RpcError>> + Send>>;

/// A program that runs, in the middle of one conversation.
pub(super) struct AcpConnection {
    outbox: Outbox,
    session: SessionId,
    said: mpsc::Receiver<ProgramUpdate>,
    /// Heard and not taken.
    put_back: VecDeque<ProgramUpdate>,
    /// Of the prompt that is being worked on.
    answer: Option<Answer>,
    /// What it has told so far that its prompts took.
    meter: UsageCounter,
    /// How many requests were made. Each is made when the one before is answered.
    asked: u64,
    /// Nobody waits for that answer any more.
    is_cancelled: bool,
    /// The number of the request that is cancelled.
    cancel: watch::Sender<u64>,
    obituary: watch::Receiver<Option<String>>,
}

impl AcpConnection {
    /// Starts the program and a conversation, or says what is in the way.
    pub(super) async fn start(
        launcher: &Launcher,
        spec: CommandSpec,
        greeting: HandshakeOptions,
    ) -> Result<Self, String> {
        let cwd = spec.cwd.clone();
        let process = launcher.spawn(spec).await.map_err(|error| match error {
            SpawnError::NotFound { program } => format!(
                "the program `{program}` was not found; install it, or correct its `command`"
            ),
            other => other.to_string(),
        })?;
        let (outbox, to_write) = Outbox::new(RpcDialect::Tagged);
        let (sender, said) = mpsc::channel(BACKEND_SAID_QUEUED_MAX);
        let (obituary, reader) = watch::channel(None);
        let (cancel, cancelled) = watch::channel(0);
        let (session, its_session) = watch::channel(None);
        let carrier = IoPump {
            process,
            to_write,
            outbox: outbox.clone(),
            said: sender,
            cancelled,
            answered: 0,
            session: its_session,
            lines: AcpLineBuffer::default(),
            complaint: OutputTail::new(BACKEND_COMPLAINT_BYTES_MAX),
            obituary,
            patience: None,
        };
        // It ends with the process, and when the connection is dropped.
        tokio::spawn(carrier.run());
        let mut companion = Self {
            outbox,
            session: SessionId::new(""),
            said,
            put_back: VecDeque::new(),
            answer: None,
            meter: UsageCounter::default(),
            asked: 0,
            is_cancelled: false,
            cancel,
            obituary: reader,
        };
        let HandshakeOptions { version, time_max } = greeting;
        let greeted = tokio::time::timeout(time_max, companion.greet(&cwd, version)).await;
        companion.session = greeted.map_err(|_| handshake_timeout_text(time_max))??;
        session.send_replace(Some(companion.session.clone()));
        Ok(companion)
    }

    async fn greet(&mut self, cwd: &Path, version: &str) -> Result<SessionId, String> {
        let us = Implementation::new("troupe", version).title("Troupe");
        let hello = InitializeRequest::new(ProtocolVersion::V1).client_info(us);
        let told: InitializeResponse = self.ask(AGENT.initialize, &hello).await?;
        if told.protocol_version != ProtocolVersion::V1 {
            return Err(format!(
                "it speaks version {} of the protocol, and we speak 1",
                told.protocol_version
            ));
        }
        let new = NewSessionRequest::new(cwd);
        let opened: NewSessionResponse = self.ask(AGENT.session_new, &new).await?;
        Ok(opened.session_id)
    }

    async fn ask<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<T, String> {
        let Ok(request) = self.outbox.ask(method, params).await else {
            return Err(self.end().await);
        };
        self.asked += 1;
        let answered = tokio::select! {
            answer = request.answer() => Some(answer),
            _ = self.obituary.wait_for(Option::is_some) => None,
        };
        match answered {
            Some(answer) => {
                answer.map_err(|error| format!("it refused {method}: {}", told(&error)))
            }
            None => Err(self.end().await),
        }
    }

    /// Returns why the process is gone. Who met its end may be earlier than the news of it.
    async fn end(&mut self) -> String {
        let time = Duration::from_millis(BACKEND_OBITUARY_MS_MAX);
        let written = tokio::time::timeout(time, self.obituary.wait_for(Option::is_some)).await;
        let text = written.ok().and_then(Result::ok).and_then(|it| it.clone());
        text.unwrap_or_else(|| "it ended".to_owned())
    }

    /// Tells whether a prompt is being worked on.
    pub(super) fn is_at_work(&self) -> bool {
        self.answer.is_some()
    }

    /// Tells whether there is something to hear: of a prompt that is being worked on, or of one
    /// whose answer was heard and put back.
    pub(super) fn has_more(&self) -> bool {
        self.is_at_work() || !self.put_back.is_empty()
    }

    /// Says something to the program, which then works until [`ProgramUpdate::Ended`].
    pub(super) async fn prompt(&mut self, prompt: Vec<ContentBlock>) -> Result<(), String> {
        let params = PromptRequest::new(self.session.clone(), prompt);
        match self.outbox.ask(AGENT.session_prompt, &params).await {
            Ok(request) => {
                self.asked += 1;
                self.answer = Some(Box::pin(request.answer()));
                Ok(())
            }
            Err(_) => Err(self.end().await),
        }
    }

    /// Has the program stop what it does. Its answer still comes.
    pub(super) fn cancel(&mut self) {
        if self.is_at_work() {
            self.is_cancelled = true;
            self.cancel.send_replace(self.asked);
        } else {
            // An end that nobody heard is none of the next prompt.
            self.put_back.clear();
        }
    }

    /// Tells whether the process has ended.
    pub(super) fn is_gone(&self) -> bool {
        self.obituary.borrow().is_some()
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled
    }

    /// Hears a cancelled prompt out.
    pub(super) async fn drain_cancelled_prompt(&mut self) -> Result<(), String> {
        self.put_back.clear();
        while self.is_at_work() {
            if let ProgramUpdate::Permission(permission) = self.next().await? {
                let outcome = RequestPermissionOutcome::Cancelled;
                self.permit(&permission, outcome).await;
            }
        }
        self.is_cancelled = false;
        Ok(())
    }

    pub(super) async fn permit(
        &mut self,
        permission: &PermissionQuestion,
        outcome: RequestPermissionOutcome,
    ) {
        let answer = RequestPermissionResponse::new(outcome);
        // A program that is gone is noticed where it is heard.
        discard!(
            self.outbox.answer(Some(&permission.id), Ok(&answer)).await,
            "the client is gone"
        );
    }

    /// Returns the next thing that it says. `Err` says why it is gone. Safe to cancel.
    pub(super) async fn next(&mut self) -> Result<ProgramUpdate, String> {
        if let Some(said) = self.put_back.pop_front() {
            return Ok(said);
        }
        let answer = async {
            match &mut self.answer {
                Some(answer) => answer.await,
                None => std::future::pending().await,
            }
        };
        let answered = tokio::select! {
            // What was said before the answer comes before it.
            biased;
            Some(said) = self.said.recv() => return Ok(said),
            answer = answer => Some(answer),
            _ = self.obituary.wait_for(Option::is_some) => None,
        };
        match answered {
            Some(answer) => {
                self.answer = None;
                Ok(match answer {
                    Ok(response) => ProgramUpdate::Ended {
                        reason: response.stop_reason,
                        usage: self.meter.read(response.usage.as_ref()),
                    },
                    Err(error) => ProgramUpdate::Failed(told(&error)),
                })
            }
            None => Err(self.end().await),
        }
    }

    /// Puts back what is for somebody else, in front of what comes.
    pub(super) fn put_back(&mut self, said: impl IntoIterator<Item = ProgramUpdate>) {
        let mut said: VecDeque<ProgramUpdate> = said.into_iter().collect();
        said.append(&mut self.put_back);
        self.put_back = said;
    }
}

/// Says what a program gave for an error. Its reasons often stand beside the message.
fn told(error: &RpcError) -> String {
    let detail = match &error.data {
        None | Some(Value::Null) => return error.to_string(),
        Some(Value::String(text)) => text.clone(),
        Some(data) => data.to_string(),
    };
    format!("{error} ({})", one_line(&detail, ERROR_DATA_CHARS_MAX))
}

fn handshake_timeout_text(time_max: Duration) -> String {
    format!(
        "it did not greet within {} s; see by hand whether it starts and speaks the protocol, or \
         raise its `startup_timeout_sec`",
        time_max.as_secs()
    )
}

impl fmt::Debug for AcpConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Companion")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_data_of_an_error_is_told_with_it() {
        let error = |data| RpcError {
            data,
            ..RpcError::new(-32000, "the quota is used up")
        };
        assert_eq!(told(&error(None)), "the quota is used up");
        let detail = json!({"details": "try tomorrow"});
        assert_eq!(
            told(&error(Some(detail))),
            r#"the quota is used up ({"details":"try tomorrow"})"#
        );
        assert_eq!(
            told(&error(Some(json!("try tomorrow")))),
            "the quota is used up (try tomorrow)"
        );
    }
}
