//! Role files: prompts, tools, rights and the shape of a result.

use expect_test::expect;
use serde_json::{Value, json};
use troupe_testkit::{Actor, Stage};

use super::play::{
    Cue, agent, agents, answer, answers, call, end, play, requests_of, role, scene, stage,
};

fn spawn(arguments: Value) -> Cue {
    ("spawn_agent", arguments)
}

fn wait(id: &str) -> Cue {
    ("wait", json!({"ids": [id]}))
}

/// The tools that an agent's model was offered.
async fn tools(stage: &Stage, actor: &Actor, path: &str) -> Vec<String> {
    let view = agent(actor, path).await;
    let body = &requests_of(stage, view.session)[0];
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let names = tools
        .iter()
        .map(|tool| tool["name"].as_str().expect("it is a text").to_owned());
    names.collect()
}

const NARROW: &str = "---
description: few tools
allow_list: ['*agent*', shell_command]
deny_list: ['close_*', cancel_agent]
---
You have few tools.
";

#[tokio::test]
async fn a_role_limits_the_tools_that_are_offered_and_those_that_run() {
    let patch = "{ custom = 'apply_patch', input = '*** Begin Patch\\n*** Add File: made\\n+x\\n*** End Patch' }";
    let close = call(&("close_agent", json!({"id": "root"})));
    let children = scene("overreach", &[patch, &close, "{ say = 'tried' }"]);
    let cues = [
        spawn(json!({"message": "overreach", "task_name": "kid", "agent_type": "narrow"})),
        wait("kid"),
    ];
    let stage = stage(&children, &cues).await;
    role(&stage, "narrow", NARROW);
    let actor = play(&stage).await;
    let offered = tools(&stage, &actor, "/root/kid").await;
    expect!["agent_result list_active_agents list_agents resume_agent shell_command spawn_agent"]
        .assert_eq(&offered.join(" "));
    let kid = agent(&actor, "/root/kid").await;
    let request = requests_of(&stage, kid.session).pop().unwrap();
    let refusals: Vec<String> = request["input"]
        .as_array()
        .expect("it is a list")
        .iter()
        .filter_map(|item| Some(item.get("output")?.to_string()))
        .collect();
    expect![[r#"
        "this agent may not use apply_patch: the role it was given does not allow it; go on without, or say in your answer what is missing"
        "this agent may not use close_agent: the role it was given does not allow it; go on without, or say in your answer what is missing""#]].assert_eq(&refusals.join("\n"));
    assert!(!stage.cwd().join("made").exists());
    end(actor).await;
}

#[tokio::test]
async fn the_tools_of_a_role_bind_all_below_it() {
    let deeper = call(&spawn(json!({"message": "work", "task_name": "inner"})));
    let settle = call(&wait("inner"));
    let children = scene("have a child", &[&deeper, &settle, "{ say = 'had' }"]);
    let narrow = NARROW.replace("'*agent*', ", "'*agent*', wait, ");
    let cues = [
        spawn(json!({"message": "have a child", "task_name": "outer", "agent_type": "narrow"})),
        wait("outer"),
    ];
    let stage = stage(&children, &cues).await;
    role(&stage, "narrow", &narrow);
    let actor = play(&stage).await;
    let outer = tools(&stage, &actor, "/root/outer").await;
    let inner = tools(&stage, &actor, "/root/outer/inner").await;
    assert_eq!(outer, inner);
    assert!(!inner.contains(&"apply_patch".to_owned()), "{inner:?}");
    end(actor).await;
}

#[tokio::test]
async fn a_role_file_that_is_not_understood_refuses_the_spawn() {
    let cues = [spawn(json!({"message": "work", "agent_type": "broken"}))];
    let stage = stage("", &cues).await;
    role(
        &stage,
        "broken",
        "---\ndescription: x\nread_onyl: true\n---\nWork.\n",
    );
    let actor = play(&stage).await;
    expect![
        "CWD/.troupe/agents/broken.md:3:1: unknown key `read_onyl` (did you mean `read_only`?)"
    ]
    .assert_eq(&answers(&stage, &actor).await[0]);
    assert_eq!(agents(&actor).await.len(), 0);
    end(actor).await;
}

#[tokio::test]
async fn a_changed_role_file_counts_from_the_next_spawn_on() {
    let change = "sed -i s/first/second/ .troupe/agents/aide.md";
    let cues = [
        spawn(json!({"message": "work", "task_name": "before", "agent_type": "aide"})),
        wait("before"),
        ("shell_command", json!({"command": change})),
        spawn(json!({"message": "work", "task_name": "after", "agent_type": "aide"})),
        wait("after"),
    ];
    let stage = stage("", &cues).await;
    role(
        &stage,
        "aide",
        "---\ndescription: helps\n---\nThis is the first text.\n",
    );
    let actor = play(&stage).await;
    for (path, text) in [
        ("/root/before", "the first text"),
        ("/root/after", "the second text"),
    ] {
        let view = agent(&actor, path).await;
        let instructions = requests_of(&stage, view.session)[0]["instructions"].to_string();
        assert!(instructions.contains(text), "{path}");
    }
    end(actor).await;
}

#[tokio::test]
async fn a_persona_speaks_in_place_of_its_role() {
    const AIDE: &str = "---\ndescription: helps\nagent_names:\n  - name: quick\n---\nYou are slow.\n\
                        <!-- agent_name: quick -->\nYou are quick.\n";
    let cues = [
        spawn(
            json!({"message": "work", "task_name": "kid", "agent_type": "aide", "agent_name": "Quick"}),
        ),
        wait("kid"),
    ];
    let stage = stage("", &cues).await;
    role(&stage, "aide", AIDE);
    let actor = play(&stage).await;
    let view = agent(&actor, "/root/kid").await;
    let instructions = requests_of(&stage, view.session)[0]["instructions"].to_string();
    assert!(instructions.contains("You are quick."));
    assert!(!instructions.contains("You are slow."));
    end(actor).await;
}

fn count_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"count": {"type": "integer"}},
        "required": ["count"],
        "additionalProperties": false,
    })
}

/// Plays a child that gives these answers under a schema, and returns its result.
async fn structured(says: &[&str], by_role: bool) -> (Value, Vec<Value>) {
    let says: Vec<String> = says
        .iter()
        .map(|text| format!("{{ say = '{text}' }}"))
        .collect();
    let says: Vec<&str> = says.iter().map(String::as_str).collect();
    let mut wish = json!({"message": "count", "task_name": "kid", "agent_type": "counter"});
    let mut schema = String::new();
    if by_role {
        schema = format!("output_schema: {}\n", count_schema());
    } else {
        wish["output_schema"] = count_schema();
    }
    let cues = [
        spawn(wish),
        wait("kid"),
        ("agent_result", json!({"id": "kid"})),
    ];
    let stage = stage(&scene("count", &says), &cues).await;
    let counter = format!("---\ndescription: counts\n{schema}---\nYou count.\n");
    role(&stage, "counter", &counter);
    let actor = play(&stage).await;
    let kid = agent(&actor, "/root/kid").await;
    let result = answer(&stage, &actor, 2).await["result"].take();
    let requests = requests_of(&stage, kid.session);
    end(actor).await;
    (result, requests)
}

#[tokio::test]
async fn an_answer_that_fits_its_schema_is_in_the_result() {
    let (result, requests) = structured(&[r#"{"count": 3}"#], false).await;
    assert_eq!(result["stop"], json!({"reason": "completed"}));
    assert_eq!(
        result["output"],
        json!({"verdict": "valid", "value": {"count": 3}})
    );
    assert_eq!(requests[0]["text"]["format"]["schema"], count_schema());
}

#[tokio::test]
async fn a_role_can_ask_for_the_schema() {
    let (result, requests) = structured(&[r#"{"count": 3}"#], true).await;
    assert_eq!(
        result["output"],
        json!({"verdict": "valid", "value": {"count": 3}})
    );
    assert_eq!(requests[0]["text"]["format"]["schema"], count_schema());
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_for_again_once() {
    let (result, requests) = structured(&["three", r#"{"count": 3}"#], false).await;
    assert_eq!(result["stop"], json!({"reason": "completed"}));
    assert_eq!(
        result["output"],
        json!({"verdict": "valid", "value": {"count": 3}})
    );
    let repair = requests[1]["input"]
        .as_array()
        .expect("it is a list")
        .last()
        .unwrap();
    expect![[r#"
        Your answer does not fit the JSON schema that was asked for. What is wrong with it:
        - it is not JSON: expected ident at line 1 column 2
        Answer again with the corrected JSON only, without any other text."#]]
    .assert_eq(repair["content"][0]["text"].as_str().expect("it is a text"));
}

#[tokio::test]
async fn an_answer_that_never_fits_is_a_typed_failure() {
    let (result, requests) = structured(&["three", r#"{"count": "three"}"#], false).await;
    assert_eq!(requests.len(), 2);
    expect![[r#"
        [
          {
            "reason": "output_invalid",
            "message": "the answer does not fit its output schema, also not after it was asked for again: at /count: expected an integer, found \"three\""
          },
          {
            "verdict": "invalid",
            "problems": [
              "at /count: expected an integer, found \"three\""
            ]
          }
        ]"#]]
        .assert_eq(&serde_json::to_string_pretty(&[&result["stop"], &result["output"]]).unwrap());
    assert_eq!(result["last_message"], r#"{"count": "three"}"#);
}

#[tokio::test]
async fn embedded_workers_cannot_spawn_and_orchestrators_can() {
    let cues = [
        spawn(json!({"message": "work", "task_name": "w", "agent_type": "worker"})),
        spawn(json!({"message": "work", "task_name": "e", "agent_type": "explorer"})),
        spawn(json!({"message": "work", "task_name": "o", "agent_type": "orchestrator"})),
    ];
    let stage = stage("", &cues).await;
    let actor = play(&stage).await;
    actor.agents().wait_until_idle().await;
    let spawns = "spawn_agent".to_owned();
    assert!(!tools(&stage, &actor, "/root/w").await.contains(&spawns));
    assert!(!tools(&stage, &actor, "/root/e").await.contains(&spawns));
    assert!(tools(&stage, &actor, "/root/o").await.contains(&spawns));
    end(actor).await;
}
