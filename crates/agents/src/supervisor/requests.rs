//! Requests of tree access handles: spawn, send, wait, stop, list.

use troupe_engine::SessionOrder;
use troupe_protocol::input::UserInput;
use troupe_protocol::tree::{
    AgentMessage, AgentMetadata, Caller, MailSender, MessageId, MessageReach,
};
use troupe_protocol::{AgentId, Op, SubmissionId, discard};
use troupe_tree::agent::AgentLiveness;
use troupe_tree::command::{
    MessageForm, SendCommand, SendUrgency, StopCommand, TreeAction, TreeCommand,
};
use troupe_tree::effect::{CommandReply, StopPlan};
use troupe_tree::{AgentAddressError, AgentRecord, TreeEffect, TreeRefusal};

use super::fact_lines::FactContents;
use super::input::TreeRequest;
use super::{Supervisor, SupervisorState};
use crate::limits::NOTE_CHARS_MAX;
use crate::tree_access::{
    AgentScope, AgentView, NoteSet, SendOutcome, StopEntry, StopOutcome, TreeError, TreeStopRequest,
};

impl Supervisor {
    pub(super) fn request(&mut self, request: TreeRequest) {
        match request {
            TreeRequest::Spawn {
                by,
                request,
                role,
                reply,
            } => self.spawn(by, *request, &role, reply),
            TreeRequest::Send {
                caller,
                to,
                message,
                urgency,
                reply,
            } => self.send(caller, &to, message, urgency, reply),
            TreeRequest::Wait {
                caller,
                wait,
                reply,
            } => self.wait(caller, wait, reply),
            TreeRequest::Stop {
                caller,
                request,
                reply,
            } => self.stop(caller, request, reply),
            TreeRequest::Resume {
                caller,
                target,
                reply,
            } => self.resume(caller, &target, reply),
            TreeRequest::View {
                caller,
                target,
                reply,
            } => {
                let view = self.resolve(caller, &target).map(|agent| self.view(agent));
                answer(reply, view);
            }
            TreeRequest::List {
                caller,
                scope,
                closed,
                reply,
            } => answer(reply, Ok(self.list(caller, scope, closed))),
            TreeRequest::SetNote {
                caller,
                target,
                note,
                reply,
            } => answer(reply, self.set_note(caller, &target, &note)),
            TreeRequest::SetName {
                caller,
                target,
                name,
                reply,
            } => answer(reply, self.set_name(caller, &target, name)),
            TreeRequest::SetCallback { config, reply } => self.set_callback(config, reply),
            TreeRequest::Watchdog {
                caller,
                target,
                request,
                reply,
            } => answer(reply, self.watchdog(caller, &target, request)),
            TreeRequest::AskParent {
                agent,
                request,
                reply,
            } => self.ask_parent(agent, *request, reply),
            TreeRequest::Answer {
                agent,
                call,
                decision,
                reply,
            } => answer(reply, self.answer_question(agent, call, decision)),
            TreeRequest::Listen { reply } => {
                // One that stopped waiting listens to nothing.
                discard!(reply.send(self.listen()), "nobody waits for the answer");
            }
            TreeRequest::Quiet { reply } => self.quiet_waiters.push(reply),
        }
    }

    fn send(
        &mut self,
        caller: Caller,
        to: &str,
        message: AgentMessage,
        urgency: SendUrgency,
        reply: tokio::sync::oneshot::Sender<Result<SendOutcome, TreeError>>,
    ) {
        let id = MessageId(self.shared.ids.session().0);
        let from = match caller {
            Caller::User => MailSender::User,
            Caller::Agent(agent) => MailSender::Agent(agent),
        };
        let form = match message.plain_text() {
            Some(_) => MessageForm::Words,
            None => MessageForm::Parts,
        };
        let outcome = self.resolve(caller, to).and_then(|to| {
            let letter = SendCommand {
                from,
                to,
                message: id,
                urgency,
                form,
            };
            Ok((to, self.command(TreeAction::Send(letter))?))
        });
        let outcome = outcome.map_err(|trouble| self.name_refusing_role(trouble));
        match outcome {
            Err(trouble) => answer(reply, Err(trouble)),
            Ok((to, effects)) => {
                let contents = FactContents {
                    message: Some(self.with_sender_mark(caller, to, message)),
                    ..FactContents::default()
                };
                self.perform_and_answer(effects, contents, move |this, told| {
                    let CommandReply::Receipt(receipt) = told else {
                        return;
                    };
                    let sent = SendOutcome {
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
    fn name_refusing_role(&self, trouble: TreeError) -> TreeError {
        let TreeError::Refused(TreeRefusal::KeptToItself { agent, reach }) = trouble else {
            return trouble;
        };
        let Some(member) = self.members.get(agent) else {
            return trouble;
        };
        TreeError::Kept {
            refusal: TreeRefusal::KeptToItself { agent, reach },
            role: member.spec.agent_type.clone(),
            messages: match reach {
                MessageReach::Subtree => "subtree",
                MessageReach::Parent => "parent",
                MessageReach::Family => "family",
            },
        }
    }

    /// Says who writes, where the words could be taken for those of a person or a parent.
    fn with_sender_mark(
        &self,
        caller: Caller,
        to: AgentId,
        mut message: AgentMessage,
    ) -> AgentMessage {
        if let Caller::Agent(from) = caller
            && !self.tree.memory().is_within(to, from)
            && let Some(sender) = self.tree.get(from)
        {
            message.items.insert(0, sender_mark(sender));
        }
        message
    }

    /// Returns the words of a message without saying who writes.
    pub(super) fn without_sender_mark(
        &self,
        from: AgentId,
        mut message: AgentMessage,
    ) -> AgentMessage {
        let mark = self.tree.get(from).map(sender_mark);
        if mark.is_some() && message.items.first() == mark.as_ref() {
            message.items.remove(0);
        }
        message
    }

    fn stop(
        &mut self,
        caller: Caller,
        request: TreeStopRequest,
        reply: tokio::sync::oneshot::Sender<Result<StopOutcome, TreeError>>,
    ) {
        let ResolvedTargets { known, unknown } = match self.resolve_all(caller, &request.targets) {
            Ok(resolved) => resolved,
            Err(trouble) => return answer(reply, Err(trouble)),
        };
        let targets: Vec<AgentId> = known.into_iter().map(|(_, agent)| agent).collect();
        let stop = StopCommand {
            by: caller,
            verb: request.verb,
            targets,
            mode: request.mode,
        };
        let before = self.views();
        match self.command(TreeAction::Stop(stop)) {
            Err(trouble) => answer(reply, Err(trouble)),
            Ok(effects) => {
                let contents = FactContents {
                    note: request.note,
                    ..FactContents::default()
                };
                self.perform_and_answer(effects, contents, move |_, told| {
                    let CommandReply::Plan(plan) = told else {
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
        reply: tokio::sync::oneshot::Sender<Result<AgentView, TreeError>>,
    ) {
        let outcome = self.resolve(caller, target).and_then(|agent| {
            let what = TreeAction::Resume { by: caller, agent };
            Ok((agent, self.command(what)?))
        });
        match outcome {
            Err(trouble) => answer(reply, Err(trouble)),
            Ok((agent, effects)) => {
                self.perform_and_answer(effects, FactContents::default(), move |this, _| {
                    answer(reply, Ok(this.view(agent)));
                });
            }
        }
    }

    fn list(&self, caller: Caller, scope: AgentScope, closed: bool) -> Vec<AgentView> {
        let me = caller.log_owner();
        let memory = self.tree.memory();
        let wanted = |agent: &AgentRecord| match scope {
            AgentScope::Children => agent.parent == Some(me),
            AgentScope::Descendants => agent.id != me && memory.is_within(agent.id, me),
            AgentScope::All => agent.id != AgentId::ROOT,
        };
        memory
            .iter()
            .filter(|agent| wanted(agent))
            .filter(|agent| {
                let gone = agent.place == AgentLiveness::Pruned
                    || self.tree.status(agent.id).row().is_closed();
                closed || !gone
            })
            .map(|agent| self.view(agent.id))
            .collect()
    }

    fn set_note(&mut self, caller: Caller, target: &str, note: &str) -> Result<NoteSet, TreeError> {
        let agent = self.resolve(caller, target)?;
        if let Caller::Agent(me) = caller
            && !self.tree.memory().is_within(agent, me)
        {
            return Err(TreeRefusal::OutsideSubtree { verb: "annotate" }.into());
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
    fn set_name(&mut self, caller: Caller, target: &str, name: String) -> Result<(), TreeError> {
        let agent = self.resolve(caller, target)?;
        let node = self.tree.get(agent);
        if node.is_some_and(|node| node.place == AgentLiveness::Pruned) {
            let message = format!("agent {target} was pruned; only its result is left");
            return Err(TreeError::Invalid(message));
        }
        let kept = normalised(&name);
        let keepsake = AgentMetadata::Name {
            agent,
            name: kept.clone(),
        };
        let effects = self.command(TreeAction::Keep {
            by: caller,
            keepsake,
        })?;
        self.perform(effects, FactContents::default());
        if let Some(member) = self.members.get_mut(agent) {
            member.name = kept;
        }
        let submission = SubmissionId::default();
        let op = Op::SetThreadName { name };
        self.give(agent, SessionOrder::Operate { submission, op });
        Ok(())
    }

    /// Sets a note in the tree and in the agent's own conversation.
    pub(super) fn keep_note(
        &mut self,
        caller: Caller,
        agent: AgentId,
        note: Option<String>,
        submission: SubmissionId,
    ) -> Result<(), TreeError> {
        let keepsake = AgentMetadata::Note {
            agent,
            note: note.clone(),
        };
        let effects = self.command(TreeAction::Keep {
            by: caller,
            keepsake,
        })?;
        self.perform(effects, FactContents::default());
        if let Some(member) = self.members.get_mut(agent) {
            member.note.clone_from(&note);
        }
        let note = note.unwrap_or_default();
        let op = Op::SetThreadNote { note };
        self.give(agent, SessionOrder::Operate { submission, op });
        Ok(())
    }

    pub(super) fn resolve(&self, caller: Caller, text: &str) -> Result<AgentId, TreeError> {
        Ok(self.tree.resolve(caller.log_owner(), text)?)
    }

    /// Finds who is meant by each address, and tells apart the addresses that mean nobody.
    /// One that could mean several is an error: to leave it out would be to act on less than
    /// was asked.
    pub(super) fn resolve_all(
        &self,
        caller: Caller,
        addresses: &[String],
    ) -> Result<ResolvedTargets, TreeError> {
        let mut resolved = ResolvedTargets::default();
        for address in addresses {
            let text = address.clone();
            match self.resolve(caller, address) {
                Ok(agent) => resolved.known.push((text, agent)),
                Err(TreeError::Address(AgentAddressError::Unknown(_))) => {
                    resolved.unknown.push(text);
                }
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(resolved)
    }

    /// Applies a command, unless the tree is ending or broken.
    pub(super) fn command(&mut self, what: TreeAction) -> Result<Vec<TreeEffect>, TreeError> {
        match self.state {
            SupervisorState::Running => {}
            SupervisorState::Closing(_) => return Err(TreeError::Ended),
            SupervisorState::Broken => {
                return Err(TreeError::Storage(
                    "a line of the tree was lost; resume the session".to_owned(),
                ));
            }
        }
        let at = self.now();
        Ok(self.tree.apply(TreeCommand { at, what })?)
    }
}

/// Addresses resolved to agents.
#[derive(Debug, Default)]
pub(super) struct ResolvedTargets {
    /// By the words they were called with.
    pub known: Vec<(String, AgentId)>,
    pub unknown: Vec<String>,
}

fn sender_mark(sender: &AgentRecord) -> UserInput {
    UserInput::text(format!(
        "[message from agent {}, {}]",
        sender.id, sender.path
    ))
}

fn stopped(plan: &StopPlan, before: &[AgentView], unknown: Vec<String>) -> StopOutcome {
    let view = |agent: AgentId| before.iter().find(|view| view.agent == agent).cloned();
    StopOutcome {
        touched: plan
            .touched
            .iter()
            .filter_map(|touch| {
                let view = view(touch.agent)?;
                let what = touch.action;
                Some(StopEntry { view, what })
            })
            .collect(),
        skipped: plan
            .skipped
            .iter()
            .filter_map(|skip| {
                let view = view(skip.agent)?;
                Some(StopEntry {
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
    reply: tokio::sync::oneshot::Sender<Result<T, TreeError>>,
    outcome: Result<T, TreeError>,
) {
    discard!(reply.send(outcome), "nobody waits for the answer");
}
