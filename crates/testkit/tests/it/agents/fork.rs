//! Children that begin with the conversation of their parent.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use troupe_agents::tree_access::{LogsQuery, TreeStopRequest};
use troupe_agents::{Family, TreeOptions};
use troupe_protocol::op::{ConfigureSession, ForkPoint};
use troupe_protocol::tree::AgentMessage;
use troupe_protocol::{EventMsg, ItemId, Op, SessionId, StopVerb, TurnItem};
use troupe_testkit::{Actor, Stage};
use troupe_tree::command::{SendUrgency, StopMode};

use super::cast;
use super::play::{
    Cue, agent, agents, answer, begin, call, end, play, recorded, requests_of, scene, script,
    stage_with, until_there,
};

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
async fn a_fork_that_waited_in_line_knows_what_its_parent_knew_when_it_made_it() {
    let children = [
        scene("hold", &[&until_there("gate"), "{ say = 'let go' }"]),
        scene("carry on", &["{ say = 'carried on' }"]),
    ];
    let hold = (
        "spawn_agent",
        json!({"message": "hold", "task_name": "first"}),
    );
    let one = |options: &mut TreeOptions| options.limits.max_threads = 1;
    let stage = stage_with(&children.concat(), &[hold, spawn(json!("all"))], one).await;
    let mut actor = play(&stage).await;
    actor.submit(Op::Compact).await;
    actor
        .until(|msg| matches!(msg, EventMsg::ContextCompacted))
        .await;
    stage.write("gate", "");
    actor.agents().wait_until_idle().await;

    let kid = agent(&actor, "/root/kid").await;
    let child = requests_of(&stage, kid.session).remove(0);
    // The second request of the root is the one whose answer was the fork.
    let shared = requests_of(&stage, actor.session_id()).remove(1);
    let shared = shared["input"].as_array().expect("it is a list");
    let own = child["input"].as_array().expect("it is a list");
    assert_eq!(&own[..shared.len()], shared);
    end(actor).await;
}

#[tokio::test]
async fn tokens_of_a_shared_history_are_counted_once() {
    let (stage, actor) = forked(json!("all")).await;
    let kid = agent(&actor, "/root/kid").await;
    assert_eq!(kid.usage.total_tokens, 120, "one request of its own");
    let root = agent(&actor, "root").await;
    let requests = u64::try_from(stage.requests().len()).unwrap();
    assert_eq!(root.subtree_usage.total_tokens, 120 * requests);
    let spawned = answer(&stage, &actor, 1).await;
    assert!(spawned["agent_id"].is_string());
    end(actor).await;
}

/// A play in which one response of the root has a command that waits, and two forks.
async fn forked_twice() -> (Stage, Actor) {
    let step = |id: &str, tool: &str, arguments: Value| {
        format!("{{ call = '{tool}', call_id = '{id}', arguments = '''{arguments}''' }}")
    };
    let held = json!({"command": "until [ -e go ]; do sleep 0.02; done"});
    let part = |prompt: &str| json!({"prompt": prompt, "label": prompt});
    let all = [
        step("held", "shell_command", held),
        step("one", "subagent_fork", part("part one")),
        step("two", "subagent_fork", part("part two")),
    ]
    .join(", ");
    let look = step("look", "shell_command", json!({"command": "echo before"}));
    let children = scene("part one", &["{ say = 'one done' }"])
        + &scene("part two", &["{ say = 'two done' }"]);
    let stage = cast::stage(&children, &[&look, &all], &[Family::Subagents]).await;
    let mut actor = stage.start().await;
    actor.say(cast::OPENING).await;
    for _ in 0..2 {
        actor
            .until(|msg| cast::is_completed(1)(msg) || cast::is_completed(2)(msg))
            .await;
    }
    stage.write("go", "");
    actor.until_task_ends().await;
    (stage, actor)
}

#[tokio::test]
async fn a_fork_is_the_answer_to_its_own_call_and_to_no_other() {
    let (stage, actor) = forked_twice().await;
    let parents = requests_of(&stage, actor.session_id());
    let asked = parents[1]["input"].as_array().expect("it is a list").len();
    for (number, own, other) in [("1", "one", "two"), ("2", "two", "one")] {
        let kid = agent(&actor, number).await;
        let input = requests_of(&stage, kid.session)[0]["input"].take();
        let items = input.as_array().expect("it is a list");
        // The three calls follow what the parent had sent, as in the parent's next request.
        let shared = parents[2]["input"].as_array().expect("it is a list");
        assert_eq!(items[..asked + 3], shared[..asked + 3], "{number}");
        let answered = |call: &str| {
            let answers = items
                .iter()
                .filter(|item| item["type"] == "function_call_output" && item["call_id"] == call);
            let texts: Vec<&str> = answers.filter_map(|item| item["output"].as_str()).collect();
            assert_eq!(texts.len(), 1, "{call}: {texts:?}");
            texts[0].to_owned()
        };
        let payload: Value = serde_json::from_str(&answered(own)).unwrap();
        assert_eq!(payload["payload"]["role"], "child");
        assert_eq!(payload["payload"]["child_session_id"], json!(kid.session));
        for call in ["held", other] {
            assert_eq!(
                answered(call),
                "not answered here: the conversation was forked while this call ran"
            );
        }
    }
    end(actor).await;
}

#[tokio::test]
async fn the_log_of_a_fork_begins_with_the_fork() {
    let (stage, actor) = forked_twice().await;
    let kid = agent(&actor, "1").await;
    let query = LogsQuery {
        limit: 200,
        ..LogsQuery::default()
    };
    let logs = actor.agents().user().logs("1", query).await.unwrap();
    let kinds: Vec<&str> = logs
        .events
        .iter()
        .filter_map(|logged| logged.event["type"].as_str())
        .collect();
    assert_eq!(kinds.first(), Some(&"session_configured"), "{kinds:?}");
    assert_eq!(kinds.last(), Some(&"task_complete"), "{kinds:?}");
    assert!(!kinds.contains(&"turn_aborted"), "{kinds:?}");
    assert_eq!(logs.total_available, logs.events.len());
    for logged in &logs.events {
        let thread = &logged.event["thread_id"];
        assert!(
            thread.is_null() || *thread == json!(kid.session),
            "{logged:?}"
        );
    }
    end(actor).await;
    // What the parent had begun is ended in the parent's log, so it does not begin here.
    let recorded = recorded(&stage, kid.session).await;
    let ids = |is_wanted: fn(&EventMsg) -> Option<&ItemId>| -> BTreeSet<ItemId> {
        recorded.iter().filter_map(is_wanted).cloned().collect()
    };
    let begun = ids(|msg| match msg {
        EventMsg::ItemStarted { item, .. } => Some(item.id()),
        _ => None,
    });
    let ended = ids(|msg| match msg {
        EventMsg::ItemCompleted { item, .. } => Some(item.id()),
        _ => None,
    });
    assert_eq!(begun, ended);
    // The command before the fork is part of what the fork shows of its conversation.
    let looks = |msg: &EventMsg| {
        matches!(
            msg,
            EventMsg::ItemCompleted {
                item: TurnItem::CommandExecution(_),
                ..
            }
        )
    };
    assert_eq!(recorded.iter().filter(|msg| looks(msg)).count(), 1);
}

/// Opens a session with the conversation of another, as `troupe exec fork` does.
async fn fork_of(stage: &Stage, session: SessionId) -> Actor {
    let point = ForkPoint {
        session_id: session,
        last_response_id: None,
        turns: None,
        turn: None,
    };
    let request = ConfigureSession {
        fork: Some(point),
        ..ConfigureSession::default()
    };
    stage.start_with(request).await
}

/// A stage on which everybody who is asked to delegate makes one child and waits for it.
async fn delegating() -> Stage {
    let spawn = call(&(
        "spawn_agent",
        json!({"message": "small work", "task_name": "kid"}),
    ));
    let wait = call(&("wait", json!({"ids": ["kid"]})));
    let turns = [&*spawn, &wait, "{ say = 'delegated' }"];
    let children = scene("small work", &["{ say = 'done' }"; 4])
        + &scene("delegate anew", &turns)
        + &scene("pass on", &turns);
    let cue = (
        "spawn_agent",
        json!({"message": "pass on", "task_name": "middle"}),
    );
    let stage = Stage::new(&script(
        &children,
        &[cue, ("wait", json!({"ids": ["middle"]}))],
    ))
    .await;
    stage.with_agents(&[Family::Agents])
}

/// Lets a forked session make a child of its own, and checks that it is the first of a tree.
async fn has_its_own_tree(stage: &Stage, mut fork: Actor) {
    assert!(
        agents(&fork).await.is_empty(),
        "children of another session"
    );
    fork.turn("delegate anew").await;
    let family = agents(&fork).await;
    let own: Vec<_> = family
        .iter()
        .map(|view| (view.agent.0, view.path.as_str(), view.parent_session))
        .collect();
    let session = fork.session_id();
    // Its numbers go on above those that its history names.
    assert_eq!(own, [(3, "/root/kid", Some(session))]);
    end(fork).await;
    let lines = cast::lines(stage, session).await;
    assert!(lines.iter().all(|line| line.tree == session));
    // Taken up again it is the same tree.
    let fork = stage.resume(session).await;
    assert_eq!(agents(&fork).await.len(), 1);
    end(fork).await;
}

#[tokio::test]
async fn a_fork_by_hand_does_not_take_the_children_over() {
    let stage = delegating().await;
    let actor = play(&stage).await;
    let root = actor.session_id();
    let before: Vec<_> = agents(&actor).await;
    let before: Vec<_> = before.iter().map(|view| view.session).collect();
    assert_eq!(before.len(), 2);
    end(actor).await;
    has_its_own_tree(&stage, fork_of(&stage, root).await).await;
    let actor = stage.resume(root).await;
    let after: Vec<_> = agents(&actor).await;
    let after: Vec<_> = after.iter().map(|view| view.session).collect();
    assert_eq!(before, after);
    end(actor).await;
}

#[tokio::test]
async fn a_fork_by_hand_of_a_child_is_nobodys_child() {
    let stage = delegating().await;
    let actor = play(&stage).await;
    let root = actor.session_id();
    let middle = agent(&actor, "/root/middle").await.session;
    end(actor).await;
    let said = requests_of(&stage, root).len();
    has_its_own_tree(&stage, fork_of(&stage, middle).await).await;
    assert_eq!(requests_of(&stage, root).len(), said, "nobody calls back");
    let actor = stage.resume(root).await;
    assert_eq!(agents(&actor).await.len(), 2);
    end(actor).await;
}

#[tokio::test]
async fn a_released_fork_goes_on_under_the_instructions_it_began_with() {
    let fork = call(&("subagent_fork", json!({"prompt": "branch off"})));
    let children = scene(
        "branch off",
        &["{ say = 'branched' }", "{ say = 'still here' }"],
    ) + &scene(
        "test it",
        &[&fork, "{ say = 'forked' }", "{ say = 'heard' }"],
    );
    let spawn = call(&(
        "spawn_agent",
        json!({"message": "test it", "agent_type": "tester"}),
    ));
    let families = [Family::Agents, Family::Subagents];
    let stage = cast::stage(&children, &[&spawn], &families).await;
    let actor = cast::open(&stage).await;
    let root = actor.session_id();
    actor.agents().wait_until_idle().await;
    let fork = agent(&actor, "2").await.session;
    let release = TreeStopRequest {
        verb: StopVerb::Release,
        targets: vec!["2".to_owned()],
        mode: StopMode::Act,
        note: None,
    };
    actor.agents().user().stop(release).await.unwrap();
    end(actor).await;
    let actor = stage.resume(root).await;
    let desk = actor.agents().user();
    let message = AgentMessage::text("are you there?");
    desk.send("2", message, SendUrgency::Regular).await.unwrap();
    actor.agents().wait_until_idle().await;
    let requests = requests_of(&stage, fork);
    let [first, .., last] = requests.as_slice() else {
        panic!("{} requests", requests.len());
    };
    for part in ["instructions", "prompt_cache_key", "tools"] {
        assert_eq!(first[part], last[part], "{part}");
    }
    end(actor).await;
}

#[tokio::test]
async fn a_fork_without_a_prompt_is_ready_until_it_is_told() {
    let children = scene("fork work", &["{ say = 'from the fork' }"]);
    let cues: [Cue; 5] = [
        ("subagent_fork", json!({"label": "later"})),
        ("subagent_list", json!({})),
        ("subagent_await", json!({"agent_id": 1})),
        (
            "subagent_send_message",
            json!({"agent_id": 1, "prompt": "fork work"}),
        ),
        ("subagent_await", json!({"agent_id": 1})),
    ];
    let stage = cast::subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let made = answer(&stage, &actor, 0).await;
    assert_eq!(made["status"], "ready");
    assert_eq!(made.get("summary"), None, "{made}");
    assert!(made["payload"]["summary"].is_null(), "{made}");
    assert!(made["payload"]["prompt"].is_null(), "{made}");
    let listed = answer(&stage, &actor, 1).await;
    assert_eq!(listed["sessions"][0]["status"], "ready");
    let waited = answer(&stage, &actor, 2).await;
    assert_eq!(waited["lifecycle_status"], "ready");
    assert_eq!(waited["timed_out"], false);
    assert!(waited["completion"].is_null(), "{waited}");
    let waited = answer(&stage, &actor, 4).await;
    assert_eq!(
        waited["completion"],
        json!({"Completed": {"last_message": "from the fork"}})
    );
    let kid = agent(&actor, "1").await;
    let requests = requests_of(&stage, kid.session);
    assert_eq!(requests.len(), 1, "being ready costs no request");
    let input = requests[0]["input"].to_string();
    assert!(input.contains("subagent_fork") && !input.contains("subagent_list"));
    end(actor).await;
}
