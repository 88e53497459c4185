//! Answers what clients ask of a session's tree and of its home.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;
use troupe_agents::roles::RoleLibrary;
use troupe_agents::tree_access::{
    AgentScope, AgentView, CallbackChoice, SpawnContext, SpawnRequest, StopOutcome, TreeError,
    TreeStopRequest,
};
use troupe_agents::{AgentsConfigurator, TreeAccess, TreeHandle};
use troupe_engine::{EventStream, SessionHandle, expand};
use troupe_protocol::agent::AgentCard;
use troupe_protocol::link::ServerNotice;
use troupe_protocol::link::query::{
    LinkAnswer, LinkQuery, MailCard, MailCardState, MessageUrgency, RoleCard, SpawnOrder,
    StopExemption, StopStep,
};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::session::{TurnContext, TurnOverrides};
use troupe_protocol::tree::AgentMessage;
use troupe_protocol::{AgentId, Event, EventMsg, Op, SessionId, Submission, SubmissionId};
use troupe_store::{AgentLocation, IndexFreshness, LogReader, MailRow, MailState, SessionStore};
use troupe_tree::command::{self, StopMode};
use uuid::Uuid;

use super::prompts::PromptHistory;
use super::read_marks::{ReadMark, ReadMarks};
use super::session_cards::session_cards;
use super::source::SessionEvents;
use crate::limits::PROMPTS_TOLD_MAX;
use crate::prompt_commands::PromptCommandLibrary;

/// What a child is recorded as that a person makes over a link.
const TOOL: &str = "link";

/// Whoever answers queries about one session. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SessionOffice {
    tree: TreeSource,
    prompts: Option<PromptHistory>,
    read_marks: Option<ReadMarks>,
    commands: Option<Arc<dyn PromptCommandLibrary>>,
}

/// Where the tree of the session is found.
#[derive(Debug, Clone)]
pub enum TreeSource {
    /// Before the session is configured there is none.
    Configurator(Arc<AgentsConfigurator>),
    Tree(TreeHandle),
}

impl SessionOffice {
    pub fn new(tree: TreeSource) -> Self {
        Self {
            tree,
            prompts: None,
            read_marks: None,
            commands: None,
        }
    }

    /// Keeps what people type, for later sessions.
    #[must_use]
    pub fn with_prompts(self, prompts: PromptHistory) -> Self {
        let prompts = Some(prompts);
        Self { prompts, ..self }
    }

    /// Keeps which results were read.
    #[must_use]
    pub fn with_read_marks(self, read_marks: ReadMarks) -> Self {
        let read_marks = Some(read_marks);
        Self { read_marks, ..self }
    }

    /// Knows the prompts that clients call by name.
    #[must_use]
    pub fn with_commands(self, commands: Arc<dyn PromptCommandLibrary>) -> Self {
        let commands = Some(commands);
        Self { commands, ..self }
    }

    fn agents(&self) -> Result<TreeHandle, String> {
        match &self.tree {
            TreeSource::Configurator(configurator) => configurator.agents(),
            TreeSource::Tree(agents) => Some(agents.clone()),
        }
        .ok_or_else(|| "the session is not configured yet".to_owned())
    }

    fn desk(&self) -> Result<TreeAccess, String> {
        Ok(self.agents()?.user())
    }

    fn store(&self) -> Result<Arc<dyn SessionStore>, String> {
        self.agents()?.store().map_err(told)
    }

    pub(super) async fn answer(
        &self,
        handle: &SessionHandle,
        events: &SessionEvents,
        query: LinkQuery,
    ) -> Result<LinkAnswer, String> {
        match query {
            LinkQuery::Agents { include_closed } => self.list(include_closed).await,
            LinkQuery::SpawnAgent { order } => {
                let context = context(handle, events).await?;
                self.spawn(*order, &context).await
            }
            LinkQuery::SendToAgent {
                agent,
                items,
                urgency,
            } => {
                let message = AgentMessage {
                    items,
                    metadata: None,
                    client_id: None,
                };
                let urgency = match urgency {
                    MessageUrgency::Regular => command::SendUrgency::Regular,
                    MessageUrgency::Interrupt => command::SendUrgency::Interrupt,
                };
                let sent = self.desk()?.send(&agent, message, urgency).await;
                let sent = sent.map_err(told)?;
                Ok(LinkAnswer::Sent {
                    agent: Box::new(sent.view.card()),
                    receipt: sent.receipt.told(),
                })
            }
            LinkQuery::StopAgents {
                agents,
                verb,
                dry_run,
                note,
            } => {
                let request = TreeStopRequest {
                    verb,
                    targets: agents,
                    mode: if dry_run {
                        StopMode::DryRun
                    } else {
                        StopMode::Act
                    },
                    note,
                };
                let stopped = self.desk()?.stop(request).await;
                Ok(stop_told(stopped.map_err(told)?))
            }
            LinkQuery::ResumeAgent { agent } => {
                let view = self.desk()?.go_on(&agent).await.map_err(told)?;
                let agent = Box::new(view.card());
                Ok(LinkAnswer::Resumed { agent })
            }
            LinkQuery::AgentResult { agent, task_id } => {
                let result = self.desk()?.result(&agent, task_id).await;
                let result = Box::new(result.map_err(told)?);
                Ok(LinkAnswer::Result { result })
            }
            LinkQuery::SetAgentNote { agent, note } => {
                let set = self.desk()?.set_note(&agent, &note).await;
                set.map_err(told)?;
                Ok(LinkAnswer::NoteSet)
            }
            LinkQuery::MarkRead { agent } => self.mark_read(&agent).await,
            LinkQuery::AgentInbox { agent } => self.inbox(&agent).await,
            LinkQuery::Roles => {
                let context = context(handle, events).await?;
                let roles = Arc::clone(&self.agents()?.options().roles);
                let read = move || role_cards(&roles, &context.cwd);
                let roles = tokio::task::spawn_blocking(read).await;
                let roles = roles.map_err(|error| error.to_string())?;
                Ok(LinkAnswer::Roles { roles })
            }
            LinkQuery::Sessions(filter) => {
                let listed = session_cards(&*self.store()?, filter, IndexFreshness::CaughtUp).await;
                listed.map_err(|error| error.to_string())
            }
            LinkQuery::Prompts { limit } => {
                let limit = limit.unwrap_or(PROMPTS_TOLD_MAX).min(PROMPTS_TOLD_MAX);
                let read = self.with_history(move |prompts| prompts.newest(limit as usize));
                let prompts = read.await?.unwrap_or_default();
                Ok(LinkAnswer::Prompts { prompts })
            }
            LinkQuery::AddPrompt { text } => {
                self.with_history(move |prompts| prompts.add(&text)).await?;
                Ok(LinkAnswer::PromptAdded)
            }
            LinkQuery::Commands => {
                let context = context(handle, events).await?;
                let commands = match &self.commands {
                    Some(library) => library.commands(&context.cwd).await,
                    None => Vec::new(),
                };
                Ok(LinkAnswer::Commands { commands })
            }
            LinkQuery::FillCommand { line } => {
                let context = context(handle, events).await?;
                let filled = match &self.commands {
                    Some(library) => library.fill(&context.cwd, &line).await?,
                    None => None,
                };
                let (text, notes) = match filled {
                    Some(filled) => (Some(filled.text), filled.notes),
                    None => (None, Vec::new()),
                };
                Ok(LinkAnswer::CommandFilled { text, notes })
            }
            _ => Err("this server does not know the query; the client is newer".to_owned()),
        }
    }

    async fn list(&self, include_closed: bool) -> Result<LinkAnswer, String> {
        let agents = self.agents()?;
        // A session that has no children has no tree that could be asked, and needs none.
        if !agents.is_planted() {
            return Ok(LinkAnswer::Agents { agents: Vec::new() });
        }
        let desk = agents.user();
        let root = desk.view(&AgentId::ROOT.to_string()).await.map_err(told)?;
        let others = desk
            .list(AgentScope::All, include_closed)
            .await
            .map_err(told)?;
        let others = others.iter().filter(|view| view.agent != AgentId::ROOT);
        let views = std::iter::once(&root).chain(others);
        let mut agents: Vec<AgentCard> = views.map(AgentView::card).collect();
        if agents.iter().any(|card| card.last_task.is_some())
            && let Some(marks) = self.read_marks.clone()
        {
            let marks = with_file(marks, ReadMarks::all).await?;
            for card in &mut agents {
                let mark = mark_of(card.session_id, card.last_task.clone());
                card.read = mark.is_some_and(|mark| marks.contains(&mark));
            }
        }
        Ok(LinkAnswer::Agents { agents })
    }

    async fn mark_read(&self, agent: &str) -> Result<LinkAnswer, String> {
        let view = self.desk()?.view(agent).await.map_err(told)?;
        let mark = mark_of(view.session, view.last_task);
        if let (Some(marks), Some(mark)) = (self.read_marks.clone(), mark) {
            with_file(marks, move |marks| marks.add(&mark)).await?;
        }
        Ok(LinkAnswer::Read)
    }

    async fn inbox(&self, agent: &str) -> Result<LinkAnswer, String> {
        let desk = self.desk()?;
        let root = desk.view(&AgentId::ROOT.to_string()).await.map_err(told)?;
        let view = desk.view(agent).await.map_err(told)?;
        let at = AgentLocation {
            root: root.session,
            agent: view.agent,
        };
        let rows = self.store()?.inbox(at).await;
        let rows = rows.map_err(|error| error.to_string())?;
        Ok(LinkAnswer::Inbox {
            messages: rows.into_iter().map(mail_card).collect(),
        })
    }

    async fn spawn(&self, order: SpawnOrder, context: &TurnContext) -> Result<LinkAnswer, String> {
        if order.items.is_empty() {
            return Err("items must not be empty".to_owned());
        }
        let turn = SpawnContext::outside_task(context);
        let request = SpawnRequest {
            agent_type: order.role,
            name: order.name,
            working_directory: order.working_directory,
            model: order.model,
            reasoning_effort: order.effort,
            sandbox: order.sandbox,
            history: order.history,
            callback: CallbackChoice::each_end(order.call_back),
            thread_note: order.note,
            ..SpawnRequest::new(TOOL, order.items, turn)
        };
        let spawned = self.desk()?.spawn(request).await.map_err(told)?;
        Ok(LinkAnswer::Spawned {
            agent: Box::new(spawned.view.card()),
            why: spawned.why,
        })
    }

    /// Works with the file of prompts, if there is one, beside the session.
    async fn with_history<T: Send + 'static>(
        &self,
        work: impl FnOnce(&PromptHistory) -> io::Result<T> + Send + 'static,
    ) -> Result<Option<T>, String> {
        match self.prompts.clone() {
            Some(prompts) => with_file(prompts, work).await.map(Some),
            None => Ok(None),
        }
    }

    /// Tells what an agent said after `seen` and says, until its tree or the client is gone.
    pub(super) async fn follow(
        &self,
        agent: AgentId,
        seen: u64,
        tell: &mpsc::Sender<ServerNotice>,
    ) -> Result<(), String> {
        let agents = self.agents()?;
        if !agents.is_planted() {
            return Err(format!("there is no agent {agent}"));
        }
        let view = agents.user().view(&agent.to_string()).await.map_err(told)?;
        let mut follower = Follower {
            agent,
            session: view.session,
            seen,
            tell,
        };
        // Of one that is not in memory its log tells.
        if follower.read_log(&*self.store()?).await.is_err() {
            return Ok(());
        }
        while let Some(mut arrivals) = agents.arrivals().await {
            while let Some(arrival) = arrivals.next().await {
                if arrival.view.agent == agent {
                    let events = match follower.seen {
                        0 => arrival.events.from_beginning(),
                        seen => arrival.events.after(seen),
                    };
                    if follower.pass_on(events).await.is_err() {
                        return Ok(());
                    }
                }
            }
            if tell.is_closed() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// One agent, and what a client knows of it.
struct Follower<'a> {
    agent: AgentId,
    session: SessionId,
    seen: u64,
    tell: &'a mpsc::Sender<ServerNotice>,
}

/// Nobody listens any more.
struct Unheard;

impl Follower<'_> {
    /// Tells what stands in the log of the agent and was said by it: what a fork copied from
    /// another one is left out.
    async fn read_log(&mut self, store: &dyn SessionStore) -> Result<(), Unheard> {
        let mut log = LogReader::new(self.session);
        let mut is_own = false;
        // One that never ran has no log; its events come when it does.
        while let Ok(Some(lines)) = log.next(store).await {
            for line in &lines {
                let Ok(stamped) = line.record() else { continue };
                let RolloutRecord::EventMsg(event) = stamped.record else {
                    continue;
                };
                is_own |= matches!(event.msg, EventMsg::SessionConfigured(_));
                if is_own {
                    for event in expand(event) {
                        self.say(event).await?;
                    }
                }
            }
        }
        Ok(())
    }

    async fn pass_on(&mut self, mut events: EventStream) -> Result<(), Unheard> {
        while let Some(event) = events.next().await {
            self.say((*event).clone()).await?;
        }
        Ok(())
    }

    async fn say(&mut self, event: Event) -> Result<(), Unheard> {
        if event.seq <= self.seen {
            return Ok(());
        }
        self.seen = event.seq;
        let notice = ServerNotice::AgentEvent {
            agent: self.agent,
            event: Box::new(event),
        };
        self.tell.send(notice).await.map_err(|_| Unheard)
    }
}

/// Returns the settings that hold now: who makes a child must not give it more than they have.
async fn context(handle: &SessionHandle, source: &SessionEvents) -> Result<TurnContext, String> {
    let mut events = source.after(source.last_seq());
    let id = SubmissionId(Uuid::now_v7().to_string());
    let op = Op::OverrideTurnContext {
        overrides: TurnOverrides::default(),
    };
    let submission = Submission { id: id.clone(), op };
    let submitted = handle.submit(submission).await;
    submitted.map_err(|closed| closed.to_string())?;
    while let Some(event) = events.next().await {
        match &event.msg {
            EventMsg::TurnContextUpdated(context) if event.id == id => return Ok(context.clone()),
            EventMsg::Error(error) if event.id == id => return Err(error.message.clone()),
            _ => {}
        }
    }
    Err("the session has ended".to_owned())
}

fn stop_told(stopped: StopOutcome) -> LinkAnswer {
    let touched = stopped.touched.into_iter().map(|planned| StopStep {
        agent_id: planned.view.agent,
        path: planned.view.path,
        verb: planned.what,
    });
    let skipped = stopped.skipped.into_iter().map(|planned| StopExemption {
        agent_id: planned.view.agent,
        path: planned.view.path,
        why: planned.what.told().to_owned(),
    });
    LinkAnswer::Stopped {
        touched: touched.collect(),
        skipped: skipped.collect(),
        unknown: stopped.unknown,
    }
}

fn told(trouble: TreeError) -> String {
    trouble.to_string()
}

/// Works with a file of the home, on a thread that may wait.
async fn with_file<F: Send + 'static, T: Send + 'static>(
    file: F,
    work: impl FnOnce(&F) -> io::Result<T> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(move || work(&file)).await;
    let done = done.map_err(|error| error.to_string())?;
    done.map_err(|error| format!("a file of the home: {error}"))
}

fn mark_of(session: SessionId, task: Option<SubmissionId>) -> Option<ReadMark> {
    task.map(|task| ReadMark { session, task })
}

fn mail_card(row: MailRow) -> MailCard {
    MailCard {
        kind: row.kind,
        queued_ms: row.queued.map(|at| at.0),
        state: match row.state {
            MailState::Waiting => MailCardState::Waiting,
            MailState::Taken => MailCardState::Taken,
            MailState::Consumed => MailCardState::Consumed,
            MailState::Dropped => MailCardState::Dropped,
        },
    }
}

fn role_cards(roles: &RoleLibrary, cwd: &Path) -> Vec<RoleCard> {
    let usable = roles.catalogue(cwd).roles.into_iter();
    usable
        .map(|role| RoleCard {
            name: role.name.to_string(),
            description: role.description.clone(),
        })
        .collect()
}
