use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use troupe_protocol::TurnItem;
use troupe_protocol::approval::{ReviewDecision, UserInputRequest, UserInputResponse};
use troupe_protocol::policy::{ApprovalPolicy, CollaborationMode, SandboxPolicy};
use troupe_tools::{ApprovalQuestion, CallChannel, ToolEvent, ToolInput};

use super::*;
use crate::families::{Family, example};

fn context() -> CallContext {
    CallContext {
        session_id: example::session(0),
        turn_id: "task".into(),
        cwd: "/srv/work".into(),
        approval_policy: ApprovalPolicy::OnRequest,
        sandbox_policy: SandboxPolicy::workspace_write(),
        sandbox_held: None,
        collaboration_mode: CollaborationMode::Default,
        model: "deep".to_owned(),
        effort: None,
        message_index: 7,
    }
}

fn read(arguments: Value) -> Result<SpawnRequest, String> {
    let arguments: SpawnAgentArguments =
        serde_json::from_value(arguments).map_err(|error| error.to_string())?;
    let callback = CallbackChoice::default();
    request(&"call".into(), &context(), arguments, callback).map_err(|trouble| trouble.to_string())
}

fn check(arguments: Value, expected: Expect) {
    expected.assert_debug_eq(&read(arguments));
}

fn check_refused(arguments: Value, expected: Expect) {
    expected.assert_eq(&read(arguments).unwrap_err());
}

#[test]
fn everything_but_the_message_may_be_left_out() {
    check(
        json!({"message": "count the words"}),
        expect![[r#"
            Ok(
                SpawnRequest {
                    tool: "spawn_agent",
                    origin: Spawn,
                    items: [
                        Text {
                            text: "count the words",
                            text_elements: [],
                        },
                    ],
                    agent_type: None,
                    agent_name: None,
                    name: None,
                    label: None,
                    working_directory: None,
                    model: None,
                    backend: None,
                    reasoning_effort: None,
                    sandbox: None,
                    history: None,
                    fork_answer: None,
                    output_schema: None,
                    approvals: None,
                    on_parent_interrupt: KeepRunning,
                    callback: CallbackChoice {
                        mode: Persistent,
                        config: None,
                    },
                    thread_note: None,
                    turn: SpawnContext {
                        task: SubmissionId(
                            "task",
                        ),
                        call: None,
                        message_index: 7,
                        cwd: "/srv/work",
                        model: "deep",
                        reasoning_effort: None,
                        approval_policy: OnRequest,
                        sandbox_policy: WorkspaceWrite {
                            writable_roots: [],
                            network_access: false,
                            exclude_tmpdir_env_var: false,
                            exclude_slash_tmp: false,
                        },
                        collaboration_mode: Default,
                    },
                },
            )
        "#]],
    );
}

#[test]
fn everything_can_be_said() {
    check(
        json!({
            "items": [{"type": "text", "text": "count the words"}],
            "agent_type": "worker",
            "agent_name": "brief",
            "model": "fast",
            "reasoning_effort": "low",
            "thread_note": "counts",
            "history": "2",
            "output_schema": {"type": "integer"},
            "approvals": "parent",
            "on_parent_interrupt": "cancel",
            "task_name": "count",
        }),
        expect![[r#"
            Ok(
                SpawnRequest {
                    tool: "spawn_agent",
                    origin: Fork,
                    items: [
                        Text {
                            text: "count the words",
                            text_elements: [],
                        },
                    ],
                    agent_type: Some(
                        "worker",
                    ),
                    agent_name: Some(
                        "brief",
                    ),
                    name: Some(
                        "count",
                    ),
                    label: None,
                    working_directory: None,
                    model: Some(
                        "fast",
                    ),
                    backend: None,
                    reasoning_effort: Some(
                        Low,
                    ),
                    sandbox: None,
                    history: LastTurns(
                        2,
                    ),
                    fork_answer: Some(
                        ForkAnswer {
                            call: CallId(
                                "call",
                            ),
                            label: None,
                            summary: None,
                            prompt: None,
                        },
                    ),
                    output_schema: Some(
                        Object {
                            "type": String("integer"),
                        },
                    ),
                    approvals: Some(
                        Parent,
                    ),
                    on_parent_interrupt: Cancel,
                    callback: CallbackChoice {
                        mode: Persistent,
                        config: None,
                    },
                    thread_note: Some(
                        "counts",
                    ),
                    turn: SpawnContext {
                        task: SubmissionId(
                            "task",
                        ),
                        call: None,
                        message_index: 7,
                        cwd: "/srv/work",
                        model: "deep",
                        reasoning_effort: None,
                        approval_policy: OnRequest,
                        sandbox_policy: WorkspaceWrite {
                            writable_roots: [],
                            network_access: false,
                            exclude_tmpdir_env_var: false,
                            exclude_slash_tmp: false,
                        },
                        collaboration_mode: Default,
                    },
                },
            )
        "#]],
    );
}

/// Writes down what it hears, and says no to everything.
#[derive(Debug, Default)]
struct Refuser(Mutex<Vec<String>>);

#[async_trait]
impl CallChannel for Refuser {
    async fn report(&self, event: ToolEvent) {
        let line = match event {
            ToolEvent::Started(TurnItem::ToolCall(item)) => format!("{} started", item.tool),
            ToolEvent::Completed(TurnItem::ToolCall(item)) => {
                format!("{} {:?}", item.tool, item.status)
            }
            ToolEvent::Other(event) => serde_json::to_string(&event).unwrap(),
            other => format!("{other:?}"),
        };
        self.0.lock().unwrap().push(line);
    }

    async fn ask(&self, ask: ApprovalQuestion) -> ReviewDecision {
        let ApprovalQuestion::Exec(request) = ask else {
            panic!("expected a command, found {ask:?}");
        };
        self.0.lock().unwrap().push(request.command.join(" "));
        ReviewDecision::Denied
    }

    async fn question(&self, _: UserInputRequest) -> Option<UserInputResponse> {
        None
    }
}

#[tokio::test]
async fn a_refused_directory_spawns_nobody_and_what_began_ends() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().canonicalize().unwrap();
    let arguments = json!({"message": "go", "working_directory": path});
    let channel = Arc::new(Refuser::default());
    let call = ToolInvocation {
        id: "call".into(),
        input: ToolInput::Json(arguments.to_string()),
        context: Arc::new(CallContext {
            cwd: "/".into(),
            ..context()
        }),
        channel: Arc::clone(&channel) as Arc<dyn CallChannel>,
        cancel: CancellationToken::new(),
        aborted: Arc::default(),
    };
    let tools = example::tools(&[Family::Agents]);
    let spawn = tools.iter().find(|tool| tool.spec().name() == NAME);
    let output = spawn.unwrap().call(call).await;
    let mut lines = channel.0.lock().unwrap().clone();
    lines.push(output.text().unwrap().to_owned());
    let told = lines
        .join("\n")
        .replace(&path.display().to_string(), "<directory>");
    expect![[r#"
        spawn_agent started
        {"type":"collab_agent_spawn_begin","call_id":"call","sender_thread_id":"00000000-0000-4000-8000-000000000000","prompt":"go","model":"deep"}
        spawn_agent --working-directory <directory>
        {"type":"collab_agent_spawn_end","call_id":"call","sender_thread_id":"00000000-0000-4000-8000-000000000000","prompt":"go","status":{"errored":"working_directory <directory> was not approved, so no agent was spawned; leave working_directory out, or do without the agent"}}
        spawn_agent Failed
        working_directory <directory> was not approved, so no agent was spawned; leave working_directory out, or do without the agent"#]].assert_eq(&told);
}

#[test]
fn an_empty_text_says_nothing() {
    let said = json!({"message": "go", "agent_type": "", "model": " ", "task_name": ""});
    let request = read(said).unwrap();
    assert_eq!(
        (request.agent_type, request.model, request.name),
        (None, None, None)
    );
}

#[test]
fn what_is_not_understood_is_refused_by_name() {
    check_refused(
        json!({"message": "go", "agent": "worker"}),
        expect![
            "unknown field `agent`, expected one of `message`, `items`, `agent_type`, `agent_name`, `working_directory`, `model`, `agenticTool`, `backend`, `reasoning_effort`, `thread_note`, `history`, `output_schema`, `approvals`, `on_parent_interrupt`, `task_name`, `callback`, `enable_callback`, `include_last_message`, `include_original_prompt`"
        ],
    );
    check_refused(
        json!({"message": "go", "reasoning_effort": "huge"}),
        expect![
            "unknown variant `huge`, expected one of `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`, `ultra`"
        ],
    );
    check_refused(
        json!({"message": "go", "approvals": "always"}),
        expect!["unknown variant `always`, expected one of `never`, `route`, `parent`"],
    );
    check_refused(
        json!({"message": "go", "output_schema": "integer"}),
        expect![[r#"invalid type: string "integer", expected a map"#]],
    );
    check_refused(
        json!({"message": "go", "items": []}),
        expect!["give either message or items, not both"],
    );
}

#[test]
fn callbacks_are_inherited_but_for_what_the_call_says() {
    let check = |said: Value, expected: Expect| {
        let inherited = CallbackConfig {
            enabled: false,
            include_last_message: false,
            include_original_prompt: true,
            template: Some("{{status}}".to_owned()),
        };
        let arguments = serde_json::from_value(said).unwrap();
        let mode = mode(&arguments).unwrap();
        let choice = callback(&arguments, mode, inherited);
        let config = serde_json::to_string(&choice.config).unwrap();
        expected.assert_eq(&format!("{:?} {config}", choice.mode));
    };
    check(
        json!({"enable_callback": true}),
        expect![[
            r#"Persistent {"enabled":true,"include_last_message":false,"include_original_prompt":true,"template":"{{status}}"}"#
        ]],
    );
    check(
        json!({"enable_callback": false}),
        expect![[
            r#"Off {"enabled":false,"include_last_message":false,"include_original_prompt":true,"template":"{{status}}"}"#
        ]],
    );
    check(
        json!({"callback": "once"}),
        expect![[
            r#"Once {"enabled":true,"include_last_message":false,"include_original_prompt":true,"template":"{{status}}"}"#
        ]],
    );
    check(
        json!({"include_last_message": true}),
        expect![[
            r#"Persistent {"enabled":false,"include_last_message":true,"include_original_prompt":true,"template":"{{status}}"}"#
        ]],
    );
}

#[test]
fn two_words_about_callbacks_must_agree() {
    let check = |said: Value, agrees: bool| {
        let arguments = serde_json::from_value(said.clone()).unwrap();
        assert_eq!(mode(&arguments).is_ok(), agrees, "{said}");
    };
    check(json!({"callback": "once", "enable_callback": true}), true);
    check(json!({"callback": "off", "enable_callback": false}), true);
    check(json!({"callback": "once", "enable_callback": false}), false);
    check(json!({"callback": "off", "enable_callback": true}), false);
}

#[test]
fn the_answer_has_the_id_the_rights_and_the_reasons() {
    let mut view = example::view(3, CurrentStatus::Queued { position: 2 });
    view.note = Some("agent_type=worker".to_owned());
    let spawned = SpawnedAgent {
        view,
        requested: json!({"sandbox_mode": "workspace-write"}),
        effective: json!({"sandbox_mode": "read-only"}),
        why: vec!["sandbox read-only: the role explorer may not write".to_owned()],
    };
    example::check(
        described(&spawned),
        expect![[r#"
            {
              "agent_id": "00000000-0000-4000-8000-000000000003",
              "agent_number": 3,
              "path": "/root/worker_3",
              "status": {
                "queued": {
                  "position": 2
                }
              },
              "queue_position": 2,
              "thread_note": "agent_type=worker",
              "requested": {
                "sandbox_mode": "workspace-write"
              },
              "effective": {
                "sandbox_mode": "read-only"
              },
              "why": [
                "sandbox read-only: the role explorer may not write"
              ]
            }"#]],
    );
}
