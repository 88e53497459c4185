//! Callbacks: what a parent reads about its children, and who decides that.

use expect_test::expect;
use serde_json::{Value, json};
use troupe_agents::Family;
use troupe_agents::tree_access::CallbackChoice;
use troupe_protocol::spawn::CallbackConfig;
use troupe_protocol::tree::CallbackMode;
use troupe_protocol::{AgentId, EventMsg};

use super::cast::{called, heard, lines, open, spawn_agent as spawn, stage, stage_with, wish};
use super::logs;
use super::play::{agent, call, end, scene, seen};

#[tokio::test]
async fn the_default_text_tells_who_how_and_what() {
    let children = scene(
        "count",
        &[
            "{ call = 'shell_command', arguments = { command = 'ls' } }",
            "{ say = 'There are three.' }",
        ],
    );
    let root = [&*spawn("count the files", "counter"), "{ say = 'later' }"];
    let stage = stage(&children, &root, &[Family::Agents]).await;
    let mut actor = open(&stage).await;
    actor.until_task_ends().await;
    expect![[r#"
        [Troupe] Child session /root/counter has completed.

        **Agent:** /root/counter (number 1)
        **Status:** completed
        **Stats:** 1 messages, 1 tool uses

        **Result:**
        There are three.

        Use `agent_result` (id: "/root/counter", task_id: "TASK") for details."#]]
    .assert_eq(&called(&stage, &actor).await[0]);
    end(actor).await;
}

#[tokio::test]
async fn a_failure_is_told_with_its_reason() {
    let children = scene("count", &["{ status = 400, message = 'no more counting' }"]);
    let root = [&*spawn("count the files", "counter"), "{ say = 'later' }"];
    let stage = stage(&children, &root, &[Family::Agents]).await;
    let mut actor = open(&stage).await;
    actor.until_task_ends().await;
    expect![[r#"
        [Troupe] Child session /root/counter has failed.

        **Agent:** /root/counter (number 1)
        **Status:** failed
        **Reason:** scripted: 400 Bad Request: no more counting (invalid_request_error)
        **Stats:** 0 messages, 0 tool uses

        Investigate with `agent_result` (id: "/root/counter", task_id: "TASK")."#]]
    .assert_eq(&called(&stage, &actor).await[0]);
    end(actor).await;
}

#[tokio::test]
async fn a_spawn_says_what_its_callback_has_in_it() {
    let with = |name: &str, more: Value| {
        let mut arguments = json!({"message": format!("do {name}"), "task_name": name});
        let fields = more.as_object().unwrap().clone();
        arguments.as_object_mut().unwrap().extend(fields);
        call(&("spawn_agent", arguments))
    };
    let prompt = with("prompt", json!({"include_original_prompt": true}));
    let bare = with("bare", json!({"include_last_message": false}));
    let silent = with("silent", json!({"enable_callback": false}));
    let stage = stage(
        "",
        &[
            &prompt,
            "{ say = '1' }",
            "{ say = '2' }",
            &bare,
            "{ say = '3' }",
            "{ say = '4' }",
            &silent,
            "{ say = '5' }",
        ],
        &[Family::Agents],
    )
    .await;
    let mut actor = open(&stage).await;
    actor.until_task_ends().await;
    actor.turn("next").await;
    actor.until_task_ends().await;
    actor.turn("next").await;
    actor.agents().wait_until_idle().await;
    let told = called(&stage, &actor).await;
    let told: Vec<_> = told.iter().filter(|text| *text != "next").collect();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told[0].contains("**Task:** do prompt\n"), "{}", told[0]);
    assert!(told[0].contains("**Result:**\nok\n"), "{}", told[0]);
    assert!(!told[1].contains("**Task:**"), "{}", told[1]);
    assert!(!told[1].contains("Result"), "{}", told[1]);
    let root = actor.session_id();
    assert!(agent(&actor, "3").await.status.is_final());
    end(actor).await;
    let lines = lines(&stage, root).await;
    assert_eq!(logs::callbacks_for(&lines, AgentId::ROOT).len(), 2);
}

#[tokio::test]
async fn children_inherit_how_their_parent_is_told() {
    let leaf = spawn("leaf", "leaf");
    let children = scene(
        "middle",
        &[&leaf, "{ say = 'spawned' }", "{ say = 'heard' }"],
    ) + &scene("leaf", &["{ say = 'leaf done' }"]);
    let root = [&*spawn("middle", "middle"), "{ say = 'later' }"];
    let stage = stage_with(&children, &root, |options| {
        options.callback.template =
            Some("{{childPath}}: {{status}}, {{lastAssistantMessage}}".to_owned());
    })
    .await;
    let mut actor = open(&stage).await;
    actor.until_task_ends().await;
    actor.until_task_ends().await;
    assert_eq!(
        heard(&stage, actor.session_id())[1..],
        [
            "/root/middle: completed, spawned",
            "/root/middle: completed, heard"
        ]
    );
    let middle = agent(&actor, "1").await.session;
    assert_eq!(
        heard(&stage, middle)[1..],
        ["/root/middle/leaf: completed, leaf done"]
    );
    end(actor).await;
}

#[tokio::test]
async fn the_words_are_those_of_the_one_who_is_told() {
    let leaf = spawn("leaf", "leaf");
    let children = scene(
        "middle",
        &[&leaf, "{ say = 'spawned' }", "{ say = 'heard' }"],
    );
    let stage = stage_with(&children, &["{ say = 'ready' }"], |options| {
        options.callback.template = Some("root hears {{childPath}}".to_owned());
    })
    .await;
    let mut actor = open(&stage).await;
    let choice = CallbackChoice {
        mode: CallbackMode::Persistent,
        config: Some(CallbackConfig {
            template: Some("kid hears {{childPath}}".to_owned()),
            ..CallbackConfig::default()
        }),
    };
    let desk = actor.agents().user();
    desk.spawn(wish(&stage, "middle", choice)).await.unwrap();
    actor.until_task_ends().await;
    actor.until_task_ends().await;
    let root = heard(&stage, actor.session_id());
    assert_eq!(root[1..], ["root hears /root/kid"; 2]);
    let kid = agent(&actor, "1").await.session;
    assert_eq!(heard(&stage, kid)[1..], ["kid hears /root/kid/leaf"]);
    end(actor).await;
}

#[tokio::test]
async fn a_template_that_cannot_be_used_hurts_nobody() {
    for (template, problem) in [
        ("{{#if status}}", "it is not readable as Handlebars"),
        ("{{#if nothing}}words{{/if}}\n", "it renders nothing"),
        ("{{nosuch status}}", "it cannot be rendered"),
    ] {
        let root = [&*spawn("work", "kid"), "{ say = 'later' }"];
        let stage = stage_with("", &root, |options| {
            options.callback.template = Some(template.to_owned());
        })
        .await;
        let mut actor = open(&stage).await;
        actor.until_task_ends().await;
        let told = called(&stage, &actor).await;
        assert!(
            told[0].starts_with("[Troupe] Child session /root/kid has completed."),
            "{told:?}"
        );
        let warned = seen(&actor).iter().any(|msg| match msg {
            EventMsg::Warning { message } => message.contains(problem),
            _ => false,
        });
        assert!(warned, "{problem}: {:#?}", seen(&actor));
        let kid = agent(&actor, "1").await.session;
        let result = actor.agents().result(kid, None).await.unwrap();
        assert_eq!(result.last_message.as_deref(), Some("ok"));
        end(actor).await;
    }
}

/// Every value that a template can use, one in a line.
const EVERYTHING: &str = "\
childSessionId={{childSessionId}}
childSessionFullId={{childSessionFullId}}
childTaskId={{childTaskId}}
childTaskFullId={{childTaskFullId}}
childAgentId={{childAgentId}}
childPath={{childPath}}
parentSessionId={{parentSessionId}}
spawnPrompt={{spawnPrompt}}
status={{status}}
stopReason={{stopReason}}
exitSummary={{exitSummary}}
completedAt={{completedAt}}
messageCount={{messageCount}}
toolUseCount={{toolUseCount}}
lastAssistantMessage={{lastAssistantMessage}}
{{#if (eq status 'failed')}}it failed{{else}}it did not fail{{/if}}";

/// A prompt that is longer than what is told of it.
fn long_prompt() -> String {
    format!("look at {}", "x".repeat(200))
}

#[tokio::test]
async fn a_template_has_every_value_of_a_completed_task() {
    let look = call(&("shell_command", json!({"command": "true"})));
    let said = format!("{{ say = 'let me look' }}, {look}");
    let children = scene("look at", &[&said, "{ say = 'three files' }"]);
    let root = [&*spawn(&long_prompt(), "kid"), "{ say = 'later' }"];
    let stage = stage_with(&children, &root, |options| {
        options.callback.template = Some(EVERYTHING.to_owned());
        options.callback.include_original_prompt = true;
    })
    .await;
    let mut actor = open(&stage).await;
    actor.until_task_ends().await;
    let kid = agent(&actor, "1").await;
    let result = actor.agents().result(kid.session, None).await.unwrap();
    let session = kid.session.to_string();
    let task = result.task_id.to_string();
    let at = jiff::Timestamp::from_millisecond(result.evidence.ended_at_ms).unwrap();
    let expected = [
        ("childSessionId", &session[..8]),
        ("childSessionFullId", &session),
        ("childTaskId", &task[..8]),
        ("childTaskFullId", &task),
        ("childAgentId", "1"),
        ("childPath", "/root/kid"),
        ("parentSessionId", &actor.session_id().to_string()),
        // 120 characters, of which the last says that there are more.
        ("spawnPrompt", &format!("look at {}…", "x".repeat(111))),
        ("status", "completed"),
        ("stopReason", "completed"),
        ("exitSummary", ""),
        ("completedAt", &format!("{at:.3}")),
        ("messageCount", "2"),
        ("toolUseCount", "1"),
        ("lastAssistantMessage", "three files"),
    ];
    let expected = expected.map(|(name, value)| format!("{name}={value}"));
    let told = heard(&stage, actor.session_id()).pop().unwrap();
    assert_eq!(told, expected.join("\n") + "\nit did not fail");
    end(actor).await;
}

#[tokio::test]
async fn a_template_has_the_reason_of_a_failure() {
    let children = scene(
        "look at",
        &["{ status = 400, message = 'no more looking' }"],
    );
    let root = [&*spawn(&long_prompt(), "kid"), "{ say = 'later' }"];
    let stage = stage_with(&children, &root, |options| {
        options.callback.template = Some(EVERYTHING.to_owned());
        options.callback.include_last_message = false;
    })
    .await;
    let mut actor = open(&stage).await;
    actor.until_task_ends().await;
    let told = heard(&stage, actor.session_id()).pop().unwrap();
    let told: Vec<&str> = told
        .lines()
        .skip_while(|line| !line.starts_with("spawnPrompt"))
        .filter(|line| !line.starts_with("completedAt"))
        .collect();
    expect![[r#"
        spawnPrompt=
        status=failed
        stopReason=errored
        exitSummary=scripted: 400 Bad Request: no more looking (invalid_request_error)
        messageCount=0
        toolUseCount=0
        lastAssistantMessage=
        it failed"#]]
    .assert_eq(&told.join("\n"));
    end(actor).await;
}

#[tokio::test]
async fn a_parent_can_be_told_less_or_nothing_at_all() {
    // Who is told, whether with the last message, and whether with the prompt.
    for (enabled, last, prompt) in [
        (true, true, false),
        (true, false, true),
        (true, true, true),
        (false, true, true),
    ] {
        let root = [&*spawn("work", "kid"), "{ say = 'later' }"];
        let stage = stage_with("", &root, |options| {
            options.callback.enabled = enabled;
            options.callback.include_last_message = last;
            options.callback.include_original_prompt = prompt;
        })
        .await;
        let actor = open(&stage).await;
        actor.agents().wait_until_idle().await;
        let root = actor.session_id();
        let told = called(&stage, &actor).await;
        end(actor).await;
        let lines = lines(&stage, root).await;
        let owed = logs::callbacks_for(&lines, AgentId::ROOT);
        assert_eq!((owed.len(), told.len()), (enabled.into(), enabled.into()));
        for text in told {
            assert_eq!(text.contains("**Result:**\nok\n"), last, "{text}");
            assert_eq!(text.contains("**Task:** work\n"), prompt, "{text}");
        }
    }
}
