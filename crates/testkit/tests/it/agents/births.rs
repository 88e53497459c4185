//! How a child comes to be: what is told of it at once, and where it was forked.

use expect_test::expect;
use serde_json::{Value, json};
use troupe_protocol::agent::{AgentOrigin, SubagentLifecycle};
use troupe_protocol::policy::SandboxMode;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tree::TreeFact;
use troupe_protocol::{AgentId, EventMsg};
use troupe_testkit::{Actor, Stage};

use super::cast::{calm, lines, subagents};
use super::play::{Cue, agent, agents, end, named, play, records, requests_of, scene, seen};

/// A root that looks around and then forks itself, as `more` says.
async fn forked(more: Value) -> (Stage, Actor) {
    let children = scene("branch off", &["{ say = 'branched' }"]);
    let mut fork = json!({"prompt": "branch off", "label": "twin"});
    let fields = more.as_object().expect("it is an object").clone();
    fork.as_object_mut()
        .expect("it is an object")
        .extend(fields);
    let cues: [Cue; 3] = [
        ("shell_command", json!({"command": "echo before"})),
        ("subagent_fork", fork),
        ("subagent_await", json!({"agent_id": 1})),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    (stage, actor)
}

#[tokio::test]
async fn the_birth_of_a_fork_is_told_with_everything_that_is_known_of_it() {
    let (stage, actor) = forked(json!({})).await;
    let created = seen(&actor).into_iter().find_map(|msg| match msg {
        EventMsg::SubagentLifecycle(SubagentLifecycle::Created { subagent }) => Some(subagent),
        _ => None,
    });
    let text = serde_json::to_string(&created.unwrap()).unwrap();
    let text = named(&stage, &agents(&actor).await, &text);
    let text = text.replace(&actor.session_id().to_string(), "/root");
    let mut told: Value = serde_json::from_str(&text).unwrap();
    calm(&mut told);
    expect![[r#"
        {
          "agent_id": 1,
          "parent_agent_id": 0,
          "session_id": "/root/twin",
          "parent_session_id": "/root",
          "path": "/root/twin",
          "origin": "fork",
          "status": "pending_init",
          "label": "twin",
          "summary": "branch off",
          "started_at_ms": 0,
          "pending_messages": 1,
          "pending_interrupts": 0
        }"#]]
    .assert_eq(&format!("{told:#}"));
    end(actor).await;
}

#[tokio::test]
async fn where_a_fork_began_is_kept() {
    let (stage, actor) = forked(json!({})).await;
    let (root, kid) = (actor.session_id(), agent(&actor, "1").await);
    let task = actor.seen().last().unwrap().id.clone();
    end(actor).await;
    let lines = lines(&stage, root).await;
    let birth = lines.iter().find_map(|line| match &line.record.fact {
        TreeFact::Born(birth) => Some(birth),
        _ => None,
    });
    let birth = birth.expect("the fork was born");
    assert_eq!((birth.parent, birth.session), (AgentId::ROOT, kid.session));
    assert_eq!(birth.genealogy.origin, AgentOrigin::Fork);
    let point = birth.genealogy.point.as_ref().unwrap();
    assert_eq!(point.task, task);
    // What the parent's model was sent, and the call that it answered with.
    let asked = &requests_of(&stage, root)[1]["input"];
    let asked = asked.as_array().expect("it is a list").len();
    assert_eq!(point.message_index as usize, asked + 1);
    let log = records(&stage, kid.session).await;
    let Some(RolloutRecord::SessionMeta(meta)) = log.first() else {
        panic!("{log:#?}");
    };
    assert_eq!(meta.forked_from_id, Some(root));
}

#[tokio::test]
async fn a_fork_can_have_another_model_and_less_than_its_parent() {
    let (stage, actor) = forked(json!({"model": "scripted-2", "sandbox_mode": "read-only"})).await;
    let kid = agent(&actor, "1").await;
    let first = requests_of(&stage, kid.session).remove(0);
    assert_eq!(first["model"], "scripted-2");
    let input = first["input"].to_string();
    assert!(
        input.contains("curtain up") && input.contains("echo before"),
        "{input}"
    );
    let spec = kid.spec.unwrap();
    assert_eq!(spec.sandbox_policy.mode(), SandboxMode::ReadOnly);
    end(actor).await;
}
