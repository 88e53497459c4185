//! Stop verbs: what each touches, what it leaves, and what can be done afterwards.

use std::path::Path;

use expect_test::expect;
use serde_json::{Value, json};
use troupe_agents::Family;
use troupe_agents::tree_access::TreeStopRequest;
use troupe_protocol::agent::AgentStatus;
use troupe_protocol::op::{ConfigureSession, Op};
use troupe_protocol::policy::SandboxPolicy;
use troupe_protocol::result::StopReason;
use troupe_protocol::tree::Interruption;
use troupe_protocol::{AgentId, StopVerb};
use troupe_testkit::{Actor, Stage};
use troupe_tree::CurrentStatus;
use troupe_tree::command::StopMode;

use super::cast::{self, heard, is_completed, is_now, lines, open, sleeper, stage};
use super::logs;
use super::play::{agent, agents, answers, call, end, named, requests_of, scene, until_there};

fn spawn(message: &str, more: Value) -> String {
    let mut arguments = json!({"message": message, "task_name": message});
    let fields = more.as_object().expect("more arguments").clone();
    arguments.as_object_mut().expect("an object").extend(fields);
    call(&("spawn_agent", arguments))
}

/// Lets the root begin, and stays until these files are there.
async fn open_until(stage: &Stage, files: &[&str]) -> Actor {
    let mut actor = stage.start().await;
    actor.say(cast::OPENING).await;
    for file in files {
        while !stage.cwd().join(file).exists() {
            tokio::task::yield_now().await;
        }
    }
    actor
}

fn is_alive(stage: &Stage, file: &str) -> bool {
    let pid = stage.read(file);
    Path::new("/proc").join(pid.trim()).exists()
}

fn request(verb: StopVerb, target: &str, mode: StopMode) -> TreeStopRequest {
    TreeStopRequest {
        verb,
        targets: vec![target.to_owned()],
        mode,
        note: None,
    }
}

/// A root with a child that sleeps, whose own child sleeps too.
async fn two_sleepers(root: &[&str]) -> Stage {
    let leaf = spawn("leaf", json!({}));
    let children = scene("leaf", &[&sleeper("leaf.pid"), "{ say = 'leaf again' }"])
        + &scene(
            "middle",
            &[&leaf, &sleeper("middle.pid"), "{ say = 'middle again' }"],
        );
    stage(&children, root, &[Family::Agents]).await
}

#[tokio::test]
async fn a_dry_run_tells_what_it_would_touch_and_touches_nothing() {
    let look = |tool| call(&(tool, json!({"id": "/root/middle", "dry_run": true})));
    let root = [
        &*spawn("middle", json!({})),
        &until_there("leaf.pid"),
        &until_there("middle.pid"),
        &look("cancel_agent"),
        "{ say = 'looked' }",
    ];
    let stage = two_sleepers(&root).await;
    let actor = open(&stage).await;
    let told = answers(&stage, &actor).await.remove(3);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["dry_run"], true);
    let touched = told["touched"].as_array().unwrap();
    let touched: Vec<_> = touched
        .iter()
        .map(|one| (&one["path"], &one["action"]))
        .collect();
    let (middle, leaf, cancel) = (
        json!("/root/middle"),
        json!("/root/middle/leaf"),
        json!("cancel"),
    );
    assert_eq!(touched, [(&middle, &cancel), (&leaf, &cancel)]);
    assert!(is_alive(&stage, "leaf.pid") && is_alive(&stage, "middle.pid"));
    for verb in [
        StopVerb::Interrupt,
        StopVerb::Cancel,
        StopVerb::Close,
        StopVerb::Release,
        StopVerb::Prune,
    ] {
        let desk = actor.agents().user();
        let plan = desk
            .stop(request(verb, "1", StopMode::DryRun))
            .await
            .unwrap();
        let touched = plan.touched.len();
        let expected = match verb {
            StopVerb::Interrupt | StopVerb::Release => 1,
            StopVerb::Cancel | StopVerb::Close => 2,
            StopVerb::Prune => 0,
        };
        assert_eq!(touched, expected, "{verb:?}");
    }
    for view in agents(&actor).await {
        assert_eq!(view.wire_status(), AgentStatus::Running);
    }
    actor.shut_down().await;
    assert!(!is_alive(&stage, "leaf.pid") && !is_alive(&stage, "middle.pid"));
}

#[tokio::test]
async fn an_interrupt_stops_one_task_and_nothing_below_it() {
    let root = [
        &*spawn("middle", json!({"enable_callback": false})),
        "{ say = 'later' }",
    ];
    let stage = two_sleepers(&root).await;
    let mut actor = open_until(&stage, &["leaf.pid", "middle.pid"]).await;
    let desk = actor.agents().user();
    let stopped = desk
        .stop(request(StopVerb::Interrupt, "1", StopMode::Act))
        .await;
    assert_eq!(stopped.unwrap().touched.len(), 1);
    actor
        .until(is_now(1, |status| *status == AgentStatus::Interrupted))
        .await;
    assert!(!is_alive(&stage, "middle.pid"));
    assert!(is_alive(&stage, "leaf.pid"));
    let why = Interruption::User;
    assert_eq!(
        agent(&actor, "1").await.status,
        CurrentStatus::Interrupted { why }
    );
    assert_eq!(agent(&actor, "2").await.wire_status(), AgentStatus::Running);
    actor.shut_down().await;
}

#[tokio::test]
async fn a_cancel_reaches_everybody_below_and_what_was_said_is_kept() {
    let children = scene(
        "chatty",
        &[
            &format!("{{ say = 'half way' }}, {}", sleeper("pid")),
            "{ say = 'whole way' }",
        ],
    );
    let cancel = call(&("cancel_agent", json!({"id": 1, "reason": "enough"})));
    let wait = call(&("wait", json!({"ids": [1]})));
    let result = call(&("agent_result", json!({"id": 1})));
    let more = call(&("send_input", json!({"id": 1, "message": "go on"})));
    let root = [
        &*spawn("chatty", json!({})),
        &until_there("pid"),
        &cancel,
        &wait,
        &result,
        &more,
        &wait,
        "{ say = 'done' }",
    ];
    let stage = stage(&children, &root, &[Family::Agents]).await;
    let actor = open(&stage).await;
    assert!(!is_alive(&stage, "pid"));
    let told = answers(&stage, &actor).await;
    let kept: Value = serde_json::from_str(&told[4]).unwrap();
    assert!(told[4].contains("half way"), "{kept:#}");
    assert!(told[4].contains("enough"), "{kept:#}");
    // What was stopped goes on with what it knows.
    assert!(told[6].contains("whole way"), "{}", told[6]);
    let kid = agent(&actor, "1").await.session;
    assert_eq!(heard(&stage, kid), ["chatty", "go on"]);
    end(actor).await;
}

#[tokio::test]
async fn a_closed_subtree_is_gone_until_it_is_resumed() {
    let close = call(&("close_agent", json!({"id": 1})));
    let wait = call(&("wait", json!({"ids": [1, 2]})));
    let list = call(&("list_active_agents", json!({"scope": "all"})));
    let send = call(&("send_input", json!({"id": 1, "message": "hello?"})));
    let resume = call(&("resume_agent", json!({"id": 1})));
    let again = call(&("send_input", json!({"id": 1, "message": "hello!"})));
    let result = call(&("wait", json!({"ids": [1]})));
    let root = [
        &*spawn("middle", json!({})),
        &until_there("leaf.pid"),
        &until_there("middle.pid"),
        &close,
        &wait,
        &list,
        &send,
        &resume,
        &again,
        &result,
        &spawn("next", json!({"enable_callback": false})),
        "{ say = 'done' }",
    ];
    let stage = two_sleepers(&root).await;
    let actor = open(&stage).await;
    assert!(!is_alive(&stage, "leaf.pid") && !is_alive(&stage, "middle.pid"));
    let told = answers(&stage, &actor).await;
    let listed: Value = serde_json::from_str(&told[5]).unwrap();
    assert_eq!(listed["agents"], json!([]));
    let sent: Value = serde_json::from_str(&told[6]).unwrap();
    assert_eq!(sent["receipt"]["status"], "dead");
    let sent: Value = serde_json::from_str(&told[8]).unwrap();
    assert_eq!(sent["receipt"]["status"], "delivered");
    assert!(told[9].contains("middle again"), "{}", told[9]);
    let next: Value = serde_json::from_str(&told[10]).unwrap();
    assert_eq!(next["agent_number"], 3, "numbers are never used again");
    assert_eq!(
        agent(&actor, "2").await.wire_status(),
        AgentStatus::Shutdown
    );
    let root = actor.session_id();
    end(actor).await;
    // Who closes is not called back about it.
    let lines = lines(&stage, root).await;
    let owed = logs::callbacks_for(&lines, AgentId::ROOT);
    assert_eq!(owed.len(), 1, "only the last task, which a wait told");
    assert_eq!(logs::consumed(&lines), owed);
}

#[tokio::test]
async fn a_released_child_goes_on_and_calls_nobody() {
    let children = scene("stay", &[&until_there("go"), "{ say = 'stayed' }"]);
    let root = [&*spawn("stay", json!({})), "{ say = 'later' }"];
    let stage = stage(&children, &root, &[Family::Agents]).await;
    let mut actor = open(&stage).await;
    let desk = actor.agents().user();
    desk.stop(request(StopVerb::Release, "1", StopMode::Act))
        .await
        .unwrap();
    let view = agent(&actor, "1").await;
    assert_eq!((view.parent, view.status.is_final()), (None, false));
    stage.write("go", "");
    actor.until(is_completed(1)).await;
    actor.agents().wait_until_idle().await;
    let root = actor.session_id();
    let result = actor.agents().result(view.session, None).await.unwrap();
    assert_eq!(result.last_message.as_deref(), Some("stayed"));
    end(actor).await;
    let lines = lines(&stage, root).await;
    assert_eq!(logs::callbacks_for(&lines, AgentId::ROOT), []);
    assert_eq!(logs::begun_with(&lines, AgentId::ROOT), []);
}

#[tokio::test]
async fn an_interrupted_parent_takes_along_only_children_that_were_bound_to_it() {
    let children =
        scene("bound", &[&sleeper("bound.pid")]) + &scene("free", &[&sleeper("free.pid")]);
    let gate = until_there("never");
    let root = [
        &*spawn("bound", json!({"on_parent_interrupt": "cancel"})),
        &spawn("free", json!({})),
        &gate,
    ];
    let stage = stage(&children, &root, &[Family::Agents]).await;
    let mut actor = open_until(&stage, &["bound.pid", "free.pid"]).await;
    actor.submit(Op::Interrupt).await;
    actor
        .until(is_now(1, |status| *status == AgentStatus::Cancelled))
        .await;
    assert!(!is_alive(&stage, "bound.pid"));
    assert!(is_alive(&stage, "free.pid"));
    assert_eq!(agent(&actor, "2").await.wire_status(), AgentStatus::Running);
    actor.shut_down().await;
    assert!(!is_alive(&stage, "free.pid"));
}

#[tokio::test]
async fn newer_input_in_place_of_a_task_cancels_nobody() {
    let children = scene("bound", &[&sleeper("bound.pid")]);
    let gate = until_there("never");
    let root = [
        &*spawn("bound", json!({"on_parent_interrupt": "cancel"})),
        &gate,
        "{ say = 'something else' }",
    ];
    let stage = stage(&children, &root, &[Family::Agents]).await;
    let mut actor = open_until(&stage, &["bound.pid"]).await;
    while super::play::requests_of(&stage, actor.session_id()).len() < 2 {
        tokio::task::yield_now().await;
    }
    actor.say("something else").await;
    actor.until_task_ends().await;
    actor.until_task_ends().await;
    assert_eq!(agent(&actor, "1").await.wire_status(), AgentStatus::Running);
    assert!(is_alive(&stage, "bound.pid"));
    actor.shut_down().await;
}

#[tokio::test]
async fn a_stop_that_finds_nothing_to_stop_says_so() {
    let cancel = call(&("cancel_agent", json!({"id": 1})));
    let nobody = call(&("cancel_agent", json!({"id": 9})));
    let wait = call(&("wait", json!({"ids": [1]})));
    let root = [
        &*spawn("work", json!({})),
        &wait,
        &cancel,
        &nobody,
        "{ say = 'done' }",
    ];
    let stage = stage("", &root, &[Family::Agents]).await;
    let actor = open(&stage).await;
    let views = agents(&actor).await;
    let told = answers(&stage, &actor).await;
    let text = |at: usize| named(&stage, &views, &told[at]);
    expect![[r#"
        {"agent_id":"/root/work","agent_number":1,"path":"/root/work","status":{"completed":"ok"},"touched":[],"skipped":[{"agent_id":"/root/work","agent_number":1,"path":"/root/work","why":"idle","status":{"completed":"ok"}}]}
        no agent "9"; give an agent number, a path such as /root/name, a session id, "parent" or "root""#]].assert_eq(&format!("{}\n{}", text(2), text(3)));
    let result = actor.agents().result(views[0].session, None).await.unwrap();
    assert_eq!(result.stop, StopReason::Completed);
    end(actor).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_configuration_ends_what_idle_agents_left_in_the_background() {
    let command = "echo $$ > left.pid; exec sleep 1000";
    let left = call(&(
        "exec_command",
        json!({"cmd": command, "yield_time_ms": 250}),
    ));
    let children = scene("leaver", &[&left, "{ say = 'left it' }"]);
    let wait = call(&("wait", json!({"ids": ["leaver"]})));
    let root = [&*spawn("leaver", json!({})), &wait, "{ say = 'later' }"];
    let stage = stage(&children, &root, &[Family::Agents]).await;
    let stage = stage.sandbox(SandboxPolicy::DangerFullAccess);
    let mut actor = open(&stage).await;
    assert!(is_alive(&stage, "left.pid"), "it runs on, without a task");
    actor
        .submit(Op::ConfigureSession(ConfigureSession::default()))
        .await;
    while is_alive(&stage, "left.pid") {
        tokio::task::yield_now().await;
    }
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_configuration_interrupts_every_task_below_the_session() {
    let stage = two_sleepers(&[&spawn("middle", json!({})), "{ say = 'later' }"]).await;
    let mut actor = open_until(&stage, &["leaf.pid"]).await;
    let configure = Op::ConfigureSession(ConfigureSession::default());
    actor.submit(configure).await;
    let why = Interruption::Reconfigured;
    for path in ["/root/middle", "/root/middle/leaf"] {
        while agent(&actor, path).await.status != (CurrentStatus::Interrupted { why }) {
            tokio::task::yield_now().await;
        }
    }
    assert!(!is_alive(&stage, "leaf.pid"), "its command is gone");
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_configuration_begins_no_task_and_the_next_one_is_told_who_was_ended() {
    let children = scene("works", &[&sleeper("works.pid")]);
    let root = [
        &*spawn("works", json!({})),
        &spawn("queued", json!({})),
        "{ say = 'later' }",
    ];
    let stage = Stage::new(&cast::plot(&children, &root)).await;
    let mut options = stage.tree_options(&[Family::Agents]);
    options.limits.max_threads = 1;
    let stage = stage.with_tree(options);
    let stage = stage.sandbox(SandboxPolicy::DangerFullAccess);
    let mut actor = stage.start().await;
    actor.turn(cast::OPENING).await;
    while !stage.cwd().join("works.pid").exists() {
        tokio::task::yield_now().await;
    }
    actor
        .submit(Op::ConfigureSession(ConfigureSession::default()))
        .await;
    let why = Interruption::Reconfigured;
    while agent(&actor, "works").await.status != (CurrentStatus::Interrupted { why }) {
        tokio::task::yield_now().await;
    }
    actor.agents().wait_until_idle().await;
    assert_eq!(
        agent(&actor, "queued").await.status,
        CurrentStatus::Cancelled
    );
    let requests = || requests_of(&stage, actor.session_id());
    assert_eq!(requests().len(), 3, "nobody began a task of the root");
    let session = actor.session_id();
    actor.shut_down().await;

    // It is told once, also by a later process.
    let mut actor = stage.resume(session).await;
    for turn in ["and now?", "and then?"] {
        actor.turn(turn).await;
    }
    let requests = requests_of(&stage, session);
    let last = requests.last().unwrap()["input"].to_string();
    assert_eq!(
        last.matches("was configured anew while").count(),
        1,
        "{last}"
    );
    assert!(last.contains("- /root/works (agent 1, session"), "{last}");
    end(actor).await;
}
