//! Waits for a child whose task a crash cut off: they end at once and say why, in every
//! family.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use troupe_agents::Family;
use troupe_protocol::SessionId;

use super::cast::{self, calm, plot};
use super::play::{Cue, agent, agents, answers_of, call, end, named, scene, until_there};
use super::resume::{Wreck, asked};

/// Lets the engine die while a child is at work, has the root wait for it in the next
/// process, and checks what the wait answers.
async fn check(family: Family, spawn: Cue, wait: impl Fn(SessionId) -> Cue, expected: Expect) {
    let talk = "{ say = 'half of it' }, ".to_owned() + &until_there("never");
    let children = scene("errand", &[&talk]);
    let root = [&*call(&spawn), "{ say = 'later' }"];
    let stage = cast::stage(&children, &root, &[family]).await;
    let actor = cast::open(&stage).await;
    asked(&stage, &actor, 1, 1).await;
    while agent(&actor, "1").await.current_tools().is_empty() {
        tokio::task::yield_now().await;
    }
    let (root, kid) = (actor.session_id(), agent(&actor, "1").await.session);
    let wreck = Wreck::of(&stage);
    actor.shut_down().await;

    let wait = call(&wait(kid));
    let turns = [&*wait, &wait, "{ say = 'waited' }"];
    let after = wreck
        .stage(&plot("", &turns), |options| options.families = vec![family])
        .await;
    let mut actor = after.resume(root).await;
    actor.turn("what became of it?").await;
    let views = agents(&actor).await;
    // It can be asked for again, and says the same.
    let told: Vec<String> = answers_of(&after, root)
        .iter()
        .skip(1)
        .map(|text| timeless(&named(&after, &views, text).replace(&root.to_string(), "/root")))
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0], told[1]);
    expected.assert_eq(&told[0]);
    actor.agents().wait_until_idle().await;
    assert_eq!(agent(&actor, "1").await.pending.messages, 0);
    end(actor).await;
}

fn timeless(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            calm(&mut value);
            format!("{value:#}")
        }
        // Errors are plain words.
        Err(_) => text.to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wait_tells_that_the_child_was_interrupted() {
    check(
        Family::Agents,
        (
            "spawn_agent",
            json!({"message": "errand", "task_name": "kid"}),
        ),
        |_| ("wait", json!({"ids": ["kid"]})),
        expect![[r#"
            {
              "status": {
                "/root/kid": "interrupted"
              },
              "timed_out": false
            }"#]],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wait_session_is_an_error_that_says_why_and_what_was_said() {
    check(
        Family::Sessions,
        (
            "create_session",
            json!({"session_type": "default", "prompt": "errand"}),
        ),
        |kid| {
            (
                "wait_session",
                json!({"session_id": kid, "timeout_ms": 20_000}),
            )
        },
        expect![[r#"
            child session /root/default ended early: the engine died while it ran
            its last message was: half of it"#]],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subagent_await_tells_that_the_child_was_cut_off() {
    check(
        Family::Subagents,
        (
            "subagent_spawn",
            json!({"prompt": "errand", "label": "kid"}),
        ),
        |_| ("subagent_await", json!({"agent_id": 1})),
        expect![[r#"
            {
              "session_id": "/root/kid",
              "agent_id": 1,
              "completion_status": "canceled",
              "lifecycle_status": "canceled",
              "started_at_ms": 0,
              "timed_out": false,
              "messages": [],
              "completion": {
                "Canceled": {
                  "reason": "the engine died while it ran"
                }
              },
              "metadata": {
                "status": "canceled",
                "reason": "crash",
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
                "summary": "errand",
                "started_at_ms": 0,
                "initial_message_count": 0,
                "pending_interrupts": 0
              },
              "injected": false
            }"#]],
    )
    .await;
}

/// Whom a crash cut off has no outcome that anybody waits for; the next task is told of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_id_there_is_nothing_to_wait_for() {
    check(
        Family::Subagents,
        (
            "subagent_spawn",
            json!({"prompt": "errand", "label": "kid"}),
        ),
        |_| ("subagent_await", json!({})),
        expect!["nothing to wait for: no child is active and every result was delivered; your children are 1 (canceled); give agent_id to hear the last outcome of one again"],
    )
    .await;
}
