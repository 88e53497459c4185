//! Agents of agents: what the root sees of any depth, and what each parent is told.

use expect_test::expect;
use serde_json::json;
use troupe_protocol::agent::SubagentLifecycle;
use troupe_protocol::agent::WaitingOn;
use troupe_protocol::{AgentId, EventMsg};
use troupe_testkit::{Actor, Stage};
use troupe_tree::status::CurrentStatus;

use super::cast::is_running;
use super::play::{
    Cue, agent, agents, answer, answers, answers_of, backgrounds, begin, call, end, named, play,
    recorded, scene, seen, stage, stage_with, until_there,
};

fn spawn(message: &str, name: &str) -> Cue {
    (
        "spawn_agent",
        json!({"message": message, "task_name": name}),
    )
}

fn wait(name: &str) -> Cue {
    ("wait", json!({"ids": [name]}))
}

/// Three generations, each of which waits for the next.
fn dynasty() -> (String, [Cue; 2]) {
    let (make_b, wait_b) = (call(&spawn("generation three", "b")), call(&wait("b")));
    let (make_c, wait_c) = (call(&spawn("generation four", "c")), call(&wait("c")));
    let children = scene(
        "generation four",
        &["{ think = '**Looking down**' }, { say = 'the ground' }"],
    ) + &scene(
        "generation three",
        &[&make_c, &wait_c, "{ say = 'c has seen it' }"],
    ) + &scene(
        "generation two",
        &[&make_b, &wait_b, "{ say = 'b has heard of it' }"],
    );
    (children, [spawn("generation two", "a"), wait("a")])
}

async fn play_dynasty() -> (Stage, Actor) {
    let (children, cues) = dynasty();
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    (stage, actor)
}

#[tokio::test]
async fn three_generations_hand_their_results_up() {
    let (stage, actor) = play_dynasty().await;
    let waited = answer(&stage, &actor, 1).await;
    assert_eq!(
        waited["status"],
        json!({"/root/a": {"completed": "b has heard of it"}})
    );
    let b = agent(&actor, "/root/a/b").await;
    let told = answers_of(&stage, b.session);
    assert!(told[1].contains("the ground"), "{}", told[1]);
    end(actor).await;
}

#[tokio::test]
async fn numbers_and_paths_are_of_the_whole_tree() {
    let (_stage, actor) = play_dynasty().await;
    let found: Vec<String> = agents(&actor)
        .await
        .into_iter()
        .map(|view| {
            let parent = view.parent.map_or(-1, |AgentId(number)| i64::from(number));
            format!(
                "{} {} below {parent} at depth {}",
                view.agent, view.path, view.depth
            )
        })
        .collect();
    expect![[r"
        1 /root/a below 0 at depth 1
        2 /root/a/b below 1 at depth 2
        3 /root/a/b/c below 2 at depth 3"]]
    .assert_eq(&found.join("\n"));
    end(actor).await;
}

/// The lifecycle of one agent as it was told at the root.
fn life(actor: &Actor, agent: AgentId) -> Vec<String> {
    let events = seen(actor).into_iter();
    let lines = events.filter_map(|msg| match msg {
        EventMsg::SubagentLifecycle(event) => Some(event),
        _ => None,
    });
    let lines = lines.filter_map(|event| match event {
        SubagentLifecycle::Created { subagent } if subagent.agent_id == agent => Some(format!(
            "created below {:?}, {:?}",
            subagent.parent_agent_id, subagent.summary
        )),
        SubagentLifecycle::Status {
            agent_id, status, ..
        } if agent_id == agent => Some(format!("{status:?}")),
        SubagentLifecycle::ReasoningHeader {
            agent_id,
            reasoning_header,
            ..
        } if agent_id == agent => Some(format!("thinks: {reasoning_header}")),
        _ => None,
    });
    lines.collect()
}

#[tokio::test]
async fn the_root_sees_the_lives_of_agents_of_any_depth() {
    let (_stage, actor) = play_dynasty().await;
    expect![[r#"
        created below Some(AgentId(2)), Some("generation four")
        Running
        thinks: Looking down
        Completed(Some("the ground"))"#]]
    .assert_eq(&life(&actor, AgentId(3)).join("\n"));
    expect![[r#"
        created below Some(AgentId(0)), Some("generation two")
        Running
        Completed(Some("b has heard of it"))"#]]
    .assert_eq(&life(&actor, AgentId(1)).join("\n"));
    end(actor).await;
}

#[tokio::test]
async fn each_parent_is_told_of_its_own_children_only() {
    let (stage, actor) = play_dynasty().await;
    let agents = agents(&actor).await;
    let told = backgrounds(&seen(&actor)).join("\n");
    expect![[r#"
        agent default (/root/a) initializing
        agent default (/root/a) running (0s)
        *agent default (/root/a) [call] completed in 0s: b has heard of it"#]]
    .assert_eq(&named(&stage, &agents, &told));
    end(actor).await;
    let told = backgrounds(&recorded(&stage, agents[1].session).await).join("\n");
    expect![[r#"
        agent default (/root/a/b/c) initializing
        agent default (/root/a/b/c) running (0s)
        *agent default (/root/a/b/c) [call] completed in 0s: the ground"#]]
    .assert_eq(&named(&stage, &agents, &told));
}

#[tokio::test]
async fn background_texts_name_role_persona_and_how_it_ended() {
    const AIDE: &str = "---\ndescription: helps\nagent_names:\n  - name: quick\n---\nSlow.\n\
                        <!-- agent_name: quick -->\nQuick.\n";
    let long = format!("{{ say = 'a long  story{}' }}", " and so on".repeat(30));
    let children = scene("tell", &[&long])
        + &scene("fail", &["{ status = 400, message = 'out of luck' }"])
        + &scene("be busy", &[&until_there("gate")]);
    let named_child = json!({
        "message": "tell", "task_name": "teller", "agent_type": "aide", "agent_name": "quick",
    });
    let cues: [Cue; 7] = [
        ("spawn_agent", named_child),
        wait("teller"),
        spawn("fail", "unlucky"),
        wait("unlucky"),
        spawn("be busy", "busy"),
        ("cancel_agent", json!({"id": "busy"})),
        wait("busy"),
    ];
    let stage = stage(&children, &cues).await;
    super::play::role(&stage, "aide", AIDE);
    let actor = play(&stage).await;
    let told = backgrounds(&seen(&actor)).join("\n");
    expect![[r#"
        agent aide/quick (/root/teller) initializing
        agent aide/quick (/root/teller) running (0s)
        *agent aide/quick (/root/teller) [call] completed in 0s: a long story and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so…
        agent default (/root/unlucky) initializing
        agent default (/root/unlucky) running (0s)
        *agent default (/root/unlucky) errored in 0s: scripted: 400 Bad Request: out of luck (invalid_request_error)
        agent default (/root/busy) initializing
        agent default (/root/busy) running (0s)
        *agent default (/root/busy) cancelled in 0s"#]].assert_eq(&named(&stage, &agents(&actor).await, &told));
    end(actor).await;
}

#[tokio::test]
async fn a_queued_child_is_told_with_its_position() {
    let children = scene("be busy", &[&until_there("gate"), "{ say = 'free' }"]);
    let cues: [Cue; 4] = [
        spawn("be busy", "first"),
        spawn("work", "second"),
        ("shell_command", json!({"command": "touch gate"})),
        wait("second"),
    ];
    let one = |options: &mut troupe_agents::TreeOptions| options.limits.max_threads = 1;
    let stage = stage_with(&children, &cues, one).await;
    let actor = play(&stage).await;
    let second = agent(&actor, "/root/second").await;
    let events = seen(&actor);
    let own = events.iter().filter(|msg| {
        matches!(msg, EventMsg::BackgroundEvent(event) if event.session_id == Some(second.session))
    });
    let told = backgrounds(own).join("\n");
    expect![[r#"
        agent default (/root/second) initializing
        agent default (/root/second) queued (position 1)
        agent default (/root/second) running (0s)
        *agent default (/root/second) [call] completed in 0s: ok"#]]
    .assert_eq(&named(&stage, &[second], &told));
    end(actor).await;
}

#[tokio::test]
async fn two_that_would_wait_for_each_other_are_told_so() {
    let up = call(&wait("parent"));
    let children = scene("wait for me", &[&up, "{ say = 'I gave up' }"]);
    let cues = [spawn("wait for me", "kid"), wait("kid")];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    actor.agents().wait_until_idle().await;
    let kid = agent(&actor, "/root/kid").await;
    let mut told = answers_of(&stage, kid.session);
    told.push(answers(&stage, &actor).await.remove(1));
    // Whoever comes second is the one that would close the circle.
    let refused = told.iter().filter(|text| {
        text.contains("would never end, because it waits for this agent; end the task instead")
    });
    assert_eq!(refused.count(), 1, "{told:#?}");
    end(actor).await;
}

#[tokio::test]
async fn a_wait_for_one_who_waits_for_somebody_else_too_is_no_circle() {
    let either = call(&("wait", json!({"ids": ["/root/digger", "root"]})));
    let children = scene("wait for one of us", &[&either, "{ say = 'one ended' }"])
        + &scene("dig a hole", &[&until_there("gate"), "{ say = 'dug' }"]);
    let held = "until [ -e kid-waits ]; do sleep 0.02; done";
    let cues = [
        spawn("dig a hole", "digger"),
        spawn("wait for one of us", "kid"),
        ("shell_command", json!({"command": held})),
        wait("kid"),
    ];
    let stage = stage(&children, &cues).await;
    let mut actor = begin(&stage).await;
    actor.until(is_running(2)).await;
    let on = WaitingOn::Child;
    while agent(&actor, "/root/kid").await.status != (CurrentStatus::Waiting { on }) {
        tokio::task::yield_now().await;
    }
    stage.write("kid-waits", "");
    actor
        .until(|msg| matches!(msg, EventMsg::CollabWaitingBegin(_)))
        .await;
    stage.write("gate", "");
    actor.until_task_ends().await;
    let waited = answers(&stage, &actor).await.remove(3);
    assert!(waited.contains("one ended"), "{waited}");
    end(actor).await;
}
