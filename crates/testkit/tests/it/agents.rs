//! Many agents: scenarios of parents and children.

mod approvals;
mod awaits;
mod births;
mod busy;
mod callback_texts;
mod callbacks;
pub(super) mod cast;
mod close;
mod compaction;
mod configured;
mod crash;
mod crash_waits;
mod cut_off;
mod empty_log;
mod evidence;
mod foreign;
mod fork;
mod hands;
mod inbox;
mod lists;
mod lives;
mod logs;
mod lost;
mod nesting;
mod notes;
pub(super) mod play;
mod residents;
mod resume;
mod returns;
mod reviews;
mod rights;
mod roles;
mod send;
mod session_types;
mod sessions;
mod spawn;
mod stops;
mod storage;
mod subagents;
mod wait;
mod watchdogs;

use troupe_agents::Family;
use troupe_protocol::EventMsg;
use troupe_testkit::Stage;

/// A parent that spawns one child, waits for it, and answers with what it said.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parent_waits_for_its_child() {
    let stage = Stage::new(
        r#"
        [[scene]]
        when = "count the files"
        [[scene.turn]]
        steps = [{ say = "There are three." }]

        [[scene]]
        when = "delegate"
        [[scene.turn]]
        steps = [{ call = "spawn_agent", arguments = { message = "count the files", task_name = "counter" } }]
        [[scene.turn]]
        expect = "agent_id"
        steps = [{ call = "wait", arguments = { ids = ["/root/counter"] } }]
        [[scene.turn]]
        expect = "There are three."
        steps = [{ say = "My child says: three." }]
        "#,
    )
    .await
    .with_agents(&[Family::Agents]);
    let mut actor = stage.start().await;
    let events = actor.turn("delegate").await;
    let Some(EventMsg::TurnComplete(complete)) = events.last() else {
        panic!("{events:#?}");
    };
    assert_eq!(
        complete.last_agent_message.as_deref(),
        Some("My child says: three.")
    );
    actor.shut_down().await;
}

/// A parent that ends its task, and is called back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_parent_is_called_back() {
    let stage = Stage::new(
        r#"
        [[scene]]
        when = "count the files"
        [[scene.turn]]
        steps = [{ pause_ms = 100 }, { say = "There are three." }]

        [[scene]]
        when = "delegate"
        [[scene.turn]]
        steps = [{ call = "spawn_agent", arguments = { message = "count the files", task_name = "counter" } }]
        [[scene.turn]]
        steps = [{ say = "I will hear from it." }]
        [[scene.turn]]
        expect = "There are three."
        steps = [{ say = "It called: three." }]
        "#,
    )
    .await
    .with_agents(&[Family::Agents]);
    let mut actor = stage.start().await;
    actor.turn("delegate").await;
    let events = actor.until_task_ends().await;
    let Some(EventMsg::TurnComplete(complete)) = events.last() else {
        panic!("{events:#?}");
    };
    assert_eq!(
        complete.last_agent_message.as_deref(),
        Some("It called: three.")
    );
    actor.shut_down().await;
}

/// A child with mail of its own children is at its next task a moment after it has ended.
/// The wait tells what it had come to, and not how it stands by then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_tells_the_end_it_waited_for() {
    let stage = Stage::new(
        r#"
        [[scene]]
        when = "quick job"
        [[scene.turn]]
        steps = [{ say = "42" }]

        [[scene]]
        when = "be in the middle"
        [[scene.turn]]
        steps = [
            { call = "spawn_agent", arguments = { message = "quick job" } },
            { call = "spawn_agent", arguments = { message = "quick job" } },
        ]
        [[scene.turn]]
        steps = [{ pause_ms = 400 }, { say = "the first result" }]
        [[scene.turn]]
        steps = [{ say = "the second result" }]
        [[scene.turn]]
        steps = [{ say = "the third result" }]

        [[scene]]
        when = "delegate"
        [[scene.turn]]
        steps = [{ call = "spawn_agent", arguments = { message = "be in the middle", task_name = "middle" } }]
        [[scene.turn]]
        steps = [{ call = "wait", arguments = { ids = ["/root/middle"] } }]
        [[scene.turn]]
        expect = "the first result"
        steps = [{ say = "heard the first" }]
        [[scene.turn]]
        expect = "the second result"
        steps = [{ say = "heard the second" }]
        [[scene.turn]]
        expect = "the third result"
        steps = [{ say = "heard the third" }]
        "#,
    )
    .await
    .with_agents(&[Family::Agents]);
    let mut actor = stage.start().await;
    for heard in ["heard the first", "heard the second", "heard the third"] {
        let events = match heard {
            "heard the first" => actor.turn("delegate").await,
            _ => actor.until_task_ends().await,
        };
        let Some(EventMsg::TurnComplete(complete)) = events.last() else {
            panic!("{events:#?}");
        };
        assert_eq!(complete.last_agent_message.as_deref(), Some(heard));
    }
    actor.shut_down().await;
}
