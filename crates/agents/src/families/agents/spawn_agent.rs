//! `spawn_agent`: a child and its first message.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_protocol::agent::{AgentOrigin, AgentStatus, CollabSpawnBegin, CollabSpawnEnd};
use troupe_protocol::input::is_blank;
use troupe_protocol::policy::ReasoningEffort;
use troupe_protocol::spawn::{ApprovalRoute, CallbackConfig, HistoryShare};
use troupe_protocol::tool::ToolSpec;
use troupe_protocol::tree::{CallbackMode, Caller, OnParentInterrupt};
use troupe_protocol::{AgentId, CallId, EventMsg};
use troupe_tools::{CallContext, Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};
use troupe_tree::status::CurrentStatus;

use crate::families::input::{self, InputItem};
use crate::families::{shape, tool_call};
use crate::tree_access::{
    CallbackChoice, ForkAnswer, SpawnContext, SpawnRequest, SpawnedAgent, TreeAccess, TreeError,
};

use super::history::HistoryArgument;
use super::{collab, directory};

const NAME: &str = "spawn_agent";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<SpawnAgentArguments>(
        NAME,
        "Starts another agent on a task of its own and returns at once; it works beside you. \
         Delegate work that can be stated in full and checked on its own: a question about the \
         code, a change to files that nobody else touches, a review, a test run. Keep for \
         yourself what your next step depends on, and what is quicker done than described.\n\
         - The agent knows only what you write (and `history`, if you share it). Say the goal \
         and why, the files it owns, what it may rely on, how it shows that it is done, and \
         what to report.\n\
         - All agents see the same files. Agents that write get disjoint sets of files; tell \
         each that others are at work.\n\
         - Choose `agent_type` from `list_agents`. Rights only shrink: the agent never gets more \
         than you have. `effective` in the result is what it got, `why` explains what differs \
         from `requested`.\n\
         - When it ends you are told in a message by itself, also after your own task is over. \
         So go on with other work, or end your turn; use `wait` only if you can do nothing \
         without the result, and do not redo what you delegated. `agent_result` fetches the \
         whole result again, with the commands and files behind it.\n\
         - With status `queued` it starts when a slot is free; that is no failure.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SpawnAgentArguments {
    /// The task, as plain text. Give exactly one of `message` and `items`.
    message: Option<String>,
    /// The task, in parts, if it has images, skills or mentions.
    items: Option<Vec<InputItem>>,
    /// The role, from `list_agents`; `default` if absent.
    agent_type: Option<String>,
    /// A persona of the role.
    agent_name: Option<String>,
    /// Where it works, if not where you do. The user has to approve another directory.
    working_directory: Option<String>,
    /// Only if the task needs another model than the role's or your own.
    model: Option<String>,
    /// Another agent program that does it, by its name in the configuration.
    #[serde(alias = "agenticTool")]
    backend: Option<String>,
    /// Only if the task needs more or less thought than usual.
    reasoning_effort: Option<ReasoningEffort>,
    /// A line that lists show for this agent.
    thread_note: Option<String>,
    /// How much of your conversation it begins with: `none` (default), `all`, or a number of
    /// your last turns. What it must know is better written into the message.
    #[serde(default)]
    history: HistoryArgument,
    /// A JSON Schema for its last message; one that does not fit is sent back once, then the
    /// task fails.
    output_schema: Option<Map<String, Value>>,
    /// Who answers its requests for approval, if not as the role says.
    approvals: Option<ApprovalRoute>,
    /// What becomes of it when you are interrupted; `keep_running` if absent.
    #[serde(default)]
    on_parent_interrupt: OnParentInterrupt,
    /// A short name; it becomes the last part of the agent's path.
    task_name: Option<String>,
    /// How often you are told that a task of it has ended; `persistent` if absent.
    callback: Option<CallbackArgument>,
    /// `false` if you do not want to be told when it ends; the same as the callback `off`.
    enable_callback: Option<bool>,
    /// Whether that message repeats the agent's last one.
    include_last_message: Option<bool>,
    /// Whether that message repeats the task.
    include_original_prompt: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CallbackArgument {
    /// Never.
    Off,
    /// Of the first one only.
    Once,
    /// Of each one.
    Persistent,
}

impl From<CallbackArgument> for CallbackMode {
    fn from(callback: CallbackArgument) -> Self {
        match callback {
            CallbackArgument::Off => Self::Off,
            CallbackArgument::Once => Self::Once,
            CallbackArgument::Persistent => Self::Persistent,
        }
    }
}

#[derive(Debug)]
pub(super) struct SpawnAgent {
    desk: TreeAccess,
}

impl SpawnAgent {
    pub(super) fn new(desk: TreeAccess) -> Self {
        Self { desk }
    }

    async fn spawn(
        &self,
        call: &ToolInvocation,
        mut arguments: SpawnAgentArguments,
    ) -> Result<Map<String, Value>, TreeError> {
        let asked = said(arguments.working_directory.take());
        let callback = self.callback(&arguments).await?;
        let mut request = request(&call.id, &call.context, arguments, callback)?;
        request.turn.call = Some(call.id.clone());
        let prompt = input::as_text(&request.items);
        let begin = begin(call, &request, prompt.clone());
        collab::tell(call, EventMsg::CollabAgentSpawnBegin(begin)).await;
        let result = self.spawn_in(call, asked.as_deref(), request).await;
        let end = end(call, &result, prompt);
        collab::tell(call, EventMsg::CollabAgentSpawnEnd(end)).await;
        result.map(|spawned| described(&spawned))
    }

    async fn spawn_in(
        &self,
        call: &ToolInvocation,
        asked: Option<&str>,
        mut request: SpawnRequest,
    ) -> Result<SpawnedAgent, TreeError> {
        if let Some(asked) = asked {
            request.working_directory = directory::granted(&self.desk, call, asked).await?;
        }
        self.desk.spawn(request).await
    }

    /// What the call says about callbacks, over what the caller itself was made with.
    async fn callback(&self, arguments: &SpawnAgentArguments) -> Result<CallbackChoice, TreeError> {
        let mode = mode(arguments)?;
        let says_nothing = mode.is_none()
            && arguments.include_last_message.is_none()
            && arguments.include_original_prompt.is_none();
        if says_nothing {
            return Ok(CallbackChoice::default());
        }
        let own = match self.desk.caller() {
            Caller::User | Caller::Agent(AgentId::ROOT) => None,
            Caller::Agent(own) => self.desk.view(&own.to_string()).await?.spec,
        };
        let inherited = match own {
            Some(spec) => spec.callback.clone(),
            None => self.desk.agents().callback(),
        };
        Ok(callback(arguments, mode, inherited))
    }
}

#[async_trait]
impl Tool for SpawnAgent {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn makes_agents(&self) -> bool {
        true
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let call = &call;
        tool_call::run(call, &SPEC, async |arguments| {
            tool_call::answer(self.spawn(call, arguments).await)
        })
        .await
    }
}

/// Returns what the call says about the number of callbacks, in the one way or in the other.
fn mode(arguments: &SpawnAgentArguments) -> Result<Option<CallbackMode>, TreeError> {
    let said = arguments.callback.map(CallbackMode::from);
    let is_on = |mode: CallbackMode| mode != CallbackMode::Off;
    match (said, arguments.enable_callback) {
        (Some(mode), Some(enabled)) if is_on(mode) != enabled => Err(TreeError::Invalid(
            "callback and enable_callback contradict each other; leave enable_callback out"
                .to_owned(),
        )),
        (None, Some(false)) => Ok(Some(CallbackMode::Off)),
        (None, Some(true)) => Ok(Some(CallbackMode::default())),
        (said, _) => Ok(said),
    }
}

fn callback(
    arguments: &SpawnAgentArguments,
    mode: Option<CallbackMode>,
    inherited: CallbackConfig,
) -> CallbackChoice {
    let config = CallbackConfig {
        // One that is not to call this caller is called by its own children all the same.
        enabled: inherited.enabled || mode.is_some_and(|mode| mode != CallbackMode::Off),
        ..inherited.including(
            arguments.include_last_message,
            arguments.include_original_prompt,
        )
    };
    CallbackChoice {
        mode: mode.unwrap_or_default(),
        config: Some(config),
    }
}

fn request(
    call: &CallId,
    context: &CallContext,
    arguments: SpawnAgentArguments,
    callback: CallbackChoice,
) -> Result<SpawnRequest, TreeError> {
    let HistoryArgument(history) = arguments.history;
    let origin = match history {
        HistoryShare::None => AgentOrigin::Spawn,
        HistoryShare::All | HistoryShare::LastTurns(_) => AgentOrigin::Fork,
    };
    // The child finds this very call in its history; the answer tells it that it is the child.
    let fork_answer = (origin == AgentOrigin::Fork).then(|| ForkAnswer {
        call: call.clone(),
        label: None,
        summary: None,
        prompt: None,
    });
    let items = input::either(arguments.message, arguments.items)?;
    Ok(SpawnRequest {
        origin,
        agent_type: said(arguments.agent_type),
        agent_name: said(arguments.agent_name),
        name: said(arguments.task_name),
        model: said(arguments.model),
        backend: said(arguments.backend),
        reasoning_effort: arguments.reasoning_effort,
        history,
        fork_answer,
        output_schema: arguments.output_schema.map(Value::Object),
        approvals: arguments.approvals,
        on_parent_interrupt: arguments.on_parent_interrupt,
        callback,
        thread_note: arguments.thread_note,
        ..SpawnRequest::new(NAME, items, SpawnContext::from(context))
    })
}

/// Some models write an empty text where they mean to say nothing.
fn said(text: Option<String>) -> Option<String> {
    text.filter(|text| !is_blank(text))
}

fn begin(call: &ToolInvocation, request: &SpawnRequest, prompt: String) -> CollabSpawnBegin {
    let model = request.model.as_ref().unwrap_or(&call.context.model);
    CollabSpawnBegin {
        call_id: call.id.clone(),
        sender_thread_id: call.context.session_id,
        prompt,
        model: model.clone(),
        reasoning_effort: request.reasoning_effort.or(call.context.effort),
    }
}

fn end(
    call: &ToolInvocation,
    result: &Result<SpawnedAgent, TreeError>,
    prompt: String,
) -> CollabSpawnEnd {
    let (new_thread_id, status) = match result {
        Ok(spawned) => (Some(spawned.view.session), spawned.view.wire_status()),
        Err(trouble) => (None, AgentStatus::Errored(trouble.to_string())),
    };
    CollabSpawnEnd {
        call_id: call.id.clone(),
        sender_thread_id: call.context.session_id,
        new_thread_id,
        prompt,
        status,
    }
}

fn described(spawned: &SpawnedAgent) -> Map<String, Value> {
    let view = &spawned.view;
    let queue_position = match view.status {
        CurrentStatus::Queued { position } => Some(position),
        _ => None,
    };
    let mut object = shape::names(view);
    object.extend(shape::present([
        ("status", shape::status(&view.wire_status())),
        ("queue_position", json!(queue_position)),
        ("thread_note", json!(view.note)),
        ("requested", spawned.requested.clone()),
        ("effective", spawned.effective.clone()),
        ("why", json!(spawned.why)),
    ]));
    object
}

#[cfg(test)]
mod tests;
