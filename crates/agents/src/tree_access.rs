//! The tree as one agent, or the user, may use it. The tools of every family and every UI
//! are thin faces over a [`TreeAccess`].

mod card;
mod error;
mod fork;
mod logs;
mod request;
mod view;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use troupe_protocol::approval::{ExecApprovalRequest, ReviewDecision};
use troupe_protocol::input::UserInput;
use troupe_protocol::policy::SandboxPolicy;
use troupe_protocol::result::TaskResult;
use troupe_protocol::spawn::CallbackConfig;
use troupe_protocol::tree::{AgentMessage, Caller};
use troupe_protocol::{AgentId, CallId, SessionId, StopVerb, SubmissionId};
use troupe_schema::AnswerSchema;

pub use error::TreeError;
pub use fork::ForkAnswer;
pub(crate) use fork::ForkSide;
pub use logs::{AgentLogs, LoggedEvent, LogsQuery};
pub use request::{
    AgentScope, CallbackChoice, SpawnContext, SpawnRequest, TreeStopRequest, WaitTargets,
    WatchdogRequest,
};
pub use view::{
    AgentView, FinishedTarget, NoteSet, ReceivedMessage, SendOutcome, SpawnedAgent, StopEntry,
    StopOutcome, WaitReport, WatchdogAction, WatchdogOutcome,
};

use crate::callback;
use crate::supervisor::TreeHandle;
use crate::supervisor::input::{TreeRequest, WaitRequest};
use troupe_tree::command::{SendUrgency, SpawnCaller, StopMode, WaitCondition};
use troupe_tree::status::CurrentStatus;

/// What a stopped agent is told when a person has it go on.
pub const GO_ON: &str = "You were stopped before your task was done. What you had done until \
    then is kept, but a command that was running may have been cut off. Look at where things \
    stand and go on with your task.";

/// The role of a child for which none was named.
const DEFAULT_ROLE: &str = "default";

/// One caller's place at the tree. Cheap to clone.
#[derive(Debug, Clone)]
pub struct TreeAccess {
    agents: TreeHandle,
    caller: Caller,
}

impl TreeAccess {
    pub(crate) fn new(agents: TreeHandle, caller: Caller) -> Self {
        Self { agents, caller }
    }

    pub fn caller(&self) -> Caller {
        self.caller
    }

    pub fn agents(&self) -> &TreeHandle {
        &self.agents
    }

    /// Makes a child and hands it its first message. Returns when that is on disk.
    pub async fn spawn(&self, request: SpawnRequest) -> Result<SpawnedAgent, TreeError> {
        self.spawn_by(self.caller.into(), request).await
    }

    /// As [`Self::spawn`], below any agent. An agent has children of its own only.
    pub async fn spawn_below(
        &self,
        parent: AgentId,
        request: SpawnRequest,
    ) -> Result<SpawnedAgent, TreeError> {
        match self.caller {
            Caller::User => {
                let by = SpawnCaller::User { below: parent };
                self.spawn_by(by, request).await
            }
            Caller::Agent(_) => Err(TreeError::Invalid(format!(
                "agent {parent} makes its children itself; ask it to"
            ))),
        }
    }

    async fn spawn_by(
        &self,
        by: SpawnCaller,
        request: SpawnRequest,
    ) -> Result<SpawnedAgent, TreeError> {
        let wanted = request.agent_type.as_deref().unwrap_or(DEFAULT_ROLE);
        let roles = &self.agents.options().roles;
        let role = roles.resolve(&request.turn.cwd, wanted)?;
        let role = self.agents.settings().types.applied_to(role);
        // That of the role was checked when its file was read.
        if let Some(schema) = &request.output_schema {
            AnswerSchema::compile(schema)?;
        }
        // Without items it is made ready and waits; with items they must say something.
        if !request.items.is_empty() {
            check_words(&request.items)?;
        }
        self.check_backend(request.backend.as_ref().or(role.backend.as_ref()))?;
        let spawn = async |request, role| {
            let request = Box::new(request);
            self.ask(|_, reply| TreeRequest::Spawn {
                by,
                request,
                role,
                reply,
            })
            .await
        };
        match spawn(request.clone(), Arc::clone(&role)).await {
            // Whoever serves models has been asked because of this call.
            Err(TreeError::ModelsLoading { .. }) => {
                self.agents.options().catalogue.listed().await;
                spawn(request, role).await
            }
            spawned => spawned,
        }
    }

    fn check_backend(&self, wanted: Option<&String>) -> Result<(), TreeError> {
        let Some(wanted) = wanted else {
            return Ok(());
        };
        let known = self.agents.options().catalogue.backends();
        if known.contains(wanted) {
            return Ok(());
        }
        Err(TreeError::Invalid(match known.as_slice() {
            [] => format!("there is no backend {wanted}; none is configured"),
            known => format!(
                "there is no backend {wanted}; there are {}",
                known.join(", ")
            ),
        }))
    }

    pub async fn send(
        &self,
        to: &str,
        message: AgentMessage,
        urgency: SendUrgency,
    ) -> Result<SendOutcome, TreeError> {
        check_words(&message.items)?;
        let to = to.to_owned();
        self.ask(|caller, reply| TreeRequest::Send {
            caller,
            to,
            message,
            urgency,
            reply,
        })
        .await
    }

    /// Waits until one of the targets has ended, the time is up, or `cancel` ends the wait.
    /// It costs nothing while it waits.
    pub async fn wait(
        &self,
        on: WaitTargets,
        time: Duration,
        cancel: &CancellationToken,
    ) -> Result<WaitReport, TreeError> {
        self.wait_until(WaitCondition::End, on, time, cancel).await
    }

    /// As [`Self::wait`], and until one of the targets writes to the caller. The answer brings
    /// what it wrote.
    pub async fn listen(
        &self,
        on: WaitTargets,
        time: Duration,
        cancel: &CancellationToken,
    ) -> Result<WaitReport, TreeError> {
        self.wait_until(WaitCondition::EndOrMail, on, time, cancel)
            .await
    }

    async fn wait_until(
        &self,
        until: WaitCondition,
        on: WaitTargets,
        time: Duration,
        cancel: &CancellationToken,
    ) -> Result<WaitReport, TreeError> {
        let wait = WaitRequest {
            on,
            until,
            time,
            stop: cancel.clone(),
        };
        self.ask(|caller, reply| TreeRequest::Wait {
            caller,
            wait,
            reply,
        })
        .await
    }

    pub async fn stop(&self, request: TreeStopRequest) -> Result<StopOutcome, TreeError> {
        self.ask(|caller, reply| TreeRequest::Stop {
            caller,
            request,
            reply,
        })
        .await
    }

    /// Cancels the subtree of one agent.
    pub async fn cancel(
        &self,
        target: &str,
        note: Option<String>,
    ) -> Result<StopOutcome, TreeError> {
        self.stop(TreeStopRequest {
            verb: StopVerb::Cancel,
            targets: vec![target.to_owned()],
            mode: StopMode::Act,
            note,
        })
        .await
    }

    /// Brings a closed agent back, if there is still a log to bring it back from.
    pub async fn resume(&self, target: &str) -> Result<AgentView, TreeError> {
        let before = self.view(target).await?;
        if before.pruned || before.status.row().is_closed() {
            let log = self.agents.store()?.read_live(before.session).await;
            log.map_err(|error| TreeError::NoWayBack {
                agent: before.agent,
                why: error.to_string(),
            })?;
        }
        let target = target.to_owned();
        self.ask(|caller, reply| TreeRequest::Resume {
            caller,
            target,
            reply,
        })
        .await
    }

    /// Brings a closed agent back, and has a stopped one go on.
    pub async fn go_on(&self, target: &str) -> Result<AgentView, TreeError> {
        let before = self.view(target).await?;
        let resumed = self.resume(target).await?;
        match (before.status, resumed.status) {
            // One that was closed was cancelled with that; it is only brought back.
            (CurrentStatus::Cancelled, CurrentStatus::Cancelled)
            | (_, CurrentStatus::Interrupted { .. }) => {
                let message = AgentMessage {
                    items: vec![UserInput::text(GO_ON)],
                    metadata: None,
                    client_id: None,
                };
                let sent = self.send(target, message, SendUrgency::Regular).await?;
                Ok(sent.view)
            }
            _ => Ok(resumed),
        }
    }

    /// Returns how one agent stands.
    pub async fn view(&self, target: &str) -> Result<AgentView, TreeError> {
        let target = target.to_owned();
        self.ask(|caller, reply| TreeRequest::View {
            caller,
            target,
            reply,
        })
        .await
    }

    /// Returns agents by number. Closed and pruned ones only if asked for.
    pub async fn list(&self, scope: AgentScope, closed: bool) -> Result<Vec<AgentView>, TreeError> {
        self.ask(|caller, reply| TreeRequest::List {
            caller,
            scope,
            closed,
            reply,
        })
        .await
    }

    /// Returns the result of an agent's task; of its last one if none is named. Also works
    /// for agents that were closed, pruned or unloaded.
    pub async fn result(
        &self,
        target: &str,
        task: Option<SubmissionId>,
    ) -> Result<TaskResult, TreeError> {
        let view = self.view(target).await?;
        match self.agents.result(view.session, task).await {
            // Its log is gone, or nothing in it can be read.
            Err(TreeError::NoResult(_) | TreeError::Storage(_))
                if view.status == CurrentStatus::Lost =>
            {
                Err(TreeError::lost(view))
            }
            found => found,
        }
    }

    /// Sets or clears the note of an agent.
    pub async fn set_note(&self, target: &str, note: &str) -> Result<NoteSet, TreeError> {
        let (target, note) = (target.to_owned(), note.to_owned());
        self.ask(|caller, reply| TreeRequest::SetNote {
            caller,
            target,
            note,
            reply,
        })
        .await
    }

    /// Sets or clears the name of an agent's conversation.
    pub async fn set_name(&self, target: &str, name: &str) -> Result<(), TreeError> {
        let (target, name) = (target.to_owned(), name.to_owned());
        self.ask(|caller, reply| TreeRequest::SetName {
            caller,
            target,
            name,
            reply,
        })
        .await
    }

    /// Changes how the root is told of its children, whatever it and they do meanwhile. Ends
    /// that come after it are told in the new way, or not at all.
    pub async fn set_callback(&self, config: CallbackConfig) -> Result<(), TreeError> {
        if let Caller::Agent(agent) = self.caller {
            return Err(TreeError::Invalid(format!(
                "agent {agent} cannot change how the session is told; a person can"
            )));
        }
        callback::check(&config)?;
        self.ask(|_, reply| TreeRequest::SetCallback { config, reply })
            .await
    }

    pub async fn watchdog(
        &self,
        target: &str,
        request: WatchdogRequest,
    ) -> Result<WatchdogOutcome, TreeError> {
        let target = target.to_owned();
        self.ask(|caller, reply| TreeRequest::Watchdog {
            caller,
            target,
            request,
            reply,
        })
        .await
    }

    /// Reads what an agent recorded, without touching it.
    pub async fn logs(&self, target: &str, query: LogsQuery) -> Result<AgentLogs, TreeError> {
        let view = self.view(target).await?;
        logs::read(&*self.agents.store()?, view.session, query).await
    }

    /// Asks the parent's turn, and whoever watches the root. `None` if there is no parent
    /// that could be asked: then the caller's own session is.
    pub async fn ask_parent(
        &self,
        request: ExecApprovalRequest,
        cancel: &CancellationToken,
    ) -> Option<ReviewDecision> {
        let Caller::Agent(agent) = self.caller else {
            return None;
        };
        if agent == AgentId::ROOT {
            return None;
        }
        let (reply, answer) = oneshot::channel();
        self.agents.request(TreeRequest::AskParent {
            agent,
            request: Box::new(request),
            reply,
        });
        tokio::select! {
            answer = answer => answer.ok().flatten(),
            () = cancel.cancelled() => Some(ReviewDecision::Abort),
        }
    }

    /// Answers a request for approval of an agent. The first word counts.
    pub async fn answer(
        &self,
        agent: AgentId,
        call: CallId,
        decision: ReviewDecision,
    ) -> Result<AgentView, TreeError> {
        self.ask(|_, reply| TreeRequest::Answer {
            agent,
            call,
            decision,
            reply,
        })
        .await
    }

    /// Finds the agent that `text` means.
    pub async fn resolve(&self, text: &str) -> Result<(AgentId, SessionId), TreeError> {
        let view = self.view(text).await?;
        Ok((view.agent, view.session))
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(Caller, oneshot::Sender<Result<T, TreeError>>) -> TreeRequest,
    ) -> Result<T, TreeError> {
        let (reply, answer) = oneshot::channel();
        self.agents.request(request(self.caller, reply));
        answer.await.unwrap_or(Err(TreeError::Ended))
    }
}

/// What the machine offers to children, as far as the faces must know it.
#[async_trait]
pub trait SpawnCatalogue: Send + Sync + std::fmt::Debug {
    /// Returns the models that a spawn may name; `None` while the list is being loaded.
    fn models(&self) -> Option<Vec<ModelChoice>>;

    /// Returns all models that a spawn may name, asking whoever serves them. Called when a
    /// name is not among [`Self::models`]; must not wait.
    fn listing(&self) -> ModelListState {
        match self.models() {
            Some(_) => ModelListState::Whole,
            None => ModelListState::Loading,
        }
    }

    /// Waits, for a bounded time, until whoever serves models has answered. Returns at once if
    /// nobody was asked.
    async fn listed(&self) {}

    /// Returns the models that the configuration and the built-in catalogue name, for where
    /// nobody lists which there are.
    fn named(&self) -> Vec<ModelChoice> {
        Vec::new()
    }

    /// Returns the programs that a spawn may name in the place of a model.
    fn backends(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns what such a program may do as a child with this sandbox: the user's
    /// configuration may add to it and take from it. `None` if there is no such program.
    fn backend_sandbox(&self, _backend: &str, _child: &SandboxPolicy) -> Option<SandboxPolicy> {
        None
    }
}

/// State of the provider's list of models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelListState {
    /// There are no others than [`SpawnCatalogue::models`] has now.
    Whole,
    /// The provider was asked and has not answered.
    Loading,
    /// They could not be asked: there may be others than those that are known.
    Unavailable { why: String },
}

/// A model that a child can be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    pub name: String,
    /// Empty if nobody knows which efforts it takes: then any is passed on.
    pub efforts: Vec<troupe_protocol::policy::ReasoningEffort>,
}

/// Where roles are looked for.
#[derive(Debug, Clone)]
pub struct RolePlace {
    pub cwd: PathBuf,
    pub roles: Arc<crate::roles::RoleLibrary>,
}

/// Refuses a message that says nothing.
fn check_words(items: &[UserInput]) -> Result<(), TreeError> {
    if items.iter().all(UserInput::is_blank) {
        return Err(TreeError::Invalid(
            "the message is blank; say something".to_owned(),
        ));
    }
    Ok(())
}
