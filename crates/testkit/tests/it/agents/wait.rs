//! `wait`: until one of several agents has ended.

use expect_test::expect;
use serde_json::{Value, json};
use troupe_agents::Family;
use troupe_agents::tree_access::TreeStopRequest;
use troupe_protocol::agent::AgentStatus;
use troupe_protocol::op::Op;
use troupe_protocol::{AgentId, EventMsg, StopVerb};
use troupe_testkit::{Actor, Stage};
use troupe_tree::command::StopMode;

use super::play::{
    Cue, agent, answer, answers, begin, call, end, play, scene, seen, stage, until_there,
};
use super::{cast, logs};

fn spawn(message: &str, name: &str) -> Cue {
    (
        "spawn_agent",
        json!({"message": message, "task_name": name}),
    )
}

fn wait(ids: &[&str]) -> Cue {
    ("wait", json!({"ids": ids}))
}

/// A child that works until the file `gate` is there.
fn busy() -> String {
    scene("be busy", &[&until_there("gate"), "{ say = 'free' }"])
}

#[tokio::test]
async fn times_outside_the_bounds_are_clamped_and_told() {
    let wait = |timeout_ms: i64| ("wait", json!({"ids": ["kid"], "timeout_ms": timeout_ms}));
    let cues: [Cue; 9] = [
        spawn("work", "kid"),
        wait(1),
        wait(9_999),
        wait(10_000),
        wait(1_800_000),
        wait(1_800_001),
        wait(0),
        wait(-5),
        ("wait", json!({"ids": []})),
    ];
    let stage = stage("", &cues).await;
    let actor = play(&stage).await;
    expect![[r#"
        {"status":{"/root/kid":{"completed":"ok"}},"timed_out":false,"note":"timeout_ms 1 was changed to 10000; it must lie between 10000 and 1800000"}
        {"status":{"/root/kid":{"completed":"ok"}},"timed_out":false,"note":"timeout_ms 9999 was changed to 10000; it must lie between 10000 and 1800000"}
        {"status":{"/root/kid":{"completed":"ok"}},"timed_out":false}
        {"status":{"/root/kid":{"completed":"ok"}},"timed_out":false}
        {"status":{"/root/kid":{"completed":"ok"}},"timed_out":false,"note":"timeout_ms 1800001 was changed to 1800000; it must lie between 10000 and 1800000"}
        {"status":{"/root/kid":{"completed":"ok"}},"timed_out":false,"note":"timeout_ms 0 was changed to 10000; it must lie between 10000 and 1800000"}
        {"status":{"/root/kid":{"completed":"ok"}},"timed_out":false,"note":"timeout_ms -5 was changed to 10000; it must lie between 10000 and 1800000"}
        ids must not be empty"#]].assert_eq(&answers(&stage, &actor).await[1..].join("\n"));
    end(actor).await;
}

#[tokio::test]
async fn a_wait_that_times_out_has_an_empty_status_and_tells_what_the_child_does() {
    let cues = [
        spawn("be busy", "kid"),
        ("wait", json!({"ids": ["kid"], "timeout_ms": 10_000})),
    ];
    let stage = stage(&busy(), &cues).await;
    let actor = play(&stage).await;
    let waited = answer(&stage, &actor, 1).await;
    assert_eq!(waited["status"], json!({}));
    assert_eq!(waited["timed_out"], true);
    assert_eq!(waited["pending"][0]["path"], "/root/kid");
    assert_eq!(waited["pending"][0]["current_tool"], "shell_command");
    stage.write("gate", "");
    end(actor).await;
}

#[tokio::test]
async fn an_unknown_agent_counts_as_ended() {
    let cues = [spawn("be busy", "kid"), wait(&["kid", "nobody"])];
    let stage = stage(&busy(), &cues).await;
    let actor = play(&stage).await;
    let waited = answer(&stage, &actor, 1).await;
    assert_eq!(waited["status"], json!({"nobody": "not_found"}));
    assert_eq!(waited["timed_out"], false);
    stage.write("gate", "");
    end(actor).await;
}

#[tokio::test]
async fn the_first_to_end_ends_the_wait_with_all_that_have_ended_by_then() {
    let children = busy() + &scene("fail", &["{ status = 400, message = 'no luck' }"]);
    let cues = [
        spawn("be busy", "slow"),
        spawn("work", "quick"),
        spawn("fail", "unlucky"),
        wait(&["quick"]),
        wait(&["unlucky"]),
        wait(&["slow", "quick", "unlucky"]),
    ];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let waited = answer(&stage, &actor, 5).await;
    let status = waited["status"].as_object().unwrap();
    assert_eq!(status.len(), 2, "{waited}");
    assert_eq!(status["/root/quick"], json!({"completed": "ok"}));
    let error = status["/root/unlucky"]["errored"]
        .as_str()
        .expect("it is a text");
    assert!(error.contains("no luck"), "{error}");
    assert_eq!(waited["pending"][0]["path"], "/root/slow");
    stage.write("gate", "");
    end(actor).await;
}

/// The statuses of one wait.
async fn statuses(stage: &Stage, actor: &Actor, index: usize) -> Value {
    answer(stage, actor, index).await["status"].take()
}

#[tokio::test]
async fn a_child_that_ended_before_the_wait_is_told_once() {
    let gone = (
        "shell_command",
        json!({"command": "until [ -e gone ]; do sleep 0.02; done"}),
    );
    let cues = [spawn("work", "kid"), gone, wait(&["kid"])];
    let stage = stage("", &cues).await;
    let mut actor = begin(&stage).await;
    actor
        .until(|msg| matches!(msg, EventMsg::BackgroundEvent(event) if event.is_final))
        .await;
    stage.write("gone", "");
    actor.until_task_ends().await;
    assert_eq!(
        statuses(&stage, &actor, 2).await,
        json!({"/root/kid": {"completed": "ok"}})
    );
    actor.agents().wait_until_idle().await;
    let root = actor.session_id();
    actor.shut_down().await;
    let lines = logs::read(&*stage.store(), root).await;
    let callbacks = logs::callbacks_for(&lines, AgentId::ROOT);
    assert_eq!(logs::consumed(&lines), callbacks);
    assert_eq!(logs::begun_with(&lines, AgentId::ROOT), []);
}

#[tokio::test]
async fn an_interrupted_child_has_ended() {
    let stage = stage(&busy(), &[spawn("be busy", "kid"), wait(&["kid"])]).await;
    let mut actor = begin(&stage).await;
    actor
        .until(|msg| matches!(msg, EventMsg::CollabWaitingBegin(_)))
        .await;
    let desk = actor.agents().user();
    let interrupt = TreeStopRequest {
        verb: StopVerb::Interrupt,
        targets: vec!["/root/kid".to_owned()],
        mode: StopMode::Act,
        note: None,
    };
    desk.stop(interrupt).await.unwrap();
    actor.until_task_ends().await;
    let waited = answer(&stage, &actor, 1).await;
    assert_eq!(waited["status"], json!({"/root/kid": "interrupted"}));
    end(actor).await;
}

#[tokio::test]
async fn a_second_wait_after_new_work_gives_the_new_result() {
    let children = scene("count", &["{ say = 'one' }", "{ say = 'two' }"]);
    let cues = [
        spawn("count", "kid"),
        wait(&["kid"]),
        ("send_input", json!({"id": "kid", "message": "go on"})),
        wait(&["kid"]),
        wait(&["kid"]),
    ];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let completed = |text: &str| json!({"/root/kid": {"completed": text}});
    assert_eq!(statuses(&stage, &actor, 1).await, completed("one"));
    assert_eq!(statuses(&stage, &actor, 3).await, completed("two"));
    assert_eq!(statuses(&stage, &actor, 4).await, completed("two"));
    end(actor).await;
}

#[tokio::test]
async fn an_agent_has_at_most_so_many_waits_open_and_all_of_them_tell_one_result() {
    const OPEN_MAX: usize = 32;
    let waits = vec![call(&wait(&["kid"])); OPEN_MAX + 1].join(", ");
    let root = [
        &*call(&spawn("be busy", "kid")),
        &waits,
        "{ say = 'waited' }",
    ];
    let stage = cast::stage(&busy(), &root, &[Family::Agents]).await;
    let mut actor = stage.start().await;
    actor.say(cast::OPENING).await;
    // Only the wait that is one too many can end while the child is at work.
    actor
        .until(|msg| matches!(msg, EventMsg::CollabWaitingEnd(_)))
        .await;
    stage.write("gate", "");
    actor.until_task_ends().await;
    let told = answers(&stage, &actor).await.split_off(1);
    let (refused, answered): (Vec<_>, Vec<_>) =
        told.into_iter().partition(|text| !text.starts_with('{'));
    expect!["32 waits of this agent are open already; wait for several agents in one call"]
        .assert_eq(&refused.join("\n"));
    let free = r#"{"status":{"/root/kid":{"completed":"free"}},"timed_out":false}"#;
    assert_eq!(answered, [free; OPEN_MAX]);
    actor.agents().wait_until_idle().await;
    let root = actor.session_id();
    end(actor).await;
    let lines = logs::read(&*stage.store(), root).await;
    let owed = logs::callbacks_for(&lines, AgentId::ROOT);
    assert_eq!(owed.len(), 1);
    assert_eq!(logs::consumed(&lines), owed);
    assert_eq!(logs::begun_with(&lines, AgentId::ROOT), []);
}

#[tokio::test]
async fn a_wait_is_told_as_a_pair_of_events() {
    let stage = stage("", &[spawn("work", "kid"), wait(&["kid", "nobody"])]).await;
    let actor = play(&stage).await;
    let kid = agent(&actor, "/root/kid").await;
    let pair: Vec<EventMsg> = seen(&actor)
        .into_iter()
        .filter(|msg| {
            matches!(
                msg,
                EventMsg::CollabWaitingBegin(_) | EventMsg::CollabWaitingEnd(_)
            )
        })
        .collect();
    let [
        EventMsg::CollabWaitingBegin(begin),
        EventMsg::CollabWaitingEnd(done),
    ] = &*pair
    else {
        panic!("{pair:#?}");
    };
    assert_eq!(begin.receiver_thread_ids, [kid.session]);
    assert_eq!(begin.sender_thread_id, actor.session_id());
    assert_eq!(begin.call_id, done.call_id);
    let known = |status: &AgentStatus| matches!(status, AgentStatus::Completed(_));
    assert!(done.statuses.values().all(known), "{done:?}");
    end(actor).await;
}

#[tokio::test]
async fn who_is_interrupted_in_a_wait_hears_the_result_after_the_next_word() {
    let stage = stage(&busy(), &[spawn("be busy", "kid"), wait(&["kid"])]).await;
    let mut actor = begin(&stage).await;
    actor
        .until(|msg| matches!(msg, EventMsg::CollabWaitingBegin(_)))
        .await;
    actor.submit(Op::Interrupt).await;
    let aborted = actor.until_task_ends().await;
    assert!(matches!(aborted.last(), Some(EventMsg::TurnAborted(_))));
    let kid = agent(&actor, "/root/kid").await;
    assert!(!kid.status.is_final(), "{:?}", kid.status);
    stage.write("gate", "");
    // An interrupted agent begins nothing by itself.
    let quiet = actor
        .until(|msg| matches!(msg, EventMsg::BackgroundEvent(event) if event.is_final))
        .await;
    let began = |msg: &EventMsg| matches!(msg, EventMsg::TurnStarted(_));
    assert!(!quiet.iter().any(began));
    actor.turn("where were we?").await;
    actor.until_task_ends().await;
    let told = stage.input_of(stage.requests().len() - 1);
    let callback = told.last().unwrap().to_string();
    assert!(callback.contains("free"), "{callback}");
    end(actor).await;
}
