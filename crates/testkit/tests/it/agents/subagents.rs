//! The family `subagents`: children with numbers. Spawn, fork, list, and who may write to
//! whom.

use expect_test::expect;
use serde_json::{Value, json};
use troupe_agents::Family;
use troupe_protocol::AgentId;
use troupe_protocol::policy::{SandboxMode, SandboxPolicy};
use troupe_protocol::tree::TreeFact;

use super::cast::{self, heard, lines, open, stage, subagents, told};
use super::play::{
    Cue, agent, agents, answer, answers, answers_of, call, empty_stage, end, named, play,
    requests_of, scene, until_there,
};

#[tokio::test]
async fn a_spawned_child_is_described_in_full() {
    let prompt = format!("look at\n  the files {}", "x".repeat(80));
    let cues: [Cue; 2] = [
        (
            "subagent_spawn",
            json!({"prompt": prompt, "label": " first\n child ", "model": "scripted-2"}),
        ),
        ("subagent_await", json!({})),
    ];
    let stage = subagents("", &cues).await;
    let actor = play(&stage).await;
    let spawned = told(&stage, &actor, 0).await;
    expect![[r#"
        {
          "session_id": "/root/first_child",
          "agent_id": 1,
          "parent_agent_id": 0,
          "parent_session_id": "/root",
          "path": "/root/first_child",
          "origin": "spawn",
          "status": "queued",
          "model": "scripted-2",
          "label": "first child",
          "summary": "look at the files xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…",
          "started_at_ms": 0,
          "initial_message_count": 0,
          "pending_messages": 1,
          "pending_interrupts": 0,
          "requested": {
            "model": "scripted-2"
          },
          "effective": {
            "agent_type": "default",
            "model": "scripted-2",
            "working_directory": "CWD",
            "sandbox_mode": "danger-full-access",
            "network_access": true,
            "approval_policy": "never",
            "approvals": "route"
          },
          "why": []
        }"#]].assert_eq(&format!("{spawned:#}"));
    end(actor).await;
}

#[tokio::test]
async fn a_message_and_a_cancel_answer_with_whom_they_reached() {
    let children = scene("stay", &[&cast::sleeper("pid"), "{ say = 'never' }"]);
    let here = json!({"command": "until [ -e pid ]; do sleep 0.02; done"});
    let cues: [Cue; 4] = [
        ("subagent_spawn", json!({"prompt": "stay", "label": "kid"})),
        ("shell_command", here),
        (
            "subagent_send_message",
            json!({"agent_id": 1, "prompt": "by the way"}),
        ),
        (
            "subagent_cancel",
            json!({"agent_id": 1, "reason": "enough"}),
        ),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let sent = told(&stage, &actor, 2).await;
    expect![[r#"
        {
          "session_id": "/root/kid",
          "agent_id": 1,
          "parent_agent_id": 0,
          "parent_session_id": "/root",
          "path": "/root/kid",
          "origin": "spawn",
          "status": "running",
          "model": "scripted-1",
          "label": "kid",
          "summary": "stay",
          "started_at_ms": 0,
          "initial_message_count": 0,
          "pending_messages": 1,
          "pending_interrupts": 0,
          "message_id": "ID",
          "receipt": {
            "status": "queued",
            "position": 1
          }
        }"#]]
    .assert_eq(&format!("{sent:#}"));
    let cancelled = told(&stage, &actor, 3).await;
    expect![[r#"
        {
          "session_id": "/root/kid",
          "agent_id": 1,
          "parent_agent_id": 0,
          "parent_session_id": "/root",
          "path": "/root/kid",
          "origin": "spawn",
          "status": "canceled",
          "model": "scripted-1",
          "label": "kid",
          "summary": "stay",
          "started_at_ms": 0,
          "initial_message_count": 0,
          "pending_messages": 0,
          "pending_interrupts": 0,
          "canceled": true
        }"#]]
    .assert_eq(&format!("{cancelled:#}"));
    end(actor).await;
}

#[tokio::test]
async fn a_spawn_that_makes_no_sense_says_what_to_do() {
    let cues: [Cue; 6] = [
        ("subagent_spawn", json!({"prompt": " \n"})),
        ("subagent_spawn", json!({"prompt": "w", "model": "gpt-9"})),
        (
            "subagent_spawn",
            json!({"prompt": "w", "sandbox_mode": "none"}),
        ),
        (
            "subagent_spawn",
            json!({"prompt": "w", "sandbox_mode": "full"}),
        ),
        ("subagent_spawn", json!({"prompt": "w", "colour": "red"})),
        ("subagent_list", json!({})),
    ];
    let stage = empty_stage("", &cues).await;
    let stage = stage
        .sandbox(SandboxPolicy::read_only())
        .with_agents(&[Family::Subagents]);
    let actor = play(&stage).await;
    expect![[r#"
        prompt must not be empty; say what the child is to do
        Unknown model `gpt-9` for subagent_spawn. Available models: scripted-1, scripted-2
        unknown sandbox_mode none; use read-only, workspace-write or danger-full-access
        sandbox_mode danger-full-access is more than this agent has (read-only); ask for read-only or less
        subagent_spawn: field "colour": unknown field `colour`, expected one of `prompt`, `model`, `label`, `agenticTool`, `backend`, `sandbox_mode`. Call it again with: {prompt: string, model?: string, label?: string, backend?: string, sandbox_mode?: string}
        {"sessions":[]}"#]].assert_eq(&answers(&stage, &actor).await.join("\n"));
    end(actor).await;
}

#[tokio::test]
async fn a_child_can_be_given_less_than_its_parent_has() {
    let cues: [Cue; 2] = [
        (
            "subagent_spawn",
            json!({"prompt": "work", "sandbox_mode": "ReadOnly"}),
        ),
        ("subagent_await", json!({})),
    ];
    let stage = subagents("", &cues).await;
    let actor = play(&stage).await;
    let spawned = answer(&stage, &actor, 0).await;
    assert_eq!(
        spawned["effective"]["sandbox_mode"], "read-only",
        "{spawned}"
    );
    let views = agents(&actor).await;
    let spec = views[0].spec.as_ref().unwrap();
    assert_eq!(spec.sandbox_policy.mode(), SandboxMode::ReadOnly);
    end(actor).await;
}

#[tokio::test]
async fn both_sides_of_a_fork_find_the_call_and_know_who_they_are() {
    let children = scene("fork work", &["{ say = 'from the fork' }"]);
    let cues: [Cue; 3] = [
        ("shell_command", json!({"command": "echo before"})),
        (
            "subagent_fork",
            json!({"prompt": "fork work", "label": "twin"}),
        ),
        ("subagent_await", json!({"agent_id": 1})),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let forked = told(&stage, &actor, 1).await;
    let side = |role: &str| {
        json!({
            "role": role, "child_session_id": "/root/twin", "parent_session_id": "/root",
            "label": "twin", "summary": "fork work", "prompt": "fork work",
        })
    };
    let root = actor.session_id();
    let views = agents(&actor).await;
    let seen_by = |text: &str| {
        let text = named(&stage, &views, text).replace(&root.to_string(), "/root");
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let told = answers_of(&stage, root);
    assert_eq!(seen_by(&told[1])["payload"], side("parent"));
    assert_eq!(forked["origin"], "fork");
    let child = views[0].session;
    let told = answers_of(&stage, child);
    assert_eq!(seen_by(&told[1]), json!({"payload": side("child")}));
    assert_eq!(heard(&stage, child).last().unwrap(), "fork work");
    let waited = answer(&stage, &actor, 2).await;
    assert_eq!(
        waited["completion"],
        json!({"Completed": {"last_message": "from the fork"}})
    );
    end(actor).await;
}

#[tokio::test]
async fn a_fork_begins_with_its_parents_bytes_and_counts_only_its_own_tokens() {
    let children = scene("fork work", &["{ say = 'from the fork' }"]);
    let cues: [Cue; 3] = [
        ("shell_command", json!({"command": "echo before"})),
        ("subagent_fork", json!({"prompt": "fork work"})),
        ("subagent_await", json!({"agent_id": 1})),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let view = agents(&actor).await.remove(0);
    let parents = requests_of(&stage, actor.session_id());
    let asked = parents[1]["input"].as_array().unwrap();
    let childs = requests_of(&stage, view.session).remove(0);
    let begun = childs["input"].as_array().unwrap();
    assert_eq!(json!(begun[..asked.len()]), json!(asked));
    for part in ["instructions", "tools", "prompt_cache_key", "model"] {
        assert_eq!(childs[part], parents[1][part], "{part}");
    }
    // The call that forked it is part of what it begins with; the answer and the prompt are
    // its own.
    assert_eq!(
        view.initial_message_count.unwrap() as usize,
        begun.len() - 2
    );
    // One request of 100 and 20 tokens.
    assert_eq!(view.usage.total_tokens, 120);
    end(actor).await;
}

#[tokio::test]
async fn numbers_are_given_once_in_the_whole_tree() {
    let spawn = call(&(
        "subagent_spawn",
        json!({"prompt": "leaf work", "label": "leaf"}),
    ));
    let wait = call(&("subagent_await", json!({})));
    let list = call(&("subagent_list", json!({})));
    let children = scene(
        "middle work",
        &[&spawn, &wait, &list, "{ say = 'middle done' }"],
    );
    let cues: [Cue; 5] = [
        (
            "subagent_spawn",
            json!({"prompt": "middle work", "label": "middle"}),
        ),
        ("subagent_await", json!({})),
        ("subagent_spawn", json!({"prompt": "work", "label": "last"})),
        ("subagent_await", json!({})),
        ("subagent_list", json!({})),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let family: Vec<_> = agents(&actor).await;
    let family: Vec<_> = family
        .iter()
        .map(|view| (view.agent.0, view.parent.unwrap().0, view.path.as_str()))
        .collect();
    assert_eq!(
        family,
        [
            (1, 0, "/root/middle"),
            (2, 1, "/root/middle/leaf"),
            (3, 0, "/root/last")
        ]
    );
    // A list has the direct children of the one who asks, oldest first.
    let ids = |listed: &Value| -> Vec<Value> {
        let sessions = listed["sessions"].as_array().unwrap();
        let ids = sessions.iter().map(|one| one["agent_id"].clone());
        ids.collect()
    };
    assert_eq!(ids(&answer(&stage, &actor, 4).await), [1, 3]);
    let middle = agent(&actor, "1").await.session;
    let listed = serde_json::from_str(&answers_of(&stage, middle)[2]).unwrap();
    assert_eq!(ids(&listed), [2]);
    assert_eq!(listed["sessions"][0]["parent_agent_id"], 1);
    end(actor).await;
}

#[tokio::test]
async fn a_number_is_not_used_again_after_a_prune_or_a_restart() {
    let spawn = call(&("subagent_spawn", json!({"prompt": "work"})));
    let wait = call(&("subagent_await", json!({})));
    let prune = call(&("subagent_prune", json!({"all": true})));
    let root = [
        &spawn,
        &wait,
        &prune,
        &spawn,
        &wait,
        "{ say = 'done' }",
        &prune,
        &spawn,
        &wait,
        "{ say = 'done again' }",
    ];
    let stage = stage("", &root, &[Family::Subagents]).await;
    let actor = open(&stage).await;
    let session = actor.session_id();
    end(actor).await;
    let mut actor = stage.resume(session).await;
    actor.turn("go on").await;
    let told = answers(&stage, &actor).await;
    let numbers: Vec<Value> = told
        .iter()
        .filter_map(|text| {
            serde_json::from_str::<Value>(text).unwrap()["requested"]
                .as_object()
                .map(|_| text)
        })
        .map(|text| serde_json::from_str::<Value>(text).unwrap()["agent_id"].clone())
        .collect();
    assert_eq!(numbers, [1, 2, 3]);
    end(actor).await;
}

#[tokio::test]
async fn nobody_interrupts_the_root_and_nobody_writes_to_himself() {
    let send = |arguments: Value| call(&("subagent_send_message", arguments));
    let interrupt = send(json!({"agent_id": 0, "prompt": "stop", "interrupt": true}));
    let only = send(json!({"agent_id": 0, "interrupt": true}));
    let itself = send(json!({"agent_id": "self", "prompt": "me"}));
    let above = send(json!({"agent_id": 0, "prompt": "look  here", "label": "found"}));
    let children = scene(
        "tell",
        &[&interrupt, &only, &itself, &above, "{ say = 'told' }"],
    );
    let cues: [Cue; 4] = [
        (
            "subagent_spawn",
            json!({"prompt": "tell", "label": "teller"}),
        ),
        (
            "subagent_send_message",
            json!({"agent_id": 0, "prompt": "me"}),
        ),
        ("subagent_send_message", json!({"agent_id": 1})),
        ("subagent_await", json!({"agent_id": 1})),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let told = answers(&stage, &actor).await;
    expect![[r#"
        an agent cannot send messages to itself; go on with the work instead
        there is nothing to send; give a prompt, or interrupt: true to stop the agent's task"#]]
    .assert_eq(&told[1..3].join("\n"));
    let views = agents(&actor).await;
    let told = answers_of(&stage, views[0].session);
    expect![[r#"
        agent 0 is the root and cannot be interrupted by agents; send it a regular message
        agent 0 is the root and cannot be interrupted by agents; send it a regular message
        no agent "self"; give an agent number, a path such as /root/name, a session id, "parent" or "root""#]].assert_eq(&told[..3].join("\n"));
    let above: Value = serde_json::from_str(&told[3]).unwrap();
    let root = json!(actor.session_id());
    assert_eq!(above["session_id"], root);
    assert_eq!(above["agent_id"], 0);
    assert_eq!(above["label"], "found");
    assert_eq!(above["summary"], "look here");
    end(actor).await;
}

#[tokio::test]
async fn a_message_starts_an_idle_child_and_joins_a_busy_one() {
    let children = scene(
        "errand",
        &[
            "{ say = 'first' }",
            &until_there("go"),
            "{ say = 'second' }",
        ],
    );
    let send = |prompt: &str| {
        (
            "subagent_send_message",
            json!({"agent_id": 1, "prompt": prompt, "label": "note"}),
        )
    };
    let cues: [Cue; 7] = [
        ("subagent_spawn", json!({"prompt": "errand"})),
        ("subagent_await", json!({})),
        send("more"),
        (
            "shell_command",
            json!({"command": "until [ -e busy ]; do sleep 0.02; done"}),
        ),
        send("also"),
        ("shell_command", json!({"command": "touch go"})),
        ("subagent_await", json!({})),
    ];
    let stage = subagents(&children, &cues).await;
    let mut actor = super::play::begin(&stage).await;
    actor.until(cast::is_completed(1)).await;
    actor.until(cast::is_running(1)).await;
    let child = agent(&actor, "1").await.session;
    while requests_of(&stage, child).len() < 2 {
        tokio::task::yield_now().await;
    }
    stage.write("busy", "");
    actor.until_task_ends().await;
    let receipt = async |n| answer(&stage, &actor, n).await["receipt"].clone();
    assert_eq!(receipt(2).await, json!({"status": "delivered"}));
    assert_eq!(receipt(4).await, json!({"status": "queued", "position": 1}));
    assert_eq!(
        heard(&stage, child),
        ["errand", "[note] more", "[note] also"]
    );
    let waited = answer(&stage, &actor, 6).await;
    assert_eq!(
        waited["completion"],
        json!({"Completed": {"last_message": "second"}})
    );
    // The message joined the running task: there is one task for both.
    let root = actor.session_id();
    end(actor).await;
    let lines = lines(&stage, root).await;
    let took = lines.iter().any(|line| {
        matches!(&line.record.fact, TreeFact::Took { agent, messages }
            if *agent == AgentId(1) && messages.len() == 1)
    });
    assert!(took);
}

#[tokio::test]
async fn a_child_writes_to_its_parent_and_siblings_but_interrupts_none_of_them() {
    let send = |arguments: Value| call(&("subagent_send_message", arguments));
    let parent = send(json!({"agent_id": "parent", "prompt": "hello up"}));
    let sibling = send(json!({"agent_id": 1, "prompt": "hello there"}));
    let rude = send(json!({"agent_id": 1, "prompt": "stop", "interrupt": true}));
    let cancel = call(&("subagent_cancel", json!({"agent_id": 1})));
    let wait = call(&("subagent_await", json!({"agent_id": 1})));
    let watch = call(&("subagent_watchdog", json!({"agent_id": 1})));
    let prune = call(&("subagent_prune", json!({"agent_ids": [1]})));
    let turns = [
        &*parent,
        &sibling,
        &rude,
        &cancel,
        &wait,
        &watch,
        &prune,
        "{ say = 'greeted' }",
    ];
    let children =
        scene("greet", &turns) + &scene("stay", &[&until_there("go"), "{ say = 'heard' }"]);
    let cues: [Cue; 5] = [
        ("subagent_spawn", json!({"prompt": "stay"})),
        ("subagent_spawn", json!({"prompt": "greet"})),
        // The greeting ends the first wait.
        ("subagent_await", json!({"agent_id": 2})),
        ("subagent_await", json!({"agent_id": 2})),
        ("shell_command", json!({"command": "touch go"})),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let greeter = agent(&actor, "2").await.session;
    let told = answers_of(&stage, greeter);
    let sent: Value = serde_json::from_str(&told[1]).unwrap();
    assert_eq!(sent["receipt"]["status"], "queued", "{sent}");
    expect![[r#"
        Not permitted to message agents outside your subtree.
        Not permitted to cancel agents outside your subtree.
        Not permitted to wait for agents outside your subtree.
        Not permitted to watch agents outside your subtree."#]]
    .assert_eq(&told[2..6].join("\n"));
    let pruned: Value = serde_json::from_str(&told[6]).unwrap();
    expect![[r#"
        {
          "request": {
            "agent_ids": [
              "1"
            ],
            "all": false,
            "completed_only": true
          },
          "pruned": [],
          "skipped_active": [],
          "unknown": [],
          "errors": [
            {
              "agent_id": "1",
              "error": "Not permitted to prune agents outside your subtree."
            }
          ],
          "counts": {
            "pruned": 0,
            "skipped_active": 0,
            "unknown": 0,
            "errors": 1
          }
        }"#]]
    .assert_eq(&format!("{pruned:#}"));
    actor.agents().wait_until_idle().await;
    let stayed = agent(&actor, "1").await.session;
    let from_greeter = |text: &str| format!("[message from agent 2, /root/default_2]{text}");
    let told = heard(&stage, stayed);
    assert!(told.contains(&from_greeter("hello there")), "{told:?}");
    // The root reads its own in the answer of the wait, or behind it if it came before.
    let told = heard(&stage, actor.session_id());
    let by_wait = answer(&stage, &actor, 2).await["messages"] != json!([]);
    assert_ne!(
        told.contains(&from_greeter("hello up")),
        by_wait,
        "{told:?}"
    );
    end(actor).await;
}

#[tokio::test]
async fn over_the_limit_a_child_waits_in_line_and_finished_ones_take_no_slot() {
    let children = scene("stay", &[&until_there("go"), "{ say = 'stayed' }"]);
    let cues: [Cue; 6] = [
        ("subagent_spawn", json!({"prompt": "work"})),
        ("subagent_await", json!({})),
        ("subagent_spawn", json!({"prompt": "stay"})),
        ("subagent_spawn", json!({"prompt": "last"})),
        ("shell_command", json!({"command": "touch go"})),
        ("subagent_await", json!({"agent_id": 3})),
    ];
    let stage = empty_stage(&children, &cues).await;
    let mut options = stage.tree_options(&[Family::Subagents]);
    options.limits.max_threads = 1;
    let stage = stage.with_tree(options);
    let actor = play(&stage).await;
    let second = answer(&stage, &actor, 2).await;
    assert_eq!(second.get("queue_position"), None, "{second}");
    let third = answer(&stage, &actor, 3).await;
    assert_eq!(third["status"], "queued");
    assert_eq!(third["queue_position"], 1);
    let waited = answer(&stage, &actor, 5).await;
    assert_eq!(waited["completion_status"], "completed");
    end(actor).await;
}
