//! What desks ask.

use troupe_engine::Order;
use troupe_protocol::tree::{AgentMessage, Caller, Keepsake, MessageId, Sender};
use troupe_protocol::{AgentId, Op};

use super::input::Request;
use super::lines::Contents;
use super::{State, Supervisor};
use crate::desk::{
    AgentView, NoteSet, Planned, Scope, Sent, StopRequest, Stopped, Trouble, WatchdogAction,
    WatchdogRequest, Watched,
};
use crate::tree::Refusal;
use crate::tree::agent::Place;
use crate::tree::command::{Command, Letter, Stop, StopMode, Urgency, What};
use crate::tree::effect::{Answer, Plan, Receipt};
use crate::watchdog::Started;

/// Characters of a note.
const NOTE_CHARS_MAX: usize = 500;

impl Supervisor {
    pub(super) fn request(&mut self, request: Request) {
        match request {
            Request::Spawn {
                by,
                request,
                role,
                reply,
            } => self.spawn(by, *request, &role, reply),
            Request::Send {
                caller,
                to,
                message,
                urgency,
                reply,
            } => self.send(caller, &to, message, urgency, reply),
            Request::Wait {
                caller,
                on,
                time,
                stop,
                reply,
            } => self.wait(caller, on, time, stop, reply),
            Request::Stop {
                caller,
                request,
                reply,
            } => self.stop(caller, request, reply),
            Request::Resume {
                caller,
                target,
                reply,
            } => self.resume(caller, &target, reply),
            Request::View {
                caller,
                target,
                reply,
            } => {
                let view = self.resolve(caller, &target).map(|agent| self.view(agent));
                answer(reply, view);
            }
            Request::List {
                caller,
                scope,
                closed,
                reply,
            } => answer(reply, Ok(self.list(caller, scope, closed))),
            Request::SetNote {
                caller,
                target,
                note,
                reply,
            } => answer(reply, self.set_note(caller, &target, &note)),
            Request::SetName {
                caller,
                target,
                name,
                reply,
            } => answer(reply, self.set_name(caller, &target, name)),
            Request::Watchdog {
                caller,
                target,
                request,
                reply,
            } => answer(reply, self.watchdog(caller, &target, request)),
            Request::AskParent {
                agent,
                request,
                reply,
            } => self.ask_parent(agent, *request, reply),
            Request::Listen { reply } => {
                // One that stopped waiting listens to nothing.
                reply.send(self.listen()).ok();
            }
            Request::Quiet { reply } => self.quiet_waiters.push(reply),
        }
    }

    fn send(
        &mut self,
        caller: Caller,
        to: &str,
        message: AgentMessage,
        urgency: Urgency,
        reply: tokio::sync::oneshot::Sender<Result<Sent, Trouble>>,
    ) {
        let id = MessageId(self.shared.ids.session().0);
        let from = match caller {
            Caller::User => Sender::User,
            Caller::Agent(agent) => Sender::Agent(agent),
        };
        let outcome = self.resolve(caller, to).and_then(|to| {
            let letter = Letter {
                from,
                to,
                message: id,
                urgency,
            };
            Ok((to, self.command(What::Send(letter))?))
        });
        match outcome {
            Err(trouble) => answer(reply, Err(trouble)),
            Ok((to, effects)) => {
                let contents = Contents {
                    message: Some(self.marked(caller, to, message)),
                    ..Contents::default()
                };
                self.perform_and_answer(effects, contents, move |this, told| {
                    let Answer::Receipt(receipt) = told else {
                        return;
                    };
                    let sent = Sent {
                        message: id,
                        receipt,
                        view: this.view(to),
                    };
                    answer(reply, Ok(sent));
                });
            }
        }
    }

    /// Says who writes, where the words could be taken for those of a person or a parent.
    fn marked(&self, caller: Caller, to: AgentId, mut message: AgentMessage) -> AgentMessage {
        if let Caller::Agent(from) = caller
            && !self.tree.memory().is_within(to, from)
            && let Some(sender) = self.tree.get(from)
        {
            let mark = format!("[message from agent {from}, {}]", sender.path);
            message
                .items
                .insert(0, troupe_protocol::input::UserInput::text(mark));
        }
        message
    }

    /// Sends a watchdog's message.
    pub(super) fn send_ping(&mut self, by: Caller, to: AgentId, text: String) {
        let letter = Letter {
            from: Sender::Watchdog(by.log()),
            to,
            message: MessageId(self.shared.ids.session().0),
            urgency: Urgency::Regular,
        };
        let Ok(effects) = self.command(What::Send(letter)) else {
            return;
        };
        let is_dead = |effect: &crate::tree::Effect| {
            matches!(
                effect,
                crate::tree::Effect::Answer(Answer::Receipt(Receipt::Dead { .. }))
            )
        };
        if effects.iter().any(is_dead) {
            self.watchdogs.cancel(by, to);
            return;
        }
        self.perform(effects, Contents::saying(text));
    }

    fn stop(
        &mut self,
        caller: Caller,
        request: StopRequest,
        reply: tokio::sync::oneshot::Sender<Result<Stopped, Trouble>>,
    ) {
        let mut unknown = Vec::new();
        let mut targets = Vec::new();
        for target in request.targets {
            match self.resolve(caller, &target) {
                Ok(agent) => targets.push(agent),
                Err(_) => unknown.push(target),
            }
        }
        let stop = Stop {
            by: caller,
            verb: request.verb,
            targets: targets.clone(),
            mode: request.mode,
        };
        let before = self.views();
        match self.command(What::Stop(stop)) {
            Err(trouble) => answer(reply, Err(trouble)),
            Ok(effects) => {
                if request.mode == StopMode::Act && request.note.is_some() {
                    self.note_stop(&targets, request.note.as_deref());
                }
                self.perform_and_answer(effects, Contents::default(), move |_, told| {
                    let Answer::Plan(plan) = told else {
                        return;
                    };
                    answer(reply, Ok(stopped(&plan, &before, unknown)));
                });
            }
        }
    }

    /// Keeps somebody's words about why agents are stopped, for their results.
    fn note_stop(&mut self, targets: &[AgentId], note: Option<&str>) {
        for target in targets {
            for agent in self.tree.memory().subtree(*target) {
                if let Some(member) = self.members.get_mut(&agent) {
                    member.stop_note = note.map(str::to_owned);
                }
            }
        }
    }

    fn resume(
        &mut self,
        caller: Caller,
        target: &str,
        reply: tokio::sync::oneshot::Sender<Result<AgentView, Trouble>>,
    ) {
        let outcome = self.resolve(caller, target).and_then(|agent| {
            let what = What::Resume { by: caller, agent };
            Ok((agent, self.command(what)?))
        });
        match outcome {
            Err(trouble) => answer(reply, Err(trouble)),
            Ok((agent, effects)) => {
                self.perform_and_answer(effects, Contents::default(), move |this, _| {
                    answer(reply, Ok(this.view(agent)));
                });
            }
        }
    }

    fn list(&self, caller: Caller, scope: Scope, closed: bool) -> Vec<AgentView> {
        let me = caller.log();
        let memory = self.tree.memory();
        let wanted = |agent: &crate::tree::Agent| match scope {
            Scope::Children => agent.parent == Some(me),
            Scope::Descendants => agent.id != me && memory.is_within(agent.id, me),
            Scope::All => agent.id != AgentId::ROOT,
        };
        memory
            .iter()
            .filter(|agent| wanted(agent))
            .filter(|agent| {
                let gone = agent.place == Place::Pruned || self.tree.status(agent.id).row().closed;
                closed || !gone
            })
            .map(|agent| self.view(agent.id))
            .collect()
    }

    fn set_note(&mut self, caller: Caller, target: &str, note: &str) -> Result<NoteSet, Trouble> {
        let agent = self.resolve(caller, target)?;
        if let Caller::Agent(me) = caller
            && !self.tree.memory().is_within(agent, me)
        {
            return Err(Refusal::OutsideSubtree { verb: "annotate" }.into());
        }
        let note = normalised(note);
        self.keep_note(caller, agent, note.clone())?;
        let submission_id = MessageId(self.shared.ids.session().0).task();
        Ok(NoteSet {
            submission_id,
            thread_note: note,
        })
    }

    /// A name is the conversation's alone: the tree calls the agent by its path.
    fn set_name(&mut self, caller: Caller, target: &str, name: String) -> Result<(), Trouble> {
        let agent = self.resolve(caller, target)?;
        let node = self.tree.get(agent);
        if node.is_some_and(|node| node.place == Place::Pruned) {
            let message = format!("agent {target} was pruned; only its result is left");
            return Err(Trouble::Invalid(message));
        }
        self.give(agent, Order::Operate(Op::SetThreadName { name }));
        Ok(())
    }

    /// Sets a note in the tree and in the agent's own conversation.
    pub(super) fn keep_note(
        &mut self,
        caller: Caller,
        agent: AgentId,
        note: Option<String>,
    ) -> Result<(), Trouble> {
        let keepsake = Keepsake::Note {
            agent,
            note: note.clone(),
        };
        let effects = self.command(What::Keep {
            by: caller,
            keepsake,
        })?;
        self.perform(effects, Contents::default());
        if let Some(member) = self.members.get_mut(&agent) {
            member.note.clone_from(&note);
        }
        let note = note.unwrap_or_default();
        self.give(agent, Order::Operate(Op::SetThreadNote { note }));
        Ok(())
    }

    fn watchdog(
        &mut self,
        caller: Caller,
        target: &str,
        request: WatchdogRequest,
    ) -> Result<Watched, Trouble> {
        let agent = self.resolve(caller, target)?;
        let (by, target) = (caller, agent);
        let (keepsake, watched) = match request {
            WatchdogRequest::Cancel => {
                let action = if self.watchdogs.cancel(by, target) {
                    WatchdogAction::Canceled
                } else {
                    WatchdogAction::NotFound
                };
                let keepsake = Keepsake::WatchdogOff { by, target };
                let watched = Watched {
                    agent,
                    interval_s: 0,
                    message: String::new(),
                    action,
                };
                (keepsake, watched)
            }
            WatchdogRequest::Start {
                interval_s,
                message,
            } => {
                let now = self.now().0;
                let Started {
                    interval_s,
                    message,
                    replaced,
                } = self
                    .watchdogs
                    .start(by, target, interval_s, message, now)
                    .map_err(|problem| Trouble::Invalid(problem.to_string()))?;
                let action = if replaced {
                    WatchdogAction::Replaced
                } else {
                    WatchdogAction::Started
                };
                let keepsake = Keepsake::Watchdog {
                    by,
                    target,
                    interval_s,
                    message: message.clone(),
                };
                let watched = Watched {
                    agent,
                    interval_s,
                    message,
                    action,
                };
                (keepsake, watched)
            }
        };
        if watched.action != WatchdogAction::NotFound {
            let effects = self.command(What::Keep {
                by: caller,
                keepsake,
            })?;
            self.perform(effects, Contents::default());
        }
        Ok(watched)
    }

    pub(super) fn resolve(&self, caller: Caller, text: &str) -> Result<AgentId, Trouble> {
        Ok(self.tree.resolve(caller.log(), text)?)
    }

    /// Applies a command, unless the tree is ending or broken.
    pub(super) fn command(&mut self, what: What) -> Result<Vec<crate::tree::Effect>, Trouble> {
        match self.state {
            State::Running => {}
            State::Closing(_) => return Err(Trouble::Ended),
            State::Broken => {
                return Err(Trouble::Storage(
                    "a line of the tree was lost; resume the session".to_owned(),
                ));
            }
        }
        let at = self.now();
        Ok(self.tree.apply(Command { at, what })?)
    }
}

fn stopped(plan: &Plan, before: &[AgentView], unknown: Vec<String>) -> Stopped {
    let view = |agent: AgentId| before.iter().find(|view| view.agent == agent).cloned();
    Stopped {
        touched: plan
            .touched
            .iter()
            .filter_map(|touch| {
                let view = view(touch.agent)?;
                let what = touch.action;
                Some(Planned { view, what })
            })
            .collect(),
        skipped: plan
            .skipped
            .iter()
            .filter_map(|skip| {
                let view = view(skip.agent)?;
                Some(Planned {
                    view,
                    what: skip.why,
                })
            })
            .collect(),
        unknown,
    }
}

/// Returns a note in one line, none if it is empty.
pub(super) fn normalised(note: &str) -> Option<String> {
    let note = note.split_whitespace().collect::<Vec<_>>().join(" ");
    let note: String = note.chars().take(NOTE_CHARS_MAX).collect();
    (!note.is_empty()).then_some(note)
}

/// Answers a desk. One that stopped waiting has been answered otherwise.
pub(super) fn answer<T>(
    reply: tokio::sync::oneshot::Sender<Result<T, Trouble>>,
    outcome: Result<T, Trouble>,
) {
    reply.send(outcome).ok();
}
