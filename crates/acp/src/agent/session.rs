//! One conversation: what the client asks of it, what the session says, what children do.
//!
//! ```text
//! prompt ─► Running ── the task is over ─► Resting ── nothing runs below ─► answered
//!              └────────── cancel ────────────┘   (then the answer is `cancelled`)
//! ```
//!
//! The answer to a prompt goes out behind every update that belongs to it: one task sends
//! both.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{
    PromptResponse, SessionId, SetSessionModeResponse, StopReason,
};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use troupe_agents::TreeHandle;
use troupe_engine::EventStream;
use troupe_protocol::discard;
use troupe_protocol::event::{AbortReason, ErrorEvent};
use troupe_protocol::input::UserInput;
use troupe_protocol::outcome::OutcomeClass;
use troupe_protocol::policy::CollaborationMode;
use troupe_protocol::session::TurnOverrides;
use troupe_protocol::{CallId, Event, EventMsg, Op, PendingQuestion, SubmissionId, TaskOutcome};
use troupe_server::RootSession;
use troupe_transport::rpc::{PeerGone, RequestId, RpcError};

use super::children::ChildReaders;
use super::failure;
use super::peer::EditorPeer;
use super::question;
use super::updates::{NoticeStyle, ReplayMode, UpdateTranslator};
use crate::limits::COMMANDS_QUEUED_MAX;

/// What a client asks of one session.
#[derive(Debug)]
pub(super) enum EditorCommand {
    Prompt {
        request: RequestId,
        items: Vec<UserInput>,
    },
    Cancel,
    SetMode {
        request: RequestId,
        mode: CollaborationMode,
    },
}

/// The way to a session. Dropping it ends the following, not the session.
#[derive(Debug)]
pub(super) struct EditorSessionHandle {
    commands: mpsc::Sender<EditorCommand>,
    thread: RootSession,
}

impl EditorSessionHandle {
    pub(super) fn thread(&self) -> &RootSession {
        &self.thread
    }

    /// Hands a command over, in the order in which the client sent them. Waits while the
    /// session is behind. One that has ended takes none.
    pub(super) async fn give(&self, command: EditorCommand) -> Result<(), EditorCommand> {
        let given = self.commands.send(command).await;
        given.map_err(|mpsc::error::SendError(command)| command)
    }
}

/// Begins to follow a session. It ends with the session, and when the client is gone.
pub(super) fn follow(
    thread: RootSession,
    peer: EditorPeer,
    notices: NoticeStyle,
    tasks: &mut JoinSet<()>,
) -> EditorSessionHandle {
    let (commands, inbox) = mpsc::channel(COMMANDS_QUEUED_MAX);
    let mode = thread.configured().context.collaboration_mode;
    let session = EditorSession {
        id: SessionId::new(thread.id().to_string()),
        events: thread.events(),
        thread: thread.clone(),
        peer,
        updates: UpdateTranslator::new(ReplayMode::Live, notices, mode),
        children: ChildReaders::new(),
        turn: PromptState::None,
        questions: HashMap::new(),
        jobs: JoinSet::new(),
        last_error: None,
    };
    tasks.spawn(session.run(inbox));
    EditorSessionHandle { commands, thread }
}

struct EditorSession {
    id: SessionId,
    thread: RootSession,
    events: EventStream,
    peer: EditorPeer,
    updates: UpdateTranslator,
    children: ChildReaders,
    turn: PromptState,
    /// Open ones, and how each is withdrawn.
    questions: HashMap<CallId, CancellationToken>,
    jobs: JoinSet<SessionJobOutcome>,
    last_error: Option<ErrorEvent>,
}

/// The prompt that waits for its answer.
enum PromptState {
    None,
    Running(PendingPrompt),
    /// Its task is over, and agents below are still at work.
    Resting(PendingPrompt, PromptEnd),
}

struct PendingPrompt {
    request: RequestId,
    submission: SubmissionId,
    /// The client wants it to end.
    cancelled: bool,
}

/// How a task ended.
#[derive(Debug, Clone)]
enum PromptEnd {
    Stopped(StopReason),
    Failed(RpcError),
}

/// What something beside the loop came to.
enum SessionJobOutcome {
    /// A person's answer.
    Answer(Option<Box<Op>>),
    ModeSet(RequestId, Result<(), RpcError>),
    /// Nothing runs in the tree.
    Quiet,
    Nothing,
}

impl EditorSession {
    async fn run(mut self, mut commands: mpsc::Receiver<EditorCommand>) {
        // A client that is gone ends it like a session that is: nobody is left to be told.
        let mut open = true;
        while open {
            let step = tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(command) => self.command(command).await,
                    None => return,
                },
                event = self.events.next() => if let Some(event) = event {
                    self.event(&event).await
                } else {
                    open = false;
                    self.ended().await
                },
                Some(done) = self.jobs.join_next() => match done {
                    Ok(outcome) => self.done(outcome).await,
                    // A job that panicked is a defect; whoever waits for it cancels.
                    Err(_) => Ok(()),
                },
                update = self.children.next() => self.peer.update(&self.id, update).await,
            };
            if step.is_err() {
                return;
            }
        }
    }

    async fn command(&mut self, command: EditorCommand) -> Result<(), PeerGone> {
        match command {
            EditorCommand::Prompt { request, items } => self.prompt(request, items).await,
            EditorCommand::Cancel => {
                self.cancel().await;
                Ok(())
            }
            EditorCommand::SetMode { request, mode } => {
                self.set_mode(request, mode);
                Ok(())
            }
        }
    }

    async fn prompt(&mut self, request: RequestId, items: Vec<UserInput>) -> Result<(), PeerGone> {
        if !matches!(self.turn, PromptState::None) {
            let busy = "a prompt of this session is being worked on; cancel it, or wait for it";
            return self.refuse(&request, RpcError::invalid_request(busy)).await;
        }
        let op = Op::UserInput {
            items,
            final_output_json_schema: None,
            last_response_id: None,
        };
        match self.thread.submit(op).await {
            Ok(submission) => {
                self.last_error = None;
                self.turn = PromptState::Running(PendingPrompt {
                    request,
                    submission,
                    cancelled: false,
                });
                Ok(())
            }
            Err(closed) => {
                let error = RpcError::internal(closed.to_string());
                self.refuse(&request, error).await
            }
        }
    }

    /// Stops everything that runs, here and below.
    async fn cancel(&mut self) {
        match &mut self.turn {
            PromptState::None => {}
            PromptState::Running(prompt) | PromptState::Resting(prompt, _) => {
                prompt.cancelled = true;
            }
        }
        let agents = self.thread.agents().clone();
        if agents.is_planted() {
            self.jobs.spawn(async move {
                // What is not there any more need not be stopped.
                let why = Some("the client cancelled".to_owned());
                discard!(
                    agents.user().cancel("root", why).await,
                    "there was no agent to cancel"
                );
                SessionJobOutcome::Nothing
            });
        }
        // A session that has ended has nothing to interrupt.
        if !self.thread.is_idle() {
            discard!(
                self.thread.submit(Op::Interrupt).await,
                "the session has ended"
            );
        }
    }

    fn set_mode(&mut self, request: RequestId, mode: CollaborationMode) {
        let thread = self.thread.clone();
        self.jobs.spawn(async move {
            let overrides = TurnOverrides {
                collaboration_mode: Some(mode.into()),
                ..TurnOverrides::default()
            };
            let is_answer =
                |msg: &EventMsg| matches!(msg, EventMsg::TurnContextUpdated(_)).then_some(());
            let set = thread
                .ask(Op::OverrideTurnContext { overrides }, is_answer)
                .await;
            let set = set.map_err(|refused| RpcError::invalid_request(refused.message));
            SessionJobOutcome::ModeSet(request, set)
        });
    }

    async fn event(&mut self, event: &Event) -> Result<(), PeerGone> {
        for update in self.updates.of(&event.msg) {
            self.peer.update(&self.id, update).await?;
        }
        if let Some(question) = PendingQuestion::of(&event.msg) {
            self.ask(question);
        }
        if let Some(settled) = PendingQuestion::settled_by(&event.msg)
            && let Some(question) = self.questions.remove(settled)
        {
            question.cancel();
        }
        match &event.msg {
            EventMsg::SubagentLifecycle(change) => {
                let update = self.children.change(change, self.thread.agents()).await;
                match update {
                    Some(update) => self.peer.update(&self.id, update).await,
                    None => Ok(()),
                }
            }
            EventMsg::Error(error) => {
                self.last_error = Some(error.clone());
                // What is refused never starts, so it has no other end.
                if !error.fatal && self.is_ours(&event.id) {
                    let error = failure::of(error);
                    return self.task_ended(PromptEnd::Failed(error)).await;
                }
                Ok(())
            }
            EventMsg::TurnComplete(complete) if self.is_ours(&complete.turn_id) => {
                self.task_ended(PromptEnd::Stopped(StopReason::EndTurn))
                    .await
            }
            EventMsg::TurnAborted(aborted) if self.is_ours(&aborted.turn_id) => {
                let end = self.aborted(aborted.reason);
                self.task_ended(end).await
            }
            _ => Ok(()),
        }
    }

    fn is_ours(&self, task: &SubmissionId) -> bool {
        matches!(&self.turn, PromptState::Running(prompt) if prompt.submission == *task)
    }

    fn ask(&mut self, question: PendingQuestion) {
        let settled = CancellationToken::new();
        self.questions
            .insert(question.id().clone(), settled.clone());
        let (peer, session) = (self.peer.clone(), self.id.clone());
        self.jobs.spawn(async move {
            SessionJobOutcome::Answer(
                question::put(question, &peer, &session, &settled)
                    .await
                    .map(Box::new),
            )
        });
    }

    fn aborted(&mut self, reason: AbortReason) -> PromptEnd {
        let outcome = TaskOutcome::from(reason);
        match outcome.class() {
            OutcomeClass::Interrupted | OutcomeClass::Cancelled => {
                PromptEnd::Stopped(StopReason::Cancelled)
            }
            OutcomeClass::Failed if outcome == TaskOutcome::BudgetExceeded => {
                PromptEnd::Stopped(StopReason::MaxTurnRequests)
            }
            OutcomeClass::Failed | OutcomeClass::Completed => {
                PromptEnd::Failed(if let Some(error) = self.last_error.take() {
                    failure::of(&error)
                } else {
                    let reason = reason.as_str();
                    RpcError::internal(format!("the task was aborted: {reason}"))
                })
            }
        }
    }

    /// Our task is over; the answer waits until nothing runs below.
    async fn task_ended(&mut self, end: PromptEnd) -> Result<(), PeerGone> {
        let PromptState::Running(prompt) = std::mem::replace(&mut self.turn, PromptState::None)
        else {
            return Ok(());
        };
        let agents: TreeHandle = self.thread.agents().clone();
        self.turn = PromptState::Resting(prompt, end);
        if !agents.is_planted() {
            return self.answer().await;
        }
        self.jobs.spawn(async move {
            agents.wait_until_idle().await;
            SessionJobOutcome::Quiet
        });
        Ok(())
    }

    async fn done(&mut self, outcome: SessionJobOutcome) -> Result<(), PeerGone> {
        match outcome {
            SessionJobOutcome::Answer(Some(op)) => {
                // A session that has ended asks nothing any more.
                discard!(self.thread.submit(*op).await, "the session has ended");
                Ok(())
            }
            SessionJobOutcome::Answer(None) | SessionJobOutcome::Nothing => Ok(()),
            SessionJobOutcome::ModeSet(request, set) => {
                let answer = set.map(|()| SetSessionModeResponse::new());
                self.reply(&request, answer).await
            }
            SessionJobOutcome::Quiet => self.answer().await,
        }
    }

    /// Answers the prompt whose work is done.
    async fn answer(&mut self) -> Result<(), PeerGone> {
        let PromptState::Resting(prompt, end) =
            std::mem::replace(&mut self.turn, PromptState::None)
        else {
            return Ok(());
        };
        let answer = match end {
            _ if prompt.cancelled => Ok(PromptResponse::new(StopReason::Cancelled)),
            PromptEnd::Stopped(reason) => Ok(PromptResponse::new(reason)),
            PromptEnd::Failed(error) => Err(error),
        };
        self.reply(&prompt.request, answer).await
    }

    /// The session is over; so is what it was asked.
    async fn ended(&mut self) -> Result<(), PeerGone> {
        match std::mem::replace(&mut self.turn, PromptState::None) {
            PromptState::None => Ok(()),
            PromptState::Running(prompt) => {
                self.turn = PromptState::Resting(prompt, PromptEnd::Stopped(StopReason::Cancelled));
                self.answer().await
            }
            resting @ PromptState::Resting(..) => {
                self.turn = resting;
                self.answer().await
            }
        }
    }

    async fn reply<T: Serialize>(
        &self,
        request: &RequestId,
        outcome: Result<T, RpcError>,
    ) -> Result<(), PeerGone> {
        self.peer.answer(request, outcome).await
    }

    async fn refuse(&self, request: &RequestId, error: RpcError) -> Result<(), PeerGone> {
        self.peer.outbox().refuse(Some(request), &error).await
    }
}

impl std::fmt::Debug for EditorSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.id).finish()
    }
}
