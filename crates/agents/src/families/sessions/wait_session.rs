//! `wait_session`: the last message of a child, when it is there.

use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use troupe_protocol::SessionId;
use troupe_protocol::result::{StopReason, TaskResult};
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};
use troupe_tree::effect::WaitEnd;
use troupe_tree::status::CurrentStatus;

use crate::families::child::{self, ChildDisposition};
use crate::families::{shape, tool_call};
use crate::tree_access::{
    AgentView, FinishedTarget, TreeAccess, TreeError, WaitReport, WaitTargets,
};

const NAME: &str = "wait_session";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<WaitSessionArguments>(
        NAME,
        "Returns the last message of a child session as `result`, null if it said nothing. Waits \
         up to timeout_ms for the session to complete; 0 or less only looks. A session that has \
         not completed by then is an error that says what it is doing, and it goes on working: \
         wait again, or do something else meanwhile. A session that failed or was cancelled is \
         an error that says why. Prefer a few minutes to many short waits.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitSessionArguments {
    /// As `create_session` returned it.
    pub session_id: String,
    /// How long to wait in all; 0 or less does not wait.
    pub timeout_ms: i32,
}

#[derive(Debug)]
pub(super) struct WaitSession {
    desk: TreeAccess,
}

impl WaitSession {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn wait(&self, call: &ToolInvocation, arguments: WaitSessionArguments) -> ToolOutput {
        let child = match super::find(&self.desk, &arguments.session_id, "wait for").await {
            Ok(child) => child,
            Err(problem) => return ToolOutput::failure(problem),
        };
        let timeout_ms = arguments.timeout_ms;
        // A wait gives up the slot of the waiting agent, and it may take a while to come back
        // to one. Who only looks must not have to.
        if timeout_ms <= 0 && !child.status.is_final() {
            return ToolOutput::failure(not_yet(&child, timeout_ms));
        }
        let time = Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0));
        let on = WaitTargets::Addresses(vec![child.session.to_string()]);
        let answer = async {
            let waited = self.desk.wait(on, time, &call.cancel).await?;
            let why = call.aborted.get().copied();
            let fate = child::fate(&self.desk, &child, why).await?;
            Ok(answered(&child, &waited, timeout_ms, fate))
        };
        answer.await.unwrap_or_else(|trouble: TreeError| {
            ToolOutput::failure(super::explain(child.session, &trouble))
        })
    }
}

#[async_trait]
impl Tool for WaitSession {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let call = &call;
        tool_call::run(call, &SPEC, async |arguments| {
            self.wait(call, arguments).await
        })
        .await
    }
}

pub(super) fn answered(
    child: &AgentView,
    waited: &WaitReport,
    timeout_ms: i32,
    fate: ChildDisposition,
) -> ToolOutput {
    let id = child.session;
    let output = match (waited.end, waited.finished.first()) {
        (WaitEnd::Final, Some(finished)) => match result(id, finished) {
            Ok(result) => ToolOutput::success(json!({"result": result}).to_string()),
            Err(problem) => ToolOutput::failure(problem),
        },
        (WaitEnd::Stopped, _) => {
            let fate = match fate {
                ChildDisposition::GoesOn => "goes on",
                ChildDisposition::Cancelled => "was cancelled with the task",
                ChildDisposition::Suspended => "was interrupted too: the engine is being shut down",
            };
            ToolOutput::failure(format!("the wait was stopped; session {id} {fate}"))
        }
        (WaitEnd::TimedOut | WaitEnd::Final | WaitEnd::Mail | WaitEnd::Exhausted, _) => {
            let child = waited.unfinished.first().unwrap_or(child);
            ToolOutput::failure(not_yet(child, timeout_ms))
        }
    };
    // Bad news is delivered by this answer just as well.
    match waited.claim {
        Some(claim) => output.with_claim(claim),
        None => output,
    }
}

/// Says that there is no result, and in a second line how the child gets on.
fn not_yet(child: &AgentView, timeout_ms: i32) -> String {
    let id = child.session;
    let first = if timeout_ms <= 0 {
        format!("session {id} is still running")
    } else {
        format!("session {id} did not complete within {timeout_ms}ms")
    };
    let standing = Value::Object(shape::standing(child));
    format!("{first}\n{standing}")
}

fn result(id: SessionId, finished: &FinishedTarget) -> Result<Option<String>, String> {
    let Some(view) = &finished.view else {
        return Err(format!("unknown session {id}"));
    };
    let last = finished.result.as_deref();
    let last_message = last.and_then(|result| result.last_message.clone());
    match view.status {
        CurrentStatus::Completed => Ok(last_message),
        CurrentStatus::Errored => Err(error(id, view, last)),
        CurrentStatus::BudgetExceeded => Err(out_of_budget(id, last_message)),
        CurrentStatus::Cancelled => Err(cancelled(id, last_message)),
        CurrentStatus::Interrupted { why } => {
            Err(interrupted(id, shape::interruption(why), last_message))
        }
        // Closed after its end: what its last task came to still holds.
        CurrentStatus::Shutdown => match last.map(|result| &result.stop) {
            Some(StopReason::Completed) => Ok(last_message),
            Some(
                StopReason::Errored { .. }
                | StopReason::OutputInvalid { .. }
                | StopReason::FailedToStart { .. },
            ) => Err(error(id, view, last)),
            Some(StopReason::BudgetExceeded) => Err(out_of_budget(id, last_message)),
            Some(stop) => Err(match shape::interrupted(stop) {
                Some(why) => interrupted(id, why, last_message),
                None => cancelled(id, last_message),
            }),
            None => Err(cancelled(id, last_message)),
        },
        CurrentStatus::Ready => Err(format!("child session {id} was given nothing to do yet")),
        CurrentStatus::Lost => Err(lost(id, view)),
        CurrentStatus::NotFound => Err(format!("unknown session {id}")),
        CurrentStatus::PendingInit
        | CurrentStatus::Queued { .. }
        | CurrentStatus::Running
        | CurrentStatus::Waiting { .. } => Err(not_yet(view, 0)),
    }
}

fn lost(id: SessionId, view: &AgentView) -> String {
    let gone = format!("child session {id} is lost: its log is gone");
    match &view.last_told {
        None => gone,
        Some(last) => {
            let told = format!("{gone}. It was last told as {}", last.row().agents);
            partial(told, last.text().map(str::to_owned))
        }
    }
}

fn error(id: SessionId, view: &AgentView, last: Option<&TaskResult>) -> String {
    last.and_then(TaskResult::text)
        .or_else(|| view.preview.clone())
        .unwrap_or_else(|| format!("child session {id} failed"))
}

fn out_of_budget(id: SessionId, last_message: Option<String>) -> String {
    partial(
        format!("child session {id} used up its budget"),
        last_message,
    )
}

/// Tells of a task that nobody cancelled and that did not end by itself either.
fn interrupted(id: SessionId, why: &str, last_message: Option<String>) -> String {
    partial(
        format!("child session {id} ended early: {why}"),
        last_message,
    )
}

fn cancelled(id: SessionId, last_message: Option<String>) -> String {
    partial(format!("child session {id} cancelled"), last_message)
}

/// Keeps what there is of a result.
fn partial(problem: String, last_message: Option<String>) -> String {
    match last_message {
        Some(message) => format!("{problem}\nits last message was: {message}"),
        None => problem,
    }
}
