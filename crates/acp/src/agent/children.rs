//! The agents below a session, as tool calls that tell what they do while they do it.

use agent_client_protocol_schema::v1::{
    SessionUpdate, ToolCall, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use troupe_agents::{ChildArrival, ChildArrivals, TreeHandle};
use troupe_engine::EventStream;
use troupe_protocol::agent::{AgentStatus, SubagentLifecycle, SubagentSummary};
use troupe_protocol::text::one_line;
use troupe_protocol::{EventMsg, ItemId, SessionId, TurnItem};

use super::tool_call;
use crate::limits::{
    CHILD_NEWS_QUEUED_MAX, CHILD_SHOWN_BYTES_MAX, CHILD_STEP_BYTES, TITLE_CHARS_MAX,
};
use crate::text::OutputTail;

/// Reads along with every child whose session is in memory.
#[derive(Debug)]
pub(super) struct ChildReaders {
    arrivals: Option<ChildArrivals>,
    readers: JoinSet<()>,
    news: mpsc::Receiver<ChildProgress>,
    sender: mpsc::Sender<ChildProgress>,
}

/// What a child's work looks like now.
#[derive(Debug)]
struct ChildProgress {
    session: SessionId,
    text: String,
}

impl ChildReaders {
    pub(super) fn new() -> Self {
        let (sender, news) = mpsc::channel(CHILD_NEWS_QUEUED_MAX);
        Self {
            arrivals: None,
            readers: JoinSet::new(),
            news,
            sender,
        }
    }

    /// Takes a change in the tree. The first child is where reading along begins.
    pub(super) async fn change(
        &mut self,
        change: &SubagentLifecycle,
        agents: &TreeHandle,
    ) -> Option<SessionUpdate> {
        if self.arrivals.is_none() {
            self.arrivals = agents.arrivals().await;
        }
        match change {
            SubagentLifecycle::Created { subagent } => Some(created(subagent)),
            SubagentLifecycle::Status {
                session_id, status, ..
            } => Some(changed(*session_id, status)),
            SubagentLifecycle::ReasoningHeader { .. }
            | SubagentLifecycle::Deleted { .. }
            | SubagentLifecycle::Restored { .. } => None,
        }
    }

    /// Returns the next thing to show. Safe to cancel.
    pub(super) async fn next(&mut self) -> SessionUpdate {
        loop {
            let arrival = async {
                match &mut self.arrivals {
                    Some(arrivals) => arrivals.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                arrival = arrival => match arrival {
                    Some(arrival) => self.read(arrival),
                    // The tree has ended, or we were too slow: the next change asks again.
                    None => self.arrivals = None,
                },
                Some(_) = self.readers.join_next() => {}
                Some(news) = self.news.recv() => return shown(&news),
            }
        }
    }

    fn read(&mut self, arrival: ChildArrival) {
        let session = arrival.view.session;
        let events = arrival.events.after(0);
        self.readers
            .spawn(follow(session, events, self.sender.clone()));
    }
}

/// Tells of a child until its session leaves memory, or nobody listens.
async fn follow(session: SessionId, mut events: EventStream, news: mpsc::Sender<ChildProgress>) {
    let mut work = ChildActivity::new();
    while let Some(event) = events.next().await {
        if !work.take(&event.msg) {
            continue;
        }
        let text = work.text();
        if news.send(ChildProgress { session, text }).await.is_err() {
            return;
        }
    }
}

/// What a child has done and said, as a text that grows.
#[derive(Debug)]
struct ChildActivity {
    before: OutputTail,
    /// The message that it is writing.
    message: Option<(ItemId, String)>,
    unshown: usize,
}

impl ChildActivity {
    fn new() -> Self {
        Self {
            before: OutputTail::new(CHILD_SHOWN_BYTES_MAX),
            message: None,
            unshown: 0,
        }
    }

    /// Takes an event. Returns whether there is something to show.
    fn take(&mut self, msg: &EventMsg) -> bool {
        match msg {
            EventMsg::AgentMessageContentDelta(delta) => {
                let same = |(id, _): &(ItemId, String)| *id == delta.item_id && !delta.snapshot;
                let mut text = match self.message.take() {
                    Some(message) if same(&message) => message.1,
                    _ => String::new(),
                };
                text.push_str(&delta.delta);
                self.message = Some((delta.item_id.clone(), text));
                self.unshown += delta.delta.len();
                self.unshown >= CHILD_STEP_BYTES
            }
            EventMsg::ItemStarted { item, .. } => match tool_call::of(item) {
                Some(call) => {
                    self.before.push(&format!("▸ {}\n", call.title));
                    true
                }
                None => false,
            },
            EventMsg::ItemCompleted {
                item: TurnItem::AgentMessage(message),
                ..
            } => {
                self.message = None;
                self.before.push(&format!("{}\n", message.text.trim_end()));
                true
            }
            EventMsg::Error(error) => {
                self.before.push(&format!("! {}\n", error.message));
                true
            }
            _ => false,
        }
    }

    fn text(&mut self) -> String {
        self.unshown = 0;
        let message = self.message.as_ref().map_or("", |(_, text)| text);
        format!("{}{message}", self.before.as_str())
    }
}

fn call_id(session: SessionId) -> String {
    format!("agent-{session}")
}

fn created(child: &SubagentSummary) -> SessionUpdate {
    let name = child
        .path
        .clone()
        .unwrap_or_else(|| child.session_id.short());
    let about = child.summary.as_ref().or(child.label.as_ref());
    let title = match about {
        Some(about) => format!("{name}: {about}"),
        None => name,
    };
    let call = ToolCall::new(call_id(child.session_id), one_line(&title, TITLE_CHARS_MAX))
        .status(status(&child.status))
        .raw_input(json!({
            "agent_id": child.agent_id,
            "session_id": child.session_id,
            "path": child.path,
        }));
    SessionUpdate::ToolCall(call)
}

fn changed(session: SessionId, to: &AgentStatus) -> SessionUpdate {
    let fields = ToolCallUpdateFields::new()
        .status(status(to))
        .raw_output(json!({"status": to}));
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call_id(session), fields))
}

fn shown(news: &ChildProgress) -> SessionUpdate {
    let fields = ToolCallUpdateFields::new().content(vec![tool_call::text(news.text.as_str())]);
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call_id(news.session), fields))
}

fn status(status: &AgentStatus) -> ToolCallStatus {
    match status {
        AgentStatus::PendingInit | AgentStatus::Ready | AgentStatus::Queued { .. } => {
            ToolCallStatus::Pending
        }
        AgentStatus::Running => ToolCallStatus::InProgress,
        AgentStatus::Completed(_) | AgentStatus::Shutdown => ToolCallStatus::Completed,
        _ => ToolCallStatus::Failed,
    }
}
