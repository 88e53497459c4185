//! `troupe_tasks_get` and `troupe_tasks_list`: what the log of a session tells of its tasks.

use troupe_agents::tree_access::AgentScope;
use troupe_protocol::input::UserInput;
use troupe_protocol::item::TurnItem;
use troupe_protocol::result::{Evidence, StopReason, StructuredOutput, TaskResult};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tree::{MessageMetadata, TreeFact};
use troupe_protocol::{EventMsg, SessionId, TaskOutcome};
use troupe_store::{LogLine, LogReader, SessionStore, StoreError, UnixMillis};

use super::answers::{
    CallbackAnswer, CommandAnswer, EvidenceAnswer, FileAnswer, OutputAnswer, TaskAnswer, TaskList,
};
use super::arguments::{TaskArguments, TasksArguments};
use super::directory::{FoundSession, desk};
use super::error::SessionToolError;
use super::forms::tells;
use super::session_tools::SessionTools;
use crate::limits::{MCP_TASKS_DEFAULT, MCP_TASKS_MAX};

impl SessionTools {
    pub(super) async fn task(
        &self,
        arguments: &TaskArguments,
    ) -> Result<TaskAnswer, SessionToolError> {
        let store = self.store()?;
        let task = &arguments.task_id;
        let sessions = match &arguments.session_id {
            Some(session) => {
                let found = self.find(session).await?;
                let mut tasks = read(&*store, found.session).await?;
                self.end_orphaned_tasks(found, &mut tasks).await?;
                if let Some(task) = tasks.into_iter().find(|one| one.task_id == *task) {
                    return Ok(task);
                }
                vec![found.session]
            }
            None => self.sessions_in_memory().await,
        };
        for session in &sessions {
            let mut tasks = read(&*store, *session).await?.into_iter();
            if let Some(found) = tasks.find(|one| one.task_id == *task) {
                return Ok(found);
            }
        }
        Err(match (arguments.session_id.is_some(), sessions.first()) {
            (true, Some(session)) => SessionToolError::NoTask {
                session: *session,
                task: task.clone(),
            },
            _ => SessionToolError::UnknownTask { task: task.clone() },
        })
    }

    pub(super) async fn tasks(
        &self,
        arguments: &TasksArguments,
    ) -> Result<TaskList, SessionToolError> {
        let found = self.find(&arguments.session_id).await?;
        let mut tasks = read(&*self.store()?, found.session).await?;
        self.end_orphaned_tasks(found, &mut tasks).await?;
        let total = tasks.len();
        tasks.reverse();
        tasks.truncate(
            arguments
                .limit
                .unwrap_or(MCP_TASKS_DEFAULT)
                .min(MCP_TASKS_MAX),
        );
        for task in &mut tasks {
            // The list is for finding; the details are for who asks for one.
            task.evidence = None;
        }
        Ok(TaskList { tasks, total })
    }

    /// A task that runs in nobody's process died with the one that had it.
    async fn end_orphaned_tasks(
        &self,
        found: FoundSession,
        tasks: &mut [TaskAnswer],
    ) -> Result<(), SessionToolError> {
        let runs = |task: &TaskAnswer| task.status == "running";
        if !tasks.iter().any(runs)
            || self.loaded(found).await.is_some()
            || self.is_held(found).await?
        {
            return Ok(());
        }
        for task in tasks.iter_mut().filter(|task| runs(task)) {
            "crash".clone_into(&mut task.status);
        }
        Ok(())
    }

    /// Returns the sessions of all trees in memory.
    async fn sessions_in_memory(&self) -> Vec<SessionId> {
        let mut sessions = Vec::new();
        for thread in self.house.loaded().await {
            sessions.push(thread.id());
            // A tree that has just ended has its sessions in the store.
            let agents = desk(&thread).list(AgentScope::All, true).await;
            let agents = agents.unwrap_or_default();
            sessions.extend(agents.iter().map(|view| view.session));
        }
        sessions
    }
}

/// Reads the tasks of a session, oldest first. One that has no log yet has none.
pub(super) async fn read(
    store: &dyn SessionStore,
    session: SessionId,
) -> Result<Vec<TaskAnswer>, SessionToolError> {
    let mut tasks = Vec::new();
    let mut log = LogReader::new(session);
    loop {
        let lines = match log.next(store).await {
            Ok(Some(lines)) => lines,
            Ok(None) | Err(StoreError::NotFound { .. }) => return Ok(tasks),
            Err(error) => return Err(error.into()),
        };
        for line in lines.iter().filter(|line| is_about_tasks(line)) {
            // A line that cannot be read is reported by whoever resumes the session.
            if let Ok(stamped) = line.record() {
                take(&mut tasks, session, stamped.timestamp, stamped.record);
            }
        }
    }
}

/// Most of a log is about other things, which need not be read to be known.
fn is_about_tasks(line: &LogLine) -> bool {
    const MARKS: [&[u8]; 4] = [
        b"\"task_started\"",
        b"\"task_complete\"",
        b"\"turn_aborted\"",
        b"\"UserMessage\"",
    ];
    line.is("agent") || (line.is("event_msg") && tells(line, &MARKS))
}

fn take(tasks: &mut Vec<TaskAnswer>, session: SessionId, at: UnixMillis, record: RolloutRecord) {
    match record {
        RolloutRecord::EventMsg(event) => match event.msg {
            EventMsg::TurnStarted(started) => {
                let started_at = UnixMillis(started.started_at_ms);
                tasks.push(begun(session, started.turn_id.0, started_at));
            }
            EventMsg::TurnComplete(complete) => {
                if let Some(task) = named(tasks, &complete.turn_id.0) {
                    end(task, "completed", at, complete.last_agent_message);
                }
            }
            EventMsg::TurnAborted(aborted) => {
                if let Some(task) = named(tasks, &aborted.turn_id.0) {
                    end(
                        task,
                        TaskOutcome::from(aborted.reason).row().mcp,
                        at,
                        aborted.last_agent_message,
                    );
                }
            }
            EventMsg::ItemCompleted {
                turn_id,
                item: TurnItem::UserMessage(message),
                ..
            } => {
                if let Some(task) = named(tasks, &turn_id.0)
                    && task.prompt.is_none()
                {
                    task.prompt = Some(text(&message.content));
                    task.callback = message.metadata.map(callback);
                }
            }
            _ => {}
        },
        RolloutRecord::Agent(line) => {
            if let (TreeFact::Ended { task, .. }, Some(result)) = (&line.record.fact, line.result)
                && result.session_id == session
                && let Some(entry) = named(tasks, &task.0)
            {
                add(entry, *result);
            }
        }
        _ => {}
    }
}

fn begun(session: SessionId, task_id: String, started_at: UnixMillis) -> TaskAnswer {
    TaskAnswer {
        task_id,
        session_id: session,
        status: "running".to_owned(),
        started_at: Some(started_at.to_string()),
        completed_at: None,
        prompt: None,
        last_message: None,
        error: None,
        callback: None,
        output: None,
        evidence: None,
    }
}

fn callback(metadata: MessageMetadata) -> CallbackAnswer {
    CallbackAnswer {
        is_callback: metadata.is_callback,
        source: metadata.source,
        child_session_id: metadata.child_session_id,
        child_task_id: metadata.child_task_id.0,
    }
}

fn named<'a>(tasks: &'a mut [TaskAnswer], id: &str) -> Option<&'a mut TaskAnswer> {
    tasks.iter_mut().rev().find(|task| task.task_id == id)
}

fn end(task: &mut TaskAnswer, status: &str, at: UnixMillis, last_message: Option<String>) {
    // The result says more, and may stand before this line or behind it.
    if task.evidence.is_none() {
        status.clone_into(&mut task.status);
        task.last_message = last_message;
    }
    task.completed_at = Some(at.to_string());
}

fn add(task: &mut TaskAnswer, result: TaskResult) {
    let (status, error) = stop(&result.stop);
    status.clone_into(&mut task.status);
    task.error = error;
    task.last_message = result.last_message;
    task.output = result.output.map(output);
    task.completed_at = Some(UnixMillis(result.evidence.ended_at_ms).to_string());
    task.evidence = Some(evidence(result.evidence));
}

/// Returns the status that a result means, and the error behind it.
pub(super) fn stop(stop: &StopReason) -> (&'static str, Option<String>) {
    let error = match stop {
        StopReason::Cancelled { note } => note.clone(),
        other => other.error().map(str::to_owned),
    };
    (TaskOutcome::from(stop).row().mcp, error)
}

fn output(output: StructuredOutput) -> OutputAnswer {
    match output {
        StructuredOutput::Valid { value } => OutputAnswer {
            valid: true,
            value: Some(value),
            problems: Vec::new(),
        },
        StructuredOutput::Invalid { problems } => OutputAnswer {
            valid: false,
            value: None,
            problems,
        },
    }
}

fn evidence(evidence: Evidence) -> EvidenceAnswer {
    EvidenceAnswer {
        message_count: evidence.messages,
        tool_use_count: evidence.tool_use_count(),
        tokens: evidence.usage.total_tokens,
        commands: evidence
            .commands
            .into_iter()
            .map(|command| CommandAnswer {
                command: command.command,
                exit_code: command.exit_code,
            })
            .collect(),
        files: evidence
            .files
            .into_iter()
            .map(|file| FileAnswer {
                path: file.path.display().to_string(),
                before: file.before,
                after: file.after,
            })
            .collect(),
        children: evidence.children,
    }
}

fn text(content: &[UserInput]) -> String {
    let texts = content.iter().filter_map(|item| match item {
        UserInput::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
