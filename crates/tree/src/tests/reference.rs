//! A second, simpler telling of the same rules: no slots, no log, no effects. The driver in
//! `model` tells it what was done; it says how every agent must stand and what must be in
//! each inbox. It shares no code with the tree.

use troupe_protocol::tree::{CallbackMode, Caller, MessageId, OnParentInterrupt, ParentLink};
use troupe_protocol::{AgentId, StopVerb, SubmissionId, TaskOutcome};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand {
    New,
    Running,
    Completed,
    Errored,
    FailedToStart,
    Interrupted,
    Cancelled,
    Budget,
    Replaced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Interrupt,
    Suspend,
    Cancel { by: Caller, scope: AgentId },
    Close { by: Caller, scope: AgentId },
}

/// A task that the tree asked for.
#[derive(Debug, Clone)]
pub(super) struct Flight {
    pub task: SubmissionId,
    /// Set until the session has begun.
    pub message: Option<MessageId>,
}

#[derive(Debug, Clone)]
pub(super) struct Member {
    pub id: AgentId,
    pub parent: Option<AgentId>,
    pub bond: ParentLink,
    pub stand: Stand,
    pub flight: Option<Flight>,
    pub order: Option<Order>,
    pub interrupts: Vec<MessageId>,
    pub regular: Vec<MessageId>,
    /// Each with the child it is from.
    pub callbacks: Vec<(MessageId, AgentId)>,
    pub closed: bool,
    pub pruned: bool,
}

#[derive(Debug, Default)]
pub(super) struct Reference {
    pub members: Vec<Member>,
    /// Callbacks that an end must have made, in order, not yet matched with the tree's.
    pub owed: Vec<(AgentId, AgentId)>,
    /// Ends that must be news for a parent, not yet matched with the tree's.
    pub news_owed: Vec<(AgentId, AgentId)>,
}

impl Member {
    pub fn new(
        id: AgentId,
        parent: Option<AgentId>,
        bond: ParentLink,
        first: Option<MessageId>,
    ) -> Self {
        Self {
            id,
            parent,
            bond,
            stand: Stand::New,
            flight: None,
            order: None,
            interrupts: Vec::new(),
            regular: first.into_iter().collect(),
            callbacks: Vec::new(),
            closed: false,
            pruned: false,
        }
    }

    /// What an idle agent begins with next.
    pub fn next(&self) -> Option<MessageId> {
        if self.closed || self.pruned {
            return None;
        }
        let input = self.interrupts.last().or(self.regular.first()).copied();
        let open = matches!(self.stand, Stand::New | Stand::Completed | Stand::Errored);
        let callback = self.callbacks.first().filter(|_| open);
        input.or(callback.map(|(id, _)| *id))
    }

    /// What a task that begins with this message is told before it: the interrupts that it
    /// takes the place of, and older mail, unless a task was there that the mail had come for.
    /// The number of a message tells when it was sent.
    pub fn ahead_of(&self, message: MessageId) -> Vec<MessageId> {
        if !self.interrupts.contains(&message) {
            return Vec::new();
        }
        let mut ahead = self.interrupts.clone();
        if self.stand != Stand::Replaced {
            ahead.extend(&self.regular);
        }
        ahead.retain(|other| other.0 < message.0);
        ahead.sort_by_key(|other| other.0);
        ahead
    }

    pub fn is_active(&self) -> bool {
        self.flight.is_some() || (self.next().is_some() && !self.ends_input())
    }

    pub fn is_final(&self) -> bool {
        let over = match self.stand {
            Stand::New => self.is_ready(),
            Stand::Running | Stand::Replaced => false,
            _ => true,
        };
        !self.is_active() && (over || self.closed)
    }

    /// A child that was made without a message, and has none yet.
    pub fn is_ready(&self) -> bool {
        let no_mail =
            self.interrupts.is_empty() && self.regular.is_empty() && self.callbacks.is_empty();
        self.id != AgentId::ROOT && self.stand == Stand::New && no_mail
    }

    pub fn ends_input(&self) -> bool {
        matches!(self.order, Some(Order::Cancel { .. } | Order::Close { .. }))
    }

    pub fn remove(&mut self, message: MessageId) -> bool {
        let before = self.interrupts.len() + self.regular.len() + self.callbacks.len();
        self.interrupts.retain(|id| *id != message);
        self.regular.retain(|id| *id != message);
        self.callbacks.retain(|(id, _)| *id != message);
        before > self.interrupts.len() + self.regular.len() + self.callbacks.len()
    }

    fn is_input(&self, message: MessageId) -> bool {
        self.interrupts.contains(&message) || self.regular.contains(&message)
    }
}

impl Reference {
    pub fn at(&mut self, agent: AgentId) -> &mut Member {
        &mut self.members[agent.0 as usize]
    }

    pub fn get(&self, agent: AgentId) -> &Member {
        &self.members[agent.0 as usize]
    }

    /// Children before or after does not matter here; the set does.
    pub fn subtree(&self, top: AgentId) -> Vec<AgentId> {
        let mut found = vec![top];
        for member in &self.members {
            if member.parent.is_some_and(|parent| found.contains(&parent)) {
                found.push(member.id);
            }
        }
        found
    }

    /// The root has all, the released too.
    fn within(&self, top: AgentId) -> Vec<AgentId> {
        if top == AgentId::ROOT {
            self.members.iter().map(|member| member.id).collect()
        } else {
            self.subtree(top)
        }
    }

    pub fn owns(&self, above: AgentId, agent: AgentId) -> bool {
        above == AgentId::ROOT || self.subtree(above).contains(&agent)
    }

    pub fn end(&mut self, agent: AgentId, outcome: TaskOutcome) {
        let member = self.at(agent);
        let order = member.order.take();
        let message = member.flight.take().and_then(|flight| flight.message);
        let stand = match (order, outcome) {
            (Some(Order::Cancel { .. } | Order::Close { .. }), _) => Stand::Cancelled,
            (_, TaskOutcome::Completed) => Stand::Completed,
            (None, TaskOutcome::Errored) if message.is_some() => Stand::FailedToStart,
            (_, TaskOutcome::Errored) => Stand::Errored,
            (_, TaskOutcome::BudgetExceeded) => Stand::Budget,
            (_, TaskOutcome::Interrupted) | (Some(_), TaskOutcome::Replaced) => Stand::Interrupted,
            (None, TaskOutcome::Replaced) => {
                let input = !member.interrupts.is_empty() || !member.regular.is_empty();
                if input || agent == AgentId::ROOT {
                    Stand::Replaced
                } else {
                    Stand::Interrupted
                }
            }
            (
                _,
                TaskOutcome::OutputInvalid
                | TaskOutcome::FailedToStart
                | TaskOutcome::Crash
                | TaskOutcome::Shutdown
                | TaskOutcome::Cancelled,
            ) => unreachable!("the model reports {outcome:?} of no task"),
        };
        self.conclude(agent, message, stand, order);
        if order.is_none() && outcome == TaskOutcome::Interrupted {
            self.cancel_bound(agent, Caller::Agent(agent));
        }
    }

    /// `message` is that of a task that had not begun.
    fn conclude(
        &mut self,
        agent: AgentId,
        message: Option<MessageId>,
        stand: Stand,
        order: Option<Order>,
    ) {
        let member = self.at(agent);
        let suspended = order == Some(Order::Suspend) && stand == Stand::Interrupted;
        if message.is_some() && suspended {
            return;
        }
        let halted = message.is_some_and(|message| !member.is_input(message));
        member.stand = stand;
        if let Some(message) = message.filter(|_| !halted) {
            member.remove(message);
        }
        if stand == Stand::Cancelled {
            member.interrupts.clear();
            member.regular.clear();
        }
        if matches!(order, Some(Order::Close { .. })) {
            member.closed = true;
        }
        let told = match (stand, order) {
            (Stand::Cancelled, Some(Order::Cancel { by, scope } | Order::Close { by, scope })) => {
                scope == agent && member.parent.map(Caller::Agent) != Some(by)
            }
            (Stand::Replaced | Stand::New | Stand::Running, _) => false,
            _ => !suspended,
        };
        let (Some(parent), true) = (member.parent, told && !halted) else {
            return;
        };
        let callback = member.bond.callback;
        if callback == CallbackMode::Once {
            member.bond.callback = CallbackMode::Off;
        }
        self.news_owed.push((agent, parent));
        if callback != CallbackMode::Off {
            self.owed.push((agent, parent));
        }
    }

    fn cancel_bound(&mut self, parent: AgentId, by: Caller) {
        let bound: Vec<AgentId> = self
            .members
            .iter()
            .filter(|member| member.parent == Some(parent))
            .filter(|member| member.bond.on_parent_interrupt == OnParentInterrupt::Cancel)
            .map(|member| member.id)
            .collect();
        for child in bound {
            let order = Order::Cancel { by, scope: parent };
            self.cancel(child, order);
        }
    }

    fn cancel(&mut self, top: AgentId, order: Order) {
        for agent in self.within(top) {
            let member = self.at(agent);
            let closing = matches!(member.order, Some(Order::Close { .. }));
            if member.flight.is_some() {
                let weaker = matches!(order, Order::Cancel { .. }) && member.ends_input();
                if !closing && !weaker {
                    member.order = Some(order);
                }
            } else if let Some(message) = member.next() {
                self.conclude(agent, Some(message), Stand::Cancelled, Some(order));
            } else if matches!(order, Order::Close { .. }) && !member.pruned {
                member.closed = true;
            }
        }
    }

    pub fn stop(&mut self, by: Caller, verb: StopVerb, target: AgentId) {
        match verb {
            StopVerb::Interrupt => {
                let member = self.at(target);
                if member.flight.is_some() && member.order.is_none() {
                    member.order = Some(Order::Interrupt);
                    self.cancel_bound(target, by);
                }
            }
            StopVerb::Cancel => self.cancel(target, Order::Cancel { by, scope: target }),
            StopVerb::Close => self.cancel(target, Order::Close { by, scope: target }),
            StopVerb::Release => self.at(target).parent = None,
            StopVerb::Prune => {
                let subtree = self.subtree(target);
                let finished = |agent: &AgentId| self.get(*agent).is_final();
                if target != AgentId::ROOT && subtree.iter().all(finished) {
                    for agent in subtree {
                        self.at(agent).pruned = true;
                    }
                }
            }
        }
    }

    pub fn suspend(&mut self) {
        for member in &mut self.members {
            if member.flight.is_some() && member.order.is_none() {
                member.order = Some(Order::Suspend);
            }
        }
    }

    /// The process died, and the next one has recovered.
    pub fn crash(&mut self) {
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            let agent = member.id;
            let flight = member.flight.take();
            let order = member.order.take();
            let Some(flight) = flight else {
                continue;
            };
            let stand = match order {
                Some(Order::Cancel { .. } | Order::Close { .. }) => Stand::Cancelled,
                Some(Order::Interrupt | Order::Suspend) | None => Stand::Interrupted,
            };
            if flight.message.is_none() {
                // Nobody hears of a crash: the task can be continued.
                let order = order.or(Some(Order::Suspend));
                self.conclude(agent, None, stand, order);
            } else if order.is_some() {
                let first = self.get(agent).next();
                self.conclude(agent, first, stand, order);
            }
        }
    }
}
