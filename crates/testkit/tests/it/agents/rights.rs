//! What children may not do, whatever they are asked to and whatever they ask for.

use troupe_agents::Family;
use troupe_agents::tree_access::TreeStopRequest;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::{ConfigureSession, ForkPoint, Op};
use troupe_protocol::policy::{CollaborationMode, SandboxPolicy};
use troupe_protocol::session::TurnOverrides;
use troupe_protocol::tree::AgentMessage;
use troupe_protocol::{SessionId, StopVerb};
use troupe_testkit::{Actor, Stage};
use troupe_tree::CurrentStatus;
use troupe_tree::command::{SendUrgency, StopMode};

use super::logs;
use super::play::{invoke, numbered, said, say, scene_of};

/// A stage whose root may write in its directory and nowhere else.
async fn stage(scenes: &[String]) -> Stage {
    let families = [Family::Agents, Family::Subagents];
    Stage::new(&scenes.concat())
        .await
        .sandbox(SandboxPolicy::WorkspaceWrite {
            writable_roots: Vec::new(),
            network_access: false,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
        })
        .with_agents(&families)
}

/// What the tools of one agent answered.
async fn told(stage: &Stage, actor: &Actor, agent: &str) -> Vec<String> {
    let view = actor.agents().user().view(agent).await;
    let view = view.expect("the agent is one of the tree");
    let input = logs::last_request(stage, view.session);
    logs::texts(&input, "function_call_output")
}

fn write(name: &str) -> String {
    invoke(
        "shell_command",
        &format!(r#"command = "echo mine > {name}""#),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_child_and_its_child_cannot_write_where_their_parent_can() {
    let stage = stage(&[
        scene_of("grandchild", &[write("of-grandchild"), say("tried")]),
        scene_of(
            "child",
            &[
                write("of-child"),
                invoke(
                    "subagent_spawn",
                    r#"prompt = "grandchild", sandbox_mode = "workspace-write""#,
                ),
                invoke("subagent_spawn", r#"prompt = "grandchild""#),
                invoke("wait", "ids = [2]"),
                say("tried"),
            ],
        ),
        scene_of(
            "",
            &[
                write("of-root"),
                invoke(
                    "subagent_spawn",
                    r#"prompt = "child", sandbox_mode = "danger-full-access""#,
                ),
                invoke(
                    "subagent_spawn",
                    r#"prompt = "child", sandbox_mode = "read-only""#,
                ),
                invoke("wait", "ids = [1]"),
                say("done"),
            ],
        ),
    ])
    .await;
    let mut actor = stage.start().await;
    let events = actor.turn("begin").await;
    assert_eq!(said(&events), Some("done"));
    assert_eq!(stage.read("of-root"), "mine\n");
    assert!(!stage.cwd().join("of-child").exists());
    assert!(!stage.cwd().join("of-grandchild").exists());

    let of_root = told(&stage, &actor, "0").await;
    assert!(
        of_root[1].contains(
            "sandbox_mode danger-full-access is more than this agent has (workspace-write); ask \
             for workspace-write or less"
        ),
        "{of_root:?}"
    );
    let of_child = told(&stage, &actor, "1").await;
    assert!(
        of_child[0].contains("Read-only file system"),
        "{of_child:?}"
    );
    assert!(
        of_child[1].contains(
            "sandbox_mode workspace-write is more than this agent has (read-only); ask for \
             read-only or less"
        ),
        "{of_child:?}"
    );
    let of_grandchild = told(&stage, &actor, "2").await;
    assert!(
        of_grandchild[0].contains("Read-only file system"),
        "{of_grandchild:?}"
    );
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resumed_child_is_as_read_only_as_it_was_born() {
    let stage = stage(&[
        scene_of("child", &[say("ready"), write("of-child"), say("tried")]),
        scene_of(
            "",
            &[
                vec![
                    invoke(
                        "subagent_spawn",
                        r#"prompt = "child", sandbox_mode = "read-only""#,
                    ),
                    invoke("wait", "ids = [1]"),
                    say("done"),
                ],
                vec![
                    invoke("send_input", r#"id = 1, message = "again""#),
                    invoke("wait", "ids = [1]"),
                    say("done"),
                ],
            ]
            .concat(),
        ),
    ])
    .await;
    let mut actor = stage.start().await;
    actor.turn("begin").await;
    let session = actor.session_id();
    actor.shut_down().await;
    let mut actor = stage.resume(session).await;
    let events = actor.turn("once more").await;
    assert_eq!(said(&events), Some("done"));
    let of_child = told(&stage, &actor, "1").await;
    assert!(
        of_child[0].contains("Read-only file system"),
        "{of_child:?}"
    );
    assert!(!stage.cwd().join("of-child").exists());
    actor.shut_down().await;
}

/// A child that tries to write whenever it is written to, and a root that writes to it in each
/// turn.
fn tries(names: &[&str]) -> [String; 2] {
    let mut child = vec![say("ready")];
    let mut of_root = vec![
        invoke("spawn_agent", r#"message = "child""#),
        invoke("wait", "ids = [1]"),
        say("done"),
    ];
    for name in names {
        child.extend([write(name), say("tried")]);
        of_root.extend([
            invoke("send_input", r#"id = 1, message = "again""#),
            invoke("wait", "ids = [1]"),
            say("done"),
        ]);
    }
    [scene_of("child", &child), scene_of("", &of_root)]
}

async fn turn_under(actor: &mut Actor, overrides: TurnOverrides) {
    let op = Op::UserTurn {
        items: vec![UserInput::text("once more")],
        overrides,
        final_output_json_schema: None,
        last_response_id: None,
        client_id: None,
    };
    actor.submit(op).await;
    let events = actor.until_task_ends().await;
    assert_eq!(said(&events), Some("done"));
}

fn under(policy: SandboxPolicy) -> TurnOverrides {
    TurnOverrides {
        sandbox_policy: Some(policy),
        ..TurnOverrides::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_narrows_the_parent_binds_the_children_that_it_has() {
    let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("it can be made");
    let escape = outside.path().join("escape");
    let names = ["narrowed", "given-back", &escape.to_string_lossy()];
    let stage = stage(&tries(&names)).await;
    let mut actor = stage.start().await;
    actor.turn("begin").await;
    turn_under(&mut actor, under(SandboxPolicy::read_only())).await;
    let of_child = told(&stage, &actor, "1").await;
    assert!(of_child[0].contains("Read-only"), "{of_child:?}");
    assert!(!stage.cwd().join("narrowed").exists());
    // What the spawn gave comes back, and no more of what the parent gets.
    turn_under(&mut actor, under(SandboxPolicy::DangerFullAccess)).await;
    assert_eq!(stage.read("given-back"), "mine\n");
    turn_under(&mut actor, TurnOverrides::default()).await;
    assert!(!escape.exists());
    actor.shut_down().await;
}

/// A call may do what its turn may do, and so may what it types into.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_in_the_background_does_not_outlive_the_rights_that_it_was_begun_with() {
    let begin = invoke(
        "exec_command",
        r#"cmd = "bash", tty = true, yield_time_ms = 250"#,
    );
    let typed = |name: &str| {
        let keys = format!(r#"session_id = 1, chars = "touch {name}; exit\n""#);
        invoke("write_stdin", &keys)
    };
    let play = scene_of("", &[begin, say("done"), typed("typed"), say("done")]);
    let stage = stage(&[play]).await;
    let mut actor = stage.start().await;
    turn_under(&mut actor, TurnOverrides::default()).await;
    turn_under(&mut actor, under(SandboxPolicy::read_only())).await;
    assert!(!stage.cwd().join("typed").exists());
    let told = told(&stage, &actor, "0").await;
    assert!(
        told[1].contains("more rights than there are now"),
        "{told:?}"
    );
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_that_is_resumed_with_less_binds_the_children_that_it_has() {
    let stage = stage(&tries(&["narrowed"]))
        .await
        .sandbox(SandboxPolicy::DangerFullAccess);
    let mut actor = stage.start().await;
    actor.turn("begin").await;
    let session = actor.session_id();
    actor.shut_down().await;
    let mut actor = stage
        .start_with(ConfigureSession {
            resume: Some(session),
            overrides: under(SandboxPolicy::read_only()),
            ..ConfigureSession::default()
        })
        .await;
    turn_under(&mut actor, TurnOverrides::default()).await;
    let of_child = told(&stage, &actor, "1").await;
    assert!(of_child[0].contains("Read-only"), "{of_child:?}");
    assert!(!stage.cwd().join("narrowed").exists());
    actor.shut_down().await;
}

/// Nobody of a tree is out of its root's reach: neither children of children, nor those who
/// were released.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_that_is_resumed_with_less_binds_grandchildren_and_the_released() {
    let middle = [
        invoke("spawn_agent", r#"message = "leaf", task_name = "leaf""#),
        invoke("wait", r#"ids = ["leaf"]"#),
        say("ready"),
        write("of-middle"),
        say("tried"),
    ];
    let leaf = [say("ready"), write("of-leaf"), say("tried")];
    let of_root = [
        invoke("spawn_agent", r#"message = "middle", task_name = "middle""#),
        invoke("wait", "ids = [1]"),
        say("done"),
        say("noted"),
        say("noted"),
    ];
    let scenes = [
        scene_of("leaf", &leaf),
        scene_of("middle", &middle),
        scene_of("", &of_root),
    ];
    let stage = stage(&scenes)
        .await
        .sandbox(SandboxPolicy::DangerFullAccess);
    let mut actor = stage.start().await;
    actor.turn("begin").await;
    let release = TreeStopRequest {
        verb: StopVerb::Release,
        targets: vec!["1".to_owned()],
        mode: StopMode::Act,
        note: None,
    };
    actor.agents().user().stop(release).await.unwrap();
    let session = actor.session_id();
    actor.shut_down().await;
    let actor = stage
        .start_with(ConfigureSession {
            resume: Some(session),
            overrides: under(SandboxPolicy::read_only()),
            ..ConfigureSession::default()
        })
        .await;
    let desk = actor.agents().user();
    for agent in ["1", "2"] {
        let words = AgentMessage::text("again");
        desk.send(agent, words, SendUrgency::Regular).await.unwrap();
        actor.agents().wait_until_idle().await;
        let told = told(&stage, &actor, agent).await.pop().unwrap();
        assert!(told.contains("Read-only"), "{agent}: {told}");
    }
    assert!(!stage.cwd().join("of-middle").exists());
    assert!(!stage.cwd().join("of-leaf").exists());
    actor.shut_down().await;
}

fn fork_of(session_id: SessionId) -> ConfigureSession {
    ConfigureSession {
        fork: Some(ForkPoint {
            session_id,
            last_response_id: None,
            turns: None,
            turn: None,
        }),
        ..ConfigureSession::default()
    }
}

/// A fork is below nobody, so it must not begin with what was given before those above were
/// narrowed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_of_a_child_has_what_those_above_it_have_when_it_is_made() {
    let scenes = [
        scene_of("branch off", &[write("of-fork"), say("tried")]),
        scene_of("leaf", &[say("ready")]),
        scene_of(
            "middle",
            &[
                invoke("spawn_agent", r#"message = "leaf", task_name = "leaf""#),
                invoke("wait", r#"ids = ["leaf"]"#),
                say("ready"),
            ],
        ),
        scene_of(
            "",
            &[
                invoke("spawn_agent", r#"message = "middle", task_name = "middle""#),
                invoke("wait", "ids = [1]"),
                say("done"),
                say("done"),
            ],
        ),
    ];
    let stage = stage(&scenes)
        .await
        .sandbox(SandboxPolicy::DangerFullAccess);
    let mut actor = stage.start().await;
    actor.turn("begin").await;
    let desk = actor.agents().user();
    let children = [desk.view("1").await, desk.view("2").await];
    let children = children.map(|view| view.expect("it is one of the tree").session);
    turn_under(&mut actor, under(SandboxPolicy::read_only())).await;
    // While the tree runs, and when it is only stored.
    for child in children {
        let mut fork = stage.start_with(fork_of(child)).await;
        fork.turn("branch off").await;
        assert!(!stage.cwd().join("of-fork").exists());
        fork.shut_down().await;
    }
    actor.shut_down().await;
    for child in children {
        let mut fork = stage.start_with(fork_of(child)).await;
        fork.turn("branch off").await;
        assert!(!stage.cwd().join("of-fork").exists());
        fork.shut_down().await;
    }
    // It is the user's own conversation, who may widen it.
    let wide = ConfigureSession {
        overrides: under(SandboxPolicy::DangerFullAccess),
        ..fork_of(children[0])
    };
    let mut fork = stage.start_with(wide).await;
    fork.turn("branch off").await;
    assert_eq!(stage.read("of-fork"), "mine\n");
    fork.shut_down().await;
}

/// A parent may have its own directory among its roots; only what a person gave a child beside
/// its parent's rights is a grant.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_a_child_inherited_is_no_grant() {
    let stage = stage(&tries(&["moved"])).await;
    let cwd = stage.cwd().clone();
    let naming = |roots| SandboxPolicy::WorkspaceWrite {
        writable_roots: roots,
        network_access: false,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    };
    let stage = stage.sandbox(naming(vec![cwd]));
    let mut actor = stage.start().await;
    actor.turn("begin").await;
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("it can be made");
    let moved = TurnOverrides {
        cwd: Some(elsewhere.path().to_path_buf()),
        ..under(naming(Vec::new()))
    };
    turn_under(&mut actor, moved).await;
    let of_child = told(&stage, &actor, "1").await;
    assert!(of_child[0].contains("Read-only"), "{of_child:?}");
    assert!(!stage.cwd().join("moved").exists());
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parent_that_plans_binds_the_children_that_it_has() {
    let stage = stage(&tries(&["planned"])).await;
    let mut actor = stage.start().await;
    actor.turn("begin").await;
    let planning = TurnOverrides {
        collaboration_mode: Some(CollaborationMode::Plan.into()),
        ..TurnOverrides::default()
    };
    turn_under(&mut actor, planning).await;
    let of_child = told(&stage, &actor, "1").await;
    assert!(of_child[0].contains("Read-only"), "{of_child:?}");
    assert!(!stage.cwd().join("planned").exists());
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_stops_nobody_but_its_own() {
    let stage = stage(&[
        scene_of("quiet", &[say("here")]),
        scene_of(
            "jealous",
            &[
                invoke("close_agent", "id = 1"),
                invoke("cancel_agent", r#"id = "/root/quiet""#),
                invoke("close_agent", r#"id = "root""#),
                invoke("resume_agent", "id = 1"),
                say("tried"),
            ],
        ),
        scene_of(
            "",
            &[
                vec![
                    invoke("spawn_agent", r#"message = "quiet", task_name = "quiet""#),
                    invoke("wait", "ids = [1]"),
                    invoke("spawn_agent", r#"message = "jealous""#),
                    invoke("wait", "ids = [2]"),
                ],
                numbered(3, "done"),
            ]
            .concat(),
        ),
    ])
    .await;
    let mut actor = stage.start().await;
    let events = actor.turn("begin").await;
    assert_eq!(said(&events), Some("done 0"));
    let told = told(&stage, &actor, "2").await;
    for (text, verb) in told.iter().zip(["close", "cancel", "close", "resume"]) {
        let refusal = format!("Not permitted to {verb} agents outside your subtree.");
        assert!(text.contains(&refusal), "{verb}: {text}");
    }
    let sibling = actor.agents().user().view("1").await.unwrap();
    assert_eq!(sibling.status, CurrentStatus::Completed);
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_cannot_be_read_makes_no_child() {
    let stage = stage(&[scene_of(
        "",
        &[
            invoke("spawn_agent", r#"message = "go", agent_type = "broken""#),
            say("done"),
        ],
    )])
    .await;
    let roles = stage.home().join("agents");
    std::fs::create_dir_all(&roles).unwrap();
    let role = "---\ndescription: [unclosed\nread_only: true\n---\nDo it.\n";
    std::fs::write(roles.join("broken.md"), role).unwrap();
    let mut actor = stage.start().await;
    actor.turn("begin").await;
    let input = logs::last_request(&stage, actor.session_id());
    let told = logs::texts(&input, "function_call_output");
    assert!(told[0].contains("broken.md"), "{told:?}");
    let desk = actor.agents().user();
    assert!(desk.view("1").await.is_err(), "no agent has come of it");
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_withheld_tool_is_neither_offered_nor_run() {
    let stage = stage(&[
        scene_of(
            "errand",
            &[
                invoke("shell_command", r#"command = "echo mine > of-child""#),
                say("tried"),
            ],
        ),
        scene_of(
            "",
            &[
                invoke(
                    "spawn_agent",
                    r#"message = "errand", agent_type = "talker""#,
                ),
                invoke("wait", "ids = [1]"),
                say("done"),
            ],
        ),
    ])
    .await;
    let roles = stage.home().join("agents");
    std::fs::create_dir_all(&roles).unwrap();
    let role = "---\ndescription: Talks.\ndeny_list: [\"shell*\", exec_command]\n---\nTalk.\n";
    std::fs::write(roles.join("talker.md"), role).unwrap();
    let mut actor = stage.start().await;
    actor.turn("begin").await;
    let told = told(&stage, &actor, "1").await;
    let refusal = "this agent may not use shell_command: the role it was given does not allow it";
    assert!(told[0].contains(refusal), "{told:?}");
    assert!(!stage.cwd().join("of-child").exists());
    let view = actor.agents().user().view("1").await.unwrap();
    let body = logs::last_body(&stage, view.session);
    let tools = body["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().filter_map(|it| it["name"].as_str()).collect();
    assert!(names.contains(&"apply_patch"), "{names:?}");
    assert!(
        !names.iter().any(|name| name.starts_with("shell")),
        "{names:?}"
    );
    actor.shut_down().await;
}
