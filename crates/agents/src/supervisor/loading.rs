//! Children's sessions come into memory and leave it.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;
use troupe_engine::{OpenedSession, OrderSender, SessionDeps, SessionOrder, TaskTerms, spawn};
use troupe_protocol::op::{ConfigureSession, ForkPoint};
use troupe_protocol::policy::{CollaborationMode, EffortChoice};
use troupe_protocol::session::{SessionSource, TurnOverrides};
use troupe_protocol::spawn::{HistoryShare, SpawnSpec};
use troupe_protocol::{AgentId, EventMsg, Op, SessionId, SubmissionId, discard};
use troupe_tree::status::CurrentStatus;

use super::input::SupervisorInput;
use super::member::{LoadingSession, OpenSession, PresentSession, SessionPresence};
use super::{Supervisor, TreeMembership};
use crate::configurator::ChildConfigurator;

impl Supervisor {
    /// Brings a session into memory unless it is there or on its way.
    pub(super) fn load(&mut self, agent: AgentId) {
        let Some(member) = self.members.get(agent) else {
            return;
        };
        if matches!(member.presence, SessionPresence::Absent) {
            self.begin_loading(agent, VecDeque::new());
        }
    }

    pub(super) fn begin_loading(&mut self, agent: AgentId, mut orders: VecDeque<SessionOrder>) {
        if self.tree.status(agent) == CurrentStatus::Lost {
            return;
        }
        if !self.tree.is_resident(agent) {
            self.members.note_write_only(agent);
        }
        let Some(request) = self.configure_request(agent) else {
            return;
        };
        let role = self.members.role_text(&self.tree, agent);
        let cache_key = self.members.cache_key(&self.tree, agent);
        let Some(member) = self.members.get_mut(agent) else {
            return;
        };
        if let (false, Some(note)) = (member.has_log, member.note.clone()) {
            orders.push_front(SessionOrder::Operate {
                submission: SubmissionId::default(),
                op: Op::SetThreadNote { note },
            });
        }
        let agents = self.shared.agents();
        let membership = Arc::new(TreeMembership::new(agents.clone(), agent));
        let session = self.tree.get(agent).map(|node| node.session);
        let configurator = ChildConfigurator {
            agents,
            agent,
            session,
            spec: Arc::clone(&member.spec),
            role,
            cache_key,
            membership: Arc::clone(&membership),
        };
        let deps = SessionDeps {
            configurator: Arc::new(configurator),
            clock: self.shared.clock.clone(),
            ids: self.shared.ids.clone(),
            terms: TaskTerms::default(),
        };
        let mailbox = self.shared.mailbox();
        let path = self.tree.get(agent).map(|node| node.path.as_str());
        let span = tracing::info_span!("agent", path);
        let task = tokio::spawn(async move {
            let outcome = open(deps, request).instrument(span).await;
            // A supervisor that is gone drops the session with the outcome.
            discard!(
                mailbox.send(SupervisorInput::Loaded { agent, outcome }),
                "the actor has ended"
            );
        });
        member.enter(
            agent,
            SessionPresence::Loading(LoadingSession {
                orders,
                membership,
                task: AbortOnDropHandle::new(task),
            }),
        );
    }

    fn configure_request(&self, agent: AgentId) -> Option<ConfigureSession> {
        let node = self.tree.get(agent)?;
        let member = self.members.get(agent)?;
        let ephemeral = self.shared.is_ephemeral();
        if member.has_log {
            return Some(ConfigureSession {
                overrides: TurnOverrides {
                    cwd: Some(member.spec.cwd.clone()),
                    ..TurnOverrides::default()
                },
                model_provider: member.spec.model_provider.clone(),
                resume: Some(node.session),
                ephemeral,
                ..ConfigureSession::default()
            });
        }
        let maker = node.maker.and_then(|maker| self.tree.get(maker));
        let parent = maker.map_or(self.root.session, |maker| maker.session);
        Some(ConfigureSession {
            overrides: overrides(&member.spec),
            model_provider: member.spec.model_provider.clone(),
            fork: fork_point(&member.spec, parent),
            source: Some(SessionSource::SubSession {
                parent,
                depth: node.depth,
                origin: member.spec.tool.clone(),
            }),
            ephemeral,
            ..ConfigureSession::default()
        })
    }

    /// The session is open: what waited for it is handed over.
    pub(super) fn opened(&mut self, agent: AgentId, opened: OpenedSession) {
        let Some(member) = self.members.get_mut(agent) else {
            return;
        };
        let SessionPresence::Loading(loading) = &mut member.presence else {
            return;
        };
        let waiting = std::mem::take(&mut loading.orders);
        let membership = Arc::clone(&loading.membership);
        let orders = opened.orders;
        member.has_log = true;
        for order in waiting {
            orders.give(order);
        }
        self.watch_for_end(agent, orders.clone());
        let Some(member) = self.members.get_mut(agent) else {
            return;
        };
        tracing::debug!(%agent, from = "loading", to = "present", "the presence of a session changes");
        let loading = std::mem::replace(
            &mut member.presence,
            SessionPresence::Present(PresentSession {
                orders,
                membership,
                open: None,
            }),
        );
        if let SessionPresence::Loading(loading) = loading {
            // It still has to hand over the session's handle.
            loading.task.detach();
        }
    }

    pub(super) fn loaded(&mut self, agent: AgentId, outcome: Result<OpenSession, String>) {
        let Some(member) = self.members.get_mut(agent) else {
            return;
        };
        match (outcome, &mut member.presence) {
            (Ok(open), SessionPresence::Present(present)) => {
                present.open = Some(open);
                self.arrived(agent);
            }
            // It left before its handle arrived; dropping that changes nothing.
            (
                Ok(_),
                SessionPresence::Absent | SessionPresence::Leaving(_) | SessionPresence::Loading(_),
            ) => {}
            (Err(message), _) => {
                member.enter(agent, SessionPresence::Absent);
                self.failed_to_start(agent, message);
            }
        }
    }

    /// The session has ended: as it was told to, or by a defect.
    pub(super) fn unloaded(&mut self, agent: AgentId) {
        let Some(member) = self.members.get_mut(agent) else {
            return;
        };
        let from = member.presence.name();
        tracing::debug!(%agent, from, to = "absent", "the presence of a session changes");
        match std::mem::replace(&mut member.presence, SessionPresence::Absent) {
            SessionPresence::Leaving(orders) if orders.is_empty() => {}
            SessionPresence::Leaving(orders) => self.begin_loading(agent, orders),
            SessionPresence::Present(_) => {
                self.failed_to_start(agent, "the session ended by a defect".to_owned());
            }
            presence @ (SessionPresence::Absent | SessionPresence::Loading(_)) => {
                member.presence = presence;
            }
        }
    }

    /// Waits, beside everything else, for the end of a session.
    fn watch_for_end(&self, agent: AgentId, orders: OrderSender) {
        let mailbox = self.shared.mailbox();
        // Ends with the session, which the supervisor ends.
        tokio::spawn(async move {
            orders.ended().await;
            discard!(
                mailbox.send(SupervisorInput::Unloaded { agent }),
                "the actor has ended"
            );
        });
    }
}

/// Opens a session and waits until it is configured.
async fn open(deps: SessionDeps, request: ConfigureSession) -> Result<OpenSession, String> {
    let (handle, mut events) = spawn(deps);
    handle
        .operate(Op::ConfigureSession(request))
        .await
        .map_err(|closed| closed.to_string())?;
    loop {
        let Some(event) = events.next().await else {
            return Err("the session ended while it was opened".to_owned());
        };
        match &event.msg {
            EventMsg::SessionConfigured(_) => {
                return Ok(OpenSession {
                    _handle: handle,
                    events: events.into_tap(),
                });
            }
            EventMsg::Error(error) => return Err(error.message.clone()),
            _ => {}
        }
    }
}

fn overrides(spec: &SpawnSpec) -> TurnOverrides {
    TurnOverrides {
        cwd: Some(spec.cwd.clone()),
        approval_policy: Some(spec.approval_policy),
        sandbox_policy: Some(spec.sandbox_policy.clone()),
        model: Some(spec.model.clone()),
        effort: spec.reasoning_effort.map(EffortChoice::Level),
        // A plan is agreed on with a person. A child does what it is asked to.
        collaboration_mode: Some(CollaborationMode::Default.into()),
        ..TurnOverrides::default()
    }
}

fn fork_point(spec: &SpawnSpec, parent: SessionId) -> Option<ForkPoint> {
    let turns = match spec.history {
        HistoryShare::None => return None,
        HistoryShare::All => None,
        HistoryShare::LastTurns(turns) => Some(turns),
    };
    Some(ForkPoint {
        session_id: parent,
        last_response_id: None,
        turns,
        turn: None,
    })
}
