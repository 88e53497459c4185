//! The user's hooks in a session: what they keep from happening, and what they let end.

use std::path::PathBuf;

use troupe_agents::Family;
use troupe_engine::SessionSetup;
use troupe_process::{Launcher, LauncherOptions};
use troupe_protocol::EventMsg;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::Op;
use troupe_testkit::Stage;
use troupe_tools::Registry;
use troupe_tools::hooks::{HookSet, HookSettings};

/// Gives sessions these hooks, in TOML.
fn hooked(stage: Stage, hooks: &str) -> Stage {
    let settings: HookSettings = toml::from_str(hooks).unwrap();
    let environment = std::env::vars().collect();
    let launcher = Launcher::new(LauncherOptions::default());
    let shell = PathBuf::from("/bin/sh");
    let hooks = HookSet::new(settings, launcher, environment, &[], shell);
    stage.adjusting(move |setup: &mut SessionSetup| {
        let tools = std::mem::replace(&mut setup.tools, Registry::new([]));
        setup.tools = tools.with_hooks(hooks.clone());
    })
}

fn last_message(events: &[EventMsg]) -> Option<&str> {
    match events.last() {
        Some(EventMsg::TurnComplete(complete)) => complete.last_agent_message.as_deref(),
        other => panic!("the task completes: {other:?}"),
    }
}

#[tokio::test]
async fn a_task_goes_on_until_the_stop_hook_is_content() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "done" }]
[[scene.turn]]
expect = "does not let the task end yet: the tests are missing"
steps = [{ say = "now with tests" }]
[[scene.turn]]
steps = [{ say = "still here" }]
"#,
    )
    .await;
    let stage = hooked(
        stage,
        r#"
[[on_stop]]
command = "cat >> asked.jsonl; [ -e ready ] && exit; touch ready; echo the tests are missing >&2; exit 2"
"#,
    );
    let mut actor = stage.start().await;
    let session = actor.session_id();
    let events = actor.turn("write it").await;
    assert_eq!(last_message(&events), Some("now with tests"));
    let asked = stage.read("asked.jsonl");
    let asked: Vec<serde_json::Value> = asked
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let messages: Vec<_> = asked.iter().map(|one| &one["last_message"]).collect();
    assert_eq!(messages, ["done", "now with tests"]);
    let told = |msg: &EventMsg| match msg {
        EventMsg::BackgroundEvent(event) => event.message.contains("on_stop refused"),
        _ => false,
    };
    assert_eq!(events.iter().filter(|msg| told(msg)).count(), 1);
    actor.shut_down().await;

    // What the hook said is part of the conversation, and is not taken for the user's words.
    let mut actor = stage.resume(session).await;
    actor.turn("and?").await;
    let input = serde_json::to_string(&stage.input_of(2)).unwrap();
    let told = input.matches("end yet: the tests are missing").count();
    assert_eq!(told, 1, "{input}");
}

#[tokio::test]
async fn a_stop_hook_that_is_never_content_fails_the_task() {
    let stage = Stage::new(&format!(
        "[[scene]]\n{}",
        "[[scene.turn]]\nsteps = [{ say = 'done' }]\n".repeat(6)
    ))
    .await;
    let stage = hooked(stage, "[[on_stop]]\ncommand = 'exit 2'");
    let mut actor = stage.start().await;
    let events = actor.turn("go").await;
    assert_eq!(stage.requests().len(), 6);
    let failed = events.iter().any(|msg| match msg {
        EventMsg::Error(error) => error.fatal && error.error_info == Some(ErrorInfo::HookRefused),
        _ => false,
    });
    assert!(failed, "{events:?}");
    let is_aborted = |msg: &EventMsg| matches!(msg, EventMsg::TurnAborted(_));
    assert!(events.iter().any(is_aborted), "{events:?}");
}

#[tokio::test]
async fn a_stop_hook_can_be_interrupted_and_steered_past() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "one" }]
[[scene.turn]]
expect = "one more thing"
steps = [{ say = "two" }]
[[scene.turn]]
steps = [{ say = "three" }]
"#,
    )
    .await;
    let stage = hooked(
        stage,
        "[[on_stop]]\ncommand = 'touch asked; until [ -e go ]; do sleep 0.02; done'",
    );
    let mut actor = stage.start().await;
    actor.say("go").await;
    let completed = |msg: &EventMsg| matches!(msg, EventMsg::ResponseCompleted { .. });
    actor.until(completed).await;
    actor
        .submit(Op::Steer {
            items: vec![UserInput::text("one more thing")],
            client_id: None,
        })
        .await;
    actor
        .until(|msg| matches!(msg, EventMsg::SteerReceipt(_)))
        .await;
    stage.write("go", "");
    let events = actor.until_task_ends().await;
    assert_eq!(last_message(&events), Some("two"));

    std::fs::remove_file(stage.cwd().join("go")).unwrap();
    actor.say("again").await;
    actor.until(completed).await;
    actor.submit(Op::Interrupt).await;
    let events = actor.until_task_ends().await;
    assert!(
        matches!(events.last(), Some(EventMsg::TurnAborted(_))),
        "{events:?}"
    );
}

#[tokio::test]
async fn a_spawn_that_a_hook_refuses_makes_no_agent() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "help me", task_name = "kid" } }]
[[scene.turn]]
expect = "refused by the user's hook `.*`: no helpers today"
steps = [{ say = "alone then" }]
"#,
    )
    .await
    .with_agents(&[Family::Agents]);
    let stage = hooked(
        stage,
        r#"
[[on_spawn]]
command = "grep -q 'help me' && { echo no helpers today >&2; exit 2; }; exit 0"
"#,
    );
    let mut actor = stage.start().await;
    let events = actor.turn("go").await;
    assert_eq!(last_message(&events), Some("alone then"));
    let created = |msg: &EventMsg| matches!(msg, EventMsg::SubagentLifecycle(_));
    assert!(!events.iter().any(created), "{events:?}");
    actor.shut_down().await;
}

#[tokio::test]
async fn a_child_has_the_hooks_of_its_parent() {
    let stage = Stage::new(
        r#"
[[scene]]
when = "look around"
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "ls" } }]
[[scene.turn]]
expect = "refused by the user's hook"
steps = [{ say = "I may not look." }]

[[scene]]
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "look around", task_name = "kid" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["/root/kid"] } }]
[[scene.turn]]
expect = "I may not look."
steps = [{ say = "as expected" }]
"#,
    )
    .await
    .with_agents(&[Family::Agents]);
    let stage = hooked(
        stage,
        "[[before_tool]]\nmatcher = 'shell_command'\ncommand = 'exit 2'",
    );
    let mut actor = stage.start().await;
    let events = actor.turn("go").await;
    assert_eq!(last_message(&events), Some("as expected"));
    // Who looks at the root alone sees that a hook had a word, and against whom.
    let told = |msg: &EventMsg| match msg {
        EventMsg::Warning { message } => {
            message.starts_with("agent /root/kid: hook `exit 2` refused before_tool shell_command")
        }
        _ => false,
    };
    assert_eq!(
        events.iter().filter(|msg| told(msg)).count(),
        1,
        "{events:?}"
    );
    actor.shut_down().await;
}
