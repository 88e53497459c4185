//! Requests of tree access handles: spawn, send, wait, stop, list.

use troupe_engine::Order;
use troupe_protocol::discard;
use troupe_protocol::input::UserInput;
use troupe_protocol::tree::{AgentMessage, Caller, Keepsake, MessageId, Sender};
use troupe_protocol::{AgentId, Op, SubmissionId};

use super::input::Request;
use super::lines::Contents;
use super::{State, Supervisor};
use crate::desk::{AgentView, NoteSet, Planned, Scope, Sent, StopRequest, Stopped, Trouble};
use crate::limits::NOTE_CHARS_MAX;
use crate::tree::agent::{Place, Reach};
use crate::tree::command::{Command, Form, Letter, Stop, Urgency, What};
use crate::tree::effect::{Answer, Plan};
use crate::tree::{AddressError, Agent, Effect, Refusal};

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
                wait,
                reply,
            } => self.wait(caller, wait, reply),
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
            Request::Answer {
                agent,
                call,
                decision,
                reply,
            } => answer(reply, self.answer_question(agent, call, decision)),
            Request::Listen { reply } => {
                // One that stopped waiting listens to nothing.
                discard!(reply.send(self.listen()), "nobody waits for the answer");
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
        let form = match message.words() {
            Some(_) => Form::Words,
            None => Form::Parts,
        };
        let outcome = self.resolve(caller, to).and_then(|to| {
            let letter = Letter {
                from,
                to,
                message: id,
                urgency,
                form,
            };
            Ok((to, self.command(What::Send(letter))?))
        });
        let outcome = outcome.map_err(|trouble| self.by_role(trouble));
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
                        task: this.tree.task_taking(to, id),
                        view: this.view(to),
                    };
                    answer(reply, Ok(sent));
                });
            }
        }
    }

    /// Says of a message that was not sent which role does not want it to be.
    fn by_role(&self, trouble: Trouble) -> Trouble {
        let Trouble::Refused(Refusal::KeptToItself { agent, reach }) = trouble else {
            return trouble;
        };
        let Some(member) = self.members.get(&agent) else {
            return trouble;
        };
        Trouble::Kept {
            refusal: Refusal::KeptToItself { agent, reach },
            role: member.spec.agent_type.clone(),
            messages: match reach {
                Reach::Subtree => "subtree",
                Reach::Parent => "parent",
                Reach::Family => "family",
            },
        }
    }

    /// Says who writes, where the words could be taken for those of a person or a parent.
    fn marked(&self, caller: Caller, to: AgentId, mut message: AgentMessage) -> AgentMessage {
        if let Caller::Agent(from) = caller
            && !self.tree.memory().is_within(to, from)
            && let Some(sender) = self.tree.get(from)
        {
            message.items.insert(0, mark(sender));
        }
        message
    }

    /// Returns the words of a message without saying who writes.
    pub(super) fn unmarked(&self, from: AgentId, mut message: AgentMessage) -> AgentMessage {
        let mark = self.tree.get(from).map(mark);
        if mark.is_some() && message.items.first() == mark.as_ref() {
            message.items.remove(0);
        }
        message
    }

    fn stop(
        &mut self,
        caller: Caller,
        request: StopRequest,
        reply: tokio::sync::oneshot::Sender<Result<Stopped, Trouble>>,
    ) {
        let Resolved { known, unknown } = match self.resolve_all(caller, &request.targets) {
            Ok(resolved) => resolved,
            Err(trouble) => return answer(reply, Err(trouble)),
        };
        let targets: Vec<AgentId> = known.into_iter().map(|(_, agent)| agent).collect();
        let stop = Stop {
            by: caller,
            verb: request.verb,
            targets,
            mode: request.mode,
        };
        let before = self.views();
        match self.command(What::Stop(stop)) {
            Err(trouble) => answer(reply, Err(trouble)),
            Ok(effects) => {
                let contents = Contents {
                    note: request.note,
                    ..Contents::default()
                };
                self.perform_and_answer(effects, contents, move |_, told| {
                    let Answer::Plan(plan) = told else {
                        return;
                    };
                    answer(reply, Ok(stopped(&plan, &before, unknown)));
                });
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
        let wanted = |agent: &Agent| match scope {
            Scope::Children => agent.parent == Some(me),
            Scope::Descendants => agent.id != me && memory.is_within(agent.id, me),
            Scope::All => agent.id != AgentId::ROOT,
        };
        memory
            .iter()
            .filter(|agent| wanted(agent))
            .filter(|agent| {
                let gone =
                    agent.place == Place::Pruned || self.tree.status(agent.id).row().is_closed();
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
        let submission_id = MessageId(self.shared.ids.session().0).task();
        self.keep_note(caller, agent, note.clone(), submission_id.clone())?;
        Ok(NoteSet {
            submission_id,
            thread_note: note,
        })
    }

    /// A name is the conversation's: the tree shows it, and calls the agent by its path.
    fn set_name(&mut self, caller: Caller, target: &str, name: String) -> Result<(), Trouble> {
        let agent = self.resolve(caller, target)?;
        let node = self.tree.get(agent);
        if node.is_some_and(|node| node.place == Place::Pruned) {
            let message = format!("agent {target} was pruned; only its result is left");
            return Err(Trouble::Invalid(message));
        }
        let kept = normalised(&name);
        let keepsake = Keepsake::Name {
            agent,
            name: kept.clone(),
        };
        let effects = self.command(What::Keep {
            by: caller,
            keepsake,
        })?;
        self.perform(effects, Contents::default());
        if let Some(member) = self.members.get_mut(&agent) {
            member.name = kept;
        }
        let submission = SubmissionId::default();
        let op = Op::SetThreadName { name };
        self.give(agent, Order::Operate { submission, op });
        Ok(())
    }

    /// Sets a note in the tree and in the agent's own conversation.
    pub(super) fn keep_note(
        &mut self,
        caller: Caller,
        agent: AgentId,
        note: Option<String>,
        submission: SubmissionId,
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
        let op = Op::SetThreadNote { note };
        self.give(agent, Order::Operate { submission, op });
        Ok(())
    }

    pub(super) fn resolve(&self, caller: Caller, text: &str) -> Result<AgentId, Trouble> {
        Ok(self.tree.resolve(caller.log(), text)?)
    }

    /// Finds who is meant by each address, and tells apart the addresses that mean nobody.
    /// One that could mean several is an error: to leave it out would be to act on less than
    /// was asked.
    pub(super) fn resolve_all(
        &self,
        caller: Caller,
        addresses: &[String],
    ) -> Result<Resolved, Trouble> {
        let mut resolved = Resolved::default();
        for address in addresses {
            let text = address.clone();
            match self.resolve(caller, address) {
                Ok(agent) => resolved.known.push((text, agent)),
                Err(Trouble::Address(AddressError::Unknown(_))) => resolved.unknown.push(text),
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(resolved)
    }

    /// Applies a command, unless the tree is ending or broken.
    pub(super) fn command(&mut self, what: What) -> Result<Vec<Effect>, Trouble> {
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

/// Addresses resolved to agents.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    /// By the words they were called with.
    pub known: Vec<(String, AgentId)>,
    pub unknown: Vec<String>,
}

fn mark(sender: &Agent) -> UserInput {
    UserInput::text(format!(
        "[message from agent {}, {}]",
        sender.id, sender.path
    ))
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

/// Answers a caller. One that stopped waiting has been answered otherwise.
pub(super) fn answer<T>(
    reply: tokio::sync::oneshot::Sender<Result<T, Trouble>>,
    outcome: Result<T, Trouble>,
) {
    discard!(reply.send(outcome), "nobody waits for the answer");
}
