//! `troupe_sessions_spawn`: a session of its own, or a child in a tree.

use serde_json::Value;
use troupe_agents::tree_access::{AgentView, CallbackChoice, SpawnContext, SpawnRequest};
use troupe_mcp::serve::CallingClient;
use troupe_protocol::Op;
use troupe_protocol::input::{UserInput, is_blank};
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::policy::{EffortChoice, SandboxMode, SandboxPolicy};
use troupe_protocol::session::TurnOverrides;
use troupe_protocol::spawn::CallbackConfig;
use troupe_protocol::tree::CallbackMode;
use troupe_protocol::{AgentId, SessionId};
use troupe_schema::AnswerSchema;

use super::answers::SessionSpawnAnswer;
use super::arguments::SpawnArguments;
use super::directory::desk;
use super::error::SessionToolError;
use super::headless_approvals::answer_approvals;
use super::session_tools::SessionTools;
use crate::session_pool::{RootSession, place_of};

/// What we are called among those that can run a session.
const OURSELVES: &str = "troupe";

/// Who is to run a session.
enum SessionRunner {
    /// Troupe, or what the parent is run by.
    Unsaid,
    Troupe,
    Backend(String),
}

impl SessionTools {
    pub(super) async fn spawn(
        &self,
        mut arguments: SpawnArguments,
        caller: &CallingClient,
    ) -> Result<SessionSpawnAnswer, SessionToolError> {
        check_prompt("troupe_sessions_spawn", &arguments.prompt)?;
        if let Some(schema) = &arguments.output_schema {
            let schema = Value::Object(schema.clone());
            let checked = AnswerSchema::compile(&schema);
            checked.map_err(|error| SessionToolError::Arguments {
                tool: "troupe_sessions_spawn",
                problem: format!("outputSchema: {error}"),
            })?;
        }
        let runner = self.runner(arguments.agentic_tool.take())?;
        match arguments.parent_session_id.take() {
            None => self.spawn_root(runner, arguments, caller).await,
            Some(parent) => self.spawn_child(&parent, runner, arguments, caller).await,
        }
    }

    fn runner(&self, tool: Option<String>) -> Result<SessionRunner, SessionToolError> {
        match tool {
            None => Ok(SessionRunner::Unsaid),
            Some(tool) if tool == OURSELVES => Ok(SessionRunner::Troupe),
            Some(tool) => {
                let backends = self.house.backends();
                if backends.contains(&tool) {
                    return Ok(SessionRunner::Backend(tool));
                }
                let ourselves = [OURSELVES.to_owned()];
                let known = ourselves.into_iter().chain(backends).collect();
                Err(SessionToolError::UnknownAgenticTool { tool, known })
            }
        }
    }

    async fn spawn_root(
        &self,
        runner: SessionRunner,
        arguments: SpawnArguments,
        caller: &CallingClient,
    ) -> Result<SessionSpawnAnswer, SessionToolError> {
        if arguments.agent_type.is_some() {
            let argument = "agentType";
            return Err(SessionToolError::OnlyForChildren { argument });
        }
        let prompt = prompt(&arguments);
        let wants_callback = arguments.enable_callback == Some(true);
        let request = ConfigureSession {
            model_provider: match runner {
                SessionRunner::Unsaid | SessionRunner::Troupe => None,
                SessionRunner::Backend(name) => Some(name),
            },
            overrides: TurnOverrides {
                cwd: arguments.working_directory,
                model: arguments.model,
                effort: arguments.reasoning_effort.map(EffortChoice::Level),
                ..TurnOverrides::default()
            },
            ..ConfigureSession::default()
        };
        let thread = self.house.start(request).await?;
        if let Some(asked) = arguments.sandbox_mode
            && let Err(trouble) = narrow(&thread, asked).await
        {
            self.house.unload(thread.id()).await;
            return Err(trouble);
        }
        if let Some(name) = arguments.title {
            thread.submit(Op::SetThreadName { name }).await?;
        }
        // Its tree begins with it, so that its results are recorded with their evidence.
        let root = desk(&thread).view(&AgentId::ROOT.to_string()).await?;
        let events = thread.events_after(thread.last_seq());
        let task = thread
            .submit(Op::UserInput {
                items: vec![UserInput::text(prompt)],
                final_output_json_schema: arguments.output_schema.map(Into::into),
                last_response_id: None,
            })
            .await?;
        if !caller.can_be_asked() {
            answer_approvals(thread.clone(), events, self.headless);
        }
        Ok(SessionSpawnAnswer {
            note: note(thread.id(), CallbackNews::for_root(wants_callback)),
            session_id: thread.id(),
            short_id: thread.id().short(),
            path: root.path,
            parent_session_id: None,
            task_id: Some(task.0),
            status: root.status.row().agents.to_owned(),
            why: Vec::new(),
        })
    }

    async fn spawn_child(
        &self,
        parent: &str,
        runner: SessionRunner,
        arguments: SpawnArguments,
        caller: &CallingClient,
    ) -> Result<SessionSpawnAnswer, SessionToolError> {
        if arguments.working_directory.is_some() {
            let argument = "workingDirectory";
            return Err(SessionToolError::OnlyForRoots { argument });
        }
        let found = self.find(parent).await?;
        let thread = self.open(found).await?;
        let events = thread.events_after(thread.last_seq());
        let desk = desk(&thread);
        let above = desk.view(&found.address()).await?;
        let backend = self.child_runner(&above, runner)?;
        let (turn, callback) = match &above.spec {
            None => {
                let context = thread.context().await?;
                let inherited = thread.agents().callback();
                (
                    SpawnContext::outside_task(&context),
                    callback(&arguments, &inherited),
                )
            }
            Some(spec) => (
                SpawnContext::from(&**spec),
                callback(&arguments, &spec.callback),
            ),
        };
        let turn = match place_of(&self.house, found.session).await {
            Some((task, index)) => turn.at(task, index),
            None => turn,
        };
        let calls_back = callback
            .config
            .as_ref()
            .is_some_and(|config| config.enabled);
        let request = SpawnRequest {
            backend,
            ..child(turn, arguments, callback)
        };
        let spawned = desk.spawn_below(above.agent, request).await?;
        if !caller.can_be_asked() {
            answer_approvals(thread.clone(), events, self.headless);
        }
        let view = spawned.view;
        Ok(SessionSpawnAnswer {
            note: note(
                view.session,
                if calls_back {
                    CallbackNews::Called(found.session)
                } else {
                    CallbackNews::Unasked
                },
            ),
            session_id: view.session,
            short_id: view.session.short(),
            path: view.path,
            parent_session_id: Some(found.session),
            task_id: None,
            status: view.status.row().agents.to_owned(),
            why: spawned.why,
        })
    }
}

impl SessionTools {
    /// Returns the program that a child is to be. One whose parent is a program is it too, so
    /// nobody is told that it is ours.
    fn child_runner(
        &self,
        above: &AgentView,
        runner: SessionRunner,
    ) -> Result<Option<String>, SessionToolError> {
        match runner {
            SessionRunner::Backend(name) => Ok(Some(name)),
            SessionRunner::Unsaid => Ok(None),
            SessionRunner::Troupe => {
                let spec = above.spec.as_ref();
                let provider = spec.and_then(|spec| spec.model_provider.clone());
                match provider.filter(|provider| self.house.backends().contains(provider)) {
                    Some(backend) => Err(SessionToolError::RunByAnother {
                        parent: above.session,
                        backend,
                    }),
                    None => Ok(None),
                }
            }
        }
    }
}

/// Refuses a prompt that says nothing, before anything is made for it.
pub(super) fn check_prompt(tool: &'static str, prompt: &str) -> Result<(), SessionToolError> {
    if is_blank(prompt) {
        let problem = "prompt is blank; say what is to be done".to_owned();
        return Err(SessionToolError::Arguments { tool, problem });
    }
    Ok(())
}

fn prompt(arguments: &SpawnArguments) -> String {
    match &arguments.extra_instructions {
        Some(extra) => format!("{}\n\n{extra}", arguments.prompt),
        None => arguments.prompt.clone(),
    }
}

/// Takes rights away from a session. More than it has is refused: who asks is a model.
async fn narrow(thread: &RootSession, asked: SandboxMode) -> Result<(), SessionToolError> {
    let has = thread.configured().context.sandbox_policy.mode();
    let sandbox_policy = match (asked, has) {
        (asked, has) if asked == has => return Ok(()),
        (SandboxMode::ReadOnly, _) => SandboxPolicy::read_only(),
        (SandboxMode::WorkspaceWrite, SandboxMode::DangerFullAccess) => {
            SandboxPolicy::workspace_write()
        }
        (SandboxMode::WorkspaceWrite | SandboxMode::DangerFullAccess, _) => {
            return Err(SessionToolError::WiderSandbox { asked, has });
        }
    };
    let overrides = TurnOverrides {
        sandbox_policy: Some(sandbox_policy),
        ..TurnOverrides::default()
    };
    thread.submit(Op::OverrideTurnContext { overrides }).await?;
    Ok(())
}

fn child(turn: SpawnContext, arguments: SpawnArguments, callback: CallbackChoice) -> SpawnRequest {
    let items = vec![UserInput::text(prompt(&arguments))];
    SpawnRequest {
        agent_type: arguments.agent_type,
        name: arguments.title.clone(),
        label: arguments.title,
        model: arguments.model,
        reasoning_effort: arguments.reasoning_effort,
        sandbox: arguments.sandbox_mode,
        output_schema: arguments.output_schema.map(Into::into),
        callback,
        ..SpawnRequest::new("troupe_sessions_spawn", items, turn)
    }
}

/// What the call says about callbacks, over what is configured.
fn callback(arguments: &SpawnArguments, inherited: &CallbackConfig) -> CallbackChoice {
    let enabled = arguments.enable_callback.unwrap_or(inherited.enabled);
    let config = CallbackConfig {
        enabled,
        ..inherited.clone().including(
            arguments.include_last_message,
            arguments.include_original_prompt,
        )
    };
    CallbackChoice {
        mode: if enabled {
            CallbackMode::default()
        } else {
            CallbackMode::Off
        },
        config: Some(config),
    }
}

/// Who hears of the end of a session.
enum CallbackNews {
    Called(SessionId),
    /// A callback was asked for, and there is no parent.
    Nobody,
    Unasked,
}

impl CallbackNews {
    fn for_root(wanted: bool) -> Self {
        if wanted { Self::Nobody } else { Self::Unasked }
    }
}

fn note(session: SessionId, callback: CallbackNews) -> String {
    let callback = match callback {
        CallbackNews::Called(parent) => format!(
            "Session {} is called back when it is done. ",
            parent.short()
        ),
        CallbackNews::Nobody => "Nobody is called back: enableCallback is for children, and there \
                                 is no parentSessionId. "
            .to_owned(),
        CallbackNews::Unasked => String::new(),
    };
    format!("{callback}Use troupe_sessions_wait with sessionIds [\"{session}\"] for its result.")
}
