//! Watchdogs: messages that come by themselves, by a clock that the scenario turns.

use expect_test::expect;
use serde_json::{Value, json};
use troupe_agents::Family;
use troupe_protocol::tree::{MailKind, MailSender, TreeFact};
use troupe_protocol::{AgentId, EventMsg};
use troupe_testkit::Stage;

use super::cast::{self, depths, has_mail, heard, is_completed, lines, open, plot, subagents};
use super::hands::Hands;
use super::play::{Cue, agent, answer, answers, call, end, play, recorded, scene, until_there};

async fn stage_with(hands: &Hands, children: &str, root: &[&str]) -> Stage {
    let stage = Stage::new(&plot(children, root)).await;
    stage
        .idle_timeout_ms(120_000)
        .with_agents(&[Family::Subagents])
        .clock(hands.clock())
}

fn spawn(prompt: &str) -> String {
    call(&("subagent_spawn", json!({"prompt": prompt})))
}

fn watchdog(arguments: Value) -> String {
    call(&("subagent_watchdog", arguments))
}

#[tokio::test]
async fn a_watchdog_says_what_became_of_it() {
    let watch = |arguments: Value| ("subagent_watchdog", arguments);
    let cues: [Cue; 10] = [
        ("subagent_spawn", json!({"prompt": "work"})),
        ("subagent_await", json!({})),
        watch(json!({"agent_id": 1, "interval_s": 29})),
        watch(json!({"agent_id": 1, "interval_s": 86401})),
        watch(json!({"agent_id": 1, "interval_s": 30, "message": "well?"})),
        watch(json!({"agent_id": 1})),
        watch(json!({"agent_id": 1, "cancel": true})),
        watch(json!({"agent_id": 1, "cancel": true})),
        watch(json!({"agent_id": 7})),
        watch(json!({"agent_id": 0})),
    ];
    let stage = subagents("", &cues).await;
    let actor = play(&stage).await;
    let told = answers(&stage, &actor).await;
    expect![[r#"
        interval_s must be between 30 and 86400 seconds; got 29
        interval_s must be between 30 and 86400 seconds; got 86401
        {"agent_id":1,"interval_s":30,"message":"well?","action":"started"}
        {"agent_id":1,"interval_s":300,"message":"This is a scheduled check by the agent you work for. Say in a few lines what is done, what you do next, and whether something blocks you; then go on with your task.","action":"replaced"}
        {"agent_id":1,"action":"canceled"}
        {"agent_id":1,"action":"not_found"}
        no agent "7"; give an agent number, a path such as /root/name, a session id, "parent" or "root"
        Not permitted to watch agents outside your subtree."#]].assert_eq(&told[2..].join("\n"));
    end(actor).await;
}

#[tokio::test]
async fn a_busy_child_is_asked_once_until_it_has_read_it() {
    let hands = Hands::default();
    let children = scene("stay", &[&until_there("go"), "{ say = 'fine' }"]);
    let watch = watchdog(json!({"agent_id": 1, "interval_s": 30, "message": "how far?"}));
    let root = [&*spawn("stay"), &watch, "{ say = 'later' }"];
    let stage = stage_with(&hands, &children, &root).await;
    let mut actor = open(&stage).await;
    hands.turn(&actor, 29).await;
    assert_eq!(agent(&actor, "1").await.pending.messages, 0, "not yet");
    hands.turn(&actor, 2).await;
    actor.until(has_mail(1, 1, 0)).await;
    hands.turn(&actor, 31).await;
    agent(&actor, "root").await;
    assert_eq!(agent(&actor, "1").await.pending.messages, 1, "unread yet");
    stage.write("go", "");
    actor.until(is_completed(1)).await;
    let session = agent(&actor, "1").await.session;
    assert_eq!(heard(&stage, session), ["stay", "how far?"]);
    assert_eq!(depths(&actor, 1), [(0, 0), (1, 0), (0, 0)]);
    let root = actor.session_id();
    end(actor).await;
    let lines = lines(&stage, root).await;
    let pings = lines.iter().filter(|line| match &line.record.fact {
        TreeFact::Sent { to, envelope } => {
            let from = MailSender::Watchdog(AgentId::ROOT);
            *to == AgentId(1) && envelope.kind == (MailKind::Regular { from })
        }
        _ => false,
    });
    assert_eq!(pings.count(), 1);
}

#[tokio::test]
async fn a_watchdog_wakes_an_idle_child_and_a_cancelled_one_is_quiet() {
    let hands = Hands::default();
    let wait = call(&("subagent_await", json!({})));
    let watch = watchdog(json!({"agent_id": 1, "interval_s": 60}));
    let off = watchdog(json!({"agent_id": 1, "cancel": true}));
    let root = [
        &*spawn("work"),
        &wait,
        &watch,
        "{ say = 'watching' }",
        "{ say = 'told' }",
        &off,
        "{ say = 'off' }",
    ];
    let stage = stage_with(&hands, "", &root).await;
    let mut actor = open(&stage).await;
    hands.turn(&actor, 61).await;
    actor.until(is_completed(1)).await;
    actor.until_task_ends().await;
    let session = agent(&actor, "1").await.session;
    let text = heard(&stage, session).pop().unwrap();
    assert!(text.starts_with("This is a scheduled check"), "{text}");
    actor.turn("enough").await;
    hands.turn(&actor, 600).await;
    actor.agents().wait_until_idle().await;
    assert_eq!(heard(&stage, session).len(), 2);
    end(actor).await;
}

#[tokio::test]
async fn a_machine_that_slept_through_many_pings_sends_one() {
    let hands = Hands::default();
    let children = scene("stay", &[&until_there("go"), "{ say = 'fine' }"]);
    let watch = watchdog(json!({"agent_id": 1, "interval_s": 30, "message": "how far?"}));
    let root = [&*spawn("stay"), &watch, "{ say = 'later' }"];
    let stage = stage_with(&hands, &children, &root).await;
    let mut actor = open(&stage).await;
    hands.turn(&actor, 3600).await;
    actor.until(has_mail(1, 1, 0)).await;
    agent(&actor, "root").await;
    assert_eq!(agent(&actor, "1").await.pending.messages, 1);
    stage.write("go", "");
    end(actor).await;
}

#[tokio::test]
async fn a_watchdog_ends_with_the_agent_it_watches() {
    let hands = Hands::default();
    let wait = call(&("subagent_await", json!({})));
    let watch = watchdog(json!({"agent_id": 1, "interval_s": 30}));
    let prune = call(&("subagent_prune", json!({"all": true})));
    let again = watchdog(json!({"agent_id": 1, "cancel": true}));
    let root = [
        &*spawn("work"),
        &wait,
        &watch,
        &prune,
        &again,
        "{ say = 'done' }",
    ];
    let stage = stage_with(&hands, "", &root).await;
    let actor = open(&stage).await;
    let told = answer(&stage, &actor, 4).await;
    assert_eq!(told["action"], "not_found");
    hands.turn(&actor, 31).await;
    actor.agents().wait_until_idle().await;
    let session = agent(&actor, "1").await.session;
    assert_eq!(heard(&stage, session), ["work"]);
    end(actor).await;
}

#[tokio::test]
async fn a_watchdog_is_there_again_after_a_restart() {
    let hands = Hands::default();
    let wait = call(&("subagent_await", json!({})));
    let watch = watchdog(json!({"agent_id": 1, "interval_s": 30, "message": "still there?"}));
    let root = [&*spawn("work"), &wait, &watch, "{ say = 'done' }"];
    let stage = stage_with(&hands, "", &root).await;
    let actor = open(&stage).await;
    let root = actor.session_id();
    end(actor).await;
    let mut actor = stage.resume(root).await;
    agent(&actor, "root").await;
    hands.turn(&actor, 31).await;
    actor.until(cast::is_completed(1)).await;
    let session = agent(&actor, "1").await.session;
    assert_eq!(heard(&stage, session), ["work", "still there?"]);
    end(actor).await;
}

#[tokio::test]
async fn a_child_that_was_cancelled_is_asked_nothing() {
    let hands = Hands::default();
    let children = scene("stay", &[&cast::sleeper("pid"), "{ say = 'roused' }"]);
    let watch = watchdog(json!({"agent_id": 1, "interval_s": 30}));
    let cancel = call(&("subagent_cancel", json!({"agent_id": 1})));
    let off = watchdog(json!({"agent_id": 1, "cancel": true}));
    let root = [
        &*spawn("stay"),
        &watch,
        &until_there("pid"),
        &cancel,
        &off,
        "{ say = 'later' }",
    ];
    let stage = stage_with(&hands, &children, &root).await;
    let actor = open(&stage).await;
    assert_eq!(answer(&stage, &actor, 4).await["action"], "not_found");
    let root = actor.session_id();
    hands.turn(&actor, 31).await;
    actor.agents().wait_until_idle().await;
    end(actor).await;
    let actor = stage.resume(root).await;
    hands.turn(&actor, 31).await;
    actor.agents().wait_until_idle().await;
    let session = agent(&actor, "1").await.session;
    assert_eq!(heard(&stage, session), ["stay"]);
    end(actor).await;
}

#[tokio::test]
async fn nobody_watches_an_agent_that_takes_no_input() {
    let cues: [Cue; 5] = [
        ("subagent_spawn", json!({"prompt": "work"})),
        ("subagent_await", json!({})),
        ("subagent_watchdog", json!({"agent_id": 1})),
        ("subagent_prune", json!({"agent_ids": [1]})),
        ("subagent_watchdog", json!({"agent_id": 1})),
    ];
    let stage = subagents("", &cues).await;
    let actor = play(&stage).await;
    let told = answers(&stage, &actor).await.remove(4);
    expect!["agent 1 was pruned; only its result is left"].assert_eq(&told);
    end(actor).await;
}

#[tokio::test]
async fn a_tree_has_sixteen_watchdogs_and_their_messages_are_short() {
    const WATCHDOGS_MAX: u32 = 16;
    const MESSAGE_CHARS_MAX: usize = 2_000;
    let watch = |agent: u32, message: &str| {
        (
            "subagent_watchdog",
            json!({"agent_id": agent, "message": message}),
        )
    };
    let too_many = WATCHDOGS_MAX + 1;
    let mut cues: Vec<Cue> = Vec::new();
    for _ in 1..=too_many {
        cues.push(("subagent_spawn", json!({"prompt": "work"})));
    }
    for agent in 1..=too_many {
        cues.push(watch(agent, "well?"));
    }
    // One that is there already can be replaced.
    cues.push(watch(1, &"x".repeat(MESSAGE_CHARS_MAX)));
    cues.push(watch(1, &"x".repeat(MESSAGE_CHARS_MAX + 1)));
    let stage = subagents("", &cues).await;
    let actor = play(&stage).await;
    let told = answers(&stage, &actor).await;
    let (started, rest) = told[too_many as usize..].split_at(WATCHDOGS_MAX as usize);
    for text in started {
        assert!(text.contains(r#""action":"started""#), "{text}");
    }
    assert!(rest[1].contains(r#""action":"replaced""#), "{}", rest[1]);
    expect![[r#"
        the tree has 16 watchdogs already; cancel one with cancel: true, or wait for the agent instead
        the message has 2001 characters; a watchdog's has at most 2000"#]].assert_eq(&[&*rest[0], &rest[2]].join("\n"));
    end(actor).await;
}

#[tokio::test]
async fn people_are_told_that_a_watchdog_goes_on_without_them() {
    let hands = Hands::default();
    let watch = watchdog(json!({"agent_id": 1, "interval_s": 60}));
    let wait = call(&("subagent_await", json!({})));
    let root = [&*spawn("work"), &wait, &watch, "{ say = 'watching' }"];
    let stage = stage_with(&hands, "", &root).await;
    let mut actor = open(&stage).await;
    hands.turn(&actor, 61).await;
    actor.until(is_completed(1)).await;
    let session = actor.session_id();
    end(actor).await;
    let told: Vec<String> = recorded(&stage, session)
        .await
        .into_iter()
        .filter_map(|msg| match msg {
            EventMsg::Warning { message } => Some(message),
            EventMsg::BackgroundEvent(event) => Some(event.message),
            _ => None,
        })
        .filter(|text| text.contains("watchdog"))
        .collect();
    expect![[r#"
        agent /root has set up a watchdog: /root/default is written to every 60 s, also while nobody is connected, until the watchdog is cancelled or one of the two is closed
        the watchdog of agent /root has written to /root/default"#]]
    .assert_eq(&told.join("\n"));
}
