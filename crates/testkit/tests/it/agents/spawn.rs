//! `spawn_agent`: what it takes, what it refuses, and what a child gets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use expect_test::{Expect, expect};
use serde_json::{Value, json};
use troupe_agents::TreeOptions;
use troupe_agents::roles::ModelPreference;
use troupe_agents::tree_access::{ModelChoice, ModelListState, SpawnCatalogue};
use troupe_protocol::EventMsg;
use troupe_protocol::agent::AgentStatus;
use troupe_protocol::policy::SandboxPolicy;
use troupe_testkit::{Actor, Stage};
use troupe_tree::{TreeLimits, limits::OnLimit};

use super::play::{
    Cue, agent, agents, answer, answers, answers_of, call, end, play, requests_of, role, scene,
    seen, stage, stage_with, until_there,
};

fn spawn(arguments: Value) -> Cue {
    ("spawn_agent", arguments)
}

/// Plays calls that are refused, and shows what the model reads instead.
async fn check_refused(calls: &[Value], expected: Expect) {
    let cues: Vec<Cue> = calls.iter().cloned().map(spawn).collect();
    let stage = stage("", &cues).await;
    let actor = play(&stage).await;
    let answers = answers(&stage, &actor).await;
    // The shape that was expected is shown by every tool alike.
    let problems: Vec<&str> = answers
        .iter()
        .map(|text| {
            text.split_once(". Call it again")
                .map_or(&**text, |(problem, _)| problem)
        })
        .collect();
    expected.assert_eq(&problems.join("\n"));
    assert_eq!(agents(&actor).await.len(), 0, "nobody was spawned");
    end(actor).await;
}

#[tokio::test]
async fn exactly_one_of_message_and_items_is_given_and_says_something() {
    check_refused(
        &[
            json!({"message": "work", "items": [{"type": "text", "text": "work"}]}),
            json!({}),
            json!({"message": "  "}),
            json!({"items": []}),
        ],
        expect![[r"
            give either message or items, not both
            give one of message and items
            message must not be empty
            items must not be empty"]],
    )
    .await;
}

#[tokio::test]
async fn a_model_gives_no_agent_an_address_that_the_provider_would_fetch() {
    let image = |url: &str| json!({"items": [{"type": "image", "image_url": url}]});
    check_refused(
        &[
            image("https://example.org/?secret=1"),
            image("hTTp://example.org"),
        ],
        expect![[r#"
            items[0].image_url is not a data: URL; the provider would fetch the address, and only the user may give it one: save the picture and send it as local_image
            items[0].image_url is not a data: URL; the provider would fetch the address, and only the user may give it one: save the picture and send it as local_image"#]],
    )
    .await;
}

#[tokio::test]
async fn unknown_arguments_are_refused_by_name() {
    check_refused(
        &[json!({"message": "work", "colour": "red"})],
        expect![[r#"spawn_agent: field "colour": unknown field `colour`, expected one of `message`, `items`, `agent_type`, `agent_name`, `working_directory`, `model`, `agenticTool`, `backend`, `reasoning_effort`, `thread_note`, `history`, `output_schema`, `approvals`, `on_parent_interrupt`, `task_name`, `callback`, `enable_callback`, `include_last_message`, `include_original_prompt`"#]],
    )
    .await;
}

#[tokio::test]
async fn a_schema_that_no_answer_could_be_checked_by_is_refused_with_its_place() {
    let count = json!({"type": "integer", "nullable": true});
    check_refused(
        &[
            json!({"message": "work", "output_schema": {"properties": {"count": count}}}),
            json!({"message": "work", "output_schema": {"type": "text"}}),
            json!({"message": "work", "output_schema": {"$ref": "https://example.com/a.json"}}),
            json!({"message": "work", "output_schema": {"not": {}}}),
            json!({"message": "\u{200b}\u{feff}\u{202e} "}),
        ],
        expect![[r##"
            output_schema: at /properties/count: the keyword "nullable" is not supported; leave it out or say it otherwise
            output_schema: at the top: "text" is no type; use null, boolean, integer, number, string, array or object
            output_schema: at the top: `$ref` "https://example.com/a.json" is not supported; refer to a place in this schema, such as #/$defs/name
            output_schema: at the top: no value fits this, because it contradicts itself; leave out what cannot be kept
            message must not be empty"##]],
    )
    .await;
}

#[tokio::test]
async fn items_reach_the_child_as_one_message() {
    let items =
        json!([{"type": "text", "text": "first this"}, {"type": "text", "text": "then that"}]);
    let stage = stage("", &[spawn(json!({"items": items, "task_name": "kid"}))]).await;
    let actor = play(&stage).await;
    actor.agents().wait_until_idle().await;
    let kid = agent(&actor, "/root/kid").await;
    let first = &requests_of(&stage, kid.session)[0];
    let last = first["input"]
        .as_array()
        .expect("it is a list")
        .last()
        .unwrap();
    let texts: Vec<&Value> = last["content"]
        .as_array()
        .expect("it is a list")
        .iter()
        .map(|part| &part["text"])
        .collect();
    assert_eq!(texts, ["first this", "then that"]);
    end(actor).await;
}

#[tokio::test]
async fn unknown_roles_and_personas_are_refused_with_those_that_exist() {
    check_refused(
        &[
            json!({"message": "work", "agent_type": "plumber"}),
            json!({"message": "work", "agent_type": "explorr"}),
            json!({"message": "work", "agent_type": "worker", "agent_name": "bob"}),
        ],
        expect![[r#"
            unknown role plumber; there are architect, default, explorer, linter_fixer, mathematician, orchestrator, reviewer, tester, worker
            unknown role explorr; did you mean explorer?
            the role worker has no persona "bob"; it has none"#]],
    )
    .await;
}

const AIDE: &str = "---
description: helps
model: scripted-2
reasoning_effort: low
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

/// Model and effort as the child's provider was asked for them.
async fn thinking(stage: &Stage, actor: &Actor, path: &str) -> (String, Value) {
    let kid = agent(actor, path).await;
    let body = &requests_of(stage, kid.session)[0];
    let model = body["model"].as_str().expect("it is a text").to_owned();
    (model, body["reasoning"]["effort"].clone())
}

#[tokio::test]
async fn the_call_beats_the_persona_beats_the_role_beats_what_is_inherited() {
    let stage = stage(
        "",
        &[
            spawn(json!({"message": "work", "task_name": "inherits"})),
            spawn(json!({"message": "work", "task_name": "role", "agent_type": "aide"})),
            spawn(json!({
                "message": "work", "task_name": "persona",
                "agent_type": "aide", "agent_name": "quick",
            })),
            spawn(json!({
                "message": "work", "task_name": "call", "agent_type": "aide",
                "agent_name": "quick", "model": "scripted-2", "reasoning_effort": "low",
            })),
        ],
    )
    .await;
    role(&stage, "aide", AIDE);
    let actor = play(&stage).await;
    actor.agents().wait_until_idle().await;
    let mut found = Vec::new();
    for name in ["inherits", "role", "persona", "call"] {
        let (model, effort) = thinking(&stage, &actor, &format!("/root/{name}")).await;
        found.push(format!("{name}: {model} {effort}"));
    }
    expect![[r#"
        inherits: scripted-1 null
        role: scripted-2 "low"
        persona: scripted-1 "high"
        call: scripted-2 "low""#]]
    .assert_eq(&found.join("\n"));
    let mut why = Vec::new();
    for index in 0..4 {
        why.push(answer(&stage, &actor, index).await["why"].take());
    }
    expect![[r#"
        [
          [],
          [
            "model scripted-2: set by the role",
            "reasoning effort low: set by the role"
          ],
          [
            "model scripted-1: set by the persona",
            "reasoning effort high: set by the persona"
          ],
          []
        ]"#]]
    .assert_eq(&serde_json::to_string_pretty(&why).unwrap());
    end(actor).await;
}

#[tokio::test]
async fn an_unknown_model_is_refused_with_the_list_of_those_that_exist() {
    check_refused(
        &[
            json!({"message": "work", "model": "gpt-0"}),
            json!({"message": "work", "model": "scripted-2", "reasoning_effort": "xhigh"}),
            json!({"message": "work", "reasoning_effort": "tremendous"}),
        ],
        expect![[r#"
            Unknown model `gpt-0` for spawn_agent. Available models: scripted-1, scripted-2
            Reasoning effort `xhigh` is not supported for model `scripted-2`. Supported reasoning efforts: low, high
            spawn_agent: field "reasoning_effort": unknown variant `tremendous`, expected one of `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`, `ultra`"#]],
    )
    .await;
}

/// A catalogue that is not there yet.
#[derive(Debug)]
struct Loading;

impl SpawnCatalogue for Loading {
    fn models(&self) -> Option<Vec<ModelChoice>> {
        None
    }
}

#[tokio::test]
async fn while_models_are_loaded_a_spawn_that_names_one_can_be_tried_again() {
    let cues = [
        spawn(json!({"message": "work", "model": "scripted-2"})),
        spawn(json!({"message": "work"})),
    ];
    let stage = stage_with("", &cues, |options| options.catalogue = Arc::new(Loading)).await;
    let actor = play(&stage).await;
    let answers = answers(&stage, &actor).await;
    assert_eq!(
        answers[0],
        "Models are being updated; try spawn_agent again in a moment."
    );
    assert!(answers[1].contains("agent_id"), "{}", answers[1]);
    end(actor).await;
}

/// A catalogue that is asked for when somebody names a model that it does not have yet.
#[derive(Debug, Default)]
struct Late {
    asked: AtomicBool,
    answered: AtomicBool,
}

#[async_trait]
impl SpawnCatalogue for Late {
    fn models(&self) -> Option<Vec<ModelChoice>> {
        let names: &[&str] = if self.answered.load(Ordering::Relaxed) {
            &["scripted-1", "late-1"]
        } else {
            &["scripted-1"]
        };
        Some(names.iter().map(|name| choice(name)).collect())
    }

    fn listing(&self) -> ModelListState {
        if self.answered.load(Ordering::Relaxed) {
            return ModelListState::Whole;
        }
        self.asked.store(true, Ordering::Relaxed);
        ModelListState::Loading
    }

    async fn listed(&self) {
        assert!(self.asked.load(Ordering::Relaxed), "nobody asked");
        self.answered.store(true, Ordering::Relaxed);
    }
}

fn choice(name: &str) -> ModelChoice {
    ModelChoice {
        name: name.to_owned(),
        efforts: Vec::new(),
    }
}

#[tokio::test]
async fn the_first_spawn_that_names_a_model_of_the_provider_waits_for_its_list() {
    let cues = [
        spawn(json!({"message": "work", "model": "late-1"})),
        spawn(json!({"message": "work", "model": "never-1"})),
    ];
    let late = |options: &mut TreeOptions| options.catalogue = Arc::new(Late::default());
    let stage = stage_with("", &cues, late).await;
    let actor = play(&stage).await;
    let answers = answers(&stage, &actor).await;
    assert!(answers[0].contains("agent_id"), "{}", answers[0]);
    assert_eq!(
        answers[1],
        "Unknown model `never-1` for spawn_agent. Available models: scripted-1, late-1"
    );
    end(actor).await;
}

/// A provider that lists nothing.
#[derive(Debug)]
struct Unlisted;

impl SpawnCatalogue for Unlisted {
    fn models(&self) -> Option<Vec<ModelChoice>> {
        Some(vec![choice("scripted-1")])
    }

    fn listing(&self) -> ModelListState {
        let why = "404 Not Found".to_owned();
        ModelListState::Unavailable { why }
    }

    fn named(&self) -> Vec<ModelChoice> {
        vec![choice("catalogue-1")]
    }
}

#[tokio::test]
async fn without_a_list_a_model_is_good_that_somebody_names() {
    let cues = [
        spawn(json!({"message": "work", "model": "catalogue-1"})),
        spawn(json!({"message": "work", "model": "role-1"})),
        spawn(json!({"message": "work", "agent_type": "painter"})),
        spawn(json!({"message": "work", "model": "typed-1"})),
        spawn(json!({"message": "work", "model": "nobodys-1"})),
    ];
    let unlisted = |options: &mut TreeOptions| {
        options.catalogue = Arc::new(Unlisted);
        let typed = ModelPreference {
            model: Some("typed-1".to_owned()),
            reasoning_effort: None,
        };
        options.types = std::iter::once(("tester".to_owned(), typed)).collect();
    };
    let stage = stage_with("", &cues, unlisted).await;
    role(
        &stage,
        "painter",
        "---\ndescription: paints\nmodel: role-1\n---\nPaint.",
    );
    let actor = play(&stage).await;
    let answers = answers(&stage, &actor).await;
    for answer in &answers[..4] {
        assert!(answer.contains("agent_id"), "{answer}");
    }
    for known in ["catalogue-1", "role-1", "typed-1", "scripted-1", "404"] {
        assert!(answers[4].contains(known), "{}", answers[4]);
    }
    end(actor).await;
}

#[tokio::test]
async fn the_configuration_says_what_a_type_thinks_with() {
    let cues = [
        spawn(json!({"message": "work", "agent_type": "mathematician", "task_name": "kid"})),
        spawn(json!({"message": "work", "agent_type": "linter_fixer"})),
        spawn(json!({"message": "work", "agent_type": "tester"})),
    ];
    let typed = |options: &mut TreeOptions| {
        let typed = ModelPreference {
            model: Some("scripted-2".to_owned()),
            reasoning_effort: None,
        };
        options.types = std::iter::once(("Mathematician".to_owned(), typed)).collect();
    };
    let stage = stage_with("", &cues, typed).await;
    let actor = play(&stage).await;
    let mathematician = answer(&stage, &actor, 0).await;
    assert_eq!(mathematician["effective"]["model"], "scripted-2");
    assert_eq!(mathematician["effective"]["reasoning_effort"], "high");
    let fixer = answer(&stage, &actor, 1).await;
    assert_eq!(fixer["effective"]["model"], "scripted-1");
    assert_eq!(fixer["effective"]["reasoning_effort"], "low");
    // A model that does not take the type's effort has its own.
    let tester = answer(&stage, &actor, 2).await;
    assert_eq!(tester["effective"].get("reasoning_effort"), None);
    assert!(
        tester["why"].to_string().contains("does not take medium"),
        "{tester}"
    );
    end(actor).await;
}

#[tokio::test]
async fn a_read_only_role_cannot_write_where_its_parent_can() {
    let touch = call(&("shell_command", json!({"command": "touch made-by-child"})));
    let children = scene("try to write", &[&touch, "{ say = 'tried' }"]);
    let cues = [
        spawn(json!({"message": "try to write", "agent_type": "explorer", "task_name": "kid"})),
        ("wait", json!({"ids": ["/root/kid"]})),
        ("shell_command", json!({"command": "touch made-by-parent"})),
    ];
    let stage = stage(&children, &cues)
        .await
        .sandbox(SandboxPolicy::workspace_write());
    let actor = play(&stage).await;
    let spawned = answer(&stage, &actor, 0).await;
    assert_eq!(spawned["effective"]["sandbox_mode"], "read-only");
    assert!(!stage.cwd().join("made-by-child").exists());
    assert!(stage.cwd().join("made-by-parent").exists());
    end(actor).await;
}

#[tokio::test]
async fn the_result_shows_what_was_asked_what_was_got_and_why_they_differ() {
    let cues = [spawn(json!({
        "message": "work", "agent_type": "explorer", "task_name": "kid",
        "approvals": "route", "thread_note": "  looks\n around ",
    }))];
    let stage = stage("", &cues)
        .await
        .sandbox(SandboxPolicy::workspace_write());
    let actor = play(&stage).await;
    let mut spawned = answer(&stage, &actor, 0).await;
    let status = spawned["status"].take();
    assert!(status == "pending_init" || status == "running", "{status}");
    expect![[r#"
        {
          "agent_id": "/root/kid",
          "agent_number": 1,
          "path": "/root/kid",
          "status": null,
          "thread_note": "looks around",
          "requested": {
            "agent_type": "explorer",
            "approvals": "route"
          },
          "effective": {
            "agent_type": "explorer",
            "model": "scripted-1",
            "working_directory": "CWD",
            "sandbox_mode": "read-only",
            "network_access": false,
            "approval_policy": "never",
            "approvals": "route",
            "tools": [
              {
                "deny": [
                  "apply_patch",
                  "spawn_agent",
                  "create_session",
                  "subagent_spawn",
                  "subagent_fork"
                ]
              }
            ]
          },
          "why": [
            "sandbox read-only: the role explorer may not write",
            "nobody is asked for approval: the policy of this turn is never",
            "tools are limited by the role explorer"
          ]
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&spawned).unwrap());
    end(actor).await;
}

#[tokio::test]
async fn a_spawn_is_told_as_a_pair_of_events_also_when_it_fails() {
    let cues = [
        spawn(json!({"message": "work", "task_name": "kid", "reasoning_effort": "low"})),
        spawn(json!({"message": "work", "model": "gpt-0"})),
    ];
    let stage = stage("", &cues).await;
    let actor = play(&stage).await;
    let kid = agent(&actor, "/root/kid").await;
    let pairs: Vec<EventMsg> = seen(&actor)
        .into_iter()
        .filter(|msg| {
            matches!(
                msg,
                EventMsg::CollabAgentSpawnBegin(_) | EventMsg::CollabAgentSpawnEnd(_)
            )
        })
        .collect();
    let [
        EventMsg::CollabAgentSpawnBegin(begin),
        EventMsg::CollabAgentSpawnEnd(done),
        EventMsg::CollabAgentSpawnBegin(_),
        EventMsg::CollabAgentSpawnEnd(failed),
    ] = &*pairs
    else {
        panic!("{pairs:#?}");
    };
    assert_eq!(
        (begin.prompt.as_str(), begin.model.as_str()),
        ("work", "scripted-1")
    );
    assert_eq!(begin.sender_thread_id, actor.session_id());
    assert_eq!(
        (&begin.call_id, done.new_thread_id),
        (&done.call_id, Some(kid.session))
    );
    assert_eq!(failed.new_thread_id, None);
    assert!(matches!(&failed.status, AgentStatus::Errored(text) if text.contains("gpt-0")));
    end(actor).await;
}

#[tokio::test]
async fn over_max_threads_a_child_queues_with_a_position_and_starts_when_a_slot_is_free() {
    let children = scene(
        "hold the slot",
        &[&until_there("gate"), "{ say = 'let go' }"],
    );
    let cues = [
        spawn(json!({"message": "hold the slot", "task_name": "first"})),
        spawn(json!({"message": "second", "task_name": "second"})),
        spawn(json!({"message": "third", "task_name": "third"})),
        ("shell_command", json!({"command": "touch gate"})),
        ("wait", json!({"ids": ["/root/third"]})),
    ];
    let one = |options: &mut TreeOptions| options.limits.max_threads = 1;
    let stage = stage_with(&children, &cues, one).await;
    let actor = play(&stage).await;
    let second = answer(&stage, &actor, 1).await;
    assert_eq!(second["status"], json!({"queued": {"position": 1}}));
    assert_eq!(second["queue_position"], 1);
    assert_eq!(answer(&stage, &actor, 2).await["queue_position"], 2);
    let waited = answer(&stage, &actor, 4).await;
    assert_eq!(
        waited["status"],
        json!({"/root/third": {"completed": "ok"}})
    );
    end(actor).await;
}

#[tokio::test]
async fn twelve_run_at_once_if_nobody_says_otherwise() {
    const AT_ONCE: usize = 12;
    let children = scene("hold", &[&until_there("gate"), "{ say = 'let go' }"]);
    let cues = vec![spawn(json!({"message": "hold"})); AT_ONCE + 1];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let answered = answers(&stage, &actor).await;
    let queued = |text: &&String| text.contains("queue_position");
    assert_eq!(answered.iter().filter(queued).count(), 1);
    let last = answer(&stage, &actor, AT_ONCE).await;
    assert_eq!(last["queue_position"], 1, "{last}");
    stage.write("gate", "");
    end(actor).await;
}

/// Plays spawns under limits, the last of which is refused.
async fn check_limit(limits: TreeLimits, spawns: usize, expected: Expect) {
    let children = scene("hold", &[&until_there("gate"), "{ say = 'let go' }"]);
    let cues = vec![spawn(json!({"message": "hold"})); spawns];
    let stage = stage_with(&children, &cues, |options| options.limits = limits).await;
    let actor = play(&stage).await;
    let answers = answers(&stage, &actor).await;
    let refusal = answers.last().expect("a call was made");
    // How long is left of a minute differs.
    let refusal = match refusal.split_once(" in ") {
        Some((before, after)) => format!(
            "{before} in …{}",
            after.trim_start_matches(char::is_numeric)
        ),
        None => refusal.clone(),
    };
    expected.assert_eq(&refusal);
    assert_eq!(agents(&actor).await.len(), spawns - 1);
    stage.write("gate", "");
    end(actor).await;
}

#[tokio::test]
async fn over_max_threads_with_on_limit_error_a_spawn_is_refused() {
    let limits = TreeLimits {
        max_threads: 1,
        on_limit: OnLimit::Error,
        ..TreeLimits::default()
    };
    check_limit(limits, 2, expect![[r#"all 1 slots are taken ([agents] max_threads, on_limit = "error"); wait for a running agent to finish, or do the work yourself"#]]).await;
}

#[tokio::test]
async fn a_tree_has_at_most_max_agents() {
    let limits = TreeLimits {
        max_agents: 3,
        ..TreeLimits::default()
    };
    check_limit(limits, 3, expect!["the tree has 3 agents already ([agents] max_agents); close or prune finished agents, or send the work to an idle one"]).await;
}

#[tokio::test]
async fn a_tree_spawns_at_most_so_many_a_minute() {
    let limits = TreeLimits {
        max_spawns_per_minute: 2,
        ..TreeLimits::default()
    };
    check_limit(limits, 3, expect!["2 agents were spawned within a minute ([agents] max_spawns_per_minute); try again in … ms, or do the work yourself"]).await;
}

#[tokio::test]
async fn below_max_depth_nobody_spawns_and_is_told_to_do_the_work() {
    let deeper = call(&spawn(
        json!({"message": "no further", "task_name": "deeper"}),
    ));
    let children = scene("go deeper", &[&deeper, "{ say = 'I did it myself' }"]);
    let cues = [
        spawn(json!({"message": "go deeper", "task_name": "kid"})),
        ("wait", json!({"ids": ["/root/kid"]})),
    ];
    let shallow = |options: &mut TreeOptions| options.limits.max_depth = 1;
    let stage = stage_with(&children, &cues, shallow).await;
    let actor = play(&stage).await;
    let kid = agent(&actor, "/root/kid").await;
    assert_eq!(
        answers_of(&stage, kid.session),
        [
            "agent depth limit of 1 reached ([agents] max_depth); do the work yourself instead of spawning"
        ]
    );
    end(actor).await;
}

#[tokio::test]
async fn a_spawn_without_a_callback_leaves_the_callbacks_of_the_subtree_alone() {
    let leaf = call(&spawn(json!({"message": "leaf", "task_name": "leaf"})));
    let children = scene("middle", &[&leaf, "{ say = 'sent' }", "{ say = 'heard' }"]);
    let cues = [spawn(
        json!({"message": "middle", "task_name": "middle", "enable_callback": false}),
    )];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    actor.agents().wait_until_idle().await;
    let middle = agent(&actor, "/root/middle").await;
    assert_eq!(
        requests_of(&stage, middle.session).len(),
        3,
        "the middle one is called by its own child"
    );
    let root = requests_of(&stage, actor.session_id());
    assert_eq!(root.len(), 2, "and the root by nobody");
    end(actor).await;
}
