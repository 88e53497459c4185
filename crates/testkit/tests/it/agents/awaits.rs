//! The family `subagents`: the outcome of children, and the end of their work.

use expect_test::expect;
use serde_json::{Value, json};
use troupe_agents::Family;
use troupe_protocol::AgentId;
use troupe_protocol::agent::AgentStatus;
use troupe_protocol::agent::WaitingOn;
use troupe_protocol::result::StopReason;
use troupe_protocol::tree::{Caller, TaskEnding};
use troupe_tree::CurrentStatus;

use super::cast::{self, heard, lines, lives, sleeper, subagents, told};
use super::logs;
use super::play::{
    Cue, agent, answer, answers, begin, call, empty_stage, end, play, requests_of, scene, seen,
    until_there,
};

const WAIT_FOR_GO: &str = "until [ -e go ]; do sleep 0.02; done";

#[tokio::test]
async fn a_wait_has_a_shortest_and_a_longest_time() {
    let wait = |timeout_s: i64| ("subagent_await", json!({"timeout_s": timeout_s}));
    let cues: [Cue; 5] = [
        ("subagent_spawn", json!({"prompt": "work"})),
        wait(299),
        wait(-1),
        wait(1801),
        wait(0),
    ];
    let stage = subagents("", &cues).await;
    let actor = play(&stage).await;
    let told = answers(&stage, &actor).await;
    expect![[r#"
        timeout_s must be at least 300 and at most 1800 seconds, or 0 for the default of 1800; got 299
        timeout_s must be at least 300 and at most 1800 seconds, or 0 for the default of 1800; got -1"#]].assert_eq(&told[1..3].join("\n"));
    let waited = answer(&stage, &actor, 3).await;
    assert_eq!(waited["completion_status"], "completed");
    let note = "timeout_s 1801 was changed to 1800, the longest wait";
    assert_eq!(waited["timeout_note"], note);
    // Each outcome is news once.
    expect!["nothing to wait for: no child is active and every result was delivered; your children are 1 (idle); give agent_id to hear the last outcome of one again"].assert_eq(&told[4]);
    end(actor).await;
}

#[tokio::test]
async fn an_outcome_is_described_in_full() {
    let cues: [Cue; 2] = [
        ("subagent_spawn", json!({"prompt": "work", "label": "kid"})),
        ("subagent_await", json!({"timeout_s": 1800})),
    ];
    let stage = subagents("", &cues).await;
    let actor = play(&stage).await;
    let waited = told(&stage, &actor, 1).await;
    expect![[r#"
        {
          "session_id": "/root/kid",
          "agent_id": 1,
          "completion_status": "completed",
          "lifecycle_status": "idle",
          "started_at_ms": 0,
          "timed_out": false,
          "messages": [],
          "completion": {
            "Completed": {
              "last_message": "ok"
            }
          },
          "metadata": {
            "status": "idle",
            "status_duration_sec": 0,
            "pending_messages": 0,
            "session_id": "/root/kid",
            "agent_id": 1,
            "parent_agent_id": 0,
            "parent_session_id": "/root",
            "path": "/root/kid",
            "origin": "spawn",
            "model": "scripted-1",
            "label": "kid",
            "summary": "work",
            "started_at_ms": 0,
            "initial_message_count": 0,
            "pending_interrupts": 0
          },
          "injected": false
        }"#]]
    .assert_eq(&format!("{waited:#}"));
    end(actor).await;
}

#[tokio::test]
async fn children_that_ended_together_are_told_together_and_those_at_work_too() {
    let children = scene("slow", &[&until_there("later"), "{ say = 'slow done' }"]);
    let cues: [Cue; 6] = [
        ("subagent_spawn", json!({"prompt": "one"})),
        ("subagent_spawn", json!({"prompt": "two"})),
        ("subagent_spawn", json!({"prompt": "slow"})),
        ("shell_command", json!({"command": WAIT_FOR_GO})),
        ("subagent_await", json!({})),
        ("shell_command", json!({"command": "touch later"})),
    ];
    let stage = subagents(&children, &cues).await;
    let mut actor = begin(&stage).await;
    while agent(&actor, "0").await.pending.messages < 2 {
        actor
            .until(|msg| cast::is_completed(1)(msg) || cast::is_completed(2)(msg))
            .await;
    }
    stage.write("go", "");
    actor.until_task_ends().await;
    let waited = answer(&stage, &actor, 4).await;
    assert_eq!(waited["completion_status"], "completed");
    let others = waited["messages"].as_array().unwrap();
    assert_eq!(others.len(), 1);
    let mut told = [&waited["agent_id"], &others[0]["sender_agent_id"]];
    told.sort_by_key(|number| number.as_u64());
    assert_eq!(told, [&json!(1), &json!(2)]);
    assert_eq!(others[0]["recipient_agent_id"], 0);
    assert_eq!(others[0]["prompt"], "ok");
    assert_eq!(waited["pending"][0]["agent_id"], 3);
    // Neither is told again by a callback.
    actor.agents().wait_until_idle().await;
    actor.until_task_ends().await;
    let called = heard(&stage, actor.session_id());
    let called = called.iter().filter(|text| text.starts_with("[Troupe]"));
    assert_eq!(called.count(), 1, "only the slow one calls");
    end(actor).await;
}

#[tokio::test]
async fn a_wait_after_new_work_returns_the_new_outcome() {
    let children = scene("errand", &["{ say = 'old' }", "{ say = 'new' }"]);
    let cues: [Cue; 5] = [
        ("subagent_spawn", json!({"prompt": "errand"})),
        ("subagent_await", json!({"agent_id": 1})),
        (
            "subagent_send_message",
            json!({"agent_id": 1, "prompt": "again"}),
        ),
        ("subagent_await", json!({"agent_id": 1})),
        ("subagent_await", json!({"agent_id": 1})),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let last = async |n| {
        answer(&stage, &actor, n).await["completion"]["Completed"]["last_message"].clone()
    };
    assert_eq!(last(1).await, "old");
    assert_eq!(last(3).await, "new");
    assert_eq!(last(4).await, "new", "who names an agent may hear it again");
    end(actor).await;
}

#[tokio::test]
async fn a_broken_stream_that_is_tried_again_is_no_failure() {
    let children = scene(
        "errand",
        &[
            "{ say = 'half an', unfinished = true }, { end = 'drop' }",
            "{ say = 'made it' }",
        ],
    );
    let cues: [Cue; 2] = [
        ("subagent_spawn", json!({"prompt": "errand"})),
        ("subagent_await", json!({})),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let waited = answer(&stage, &actor, 1).await;
    assert_eq!(
        waited["completion"],
        json!({"Completed": {"last_message": "made it"}})
    );
    let child = agent(&actor, "1").await.session;
    assert_eq!(requests_of(&stage, child).len(), 2);
    expect![[r#"
        1 created below Some(0): Spawn "/root/default"
        1 is Running
        1 is Completed(Some("made it"))"#]]
    .assert_eq(&lives(&seen(&actor)).join("\n"));
    end(actor).await;
}

#[tokio::test]
async fn a_failure_says_what_went_wrong() {
    let children = scene(
        "errand",
        &["{ status = 400, message = 'the model is on strike' }"],
    );
    let cues: [Cue; 3] = [
        ("subagent_spawn", json!({"prompt": "errand"})),
        ("subagent_await", json!({})),
        ("subagent_list", json!({})),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let waited = answer(&stage, &actor, 1).await;
    assert_eq!(waited["completion_status"], "failed");
    assert_eq!(waited["lifecycle_status"], "failed");
    let message = waited["completion"]["Failed"]["message"].as_str().unwrap();
    assert!(message.contains("the model is on strike"), "{message}");
    let listed = answer(&stage, &actor, 2).await;
    assert_eq!(listed["sessions"][0]["status"], "failed");
    end(actor).await;
}

#[tokio::test]
async fn a_cancel_stops_the_child_its_processes_and_all_below_it() {
    let spawn = call(&("subagent_spawn", json!({"prompt": "leaf"})));
    let children = scene(
        "middle",
        &[&spawn, &sleeper("middle.pid"), "{ say = 'never' }"],
    ) + &scene("leaf", &[&sleeper("leaf.pid"), "{ say = 'never' }"]);
    let there = "until [ -e middle.pid -a -e leaf.pid ]; do sleep 0.02; done";
    let cues: [Cue; 6] = [
        ("subagent_spawn", json!({"prompt": "middle"})),
        ("shell_command", json!({"command": there})),
        (
            "subagent_cancel",
            json!({"agent_id": 1, "reason": "no longer\n needed"}),
        ),
        (
            "shell_command",
            json!({"command": "for f in middle leaf; do test -e /proc/$(cat $f.pid) && echo $f lives; done; echo looked"}),
        ),
        ("subagent_await", json!({"agent_id": 1})),
        ("subagent_cancel", json!({"agent_id": 1})),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let cancelled = answer(&stage, &actor, 2).await;
    assert_eq!(cancelled["canceled"], true, "{cancelled}");
    assert_eq!(cancelled["status"], "canceled");
    let looked = answers(&stage, &actor).await.remove(3);
    assert!(
        looked.contains("looked") && !looked.contains("lives"),
        "{looked}"
    );
    let waited = answer(&stage, &actor, 4).await;
    assert_eq!(
        waited["completion"],
        json!({"Canceled": {"reason": "no longer needed"}})
    );
    let again = answer(&stage, &actor, 5).await;
    assert_eq!(again["canceled"], false);
    let root = actor.session_id();
    end(actor).await;
    let lines = lines(&stage, root).await;
    let by_root = TaskEnding::Cancelled {
        by: Caller::Agent(AgentId::ROOT),
        scope: AgentId(1),
    };
    for child in [1, 2] {
        assert_eq!(logs::ends_of(&lines, AgentId(child)), [by_root]);
    }
    // Who cancels is not called back about it.
    assert_eq!(logs::callbacks_for(&lines, AgentId::ROOT), []);
    assert_eq!(logs::callbacks_for(&lines, AgentId(1)), []);
}

#[tokio::test]
async fn a_cancelled_model_call_cannot_end_the_task_another_time() {
    let children = scene(
        "errand",
        &["{ say = 'half an answer', unfinished = true }, { end = 'stall' }"],
    );
    let cues: [Cue; 4] = [
        ("subagent_spawn", json!({"prompt": "errand"})),
        ("shell_command", json!({"command": WAIT_FOR_GO})),
        ("subagent_cancel", json!({"agent_id": 1, "reason": "slow"})),
        ("subagent_list", json!({})),
    ];
    let stage = subagents(&children, &cues).await;
    let mut actor = begin(&stage).await;
    actor.until(cast::is_running(1)).await;
    let child = agent(&actor, "1").await.session;
    while requests_of(&stage, child).is_empty() {
        tokio::task::yield_now().await;
    }
    stage.write("go", "");
    actor.until_task_ends().await;
    actor.agents().wait_until_idle().await;
    let listed = answer(&stage, &actor, 3).await;
    assert_eq!(listed["sessions"][0]["status"], "canceled");
    assert_eq!(requests_of(&stage, child).len(), 1);
    let result = actor.agents().result(child, None).await.unwrap();
    let note = Some("slow".to_owned());
    assert_eq!(result.stop, StopReason::Cancelled { note });
    let changes = lives(&seen(&actor));
    let ends = changes.iter().filter(|line| line.contains("Cancelled"));
    assert_eq!(ends.count(), 1, "{changes:?}");
    end(actor).await;
}

#[tokio::test]
async fn a_cancelled_child_takes_other_work() {
    let children = scene("errand", &[&sleeper("pid"), "{ say = 'other work done' }"]);
    let cues: [Cue; 5] = [
        ("subagent_spawn", json!({"prompt": "errand"})),
        (
            "shell_command",
            json!({"command": "until [ -e pid ]; do sleep 0.02; done"}),
        ),
        ("subagent_cancel", json!({"agent_id": 1})),
        (
            "subagent_send_message",
            json!({"agent_id": 1, "prompt": "other work"}),
        ),
        ("subagent_await", json!({"agent_id": 1})),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let waited = answer(&stage, &actor, 4).await;
    assert_eq!(
        waited["completion"],
        json!({"Completed": {"last_message": "other work done"}})
    );
    end(actor).await;
}

#[tokio::test]
async fn a_stopped_wait_leaves_the_child_at_work() {
    let wait = call(&("subagent_await", json!({})));
    let spawn = call(&("subagent_spawn", json!({"prompt": "stay"})));
    let children = scene("stay", &[&until_there("go"), "{ say = 'stayed' }"]);
    let stage = cast::stage(&children, &[&spawn, &wait], &[Family::Subagents]).await;
    let mut actor = stage.start().await;
    actor.say(cast::OPENING).await;
    actor.until(cast::is_running(1)).await;
    let root = actor.session_id();
    while requests_of(&stage, root).len() < 2 {
        tokio::task::yield_now().await;
    }
    actor.submit(troupe_protocol::op::Op::Interrupt).await;
    actor.until_task_ends().await;
    assert_eq!(agent(&actor, "1").await.wire_status(), AgentStatus::Running);
    stage.write("go", "");
    actor.until(cast::is_completed(1)).await;
    end(actor).await;
}

#[tokio::test]
async fn finished_children_leave_the_list_and_keep_their_results() {
    let children = scene("stay", &[&until_there("go"), "{ say = 'stayed' }"]);
    let prune = |arguments: Value| ("subagent_prune", arguments);
    let cues: [Cue; 12] = [
        ("subagent_spawn", json!({"prompt": "work", "label": "done"})),
        ("subagent_await", json!({"agent_id": 1})),
        (
            "subagent_spawn",
            json!({"prompt": "stay", "label": "stays"}),
        ),
        prune(json!({})),
        prune(json!({"agent_ids": [1], "all": true})),
        prune(json!({"agent_ids": [1, 2, 9]})),
        ("subagent_list", json!({})),
        ("subagent_await", json!({"agent_id": 1})),
        (
            "subagent_send_message",
            json!({"agent_id": 1, "prompt": "hello?"}),
        ),
        ("subagent_logs", json!({"agent_id": 1, "limit": 1})),
        prune(json!({"all": true, "completed_only": false})),
        ("subagent_spawn", json!({"prompt": "work"})),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let told = answers(&stage, &actor).await;
    expect![[r#"
        give agent_ids, or all: true
        give either agent_ids or all: true, not both"#]]
    .assert_eq(&told[3..5].join("\n"));
    let pruned = answer(&stage, &actor, 5).await;
    expect![[r#"
        {
          "request": {
            "agent_ids": [
              "1",
              "2",
              "9"
            ],
            "all": false,
            "completed_only": true
          },
          "pruned": [
            1
          ],
          "skipped_active": [
            2
          ],
          "unknown": [
            "9"
          ],
          "errors": [],
          "counts": {
            "pruned": 1,
            "skipped_active": 1,
            "unknown": 1,
            "errors": 0
          }
        }"#]]
    .assert_eq(&format!("{pruned:#}"));
    let listed = answer(&stage, &actor, 6).await;
    let ids: Vec<&Value> = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["agent_id"])
        .collect();
    assert_eq!(ids, [&json!(2)]);
    let waited = answer(&stage, &actor, 7).await;
    assert_eq!(
        waited["completion"],
        json!({"Completed": {"last_message": "ok"}})
    );
    let sent = answer(&stage, &actor, 8).await;
    assert_eq!(
        sent["receipt"],
        json!({"status": "dead", "why": "the agent was pruned; only its result is left"})
    );
    assert_eq!(answer(&stage, &actor, 9).await["returned"], 1);
    let pruned = answer(&stage, &actor, 10).await;
    expect![[r#"
        {
          "request": {
            "all": true,
            "completed_only": false
          },
          "pruned": [
            2
          ],
          "skipped_active": [],
          "unknown": [],
          "errors": [],
          "counts": {
            "pruned": 1,
            "skipped_active": 0,
            "unknown": 0,
            "errors": 0
          }
        }"#]]
    .assert_eq(&format!("{pruned:#}"));
    assert_eq!(answer(&stage, &actor, 11).await["agent_id"], 3);
    let deleted = lives(&seen(&actor));
    let deleted: Vec<_> = deleted
        .iter()
        .filter(|line| line.ends_with("deleted"))
        .collect();
    assert_eq!(deleted, ["1 deleted", "2 deleted"]);
    end(actor).await;
}

#[tokio::test]
async fn an_outcome_that_nobody_is_called_back_for_is_news_once() {
    let cues: [Cue; 4] = [
        ("subagent_spawn", json!({"prompt": "work"})),
        ("shell_command", json!({"command": WAIT_FOR_GO})),
        ("subagent_await", json!({})),
        ("subagent_await", json!({})),
    ];
    let stage = empty_stage("", &cues).await;
    let mut options = stage.tree_options(&[Family::Subagents]);
    options.callback.enabled = false;
    let stage = stage.with_tree(options);
    let mut actor = begin(&stage).await;
    actor.until(cast::is_completed(1)).await;
    stage.write("go", "");
    actor.until_task_ends().await;
    let waited = answer(&stage, &actor, 2).await;
    assert_eq!(
        waited["completion"],
        json!({"Completed": {"last_message": "ok"}})
    );
    let again = answers(&stage, &actor).await.remove(3);
    assert!(again.starts_with("nothing to wait for"), "{again}");
    end(actor).await;
}

#[tokio::test]
async fn cancelling_an_idle_child_ends_who_works_below_it_and_each_reason_stays_its_own() {
    let spawn = call(&("subagent_spawn", json!({"prompt": "leaf"})));
    let middle = [&*spawn, "{ say = 'delegated' }", &sleeper("second")];
    let children = scene("leaf", &[&sleeper("first")]) + &scene("middle", &middle);
    let until = |file: &str| {
        let command = format!("until [ -e {file} ]; do sleep 0.02; done");
        ("shell_command", json!({"command": command}))
    };
    let cues: [Cue; 9] = [
        ("subagent_spawn", json!({"prompt": "middle"})),
        until("first"),
        ("subagent_await", json!({"agent_id": 1})),
        (
            "subagent_cancel",
            json!({"agent_id": 1, "reason": "enough"}),
        ),
        (
            "subagent_send_message",
            json!({"agent_id": 1, "prompt": "more"}),
        ),
        until("second"),
        ("subagent_cancel", json!({"agent_id": 1})),
        ("subagent_await", json!({"agent_id": 1})),
        ("subagent_prune", json!({"agent_ids": [1]})),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let cancelled = answer(&stage, &actor, 3).await;
    assert_eq!(cancelled["canceled"], true, "{cancelled}");
    let leaf = agent(&actor, "2").await.session;
    let result = actor.agents().result(leaf, None).await.unwrap();
    let note = Some("enough".to_owned());
    assert_eq!(result.stop, StopReason::Cancelled { note });
    let waited = answer(&stage, &actor, 7).await;
    assert_eq!(waited["completion"], json!({"Canceled": {"reason": null}}));
    let pruned = answer(&stage, &actor, 8).await;
    assert_eq!(pruned["pruned"], json!([1, 2]));
    end(actor).await;
}

#[tokio::test]
async fn a_child_with_somebody_at_work_below_it_can_be_pruned_with_all_of_them() {
    let spawn = call(&("subagent_spawn", json!({"prompt": "leaf"})));
    let children =
        scene("leaf", &[&sleeper("first")]) + &scene("middle", &[&spawn, "{ say = 'delegated' }"]);
    let cues: [Cue; 4] = [
        ("subagent_spawn", json!({"prompt": "middle"})),
        (
            "shell_command",
            json!({"command": "until [ -e first ]; do sleep 0.02; done"}),
        ),
        ("subagent_await", json!({"agent_id": 1})),
        (
            "subagent_prune",
            json!({"agent_ids": [1], "completed_only": false}),
        ),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let pruned = answer(&stage, &actor, 3).await;
    assert_eq!(pruned["pruned"], json!([1, 2]), "{pruned}");
    end(actor).await;
}

#[tokio::test]
async fn a_message_of_a_child_ends_the_wait_and_is_delivered_by_it_alone() {
    let ask = call(&(
        "subagent_send_message",
        json!({"agent_id": "parent", "prompt": "which file?"}),
    ));
    let turns = [
        &*until_there("ready"),
        &ask,
        &until_there("go"),
        "{ say = 'done' }",
    ];
    let children = scene("ask", &turns);
    let cues: [Cue; 4] = [
        ("subagent_spawn", json!({"prompt": "ask"})),
        ("subagent_await", json!({})),
        ("shell_command", json!({"command": "touch go"})),
        ("subagent_await", json!({})),
    ];
    let stage = subagents(&children, &cues).await;
    let mut actor = begin(&stage).await;
    let on = WaitingOn::Child;
    while agent(&actor, "root").await.status != (CurrentStatus::Waiting { on }) {
        tokio::task::yield_now().await;
    }
    stage.write("ready", "");
    actor.until_task_ends().await;
    let waited = answer(&stage, &actor, 1).await;
    assert_eq!(waited["completion"], Value::Null);
    assert_eq!(waited["timed_out"], false);
    let message = &waited["messages"][0];
    assert_eq!(message["prompt"], "which file?");
    assert_eq!(message["sender_agent_id"], 1);
    assert_eq!(message["recipient_agent_id"], 0);
    let waited = answer(&stage, &actor, 3).await;
    assert_eq!(
        waited["completion"],
        json!({"Completed": {"last_message": "done"}})
    );
    actor.agents().wait_until_idle().await;
    let heard = heard(&stage, actor.session_id());
    assert!(
        heard.iter().all(|text| !text.contains("which file?")),
        "{heard:?}"
    );
    end(actor).await;
}
