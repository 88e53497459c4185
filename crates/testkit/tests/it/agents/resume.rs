//! A whole tree is taken up from its logs: after a crash, and after a shutdown.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tempfile::TempDir;
use troupe_agents::tree_access::{AgentScope, AgentView};
use troupe_agents::{Family, RecoveryPolicy, TreeOptions};
use troupe_protocol::AgentId;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tree::Interruption;
use troupe_store::{EmbeddedStore, SessionStore};
use troupe_testkit::{Actor, Stage};
use troupe_tree::CurrentStatus;
use troupe_tree::command::SendUrgency;

use super::cast::{self, heard, is_completed, is_running, message, plot};
use super::logs;
use super::play::{agent, agents, call, end, requests_of, scene, until_there};

/// What a crash leaves: the logs as they were at that moment.
pub(super) struct Wreck {
    home: TempDir,
    pub(super) store: Arc<dyn SessionStore>,
}

impl Wreck {
    pub(super) fn of(stage: &Stage) -> Self {
        let home = TempDir::new().expect("a temporary directory can be made");
        copy(&stage.home(), home.path());
        let store = EmbeddedStore::open(home.path()).expect("the copy can be opened");
        Self {
            home,
            store: Arc::new(store),
        }
    }

    /// Another machine that plays on with what is left.
    pub(super) async fn stage(
        &self,
        screenplay: &str,
        adjust: impl FnOnce(&mut TreeOptions),
    ) -> Stage {
        assert!(self.home.path().exists());
        let stage = Stage::new(screenplay).await;
        let mut options = stage.tree_options(&[Family::Agents]);
        adjust(&mut options);
        stage
            .idle_timeout_ms(120_000)
            .with_tree(options)
            .keeping_in(Arc::clone(&self.store))
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the copy is ours");
    for entry in std::fs::read_dir(from).expect("it is a directory") {
        let path = entry.expect("it can be listed").path();
        let target = to.join(path.file_name().expect("an entry has a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).expect("a file can be copied");
        }
    }
}

fn spawn(message: &str, name: &str) -> String {
    let note = format!("{name}'s note");
    call(&(
        "spawn_agent",
        json!({"message": message, "task_name": name, "thread_note": note}),
    ))
}

fn wait(name: &str) -> String {
    call(&("wait", json!({"ids": [name]})))
}

pub(super) async fn asked(stage: &Stage, actor: &Actor, number: u32, requests: usize) {
    let session = agent(actor, &number.to_string()).await.session;
    while requests_of(stage, session).len() < requests {
        tokio::task::yield_now().await;
    }
}

/// A tree in which one child is done, another is at work, and its own child too.
async fn scene_of_the_crash() -> (Stage, Actor) {
    let leaf = spawn("leaf", "leaf");
    let children =
        scene("leaf", &[&until_there("never")]) + &scene("middle", &[&leaf, &until_there("never")]);
    let root = [
        &*spawn("work", "done"),
        &wait("done"),
        &spawn("middle", "middle"),
        "{ say = 'later' }",
    ];
    let stage = cast::stage(&children, &root, &[Family::Agents]).await;
    let mut actor = stage.start().await;
    actor.say(cast::OPENING).await;
    actor.until(is_running(3)).await;
    asked(&stage, &actor, 2, 2).await;
    asked(&stage, &actor, 3, 1).await;
    while !agent(&actor, "root").await.status.is_final() {
        tokio::task::yield_now().await;
    }
    (stage, actor)
}

fn standing(views: &[AgentView]) -> Vec<(u32, String, Option<u32>, Option<String>)> {
    let lines = views.iter().map(|view| {
        let parent = view.parent.map(|parent| parent.0);
        (view.agent.0, view.path.clone(), parent, view.note.clone())
    });
    lines.collect()
}

#[tokio::test]
async fn what_ran_at_a_crash_is_interrupted_and_everything_else_is_as_it_was() {
    let (stage, actor) = scene_of_the_crash().await;
    let (root, before) = (actor.session_id(), agents(&actor).await);
    let wreck = Wreck::of(&stage);
    actor.shut_down().await;
    let spawn = spawn("work", "next");
    let after = wreck
        .stage(&plot("", &[&spawn, "{ say = 'spawned' }"]), |_| ())
        .await;
    let mut actor = after.resume(root).await;
    let views = agents(&actor).await;
    assert_eq!(standing(&views), standing(&before));
    let why = Interruption::Crash;
    let statuses: Vec<CurrentStatus> = views.iter().map(|view| view.status).collect();
    let crashed = CurrentStatus::Interrupted { why };
    assert_eq!(statuses, [CurrentStatus::Completed, crashed, crashed]);
    for (view, was) in views.iter().zip(&before) {
        assert_eq!(view.session, was.session);
        assert_eq!(view.spec, was.spec);
        assert_eq!(view.born_at_ms, was.born_at_ms);
    }
    assert_eq!(views[0].preview.as_deref(), Some("ok"));
    let result = actor.agents().result(views[0].session, None).await.unwrap();
    assert_eq!(result.last_message.as_deref(), Some("ok"));
    // Nothing runs until somebody says so, and the next number is the next.
    assert_eq!(after.requests().len(), 0);
    actor.turn("go on").await;
    let desk = actor.agents().user();
    let all = desk.list(AgentScope::All, true).await.unwrap();
    assert_eq!(all.last().unwrap().agent, AgentId(4));
    end(actor).await;
}

#[tokio::test]
async fn lines_that_stand_in_two_logs_count_once() {
    let (stage, actor) = scene_of_the_crash().await;
    let (root, before) = (actor.session_id(), agents(&actor).await);
    let wreck = Wreck::of(&stage);
    actor.shut_down().await;
    // Their receipts were lost, so the root was given them too.
    let (mut log, _) = wreck.store.open(root).await.unwrap();
    for log_of in [root, before[0].session, before[1].session] {
        let written = wreck.store.agent_lines(log_of).await.unwrap();
        let lines = written.lines.into_iter();
        let again = lines.map(|(_, line)| RolloutRecord::Agent(Box::new(line)));
        log.append(&again.collect::<Vec<_>>()).unwrap();
    }
    log.close().await.unwrap();
    let after = wreck.stage(&plot("", &[]), |_| ()).await;
    let actor = after.resume(root).await;
    let views = agents(&actor).await;
    assert_eq!(standing(&views), standing(&before));
    let done = |views: &[AgentView]| (views[0].usage, views[0].status);
    assert!(views[0].usage.total_tokens > 0);
    assert_eq!(done(&views), done(&before));
    end(actor).await;
}

#[tokio::test]
async fn what_ran_at_a_shutdown_says_so() {
    let (stage, actor) = scene_of_the_crash().await;
    let root = actor.session_id();
    actor.shut_down().await;
    let actor = stage.resume(root).await;
    let why = Interruption::Shutdown;
    let views = agents(&actor).await;
    let statuses: Vec<CurrentStatus> = views.iter().map(|view| view.status).collect();
    let stopped = CurrentStatus::Interrupted { why };
    assert_eq!(statuses, [CurrentStatus::Completed, stopped, stopped]);
    end(actor).await;
}

#[tokio::test]
async fn whoever_was_at_work_goes_on_if_that_is_wanted() {
    let (stage, actor) = scene_of_the_crash().await;
    let root = actor.session_id();
    let wreck = Wreck::of(&stage);
    actor.shut_down().await;
    let children = scene("leaf", &["{ say = 'leaf went on' }"])
        + &scene(
            "middle",
            &["{ say = 'middle went on' }", "{ say = 'middle heard' }"],
        );
    let after = wreck
        .stage(&plot(&children, &[]), |options| {
            options.recovery = RecoveryPolicy::ContinueChildren;
        })
        .await;
    let mut actor = after.resume(root).await;
    actor.until(is_completed(3)).await;
    actor.agents().wait_until_idle().await;
    let (middle, leaf) = (agent(&actor, "2").await, agent(&actor, "3").await);
    let words = heard(&after, leaf.session);
    assert_eq!(words.len(), 2);
    assert!(
        words[1].starts_with("The engine stopped while you were at work."),
        "{words:?}"
    );
    // Each calls the one who made it, also now.
    let words = heard(&after, middle.session);
    assert!(words.last().unwrap().contains("leaf went on"), "{words:?}");
    assert_eq!(middle.status, CurrentStatus::Completed);
    let words = heard(&after, root);
    let called: Vec<_> = words
        .iter()
        .filter(|text| text.starts_with("[Troupe]"))
        .collect();
    assert_eq!(called.len(), 2, "{called:?}");
    assert!(
        called
            .iter()
            .all(|text| text.contains("/root/middle (number 2)")),
        "{called:?}"
    );
    end(actor).await;
}

#[tokio::test]
async fn a_callback_that_waited_at_the_crash_is_delivered_once() {
    let root = [&*spawn("work", "kid"), &until_there("never")];
    let stage = cast::stage("", &root, &[Family::Agents]).await;
    let mut actor = stage.start().await;
    actor.say(cast::OPENING).await;
    actor.until(is_completed(1)).await;
    let root = actor.session_id();
    let wreck = Wreck::of(&stage);
    actor.shut_down().await;
    for _ in 0..2 {
        let after = wreck
            .stage(&plot("", &["{ say = 'back again' }"]), |_| ())
            .await;
        let mut actor = after.resume(root).await;
        actor.turn("are you there?").await;
        actor.agents().wait_until_idle().await;
        let words = heard(&after, root);
        let called = words.iter().filter(|text| text.starts_with("[Troupe]"));
        assert_eq!(called.count(), 1, "{words:?}");
        end(actor).await;
    }
    let lines = logs::read(&*wreck.store, root).await;
    let owed = logs::callbacks_for(&lines, AgentId::ROOT);
    assert_eq!(owed.len(), 1);
    assert_eq!(logs::begun_with(&lines, AgentId::ROOT), owed);
}

#[tokio::test]
async fn mail_that_waited_at_the_crash_is_read() {
    let children = scene("stay", &[&until_there("never")]);
    let root = [&*spawn("stay", "kid"), "{ say = 'later' }"];
    let stage = cast::stage(&children, &root, &[Family::Agents]).await;
    let mut actor = stage.start().await;
    actor.turn(cast::OPENING).await;
    asked(&stage, &actor, 1, 1).await;
    let desk = actor.agents().user();
    for text in ["one", "two"] {
        let sent = desk.send("1", message(text), SendUrgency::Regular).await;
        sent.unwrap();
    }
    let root = actor.session_id();
    let wreck = Wreck::of(&stage);
    actor.shut_down().await;
    let children = scene("stay", &["{ say = 'read it' }"; 2]);
    let after = wreck.stage(&plot(&children, &[]), |_| ()).await;
    let mut actor = after.resume(root).await;
    actor.until(is_completed(1)).await;
    let kid = agent(&actor, "1").await;
    assert_eq!(kid.pending.messages, 0);
    assert_eq!(heard(&after, kid.session), ["stay", "one", "two"]);
    end(actor).await;
}

#[tokio::test]
async fn who_waited_for_a_slot_gets_one_after_the_crash() {
    let children = scene("stay", &[&until_there("never")]);
    let root = [
        &*spawn("stay", "first"),
        &spawn("later", "second"),
        "{ say = 'later' }",
    ];
    let stage = cast::stage_with(&children, &root, |options| {
        options.limits.max_threads = 1;
    })
    .await;
    let mut actor = stage.start().await;
    actor.turn(cast::OPENING).await;
    asked(&stage, &actor, 1, 1).await;
    let queued = agent(&actor, "2").await.status;
    assert_eq!(queued, CurrentStatus::Queued { position: 1 });
    let root = actor.session_id();
    let wreck = Wreck::of(&stage);
    actor.shut_down().await;
    let after = wreck.stage(&plot("", &[]), |_| ()).await;
    let mut actor = after.resume(root).await;
    actor.until(is_completed(2)).await;
    let why = Interruption::Crash;
    assert_eq!(
        agent(&actor, "1").await.status,
        CurrentStatus::Interrupted { why }
    );
    let second = agent(&actor, "2").await;
    assert_eq!(heard(&after, second.session), ["later"]);
    end(actor).await;
}
