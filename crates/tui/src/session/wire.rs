//! A session at the other end of a wire: what the screen asks becomes queries of the link, and
//! answers become what the screen knows.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use tokio::sync::oneshot;
use troupe_client::{Client, ClientError, ClientUpdate};
use troupe_protocol::agent::{AgentCard, AgentMaking, AgentStatus};
use troupe_protocol::input::UserInput;
use troupe_protocol::link::query::{self, LinkAnswer, LinkQuery, MessageReceipt};
use troupe_protocol::link::{ClientRole, ServerNotice, Welcome};
use troupe_protocol::spawn::{ApprovalRoute, HistoryShare};
use troupe_protocol::{AgentId, Op, SubmissionId};

use super::{
    AgentReport, LinkMessage, MessageUrgency, SessionLink, SpawnOrder, StopVerb, TreeNews,
    TreeRequest, sandbox_words,
};

/// The link of a screen to a session that any process runs.
#[derive(Debug)]
pub struct WireLink {
    /// Taken when the screen lets go of the link.
    client: Option<Client>,
    give_back: Option<oneshot::Sender<Client>>,
    asked: BTreeMap<SubmissionId, TreeRequest>,
    queries: u64,
    /// Tasks whose results were read here.
    read: BTreeSet<(AgentId, Option<SubmissionId>)>,
    /// The last task of each agent, as it was told last.
    last_tasks: BTreeMap<AgentId, Option<SubmissionId>>,
}

impl WireLink {
    /// Returns the link, and what gives the client back once the screen has let go of it.
    pub fn new(client: Client) -> (Self, oneshot::Receiver<Client>) {
        let (give_back, returned) = oneshot::channel();
        let link = Self {
            client: Some(client),
            give_back: Some(give_back),
            asked: BTreeMap::new(),
            queries: 0,
            read: BTreeSet::new(),
            last_tasks: BTreeMap::new(),
        };
        (link, returned)
    }

    fn client(&self) -> Result<&Client, ClientError> {
        self.client.as_ref().ok_or(ClientError::Ended)
    }

    async fn query(&mut self, request: TreeRequest, query: LinkQuery) -> Result<(), ClientError> {
        self.queries += 1;
        let id = SubmissionId(format!("screen-{}", self.queries));
        self.asked.insert(id.clone(), request);
        self.client()?.submitter().ask(id, query).await
    }

    fn told(&mut self, notice: ServerNotice) -> LinkMessage {
        match notice {
            ServerNotice::AgentEvent { agent, event } => LinkMessage::AgentEvent { agent, event },
            ServerNotice::Answer { id, answer } => match self.asked.remove(&id) {
                Some(request) => LinkMessage::Tree(Box::new(self.news(request, answer))),
                None => LinkMessage::Notice(Box::new(ServerNotice::Answer { id, answer })),
            },
            ServerNotice::Refused {
                id: Some(id),
                error,
            } if self.asked.contains_key(&id) => {
                let news = match self.asked.remove(&id) {
                    Some(TreeRequest::Result(agent)) => TreeNews::NoResult {
                        agent,
                        why: error.message,
                    },
                    _ => TreeNews::Refused(error.message),
                };
                LinkMessage::Tree(Box::new(news))
            }
            ServerNotice::Welcome(welcome) => {
                // What a lost connection was asked is not answered any more.
                self.asked.clear();
                LinkMessage::Notice(Box::new(ServerNotice::Welcome(welcome)))
            }
            notice => LinkMessage::Notice(Box::new(notice)),
        }
    }

    fn news(&mut self, request: TreeRequest, answer: LinkAnswer) -> TreeNews {
        match (request, answer) {
            (_, LinkAnswer::Agents { agents }) => {
                TreeNews::Agents(agents.into_iter().map(|card| self.report(card)).collect())
            }
            (request, LinkAnswer::Spawned { agent, why }) => {
                let mut text = format!("{} is made", agent.name());
                for sentence in why {
                    text.push_str("; ");
                    text.push_str(&sentence);
                }
                TreeNews::Spawned {
                    agent: agent.agent_id,
                    is_aside: matches!(request, TreeRequest::Spawn(order) if order.is_aside),
                    text,
                }
            }
            (_, LinkAnswer::Sent { agent, receipt }) => sent(&agent, &receipt),
            (
                TreeRequest::StopScope { agent, verb },
                LinkAnswer::Stopped {
                    touched, skipped, ..
                },
            ) => TreeNews::StopScope {
                agent,
                verb,
                touched: touched.iter().map(|step| step.agent_id).collect(),
                skipped: skipped
                    .into_iter()
                    .map(|exemption| (exemption.agent_id, exemption.why))
                    .collect(),
            },
            (TreeRequest::Stop { verb, .. }, LinkAnswer::Stopped { touched, .. }) => {
                let paths: Vec<&str> = touched.iter().map(|step| step.path.as_str()).collect();
                TreeNews::Done(match paths.as_slice() {
                    [] => "nothing was to be stopped".to_owned(),
                    paths => format!("{}: {}", verb.name(), paths.join(", ")),
                })
            }
            (_, LinkAnswer::Resumed { agent }) => {
                TreeNews::Done(format!("{} goes on", agent.name()))
            }
            (TreeRequest::Result(agent), LinkAnswer::Result { result }) => {
                TreeNews::Result { agent, result }
            }
            (TreeRequest::Inbox(agent), LinkAnswer::Inbox { messages }) => {
                TreeNews::Inbox { agent, messages }
            }
            (_, LinkAnswer::Roles { roles }) => TreeNews::Roles(roles),
            (_, LinkAnswer::Prompts { prompts }) => TreeNews::Prompts(prompts),
            (_, LinkAnswer::PromptAdded | LinkAnswer::Read) => TreeNews::Kept,
            (_, LinkAnswer::Commands { commands }) => TreeNews::Commands(commands),
            (TreeRequest::FillCommand(line), LinkAnswer::CommandFilled { text, notes }) => {
                TreeNews::CommandFilled { line, text, notes }
            }
            (_, _) => {
                TreeNews::Refused("the session gave an answer to another question".to_owned())
            }
        }
    }

    fn report(&mut self, card: AgentCard) -> AgentReport {
        let agent = card.agent_id;
        let has_result = matches!(
            card.status,
            AgentStatus::Completed(_) | AgentStatus::Errored(_) | AgentStatus::BudgetExceeded
        );
        let unread = agent != AgentId::ROOT
            && has_result
            && !card.read
            && !self.read.contains(&(agent, card.last_task.clone()));
        self.last_tasks.insert(agent, card.last_task);
        let made = card.made.as_ref();
        AgentReport {
            agent,
            session: card.session_id,
            parent: card.parent_agent_id,
            path: card.path,
            status: card.status,
            detail: card.detail,
            since_ms: card.since_ms,
            progress_ms: Some(card.progress_ms),
            born_ms: card.born_ms,
            role: made.map(|made| made.role.clone()),
            rights: made.map(rights),
            model: made.map(|made| made.model.clone()),
            effort: made.and_then(|made| made.effort),
            directory: made.map(|made| made.cwd.display().to_string()),
            task: made.and_then(AgentMaking::short_summary),
            note: card.note,
            tokens: card.tokens.own,
            tree_tokens: card.tokens.subtree,
            pending_messages: card.pending.messages,
            unread,
        }
    }
}

impl Drop for WireLink {
    fn drop(&mut self) {
        if let Some((client, give_back)) = self.client.take().zip(self.give_back.take()) {
            // Whoever does not want it back lets it go.
            give_back.send(client).ok();
        }
    }
}

/// Says what an agent may do, who answers what it asks, and what keeps it there.
fn rights(made: &AgentMaking) -> String {
    let asks = match made.approvals {
        ApprovalRoute::Never => "what needs an answer is refused",
        ApprovalRoute::Route => "asks you",
        ApprovalRoute::Parent => "asks its parent and you",
    };
    let held = made.sandbox_held.as_deref();
    let held = held.map_or(String::new(), |why| format!("; no more, because {why}"));
    format!("{}, {asks}{held}", sandbox_words(&made.sandbox))
}

fn sent(card: &AgentCard, receipt: &MessageReceipt) -> TreeNews {
    let name = card.name();
    match receipt {
        MessageReceipt::Delivered => TreeNews::Done(format!("{name}: told")),
        MessageReceipt::Queued { position } => {
            TreeNews::Done(format!("{name}: number {position} in its queue"))
        }
        MessageReceipt::Held { until } => TreeNews::Done(format!("{name}: kept until {until}")),
        MessageReceipt::Dead { why } => TreeNews::Refused(format!("{name}: {why}")),
    }
}

fn order(order: SpawnOrder) -> query::SpawnOrder {
    query::SpawnOrder {
        items: vec![UserInput::text(order.task)],
        role: order.role,
        name: order.name,
        model: order.model,
        effort: order.effort,
        sandbox: order.sandbox,
        working_directory: order.directory,
        note: None,
        history: if order.is_aside {
            HistoryShare::All
        } else {
            HistoryShare::None
        },
        call_back: !order.is_aside,
    }
}

fn verb(verb: StopVerb) -> troupe_protocol::StopVerb {
    match verb {
        StopVerb::Interrupt => troupe_protocol::StopVerb::Interrupt,
        StopVerb::Cancel => troupe_protocol::StopVerb::Cancel,
        StopVerb::Close => troupe_protocol::StopVerb::Close,
        StopVerb::Release => troupe_protocol::StopVerb::Release,
    }
}

fn stop(agent: AgentId, with: StopVerb, dry_run: bool) -> LinkQuery {
    LinkQuery::StopAgents {
        agents: vec![agent.to_string()],
        verb: verb(with),
        dry_run,
        note: None,
    }
}

#[async_trait]
impl SessionLink for WireLink {
    fn welcome(&self) -> Option<Welcome> {
        Some(self.client.as_ref()?.welcome().clone())
    }

    async fn next(&mut self) -> Result<Option<LinkMessage>, ClientError> {
        let client = self.client.as_mut().ok_or(ClientError::Ended)?;
        Ok(match client.next().await? {
            Some(ClientUpdate::Event(event)) => Some(LinkMessage::Event(event)),
            Some(ClientUpdate::Notice(notice)) => Some(self.told(*notice)),
            Some(ClientUpdate::Lost(why)) => Some(LinkMessage::Lost(why)),
            None => None,
        })
    }

    async fn submit(&mut self, id: SubmissionId, op: Op) -> Result<(), ClientError> {
        self.client()?.submit(id, op).await
    }

    async fn take_role(&mut self, role: ClientRole) -> Result<(), ClientError> {
        let submitter = self.client()?.submitter();
        match role {
            ClientRole::Drive => submitter.take_seat().await,
            ClientRole::Follow => submitter.release_seat().await,
        }
    }

    async fn ask(&mut self, request: TreeRequest) -> Result<(), ClientError> {
        let query = match &request {
            TreeRequest::Look => LinkQuery::Agents {
                include_closed: true,
            },
            TreeRequest::Follow(agent) => return self.client()?.submitter().follow(*agent).await,
            TreeRequest::Unfollow(agent) => {
                return self.client()?.submitter().unfollow(*agent).await;
            }
            TreeRequest::Send { to, text, urgency } => LinkQuery::SendToAgent {
                agent: to.to_string(),
                items: vec![UserInput::text(text.clone())],
                urgency: match urgency {
                    MessageUrgency::Regular => query::MessageUrgency::Regular,
                    MessageUrgency::Interrupt => query::MessageUrgency::Interrupt,
                },
            },
            TreeRequest::Spawn(wish) => LinkQuery::SpawnAgent {
                order: Box::new(order((**wish).clone())),
            },
            TreeRequest::StopScope { agent, verb } => stop(*agent, *verb, true),
            TreeRequest::Stop { agent, verb } => stop(*agent, *verb, false),
            TreeRequest::Resume(agent) => LinkQuery::ResumeAgent {
                agent: agent.to_string(),
            },
            TreeRequest::Result(agent) => LinkQuery::AgentResult {
                agent: agent.to_string(),
                task_id: None,
            },
            TreeRequest::MarkRead(agent) => {
                let task = self.last_tasks.get(agent).cloned().flatten();
                self.read.insert((*agent, task));
                LinkQuery::MarkRead {
                    agent: agent.to_string(),
                }
            }
            TreeRequest::Inbox(agent) => LinkQuery::AgentInbox {
                agent: agent.to_string(),
            },
            TreeRequest::Roles => LinkQuery::Roles,
            TreeRequest::Prompts => LinkQuery::Prompts { limit: None },
            TreeRequest::Remember(text) => LinkQuery::AddPrompt { text: text.clone() },
            TreeRequest::Commands => LinkQuery::Commands,
            TreeRequest::FillCommand(line) => LinkQuery::FillCommand { line: line.clone() },
        };
        self.query(request, query).await
    }
}
