//! Inboxes: in which order mail is taken, what senders and people are told of it.

use std::path::Path;

use serde_json::{Value, json};
use troupe_agents::Family;
use troupe_agents::tree_access::TreeStopRequest;
use troupe_protocol::agent::WaitingOn;
use troupe_protocol::op::{ConfigureSession, Op};
use troupe_protocol::tree::TreeFact;
use troupe_protocol::{AgentId, EventMsg, StopVerb};
use troupe_testkit::{Actor, Stage};
use troupe_tree::command::{SendUrgency, StopMode};
use troupe_tree::effect::{DeliveryReceipt, HoldReason, UndeliverableReason};
use troupe_tree::status::CurrentStatus;

use super::cast::{
    self, begun, depths, has_mail, heard, is_completed, is_now, is_running, lines, message, open,
    sleeper, stage, stage_with, told,
};
use super::play::{agent, call, end, requests_of, scene, until_there};

fn spawn(prompt: &str) -> String {
    call(&("subagent_spawn", json!({"prompt": prompt, "label": prompt})))
}

async fn sent(actor: &Actor, to: &str, text: &str, urgency: SendUrgency) -> DeliveryReceipt {
    let desk = actor.agents().user();
    let sent = desk.send(to, message(text), urgency).await;
    sent.expect("the message is taken").receipt
}

/// Lets the root begin, and stays until this agent has asked its model.
async fn open_until_asked(stage: &Stage, number: u32) -> Actor {
    let mut actor = stage.start().await;
    actor.say(cast::OPENING).await;
    actor.until(is_running(number)).await;
    let session = agent(&actor, &number.to_string()).await.session;
    while requests_of(stage, session).is_empty() {
        tokio::task::yield_now().await;
    }
    actor
}

#[tokio::test]
async fn the_depth_of_an_inbox_is_told_with_every_message_and_when_it_is_taken() {
    let children = scene("stay", &[&until_there("go"), "{ say = 'stayed' }"]);
    let root = [&*spawn("stay"), "{ say = 'later' }"];
    let stage = stage(&children, &root, &[Family::Subagents]).await;
    let mut actor = open_until_asked(&stage, 1).await;
    let receipts = [
        sent(&actor, "1", "one", SendUrgency::Regular).await,
        sent(&actor, "1", "two", SendUrgency::Regular).await,
    ];
    assert_eq!(
        receipts,
        [
            DeliveryReceipt::Queued { position: 1 },
            DeliveryReceipt::Queued { position: 2 }
        ]
    );
    stage.write("go", "");
    actor.until(is_completed(1)).await;
    // Its first message taken, the two others come, and both taken with one request.
    assert_eq!(depths(&actor, 1), [(0, 0), (1, 0), (2, 0), (0, 0)]);
    let session = agent(&actor, "1").await.session;
    assert_eq!(heard(&stage, session), ["stay", "one", "two"]);
    end(actor).await;
}

#[tokio::test]
async fn an_interrupt_goes_first_then_messages_then_callbacks() {
    let children = scene("leaf", &["{ say = 'leaf done' }"])
        + &scene(
            "middle",
            &[
                &spawn("leaf"),
                &until_there("never"),
                "{ say = 'urgent things' }",
                "{ say = 'called back' }",
            ],
        );
    let root = [&*spawn("middle"), "{ say = 'later' }"];
    let stage = stage(&children, &root, &[Family::Subagents]).await;
    let mut actor = open_until_asked(&stage, 1).await;
    actor.until(has_mail(1, 1, 0)).await;
    let session = agent(&actor, "1").await.session;
    while requests_of(&stage, session).len() < 2 {
        tokio::task::yield_now().await;
    }
    sent(&actor, "1", "by the way", SendUrgency::Regular).await;
    sent(&actor, "1", "drop that", SendUrgency::Interrupt).await;
    actor.until(has_mail(1, 2, 1)).await;
    actor.agents().wait_until_idle().await;
    let heard = heard(&stage, session);
    assert_eq!(heard[..3], ["middle", "drop that", "by the way"]);
    assert!(heard[3].starts_with("[Troupe]"), "{heard:?}");
    let root = actor.session_id();
    end(actor).await;
    // The interrupt and the message made one task, the callback another.
    let lines = lines(&stage, root).await;
    let begun = lines.iter().filter(
        |line| matches!(line.record.fact, TreeFact::Started { agent, .. } if agent == AgentId(1)),
    );
    assert_eq!(begun.count(), 3);
}

#[tokio::test]
async fn an_interrupt_takes_the_place_of_a_task_that_has_not_begun() {
    let wait = call(&("subagent_await", json!({})));
    let children = scene(
        "dig a hole",
        &["{ say = 'dug' }", "{ say = 'did the other thing' }"],
    );
    let root = [&*spawn("dig a hole"), &wait, "{ say = 'done' }"];
    let stage = stage(&children, &root, &[Family::Subagents]).await;
    let actor = open(&stage).await;
    // Both are asked before the session can begin with the first.
    let receipts = tokio::join!(
        sent(&actor, "1", "one thing", SendUrgency::Regular),
        sent(&actor, "1", "no, another", SendUrgency::Interrupt)
    );
    assert_eq!(
        receipts,
        (DeliveryReceipt::Delivered, DeliveryReceipt::Delivered)
    );
    actor.agents().wait_until_idle().await;
    let session = agent(&actor, "1").await.session;
    assert_eq!(
        heard(&stage, session),
        ["dig a hole", "one thing", "no, another"]
    );
    assert_eq!(requests_of(&stage, session).len(), 2);
    let root = actor.session_id();
    end(actor).await;
    assert_eq!(begun(&stage, root, AgentId(1)).await, (2, true));
}

#[tokio::test]
async fn of_interrupts_before_a_task_has_begun_the_newest_begins_it() {
    let wait = call(&("subagent_await", json!({})));
    let root = [&*spawn("work"), &wait, "{ say = 'done' }"];
    let stage = stage("", &root, &[Family::Subagents]).await;
    let actor = open(&stage).await;
    tokio::join!(
        sent(&actor, "1", "this", SendUrgency::Interrupt),
        sent(&actor, "1", "no, that", SendUrgency::Interrupt),
        sent(&actor, "1", "by the way", SendUrgency::Regular)
    );
    actor.agents().wait_until_idle().await;
    let session = agent(&actor, "1").await.session;
    assert_eq!(
        heard(&stage, session),
        ["work", "this", "no, that", "by the way"]
    );
    let requests = requests_of(&stage, session);
    let second = requests[1].to_string();
    assert!(second.contains("this") && second.contains("no, that"));
    end(actor).await;
}

#[tokio::test]
async fn a_cancel_behind_an_interrupt_ends_a_task_that_has_not_begun() {
    let wait = call(&("subagent_await", json!({})));
    let root = [&*spawn("work"), &wait, "{ say = 'done' }"];
    let stage = stage("", &root, &[Family::Subagents]).await;
    let actor = open(&stage).await;
    let desk = actor.agents().user();
    let (_, _, stopped) = tokio::join!(
        sent(&actor, "1", "this", SendUrgency::Regular),
        sent(&actor, "1", "no, that", SendUrgency::Interrupt),
        desk.stop(stop(StopVerb::Cancel))
    );
    stopped.unwrap();
    actor.agents().wait_until_idle().await;
    assert_eq!(agent(&actor, "1").await.status, CurrentStatus::Cancelled);
    end(actor).await;
}

#[tokio::test]
async fn an_interrupt_in_line_does_not_leave_the_prompt_to_a_task_of_its_own() {
    let children = scene("hold", &[&until_there("gate"), "{ say = 'let go' }"]);
    let root = [&*spawn("hold"), &spawn("work"), "{ say = 'later' }"];
    let stage = Stage::new(&cast::plot(&children, &root)).await;
    let stage = stage.idle_timeout_ms(120_000);
    let mut options = stage.tree_options(&[Family::Subagents]);
    options.limits.max_threads = 1;
    let stage = stage.with_tree(options);
    let actor = open(&stage).await;
    let receipt = sent(&actor, "2", "no, play", SendUrgency::Interrupt).await;
    assert_eq!(receipt, DeliveryReceipt::Queued { position: 1 });
    stage.write("gate", "");
    actor.agents().wait_until_idle().await;
    let session = agent(&actor, "2").await.session;
    assert_eq!(heard(&stage, session), ["work", "no, play"]);
    assert_eq!(requests_of(&stage, session).len(), 1);
    let root = actor.session_id();
    end(actor).await;
    assert_eq!(begun(&stage, root, AgentId(2)).await, (1, true));
}

#[tokio::test]
async fn a_new_configuration_leaves_nobody_in_line() {
    let children = scene("hold", &[&until_there("gate"), "{ say = 'let go' }"]);
    let root = [&*spawn("hold"), &spawn("work"), "{ say = 'later' }"];
    let stage = Stage::new(&cast::plot(&children, &root)).await;
    let mut options = stage.tree_options(&[Family::Subagents]);
    options.limits.max_threads = 1;
    let stage = stage.with_tree(options);
    let mut actor = open(&stage).await;
    let session = agent(&actor, "2").await.session;
    actor
        .submit(Op::ConfigureSession(ConfigureSession::default()))
        .await;
    actor.agents().wait_until_idle().await;
    assert!(requests_of(&stage, session).is_empty(), "it never began");
    end(actor).await;
}

#[tokio::test]
async fn a_message_to_an_idle_agent_starts_it_however_urgent() {
    let wait = call(&("subagent_await", json!({})));
    let root = [&*spawn("work"), &wait, "{ say = 'done' }"];
    let stage = stage("", &root, &[Family::Subagents]).await;
    let actor = open(&stage).await;
    for (text, urgency) in [
        ("more", SendUrgency::Regular),
        ("at once", SendUrgency::Interrupt),
    ] {
        let receipt = sent(&actor, "1", text, urgency).await;
        assert_eq!(receipt, DeliveryReceipt::Delivered, "{text}");
        actor.agents().wait_until_idle().await;
    }
    let session = agent(&actor, "1").await.session;
    assert_eq!(heard(&stage, session), ["work", "more", "at once"]);
    end(actor).await;
}

#[tokio::test]
async fn a_message_to_a_waiting_agent_is_held_until_it_goes_on() {
    let wait = call(&("subagent_await", json!({})));
    let children = scene("leaf", &[&until_there("go"), "{ say = 'leaf done' }"])
        + &scene("middle", &[&spawn("leaf"), &wait, "{ say = 'done' }"]);
    let root = [&*spawn("middle"), "{ say = 'later' }"];
    let stage = stage(&children, &root, &[Family::Subagents]).await;
    let actor = open_until_asked(&stage, 1).await;
    let on = WaitingOn::Child;
    while agent(&actor, "1").await.status != (CurrentStatus::Waiting { on }) {
        tokio::task::yield_now().await;
    }
    let why = HoldReason::Waiting(on);
    assert_eq!(
        sent(&actor, "1", "when you can", SendUrgency::Regular).await,
        DeliveryReceipt::Held { why }
    );
    stage.write("go", "");
    actor.agents().wait_until_idle().await;
    let session = agent(&actor, "1").await.session;
    assert_eq!(heard(&stage, session), ["middle", "when you can"]);
    end(actor).await;
}

fn stop(verb: StopVerb) -> TreeStopRequest {
    TreeStopRequest {
        verb,
        targets: vec!["1".to_owned()],
        mode: StopMode::Act,
        note: None,
    }
}

#[tokio::test]
async fn a_message_to_one_who_is_being_stopped_waits_or_is_dead() {
    let stubborn = call(&(
        "shell_command",
        json!({"command": "trap '' TERM; until [ -e never ]; do sleep 0.02; done"}),
    ));
    let children = scene("stay", &[&stubborn, "{ say = 'on with it' }"]);
    for (verb, receipt) in [
        (
            StopVerb::Interrupt,
            DeliveryReceipt::Held {
                why: HoldReason::Stopping,
            },
        ),
        (
            StopVerb::Cancel,
            DeliveryReceipt::Dead {
                why: UndeliverableReason::Stopping,
            },
        ),
    ] {
        let root = [&*spawn("stay"), "{ say = 'later' }"];
        let stage = stage(&children, &root, &[Family::Subagents]).await;
        let actor = open_until_asked(&stage, 1).await;
        let desk = actor.agents().user();
        // Both are asked before the session can answer the stop.
        let (stopped, received) = tokio::join!(
            desk.stop(stop(verb)),
            sent(&actor, "1", "go on", SendUrgency::Regular)
        );
        stopped.unwrap();
        assert_eq!(received, receipt);
        actor.agents().wait_until_idle().await;
        let session = agent(&actor, "1").await.session;
        let heard = heard(&stage, session);
        let is_heard = heard.contains(&"go on".to_owned());
        assert_eq!(is_heard, verb == StopVerb::Interrupt, "{heard:?}");
        end(actor).await;
    }
}

#[tokio::test]
async fn a_message_to_a_closed_agent_is_dead_until_it_is_resumed() {
    let wait = call(&("subagent_await", json!({})));
    let root = [&*spawn("work"), &wait, "{ say = 'done' }"];
    let stage = stage("", &root, &[Family::Subagents]).await;
    let mut actor = open(&stage).await;
    let desk = actor.agents().user();
    desk.stop(stop(StopVerb::Close)).await.unwrap();
    actor
        .until(is_now(1, |status| {
            *status == troupe_protocol::agent::AgentStatus::Shutdown
        }))
        .await;
    let why = UndeliverableReason::Closed;
    assert_eq!(
        sent(&actor, "1", "hello?", SendUrgency::Regular).await,
        DeliveryReceipt::Dead { why }
    );
    desk.resume("1").await.unwrap();
    assert_eq!(
        sent(&actor, "1", "hello!", SendUrgency::Regular).await,
        DeliveryReceipt::Delivered
    );
    actor.agents().wait_until_idle().await;
    let session = agent(&actor, "1").await.session;
    assert_eq!(heard(&stage, session), ["work", "hello!"]);
    end(actor).await;
}

#[tokio::test]
async fn a_message_of_a_child_starts_an_idle_parent() {
    let up = call(&(
        "subagent_send_message",
        json!({"agent_id": "parent", "prompt": "a question"}),
    ));
    let turns = [
        &*until_there("idle"),
        &up,
        &until_there("go"),
        "{ say = 'asked' }",
    ];
    let children = scene("ask", &turns);
    let root = [&*spawn("ask"), "{ say = 'later' }"];
    let stage = stage(&children, &root, &[Family::Subagents]).await;
    let mut actor = open(&stage).await;
    stage.write("idle", "");
    actor.until_task_ends().await;
    let to_root = heard(&stage, actor.session_id());
    // Whoever did not make the agent says who it is.
    assert_eq!(
        to_root.last().unwrap(),
        "[message from agent 1, /root/ask]a question"
    );
    stage.write("go", "");
    end(actor).await;
}

#[tokio::test]
async fn an_interrupt_with_a_prompt_replaces_the_task_and_without_one_only_stops_it() {
    let children = scene(
        "stay",
        &[
            &sleeper("first.pid"),
            &sleeper("second.pid"),
            "{ say = 'late' }",
        ],
    );
    let send = |arguments: Value| call(&("subagent_send_message", arguments));
    let instead = send(json!({"agent_id": 1, "prompt": "instead", "interrupt": true}));
    let stop = send(json!({"agent_id": 1, "interrupt": true}));
    let wait = call(&("subagent_await", json!({"agent_id": 1})));
    let root = [
        &*spawn("stay"),
        &until_there("first.pid"),
        &instead,
        &until_there("second.pid"),
        &stop,
        &wait,
        &stop,
        "{ say = 'done' }",
    ];
    let stage = stage(&children, &root, &[Family::Subagents]).await;
    let actor = open(&stage).await;
    let sent = told(&stage, &actor, 2).await;
    assert_eq!(sent["pending_interrupts"], 1, "{sent}");
    assert_eq!(told(&stage, &actor, 4).await["interrupted"], true);
    let reason = "interrupted by an agent above it";
    let waited = told(&stage, &actor, 5).await;
    assert_eq!(
        waited["completion"],
        json!({"Canceled": {"reason": reason}})
    );
    assert_eq!(told(&stage, &actor, 6).await["interrupted"], false);
    let child = agent(&actor, "1").await.session;
    assert_eq!(heard(&stage, child), ["stay", "instead"]);
    for file in ["first.pid", "second.pid"] {
        let pid = stage.read(file);
        assert!(!Path::new("/proc").join(pid.trim()).exists(), "{file}");
    }
    end(actor).await;
}

#[tokio::test]
async fn an_interrupt_of_the_roots_is_told_with_whose_inbox_it_is_in() {
    let children = scene(
        "stay",
        &[&until_there("never"), "{ say = 'changed course' }"],
    );
    let urgent = call(&(
        "subagent_send_message",
        json!({"agent_id": 3, "prompt": "other way", "interrupt": true}),
    ));
    let root = [
        &*spawn("one"),
        &spawn("two"),
        &spawn("stay"),
        "{ say = 'later' }",
        &urgent,
        "{ say = 'sent' }",
    ];
    let stage = stage_with(&children, &root, |options| {
        options.families = vec![Family::Subagents];
        options.callback.enabled = false;
    })
    .await;
    let mut actor = open_until_asked(&stage, 3).await;
    while !agent(&actor, "root").await.status.is_final() {
        tokio::task::yield_now().await;
    }
    actor.say("hurry it").await;
    actor.until(has_mail(3, 0, 1)).await;
    let told = actor.seen().last().unwrap().msg.clone();
    let session = agent(&actor, "3").await.session;
    let EventMsg::AgentInbox(told) = told else {
        panic!("until ends with what it waited for");
    };
    assert_eq!(told.session_id, session);
    actor.until(is_completed(3)).await;
    assert_eq!(depths(&actor, 3).last(), Some(&(0, 0)));
    assert_eq!(heard(&stage, session), ["stay", "other way"]);
    end(actor).await;
}

#[tokio::test]
async fn after_an_interrupt_of_the_parent_a_callback_is_held_until_the_next_word() {
    let children = scene("stay", &[&until_there("go"), "{ say = 'stayed' }"]);
    let root = [
        &*spawn("stay"),
        &until_there("never"),
        "{ say = 'back' }",
        "{ say = 'called' }",
    ];
    let stage = stage(&children, &root, &[Family::Subagents]).await;
    let mut actor = open_until_asked(&stage, 1).await;
    while requests_of(&stage, actor.session_id()).len() < 2 {
        tokio::task::yield_now().await;
    }
    actor.submit(Op::Interrupt).await;
    actor.until_task_ends().await;
    stage.write("go", "");
    actor.until(has_mail(0, 1, 0)).await;
    actor.agents().wait_until_idle().await;
    assert_eq!(agent(&actor, "root").await.pending.messages, 1, "it waits");
    assert_eq!(requests_of(&stage, actor.session_id()).len(), 2);
    actor.turn("I am back").await;
    actor.until_task_ends().await;
    let heard = heard(&stage, actor.session_id());
    let order = heard.iter().position(|text| text == "I am back");
    assert!(heard.last().unwrap().starts_with("[Troupe]"), "{heard:?}");
    assert_eq!(order, Some(heard.len() - 2), "{heard:?}");
    end(actor).await;
}
