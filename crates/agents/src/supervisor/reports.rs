//! Reports of sessions about their tasks, and the lines that they get to write in return.

use tokio::sync::oneshot;
use troupe_engine::{StaleRequest, WriteBatch};
use troupe_protocol::result::{Evidence, StopReason, TaskResult};
use troupe_protocol::tree::MessageId;
use troupe_protocol::{AgentId, SubmissionId, TaskOutcome, discard};
use troupe_tools::DeliveryClaim;
use troupe_tree::command::{TaskReport, TreeAction, TreeCommand};
use troupe_tree::{TreeEffect, TreeRefusal, WaitId};

use super::fact_lines::FactContents;
use super::input::SessionReport;
use super::{Supervisor, SupervisorState};

impl Supervisor {
    pub(super) fn report(&mut self, report: SessionReport) {
        match report {
            SessionReport::Starting {
                agent,
                task,
                message,
                reply,
            } => {
                let report = TaskReport::Started { task, message };
                let lines = self.lines_for(agent, report, FactContents::default());
                // The user's own input begins whatever the tree thinks of it.
                let mut lines = match lines {
                    Err(_) if agent == AgentId::ROOT && message.is_none() => {
                        Ok(WriteBatch::default())
                    }
                    lines => lines,
                };
                if let Ok(lines) = &mut lines {
                    for news in self.take_task_preamble(agent) {
                        lines.tell(&news);
                    }
                }
                answer(reply, lines.map_err(|_| StaleRequest));
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
            SessionReport::Standing { agent, reply } => answer(reply, self.children_summary(agent)),
            SessionReport::Unrecorded { agent, what, why } => self.unrecorded(agent, what, &why),
            SessionReport::HookWarned { agent, message } => self.hook_warned(agent, &message),
            SessionReport::Reasoning { agent, header } => self.reasoning(agent, header),
            SessionReport::Unattended => self.refuse_questions(),
        }
    }

    fn taking(
        &mut self,
        agent: AgentId,
        messages: Vec<MessageId>,
    ) -> Result<WriteBatch, StaleRequest> {
        self.lines_for(
            agent,
            TaskReport::Took { messages },
            FactContents::default(),
        )
        .map_err(|_| StaleRequest)
    }

    /// The answers of waits go into the waiter's log, and the callbacks that they told of
    /// with them.
    fn claiming(&mut self, agent: AgentId, claims: &[DeliveryClaim]) -> WriteBatch {
        let mut effects = Vec::new();
        for claim in claims {
            let report = TaskReport::WaitTaken {
                wait: WaitId(claim.0),
            };
            // A claim of a task that is over has lapsed: the callback stays in the inbox.
            effects.extend(self.apply_report(agent, report).unwrap_or_default());
        }
        self.perform_for(agent, effects, FactContents::default())
    }

    fn ending(&mut self, agent: AgentId, result: TaskResult) -> WriteBatch {
        let report = TaskReport::Ended {
            task: result.task_id.clone(),
            outcome: TaskOutcome::from(&result.stop),
        };
        let contents = FactContents {
            result: Some(result),
            ..FactContents::default()
        };
        // A task that is not in flight has ended before.
        let Ok(lines) = self.lines_for(agent, report, contents) else {
            return WriteBatch::default();
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
        let report = TaskReport::Ended {
            task: task.clone(),
            outcome: TaskOutcome::Errored,
        };
        let Ok(effects) = self.apply_report(agent, report) else {
            return;
        };
        let result = self.failed_result(agent, task, message);
        self.perform(
            effects,
            FactContents {
                result: Some(result),
                ..FactContents::default()
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
        report: TaskReport,
        contents: FactContents,
    ) -> Result<WriteBatch, TreeRefusal> {
        let effects = self.apply_report(agent, report)?;
        Ok(self.perform_for(agent, effects, contents))
    }

    fn apply_report(
        &mut self,
        agent: AgentId,
        report: TaskReport,
    ) -> Result<Vec<TreeEffect>, TreeRefusal> {
        if matches!(self.state, SupervisorState::Broken) {
            return Ok(Vec::new());
        }
        let at = self.now();
        let what = TreeAction::Report { agent, report };
        self.tree.apply(TreeCommand { at, what })
    }
}

/// Answers a session. One that is gone has ended its task otherwise.
fn answer<T>(reply: oneshot::Sender<T>, value: T) {
    discard!(reply.send(value), "nobody waits for the answer");
}
