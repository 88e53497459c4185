//! The way to a tree, and its seed: nothing runs, and nothing is written, until somebody
//! makes a child or an older tree is taken up.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{mpsc, oneshot};
use troupe_engine::{
    ActivityHandle, ConfigureError, IdSource, OpenedSession, SessionClock, SessionConfigurator,
    SessionSetup,
};
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::result::TaskResult;
use troupe_protocol::session::TurnContext;
use troupe_protocol::spawn::CallbackConfig;
use troupe_protocol::tree::Caller;
use troupe_protocol::{AgentId, SessionId, SubmissionId, discard};
use troupe_store::SessionStore;
use troupe_tools::ApprovalMemory;
use troupe_tree::TreeLimits;

use super::arrivals::ChildArrivals;
use super::input::{SupervisorInput, TreeRequest};
use super::new_trees::NewTreeSender;
use super::settings::{CurrentSettings, KeptSettings, SettingsLog, SettingsReader, TreeSettings};
use super::{Supervisor, TreeRoot, results};
use crate::families::Family;
use crate::rights::RightsCeilings;
use crate::roles::{RoleLibrary, TypeChoices};
use crate::tree_access::{SpawnCatalogue, TreeAccess, TreeError};

/// What trees are made with.
#[derive(Debug, Clone)]
pub struct TreeOptions {
    pub limits: TreeLimits,
    /// The tool families that agents are offered.
    pub families: Vec<Family>,
    pub roles: Arc<RoleLibrary>,
    pub catalogue: Arc<dyn SpawnCatalogue>,
    /// How a root is told of its children, unless it was opened with something else.
    pub callback: CallbackConfig,
    pub recovery: RecoveryPolicy,
    /// Models and efforts of roles, over what their files say.
    pub types: TypeChoices,
    /// Reads settings of one session that are not those of all; without it there are none.
    pub reader: Option<Arc<dyn SettingsReader>>,
}

/// What happens to agents that were at work when the engine stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RecoveryPolicy {
    /// They stay interrupted until somebody writes to them.
    #[default]
    Leave,
    /// All but the root are asked to go on.
    ContinueChildren,
    /// The root is asked to go on too.
    Continue,
}

/// One tree. Cheap to clone.
#[derive(Clone)]
pub struct TreeHandle(Arc<SharedTree>);

pub(crate) struct SharedTree {
    pub options: TreeOptions,
    pub configurator: Arc<dyn SessionConfigurator>,
    pub clock: SessionClock,
    pub ids: IdSource,
    announcer: NewTreeSender,
    /// What people agreed to, for all agents of the tree.
    consent: Arc<ApprovalMemory>,
    store: OnceLock<Arc<dyn SessionStore>>,
    /// As the root was configured last.
    settings: CurrentSettings,
    /// Under which settings everybody works.
    pub ceilings: RightsCeilings,
    ephemeral: AtomicBool,
    has_history: AtomicBool,
    mailbox: mpsc::UnboundedSender<SupervisorInput>,
    seed: Mutex<TreeSeed>,
}

/// What the tree grows from.
struct TreeSeed {
    /// Taken by the supervisor when it begins.
    inputs: Option<mpsc::UnboundedReceiver<SupervisorInput>>,
    root: Option<TreeRoot>,
    /// The root's running task.
    task: Option<SubmissionId>,
}

impl TreeHandle {
    pub(crate) fn new(
        configurator: Arc<dyn SessionConfigurator>,
        options: TreeOptions,
        settings: TreeSettings,
        clock: SessionClock,
        ids: IdSource,
        announcer: NewTreeSender,
    ) -> Self {
        let (mailbox, inputs) = mpsc::unbounded_channel();
        Self(Arc::new(SharedTree {
            settings: CurrentSettings::new(&options, settings),
            options,
            configurator,
            clock,
            ids,
            announcer,
            consent: Arc::default(),
            store: OnceLock::new(),
            ceilings: RightsCeilings::default(),
            ephemeral: AtomicBool::new(false),
            has_history: AtomicBool::new(false),
            mailbox,
            seed: Mutex::new(TreeSeed {
                inputs: Some(inputs),
                root: None,
                task: None,
            }),
        }))
    }

    /// Returns under which settings the agents of the tree work.
    pub(crate) fn ceilings(&self) -> &RightsCeilings {
        &self.0.ceilings
    }

    /// Returns what the agents of the tree need not ask again.
    pub(crate) fn consent(&self) -> &Arc<ApprovalMemory> {
        &self.0.consent
    }

    /// Returns the place of the user, who may reach every agent.
    pub fn user(&self) -> TreeAccess {
        TreeAccess::new(self.clone(), Caller::User)
    }

    /// Returns the place of the root: what is done there is the root's own doing.
    pub fn root(&self) -> TreeAccess {
        self.desk(AgentId::ROOT)
    }

    pub(crate) fn desk(&self, agent: AgentId) -> TreeAccess {
        TreeAccess::new(self.clone(), Caller::Agent(agent))
    }

    pub fn options(&self) -> &TreeOptions {
        &self.0.options
    }

    /// Returns how the root is told of its children.
    pub fn callback(&self) -> CallbackConfig {
        self.0.callback()
    }

    /// Returns what holds for the tree now.
    pub fn settings(&self) -> TreeSettings {
        self.0.settings.tree()
    }

    /// Tells whether there ever was a child.
    pub fn is_planted(&self) -> bool {
        self.0.seed().inputs.is_none()
    }

    /// Tells whether nothing of the tree is kept.
    pub fn is_ephemeral(&self) -> bool {
        self.0.is_ephemeral()
    }

    /// Returns when nothing runs and nothing is about to.
    pub async fn wait_until_idle(&self) {
        if !self.is_planted() {
            return;
        }
        let (reply, answer) = oneshot::channel();
        self.post(SupervisorInput::Request(TreeRequest::Quiet { reply }));
        // A tree that has ended is quiet.
        discard!(answer.await, "the tree ended before it answered");
    }

    /// Returns the children whose sessions are in memory, and those that will be; `None` for a
    /// tree that has none or has ended.
    pub async fn arrivals(&self) -> Option<ChildArrivals> {
        if !self.is_planted() {
            return None;
        }
        let (reply, answer) = oneshot::channel();
        self.post(SupervisorInput::Request(TreeRequest::Listen { reply }));
        answer.await.ok()
    }

    /// Ends every task and every child's session. What ran can be resumed.
    pub async fn close(&self) {
        if !self.is_planted() {
            return;
        }
        let (done, closed) = oneshot::channel();
        self.post(SupervisorInput::Close { done });
        // A supervisor that is gone has closed everything.
        discard!(closed.await, "the tree ended before it answered");
    }

    /// Reads the result of a session's task from the logs; of the last one if none is named.
    pub async fn result(
        &self,
        session: SessionId,
        task: Option<SubmissionId>,
    ) -> Result<TaskResult, TreeError> {
        results::find(&*self.store()?, self.root_session(), session, task.as_ref())
            .await?
            .ok_or_else(|| TreeError::NoResult(session.to_string()))
    }

    /// Has whoever knows models, tools and files configure a session.
    pub(crate) async fn configure(
        &self,
        request: &ConfigureSession,
    ) -> Result<SessionSetup, ConfigureError> {
        let config = self.0.settings.config();
        if config.is_empty() {
            return self.0.configurator.configure(request).await;
        }
        let request = ConfigureSession {
            config,
            ..request.clone()
        };
        self.0.configurator.configure(&request).await
    }

    /// Returns where the conversations of the tree are kept.
    pub fn store(&self) -> Result<Arc<dyn SessionStore>, TreeError> {
        self.0.store().ok_or(TreeError::Ended)
    }

    /// Begins with what the root said of its tree earlier.
    pub(crate) fn begin_with(&self, kept: KeptSettings, origin: SettingsLog) {
        self.0.settings.begin_with(kept, origin);
    }

    /// Returns what the root said itself of its tools for agents.
    pub(crate) fn enabled(&self) -> Option<bool> {
        self.0.settings.enabled()
    }

    /// Notes what the root was configured with.
    pub(crate) fn record_configuration(
        &self,
        store: &Arc<dyn SessionStore>,
        request: &ConfigureSession,
        settings: TreeSettings,
    ) {
        self.0.ephemeral.store(request.ephemeral, Ordering::Relaxed);
        // A second configuration of the same session keeps the store.
        self.0.store.set(Arc::clone(store)).ok();
        self.0.settings.take(settings, &request.config);
    }

    /// Hands a request over, and begins to run the tree if it did not yet. A tree without a
    /// root drops it: whoever asked is told that there is none.
    pub(crate) fn request(&self, request: TreeRequest) {
        if self.plant() {
            self.post(SupervisorInput::Request(request));
        }
    }

    /// Hands something over. A supervisor that has ended hears nothing, and its end answers.
    pub(crate) fn post(&self, input: SupervisorInput) {
        discard!(self.0.mailbox.send(input), "the actor has ended");
    }

    /// Gets to know the root's session.
    pub(crate) fn root_opened(&self, opened: OpenedSession, vitals: ActivityHandle) {
        let has_agents = opened.has_agents;
        self.ceilings().set(AgentId::ROOT, &opened.context);
        {
            let mut seed = self.0.seed();
            if seed.root.is_some() {
                // The same session with another configuration.
                if seed.inputs.is_none() {
                    return self.post(SupervisorInput::Reconfigured);
                }
            } else {
                seed.root = Some(TreeRoot {
                    session: opened.session,
                    forked_from: opened.forked_from,
                    orders: opened.orders,
                    context: opened.context,
                    vitals,
                });
            }
        }
        if has_agents {
            self.0.has_history.store(true, Ordering::Relaxed);
        }
        // How a session is told of its children is kept with it, also before it has any.
        if has_agents || self.0.settings.has_news() {
            self.plant();
        }
    }

    /// Begins to run the tree of a session without children, so that other programs find it.
    pub(crate) fn open_to_others(&self) {
        if !self.is_ephemeral() {
            self.plant();
        }
    }

    /// Notes the root's running task while there is no tree. Returns whether there is one.
    pub(crate) fn note_task(&self, task: Option<&SubmissionId>) -> bool {
        let mut seed = self.0.seed();
        seed.task = task.cloned();
        seed.inputs.is_none()
    }

    /// Returns the root's session, once it is open.
    fn root_session(&self) -> Option<SessionId> {
        self.0.seed().root.as_ref().map(|root| root.session)
    }

    /// Returns the root's settings, once it is open.
    pub(crate) fn root_context(&self) -> Option<TurnContext> {
        let seed = self.0.seed();
        seed.root.as_ref().map(|root| root.context.clone())
    }

    pub(super) fn plant(&self) -> bool {
        let mut seed = self.0.seed();
        let Some(root) = seed.root.clone() else {
            return false;
        };
        if let Some(inputs) = seed.inputs.take() {
            let first = seed.task.clone();
            let session = root.session;
            let supervisor = Supervisor::new(Arc::clone(&self.0), inputs, root);
            tokio::spawn(supervisor.run(first));
            self.0.announcer.tell(session, &self.0);
        }
        true
    }
}

impl fmt::Debug for TreeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Agents")
    }
}

impl fmt::Debug for SharedTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

impl SharedTree {
    pub(super) fn store(&self) -> Option<Arc<dyn SessionStore>> {
        self.store.get().cloned()
    }

    pub(super) fn callback(&self) -> CallbackConfig {
        self.settings.callback()
    }

    pub(super) fn settings(&self) -> &CurrentSettings {
        &self.settings
    }

    pub(super) fn is_ephemeral(&self) -> bool {
        self.ephemeral.load(Ordering::Relaxed)
    }

    pub(super) fn has_history(&self) -> bool {
        self.has_history.load(Ordering::Relaxed)
    }

    pub(super) fn mailbox(&self) -> mpsc::UnboundedSender<SupervisorInput> {
        self.mailbox.clone()
    }

    pub(super) fn agents(self: &Arc<Self>) -> TreeHandle {
        TreeHandle(Arc::clone(self))
    }

    fn seed(&self) -> MutexGuard<'_, TreeSeed> {
        self.seed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
