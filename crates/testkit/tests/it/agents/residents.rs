//! Agents that nobody needs at present are out of memory, and nobody can tell.

use serde_json::json;
use troupe_testkit::{Actor, Stage};
use troupe_tree::CurrentStatus;
use troupe_tree::command::SendUrgency;
use troupe_tree::effect::DeliveryReceipt;
use troupe_tree::limits::RESIDENT_AGENTS_MAX;

use super::cast::{heard, message, open, stage_with};
use super::play::{agent, agents, call, end, scene};

const CHILDREN: usize = RESIDENT_AGENTS_MAX + 6;

/// A root with more children than are kept in memory, all of them done.
async fn crowd() -> (Stage, Actor) {
    let spawn = |n: usize| {
        let arguments = json!({
            "message": format!("piece {n}."), "task_name": format!("piece{n}"),
            "thread_note": format!("note {n}"), "enable_callback": false,
        });
        call(&("spawn_agent", arguments))
    };
    let spawns: Vec<String> = (1..=CHILDREN).map(spawn).collect();
    let children = scene("piece", &["{ say = 'first' }", "{ say = 'second' }"]);
    let root = [&*spawns.join(", "), "{ say = 'spawned' }"];
    let stage = stage_with(&children, &root, |options| {
        options.limits.max_spawns_per_minute = CHILDREN;
    })
    .await;
    let actor = open(&stage).await;
    actor.agents().wait_until_idle().await;
    (stage, actor)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_agents_are_unloaded_and_come_back_when_they_are_addressed() {
    let (stage, actor) = crowd().await;
    let views = agents(&actor).await;
    assert_eq!(views.len(), CHILDREN);
    assert!(
        views
            .iter()
            .all(|view| view.status == CurrentStatus::Completed)
    );
    let loaded = |view: &&troupe_agents::tree_access::AgentView| view.pulse.is_some();
    let in_memory = views.iter().filter(loaded).count();
    assert!(in_memory <= RESIDENT_AGENTS_MAX, "{in_memory}");
    let away = views.iter().find(|view| view.pulse.is_none()).unwrap();
    let number = away.path.trim_start_matches("/root/piece");
    // What is asked about it is answered without it.
    assert_eq!(away.preview.as_deref(), Some("first"));
    assert_eq!(away.note, Some(format!("note {number}")));
    let desk = actor.agents().user();
    let result = desk.result(&away.path, None).await.unwrap();
    assert_eq!(result.last_message.as_deref(), Some("first"));
    // It is started like any other, and knows what it knew.
    let more = desk.send(&away.path, message("more"), SendUrgency::Regular);
    assert_eq!(more.await.unwrap().receipt, DeliveryReceipt::Delivered);
    actor.agents().wait_until_idle().await;
    let view = agent(&actor, &away.path).await;
    assert!(view.pulse.is_some());
    assert_eq!(view.preview.as_deref(), Some("second"));
    assert_eq!(
        heard(&stage, away.session),
        [format!("piece {number}."), "more".to_owned()]
    );
    // Tokens of both tasks, counted once.
    assert_eq!(view.usage.total_tokens, 2 * 120);
    let in_memory = agents(&actor).await.iter().filter(loaded).count();
    assert!(in_memory <= RESIDENT_AGENTS_MAX, "{in_memory}");
    end(actor).await;
}
