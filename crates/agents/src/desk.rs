//! The tree as one agent, or the user, may use it. The tools of every family and every UI
//! are thin faces over a [`Desk`].

mod fork;
mod logs;
mod request;
mod trouble;
mod view;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use troupe_engine::schema::Schema;
use troupe_protocol::approval::{ExecApprovalRequest, ReviewDecision};
use troupe_protocol::input::UserInput;
use troupe_protocol::policy::SandboxPolicy;
use troupe_protocol::result::TaskResult;
use troupe_protocol::tree::{AgentMessage, Caller};
use troupe_protocol::{AgentId, CallId, SessionId, StopVerb, SubmissionId};

pub use fork::ForkAnswer;
pub(crate) use fork::ForkSide;
pub use logs::{LoggedEvent, Logs, LogsQuery};
pub use request::{
    CallbackChoice, Scope, SpawnRequest, StopRequest, Targets, Turn, WatchdogRequest,
};
pub use trouble::Trouble;
pub use view::{
    AgentView, Finished, Heard, NoteSet, Planned, Sent, Spawned, Stopped, Waited, WatchdogAction,
    Watched,
};

use crate::supervisor::Agents;
use crate::supervisor::input::{Request, Wait};
use crate::tree::command::{Spawner, StopMode, Until, Urgency};
use crate::tree::status::Status;

/// The role of a child for which none was named.
const DEFAULT_ROLE: &str = "default";

/// One caller's place at the tree. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Desk {
    agents: Agents,
    caller: Caller,
}

impl Desk {
    pub(crate) fn new(agents: Agents, caller: Caller) -> Self {
        Self { agents, caller }
    }

    pub fn caller(&self) -> Caller {
        self.caller
    }

    pub fn agents(&self) -> &Agents {
        &self.agents
    }

    /// Makes a child and hands it its first message. Returns when that is on disk.
    pub async fn spawn(&self, request: SpawnRequest) -> Result<Spawned, Trouble> {
        self.spawn_by(self.caller.into(), request).await
    }

    /// As [`Self::spawn`], below any agent. An agent has children of its own only.
    pub async fn spawn_below(
        &self,
        parent: AgentId,
        request: SpawnRequest,
    ) -> Result<Spawned, Trouble> {
        match self.caller {
            Caller::User => {
                let by = Spawner::User { below: parent };
                self.spawn_by(by, request).await
            }
            Caller::Agent(_) => Err(Trouble::Invalid(format!(
                "agent {parent} makes its children itself; ask it to"
            ))),
        }
    }

    async fn spawn_by(&self, by: Spawner, request: SpawnRequest) -> Result<Spawned, Trouble> {
        let wanted = request.agent_type.as_deref().unwrap_or(DEFAULT_ROLE);
        let roles = &self.agents.options().roles;
        let role = roles.resolve(&request.turn.cwd, wanted)?;
        let role = self.agents.settings().types.applied_to(role);
        // That of the role was checked when its file was read.
        if let Some(schema) = &request.output_schema {
            Schema::compile(schema)?;
        }
        // Without items it is made ready and waits; with items they must say something.
        if !request.items.is_empty() {
            check_words(&request.items)?;
        }
        self.check_backend(request.backend.as_ref().or(role.backend.as_ref()))?;
        let spawn = async |request, role| {
            let request = Box::new(request);
            self.ask(|_, reply| Request::Spawn {
                by,
                request,
                role,
                reply,
            })
            .await
        };
        match spawn(request.clone(), Arc::clone(&role)).await {
            // Whoever serves models has been asked because of this call.
            Err(Trouble::ModelsLoading { .. }) => {
                self.agents.options().catalogue.listed().await;
                spawn(request, role).await
            }
            spawned => spawned,
        }
    }

    fn check_backend(&self, wanted: Option<&String>) -> Result<(), Trouble> {
        let Some(wanted) = wanted else {
            return Ok(());
        };
        let known = self.agents.options().catalogue.backends();
        if known.contains(wanted) {
            return Ok(());
        }
        Err(Trouble::Invalid(match known.as_slice() {
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
        urgency: Urgency,
    ) -> Result<Sent, Trouble> {
        check_words(&message.items)?;
        let to = to.to_owned();
        self.ask(|caller, reply| Request::Send {
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
        on: Targets,
        time: Duration,
        cancel: &CancellationToken,
    ) -> Result<Waited, Trouble> {
        self.wait_until(Until::End, on, time, cancel).await
    }

    /// As [`Self::wait`], and until one of the targets writes to the caller. The answer brings
    /// what it wrote.
    pub async fn listen(
        &self,
        on: Targets,
        time: Duration,
        cancel: &CancellationToken,
    ) -> Result<Waited, Trouble> {
        self.wait_until(Until::EndOrMail, on, time, cancel).await
    }

    async fn wait_until(
        &self,
        until: Until,
        on: Targets,
        time: Duration,
        cancel: &CancellationToken,
    ) -> Result<Waited, Trouble> {
        let wait = Wait {
            on,
            until,
            time,
            stop: cancel.clone(),
        };
        self.ask(|caller, reply| Request::Wait {
            caller,
            wait,
            reply,
        })
        .await
    }

    pub async fn stop(&self, request: StopRequest) -> Result<Stopped, Trouble> {
        self.ask(|caller, reply| Request::Stop {
            caller,
            request,
            reply,
        })
        .await
    }

    /// Cancels the subtree of one agent.
    pub async fn cancel(&self, target: &str, note: Option<String>) -> Result<Stopped, Trouble> {
        self.stop(StopRequest {
            verb: StopVerb::Cancel,
            targets: vec![target.to_owned()],
            mode: StopMode::Act,
            note,
        })
        .await
    }

    /// Brings a closed agent back, if there is still a log to bring it back from.
    pub async fn resume(&self, target: &str) -> Result<AgentView, Trouble> {
        let before = self.view(target).await?;
        if before.pruned || before.status.row().is_closed() {
            let log = self.agents.store()?.read_live(before.session).await;
            log.map_err(|error| Trouble::NoWayBack {
                agent: before.agent,
                why: error.to_string(),
            })?;
        }
        let target = target.to_owned();
        self.ask(|caller, reply| Request::Resume {
            caller,
            target,
            reply,
        })
        .await
    }

    /// Returns how one agent stands.
    pub async fn view(&self, target: &str) -> Result<AgentView, Trouble> {
        let target = target.to_owned();
        self.ask(|caller, reply| Request::View {
            caller,
            target,
            reply,
        })
        .await
    }

    /// Returns agents by number. Closed and pruned ones only if asked for.
    pub async fn list(&self, scope: Scope, closed: bool) -> Result<Vec<AgentView>, Trouble> {
        self.ask(|caller, reply| Request::List {
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
    ) -> Result<TaskResult, Trouble> {
        let view = self.view(target).await?;
        match self.agents.result(view.session, task).await {
            Err(Trouble::NoResult(_)) if view.status == Status::Lost => Err(Trouble::lost(view)),
            found => found,
        }
    }

    /// Sets or clears the note of an agent.
    pub async fn set_note(&self, target: &str, note: &str) -> Result<NoteSet, Trouble> {
        let (target, note) = (target.to_owned(), note.to_owned());
        self.ask(|caller, reply| Request::SetNote {
            caller,
            target,
            note,
            reply,
        })
        .await
    }

    /// Sets or clears the name of an agent's conversation.
    pub async fn set_name(&self, target: &str, name: &str) -> Result<(), Trouble> {
        let (target, name) = (target.to_owned(), name.to_owned());
        self.ask(|caller, reply| Request::SetName {
            caller,
            target,
            name,
            reply,
        })
        .await
    }

    pub async fn watchdog(
        &self,
        target: &str,
        request: WatchdogRequest,
    ) -> Result<Watched, Trouble> {
        let target = target.to_owned();
        self.ask(|caller, reply| Request::Watchdog {
            caller,
            target,
            request,
            reply,
        })
        .await
    }

    /// Reads what an agent recorded, without touching it.
    pub async fn logs(&self, target: &str, query: LogsQuery) -> Result<Logs, Trouble> {
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
        self.agents.request(Request::AskParent {
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
    ) -> Result<AgentView, Trouble> {
        self.ask(|_, reply| Request::Answer {
            agent,
            call,
            decision,
            reply,
        })
        .await
    }

    /// Finds the agent that `text` means.
    pub async fn resolve(&self, text: &str) -> Result<(AgentId, SessionId), Trouble> {
        let view = self.view(text).await?;
        Ok((view.agent, view.session))
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(Caller, oneshot::Sender<Result<T, Trouble>>) -> Request,
    ) -> Result<T, Trouble> {
        let (reply, answer) = oneshot::channel();
        self.agents.request(request(self.caller, reply));
        answer.await.unwrap_or(Err(Trouble::Ended))
    }
}

/// What the machine offers to children, as far as the faces must know it.
#[async_trait]
pub trait Catalogue: Send + Sync + std::fmt::Debug {
    /// Returns the models that a spawn may name; `None` while the list is being loaded.
    fn models(&self) -> Option<Vec<ModelChoice>>;

    /// Returns all models that a spawn may name, asking whoever serves them. Called when a
    /// name is not among [`Self::models`]; must not wait.
    fn listing(&self) -> Listing {
        match self.models() {
            Some(_) => Listing::Whole,
            None => Listing::Loading,
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
pub enum Listing {
    /// There are no others than [`Catalogue::models`] has now.
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
    pub roles: Arc<crate::roles::Roles>,
}

/// Refuses a message that says nothing.
fn check_words(items: &[UserInput]) -> Result<(), Trouble> {
    if items.iter().all(UserInput::is_blank) {
        return Err(Trouble::Invalid(
            "the message is blank; say something".to_owned(),
        ));
    }
    Ok(())
}
