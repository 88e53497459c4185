//! Adds the agent tree to what sessions are configured with: the tools, the host, and for
//! children the rights that they were given.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use troupe_engine::{
    ConfigureError, ForkRights, IdSource, SessionClock, SessionConfigurator, SessionHost,
    SessionSetup,
};
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::spawn::{SpawnSpec, ToolLists};
use troupe_protocol::{AgentId, SessionId};
use troupe_store::{AgentLocation, SessionStore};

use crate::families;
use crate::roles::{ToolPattern, ToolPolicy};
use crate::supervisor::{
    KeptSettings, NewTreeSender, NewTrees, SettingsLog, SourceRights, TreeHandle, TreeMembership,
    TreeOptions, TreeSettings,
};
use crate::tree_access::RolePlace;

/// Configures roots. Wraps whoever knows models, tools and files.
#[derive(Debug)]
pub struct AgentsConfigurator {
    inner: Arc<dyn SessionConfigurator>,
    options: TreeOptions,
    clock: SessionClock,
    ids: IdSource,
    announcer: NewTreeSender,
    current: Mutex<Option<CurrentTree>>,
}

/// The tree of the session that was configured last.
#[derive(Debug)]
struct CurrentTree {
    agents: TreeHandle,
    membership: Weak<TreeMembership>,
}

impl AgentsConfigurator {
    pub fn new(
        inner: Arc<dyn SessionConfigurator>,
        options: TreeOptions,
        clock: SessionClock,
        ids: IdSource,
    ) -> Self {
        Self {
            inner,
            options,
            clock,
            ids,
            announcer: NewTreeSender::new(),
            current: Mutex::new(None),
        }
    }

    /// Returns what trees are made with.
    pub fn options(&self) -> &TreeOptions {
        &self.options
    }

    /// Returns the tree of the session that was configured last.
    pub fn agents(&self) -> Option<TreeHandle> {
        self.current()
            .as_ref()
            .map(|current| current.agents.clone())
    }

    /// Returns the trees that begin to grow from now on.
    pub fn plantings(&self) -> NewTrees {
        self.announcer.listen()
    }

    /// A session that is configured again keeps its tree; another session gets its own.
    fn tree_for(
        &self,
        request: &ConfigureSession,
        settings: TreeSettings,
    ) -> (TreeHandle, Arc<TreeMembership>) {
        if let Some(known) = self.known(request) {
            return known;
        }
        let agents = TreeHandle::new(
            Arc::clone(&self.inner),
            self.options.clone(),
            settings,
            self.clock.clone(),
            self.ids.clone(),
            self.announcer.clone(),
        );
        let membership = Arc::new(TreeMembership::new(agents.clone(), AgentId::ROOT));
        *self.current() = Some(CurrentTree {
            agents: agents.clone(),
            membership: Arc::downgrade(&membership),
        });
        (agents, membership)
    }

    /// Returns the tree of the session that is configured again, if it is.
    fn known(&self, request: &ConfigureSession) -> Option<(TreeHandle, Arc<TreeMembership>)> {
        if request.resume.is_some() || request.fork.is_some() {
            return None;
        }
        let current = self.current();
        let known = current.as_ref()?;
        Some((known.agents.clone(), known.membership.upgrade()?))
    }

    fn current(&self) -> MutexGuard<'_, Option<CurrentTree>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl SessionConfigurator for AgentsConfigurator {
    async fn configure(&self, request: &ConfigureSession) -> Result<SessionSetup, ConfigureError> {
        let mut setup = self.inner.configure(request).await?;
        if let Some(session) = request.resume {
            must_be_its_own(&*setup.store, session).await?;
        }
        let kept = kept_settings(&*setup.store, request).await?;
        let enabled = match &kept {
            Some((kept, _)) => kept.enabled,
            None => self.known(request).and_then(|(agents, _)| agents.enabled()),
        };
        let settings = self.options.settings(request, enabled)?;
        setup.fork_rights = fork_rights(&*setup.store, request).await?;
        let (agents, membership) = self.tree_for(request, settings.clone());
        if let Some((kept, origin)) = kept {
            agents.begin_with(kept, origin);
        }
        agents.record_configuration(&setup.store, request, settings);
        add_tools(&mut setup, &agents, AgentId::ROOT);
        setup.host = membership;
        Ok(setup)
    }
}

/// Reads what a session said earlier of its tree: itself, or the one that it is a fork of. None
/// for one that is new, or open already.
async fn kept_settings(
    store: &dyn SessionStore,
    request: &ConfigureSession,
) -> Result<Option<(KeptSettings, SettingsLog)>, ConfigureError> {
    let (session, origin) = match (request.resume, &request.fork) {
        (Some(session), _) => (session, SettingsLog::Own),
        (None, Some(point)) => (point.session_id, SettingsLog::Source),
        (None, None) => return Ok(None),
    };
    let unread = |error: troupe_store::StoreError| ConfigureError::refused(error.to_string());
    // Most sessions have no tree, and their logs are not read for it.
    match store.tree_of(session).await.map_err(unread)? {
        Some(AgentLocation { root, .. }) if root == session => {
            let kept = KeptSettings::read(store, root).await.map_err(unread)?;
            Ok(Some((kept, origin)))
        }
        Some(_) | None => Ok(None),
    }
}

/// Returns what a fork of an agent may do: what those above that agent leave to it now.
async fn fork_rights(
    store: &dyn SessionStore,
    request: &ConfigureSession,
) -> Result<Option<Arc<dyn ForkRights>>, ConfigureError> {
    let unread = |error: troupe_store::StoreError| ConfigureError::refused(error.to_string());
    let Some(point) = &request.fork else {
        return Ok(None);
    };
    match store.tree_of(point.session_id).await.map_err(unread)? {
        Some(place) if place.agent != AgentId::ROOT => {
            let rights = SourceRights::read(store, place).await.map_err(unread)?;
            Ok(Some(Arc::new(rights)))
        }
        Some(_) | None => Ok(None),
    }
}

/// An agent goes on inside its tree, where its caller hears of what it does. Opened by itself
/// it would be cut off from both.
async fn must_be_its_own(
    store: &dyn SessionStore,
    session: SessionId,
) -> Result<(), ConfigureError> {
    let place = store.tree_of(session).await;
    let place = place.map_err(|error| ConfigureError::refused(error.to_string()))?;
    match place {
        Some(AgentLocation { root, agent }) if agent != AgentId::ROOT => {
            let (own, root) = (session.short(), root.short());
            Err(ConfigureError::refused(format!(
                "session {own} is agent {agent} of the tree of session {root}: `troupe agents \
                 send {root}:{agent} …` goes on with it there, and `troupe exec fork {own} …` \
                 begins a conversation of its own with its history"
            )))
        }
        Some(_) | None => Ok(()),
    }
}

/// Configures one child.
#[derive(Debug)]
pub(crate) struct ChildConfigurator {
    pub agents: TreeHandle,
    pub agent: AgentId,
    pub session: Option<SessionId>,
    pub spec: Arc<SpawnSpec>,
    /// The role's text that it follows, its own or an ancestor's.
    pub role: Option<Arc<str>>,
    /// Set if its requests begin with the bytes of its parent's.
    pub cache_key: Option<SessionId>,
    pub membership: Arc<TreeMembership>,
}

#[async_trait]
impl SessionConfigurator for ChildConfigurator {
    async fn configure(&self, request: &ConfigureSession) -> Result<SessionSetup, ConfigureError> {
        let mut setup = self.agents.configure(request).await?;
        if let Ok(store) = self.agents.store() {
            setup.store = store;
        }
        // A program has tools of its own; the kernel holds them to its rights.
        if !self.is_backend() {
            setup = self.equip(setup)?;
        }
        setup.instructions.role.clone_from(&self.role);
        setup.session_id = self.session;
        setup.prompt_cache_key = self.cache_key.map(|session| session.to_string());
        setup.forking_call.clone_from(&self.spec.forking_call);
        setup.host = Arc::clone(&self.membership) as Arc<dyn SessionHost>;
        Ok(setup)
    }
}

impl ChildConfigurator {
    fn is_backend(&self) -> bool {
        let backends = || self.agents.options().catalogue.backends();
        let provider = self.spec.model_provider.as_ref();
        provider.is_some_and(|provider| backends().contains(provider))
    }

    /// Adds the tools of the tree, and takes away what the roles do not allow.
    fn equip(&self, mut setup: SessionSetup) -> Result<SessionSetup, ConfigureError> {
        add_tools(&mut setup, &self.agents, self.agent);
        let lists = &self.spec.tools;
        let policies = policies(lists)?;
        setup.tools = setup
            .tools
            .narrow(move |tool| policies.iter().all(|policy| policy.allows(tool)));
        for servers in lists.iter().filter_map(|list| list.mcp_servers.as_deref()) {
            setup.tools = setup.tools.narrow_source(servers);
        }
        if let Some(why) = &self.spec.sandbox_held {
            setup.tools = setup.tools.held_in_sandbox(why);
        }
        Ok(setup)
    }
}

fn add_tools(setup: &mut SessionSetup, agents: &TreeHandle, agent: AgentId) {
    setup.tools.share_consent(agents.consent());
    let options = agents.options();
    let place = RolePlace {
        cwd: setup.context.cwd.clone(),
        roles: Arc::clone(&options.roles),
    };
    let desk = agents.desk(agent);
    for tool in families::tools(&agents.settings().families, &desk, &place) {
        setup.tools.add(tool);
    }
}

/// Reads the lists that a child was born with. They were written by us, so one that cannot
/// be read is damage, and damage must not widen rights.
fn policies(lists: &[ToolLists]) -> Result<Vec<ToolPolicy>, ConfigureError> {
    let patterns = |texts: &[String]| -> Result<Vec<ToolPattern>, ConfigureError> {
        let parse = |text: &String| {
            ToolPattern::parse(text).map_err(|error| {
                let message = format!("the recorded tool list of this agent is damaged: {error}");
                ConfigureError::refused(message)
            })
        };
        texts.iter().map(parse).collect()
    };
    lists
        .iter()
        .map(|list| {
            Ok(ToolPolicy {
                allow: list.allow.as_deref().map(patterns).transpose()?,
                deny: patterns(&list.deny)?,
            })
        })
        .collect()
}
