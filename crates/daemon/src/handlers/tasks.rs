//! Tasks and what they came to.

use troupe_agents::tree_access::AgentScope;
use troupe_protocol::{SessionId, SubmissionId};

use crate::daemon::Daemon;
use crate::limits::TREES_SEARCHED_MAX;
use crate::members::{FoundSession, user};
use crate::problem::Problem;
use crate::route::{NoMembers, RouteCall, RouteReply};
use crate::wire::task::{TaskPage, TaskQuery, TaskResultView, TaskStage, TaskView};

pub(crate) async fn list(
    call: RouteCall<NoMembers, NoMembers>,
) -> Result<RouteReply<TaskPage>, Problem> {
    let RouteCall { daemon, path, .. } = call;
    let found = daemon.find(path.get("session")).await?;
    let log = daemon.read_log(found.session).await?;
    let runs = daemon.may_run(found).await?;
    let data = log.tasks.iter().map(|task| task.view(found.session, runs));
    Ok(RouteReply::new(TaskPage {
        data: data.collect(),
    }))
}

pub(crate) async fn get(
    call: RouteCall<TaskQuery, NoMembers>,
) -> Result<RouteReply<TaskView>, Problem> {
    let RouteCall {
        daemon,
        path,
        query,
        ..
    } = call;
    let (_, task) = daemon.find_task(path.get("task"), query.session_id).await?;
    Ok(RouteReply::new(task))
}

pub(crate) async fn result(
    call: RouteCall<TaskQuery, NoMembers>,
) -> Result<RouteReply<TaskResultView>, Problem> {
    let RouteCall {
        daemon,
        path,
        query,
        ..
    } = call;
    let (found, task) = daemon.find_task(path.get("task"), query.session_id).await?;
    let result = match daemon.loaded(found).await {
        Some(thread) => {
            let id = SubmissionId(task.id.clone());
            user(&thread).result(&found.address(), Some(id)).await?
        }
        None => daemon.stored_result(found, &task.id).await?,
    };
    Ok(RouteReply::new(result.into()))
}

/// Returns a task that was handed to its session just now.
pub(crate) fn begun_task(session: SessionId, id: String, prompt: String) -> TaskView {
    TaskView {
        id,
        session_id: session,
        status: TaskStage::Running,
        stop_reason: None,
        queue_position: None,
        prompt: Some(prompt),
        metadata: None,
        started_at: None,
        completed_at: None,
        last_message: None,
        error: None,
    }
}

impl Daemon {
    /// Tells whether some process works with a session, so that a task without an end goes on.
    pub(crate) async fn may_run(&self, found: FoundSession) -> Result<bool, Problem> {
        Ok(self.loaded(found).await.is_some() || self.is_held(found).await?)
    }

    /// Finds a task by its id, in the session that is named or in any tree of the home.
    async fn find_task(
        &self,
        id: &str,
        session: Option<String>,
    ) -> Result<(FoundSession, TaskView), Problem> {
        if let Some(session) = session {
            let found = self.find(&session).await?;
            let task = self.task_of(found, id).await?;
            return task.map(|task| (found, task)).ok_or_else(|| no_task(id));
        }
        for thread in self.pool().loaded().await {
            let root = thread.id();
            // A tree that has just ended has its sessions in the store.
            let below = user(&thread).list(AgentScope::All, true).await;
            let below = below
                .unwrap_or_default()
                .into_iter()
                .map(|view| view.session);
            for session in std::iter::once(root).chain(below) {
                let found = FoundSession { session, root };
                if let Some(task) = self.task_of(found, id).await? {
                    return Ok((found, task));
                }
            }
        }
        let store = self.store()?;
        for tree in store.trees(TREES_SEARCHED_MAX).await? {
            for row in store.tree(tree.root).await? {
                let found = FoundSession {
                    session: row.session,
                    root: tree.root,
                };
                let known = store.tasks_of(row.session).await?;
                if known.iter().any(|task| task.task.0 == id)
                    && let Some(task) = self.task_of(found, id).await?
                {
                    return Ok((found, task));
                }
            }
        }
        Err(no_task(id))
    }

    async fn task_of(&self, found: FoundSession, id: &str) -> Result<Option<TaskView>, Problem> {
        let log = self.read_log(found.session).await?;
        let Some(task) = log.tasks.iter().find(|task| task.id == id) else {
            return self.waiting_task(found, id).await;
        };
        Ok(Some(task.view(found.session, self.may_run(found).await?)))
    }

    /// Finds a task that a message of the queue will begin.
    async fn waiting_task(
        &self,
        found: FoundSession,
        id: &str,
    ) -> Result<Option<TaskView>, Problem> {
        let queue = self.queue_of(found).await?;
        let waiting = queue.into_iter().find(|message| message.id == id);
        Ok(waiting.map(|message| TaskView {
            status: TaskStage::Queued,
            queue_position: Some(message.position),
            metadata: message.metadata,
            ..begun_task(found.session, message.id, message.text.unwrap_or_default())
        }))
    }

    /// Reads a result from the log of its session, or from that of the root if that log could not be
    /// written.
    async fn stored_result(
        &self,
        found: FoundSession,
        task: &str,
    ) -> Result<troupe_protocol::result::TaskResult, Problem> {
        let store = self.store()?;
        for log in [found.session, found.root] {
            let lines = match store.agent_lines(log).await {
                Ok(lines) => lines.lines,
                Err(error) if super::describing::is_missing(&error) => continue,
                Err(error) => return Err(error.into()),
            };
            let results = lines.into_iter().rev().filter_map(|(_, line)| line.result);
            let mut of_it = results
                .filter(|result| result.session_id == found.session && result.task_id.0 == task);
            if let Some(result) = of_it.next() {
                return Ok(*result);
            }
        }
        Err(Problem::not_found(
            "no_result",
            format!("task {task} has no result: it runs, or died with its process"),
        ))
    }
}

fn no_task(id: &str) -> Problem {
    let detail = format!(
        "no session in memory and none of the newest trees has a task {id:?}; say whose it is with session_id"
    );
    Problem::not_found("task_not_found", detail)
}
