//! A fork's history names agents that are not in its tree.

use serde_json::json;
use troupe_agents::Family;
use troupe_agents::tree_access::CallbackChoice;
use troupe_protocol::AgentId;
use troupe_protocol::op::{ConfigureSession, ForkPoint};
use troupe_protocol::tree::{CallbackMode, TreeFact};
use troupe_testkit::{Actor, Stage};

use super::cast::{lines, open, spawn_agent, stage, wish};
use super::play::{agents, answers_of, call, end, requests_of, scene};

const NOT_IN_YOUR_TREE: &str = "are not in your tree";

async fn fork(stage: &Stage, of: &Actor) -> Actor {
    stage
        .start_with(ConfigureSession {
            fork: Some(ForkPoint {
                session_id: of.session_id(),
                last_response_id: None,
                turns: None,
                turn: None,
            }),
            ..ConfigureSession::default()
        })
        .await
}

/// A root with two children. Whoever is asked to make another writes to the first one before.
async fn with_two_children() -> (Stage, Actor) {
    let (first, second) = (spawn_agent("one", "kid"), spawn_agent("two", "kid"));
    let both = call(&("wait", json!({"ids": ["1"]})));
    let other = call(&("wait", json!({"ids": ["2"]})));
    let write = call(&("send_input", json!({"id": "1", "message": "go on"})));
    let third = spawn_agent("three", "new");
    let anew = scene(
        "make another",
        &[&write, &third, "{ say = 'made another' }"],
    );
    let root = [&*first, &second, &both, &other, "{ say = 'both are done' }"];
    let stage = stage(&anew, &root, &[Family::Agents]).await;
    let actor = open(&stage).await;
    actor.agents().wait_until_idle().await;
    (stage, actor)
}

#[tokio::test]
async fn a_fork_counts_its_agents_on_and_is_told_which_are_not_its_own() {
    let (stage, source) = with_two_children().await;
    let mut forked = fork(&stage, &source).await;
    forked.turn("make another").await;
    let own: Vec<AgentId> = agents(&forked).await.iter().map(|one| one.agent).collect();
    assert_eq!(own, [AgentId(3)]);
    // What is meant for an agent of the other tree reaches nobody.
    let answers = answers_of(&stage, forked.session_id());
    assert!(answers[4].contains("no agent"), "{}", answers[4]);
    let requests = requests_of(&stage, forked.session_id());
    let first = requests[0]["input"].to_string();
    assert_eq!(first.matches(NOT_IN_YOUR_TREE).count(), 1, "{first}");
    assert!(first.contains("/root/kid (agent 1, session"), "{first}");
    assert!(first.contains("/root/kid_2 (agent 2, session"), "{first}");
    let session = forked.session_id();
    end(forked).await;
    let resumed = stage.resume(session).await;
    let again: Vec<AgentId> = agents(&resumed).await.iter().map(|one| one.agent).collect();
    assert_eq!(again, own);
    end(resumed).await;
    end(source).await;
}

#[tokio::test]
async fn a_fork_that_made_nobody_yet_counts_on_after_a_resume_too() {
    let (stage, source) = with_two_children().await;
    let forked = fork(&stage, &source).await;
    let session = forked.session_id();
    end(forked).await;
    end(source).await;
    let mut resumed = stage.resume(session).await;
    resumed.turn("make another").await;
    let first = requests_of(&stage, session)[0]["input"].to_string();
    assert_eq!(first.matches(NOT_IN_YOUR_TREE).count(), 1, "{first}");
    end(resumed).await;
    let lines = lines(&stage, session).await;
    let above = lines.iter().find_map(|line| match line.record.fact {
        TreeFact::Rooted { above, .. } => above,
        _ => None,
    });
    assert_eq!(above, Some(AgentId(2)));
}

#[tokio::test]
async fn a_fork_of_a_fork_counts_on_above_both() {
    let (stage, source) = with_two_children().await;
    let mut first = fork(&stage, &source).await;
    first.turn("make another").await;
    let second = fork(&stage, &first).await;
    let request = wish(&stage, "four", CallbackChoice::default());
    let made = second.agents().user().spawn(request).await.unwrap();
    assert_eq!(made.view.agent, AgentId(4));
    for actor in [second, first, source] {
        end(actor).await;
    }
}

#[tokio::test]
async fn no_child_of_a_fork_has_a_path_that_its_history_names() {
    let (stage, source) = with_two_children().await;
    let first = fork(&stage, &source).await;
    let silent = CallbackChoice {
        mode: CallbackMode::Off,
        config: None,
    };
    let wished = || wish(&stage, "four", silent.clone());
    let made = first.agents().user().spawn(wished()).await.unwrap();
    assert_eq!(made.view.path, "/root/kid_3");
    let session = first.session_id();
    end(first).await;
    // It is in the log.
    let first = stage.resume(session).await;
    let desk = first.agents().user();
    let refused = desk.view("/root/kid").await.unwrap_err().to_string();
    assert!(refused.contains("no agent"), "{refused}");
    assert_eq!(desk.spawn(wished()).await.unwrap().view.path, "/root/kid_4");
    let second = fork(&stage, &first).await;
    let made = second.agents().user().spawn(wished()).await.unwrap();
    assert_eq!(made.view.path, "/root/kid_5");
    for actor in [second, first, source] {
        end(actor).await;
    }
}

#[tokio::test]
async fn a_fork_of_a_conversation_without_agents_has_no_tree() {
    let stage = stage("", &["{ say = 'hello' }"], &[Family::Agents]).await;
    let source = open(&stage).await;
    let forked = fork(&stage, &source).await;
    assert!(!forked.agents().is_planted());
    end(forked).await;
    end(source).await;
}
