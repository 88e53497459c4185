//! Many agents: scenarios of parents and children.

mod approvals;
mod awaits;
mod busy;
mod callback_texts;
mod callbacks;
mod cast;
mod close;
mod crash;
mod fork;
mod inbox;
mod lists;
mod lives;
mod logs;
mod nesting;
mod notes;
mod play;
mod residents;
mod resume;
mod reviews;
mod rights;
mod roles;
mod script;
mod send;
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
