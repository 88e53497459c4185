//! What people and models hear of the tree: at the root everything, at a parent its own
//! children's lives.

use troupe_engine::SessionOrder;
use troupe_protocol::agent::{AgentInbox, PendingMail, SubagentLifecycle};
use troupe_protocol::event::{BackgroundEvent, EventMsg};
use troupe_protocol::tree::{Interruption, TimeMs};
use troupe_protocol::{AgentId, SubmissionId};
use troupe_tree::effect::{TaskSpan, TreeNotice};
use troupe_tree::status::CurrentStatus;

use super::Supervisor;
use super::step_queue::SupervisorStep;
use crate::tree_access::AgentView;

impl Supervisor {
    pub(super) fn notify(&mut self, notice: TreeNotice) {
        match notice {
            TreeNotice::Created { agent } => self.created(agent),
            TreeNotice::Status {
                agent,
                status,
                stint,
            } => self.status_changed(agent, status, stint),
            TreeNotice::Reopened { agent, status } => {
                if let Some(view) = self.view_in(agent, status) {
                    self.report_lifecycle(status_event(&view), view.parent, None);
                }
            }
            TreeNotice::ChildrenCancelled { parent, children } => {
                self.children_cancelled(parent, &children);
            }
            TreeNotice::Deleted { agent } => {
                let view = self.view(agent);
                let deleted = SubagentLifecycle::Deleted {
                    agent_id: agent,
                    session_id: view.session,
                    subagent: Some(Box::new(view.summary())),
                };
                self.tell(AgentId::ROOT, vec![EventMsg::SubagentLifecycle(deleted)]);
            }
            TreeNotice::Inbox { agent, depth } => self.inbox_changed(agent, depth),
        }
    }

    fn created(&mut self, agent: AgentId) {
        let view = self.view(agent);
        let created = SubagentLifecycle::Created {
            subagent: view.summary(),
        };
        let born = AgentView {
            status: CurrentStatus::PendingInit,
            ..view
        };
        let stint = TaskSpan {
            since: TimeMs(born.now_ms),
        };
        let background = birth_text(&born, stint).map(|text| background(&born, text, false));
        self.report_lifecycle(created, born.parent, background);
    }

    fn status_changed(&mut self, agent: AgentId, status: CurrentStatus, stint: TaskSpan) {
        let path = self.tree.get(agent).map(|node| node.path.as_str());
        tracing::debug!(agent = path, ?status, "the status of an agent changes");
        // What it thought about belonged to the task before.
        if let Some(member) = self.members.get_mut(agent) {
            member.reasoning_header = None;
        }
        let Some(view) = self.view_in(agent, status) else {
            return;
        };
        let background =
            background_text(&view, stint).map(|text| background(&view, text, status.is_final()));
        self.report_lifecycle(status_event(&view), view.parent, background);
    }

    /// Tells the root of an agent's life, and its parent what that means. For the root itself
    /// both are one write.
    fn report_lifecycle(
        &mut self,
        life: SubagentLifecycle,
        parent: Option<AgentId>,
        background: Option<EventMsg>,
    ) {
        let life = EventMsg::SubagentLifecycle(life);
        match (parent, background) {
            (Some(parent), Some(background)) if parent != AgentId::ROOT => {
                self.tell(AgentId::ROOT, vec![life]);
                self.tell(parent, vec![background]);
            }
            (_, background) => {
                let events = std::iter::once(life).chain(background);
                self.tell(AgentId::ROOT, events.collect());
            }
        }
    }

    /// Returns an agent as it is with a status. The root's own is told by its tasks.
    fn view_in(&self, agent: AgentId, status: CurrentStatus) -> Option<AgentView> {
        if agent == AgentId::ROOT {
            return None;
        }
        let view = self.view(agent);
        let now_ms = self.crash_time_ms(agent, status).unwrap_or(view.now_ms);
        Some(AgentView {
            status,
            now_ms,
            ..view
        })
    }

    /// Tells a parent that its own interrupt has ended the sessions it made.
    fn children_cancelled(&mut self, parent: AgentId, children: &[AgentId]) {
        let mut members = children.iter().filter_map(|child| self.members.get(*child));
        if members.any(|member| member.spec.is_session()) {
            let event = EventMsg::BackgroundEvent(BackgroundEvent {
                message: "aborted all child sessions".to_owned(),
                // The end of each is told when it is there.
                is_final: false,
                session_id: None,
            });
            self.tell(parent, vec![event]);
        }
    }

    /// Returns when a task was over that nobody saw end: the time until somebody looked is not
    /// its own.
    fn crash_time_ms(&self, agent: AgentId, status: CurrentStatus) -> Option<i64> {
        let why = Interruption::Crash;
        let result = self.members.get(agent)?.last_result.as_ref()?;
        (status == CurrentStatus::Interrupted { why }).then_some(result.evidence.ended_at_ms)
    }

    /// Depths are not kept: they follow from the lines.
    fn inbox_changed(&mut self, agent: AgentId, depth: PendingMail) {
        let Some(session_id) = self.tree.get(agent).map(|node| node.session) else {
            return;
        };
        let inbox = AgentInbox {
            agent_id: agent,
            session_id,
            pending_messages: depth.messages,
            pending_interrupts: depth.interrupts,
        };
        self.root
            .orders
            .give(SessionOrder::Tell(EventMsg::AgentInbox(inbox)));
    }

    /// Told in its turn: a task thinks only after it has begun, and that is told when it is
    /// on disk.
    pub(super) fn reasoning(&mut self, agent: AgentId, header: String) {
        let step = move |this: &mut Self| this.report_reasoning_header(agent, header);
        self.steps.push(SupervisorStep::Answer(Box::new(step)));
    }

    fn report_reasoning_header(&mut self, agent: AgentId, header: String) {
        let Some(member) = self.members.get_mut(agent) else {
            return;
        };
        member.reasoning_header = Some(header.clone());
        let view = self.view(agent);
        let event = SubagentLifecycle::ReasoningHeader {
            agent_id: agent,
            session_id: view.session,
            reasoning_header: header,
            subagent: Some(Box::new(view.summary())),
        };
        self.tell(AgentId::ROOT, vec![EventMsg::SubagentLifecycle(event)]);
    }

    /// A child works without its note or its name: who made it should know.
    pub(super) fn unrecorded(&mut self, agent: AgentId, what: &str, why: &str) {
        let Some(node) = self.tree.get(agent) else {
            return;
        };
        let message = format!("the {what} of agent {} was not set: {why}", node.path);
        self.warn(node.parent.unwrap_or(AgentId::ROOT), message);
    }

    /// A hook is the user's: what it refused an agent is told where people look, at the root, and
    /// where the agent was made.
    pub(super) fn hook_warned(&mut self, agent: AgentId, message: &str) {
        let Some(node) = self.tree.get(agent) else {
            return;
        };
        let message = format!("agent {}: {message}", node.path);
        let parent = node.parent.unwrap_or(AgentId::ROOT);
        if parent != AgentId::ROOT {
            self.tell_present(
                parent,
                vec![EventMsg::Warning {
                    message: message.clone(),
                }],
            );
        }
        self.warn(AgentId::ROOT, message);
    }

    pub(super) fn warn(&mut self, agent: AgentId, message: String) {
        self.tell(agent, vec![EventMsg::Warning { message }]);
    }

    /// Has a session record and tell events, if it is in memory; the root otherwise.
    pub(super) fn tell(&mut self, agent: AgentId, events: Vec<EventMsg>) {
        self.tell_for_submission(None, agent, events);
    }

    /// Writes events into an agent's own log and tells its clients, if its session is there.
    pub(super) fn tell_present(&mut self, agent: AgentId, events: Vec<EventMsg>) {
        if let Some(orders) = self.members.orders(agent) {
            orders.give(SessionOrder::Record {
                submission: None,
                events,
            });
        }
    }

    /// Tells an agent's clients what their submission came to.
    pub(super) fn tell_for_submission(
        &mut self,
        submission: Option<SubmissionId>,
        agent: AgentId,
        events: Vec<EventMsg>,
    ) {
        let here = self.members.orders(agent);
        let orders = here.unwrap_or(&self.root.orders);
        orders.give(SessionOrder::Record { submission, events });
    }
}

fn status_event(view: &AgentView) -> SubagentLifecycle {
    SubagentLifecycle::Status {
        agent_id: view.agent,
        session_id: view.session,
        status: view.wire_status(),
        subagent: Some(Box::new(view.summary())),
    }
}

/// Returns what a parent is told of its child's life.
fn background(view: &AgentView, message: String, is_final: bool) -> EventMsg {
    EventMsg::BackgroundEvent(BackgroundEvent {
        message,
        is_final,
        session_id: Some(view.session),
    })
}

/// Returns the line that a parent reads when it has a new child.
fn birth_text(view: &AgentView, stint: TaskSpan) -> Option<String> {
    let spec = view.spec.as_ref()?;
    if spec.is_session() {
        let (id, model) = (view.session, &spec.model);
        return Some(format!("spawned child session {id} with model {model}"));
    }
    background_text(view, stint)
}

/// Returns the line that a parent reads when the life of its child changes.
fn background_text(view: &AgentView, stint: TaskSpan) -> Option<String> {
    let spec = view.spec.as_ref()?;
    let id = view.session;
    if spec.is_session() {
        return match view.status {
            CurrentStatus::Completed => Some(format!("child session {id} completed")),
            CurrentStatus::Cancelled => Some(format!("child session {id} cancelled")),
            CurrentStatus::Interrupted { why } => Some(match why {
                Interruption::Crash => {
                    format!("child session {id} interrupted: the engine died while it ran")
                }
                Interruption::Shutdown => {
                    format!("child session {id} interrupted: the engine was shut down")
                }
                Interruption::Reconfigured => {
                    format!("child session {id} interrupted: the session was configured anew")
                }
                Interruption::User | Interruption::Parent => {
                    format!("child session {id} interrupted")
                }
            }),
            CurrentStatus::Shutdown => Some(format!("child session {id} closed")),
            CurrentStatus::Errored | CurrentStatus::BudgetExceeded => {
                Some(format!("child session {id} failed"))
            }
            CurrentStatus::PendingInit
            | CurrentStatus::Ready
            | CurrentStatus::Queued { .. }
            | CurrentStatus::Running
            | CurrentStatus::Waiting { .. }
            | CurrentStatus::Lost
            | CurrentStatus::NotFound => None,
        };
    }
    let who = match &spec.agent_name {
        Some(name) => format!("agent {}/{name} ({id})", spec.agent_type),
        None => format!("agent {} ({id})", spec.agent_type),
    };
    let time = elapsed(view.now_ms - stint.since.0);
    let with_preview = |verb: &str| match &view.preview {
        Some(preview) => format!("{who} {verb} in {time}: {preview}"),
        None => format!("{who} {verb} in {time}"),
    };
    Some(match view.status {
        CurrentStatus::PendingInit => format!("{who} initializing"),
        CurrentStatus::Ready => format!("{who} ready"),
        CurrentStatus::Queued { position } => format!("{who} queued (position {position})"),
        CurrentStatus::Running | CurrentStatus::Waiting { .. } => format!("{who} running ({time})"),
        CurrentStatus::Completed => match &spec.call_id {
            Some(call) => with_preview(&format!("[{call}] completed")),
            None => with_preview("completed"),
        },
        CurrentStatus::Errored => with_preview("errored"),
        CurrentStatus::BudgetExceeded => with_preview("ran out of its budget"),
        CurrentStatus::Interrupted { .. } => format!("{who} interrupted in {time}"),
        CurrentStatus::Cancelled => format!("{who} cancelled in {time}"),
        CurrentStatus::Shutdown => format!("{who} stopped in {time}"),
        CurrentStatus::Lost => format!("{who} lost: its log is gone"),
        CurrentStatus::NotFound => return None,
    })
}

fn elapsed(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h {minutes:02}m"),
    }
}
