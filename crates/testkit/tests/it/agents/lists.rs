//! `list_agents`, `list_active_agents` and `agent_result`: roles, agents and what came of
//! them.

use expect_test::expect;
use serde_json::{Value, json};
use troupe_agents::tree_access::{TreeError, TreeStopRequest};
use troupe_protocol::agent::SubagentLifecycle;
use troupe_protocol::{EventMsg, StopVerb};
use troupe_tree::command::StopMode;

use super::cast::is_running;
use super::hands::Hands;
use super::play::{
    Cue, agent, answer, answers, answers_of, begin, call, end, play, role, scene, stage,
    until_there,
};

const AIDE: &str = "---
description: helps
model: scripted-2
reasoning_effort: low
allow_list: [shell_command, 'read*']
deny_list: [apply_patch]
agent_names:
  - name: quick
    description: is fast
    model: scripted-1
    reasoning_effort: high
---
You help slowly.
<!-- agent_name: quick -->
You help quickly.
";

#[tokio::test]
async fn roles_are_listed_with_their_tools_and_personas() {
    let cues: [Cue; 3] = [
        ("list_agents", json!({"agent_type": "aide"})),
        (
            "list_agents",
            json!({"agent_type": "aide", "expanded": true}),
        ),
        ("list_agents", json!({"agent_type": "nobody"})),
    ];
    let stage = stage("", &cues).await;
    role(&stage, "aide", AIDE);
    let actor = play(&stage).await;
    expect![[r#"
        {"agents":[{"agent_type":"aide","description":"helps","allow_list":["shell_command","read*"],"deny_list":["apply_patch"],"agent_names":[{"name":"quick","description":"is fast"}]}]}
        {"agents":[{"agent_type":"aide","description":"helps","allow_list":["shell_command","read*"],"deny_list":["apply_patch"],"agent_names":[{"name":"quick","description":"is fast","model":"scripted-1","reasoning_effort":"high","prompt":"You help quickly."}],"model":"scripted-2","reasoning_effort":"low","default_prompt":"You help slowly."}]}
        unknown role nobody; there are aide, architect, default, explorer, linter_fixer, mathematician, orchestrator, reviewer, tester, worker"#]].assert_eq(&answers(&stage, &actor).await.join("\n"));
    end(actor).await;
}

#[tokio::test]
async fn all_roles_are_listed_and_a_broken_file_spoils_no_other() {
    let stage = stage("", &[("list_agents", json!({}))]).await;
    role(&stage, "aide", AIDE);
    role(&stage, "broken", "---\nread_only: [\n---\nWork.");
    let actor = play(&stage).await;
    let listed = answer(&stage, &actor, 0).await;
    let names: Vec<&str> = listed["agents"]
        .as_array()
        .expect("it is a list")
        .iter()
        .map(|role| role["agent_type"].as_str().expect("it is a text"))
        .collect();
    expect!["aide architect default explorer linter_fixer mathematician orchestrator reviewer tester worker"].assert_eq(&names.join(" "));
    let errors = listed["errors"].as_array().expect("it is a list");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0]["path"], "CWD/.troupe/agents/broken.md");
    end(actor).await;
}

/// The paths of one listing.
fn paths(listed: &Value) -> Vec<&str> {
    let agents = listed["agents"].as_array().expect("it is a list");
    let paths = agents
        .iter()
        .map(|agent| agent["path"].as_str().expect("it is a text"));
    paths.collect()
}

/// A root with two children, one of which has a child itself.
fn family() -> (String, Vec<Cue>) {
    let spawn = call(&(
        "spawn_agent",
        json!({"message": "work", "task_name": "grandkid"}),
    ));
    let wait = call(&("wait", json!({"ids": ["grandkid"]})));
    let look = call(&("list_active_agents", json!({"scope": "all"})));
    let look_below = call(&("list_active_agents", json!({})));
    let children = scene(
        "have a child",
        &[&spawn, &wait, &look, &look_below, "{ say = 'a parent' }"],
    );
    let cues = vec![
        (
            "spawn_agent",
            json!({"message": "have a child", "task_name": "elder"}),
        ),
        ("wait", json!({"ids": ["elder"]})),
        (
            "spawn_agent",
            json!({"message": "work", "task_name": "younger"}),
        ),
        ("wait", json!({"ids": ["younger"]})),
    ];
    (children, cues)
}

#[tokio::test]
async fn scopes_are_children_descendants_and_all() {
    let (children, mut cues) = family();
    cues.extend([
        ("list_active_agents", json!({})),
        ("list_active_agents", json!({"scope": "children"})),
        ("list_active_agents", json!({"scope": "descendants"})),
        ("list_active_agents", json!({"scope": "all"})),
    ]);
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let all = ["/root/elder", "/root/elder/grandkid", "/root/younger"];
    assert_eq!(
        paths(&answer(&stage, &actor, 4).await),
        ["/root/elder", "/root/younger"]
    );
    assert_eq!(
        paths(&answer(&stage, &actor, 5).await),
        ["/root/elder", "/root/younger"]
    );
    assert_eq!(paths(&answer(&stage, &actor, 6).await), all);
    assert_eq!(paths(&answer(&stage, &actor, 7).await), all);
    let elder = agent(&actor, "/root/elder").await;
    let seen_by_elder = answers_of(&stage, elder.session);
    let listing = |index: usize| serde_json::from_str::<Value>(&seen_by_elder[index]).unwrap();
    assert_eq!(paths(&listing(2)), ["/root/elder", "/root/elder/grandkid"]);
    assert_eq!(paths(&listing(3)), ["/root/elder/grandkid"]);
    end(actor).await;
}

#[tokio::test]
async fn the_tree_is_told_on_request() {
    let (children, mut cues) = family();
    cues.push((
        "list_active_agents",
        json!({"scope": "all", "include_tree": true}),
    ));
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let listed = answer(&stage, &actor, 4).await;
    let root = json!(actor.session_id());
    let places: Vec<(&Value, &Value)> = listed["agents"]
        .as_array()
        .expect("it is a list")
        .iter()
        .map(|line| (&line["parent_thread_id"], &line["depth"]))
        .collect();
    let (elder, one, two) = (json!("/root/elder"), json!(1), json!(2));
    assert_eq!(places, [(&root, &one), (&elder, &two), (&root, &one)]);
    end(actor).await;
}

#[tokio::test]
async fn an_agent_is_listed_with_what_there_is_to_know() {
    let cues: [Cue; 3] = [
        (
            "spawn_agent",
            json!({
                "message": "work", "task_name": "kid", "agent_type": "explorer",
                "reasoning_effort": "low", "thread_note": "looks",
            }),
        ),
        ("wait", json!({"ids": ["kid"]})),
        ("list_active_agents", json!({})),
    ];
    let stage = stage("", &cues).await;
    let actor = play(&stage).await;
    let mut listed = answer(&stage, &actor, 2).await;
    let line = &mut listed["agents"][0];
    assert!(line["status_duration_sec"].take().is_u64());
    assert!(
        line["updated_at"]
            .take()
            .as_str()
            .expect("it is a text")
            .ends_with('Z')
    );
    expect![[r#"
        {
          "thread_id": "/root/kid",
          "agent_number": 1,
          "path": "/root/kid",
          "thread_name": "kid",
          "thread_note": "looks",
          "agent_type": "explorer",
          "model": "scripted-1",
          "reasoning_effort": "low",
          "status": {
            "completed": "ok"
          },
          "status_duration_sec": null,
          "pending_messages": 0,
          "updated_at": null,
          "tokens": {
            "own": 120,
            "subtree": 120
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(line).unwrap());
    end(actor).await;
}

#[tokio::test]
async fn finished_agents_are_active_and_closed_ones_are_listed_on_request() {
    let children = scene("fail", &["{ status = 400, message = 'no such thing' }"]);
    let cues: [Cue; 8] = [
        (
            "spawn_agent",
            json!({"message": "work", "task_name": "completed"}),
        ),
        ("wait", json!({"ids": ["completed"]})),
        (
            "spawn_agent",
            json!({"message": "fail", "task_name": "errored"}),
        ),
        ("wait", json!({"ids": ["errored"]})),
        (
            "spawn_agent",
            json!({"message": "work", "task_name": "closed"}),
        ),
        ("close_agent", json!({"id": "closed"})),
        ("list_active_agents", json!({})),
        ("list_active_agents", json!({"include_closed": true})),
    ];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let active = answer(&stage, &actor, 6).await;
    assert_eq!(paths(&active), ["/root/completed", "/root/errored"]);
    assert_eq!(active["agents"][0]["status"], json!({"completed": "ok"}));
    let error = &active["agents"][1]["status"]["errored"];
    assert!(
        error
            .as_str()
            .expect("it is a text")
            .contains("no such thing"),
        "{error}"
    );
    let all = answer(&stage, &actor, 7).await;
    assert_eq!(
        paths(&all),
        ["/root/completed", "/root/errored", "/root/closed"]
    );
    assert_eq!(all["agents"][2]["status"], "shutdown");
    end(actor).await;
}

#[tokio::test]
async fn a_running_agent_is_listed_with_what_it_does_and_for_how_long() {
    let hands = Hands::default();
    let children = scene("be busy", &[&until_there("gate"), "{ say = 'free' }"]);
    let later = json!({"command": "until [ -e later ]; do sleep 0.02; done"});
    let cues: [Cue; 4] = [
        (
            "spawn_agent",
            json!({"message": "be busy", "task_name": "kid"}),
        ),
        ("shell_command", later),
        ("list_active_agents", json!({})),
        ("shell_command", json!({"command": "touch gate"})),
    ];
    let stage = stage(&children, &cues).await.clock(hands.clock());
    let mut actor = begin(&stage).await;
    actor.until(is_running(1)).await;
    while agent(&actor, "1").await.current_tools().is_empty() {
        tokio::task::yield_now().await;
    }
    hands.turn(&actor, 30).await;
    stage.write("later", "");
    actor.until_task_ends().await;
    let listed = answer(&stage, &actor, 2).await;
    let line = &listed["agents"][0];
    assert_eq!(line["status"], "running");
    assert_eq!(line["current_tool"], "shell_command");
    assert_eq!(line["waiting_on"], "tool");
    let stood_s = line["status_duration_sec"].as_u64().unwrap();
    assert!((30..60).contains(&stood_s), "{line}");
    end(actor).await;
}

/// The last messages in results, by the address that was asked for.
fn last_messages(answers: &[String]) -> Vec<Value> {
    let read = |text: &String| serde_json::from_str::<Value>(text).unwrap_or_else(|_| json!(text));
    let results = answers.iter().map(read);
    results
        .map(|answer| answer["result"]["last_message"].clone())
        .collect()
}

#[tokio::test]
async fn a_result_is_fetched_by_any_address_and_after_close() {
    let cues: [Cue; 6] = [
        (
            "spawn_agent",
            json!({"message": "work", "task_name": "kid"}),
        ),
        ("wait", json!({"ids": ["kid"]})),
        ("close_agent", json!({"id": "kid"})),
        ("agent_result", json!({"id": "{{output.1.agent_id}}"})),
        ("agent_result", json!({"id": 1})),
        ("agent_result", json!({"id": "/root/kid"})),
    ];
    let stage = stage("", &cues).await;
    let actor = play(&stage).await;
    let answers = answers(&stage, &actor).await;
    assert_eq!(last_messages(&answers[3..]), ["ok", "ok", "ok"]);
    let result = answer(&stage, &actor, 3).await;
    assert_eq!(result["status"], "shutdown");
    assert_eq!(result["result"]["stop"], json!({"reason": "completed"}));
    end(actor).await;
}

#[tokio::test]
async fn a_result_has_the_evidence_of_the_engine() {
    let make = call(&(
        "shell_command",
        json!({"command": "echo hi > made; exit 3"}),
    ));
    let children = scene("make a file", &[&make, "{ say = 'all went well' }"]);
    let cues: [Cue; 3] = [
        (
            "spawn_agent",
            json!({"message": "make a file", "task_name": "kid"}),
        ),
        ("wait", json!({"ids": ["kid"]})),
        ("agent_result", json!({"id": "kid"})),
    ];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let result = answer(&stage, &actor, 2).await["result"].clone();
    let evidence = &result["evidence"];
    assert_eq!(result["last_message"], "all went well");
    assert_eq!(evidence["commands"][0]["exit_code"], 3);
    assert_eq!(evidence["tool_calls"], json!({"shell_command": 1}));
    assert_eq!(evidence["usage"]["total_tokens"], 240);
    end(actor).await;
}

#[tokio::test]
async fn a_result_outlives_prune_and_restart() {
    let cues: [Cue; 2] = [
        (
            "spawn_agent",
            json!({"message": "work", "task_name": "kid"}),
        ),
        ("wait", json!({"ids": ["kid"]})),
    ];
    let stage = stage("", &cues).await;
    let mut actor = play(&stage).await;
    let kid = agent(&actor, "/root/kid").await;
    let prune = TreeStopRequest {
        verb: StopVerb::Prune,
        targets: vec!["/root/kid".to_owned()],
        mode: StopMode::Act,
        note: None,
    };
    let desk = actor.agents().user();
    let pruned = desk.stop(prune).await.unwrap();
    assert_eq!(pruned.touched.len(), 1);
    let told = actor
        .until(|msg| {
            matches!(
                msg,
                EventMsg::SubagentLifecycle(SubagentLifecycle::Deleted { .. })
            )
        })
        .await;
    let deleted = SubagentLifecycle::Deleted {
        agent_id: kid.agent,
        session_id: kid.session,
        subagent: Some(Box::new(desk.view("/root/kid").await.unwrap().summary())),
    };
    assert_eq!(told.last(), Some(&EventMsg::SubagentLifecycle(deleted)));
    let result = desk.result("/root/kid", None).await.unwrap();
    assert_eq!(result.last_message.as_deref(), Some("ok"));
    let root = actor.session_id();
    end(actor).await;
    let actor = stage.resume(root).await;
    let result = actor.agents().user().result("1", None).await.unwrap();
    assert_eq!(result.last_message.as_deref(), Some("ok"));
    end(actor).await;
}

#[tokio::test]
async fn an_agent_at_work_has_no_result_yet() {
    let children = scene("be busy", &[&until_there("gate"), "{ say = 'free' }"]);
    let cues: [Cue; 2] = [
        (
            "spawn_agent",
            json!({"message": "be busy", "task_name": "kid"}),
        ),
        ("agent_result", json!({"id": "kid"})),
    ];
    let stage = stage(&children, &cues).await;
    let mut actor = begin(&stage).await;
    actor.until_task_ends().await;
    let told = answers(&stage, &actor).await;
    assert_eq!(
        told[1],
        "agent /root/kid has no finished task yet; wait for it first"
    );
    let missing = actor.agents().user().result("/root/kid", None).await;
    assert!(
        matches!(missing, Err(TreeError::NoResult(_))),
        "{missing:?}"
    );
    stage.write("gate", "");
    end(actor).await;
}
