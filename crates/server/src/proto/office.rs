//! Answers what clients ask of a session's tree and of its home.

use std::sync::Arc;

use tokio::sync::mpsc;
use troupe_agents::tree_access::{
    AgentScope, CallbackChoice, SpawnContext, SpawnRequest, StopOutcome, TreeError, TreeStopRequest,
};
use troupe_agents::{AgentsConfigurator, TreeAccess, TreeHandle};
use troupe_engine::{EventStream, SessionHandle, expand};
use troupe_protocol::agent::AgentOrigin;
use troupe_protocol::link::ServerNotice;
use troupe_protocol::link::query::{
    LinkAnswer, LinkQuery, MessageUrgency, SessionCard, SessionFilter, SpawnOrder, StopExemption,
    StopStep, TreeCount,
};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::session::{TurnContext, TurnOverrides};
use troupe_protocol::spawn::HistoryShare;
use troupe_protocol::tree::{AgentMessage, CallbackMode, OnParentInterrupt, TaskEnding};
use troupe_protocol::{AgentId, Event, EventMsg, Op, SessionId, Submission, SubmissionId};
use troupe_store::{
    ArchivedFilter, ListQuery, LogPosition, RecordedStatus, SessionStore, SessionSummary,
};
use troupe_tree::command::{self, StopMode};
use uuid::Uuid;

use super::prompts::PromptHistory;
use super::source::SessionEvents;
use crate::limits::{PROMPTS_TOLD_MAX, SESSION_CARDS_DEFAULT, SESSION_CARDS_MAX};

/// What a child is recorded as that a person makes over a link.
const TOOL: &str = "link";

/// Whoever answers queries about one session. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SessionOffice {
    tree: TreeSource,
    prompts: Option<PromptHistory>,
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
        let prompts = None;
        Self { tree, prompts }
    }

    /// Keeps what people type, for later sessions.
    #[must_use]
    pub fn with_prompts(self, prompts: PromptHistory) -> Self {
        let prompts = Some(prompts);
        Self { prompts, ..self }
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
            LinkQuery::Sessions(filter) => sessions(&*self.store()?, filter).await,
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
        Ok(LinkAnswer::Agents {
            agents: views
                .map(troupe_agents::tree_access::AgentView::card)
                .collect(),
        })
    }

    async fn spawn(&self, order: SpawnOrder, context: &TurnContext) -> Result<LinkAnswer, String> {
        if order.items.is_empty() {
            return Err("items must not be empty".to_owned());
        }
        let request = SpawnRequest {
            backend: None,
            tool: TOOL,
            origin: AgentOrigin::Spawn,
            items: order.items,
            agent_type: order.role,
            agent_name: None,
            name: order.name,
            label: None,
            working_directory: order.working_directory,
            model: order.model,
            reasoning_effort: order.effort,
            sandbox: order.sandbox,
            history: HistoryShare::None,
            fork_answer: None,
            output_schema: None,
            approvals: None,
            on_parent_interrupt: OnParentInterrupt::KeepRunning,
            callback: CallbackChoice {
                mode: if order.call_back {
                    CallbackMode::Persistent
                } else {
                    CallbackMode::Off
                },
                config: None,
            },
            thread_note: order.note,
            turn: SpawnContext::outside_task(context),
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
        work: impl FnOnce(&PromptHistory) -> std::io::Result<T> + Send + 'static,
    ) -> Result<Option<T>, String> {
        let Some(prompts) = self.prompts.clone() else {
            return Ok(None);
        };
        let done = tokio::task::spawn_blocking(move || work(&prompts)).await;
        let done = done.map_err(|error| error.to_string())?;
        done.map(Some).map_err(|error| format!("prompts: {error}"))
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
        let mut from = LogPosition::default();
        let mut is_own = false;
        loop {
            // One that never ran has no log; its events come when it does.
            let Ok(batch) = store.read_all(self.session, from).await else {
                return Ok(());
            };
            for line in &batch.lines {
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
            if batch.at_end || batch.next == from {
                return Ok(());
            }
            from = batch.next;
        }
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

/// Lists sessions with the counts of their trees, from the index alone.
async fn sessions(store: &dyn SessionStore, filter: SessionFilter) -> Result<LinkAnswer, String> {
    let limit = filter.limit.unwrap_or(SESSION_CARDS_DEFAULT);
    let query = ListQuery {
        cwds: filter.cwd.into_iter().collect(),
        archived: if filter.archived {
            ArchivedFilter::Archived
        } else {
            ArchivedFilter::Live
        },
        search: filter.search,
        cursor: filter.cursor,
        limit: Some(limit.min(SESSION_CARDS_MAX) as usize),
        ..ListQuery::default()
    };
    let page = store.list(&query).await.map_err(unlisted)?;
    let mut sessions = Vec::new();
    for summary in page.sessions {
        sessions.push(card(store, summary).await?);
    }
    let next = page.next;
    Ok(LinkAnswer::Sessions { sessions, next })
}

async fn card(store: &dyn SessionStore, summary: SessionSummary) -> Result<SessionCard, String> {
    let agents = store.tree(summary.id).await.map_err(unlisted)?;
    let questions = store.open_approvals(summary.id).await.map_err(unlisted)?;
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let below = agents.iter().filter(|row| row.agent != AgentId::ROOT);
    let is_stopped = |end| matches!(end, RecordedStatus::Ended(TaskEnding::Interrupted { .. }));
    let tree = TreeCount {
        agents: count(below.clone().count()),
        stopped: count(below.filter(|row| is_stopped(row.standing)).count()),
        questions: count(questions.len()),
        is_open: store.is_held(summary.id).await.map_err(unlisted)?,
    };
    Ok(SessionCard {
        session_id: summary.id,
        name: summary.name,
        note: summary.note,
        preview: summary.preview,
        cwd: summary.cwd,
        model: summary.model,
        created_ms: summary.created.0,
        updated_ms: summary.updated.0,
        tokens: summary.tokens,
        forked_from: summary.forked_from,
        tree,
    })
}

fn told(trouble: TreeError) -> String {
    trouble.to_string()
}

fn unlisted(error: troupe_store::StoreError) -> String {
    error.to_string()
}
