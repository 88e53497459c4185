//! Children and forks.

use serde_json::Value;
use troupe_agents::tree_access::{AgentView, CallbackChoice, SpawnContext, SpawnRequest};
use troupe_protocol::SubmissionId;
use troupe_protocol::agent::AgentOrigin;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::{ConfigureSession, ForkPoint, ForkTurn};
use troupe_protocol::spawn::{CallbackConfig, HistoryShare};
use troupe_protocol::tree::{AgentMessage, CallbackMode, MessageId, OnParentInterrupt};
use troupe_server::session_pool::place_of;
use troupe_tree::CurrentStatus;
use troupe_tree::command::SendUrgency;

use super::describing::callback_of;
use super::sessions::{backend, check_schema};
use super::tasks::begun_task;
use crate::daemon::Daemon;
use crate::members::{FoundSession, root_view, user};
use crate::problem::Problem;
use crate::route::{NoMembers, RouteCall, RouteReply};
use crate::wire::session::SessionCreated;
use crate::wire::spawn::{ChildSpawnRequest, ChildSpawned, ForkRequest};
use crate::wire::task::{TaskStage, TaskView, check_prompt};

/// What a spawn is recorded as.
const TOOL: &str = "POST spawn";

pub(crate) async fn spawn(
    call: RouteCall<NoMembers, ChildSpawnRequest>,
) -> Result<RouteReply<ChildSpawned>, Problem> {
    check_prompt(&call.body.prompt)?;
    let found = call.daemon.find(call.path.get("session")).await?;
    let RouteCall { daemon, body, .. } = call;
    check_schema(body.output_schema.clone().map(Value::Object).as_ref())?;
    let thread = daemon.open(found).await?;
    let access = user(&thread);
    let above = access.view(&found.address()).await?;
    let backend = child_backend(&daemon, &above, body.agentic_tool.clone())?;
    let turn = match above.spec.as_deref() {
        None => SpawnContext::outside_task(&thread.context().await?),
        Some(spec) => SpawnContext::from(spec),
    };
    let turn = match place_of(daemon.pool(), found.session).await {
        Some((task, index)) => turn.at(task, index),
        None => turn,
    };
    let inherited = callback_of(above.spec.as_deref(), thread.agents().callback());
    let prompt = match &body.extra_instructions {
        Some(extra) => format!("{}\n\n{extra}", body.prompt),
        None => body.prompt.clone(),
    };
    let request = SpawnRequest {
        tool: TOOL,
        origin: AgentOrigin::Spawn,
        items: vec![UserInput::text(prompt)],
        callback: callback(&body, inherited),
        agent_type: body.agent_type,
        agent_name: None,
        name: body.title.clone(),
        label: body.title,
        working_directory: None,
        model: body.model,
        backend,
        reasoning_effort: body.reasoning_effort,
        sandbox: body.sandbox_mode,
        history: HistoryShare::None,
        fork_answer: None,
        output_schema: body.output_schema.map(Into::into),
        approvals: body.approvals,
        on_parent_interrupt: OnParentInterrupt::default(),
        thread_note: None,
        turn,
    };
    let spawned = access.spawn_below(above.agent, request).await?;
    let child = FoundSession {
        session: spawned.view.session,
        root: found.root,
    };
    let task = first_task(&daemon, child, &spawned.view, body.prompt).await?;
    let session = daemon.describe_live(child, &thread).await?;
    let location = format!("/v1/sessions/{}", child.session);
    let version = session.version.clone();
    let answer = ChildSpawned {
        seed_id: child.session,
        session,
        task,
        requested: spawned.requested,
        effective: spawned.effective,
        why: spawned.why,
    };
    Ok(RouteReply::new(answer).version(version).location(location))
}

/// Returns the task that the first message of a child begins.
async fn first_task(
    daemon: &Daemon,
    child: FoundSession,
    view: &AgentView,
    prompt: String,
) -> Result<TaskView, Problem> {
    let births = daemon.read_log(child.root).await?.births;
    let first = births.get(&child.session).and_then(|birth| birth.first);
    let id = first.map_or_else(SubmissionId::default, MessageId::task);
    let task = begun_task(child.session, id.0, prompt);
    Ok(match view.status {
        CurrentStatus::Queued { position } => TaskView {
            status: TaskStage::Queued,
            queue_position: Some(position),
            ..task
        },
        _ => task,
    })
}

/// The children of a session that another program runs are run by that program too.
fn child_backend(
    daemon: &Daemon,
    above: &AgentView,
    tool: Option<String>,
) -> Result<Option<String>, Problem> {
    let is_said = tool.is_some();
    let asked = backend(daemon, tool)?;
    let provider = above
        .spec
        .as_ref()
        .and_then(|spec| spec.model_provider.clone());
    let program = provider.filter(|provider| daemon.pool().backends().contains(provider));
    match (asked, program) {
        (None, Some(program)) if is_said => {
            let detail = format!("the parent is run by {program}, and so are its children");
            Err(Problem::unprocessable("agentic_tool", detail))
        }
        (asked, _) => Ok(asked),
    }
}

/// What the request says about callbacks. One that says nothing but whether there are any goes on
/// with what the session says of the rest, also when that changes.
fn callback(body: &ChildSpawnRequest, inherited: CallbackConfig) -> CallbackChoice {
    let mode = match body.enable_callback {
        Some(false) => CallbackMode::Off,
        Some(true) | None => CallbackMode::default(),
    };
    let says_more = body.include_last_message.is_some() || body.include_original_prompt.is_some();
    CallbackChoice {
        mode,
        config: says_more.then(|| CallbackConfig {
            enabled: body.enable_callback.unwrap_or(inherited.enabled),
            include_last_message: body
                .include_last_message
                .unwrap_or(inherited.include_last_message),
            include_original_prompt: body
                .include_original_prompt
                .unwrap_or(inherited.include_original_prompt),
            template: inherited.template,
        }),
    }
}

pub(crate) async fn fork(
    call: RouteCall<NoMembers, ForkRequest>,
) -> Result<RouteReply<SessionCreated>, Problem> {
    if let Some(prompt) = &call.body.prompt {
        check_prompt(prompt)?;
    }
    let found = call.daemon.find(call.path.get("session")).await?;
    let RouteCall { daemon, body, .. } = call;
    if let Some(task) = &body.task_id {
        let log = daemon.read_log(found.session).await?;
        let known = log.tasks.iter().find(|known| known.id == *task);
        let known = known.ok_or_else(|| {
            let detail = format!("the session has no task {task:?}");
            Problem::not_found("task_not_found", detail).field("task_id")
        })?;
        if known.end.is_none() {
            let detail = format!("task {task} has not ended; interrupt it or wait for its end");
            return Err(Problem::conflict("task_running", detail).field("task_id"));
        }
    }
    let point = ForkPoint {
        session_id: found.session,
        last_response_id: None,
        turns: None,
        turn: body
            .task_id
            .map(|task| ForkTurn::Through(SubmissionId(task))),
    };
    let thread = daemon
        .pool()
        .fork(point, ConfigureSession::default())
        .await?;
    let fork = FoundSession::of_root(thread.id());
    daemon.note_root(fork.root)?;
    root_view(&thread).await?;
    let task = match body.prompt {
        None => None,
        Some(prompt) => {
            let message = AgentMessage::text(prompt.clone());
            let (access, address) = (user(&thread), fork.address());
            let sent = access.send(&address, message, SendUrgency::Regular).await?;
            Some(begun_task(fork.session, sent.task.0, prompt))
        }
    };
    let session = daemon.describe_live(fork, &thread).await?;
    let location = format!("/v1/sessions/{}", session.id);
    let version = session.version.clone();
    let created = SessionCreated {
        seed_id: session.id,
        session,
        task,
    };
    Ok(RouteReply::new(created).version(version).location(location))
}
