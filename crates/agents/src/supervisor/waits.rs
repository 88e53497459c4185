//! Waits. Each costs a timer and nothing else until it is answered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use troupe_protocol::tree::{Caller, MailKind, MailSender, MessageId};
use troupe_protocol::{AgentId, discard};
use troupe_tools::DeliveryClaim;
use troupe_tree::command::{AwaitedAgents, TreeAction};
use troupe_tree::effect::{CommandReply, WaitAnswer, WaitEnd};
use troupe_tree::{TreeEffect, TreeRefusal, WaitId};

use super::fact_lines::FactContents;
use super::input::{SupervisorInput, WaitRequest};
use super::requests::{ResolvedTargets, answer};
use super::{Supervisor, results};
use crate::tree_access::{
    AgentView, FinishedTarget, ReceivedMessage, TreeError, WaitReport, WaitTargets,
};

#[derive(Debug, Default)]
pub(super) struct PendingWaits(BTreeMap<WaitId, PendingWait>);

#[derive(Debug)]
struct PendingWait {
    /// Whose wait it is.
    waiter: AgentId,
    /// As they were named, with whom they mean.
    on: Vec<(String, AgentId)>,
    /// Names that mean nobody.
    unknown: Vec<String>,
    reply: oneshot::Sender<Result<WaitReport, TreeError>>,
    _timer: AbortOnDropHandle<()>,
}

impl PendingWaits {
    /// Forgets all. Whoever waits learns that the tree has ended.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Supervisor {
    pub(super) fn wait(
        &mut self,
        caller: Caller,
        wait: WaitRequest,
        reply: oneshot::Sender<Result<WaitReport, TreeError>>,
    ) {
        let WaitRequest {
            on: targets,
            until,
            time,
            stop,
        } = wait;
        let ResolvedTargets { known: on, unknown } = match &targets {
            WaitTargets::AnyChild => ResolvedTargets::default(),
            WaitTargets::Addresses(addresses) => match self.resolve_all(caller, addresses) {
                Ok(resolved) => resolved,
                Err(trouble) => return answer(reply, Err(trouble)),
            },
        };
        if on.is_empty() && !unknown.is_empty() {
            return answer(reply, Ok(only_unknown_targets(unknown)));
        }
        let wait_for = match targets {
            WaitTargets::AnyChild => AwaitedAgents::AnyChild,
            WaitTargets::Addresses(_) => {
                AwaitedAgents::Agents(on.iter().map(|(_, id)| *id).collect())
            }
        };
        let what = TreeAction::Wait {
            by: caller,
            on: wait_for,
            until,
        };
        let effects = match self.command(what) {
            Ok(effects) => effects,
            Err(trouble) => return answer(reply, Err(trouble)),
        };
        let Some(wait) = opened_wait(&effects) else {
            return answer(reply, Err(TreeError::Ended));
        };
        // An agent that never was counts as ended, so there is nothing to wait for.
        let time = if unknown.is_empty() {
            time
        } else {
            Duration::ZERO
        };
        let timer = self.time_wait(wait, time, stop);
        let open = PendingWait {
            waiter: caller.log_owner(),
            on,
            unknown,
            reply,
            _timer: timer,
        };
        self.waits.0.insert(wait, open);
        self.perform(effects, FactContents::default());
    }

    fn time_wait(
        &self,
        wait: WaitId,
        time: Duration,
        stop: CancellationToken,
    ) -> AbortOnDropHandle<()> {
        let mailbox = self.shared.mailbox();
        AbortOnDropHandle::new(tokio::spawn(async move {
            let why = tokio::select! {
                () = tokio::time::sleep(time) => WaitEnd::TimedOut,
                () = stop.cancelled() => WaitEnd::Stopped,
            };
            discard!(
                mailbox.send(SupervisorInput::WaitOver { wait, why }),
                "the actor has ended"
            );
        }))
    }

    pub(super) fn wait_over(&mut self, wait: WaitId, why: WaitEnd) {
        let what = match why {
            WaitEnd::TimedOut => TreeAction::TimeOut { wait },
            WaitEnd::Stopped | WaitEnd::Final | WaitEnd::Mail | WaitEnd::Exhausted => {
                TreeAction::StopWaiting { wait }
            }
        };
        match self.command(what) {
            Ok(effects) => self.perform(effects, FactContents::default()),
            // Answered at the same moment: the answer is on its way and finds the entry.
            Err(TreeError::Refused(_)) if why != WaitEnd::Stopped => {}
            // Gone with the waiter's task, or with the tree: no answer will come.
            Err(_) => {
                self.waits.0.remove(&wait);
            }
        }
    }

    pub(super) fn answer_wait(&mut self, wait: WaitId, told: WaitAnswer) {
        let Some(open) = self.waits.0.remove(&wait) else {
            return;
        };
        if told.end == WaitEnd::Exhausted {
            return answer(open.reply, Err(TreeRefusal::NothingToWaitFor.into()));
        }
        let tells = told.finals.iter().any(|told| !told.delivers.is_empty());
        let delivers = tells || !told.mail.is_empty();
        let mut finished: Vec<FinishedTarget> = told
            .finals
            .iter()
            .map(|told| {
                // The agent may be at its next task already; what it had come to is told.
                let view = AgentView {
                    status: told.status,
                    last_task: told.task.clone(),
                    ..self.view(told.agent)
                };
                let named = open.on.iter().find(|(_, agent)| *agent == told.agent);
                let member = self.members.get(told.agent);
                FinishedTarget {
                    asked: named.map_or_else(|| view.session.to_string(), |(name, _)| name.clone()),
                    result: member
                        .and_then(|member| member.last_result.clone())
                        .filter(|result| told.task.as_ref() == Some(&result.task_id)),
                    view: Some(view),
                }
            })
            .collect();
        let ended: Vec<AgentId> = told.finals.iter().map(|told| told.agent).collect();
        let waited_for = if open.on.is_empty() {
            self.children_at_work(open.waiter, &ended)
        } else {
            let others = open.on.iter().map(|(_, agent)| *agent);
            others.filter(|agent| !ended.contains(agent)).collect()
        };
        let end = if open.unknown.is_empty() {
            told.end
        } else {
            WaitEnd::Final
        };
        finished.extend(open.unknown.into_iter().map(unknown_target));
        let waited = WaitReport {
            end,
            finished,
            unfinished: waited_for.into_iter().map(|id| self.view(id)).collect(),
            mail: self.delivered_messages(open.waiter, &told.mail),
            claim: delivers.then_some(DeliveryClaim(wait.0)),
        };
        self.answer_with_results(waited, open.reply);
    }

    /// Returns messages that a wait delivers, as they were sent.
    fn delivered_messages(&self, waiter: AgentId, messages: &[MessageId]) -> Vec<ReceivedMessage> {
        let Some(node) = self.tree.get(waiter) else {
            return Vec::new();
        };
        let envelopes = messages.iter().filter_map(|id| node.inbox.find(*id));
        envelopes
            .filter_map(|envelope| match envelope.kind {
                MailKind::Regular {
                    from: MailSender::Agent(from),
                } => Some(ReceivedMessage {
                    from: self.view(from),
                    message: self.without_sender_mark(from, self.mail.message(envelope.id)),
                }),
                _ => None,
            })
            .collect()
    }

    fn children_at_work(&self, parent: AgentId, ended: &[AgentId]) -> Vec<AgentId> {
        let node = self.tree.get(parent);
        let children = node.map_or(&[][..], |node| &node.children).iter().copied();
        children
            .filter(|child| !ended.contains(child) && !self.tree.status(*child).is_final())
            .collect()
    }

    /// Answers at once if every result is at hand; else somebody reads them first.
    fn answer_with_results(
        &self,
        mut waited: WaitReport,
        reply: oneshot::Sender<Result<WaitReport, TreeError>>,
    ) {
        let missing = |finished: &FinishedTarget| {
            finished.result.is_none()
                && finished
                    .view
                    .as_ref()
                    .is_some_and(|v| v.last_task.is_some())
        };
        let (true, Some(store)) = (waited.finished.iter().any(missing), self.shared.store()) else {
            return answer(reply, Ok(waited));
        };
        let root = self.root.session;
        // Ends by itself: it reads a few files.
        tokio::spawn(async move {
            for finished in waited.finished.iter_mut().filter(|one| missing(one)) {
                let Some(view) = &finished.view else { continue };
                let read =
                    results::find(&*store, Some(root), view.session, view.last_task.as_ref()).await;
                match read {
                    Ok(result) => finished.result = result.map(Arc::new),
                    Err(trouble) => return answer(reply, Err(trouble)),
                }
            }
            answer(reply, Ok(waited));
        });
    }
}

fn opened_wait(effects: &[TreeEffect]) -> Option<WaitId> {
    effects.iter().find_map(|effect| match effect {
        TreeEffect::Answer(CommandReply::Waiting { wait }) => Some(*wait),
        _ => None,
    })
}

fn unknown_target(asked: String) -> FinishedTarget {
    FinishedTarget {
        asked,
        view: None,
        result: None,
    }
}

fn only_unknown_targets(unknown: Vec<String>) -> WaitReport {
    WaitReport {
        end: WaitEnd::Final,
        finished: unknown.into_iter().map(unknown_target).collect(),
        unfinished: Vec::new(),
        mail: Vec::new(),
        claim: None,
    }
}
