//! Many at once: callbacks that come together, parents that wait together, models that ask
//! for more than there is.

use std::collections::BTreeSet;

use troupe_agents::Family;
use troupe_agents::tree_access::{AgentScope, WatchdogRequest};
use troupe_protocol::agent::WaitingOn;
use troupe_protocol::input::UserInput;
use troupe_protocol::tree::{AgentMessage, TreeFact};
use troupe_protocol::{AgentId, EventMsg};
use troupe_testkit::{Actor, Stage};
use troupe_tree::{CurrentStatus, TreeLimits};

use super::cast::{has_mail, is_completed};
use super::play::{GATE, invoke, said, until_there};
use super::{logs, play};

async fn stage_with(screenplay: &str, limits: TreeLimits) -> Stage {
    let stage = Stage::new(screenplay).await;
    let mut options = stage.tree_options(&[Family::Agents]);
    options.limits = limits;
    stage.with_tree(options)
}

fn turns(count: usize, steps: impl Fn(usize) -> String) -> String {
    let turn = |n| format!("[[scene.turn]]\nsteps = [{}]\n", steps(n));
    (0..count).map(turn).collect()
}

/// All answers of tools that the root's model was sent.
fn answers(stage: &Stage, actor: &Actor) -> Vec<String> {
    let input = logs::last_request(stage, actor.session_id());
    logs::texts(&input, "function_call_output")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_children_end_at_once_and_a_busy_parent_hears_each_in_turn() {
    const CHILDREN: usize = 100;
    let spawn = |n: usize| invoke("spawn_agent", &format!(r#"message = "piece {n}""#));
    let spawns: Vec<String> = (0..CHILDREN).map(spawn).collect();
    let screenplay = format!(
        "[[scene]]\nwhen = \"piece\"\n[[scene.turn]]\nsteps = [{{ say = \"done\" }}]\n\
         [[scene]]\n[[scene.turn]]\nsteps = [{}]\n[[scene.turn]]\nsteps = [{}]\n{}",
        spawns.join(", "),
        invoke("shell_command", GATE),
        turns(CHILDREN + 1, |n| format!(r#"{{ say = "heard {n}" }}"#)),
    );
    let limits = TreeLimits {
        max_threads: CHILDREN,
        max_spawns_per_minute: CHILDREN,
        ..TreeLimits::default()
    };
    let stage = stage_with(&screenplay, limits).await;
    let mut actor = stage.start().await;
    let root = actor.session_id();
    actor.say("begin").await;
    let all = u32::try_from(CHILDREN).expect("they are few");
    actor.until(has_mail(0, all, 0)).await;
    stage.write("go", "");
    let first = actor.until_task_ends().await;
    assert_eq!(said(&first), Some("heard 0"));
    for n in 1..=CHILDREN {
        let events = actor.until_task_ends().await;
        assert_eq!(said(&events), Some(format!("heard {n}").as_str()));
        let began = |msg: &&EventMsg| matches!(msg, EventMsg::TurnStarted(_));
        assert_eq!(events.iter().filter(began).count(), 1, "one at a time");
    }
    actor.agents().wait_until_idle().await;
    actor.shut_down().await;

    let lines = logs::read(&*stage.store(), root).await;
    let owed = logs::callbacks_for(&lines, AgentId::ROOT);
    assert_eq!(owed.len(), CHILDREN);
    assert_eq!(logs::begun_with(&lines, AgentId::ROOT), owed);
    let ended = lines.iter().filter_map(|line| match line.record.fact {
        TreeFact::Ended { agent, .. } if agent != AgentId::ROOT => line.result.as_ref(),
        _ => None,
    });
    let input = logs::last_request(&stage, root);
    let messages = logs::texts(&input, "message");
    let mut told = messages.iter().filter(|text| text.contains("[Troupe]"));
    for result in ended {
        let next = told.next().expect("there are as many callbacks as results");
        assert!(next.contains(result.task_id.as_str()), "{next}");
    }
    assert_eq!(told.next(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_parents_make_room_for_their_children() {
    const PARENTS: usize = 12;
    let spawns: Vec<String> = (0..PARENTS)
        .map(|n| {
            invoke(
                "spawn_agent",
                &format!(r#"message = "lead {n}", task_name = "lead""#),
            )
        })
        .collect();
    let ids: Vec<String> = (1..=PARENTS).map(|n| n.to_string()).collect();
    let wait = invoke("wait", &format!("ids = [{}]", ids.join(", ")));
    let screenplay = format!(
        "[[scene]]\nwhen = \"leaf\"\n[[scene.turn]]\nsteps = [{{ say = \"leaf's answer\" }}]\n\
         [[scene]]\nwhen = \"lead\"\n{}\
         [[scene]]\n[[scene.turn]]\nsteps = [{}]\n[[scene.turn]]\nsteps = [{wait}]\n{}",
        [
            invoke("spawn_agent", r#"message = "leaf", task_name = "leaf""#),
            invoke("wait", r#"ids = ["leaf"]"#),
            r#"{ say = "a lead is done" }"#.to_owned(),
        ]
        .map(|step| format!("[[scene.turn]]\nsteps = [{step}]\n"))
        .concat(),
        spawns.join(", "),
        turns(PARENTS + 1, |n| format!(r#"{{ say = "heard {n}" }}"#)),
    );
    let limits = TreeLimits {
        max_threads: PARENTS,
        ..TreeLimits::default()
    };
    let stage = stage_with(&screenplay, limits).await;
    let mut actor = stage.start().await;
    let root = actor.session_id();
    actor.turn("begin").await;
    actor.agents().wait_until_idle().await;
    let agents = actor
        .agents()
        .user()
        .list(AgentScope::All, true)
        .await
        .unwrap();
    assert_eq!(agents.len(), 2 * PARENTS);
    for view in &agents {
        assert!(view.status.is_final(), "{view:?}");
    }
    let leads = agents.iter().filter(|view| view.depth == 1);
    for lead in leads {
        let result = actor.agents().result(lead.session, None).await.unwrap();
        assert_eq!(result.last_message.as_deref(), Some("a lead is done"));
        let input = logs::last_request(&stage, lead.session);
        let answers = logs::texts(&input, "function_call_output");
        assert!(answers[1].contains("leaf's answer"), "{answers:?}");
    }
    actor.shut_down().await;
    let lines = logs::read(&*stage.store(), root).await;
    let owed: BTreeSet<_> = logs::callbacks_for(&lines, AgentId::ROOT)
        .into_iter()
        .collect();
    let heard = logs::begun_with(&lines, AgentId::ROOT);
    let waited = logs::consumed(&lines);
    let heard: Vec<_> = heard.into_iter().chain(waited).collect();
    assert!(owed.iter().all(|id| heard.contains(id)), "{owed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parent_that_waits_for_the_second_task_still_hears_of_the_first() {
    let stage = stage_with(
        &format!(
            "[[scene]]\nwhen = \"errand\"\n{}[[scene]]\n{}",
            turns(2, |n| format!(r#"{{ say = "answer {n}" }}"#)),
            [
                invoke("spawn_agent", r#"message = "errand", task_name = "a""#),
                until_there("first"),
                invoke("send_input", r#"id = "a", message = "more""#),
                until_there("second"),
                invoke("wait", r#"ids = ["a"]"#),
                r#"{ say = "waited" }"#.to_owned(),
                r#"{ say = "called" }"#.to_owned(),
            ]
            .map(|step| format!("[[scene.turn]]\nsteps = [{step}]\n"))
            .concat()
        ),
        TreeLimits::default(),
    )
    .await;
    let mut actor = stage.start().await;
    let root = actor.session_id();
    actor.say("go").await;
    for end in ["first", "second"] {
        actor.until(is_completed(1)).await;
        stage.write(end, "");
    }
    actor.until_task_ends().await;
    let events = actor.until_task_ends().await;
    assert_eq!(said(&events), Some("called"));
    let input = logs::last_request(&stage, root);
    let waited = logs::texts(&input, "function_call_output").pop().unwrap();
    assert!(waited.contains("answer 1"), "{waited}");
    let called = logs::texts(&input, "message");
    let told = called.iter().filter(|text| text.contains("[Troupe]"));
    let told: Vec<&String> = told.collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("answer 0"), "{told:?}");
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_spawns_in_a_loop_meets_the_limits() {
    let child = [
        invoke("spawn_agent", r#"message = "spawn""#),
        r#"{ say = "spawned" }"#.to_owned(),
    ];
    let cycle = |n: usize| child[n % 2].clone();
    let spawns = [
        invoke("spawn_agent", r#"message = "spawn""#),
        invoke("spawn_agent", r#"message = "spawn""#),
    ];
    let screenplay = format!(
        "[[scene]]\nwhen = \"spawn\"\n{}[[scene]]\n{}{}",
        turns(60, cycle),
        turns(6, |_| spawns.join(", ")),
        turns(60, |n| format!(r#"{{ say = "heard {n}" }}"#)),
    );
    let limits = TreeLimits {
        max_agents: 8,
        max_depth: 2,
        ..TreeLimits::default()
    };
    let stage = stage_with(&screenplay, limits).await;
    let mut actor = stage.start().await;
    actor.turn("go wild").await;
    actor.agents().wait_until_idle().await;
    let refused = answers(&stage, &actor);
    let full = "the tree has 8 agents already ([agents] max_agents); close or prune finished";
    assert!(
        refused.iter().any(|text| text.contains(full)),
        "{refused:?}"
    );
    let agents = actor
        .agents()
        .user()
        .list(AgentScope::All, true)
        .await
        .unwrap();
    assert_eq!(agents.len(), 7);
    assert!(
        agents
            .iter()
            .all(|view| view.depth <= 2 && view.status.is_final())
    );
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waits_that_could_not_end_are_refused() {
    let stage = stage_with(
        &format!(
            "[[scene]]\nwhen = \"errand\"\n{}[[scene]]\n{}",
            [
                invoke("shell_command", GATE),
                invoke("wait", r#"ids = ["root"]"#),
                invoke("wait", "ids = [1]"),
                invoke("wait", r#"ids = ["/root/nobody", 99]"#),
                invoke("send_input", r#"id = 1, message = "me""#),
                invoke("send_input", r#"id = "/root/nobody", message = "who""#),
                invoke(
                    "send_input",
                    r#"id = "root", message = "stop", interrupt = true"#
                ),
                r#"{ say = "tried" }"#.to_owned(),
            ]
            .map(|step| format!("[[scene.turn]]\nsteps = [{step}]\n"))
            .concat(),
            [
                invoke("spawn_agent", r#"message = "errand", task_name = "a""#),
                invoke("wait", r#"ids = ["a"]"#),
                r#"{ say = "waited" }"#.to_owned(),
                r#"{ say = "called" }"#.to_owned(),
            ]
            .map(|step| format!("[[scene.turn]]\nsteps = [{step}]\n"))
            .concat()
        ),
        TreeLimits::default(),
    )
    .await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    let waiting = |msg: &EventMsg| matches!(msg, EventMsg::CollabWaitingBegin(_));
    actor.until(waiting).await;
    let desk = actor.agents().user();
    let on = WaitingOn::Child;
    while desk.view("root").await.unwrap().status != (CurrentStatus::Waiting { on }) {
        tokio::task::yield_now().await;
    }
    stage.write("go", "");
    let events = actor.until_task_ends().await;
    assert_eq!(said(&events), Some("waited"));
    let view = actor.agents().user().view("/root/a").await.unwrap();
    let input = logs::last_request(&stage, view.session);
    let told = logs::texts(&input, "function_call_output");
    for (text, expected) in told.iter().skip(1).zip([
        "waiting for agent 0 would never end, because it waits for this agent",
        "waiting for agent 1 would never end, because it waits for this agent",
        "not_found",
        "an agent cannot send messages to itself; go on with the work instead",
        "nobody",
        "agent 0 is the root and cannot be interrupted by agents; send it a regular message",
    ]) {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(told.len(), 7);
    actor.shut_down().await;
}

fn message(text: &str) -> AgentMessage {
    AgentMessage {
        items: vec![UserInput::text(text)],
        metadata: None,
        client_id: None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_messages_is_turned_away_when_the_inbox_is_full() {
    use troupe_tree::command::SendUrgency;
    const SENT: usize = 10_000;
    const INBOX: usize = 256;
    let stage = stage_with(
        &format!(
            "[[scene]]\nwhen = \"errand\"\n[[scene.turn]]\nsteps = [{}]\n{}[[scene]]\n{}",
            invoke(
                "shell_command",
                r#"command = "while [ ! -e go ]; do sleep 0.02; done""#
            ),
            turns(600, |n| format!(r#"{{ say = "answer {n}" }}"#)),
            [
                invoke("spawn_agent", r#"message = "errand", task_name = "a""#),
                r#"{ say = "spawned" }"#.to_owned(),
                r#"{ say = "called" }"#.to_owned(),
            ]
            .map(|step| format!("[[scene.turn]]\nsteps = [{step}]\n"))
            .concat()
        ),
        TreeLimits::default(),
    )
    .await;
    let mut actor = stage.start().await;
    actor.turn("go").await;
    let desk = actor.agents().user();
    let mut refused = 0;
    for n in 0..SENT {
        let sent = desk.send(
            "/root/a",
            message(&format!("letter {n}.")),
            SendUrgency::Regular,
        );
        if let Err(trouble) = sent.await {
            let full = "the inbox of agent 1 is full (256 messages); wait until it has taken some";
            assert_eq!(trouble.to_string(), full);
            refused += 1;
        }
    }
    assert_eq!(refused, SENT - INBOX);
    // A flood of watchdogs is one watchdog, and it adds nothing to a full inbox.
    for n in 0..1000 {
        let request = WatchdogRequest::Start {
            interval_s: 60,
            message: format!("ping {n}"),
        };
        desk.watchdog("/root/a", request).await.unwrap();
    }
    desk.watchdog("/root/a", WatchdogRequest::Cancel)
        .await
        .unwrap();
    let view = desk.view("/root/a").await.unwrap();
    assert_eq!(usize::try_from(view.pending.messages).unwrap(), INBOX);
    stage.write("go", "");
    actor.until_task_ends().await;
    actor.agents().wait_until_idle().await;
    let input = logs::last_request(&stage, view.session);
    let heard = logs::texts(&input, "message").concat();
    for n in 0..INBOX {
        let letter = format!("letter {n}.");
        assert_eq!(heard.matches(&letter).count(), 1, "{letter}");
    }
    actor.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_huge_message_arrives_whole_and_is_there_after_a_restart() {
    use troupe_tree::command::SendUrgency;
    let stage = stage_with(
        &[
            play::scene_of("errand", &play::numbered(3, "read")),
            play::scene_of(
                "",
                &[
                    vec![
                        invoke("spawn_agent", r#"message = "errand", task_name = "a""#),
                        invoke("wait", r#"ids = ["a"]"#),
                    ],
                    play::numbered(3, "done"),
                ]
                .concat(),
            ),
        ]
        .concat(),
        TreeLimits::default(),
    )
    .await;
    let mut actor = stage.start().await;
    let root = actor.session_id();
    actor.turn("go").await;
    let huge = "a word and ".repeat(40_000);
    let desk = actor.agents().user();
    let sent = desk
        .send("/root/a", message(&huge), SendUrgency::Regular)
        .await;
    sent.unwrap();
    actor.until_task_ends().await;
    let result = desk.result("/root/a", None).await.unwrap();
    assert_eq!(result.last_message.as_deref(), Some("read 1"), "{result:?}");
    let session = result.session_id;
    let heard = logs::texts(&logs::last_request(&stage, session), "message");
    assert!(heard.iter().any(|text| text.contains(&huge)));
    actor.shut_down().await;
    let actor = stage.resume(root).await;
    let view = actor.agents().user().view("/root/a").await.unwrap();
    assert_eq!(view.status, CurrentStatus::Completed);
    actor.shut_down().await;
}
