//! Agents that come back: by `resume_agent`, and with their tree after a restart.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use troupe_agents::tree_access::AgentScope;
use troupe_agents::{Family, TreeOptions};
use troupe_protocol::agent::{AgentOrigin, AgentStatus};
use troupe_testkit::{Actor, Stage};

use super::cast::{self, lives};
use super::hands::Hands;
use super::logs;
use super::play::{agent, agents, answers, call, end, recorded, scene, until_there};

fn spawn(message: &str, name: &str) -> String {
    cast::spawn_agent(message, name)
}

fn wait(name: &str) -> String {
    call(&("wait", json!({"ids": [name]})))
}

fn close(name: &str) -> String {
    call(&("close_agent", json!({"id": name})))
}

fn resume(name: &str) -> String {
    call(&("resume_agent", json!({"id": name})))
}

/// A tree in which a child and its own child are done, and the younger one is closed. When it
/// is taken up again, the root resumes the younger one.
async fn family(adjust: impl FnOnce(&mut TreeOptions)) -> (Stage, Actor) {
    let middle = [
        &*spawn("leaf", "leaf"),
        &wait("leaf"),
        "{ say = 'middle done' }",
    ];
    let children = scene("middle", &middle);
    let leaf = "/root/middle/leaf";
    let root = [
        &*spawn("middle", "middle"),
        &wait("middle"),
        &close(leaf),
        "{ say = 'closed' }",
        &resume(leaf),
        "{ say = 'tried' }",
    ];
    let stage = cast::stage_with(&children, &root, |_| ()).await;
    let actor = cast::open(&stage).await;
    let root = actor.session_id();
    end(actor).await;
    let mut options = stage.tree_options(&[Family::Agents]);
    adjust(&mut options);
    let stage = stage.with_tree(options);
    let actor = stage.resume(root).await;
    (stage, actor)
}

async fn check_refused(stage: &Stage, mut actor: Actor, expected: Expect) {
    actor.turn("bring it back").await;
    let told = answers(stage, &actor).await.pop().unwrap();
    expected.assert_eq(&told);
    let leaf = agent(&actor, "2").await;
    assert_eq!(leaf.wire_status(), AgentStatus::Shutdown);
    end(actor).await;
}

#[tokio::test]
async fn nobody_comes_back_deeper_than_max_depth() {
    let (stage, actor) = family(|options| options.limits.max_depth = 1).await;
    check_refused(&stage, actor, expect!["agent 2 is at depth 2, and the limit is 1 ([agents] max_depth); give its work to an agent further up"]).await;
}

#[tokio::test]
async fn nobody_comes_back_to_a_tree_that_is_full() {
    let (stage, actor) = family(|options| options.limits.max_agents = 2).await;
    check_refused(&stage, actor, expect!["the tree has 2 agents already ([agents] max_agents); close or prune finished agents, or send the work to an idle one"]).await;
}

#[tokio::test]
async fn who_has_no_log_any_more_cannot_come_back() {
    let (stage, actor) = family(|_| ()).await;
    let leaf = agent(&actor, "2").await.session;
    std::fs::remove_file(logs::path_of(&stage, leaf)).unwrap();
    check_refused(&stage, actor, expect![[r#"agent 2 cannot come back, because its log cannot be read; give its work to another agent (no session "/root/middle/leaf" in this home; `troupe sessions list` shows the known ones)"#]]).await;
}

/// What is known of everybody who was ever born.
async fn known(actor: &Actor) -> Vec<(String, Option<AgentOrigin>, AgentStatus, bool)> {
    let listed: Vec<_> = actor
        .agents()
        .user()
        .list(AgentScope::All, false)
        .await
        .unwrap();
    let views = agents(actor).await.into_iter();
    views
        .map(|view| {
            let is_listed = listed.iter().any(|other| other.agent == view.agent);
            (
                view.path.clone(),
                view.origin,
                view.wire_status(),
                is_listed,
            )
        })
        .collect()
}

#[tokio::test]
async fn forks_cancelled_and_pruned_agents_are_what_they_were_after_a_restart() {
    let children = scene("stay", &[&until_there("never")]);
    let make = |tool: &'static str, prompt: &str, label: &str| {
        call(&(tool, json!({"prompt": prompt, "label": label})))
    };
    let by_number = |tool: &'static str, number: u32| call(&(tool, json!({"agent_id": number})));
    let root = [
        &*make("subagent_fork", "branch off", "fork"),
        &by_number("subagent_await", 1),
        &make("subagent_spawn", "stay", "cancelled"),
        &by_number("subagent_cancel", 2),
        &by_number("subagent_await", 2),
        &make("subagent_spawn", "work", "pruned"),
        &by_number("subagent_await", 3),
        &call(&("subagent_prune", json!({"agent_ids": [3]}))),
        "{ say = 'done' }",
    ];
    let stage = cast::stage(
        &(scene("branch off", &["{ say = 'branched' }"]) + &children),
        &root,
        &[Family::Subagents],
    )
    .await;
    let actor = cast::open(&stage).await;
    actor.agents().wait_until_idle().await;
    let root = actor.session_id();
    let before = known(&actor).await;
    end(actor).await;
    let told = lives(&recorded(&stage, root).await);
    let actor = stage.resume(root).await;
    assert_eq!(known(&actor).await, before);
    end(actor).await;
    assert_eq!(
        lives(&recorded(&stage, root).await),
        told,
        "nothing is told twice"
    );
    let before: Vec<String> = before
        .into_iter()
        .map(|(path, origin, status, is_listed)| {
            format!(
                "{path} {:?} {status:?}, listed: {is_listed}",
                origin.unwrap()
            )
        })
        .collect();
    expect![[r#"
        /root/fork Fork Completed(Some("branched")), listed: true
        /root/cancelled Spawn Cancelled, listed: true
        /root/pruned Spawn Completed(Some("ok")), listed: false"#]]
    .assert_eq(&before.join("\n"));
}

/// What the root's list says of how long its child has been what it is.
async fn stands_since(stage: &Stage, actor: &Actor) -> i64 {
    let listed = answers(stage, actor).await.pop().unwrap();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let since = &listed["agents"][0]["status_duration_sec"];
    since.as_i64().expect("it is a number")
}

#[tokio::test]
async fn how_long_an_agent_has_stood_is_counted_from_its_last_change_over_a_restart_too() {
    let hands = Hands::default();
    let list = call(&("list_active_agents", json!({})));
    let root = [
        &*spawn("work", "kid"),
        &wait("kid"),
        "{ say = 'waited' }",
        &list,
        "{ say = 'listed' }",
        &list,
        "{ say = 'listed again' }",
    ];
    let stage = cast::stage_with("", &root, |_| ()).await;
    let stage = stage.clock(hands.clock());
    let mut actor = cast::open(&stage).await;
    hands.turn(&actor, 100).await;
    actor.turn("how long?").await;
    let before = stands_since(&stage, &actor).await;
    assert!((100..200).contains(&before), "{before}");
    let root = actor.session_id();
    end(actor).await;
    let mut actor = stage.resume(root).await;
    hands.turn(&actor, 1_000).await;
    actor.turn("and now?").await;
    let after = stands_since(&stage, &actor).await;
    assert!((1_100..1_200).contains(&after), "{after}");
    end(actor).await;
}
