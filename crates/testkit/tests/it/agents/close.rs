//! `close_agent` and `cancel_agent`: ways to stop.

use expect_test::expect;
use serde_json::{Value, json};
use troupe_protocol::EventMsg;
use troupe_protocol::agent::{AgentStatus, SubagentLifecycle};

use super::play::{
    Cue, agent, agents, answer, answers, answers_of, backgrounds, call, end, named, play, scene,
    seen, stage,
};

fn spawn(message: &str, name: &str) -> Cue {
    (
        "spawn_agent",
        json!({"message": message, "task_name": name}),
    )
}

fn shell(command: &str) -> Cue {
    ("shell_command", json!({"command": command}))
}

/// An elder with a grandchild that is in the middle of a command.
fn family() -> String {
    let deep = "echo $$ > pid; touch here; until [ -e gate ]; do sleep 0.02; done";
    let deep = call(&shell(deep));
    let have = call(&spawn("be held", "grandkid"));
    let wait = call(&("wait", json!({"ids": ["grandkid"]})));
    let deep = format!("{{ say = 'half done' }}, {deep}");
    scene("be held", &[&deep]) + &scene("have a child", &[&have, &wait, "{ say = 'never said' }"])
}

fn until_here() -> Cue {
    shell("until [ -e here ]; do sleep 0.02; done")
}

/// The paths and actions of a stop.
fn touched(answer: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("it is a text").to_owned();
    let touched = answer["touched"].as_array().expect("it is a list").iter();
    touched
        .map(|line| (text(&line["path"]), text(&line["action"])))
        .collect()
}

fn pair(path: &str, action: &str) -> (String, String) {
    (path.to_owned(), action.to_owned())
}

#[tokio::test]
async fn closing_an_agent_closes_everything_below_it_and_kills_its_commands() {
    let cues = [
        spawn("have a child", "elder"),
        until_here(),
        ("close_agent", json!({"id": "elder"})),
        ("wait", json!({"ids": ["elder", "elder/grandkid"]})),
        shell("kill -0 $(cat pid) 2>&1"),
    ];
    let stage = stage(&family(), &cues).await;
    let actor = play(&stage).await;
    let closed = answer(&stage, &actor, 2).await;
    assert_eq!(closed["status"], "running", "the status that it had");
    assert_eq!(
        touched(&closed),
        [
            pair("/root/elder", "close"),
            pair("/root/elder/grandkid", "close")
        ]
    );
    actor.agents().wait_until_idle().await;
    for view in agents(&actor).await {
        assert_eq!(view.wire_status(), AgentStatus::Shutdown, "{}", view.path);
    }
    let gone = &answers(&stage, &actor).await[4];
    assert!(gone.contains("No such process"), "{gone}");
    end(actor).await;
}

#[tokio::test]
async fn a_close_is_told_at_the_root_for_agents_of_any_depth_and_to_parents() {
    let cues = [
        spawn("have a child", "elder"),
        until_here(),
        ("close_agent", json!({"id": "elder"})),
    ];
    let stage = stage(&family(), &cues).await;
    let mut actor = play(&stage).await;
    let elder = agent(&actor, "/root/elder").await.session;
    let grandkid = agent(&actor, "/root/elder/grandkid").await.session;
    for session in [elder, grandkid] {
        let is_shut = |msg: &EventMsg| {
            matches!(msg, EventMsg::SubagentLifecycle(SubagentLifecycle::Status {
                session_id,
                status: AgentStatus::Shutdown,
                ..
            }) if *session_id == session)
        };
        if !seen(&actor).iter().any(is_shut) {
            actor.until(is_shut).await;
        }
    }
    actor.agents().wait_until_idle().await;
    let agents = agents(&actor).await;
    for view in &agents {
        let lives: Vec<AgentStatus> = seen(&actor)
            .into_iter()
            .filter_map(|msg| match msg {
                EventMsg::SubagentLifecycle(SubagentLifecycle::Status {
                    agent_id, status, ..
                }) if agent_id == view.agent => Some(status),
                _ => None,
            })
            .collect();
        let expected = [
            AgentStatus::Running,
            AgentStatus::Cancelled,
            AgentStatus::Shutdown,
        ];
        assert_eq!(lives, expected, "{}", view.path);
    }
    let of_elder = |msg: &&EventMsg| matches!(msg, EventMsg::BackgroundEvent(event) if event.session_id == Some(elder));
    let told = backgrounds(seen(&actor).iter().filter(of_elder)).join("\n");
    expect![[r"
        agent default (/root/elder) initializing
        agent default (/root/elder) running (0s)
        *agent default (/root/elder) cancelled in 0s
        *agent default (/root/elder) stopped in 0s"]]
    .assert_eq(&named(&stage, &agents, &told));
    end(actor).await;
}

#[tokio::test]
async fn a_child_closes_only_itself_and_those_below_it() {
    let sibling = call(&("close_agent", json!({"id": "/root/sibling"})));
    let parent = call(&("close_agent", json!({"id": "parent"})));
    let cancel = call(&("cancel_agent", json!({"id": "/root/sibling"})));
    let have = call(&spawn("work", "own"));
    let own = call(&("close_agent", json!({"id": "own"})));
    let children = scene(
        "close everybody",
        &[
            &sibling,
            &parent,
            &cancel,
            &have,
            &own,
            "{ say = 'closed' }",
        ],
    );
    let cues = [
        spawn("work", "sibling"),
        spawn("close everybody", "kid"),
        ("wait", json!({"ids": ["kid"]})),
    ];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let kid = agent(&actor, "/root/kid").await;
    let told = answers_of(&stage, kid.session);
    assert_eq!(
        told[0],
        "Not permitted to close agents outside your subtree."
    );
    assert_eq!(
        told[1],
        "Not permitted to close agents outside your subtree."
    );
    assert_eq!(
        told[2],
        "Not permitted to cancel agents outside your subtree."
    );
    let own = agent(&actor, "/root/kid/own").await;
    assert_eq!(own.wire_status(), AgentStatus::Shutdown, "{}", told[4]);
    let sibling = agent(&actor, "/root/sibling").await;
    assert_eq!(
        sibling.wire_status(),
        AgentStatus::Completed(Some("ok".to_owned()))
    );
    end(actor).await;
}

#[tokio::test]
async fn a_child_that_closes_itself_ends_there() {
    let itself = call(&("close_agent", json!({"id": "/root/kid"})));
    let children = scene("close yourself", &[&itself, "{ say = 'never said' }"]);
    let cues = [
        spawn("close yourself", "kid"),
        ("wait", json!({"ids": ["kid"]})),
    ];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let waited = answer(&stage, &actor, 1).await;
    assert_eq!(waited["status"], json!({"/root/kid": "shutdown"}));
    end(actor).await;
}

#[tokio::test]
async fn the_root_closes_whom_it_wants_and_a_second_close_changes_nothing() {
    let cues = [
        spawn("have a child", "elder"),
        until_here(),
        (
            "close_agent",
            json!({"id": "elder/grandkid", "dry_run": true}),
        ),
        ("list_active_agents", json!({"scope": "all"})),
        ("close_agent", json!({"id": "elder/grandkid"})),
        ("wait", json!({"ids": ["elder/grandkid"]})),
        ("close_agent", json!({"id": "elder/grandkid"})),
        ("close_agent", json!({"id": "nobody"})),
    ];
    let children = family().replace("never said", "alone again");
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    assert_eq!(
        touched(&answer(&stage, &actor, 2).await),
        [pair("/root/elder/grandkid", "close")]
    );
    let untouched = answer(&stage, &actor, 3).await;
    assert_eq!(untouched["agents"][1]["status"], "running");
    assert_eq!(
        touched(&answer(&stage, &actor, 4).await),
        [pair("/root/elder/grandkid", "close")]
    );
    let again = answer(&stage, &actor, 6).await;
    assert_eq!(again["status"], "shutdown");
    assert_eq!(touched(&again), []);
    let nobody = &answers(&stage, &actor).await[7];
    assert!(nobody.starts_with("no agent \"nobody\""), "{nobody}");
    actor.agents().wait_until_idle().await;
    let elder = agent(&actor, "/root/elder").await;
    assert_eq!(
        elder.wire_status(),
        AgentStatus::Completed(Some("alone again".to_owned()))
    );
    end(actor).await;
}

#[tokio::test]
async fn a_cancel_keeps_what_there_is_and_why_and_the_agent_can_go_on() {
    let hold = "echo $$ > pid; touch here; until [ -e gate ]; do sleep 0.02; done";
    let hold = format!("{{ say = 'half done' }}, {}", call(&shell(hold)));
    let children = scene("hold on", &[&hold, "{ say = 'went on' }"]);
    let cancel = |dry_run: bool| {
        let reason = "no longer needed";
        (
            "cancel_agent",
            json!({"id": "kid", "reason": reason, "dry_run": dry_run}),
        )
    };
    let cues = [
        spawn("hold on", "kid"),
        until_here(),
        cancel(true),
        ("list_active_agents", json!({})),
        cancel(false),
        ("wait", json!({"ids": ["kid"]})),
        ("agent_result", json!({"id": "kid"})),
        shell("kill -0 $(cat pid) 2>&1"),
        (
            "send_input",
            json!({"id": "kid", "message": "go on after all"}),
        ),
        ("wait", json!({"ids": ["kid"]})),
    ];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let planned = [pair("/root/kid", "cancel")];
    assert_eq!(touched(&answer(&stage, &actor, 2).await), planned);
    let untouched = answer(&stage, &actor, 3).await;
    assert_eq!(untouched["agents"][0]["status"], "running");
    assert_eq!(touched(&answer(&stage, &actor, 4).await), planned);
    let waited = answer(&stage, &actor, 5).await;
    assert_eq!(waited["status"], json!({"/root/kid": "cancelled"}));
    let result = answer(&stage, &actor, 6).await["result"].take();
    assert_eq!(result["last_message"], "half done");
    assert_eq!(
        result["stop"],
        json!({"reason": "cancelled", "note": "no longer needed"})
    );
    let gone = &answers(&stage, &actor).await[7];
    assert!(gone.contains("No such process"), "{gone}");
    let waited = answer(&stage, &actor, 9).await;
    assert_eq!(
        waited["status"],
        json!({"/root/kid": {"completed": "went on"}})
    );
    end(actor).await;
}
