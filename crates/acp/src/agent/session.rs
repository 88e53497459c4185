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
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, ConfigOptionUpdate,
    PromptResponse, SessionId, SessionUpdate, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse, SetSessionModeResponse, StopReason, UnstructuredCommandInput,
};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use troupe_agents::TreeHandle;
use troupe_engine::EventStream;
use troupe_protocol::catalogue::{ModelEntry, ModelList, ModelListSource};
use troupe_protocol::discard;
use troupe_protocol::event::{AbortReason, ErrorEvent};
use troupe_protocol::input::UserInput;
use troupe_protocol::link::query::PromptCommand;
use troupe_protocol::outcome::OutcomeClass;
use troupe_protocol::policy::CollaborationMode;
use troupe_protocol::session::{TurnContext, TurnOverrides};
use troupe_protocol::{CallId, Event, EventMsg, Op, PendingQuestion, SubmissionId, TaskOutcome};
use troupe_server::{PromptCommandLibrary, RootSession, called_command};
use troupe_transport::rpc::{PeerGone, RequestId, RpcError};

use super::children::ChildReaders;
use super::config_options::SessionChoices;
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
    SetOption {
        request: RequestId,
        wish: Box<SetSessionConfigOptionRequest>,
    },
}

/// A session that a client has opened.
#[derive(Debug)]
pub(super) struct FollowedSession {
    pub thread: RootSession,
    pub choices: SessionChoices,
    /// Knows the prompts that can be called by name.
    pub commands: Option<Arc<dyn PromptCommandLibrary>>,
    pub notices: NoticeStyle,
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
    about: FollowedSession,
    peer: EditorPeer,
    tasks: &mut JoinSet<()>,
) -> EditorSessionHandle {
    let FollowedSession {
        thread,
        choices,
        commands: library,
        notices,
    } = about;
    let (commands, inbox) = mpsc::channel(COMMANDS_QUEUED_MAX);
    let mode = choices.context.collaboration_mode;
    let mut session = EditorSession {
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
        choices,
        commands: library,
    };
    session.look_around();
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
    choices: SessionChoices,
    commands: Option<Arc<dyn PromptCommandLibrary>>,
}

/// The prompt that waits for its answer.
enum PromptState {
    None,
    /// It calls a prompt by name, and what that stands for is being found out.
    Filling {
        request: RequestId,
        /// The client wants it to end.
        cancelled: bool,
    },
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

/// A prompt with the text that a command stands for.
struct FilledPrompt {
    items: Vec<UserInput>,
    /// What a person should know of it.
    notes: Vec<String>,
}

/// What something beside the loop came to.
enum SessionJobOutcome {
    /// A person's answer.
    Answer(Option<Box<Op>>),
    ModeSet(RequestId, Result<(), RpcError>),
    OptionSet(RequestId, Result<Box<TurnContext>, RpcError>),
    Filled(Result<FilledPrompt, String>),
    /// What can be called by name.
    Commands(Vec<PromptCommand>),
    /// The models that the provider serves.
    Models(Vec<ModelEntry>),
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
            EditorCommand::SetOption { request, wish } => self.set_option(request, &wish).await,
        }
    }

    async fn prompt(&mut self, request: RequestId, items: Vec<UserInput>) -> Result<(), PeerGone> {
        if !matches!(self.turn, PromptState::None) {
            let busy = "a prompt of this session is being worked on; cancel it, or wait for it";
            return self.refuse(&request, RpcError::invalid_request(busy)).await;
        }
        let calls = match items.first() {
            Some(UserInput::Text { text, .. }) => called_command(text).is_some(),
            Some(_) | None => false,
        };
        match &self.commands {
            Some(library) if calls => {
                let filling = filled(self.thread.clone(), Arc::clone(library), items);
                self.jobs
                    .spawn(async move { SessionJobOutcome::Filled(filling.await) });
                self.turn = PromptState::Filling {
                    request,
                    cancelled: false,
                };
                Ok(())
            }
            Some(_) | None => self.begin(request, items).await,
        }
    }

    async fn begin(&mut self, request: RequestId, items: Vec<UserInput>) -> Result<(), PeerGone> {
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
            PromptState::Filling { cancelled, .. } => *cancelled = true,
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

    async fn set_option(
        &mut self,
        request: RequestId,
        wish: &SetSessionConfigOptionRequest,
    ) -> Result<(), PeerGone> {
        let overrides = match self.choices.overrides(&wish.config_id.0, &wish.value) {
            Ok(overrides) => overrides,
            Err(problem) => {
                return self
                    .refuse(&request, RpcError::invalid_params(problem))
                    .await;
            }
        };
        let thread = self.thread.clone();
        self.jobs.spawn(async move {
            let set = thread.ask(Op::OverrideTurnContext { overrides }, |msg| match msg {
                EventMsg::TurnContextUpdated(context) => Some(Box::new(context.clone())),
                _ => None,
            });
            let set = set.await;
            let set = set.map_err(|refused| RpcError::invalid_request(refused.message));
            SessionJobOutcome::OptionSet(request, set)
        });
        Ok(())
    }

    /// Finds out what the client is told a little later: an editor does not wait for servers.
    fn look_around(&mut self) {
        let thread = self.thread.clone();
        self.jobs.spawn(async move {
            match thread
                .ask(Op::ListModels { refresh: true }, listed_models)
                .await
            {
                Ok(list) if list.source == ModelListSource::Provider => {
                    SessionJobOutcome::Models(list.models)
                }
                // The built-in list is known already.
                Ok(_) | Err(_) => SessionJobOutcome::Nothing,
            }
        });
        if let Some(library) = self.commands.clone() {
            let cwd = self.choices.context.cwd.clone();
            self.jobs
                .spawn(async move { SessionJobOutcome::Commands(library.commands(&cwd).await) });
        }
    }

    /// Takes over how the session stands; a client is told what it does not know.
    async fn chosen(&mut self, choices: SessionChoices) -> Result<(), PeerGone> {
        let before = std::mem::replace(&mut self.choices, choices);
        let options = self.choices.options();
        if options == before.options() {
            return Ok(());
        }
        let update = SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options));
        self.peer.update(&self.id, update).await
    }

    async fn event(&mut self, event: &Event) -> Result<(), PeerGone> {
        for update in self.updates.of(&event.msg) {
            self.peer.update(&self.id, update).await?;
        }
        if let EventMsg::TurnContextUpdated(context) = &event.msg {
            let choices = SessionChoices {
                context: context.clone(),
                models: self.choices.models.clone(),
            };
            self.chosen(choices).await?;
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
            SessionJobOutcome::OptionSet(request, Ok(context)) => {
                let choices = SessionChoices {
                    context: *context,
                    models: self.choices.models.clone(),
                };
                let options = choices.options();
                self.choices = choices;
                let answer = SetSessionConfigOptionResponse::new(options);
                self.reply(&request, Ok(answer)).await
            }
            SessionJobOutcome::OptionSet(request, Err(error)) => self.refuse(&request, error).await,
            SessionJobOutcome::Filled(filled) => self.filled(filled).await,
            SessionJobOutcome::Commands(commands) if commands.is_empty() => Ok(()),
            SessionJobOutcome::Commands(commands) => {
                let commands = commands.into_iter().map(available).collect();
                let update = AvailableCommandsUpdate::new(commands);
                let update = SessionUpdate::AvailableCommandsUpdate(update);
                self.peer.update(&self.id, update).await
            }
            SessionJobOutcome::Models(models) => {
                let context = self.choices.context.clone();
                self.chosen(SessionChoices { models, context }).await
            }
            SessionJobOutcome::Quiet => self.answer().await,
        }
    }

    /// Begins a prompt whose text is known now.
    async fn filled(&mut self, filled: Result<FilledPrompt, String>) -> Result<(), PeerGone> {
        let PromptState::Filling { request, cancelled } =
            std::mem::replace(&mut self.turn, PromptState::None)
        else {
            return Ok(());
        };
        match filled {
            _ if cancelled => {
                let answer = PromptResponse::new(StopReason::Cancelled);
                self.reply(&request, Ok(answer)).await
            }
            Ok(FilledPrompt { items, notes }) => {
                for message in notes {
                    for update in self.updates.of(&EventMsg::Warning { message }) {
                        self.peer.update(&self.id, update).await?;
                    }
                }
                self.begin(request, items).await
            }
            Err(problem) => {
                let error = RpcError::invalid_params(format!("prompt: {problem}"));
                self.refuse(&request, error).await
            }
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
            PromptState::Filling { request, .. } => {
                let answer = PromptResponse::new(StopReason::Cancelled);
                self.reply(&request, Ok(answer)).await
            }
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

/// Puts what a command stands for in its place. What nothing has the name of is sent as it is.
async fn filled(
    thread: RootSession,
    library: Arc<dyn PromptCommandLibrary>,
    mut items: Vec<UserInput>,
) -> Result<FilledPrompt, String> {
    let context = thread.context().await.map_err(|refused| refused.message)?;
    let mut notes = Vec::new();
    if let Some(first @ UserInput::Text { .. }) = items.first_mut()
        && let UserInput::Text { text, .. } = &*first
        && let Some(prompt) = library.fill(&context.cwd, text).await?
    {
        notes = prompt.notes;
        *first = UserInput::text(prompt.text);
    }
    Ok(FilledPrompt { items, notes })
}

/// Returns a command as clients offer it.
fn available(command: PromptCommand) -> AvailableCommand {
    let PromptCommand {
        name,
        description,
        argument_hint,
    } = command;
    let hint = argument_hint.map(UnstructuredCommandInput::new);
    AvailableCommand::new(name, description.unwrap_or_default())
        .input(hint.map(AvailableCommandInput::Unstructured))
}

/// Picks the answer to `list_models`.
pub(super) fn listed_models(msg: &EventMsg) -> Option<ModelList> {
    match msg {
        EventMsg::ListModelsResponse(list) => Some(list.clone()),
        _ => None,
    }
}

impl std::fmt::Debug for EditorSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.id).finish()
    }
}
