//! What people see of children: `subagent_lifecycle`, and the logs behind it.

use expect_test::expect;
use serde_json::{Value, json};
use troupe_agents::Family;
use troupe_process::{Launcher, LauncherOptions};
use troupe_protocol::EventMsg;
use troupe_protocol::agent::{SubagentLifecycle, SubagentSummary};
use troupe_tools::rules::RuleSource;
use troupe_tools::{EnvironmentPolicy, Registry, ToolDeps, Toolbox};

use super::cast::{self, lives, subagents};
use super::play::{
    Cue, agent, agents, answer, backgrounds, call, end, named, play, recorded, scene, seen,
};

#[tokio::test]
async fn every_change_of_a_childs_life_is_told_and_recorded_at_the_root() {
    let spawn = call(&("subagent_spawn", json!({"prompt": "leaf", "label": "leaf"})));
    let wait = call(&("subagent_await", json!({})));
    let children = scene("middle", &[&spawn, &wait, "{ say = 'middle done' }"])
        + &scene("leaf", &["{ say = 'leaf done' }"]);
    let cues: [Cue; 3] = [
        (
            "subagent_spawn",
            json!({"prompt": "middle", "label": "middle"}),
        ),
        ("subagent_await", json!({})),
        ("subagent_prune", json!({"all": true})),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let told = lives(&seen(&actor));
    expect![[r#"
        1 created below Some(0): Spawn "/root/middle"
        1 is Running
        2 created below Some(1): Spawn "/root/middle/leaf"
        2 is Running
        2 is Completed(Some("leaf done"))
        1 is Completed(Some("middle done"))
        1 deleted
        2 deleted"#]]
    .assert_eq(&told.join("\n"));
    let root = actor.session_id();
    end(actor).await;
    assert_eq!(lives(&recorded(&stage, root).await), told);
    // They are there when the session is again, and nothing is told twice.
    let actor = stage.resume(root).await;
    end(actor).await;
    assert_eq!(lives(&recorded(&stage, root).await), told);
}

#[tokio::test]
async fn a_headline_is_told_once_for_each_change() {
    let children = scene(
        "ponder",
        &[
            "{ think = '**Reading the files** and more words about them' }, { call = 'shell_command', arguments = { command = 'true' } }",
            "{ think = '**Reading the files** still' }, { call = 'shell_command', arguments = { command = 'true' } }",
            "{ think = 'No headline here' }, { think = '**Writing it down** at last' }, { say = 'pondered' }",
        ],
    );
    let cues: [Cue; 3] = [
        ("subagent_spawn", json!({"prompt": "ponder"})),
        ("subagent_await", json!({})),
        ("subagent_list", json!({})),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let told = lives(&seen(&actor));
    let headlines: Vec<_> = told.iter().filter(|line| line.contains("thinks")).collect();
    assert_eq!(
        headlines,
        [
            "1 thinks about Reading the files",
            "1 thinks about Writing it down"
        ]
    );
    // Who has ended thinks about nothing.
    assert_eq!(agent(&actor, "1").await.reasoning_header, None);
    end(actor).await;
}

#[tokio::test]
async fn a_later_task_and_a_return_are_told_as_what_they_are() {
    let cues: [Cue; 6] = [
        (
            "spawn_agent",
            json!({"message": "work", "task_name": "kid"}),
        ),
        ("wait", json!({"ids": ["/root/kid"]})),
        (
            "send_input",
            json!({"id": "/root/kid", "message": "and more"}),
        ),
        ("wait", json!({"ids": ["/root/kid"]})),
        ("close_agent", json!({"id": "/root/kid"})),
        ("resume_agent", json!({"id": "/root/kid"})),
    ];
    let stage = super::play::stage("", &cues).await;
    let actor = play(&stage).await;
    let agents = agents(&actor).await;
    let told: Vec<String> = backgrounds(&seen(&actor))
        .iter()
        .map(|line| named(&stage, &agents, line))
        .collect();
    expect![[r#"
        agent default (/root/kid) initializing
        agent default (/root/kid) running (0s)
        *agent default (/root/kid) [call] completed in 0s: ok
        agent default (/root/kid) running (0s)
        *agent default (/root/kid) [call] completed in 0s: ok
        *agent default (/root/kid) stopped in 0s"#]]
    .assert_eq(&told.join("\n"));
    let last = lives(&seen(&actor)).pop().unwrap();
    assert_eq!(last, r#"1 is Completed(Some("ok"))"#);
    end(actor).await;
}

#[tokio::test]
async fn logs_show_what_a_child_did_last_without_touching_it() {
    let children = scene(
        "errand",
        &[
            "{ call = 'shell_command', arguments = { command = 'echo one' } }",
            "{ say = 'all done' }",
        ],
    );
    let cues: [Cue; 4] = [
        ("subagent_spawn", json!({"prompt": "errand"})),
        ("subagent_await", json!({})),
        ("subagent_logs", json!({"agent_id": 1, "limit": 12})),
        ("subagent_logs", json!({"agent_id": 9})),
    ];
    let stage = subagents(&children, &cues).await;
    let actor = play(&stage).await;
    let told = answer(&stage, &actor, 2).await;
    let events = told["events"].as_array().unwrap();
    assert_eq!(told["returned"], events.len());
    assert_eq!(told["more_available"], true);
    let moments: Vec<&Value> = events.iter().map(|one| &one["timestamp_ms"]).collect();
    assert_eq!(Some(&&told["earliest_ms"]), moments.first());
    assert_eq!(Some(&&told["latest_ms"]), moments.last());
    let kinds: Vec<&str> = events
        .iter()
        .map(|one| one["event"]["type"].as_str().unwrap())
        .collect();
    assert!(
        kinds.contains(&"agent_message") || kinds.contains(&"item_completed"),
        "{kinds:?}"
    );
    let unknown = super::play::answers(&stage, &actor).await.remove(3);
    expect![[r#"no agent "9"; give an agent number, a path such as /root/name, a session id, "parent" or "root""#]].assert_eq(&unknown);
    end(actor).await;
}

#[tokio::test]
async fn since_is_inclusive_and_before_is_not() {
    let stage = subagents(
        "",
        &[
            ("subagent_spawn", json!({"prompt": "work"})),
            ("subagent_await", json!({})),
        ],
    )
    .await;
    let actor = play(&stage).await;
    let desk = actor.agents().user();
    let query = |since_ms, before_ms| troupe_agents::tree_access::LogsQuery {
        limit: 200,
        bytes_max: None,
        since_ms,
        before_ms,
    };
    let all = desk.logs("1", query(None, None)).await.unwrap().events;
    let moments: Vec<i64> = all.iter().map(|event| event.timestamp_ms).collect();
    let middle = moments[moments.len() / 2];
    let since = desk.logs("1", query(Some(middle), None)).await.unwrap();
    assert_eq!(since.events[0].timestamp_ms, middle);
    let before = desk.logs("1", query(None, Some(middle))).await.unwrap();
    assert!(
        before
            .events
            .iter()
            .all(|event| event.timestamp_ms < middle)
    );
    assert_eq!(since.events.len() + before.events.len(), moments.len());
    end(actor).await;
}

#[tokio::test]
async fn paging_back_through_logs_misses_nothing() {
    let stage = subagents(
        "",
        &[
            ("subagent_spawn", json!({"prompt": "work"})),
            ("subagent_await", json!({})),
        ],
    )
    .await;
    let actor = play(&stage).await;
    let desk = actor.agents().user();
    let query = |limit, before_ms| troupe_agents::tree_access::LogsQuery {
        limit,
        before_ms,
        ..troupe_agents::tree_access::LogsQuery::default()
    };
    let all = desk.logs("1", query(200, None)).await.unwrap().events;
    let mut pages = Vec::new();
    let mut before_ms = None;
    loop {
        let page = desk.logs("1", query(2, before_ms)).await.unwrap();
        let Some(first) = page.events.first() else {
            break;
        };
        before_ms = Some(first.timestamp_ms);
        pages.splice(0..0, page.events);
    }
    let told = |events: Vec<troupe_agents::tree_access::LoggedEvent>| -> Vec<Value> {
        events.into_iter().map(|logged| logged.event).collect()
    };
    assert_eq!(told(pages), told(all));
    end(actor).await;
}

#[tokio::test]
async fn everybody_hears_of_grandchildren_at_the_root_and_parents_of_their_own_children() {
    let spawn = call(&("subagent_spawn", json!({"prompt": "leaf"})));
    let wait = call(&("subagent_await", json!({})));
    let children = scene("middle", &[&spawn, &wait, "{ say = 'middle done' }"])
        + &scene("leaf", &["{ say = 'leaf done' }"]);
    let root = call(&("subagent_spawn", json!({"prompt": "middle"})));
    let stage = cast::stage(
        &children,
        &[&root, &wait, "{ say = 'done' }"],
        &[Family::Subagents],
    )
    .await;
    let actor = cast::open(&stage).await;
    let about = |events: &[EventMsg]| -> Vec<Value> {
        let lines = events.iter().filter_map(|msg| match msg {
            EventMsg::BackgroundEvent(event) if event.is_final => Some(json!(event.session_id)),
            _ => None,
        });
        lines.collect()
    };
    let (middle, leaf) = (
        agent(&actor, "1").await.session,
        agent(&actor, "2").await.session,
    );
    assert_eq!(about(&seen(&actor)), [json!(middle)]);
    let root = actor.session_id();
    end(actor).await;
    assert_eq!(about(&recorded(&stage, middle).await), [json!(leaf)]);
    let lives = lives(&recorded(&stage, root).await);
    assert!(
        lives.iter().any(|line| line.starts_with("2 is Completed")),
        "{lives:?}"
    );
}

/// The tools of a machine on which two secrets are set: one that a provider is paid with,
/// and one that looks like what it is.
fn tools_with_secrets(home: &str) -> Registry {
    let variables = [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", home),
        ("PROVIDER", "pays-for-all"),
        ("DEPLOY_TOKEN", "opens-all-doors"),
        ("COLOUR", "everybody-may-know"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let toolbox = Toolbox::new(ToolDeps {
        launcher: Launcher::new(LauncherOptions::default()),
        environment: EnvironmentPolicy::default(),
        inherited: variables.into(),
        secrets: vec!["PROVIDER".to_owned()],
        troupe_home: None,
        rules: RuleSource::default(),
    });
    toolbox.registry()
}

#[tokio::test]
async fn logs_have_no_secrets_of_the_machine() {
    let look = call(&("shell_command", json!({"command": "env"})));
    let children = scene("look around", &[&look, "{ say = 'looked' }"]);
    let cues: [Cue; 3] = [
        ("subagent_spawn", json!({"prompt": "look around"})),
        ("subagent_await", json!({})),
        ("subagent_logs", json!({"agent_id": 1, "limit": 200})),
    ];
    let stage = subagents(&children, &cues).await;
    let home = stage.home().to_string_lossy().into_owned();
    let stage = stage.adjusting(move |setup| setup.tools = tools_with_secrets(&home));
    let actor = play(&stage).await;
    let told = super::play::answers(&stage, &actor).await.remove(2);
    assert!(told.contains("COLOUR=everybody-may-know"), "{told}");
    for secret in ["pays-for-all", "opens-all-doors"] {
        assert!(!told.contains(secret), "{told}");
    }
    // Neither has the log itself.
    let kid = agent(&actor, "1").await.session;
    end(actor).await;
    let path = super::logs::path_of(&stage, kid);
    let log = std::fs::read_to_string(path).unwrap();
    for secret in ["pays-for-all", "opens-all-doors"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[tokio::test]
async fn a_parent_reads_in_the_log_of_a_child_at_work_and_changes_nothing() {
    let children = scene(
        "errand",
        &[
            "{ say = 'so far' }, { call = 'shell_command', arguments = { command = 'touch here; until [ -e go ]; do sleep 0.02; done' } }",
        ],
    );
    let here = json!({"command": "until [ -e here ]; do sleep 0.02; done"});
    let page = |arguments: Value| call(&("subagent_logs", arguments));
    let ever_ms = 4_102_444_800_000_i64;
    let root = [
        &*call(&("subagent_spawn", json!({"prompt": "errand"}))),
        &call(&("shell_command", here)),
        &page(json!({"agent_id": 1, "limit": 200, "since_ms": 0, "before_ms": ever_ms})),
        &page(json!({"agent_id": 1, "limit": 1})),
        &page(json!({"agent_id": 1, "limit": 200, "max_bytes": 1})),
        &page(json!({"agent_id": 1, "before_ms": 0})),
        &page(json!({"agent_id": 1, "since_ms": ever_ms})),
        "{ say = 'read' }",
    ];
    let stage = cast::stage(&children, &root, &[Family::Subagents]).await;
    let mut actor = stage.start().await;
    actor.say(cast::OPENING).await;
    actor.until(cast::is_running(1)).await;
    actor.until_task_ends().await;
    let pages: Vec<Value> = {
        let answers = super::play::answers(&stage, &actor).await;
        let pages = answers[2..].iter();
        pages
            .map(|text| serde_json::from_str(text).unwrap())
            .collect()
    };
    let [all, newest, small, before, since] = pages.as_slice() else {
        panic!("{pages:#?}");
    };
    assert_eq!(all["more_available"], false, "{all}");
    assert_eq!(newest["more_available"], true, "{newest}");
    assert_eq!(newest["latest_ms"], all["latest_ms"]);
    // However little is asked for, the newest moment is there.
    assert_eq!(small["events"], newest["events"]);
    for none in [before, since] {
        assert_eq!(
            (&none["returned"], &none["total_available"]),
            (&json!(0), &json!(0))
        );
    }
    // The child is where it was: in its first task and its first command.
    let kid = agent(&actor, "1").await;
    assert_eq!(kid.current_tools(), ["shell_command"]);
    assert_eq!(kid.pending.messages, 0);
    assert_eq!(super::play::requests_of(&stage, kid.session).len(), 1);
    stage.write("go", "");
    end(actor).await;
}

#[tokio::test]
async fn every_change_has_the_whole_summary_and_a_resume_tells_the_tree_again() {
    let thinking = scene(
        "think",
        &["{ think = '**Looking around**' }, { say = 'thought' }"],
    );
    let cues = [
        (
            "spawn_agent",
            json!({"message": "think", "task_name": "kid"}),
        ),
        ("wait", json!({"ids": ["/root/kid"]})),
    ];
    let stage = super::play::stage(&thinking, &cues).await;
    let actor = play(&stage).await;
    for msg in seen(&actor) {
        let EventMsg::SubagentLifecycle(change) = msg else {
            continue;
        };
        let summary = match change {
            SubagentLifecycle::Created { subagent } | SubagentLifecycle::Restored { subagent } => {
                subagent
            }
            SubagentLifecycle::Status {
                subagent, status, ..
            } => {
                let subagent = *subagent.unwrap();
                assert_eq!(subagent.status, status);
                subagent
            }
            SubagentLifecycle::ReasoningHeader { subagent, .. }
            | SubagentLifecycle::Deleted { subagent, .. } => *subagent.unwrap(),
        };
        assert_eq!(summary.path.as_deref(), Some("/root/kid"));
        assert_eq!(summary.parent_session_id, Some(actor.session_id()));
    }
    let session = actor.session_id();
    let kid = agents(&actor).await.remove(0);
    end(actor).await;
    let mut actor = stage.resume(session).await;
    let is_restored = |msg: &EventMsg| {
        matches!(
            msg,
            EventMsg::SubagentLifecycle(SubagentLifecycle::Restored { .. })
        )
    };
    let told = actor.until(is_restored).await;
    let Some(EventMsg::SubagentLifecycle(SubagentLifecycle::Restored { subagent })) = told.last()
    else {
        panic!("until returns the event it waited for");
    };
    assert_eq!(
        *subagent,
        SubagentSummary {
            reasoning_header: None,
            ..kid.summary()
        }
    );
    end(actor).await;
    // It follows from the logs, and is not kept.
    let kept = recorded(&stage, session).await;
    assert!(!kept.iter().any(is_restored));
}
