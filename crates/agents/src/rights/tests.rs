mod choices;
mod example;
mod narrowing;

use expect_test::expect;
use serde_json::json;
use troupe_protocol::input::UserInput;
use troupe_protocol::policy::{CollaborationMode, SandboxMode};
use troupe_protocol::spawn::{CallbackConfig, ChildInstructions, HistoryShare};
use troupe_protocol::tree::CallbackMode;

use super::{ParentRights, settle};
use example::{Offered, check, parent, persona, request, role, settled};

#[test]
fn without_a_wish_everything_is_inherited() {
    check(
        &role(),
        &request(),
        expect![[r#"
            {
              "requested": {},
              "effective": {
                "agent_type": "worker",
                "model": "deep",
                "working_directory": "/srv/work",
                "sandbox_mode": "workspace-write",
                "network_access": false,
                "approval_policy": "on-request",
                "approvals": "route"
              },
              "why": []
            }"#]],
    );
}

#[test]
fn who_plans_makes_children_that_only_read() {
    let mut request = request();
    request.turn.collaboration_mode = CollaborationMode::Plan;
    let settled = settled(&role(), &request);
    assert_eq!(settled.spec.sandbox_policy.mode(), SandboxMode::ReadOnly);
    assert_eq!(
        settled.why,
        ["sandbox read-only: this turn plans, and changes nothing"]
    );
    // Nobody's yes to a single command undoes it.
    assert!(settled.spec.sandbox_held.is_some());
}

#[test]
fn a_child_is_made_with_what_was_asked_and_what_it_got() {
    let spec = settled(&role(), &request()).spec;
    expect![[r#"
        SpawnSpec {
            tool: "spawn_agent",
            call_id: None,
            agent_type: "worker",
            agent_name: None,
            label: None,
            summary: "count the words",
            instructions: Role(
                "Work.",
            ),
            cwd: "/srv/work",
            model: "deep",
            model_provider: None,
            reasoning_effort: None,
            approval_policy: OnRequest,
            approvals: Route,
            sandbox_policy: WorkspaceWrite {
                writable_roots: [],
                network_access: false,
                exclude_tmpdir_env_var: false,
                exclude_slash_tmp: false,
            },
            sandbox_held: None,
            tools: [],
            history: None,
            forking_call: None,
            output_schema: None,
            callback: CallbackConfig {
                enabled: true,
                include_last_message: true,
                include_original_prompt: false,
                template: None,
            },
            callback_wish: Some(
                CallbackWish {
                    mode: Persistent,
                    inherits: true,
                },
            ),
        }
    "#]]
    .assert_debug_eq(&spec);
}

#[test]
fn a_whole_conversation_goes_on_under_its_own_instructions() {
    let of = |history, agent_type: Option<&str>| {
        let mut request = request();
        request.history = history;
        request.agent_type = agent_type.map(str::to_owned);
        settled(&role(), &request).spec.instructions
    };
    let own = ChildInstructions::Role("Work.".into());
    assert_eq!(of(HistoryShare::All, None), ChildInstructions::Inherited);
    assert_eq!(of(HistoryShare::All, Some("worker")), own);
    assert_eq!(of(HistoryShare::LastTurns(3), None), own);
    assert_eq!(of(HistoryShare::None, None), own);
}

#[test]
fn a_persona_speaks_in_place_of_its_role() {
    let persona = persona();
    let spec = settle(
        &parent(),
        &role(),
        Some(&persona),
        &request(),
        &Offered::default(),
    )
    .unwrap()
    .spec;
    assert_eq!(spec.agent_name.as_deref(), Some("brief"));
    let said = ChildInstructions::Role("Work, and say little.".into());
    assert_eq!(spec.instructions, said);
}

#[test]
fn the_shape_of_the_result_is_the_calls_or_the_roles() {
    let mut role = role();
    role.output_schema = Some(json!({"type": "object"}));
    let mut request = request();
    let of_role = settled(&role, &request).spec.output_schema;
    assert_eq!(of_role, role.output_schema);
    request.output_schema = Some(json!({"type": "integer"}));
    let of_call = settled(&role, &request).spec.output_schema;
    assert_eq!(of_call, request.output_schema);
}

#[test]
fn callbacks_are_inherited_unless_the_call_says_otherwise() {
    let quiet = CallbackConfig {
        include_last_message: false,
        ..CallbackConfig::default()
    };
    let parent = ParentRights {
        callback: quiet.clone(),
        ..parent()
    };
    let of = |mode, config: Option<CallbackConfig>| {
        let mut request = request();
        request.callback.mode = mode;
        request.callback.config = config;
        let settled = settle(&parent, &role(), None, &request, &Offered::default()).unwrap();
        settled.spec.callback
    };
    assert_eq!(of(CallbackMode::Persistent, None), quiet);
    let loud = CallbackConfig::default();
    assert_eq!(of(CallbackMode::Once, Some(loud.clone())), loud);
    let silent = of(CallbackMode::Off, Some(loud));
    assert!(
        silent.enabled,
        "what one caller does not want to hear, others may"
    );
}

#[test]
fn a_summary_is_the_beginning_of_the_text_in_one_line() {
    let mut request = request();
    request.items = vec![
        UserInput::text("look\nat"),
        UserInput::Image {
            image_url: "data:,".to_owned(),
            detail: None,
        },
        UserInput::text("it"),
    ];
    assert_eq!(settled(&role(), &request).spec.summary, "look at it");
}
