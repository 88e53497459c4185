//! Children that begin with the conversation of their parent.

use serde_json::{Value, json};
use troupe_testkit::{Actor, Stage};

use super::play::{Cue, agent, answer, begin, end, requests_of, scene, script};

fn spawn(history: Value) -> Cue {
    (
        "spawn_agent",
        json!({"message": "carry on", "task_name": "kid", "history": history}),
    )
}

/// Plays two tasks of the root's, in the second of which it makes a child.
async fn forked(history: Value) -> (Stage, Actor) {
    let wait = ("wait", json!({"ids": ["kid"]}));
    let look = ("shell_command", json!({"command": "echo an earlier look"}));
    let root = script(
        &scene("carry on", &["{ say = 'carried on' }"]),
        &[look, spawn(history), wait],
    );
    // The first call is of the first task.
    let root = root.replacen(
        "[[scene.turn]]\nsteps = [{ call = 'spawn_agent'",
        "[[scene.turn]]\nsteps = [{ say = 'looked' }]\n[[scene.turn]]\nsteps = [{ call = 'spawn_agent'",
        1,
    );
    let stage = Stage::new(&root)
        .await
        .with_agents(&[troupe_agents::Family::Agents]);
    let mut actor = begin(&stage).await;
    actor.until_task_ends().await;
    actor.turn("now with help").await;
    (stage, actor)
}

#[tokio::test]
async fn without_history_a_child_knows_only_its_message() {
    let (stage, actor) = forked(json!("none")).await;
    let kid = agent(&actor, "/root/kid").await;
    let first = requests_of(&stage, kid.session)[0]["input"].to_string();
    assert!(first.contains("carry on"));
    for text in ["curtain up", "an earlier look", "now with help"] {
        assert!(!first.contains(text), "{text}");
    }
    end(actor).await;
}

#[tokio::test]
async fn with_all_history_the_childs_requests_begin_with_the_bytes_of_its_parents() {
    let (stage, actor) = forked(json!("all")).await;
    let root = actor.session_id();
    let kid = agent(&actor, "/root/kid").await;
    let child = requests_of(&stage, kid.session).remove(0);
    let parents = requests_of(&stage, root);
    // The third request of the root is the one whose answer was the spawn.
    let parent = &parents[2];
    assert_eq!(child["instructions"], parent["instructions"]);
    assert_eq!(child["tools"], parent["tools"]);
    assert_eq!(child["prompt_cache_key"], parent["prompt_cache_key"]);
    let (own, shared) = (
        &child["input"],
        parent["input"].as_array().expect("it is a list"),
    );
    assert_eq!(
        &own.as_array().expect("it is a list")[..shared.len()],
        shared
    );
    let raw = |wanted: &Value| {
        let requests = stage.requests().into_iter();
        let mut bodies = requests.map(|request| String::from_utf8(request.body.to_vec()).unwrap());
        bodies
            .find(|body| serde_json::from_str::<Value>(body).unwrap() == *wanted)
            .unwrap()
    };
    let (child, parent) = (raw(&child), raw(parent));
    let same = parent.find("],\"tools\"").expect("tools follow the input");
    assert_eq!(child[..same], parent[..same], "byte for byte");
    end(actor).await;
}

#[tokio::test]
async fn a_forked_child_is_told_that_it_is_the_child() {
    let (stage, actor) = forked(json!("all")).await;
    let kid = agent(&actor, "/root/kid").await;
    let child = requests_of(&stage, kid.session).remove(0);
    let items = child["input"].as_array().expect("it is a list");
    let answer = items
        .iter()
        .rfind(|item| item["type"] == "function_call_output")
        .unwrap();
    let payload: Value =
        serde_json::from_str(answer["output"].as_str().expect("it is a text")).unwrap();
    assert_eq!(payload["payload"]["role"], "child");
    assert_eq!(payload["payload"]["child_session_id"], json!(kid.session));
    assert_eq!(
        payload["payload"]["parent_session_id"],
        json!(actor.session_id())
    );
    let last = items.last().unwrap().to_string();
    assert!(last.contains("carry on"), "{last}");
    end(actor).await;
}

#[tokio::test]
async fn with_the_last_turn_a_child_knows_nothing_older() {
    for history in [json!(1), json!("1")] {
        let (stage, actor) = forked(history).await;
        let kid = agent(&actor, "/root/kid").await;
        let first = requests_of(&stage, kid.session)[0]["input"].to_string();
        assert!(
            first.contains("now with help") && first.contains("carry on"),
            "{first}"
        );
        assert!(!first.contains("an earlier look"), "{first}");
        end(actor).await;
    }
}

#[tokio::test]
async fn tokens_of_a_shared_history_are_counted_once() {
    let (stage, actor) = forked(json!("all")).await;
    let kid = agent(&actor, "/root/kid").await;
    assert_eq!(kid.usage.total_tokens, 120, "one request of its own");
    let root = agent(&actor, "root").await;
    let requests = u64::try_from(stage.requests().len()).unwrap();
    // The root is counted from its first child on; its own first task had two requests.
    assert_eq!(root.subtree_usage.total_tokens, 120 * (requests - 2));
    let spawned = answer(&stage, &actor, 1).await;
    assert!(spawned["agent_id"].is_string());
    end(actor).await;
}
