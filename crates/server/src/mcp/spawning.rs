//! `troupe_sessions_spawn`: a session of its own, or a child in a tree.

use troupe_agents::desk::{CallbackChoice, SpawnRequest, Turn};
use troupe_mcp::serve::Caller;
use troupe_protocol::Op;
use troupe_protocol::agent::AgentOrigin;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::policy::{EffortChoice, SandboxMode, SandboxPolicy};
use troupe_protocol::session::{TurnContext, TurnOverrides};
use troupe_protocol::spawn::{CallbackConfig, HistoryShare};
use troupe_protocol::tree::{CallbackMode, OnParentInterrupt};
use troupe_protocol::{AgentId, SessionId};

use super::answers::Spawned;
use super::arguments::SpawnArguments;
use super::attend::attend;
use super::directory::desk;
use super::orchestra::Orchestra;
use super::trouble::Trouble;
use crate::house::Thread;

/// The only one that sessions can be run by.
const OURSELVES: &str = "troupe";

impl Orchestra {
    pub(super) async fn spawn(
        &self,
        mut arguments: SpawnArguments,
        caller: &Caller,
    ) -> Result<Spawned, Trouble> {
        if let Some(tool) = arguments.agentic_tool.take()
            && tool != OURSELVES
        {
            return Err(Trouble::UnknownAgenticTool(tool));
        }
        match arguments.parent_session_id.take() {
            None => self.spawn_root(arguments, caller).await,
            Some(parent) => self.spawn_child(&parent, arguments, caller).await,
        }
    }

    async fn spawn_root(
        &self,
        arguments: SpawnArguments,
        caller: &Caller,
    ) -> Result<Spawned, Trouble> {
        if arguments.agent_type.is_some() {
            let argument = "agentType";
            return Err(Trouble::OnlyForChildren { argument });
        }
        let prompt = prompt(&arguments);
        let request = ConfigureSession {
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
            attend(thread.clone(), events, self.headless);
        }
        Ok(Spawned {
            note: note(thread.id(), None),
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
        arguments: SpawnArguments,
        caller: &Caller,
    ) -> Result<Spawned, Trouble> {
        if arguments.working_directory.is_some() {
            let argument = "workingDirectory";
            return Err(Trouble::OnlyForRoots { argument });
        }
        let found = self.find(parent).await?;
        if !found.is_root() {
            return Err(Trouble::NotARoot {
                child: found.session,
                root: found.root,
            });
        }
        let thread = self.open(found).await?;
        let events = thread.events_after(thread.last_seq());
        let callback = callback(&arguments, &thread.agents().options().callback);
        let calls_back = callback
            .config
            .as_ref()
            .is_some_and(|config| config.enabled);
        let context = thread.context().await?;
        let spawned = desk(&thread)
            .spawn(child(&context, arguments, callback))
            .await?;
        if !caller.can_be_asked() {
            attend(thread.clone(), events, self.headless);
        }
        let view = spawned.view;
        Ok(Spawned {
            note: note(view.session, calls_back.then_some(found.session)),
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

fn prompt(arguments: &SpawnArguments) -> String {
    match &arguments.extra_instructions {
        Some(extra) => format!("{}\n\n{extra}", arguments.prompt),
        None => arguments.prompt.clone(),
    }
}

/// Takes rights away from a session. More than it has is refused: who asks is a model.
async fn narrow(thread: &Thread, asked: SandboxMode) -> Result<(), Trouble> {
    let has = thread.configured().context.sandbox_policy.mode();
    let sandbox_policy = match (asked, has) {
        (asked, has) if asked == has => return Ok(()),
        (SandboxMode::ReadOnly, _) => SandboxPolicy::read_only(),
        (SandboxMode::WorkspaceWrite, SandboxMode::DangerFullAccess) => {
            SandboxPolicy::workspace_write()
        }
        (SandboxMode::WorkspaceWrite | SandboxMode::DangerFullAccess, _) => {
            return Err(Trouble::WiderSandbox { asked, has });
        }
    };
    let overrides = TurnOverrides {
        sandbox_policy: Some(sandbox_policy),
        ..TurnOverrides::default()
    };
    thread.submit(Op::OverrideTurnContext { overrides }).await?;
    Ok(())
}

fn child(
    context: &TurnContext,
    arguments: SpawnArguments,
    callback: CallbackChoice,
) -> SpawnRequest {
    SpawnRequest {
        tool: "troupe_sessions_spawn",
        origin: AgentOrigin::Spawn,
        items: vec![UserInput::text(prompt(&arguments))],
        agent_type: arguments.agent_type,
        agent_name: None,
        name: arguments.title.clone(),
        label: arguments.title,
        working_directory: None,
        model: arguments.model,
        backend: None,
        reasoning_effort: arguments.reasoning_effort,
        sandbox: arguments.sandbox_mode,
        history: HistoryShare::None,
        fork_answer: None,
        output_schema: arguments.output_schema.map(Into::into),
        approvals: None,
        on_parent_interrupt: OnParentInterrupt::default(),
        callback,
        thread_note: None,
        turn: Turn::outside(context),
    }
}

/// What the call says about callbacks, over what is configured.
fn callback(arguments: &SpawnArguments, inherited: &CallbackConfig) -> CallbackChoice {
    let enabled = arguments.enable_callback.unwrap_or(inherited.enabled);
    let config = CallbackConfig {
        enabled,
        include_last_message: arguments
            .include_last_message
            .unwrap_or(inherited.include_last_message),
        include_original_prompt: arguments
            .include_original_prompt
            .unwrap_or(inherited.include_original_prompt),
        template: inherited.template.clone(),
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

fn note(session: SessionId, called_back: Option<SessionId>) -> String {
    let callback = match called_back {
        Some(parent) => format!(
            "Session {} is called back when it is done. ",
            parent.short()
        ),
        None => String::new(),
    };
    format!("{callback}Use troupe_sessions_wait with sessionIds [\"{session}\"] for its result.")
}
