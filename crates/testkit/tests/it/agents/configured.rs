//! What a session says of its tree when it is configured, and configured again.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use troupe_agents::tree_access::CallbackChoice;
use troupe_agents::{Family, SettingsReader, TreeOptions, TreeSettings};
use troupe_engine::ConfigureError;
use troupe_protocol::op::{ConfigureSession, ForkPoint, Op};
use troupe_protocol::tree::CallbackMode;
use troupe_protocol::{EventMsg, SessionId};
use troupe_testkit::{Actor, Stage};

use super::cast::{OPENING, called, message, plot, wish};
use super::play::{end, requests_of, scene, until_there};

/// Reads `agents.enabled` and `agents.max_depth`, as the program does.
#[derive(Debug)]
struct Reader(TreeOptions);

impl SettingsReader for Reader {
    fn read(
        &self,
        request: &ConfigureSession,
        enabled: Option<bool>,
    ) -> Result<TreeSettings, ConfigureError> {
        let said = |key: &str| request.config.get(&format!("agents.{key}"));
        let mut limits = self.0.limits.clone();
        if let Some(depth) = said("max_depth").and_then(Value::as_u64) {
            limits.max_depth = u32::try_from(depth).unwrap();
        }
        let said = said("enabled").and_then(Value::as_bool);
        let enabled = said.or(enabled).unwrap_or(true);
        Ok(TreeSettings {
            limits,
            families: if enabled {
                vec![Family::Agents]
            } else {
                Vec::new()
            },
            types: self.0.types.clone(),
            recovery: self.0.recovery,
        })
    }
}

async fn stage(children: &str) -> Stage {
    let stage = Stage::new(&plot(children, &["{ say = 'here' }"])).await;
    let mut options = stage.tree_options(&[Family::Agents]);
    options.reader = Some(Arc::new(Reader(options.clone())));
    stage.idle_timeout_ms(120_000).with_tree(options)
}

fn saying(config: Value) -> ConfigureSession {
    let Value::Object(config) = config else {
        unreachable!("it is written as an object")
    };
    ConfigureSession {
        config,
        ..ConfigureSession::default()
    }
}

async fn configure(actor: &mut Actor, config: Value) {
    actor.submit(Op::ConfigureSession(saying(config))).await;
    let is_configured = |msg: &EventMsg| matches!(msg, EventMsg::SessionConfigured(_));
    actor.until(is_configured).await;
}

async fn made(stage: &Stage, actor: &Actor, prompt: &str) {
    let request = wish(stage, prompt, CallbackChoice::default());
    let desk = actor.agents().user();
    desk.spawn(request).await.unwrap();
    actor.agents().wait_until_idle().await;
}

fn tools(stage: &Stage, session: SessionId) -> Vec<String> {
    let requests = requests_of(stage, session);
    let tools = requests.last().unwrap()["tools"].as_array().unwrap();
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    names.map(str::to_owned).collect()
}

#[tokio::test]
async fn how_a_session_is_told_is_kept_with_it() {
    let stage = stage("").await;
    let said = json!({"agents.callback.template": "{{childPath}} is {{status}}"});
    // Nobody was made before the session was left.
    let mut actor = stage.start_with(saying(said)).await;
    actor.turn(OPENING).await;
    let session = actor.session_id();
    end(actor).await;
    let mut actor = stage.resume(session).await;
    made(&stage, &actor, "one").await;
    assert_eq!(called(&stage, &actor).await, ["/root/kid is completed"]);
    // What a later configuration says is said over it.
    configure(
        &mut actor,
        json!({"agents.callback": {"template": "{{status}}: {{childPath}}"}}),
    )
    .await;
    made(&stage, &actor, "two").await;
    // One that says nothing of it leaves it.
    configure(&mut actor, json!({})).await;
    end(actor).await;
    let actor = stage.resume(session).await;
    made(&stage, &actor, "three").await;
    assert_eq!(
        called(&stage, &actor).await,
        [
            "/root/kid is completed",
            "completed: /root/kid_2",
            "completed: /root/kid_3"
        ]
    );
    end(actor).await;
}

#[tokio::test]
async fn a_reconfigure_changes_how_children_at_work_call_back() {
    let busy = scene(
        "busy",
        &[&until_there("gate"), "{ say = 'one' }", "{ say = 'two' }"],
    );
    let stage = stage(&busy).await;
    let mut actor = stage.start().await;
    actor.turn(OPENING).await;
    let request = wish(&stage, "busy", CallbackChoice::default());
    let desk = actor.agents().user();
    let kid = desk.spawn(request).await.unwrap().view;
    let address = kid.session.to_string();
    configure(&mut actor, json!({"agents.callback.enabled": false})).await;
    stage.write("gate", "");
    actor.agents().wait_until_idle().await;
    let urgency = troupe_tree::command::SendUrgency::Regular;
    desk.send(&address, message("go on"), urgency)
        .await
        .unwrap();
    actor.agents().wait_until_idle().await;
    assert_eq!(called(&stage, &actor).await, Vec::<String>::new());
    configure(
        &mut actor,
        json!({"agents.callback": {"enabled": true, "template": "{{lastAssistantMessage}}"}}),
    )
    .await;
    desk.send(&address, message("once more"), urgency)
        .await
        .unwrap();
    actor.agents().wait_until_idle().await;
    assert_eq!(called(&stage, &actor).await.len(), 1);
    let session = actor.session_id();
    end(actor).await;
    // It is in the log.
    let actor = stage.resume(session).await;
    let desk = actor.agents().user();
    desk.send(&address, message("and again"), urgency)
        .await
        .unwrap();
    actor.agents().wait_until_idle().await;
    assert_eq!(called(&stage, &actor).await.len(), 2);
    end(actor).await;
}

#[tokio::test]
async fn a_child_whose_caller_wants_no_callback_stays_silent_after_a_reconfigure() {
    let stage = stage("").await;
    let mut actor = stage.start().await;
    actor.turn(OPENING).await;
    let silent = CallbackChoice {
        mode: CallbackMode::Off,
        config: None,
    };
    let desk = actor.agents().user();
    let kid = desk.spawn(wish(&stage, "one", silent)).await.unwrap().view;
    actor.agents().wait_until_idle().await;
    configure(
        &mut actor,
        json!({"agents.callback.template": "{{status}}"}),
    )
    .await;
    let urgency = troupe_tree::command::SendUrgency::Regular;
    let address = kid.session.to_string();
    desk.send(&address, message("go on"), urgency)
        .await
        .unwrap();
    actor.agents().wait_until_idle().await;
    assert_eq!(called(&stage, &actor).await, Vec::<String>::new());
    end(actor).await;
}

#[tokio::test]
async fn the_tools_and_limits_of_the_tree_follow_every_configure() {
    let stage = stage("").await;
    let mut actor = stage
        .start_with(saying(json!({"agents.enabled": false})))
        .await;
    actor.turn(OPENING).await;
    let has_spawn = |actor: &Actor| {
        let tools = tools(&stage, actor.session_id());
        tools.iter().any(|name| name == "spawn_agent")
    };
    assert!(!has_spawn(&actor));
    let some = json!({"agents.enabled": true, "agents.max_depth": 0});
    configure(&mut actor, some).await;
    actor.turn("again").await;
    assert!(has_spawn(&actor));
    let desk = actor.agents().user();
    let wished = || wish(&stage, "one", CallbackChoice::default());
    let refused = desk.spawn(wished()).await.unwrap_err().to_string();
    assert!(refused.contains("max_depth"), "{refused}");
    // Also in a tree that is there.
    configure(&mut actor, Value::Object(Map::new())).await;
    desk.spawn(wished()).await.unwrap();
    configure(&mut actor, json!({"agents.max_depth": 0})).await;
    let refused = desk.spawn(wished()).await.unwrap_err().to_string();
    assert!(refused.contains("max_depth"), "{refused}");
    end(actor).await;
}

fn forking(source: SessionId) -> ConfigureSession {
    ConfigureSession {
        fork: Some(ForkPoint {
            session_id: source,
            last_response_id: None,
            turns: None,
            turn: None,
        }),
        ..ConfigureSession::default()
    }
}

#[tokio::test]
async fn whether_a_session_has_agents_is_kept_with_it_and_with_its_forks() {
    let stage = stage("").await;
    let said = saying(json!({"agents.enabled": false}));
    let mut actor = stage.start_with(said).await;
    actor.turn(OPENING).await;
    let session = actor.session_id();
    end(actor).await;
    let has_spawn = |actor: &Actor| {
        let tools = tools(&stage, actor.session_id());
        tools.iter().any(|name| name == "spawn_agent")
    };
    let mut actor = stage.resume(session).await;
    actor.turn("again").await;
    assert!(!has_spawn(&actor), "resumed");
    // A configuration that says nothing of it leaves it.
    configure(&mut actor, json!({"agents.max_depth": 1})).await;
    actor.turn("and again").await;
    assert!(!has_spawn(&actor), "configured anew");
    end(actor).await;

    let mut forked = stage.start_with(forking(session)).await;
    forked.turn("as a fork").await;
    assert!(!has_spawn(&forked), "forked");
    let fork = forked.session_id();
    end(forked).await;
    let mut forked = stage.resume(fork).await;
    forked.turn("as a fork, again").await;
    assert!(!has_spawn(&forked), "forked and resumed");
    end(forked).await;
}

#[tokio::test]
async fn a_fork_is_told_of_its_children_as_its_source_was() {
    let stage = stage("").await;
    let said = json!({"agents.callback.template": "{{childPath}} is {{status}}"});
    let mut actor = stage.start_with(saying(said)).await;
    actor.turn(OPENING).await;
    let session = actor.session_id();
    end(actor).await;
    let forked = stage.start_with(forking(session)).await;
    made(&stage, &forked, "one").await;
    assert_eq!(called(&stage, &forked).await, ["/root/kid is completed"]);
    let fork = forked.session_id();
    end(forked).await;
    let forked = stage.resume(fork).await;
    made(&stage, &forked, "two").await;
    assert_eq!(
        called(&stage, &forked).await,
        ["/root/kid is completed", "/root/kid_2 is completed"]
    );
    end(forked).await;
}
