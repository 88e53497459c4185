//! Agents whose logs are gone.

use serde_json::{Value, json};
use troupe_agents::{Family, RecoveryPolicy};
use troupe_protocol::EventMsg;
use troupe_protocol::agent::SubagentLifecycle;
use troupe_protocol::tree::AgentMessage;
use troupe_testkit::{Actor, Stage};
use troupe_tree::CurrentStatus;
use troupe_tree::command::SendUrgency;
use troupe_tree::effect::{DeliveryReceipt, UndeliverableReason};

use super::play::{invoke, numbered, scene, scene_of};
use super::{cast, logs, play};

fn cue(tool: &'static str, arguments: Value) -> String {
    play::call(&(tool, arguments))
}

/// A root that was shut down after its child had run a command and ended.
async fn with_a_finished_child() -> Stage {
    let errand = [
        vec![invoke("shell_command", r#"command = "echo ran >> ledger""#)],
        numbered(3, "found"),
    ];
    let parent = [
        vec![
            invoke("spawn_agent", r#"message = "errand", task_name = "a""#),
            invoke("wait", r#"ids = ["a"]"#),
        ],
        numbered(5, "heard"),
    ];
    let scenes = [
        scene_of("errand", &errand.concat()),
        scene_of("", &parent.concat()),
    ];
    let stage = Stage::new(&scenes.concat()).await;
    let mut options = stage.tree_options(&[Family::Agents]);
    options.recovery = RecoveryPolicy::Continue;
    stage.with_tree(options)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finished_child_whose_log_is_gone_is_lost_and_never_run_again() {
    let stage = with_a_finished_child().await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("begin").await;
    actor.agents().wait_until_idle().await;
    let child = actor.agents().user().view("/root/a").await.unwrap();
    assert_eq!(child.status, CurrentStatus::Completed);
    actor.shut_down().await;
    std::fs::remove_file(logs::path_of(&stage, child.session)).unwrap();
    let requests = stage.requests().len();

    let mut actor = stage.resume(session).await;
    let told = |msg: &EventMsg| matches!(msg, EventMsg::Warning { message } if message.contains("/root/a is lost"));
    actor.until(told).await;
    actor.agents().wait_until_idle().await;
    let desk = actor.agents().user();
    assert_eq!(
        desk.view("/root/a").await.unwrap().status,
        CurrentStatus::Lost
    );
    let refused = desk.resume("/root/a").await.unwrap_err().to_string();
    assert!(refused.contains("agent 1 is lost"), "{refused}");
    let words = AgentMessage::text("go on");
    let sent = desk.send("/root/a", words, SendUrgency::Regular).await;
    let dead = DeliveryReceipt::Dead {
        why: UndeliverableReason::Lost,
    };
    assert_eq!(sent.unwrap().receipt, dead);
    actor.agents().wait_until_idle().await;
    assert_eq!(stage.requests().len(), requests, "no model was asked");
    assert_eq!(stage.read("ledger"), "ran\n", "no command ran again");
    actor.shut_down().await;
}

/// Ends the process of a tree, takes the log of one agent away, and takes the tree up again.
async fn lose_the_log_of(stage: &Stage, actor: Actor, path: &str) -> Actor {
    actor.agents().wait_until_idle().await;
    let root = actor.session_id();
    let lost = actor.agents().user().view(path).await.unwrap().session;
    actor.shut_down().await;
    std::fs::remove_file(logs::path_of(stage, lost)).unwrap();
    stage.resume(root).await
}

/// What stands in the place of a log is not what it said.
#[tokio::test]
async fn the_result_of_an_agent_whose_log_is_damaged_is_what_the_root_was_told() {
    let errand = scene("errand", &["{ say = 'found' }"]);
    let spawn = cue(
        "spawn_agent",
        json!({"message": "errand", "task_name": "a"}),
    );
    let wait = cue("wait", json!({"ids": ["a"]}));
    let result = cue("agent_result", json!({"id": "a"}));
    let damages: [fn(&std::path::Path); 2] = [
        |log| std::fs::write(log, "garbage\n".repeat(10)).unwrap(),
        |log| {
            std::fs::remove_file(log).unwrap();
            std::fs::create_dir(log).unwrap();
        },
    ];
    for damage in damages {
        let turns = [&*spawn, &wait, "{ say = 'done' }", &result];
        let stage = cast::stage(&errand, &turns, &[Family::Agents]).await;
        let actor = cast::open(&stage).await;
        actor.agents().wait_until_idle().await;
        let root = actor.session_id();
        let lost = actor.agents().user().view("/root/a").await.unwrap();
        actor.shut_down().await;
        damage(&logs::path_of(&stage, lost.session));
        let mut actor = stage.resume(root).await;
        actor.turn("what became of it?").await;
        let told = play::answer(&stage, &actor, 2).await;
        assert_eq!(told["status"], completed("found"), "{told}");
        assert!(told["note"].as_str().unwrap().contains("is lost"), "{told}");
        actor.shut_down().await;
    }
}

fn completed(text: &str) -> Value {
    json!({"lost": {"completed": text}})
}

#[tokio::test]
async fn every_tool_tells_the_last_end_of_a_lost_agent() {
    let errand = scene("errand", &["{ say = 'found' }"]);
    let spawn = cue(
        "spawn_agent",
        json!({"message": "errand", "task_name": "a"}),
    );
    let wait = cue("wait", json!({"ids": ["a"]}));
    let result = cue("agent_result", json!({"id": "a"}));
    let list = cue("list_active_agents", json!({}));
    let awaited = cue("subagent_await", json!({"agent_id": 1}));
    let family = cue("subagent_list", json!({}));
    let turns = [
        &*spawn,
        &wait,
        "{ say = 'done' }",
        &result,
        &wait,
        &list,
        &awaited,
        &family,
    ];
    let stage = cast::stage(&errand, &turns, &[Family::Agents, Family::Subagents]).await;
    let actor = cast::open(&stage).await;
    let mut actor = lose_the_log_of(&stage, actor, "/root/a").await;
    actor.turn("what became of it?").await;

    let told = |index| play::answer(&stage, &actor, index);
    let result = told(2).await;
    assert_eq!(result["status"], completed("found"));
    assert_eq!(result["result"], Value::Null);
    let note = result["note"].as_str().unwrap();
    assert!(note.contains("last as completed, saying: found"), "{note}");
    assert_eq!(
        told(3).await["status"],
        json!({"/root/a": completed("found")})
    );
    let listed = told(4).await.to_string();
    assert!(
        listed.contains(r#"{"lost":{"completed":"found"}}"#),
        "{listed}"
    );
    assert!(listed.contains(r#""pending_messages":0"#), "{listed}");
    let awaited = told(5).await;
    assert_eq!(awaited["lifecycle_status"], "lost");
    assert_eq!(awaited["completion_status"], "completed");
    assert_eq!(
        awaited["completion"],
        json!({"Completed": {"last_message": "found"}})
    );
    let family = told(6).await.to_string();
    assert!(family.contains(r#""status":"lost""#), "{family}");
    actor.shut_down().await;
}

#[tokio::test]
async fn agents_below_a_lost_one_are_lost_too_and_their_numbers_are_not_given_again() {
    let make_b = cue(
        "spawn_agent",
        json!({"message": "second errand", "task_name": "b"}),
    );
    let wait_b = cue("wait", json!({"ids": ["b"]}));
    let errands = scene("second errand", &["{ say = 'seen' }"])
        + &scene("first errand", &[&make_b, &wait_b, "{ say = 'heard' }"]);
    let make_a = cue(
        "spawn_agent",
        json!({"message": "first errand", "task_name": "a"}),
    );
    let wait_a = cue("wait", json!({"ids": ["a"]}));
    let other = cue(
        "spawn_agent",
        json!({"message": "another", "task_name": "c"}),
    );
    let result = cue("agent_result", json!({"id": "/root/a/b"}));
    let turns = [&*make_a, &wait_a, "{ say = 'done' }", &other, &result];
    let stage = cast::stage(&errands, &turns, &[Family::Agents]).await;
    let actor = cast::open(&stage).await;
    let mut actor = lose_the_log_of(&stage, actor, "/root/a").await;
    let told = actor
        .until(|msg| matches!(msg, EventMsg::SubagentLifecycle(SubagentLifecycle::Restored { subagent }) if subagent.agent_id.0 == 2))
        .await;
    let is_told = |msg: &EventMsg| matches!(msg, EventMsg::Warning { message } if message.contains("/root/a/b is lost"));
    assert!(told.iter().any(is_told), "{told:#?}");
    actor.turn("go on").await;
    actor.agents().wait_until_idle().await;

    let agents = play::agents(&actor).await;
    let listed: Vec<_> = agents
        .iter()
        .map(|view| (view.agent.0, view.path.as_str(), view.status))
        .collect();
    assert_eq!(
        listed,
        [
            (1, "/root/a", CurrentStatus::Lost),
            (2, "/root/a/b", CurrentStatus::Lost),
            (3, "/root/c", CurrentStatus::Completed),
        ]
    );
    // Its own log is there, and has the whole record.
    let result = play::answer(&stage, &actor, 3).await;
    assert_eq!(result["status"], completed("seen"));
    assert_eq!(result["result"]["last_message"], "seen");
    play::end(actor).await;
}
