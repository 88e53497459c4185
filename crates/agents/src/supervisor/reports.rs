//! Reports of sessions about their tasks, and the lines that they get to write in return.

use tokio::sync::oneshot;
use troupe_engine::{Lines, NotNow};
use troupe_protocol::discard;
use troupe_protocol::result::{Evidence, StopReason, TaskResult};
use troupe_protocol::tree::MessageId;
use troupe_protocol::{AgentId, SubmissionId, TaskOutcome};
use troupe_tools::Claim;

use super::input::SessionReport;
use super::lines::Contents;
use super::{State, Supervisor};
use crate::tree::command::{Command, Report, What};
use crate::tree::id::WaitId;
use crate::tree::{Effect, Refusal};

impl Supervisor {
    pub(super) fn report(&mut self, report: SessionReport) {
        match report {
            SessionReport::Starting {
                agent,
                task,
                message,
                reply,
            } => {
                let report = Report::Started { task, message };
                let lines = self.lines_for(agent, report, Contents::default());
                // The user's own input begins whatever the tree thinks of it.
                let mut lines = match lines {
                    Err(_) if agent == AgentId::ROOT && message.is_none() => Ok(Lines::default()),
                    lines => lines,
                };
                if let Ok(lines) = &mut lines {
                    for news in self.untold(agent) {
                        lines.tell(&news);
                    }
                }
                answer(reply, lines.map_err(|_| NotNow));
            }
            SessionReport::Taking {
                agent,
                messages,
                reply,
            } => answer(reply, self.taking(agent, messages)),
            SessionReport::Claiming {
                agent,
                claims,
                reply,
            } => answer(reply, self.claiming(agent, &claims)),
            SessionReport::Ending {
                agent,
                result,
                reply,
            } => {
                let lines = self.ending(agent, *result);
                answer(reply, lines);
            }
            SessionReport::Asking {
                agent,
                call_id,
                question,
            } => self.asking(agent, call_id, *question),
            SessionReport::Answered {
                agent,
                call_id,
                word,
            } => self.answered(agent, &call_id, word),
            SessionReport::Settled {
                agent,
                call_id,
                word,
            } => self.settled(agent, &call_id, word),
            SessionReport::Deciding {
                agent,
                id,
                word,
                reply,
            } => answer(reply, self.decide(agent, &id, word)),
            SessionReport::Reviewing {
                agent,
                submission,
                request,
                role,
                reply,
            } => self.review(agent, submission, request, role, reply),
            SessionReport::Standing { agent, reply } => answer(reply, self.standing(agent)),
            SessionReport::Unrecorded { agent, what, why } => self.unrecorded(agent, what, &why),
            SessionReport::Reasoning { agent, header } => self.reasoning(agent, header),
            SessionReport::Unattended => self.refuse_questions(),
        }
    }

    fn taking(&mut self, agent: AgentId, messages: Vec<MessageId>) -> Result<Lines, NotNow> {
        self.lines_for(agent, Report::Took { messages }, Contents::default())
            .map_err(|_| NotNow)
    }

    /// The answers of waits go into the waiter's log, and the callbacks that they told of
    /// with them.
    fn claiming(&mut self, agent: AgentId, claims: &[Claim]) -> Lines {
        let mut effects = Vec::new();
        for claim in claims {
            let report = Report::WaitTaken {
                wait: WaitId(claim.0),
            };
            // A claim of a task that is over has lapsed: the callback stays in the inbox.
            effects.extend(self.apply_report(agent, report).unwrap_or_default());
        }
        self.perform_for(agent, effects, Contents::default())
    }

    fn ending(&mut self, agent: AgentId, result: TaskResult) -> Lines {
        let report = Report::Ended {
            task: result.task_id.clone(),
            outcome: TaskOutcome::from(&result.stop),
        };
        let contents = Contents {
            result: Some(result),
            ..Contents::default()
        };
        // A task that is not in flight has ended before.
        let Ok(lines) = self.lines_for(agent, report, contents) else {
            return Lines::default();
        };
        self.withdraw_asks(agent);
        lines
    }

    /// Ends a task in place of a session that could not be opened, or broke.
    pub(super) fn failed_to_start(&mut self, agent: AgentId, message: String) {
        let Some(task) = self.tree.task_in_flight(agent).cloned() else {
            // Nobody waits for it; who writes to it next lets it be tried again.
            let path = self.tree.get(agent).map(|node| node.path.clone());
            let path = path.unwrap_or_else(|| agent.to_string());
            let text = format!("the session of agent {path} is not open: {message}");
            return self.warn(AgentId::ROOT, text);
        };
        let report = Report::Ended {
            task: task.clone(),
            outcome: TaskOutcome::Errored,
        };
        let Ok(effects) = self.apply_report(agent, report) else {
            return;
        };
        let result = self.failed_result(agent, task, message);
        self.perform(
            effects,
            Contents {
                result: Some(result),
                ..Contents::default()
            },
        );
    }

    fn failed_result(&self, agent: AgentId, task: SubmissionId, message: String) -> TaskResult {
        let now = self.now().0;
        let session = self.tree.get(agent).map(|node| node.session);
        TaskResult {
            session_id: session.unwrap_or(self.root.session),
            task_id: task,
            stop: StopReason::FailedToStart { message },
            last_message: None,
            output: None,
            evidence: Evidence {
                started_at_ms: now,
                ended_at_ms: now,
                ..Evidence::default()
            },
        }
    }

    fn lines_for(
        &mut self,
        agent: AgentId,
        report: Report,
        contents: Contents,
    ) -> Result<Lines, Refusal> {
        let effects = self.apply_report(agent, report)?;
        Ok(self.perform_for(agent, effects, contents))
    }

    fn apply_report(&mut self, agent: AgentId, report: Report) -> Result<Vec<Effect>, Refusal> {
        if matches!(self.state, State::Broken) {
            return Ok(Vec::new());
        }
        let at = self.now();
        let what = What::Report { agent, report };
        self.tree.apply(Command { at, what })
    }
}

/// Answers a session. One that is gone has ended its task otherwise.
fn answer<T>(reply: oneshot::Sender<T>, value: T) {
    discard!(reply.send(value), "nobody waits for the answer");
}
