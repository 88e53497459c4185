//! `create_session`: a child of a certain type, and its prompt.

use std::sync::LazyLock;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_protocol::agent::AgentOrigin;
use troupe_protocol::input::{UserInput, is_blank};
use troupe_protocol::spawn::{ApprovalRoute, HistoryShare};
use troupe_protocol::tool::ToolSpec;
use troupe_protocol::tree::{CallbackMode, OnParentInterrupt};
use troupe_tools::{CallContext, Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments};

use crate::families::{shape, tool_call};
use crate::roles;
use crate::tree_access::{
    CallbackChoice, RolePlace, SpawnContext, SpawnRequest, SpawnedAgent, TreeAccess, TreeError,
};

const NAME: &str = "create_session";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<CreateSessionArguments>(
        NAME,
        "Starts a child session on a task of its own and returns its session_id at once. The \
         child works in the same directory and sandbox as you, knows nothing of this \
         conversation, and cannot ask anybody: what would need an approval is refused. Put \
         everything it must know into the prompt: the goal, the files it may touch, how to check \
         the work, what to report. Its last message is its result; get it with `wait_session`. \
         Start several before you wait for the first. Its end starts no turn of yours: you are \
         told of it when your next task begins, unless enable_callback is true. If your task is interrupted, the sessions \
         that you created are cancelled.",
    )
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateSessionArguments {
    /// What the child is good at: `tester` writes tests, `mathematician` solves problems with
    /// proof, `linter_fixer` fixes what linters report, `reviewer` looks for faults in a
    /// change, `default` does anything else. Roles of the project are types too.
    session_type: String,
    /// The task: the first message of the child.
    prompt: String,
    /// Another agent program that does it, by its name in the configuration.
    #[serde(alias = "agenticTool")]
    backend: Option<String>,
    /// Whether the end of the child starts a turn of yours that tells you its result. False
    /// unless said otherwise.
    #[serde(default)]
    enable_callback: bool,
}

#[derive(Debug)]
pub(super) struct CreateSession {
    desk: TreeAccess,
    place: RolePlace,
}

impl CreateSession {
    pub(super) fn new(desk: TreeAccess, place: RolePlace) -> Self {
        Self { desk, place }
    }

    async fn create(
        &self,
        call: &ToolInvocation,
        arguments: CreateSessionArguments,
    ) -> Result<Map<String, Value>, TreeError> {
        let session_type = arguments.session_type.clone();
        let request = request(&call.context, arguments)?;
        let spawned = self.desk.spawn(request).await;
        let spawned = spawned.map_err(|trouble| self.explain(&session_type, &trouble))?;
        Ok(described(&spawned))
    }

    fn explain(&self, session_type: &str, trouble: &TreeError) -> TreeError {
        let known = match trouble {
            TreeError::Role(roles::RoleError::Unknown { known, .. }) => known.clone(),
            TreeError::Role(roles::RoleError::BadName(_)) => {
                let roles = self.place.roles.catalogue(&self.place.cwd).roles;
                roles.iter().map(|role| role.name.clone()).collect()
            }
            other => {
                return TreeError::Invalid(format!("failed to spawn child session: {other}"));
            }
        };
        let known: Vec<&str> = known.iter().map(roles::RoleName::as_str).collect();
        TreeError::Invalid(unknown_type(session_type, &known))
    }
}

#[async_trait]
impl Tool for CreateSession {
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
            tool_call::answer(self.create(call, arguments).await)
        })
        .await
    }
}

fn request(
    context: &CallContext,
    arguments: CreateSessionArguments,
) -> Result<SpawnRequest, TreeError> {
    if is_blank(&arguments.prompt) {
        let problem = "prompt must not be empty; say what the child is to do";
        return Err(TreeError::Invalid(problem.to_owned()));
    }
    Ok(SpawnRequest {
        tool: NAME,
        origin: AgentOrigin::Spawn,
        items: vec![UserInput::text(arguments.prompt)],
        agent_type: Some(arguments.session_type),
        agent_name: None,
        name: None,
        label: None,
        working_directory: None,
        model: None,
        backend: arguments.backend,
        reasoning_effort: None,
        sandbox: None,
        history: HistoryShare::None,
        fork_answer: None,
        output_schema: None,
        approvals: Some(ApprovalRoute::Never),
        on_parent_interrupt: OnParentInterrupt::Cancel,
        callback: CallbackChoice {
            mode: if arguments.enable_callback {
                CallbackMode::Persistent
            } else {
                CallbackMode::Off
            },
            config: None,
        },
        thread_note: None,
        turn: SpawnContext::from(context),
    })
}

pub(super) fn unknown_type(session_type: &str, known: &[&str]) -> String {
    format!(
        "unknown session_type {session_type}; there are {}",
        known.join(", ")
    )
}

/// The call named nothing but a type, so its rights are told only where something is less
/// than it could expect.
pub(super) fn described(spawned: &SpawnedAgent) -> Map<String, Value> {
    let mut object = shape::present([("session_id", json!(spawned.view.session))]);
    if !spawned.why.is_empty() {
        object.extend(shape::present([
            ("effective", spawned.effective.clone()),
            ("why", json!(spawned.why)),
        ]));
    }
    object
}
