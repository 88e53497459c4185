//! Callbacks: a parent hears of the end of its children's tasks, each once, when it is idle.

use std::sync::Arc;

use expect_test::expect;
use serde_json::json;
use troupe_agents::Family;
use troupe_agents::tree_access::{CallbackChoice, TreeStopRequest};
use troupe_protocol::input::UserInput;
use troupe_protocol::item::TurnItem;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tree::{AgentLine, CallbackMode, MessageId, MessageMetadata, TreeFact};
use troupe_protocol::{AgentId, ContextFragment, EventMsg, Op, ResponseItem, SessionId, StopVerb};
use troupe_store::LogPosition;
use troupe_testkit::Stage;
use troupe_tree::command::{SendUrgency, StopMode};

use super::cast::{
    OPENING, called, depths, has_mail, heard, heard_in, is_running, lines, message, open,
    spawn_agent as spawn, stage, stage_with, wish, without_ids,
};
use super::logs;
use super::play::{agent, agents, call, end, requests_of, scene, until_there};
use crate::it::faulty::Faulty;

#[tokio::test]
async fn a_callback_says_what_it_is_in_the_item_and_in_the_rollout() {
    let root = [&*spawn("work", "kid"), "{ say = 'later' }"];
    let stage = stage("", &root, &[Family::Agents]).await;
    let mut actor = open(&stage).await;
    let events = actor.until_task_ends().await;
    let kid = agent(&actor, "1").await;
    let session = actor.session_id();
    let task = kid.last_task.clone().unwrap();
    let metadata = MessageMetadata {
        is_callback: true,
        source: "troupe".to_owned(),
        child_session_id: kid.session,
        child_task_id: task.clone(),
    };
    let items = events.iter().filter_map(|msg| match msg {
        EventMsg::ItemCompleted {
            item: TurnItem::UserMessage(item),
            ..
        } => item.metadata.clone(),
        _ => None,
    });
    let items: Vec<_> = items.collect();
    assert_eq!(items, std::slice::from_ref(&metadata));
    let older = events.iter().filter_map(|msg| match msg {
        EventMsg::UserMessage { metadata, .. } => metadata.clone(),
        _ => None,
    });
    assert_eq!(older.collect::<Vec<_>>(), items);
    // Its id follows from who tells whom of what, and names the task that it starts.
    let id = MessageId::of_callback(kid.session, &task, session);
    let last = actor.seen().last().unwrap();
    assert_eq!(last.id.as_str(), id.task().as_str());
    end(actor).await;
    let lines = lines(&stage, session).await;
    let ended = lines.iter().find(|line| ends(line, AgentId(1))).unwrap();
    let mail = ended.message.as_ref().unwrap();
    assert_eq!(mail.metadata.as_ref(), Some(&metadata));
    assert_eq!(marked_items(&stage, session).await, [metadata]);
    assert_eq!(logs::callbacks_for(&lines, AgentId::ROOT), [id]);
    assert_eq!(logs::begun_with(&lines, AgentId::ROOT), [id]);
}

/// What the lines `response_item` of a log say about messages of the engine.
async fn marked_items(stage: &Stage, session: SessionId) -> Vec<MessageMetadata> {
    let read = stage
        .store()
        .read_all(session, LogPosition(0))
        .await
        .unwrap();
    let records = read.lines.iter().map(|line| line.record().unwrap().record);
    records
        .filter_map(|record| match record {
            // A transcript shows it as a note.
            RolloutRecord::ResponseItem(item)
                if item.fragment() == Some(ContextFragment::Callback) =>
            {
                match item {
                    ResponseItem::Message { metadata, .. } => metadata.map(|metadata| *metadata),
                    _ => None,
                }
            }
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn what_a_callback_begins_is_answered_in_the_shape_that_was_asked_for() {
    let root = [&*spawn("work", "kid"), "{ say = 'later' }"];
    let stage = stage("", &root, &[Family::Agents]).await;
    let mut actor = stage.start().await;
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    actor
        .submit(Op::UserInput {
            items: vec![UserInput::text(OPENING)],
            final_output_json_schema: Some(schema.clone()),
            last_response_id: None,
        })
        .await;
    actor.until_task_ends().await;
    actor.until_task_ends().await;
    let requests = requests_of(&stage, actor.session_id());
    let shapes: Vec<_> = requests
        .iter()
        .map(|request| &request["text"]["format"]["schema"])
        .collect();
    assert_eq!(shapes, [&schema; 3]);
    let kid = agent(&actor, "1").await;
    let kids = requests_of(&stage, kid.session).remove(0);
    assert_eq!(kids["text"]["format"], json!(null));
    // The next turn of the client says anew what it wants.
    actor.turn("and freely").await;
    let last = requests_of(&stage, actor.session_id()).pop().unwrap();
    assert_eq!(last["text"]["format"], json!(null));
    end(actor).await;
}

fn ends(line: &AgentLine, of: AgentId) -> bool {
    matches!(line.record.fact, TreeFact::Ended { agent, .. } if agent == of)
}

#[tokio::test]
async fn callbacks_wait_for_a_busy_parent_and_come_one_at_a_time_in_order() {
    let children = scene("first", &[&until_there("a"), "{ say = 'a' }"])
        + &scene("second", &[&until_there("b"), "{ say = 'b' }"])
        + &scene("third", &[&until_there("c"), "{ say = 'c' }"]);
    let (a, b, c) = (
        spawn("first", "a"),
        spawn("second", "b"),
        spawn("third", "c"),
    );
    let gate = until_there("go");
    let root = [&*a, &b, &c, &gate, "{ say = 'free' }"];
    let stage = stage(&children, &root, &[Family::Agents]).await;
    let mut actor = stage.start().await;
    actor.say(OPENING).await;
    actor.until(is_running(3)).await;
    for (file, waiting) in [("c", 1), ("a", 2), ("b", 3)] {
        stage.write(file, "");
        actor.until(has_mail(0, waiting, 0)).await;
    }
    stage.write("go", "");
    for _ in 0..4 {
        let events = actor.until_task_ends().await;
        let began = |msg: &&EventMsg| matches!(msg, EventMsg::TurnStarted(_));
        assert!(events.iter().filter(began).count() <= 1, "one at a time");
    }
    // Nothing joins the first task; each of the next three hears of one child more.
    let requests = requests_of(&stage, actor.session_id());
    let counts: Vec<usize> = requests.iter().map(|one| heard_in(one).len()).collect();
    assert_eq!(counts, [1, 1, 1, 1, 1, 2, 3, 4]);
    let order: Vec<bool> = called(&stage, &actor)
        .await
        .iter()
        .zip(["/root/c", "/root/a", "/root/b"])
        .map(|(text, path)| text.starts_with(&format!("[Troupe] Child session {path} ")))
        .collect();
    assert_eq!(order, [true; 3]);
    assert_eq!(
        depths(&actor, 0),
        [(1, 0), (2, 0), (3, 0), (2, 0), (1, 0), (0, 0)]
    );
    end(actor).await;
}

#[tokio::test]
async fn once_is_for_the_first_task_and_persistent_for_each() {
    for (mode, calls) in [
        (CallbackMode::Off, 0),
        (CallbackMode::Once, 1),
        (CallbackMode::Persistent, 2),
    ] {
        let stage = stage_with("", &["{ say = 'ready' }"], |_| ()).await;
        let actor = open(&stage).await;
        let desk = actor.agents().user();
        let choice = CallbackChoice { mode, config: None };
        desk.spawn(wish(&stage, "work", choice)).await.unwrap();
        actor.agents().wait_until_idle().await;
        let sent = desk.send("1", message("more"), SendUrgency::Regular).await;
        sent.unwrap();
        actor.agents().wait_until_idle().await;
        let root = actor.session_id();
        end(actor).await;
        let lines = lines(&stage, root).await;
        assert_eq!(logs::ends_of(&lines, AgentId(1)).len(), 2);
        assert_eq!(
            logs::callbacks_for(&lines, AgentId::ROOT).len(),
            calls,
            "{mode:?}"
        );
        assert_eq!(
            logs::begun_with(&lines, AgentId::ROOT).len(),
            calls,
            "{mode:?}"
        );
    }
}

#[tokio::test]
async fn what_a_wait_has_told_is_not_told_again() {
    let wait = call(&("wait", json!({"ids": [1]})));
    let root = [&*spawn("work", "kid"), &wait, "{ say = 'waited' }"];
    let stage = stage("", &root, &[Family::Agents]).await;
    let actor = open(&stage).await;
    actor.agents().wait_until_idle().await;
    let session = actor.session_id();
    assert!(called(&stage, &actor).await.is_empty());
    assert_eq!(depths(&actor, 0), [(1, 0), (0, 0)]);
    end(actor).await;
    let lines = lines(&stage, session).await;
    let owed = logs::callbacks_for(&lines, AgentId::ROOT);
    assert_eq!(owed.len(), 1);
    assert_eq!(logs::consumed(&lines), owed);
    assert_eq!(logs::begun_with(&lines, AgentId::ROOT), []);
}

#[tokio::test]
async fn a_grandchild_calls_the_one_who_made_it() {
    let leaf = spawn("leaf", "leaf");
    let children = scene(
        "middle",
        &[&leaf, "{ say = 'spawned' }", "{ say = 'heard' }"],
    ) + &scene("leaf", &["{ say = 'leaf done' }"]);
    let root = [&*spawn("middle", "middle"), "{ say = 'later' }"];
    let stage = stage(&children, &root, &[Family::Agents]).await;
    let mut actor = open(&stage).await;
    actor.until_task_ends().await;
    actor.until_task_ends().await;
    let callers: Vec<String> = called(&stage, &actor).await;
    for text in &callers {
        assert!(
            text.starts_with("[Troupe] Child session /root/middle has"),
            "{text}"
        );
    }
    let middle = agent(&actor, "1").await.session;
    let views = agents(&actor).await;
    let to_middle = without_ids(&views, &heard(&stage, middle)[1]);
    assert!(
        to_middle.starts_with("[Troupe] Child session /root/middle/leaf has"),
        "{to_middle}"
    );
    let session = actor.session_id();
    end(actor).await;
    let lines = lines(&stage, session).await;
    assert_eq!(logs::callbacks_for(&lines, AgentId(1)).len(), 1);
    assert_eq!(logs::callbacks_for(&lines, AgentId::ROOT).len(), 2);
}

#[tokio::test]
async fn a_child_of_a_fork_calls_the_fork_and_not_whom_it_was_forked_from() {
    let leaf = call(&("subagent_spawn", json!({"prompt": "leaf"})));
    let children = scene("leaf", &["{ say = 'leaf done' }"])
        + &scene(
            "branch off",
            &[&leaf, "{ say = 'spawned' }", "{ say = 'heard' }"],
        );
    let fork = call(&("subagent_fork", json!({"prompt": "branch off"})));
    let root = [&*fork, "{ say = 'later' }"];
    let stage = stage(&children, &root, &[Family::Subagents]).await;
    let mut actor = open(&stage).await;
    actor.until_task_ends().await;
    actor.until_task_ends().await;
    let session = actor.session_id();
    let fork = agent(&actor, "1").await.session;
    let to_fork = heard(&stage, fork).pop().unwrap();
    assert!(to_fork.contains("leaf done"), "{to_fork}");
    let to_root = heard(&stage, session);
    assert!(
        !to_root.iter().any(|text| text.contains("leaf done")),
        "{to_root:?}"
    );
    end(actor).await;
}

fn stop(verb: StopVerb, target: &str) -> TreeStopRequest {
    TreeStopRequest {
        verb,
        targets: vec![target.to_owned()],
        mode: StopMode::Act,
        note: None,
    }
}

#[tokio::test]
async fn a_parent_hears_of_stops_that_were_not_its_own() {
    let children = scene("stay", &[&until_there("never"), "{ say = 'replaced' }"]);
    let spawns = ["a", "b", "c", "d"]
        .map(|name| spawn("stay", name))
        .join(", ");
    let cancel = call(&("cancel_agent", json!({"id": "/root/c"})));
    let gate = until_there("go");
    let root = [&*spawns, &gate, &cancel, "{ say = 'free' }"];
    let stage = stage(&children, &root, &[Family::Agents]).await;
    let mut actor = stage.start().await;
    actor.say(OPENING).await;
    for _ in 0..4 {
        actor
            .until(|msg| (1..=4).any(|agent| is_running(agent)(msg)))
            .await;
    }
    let desk = actor.agents().user();
    desk.stop(stop(StopVerb::Interrupt, "/root/a"))
        .await
        .unwrap();
    desk.stop(stop(StopVerb::Cancel, "/root/b")).await.unwrap();
    let urgent = desk.send("/root/d", message("instead"), SendUrgency::Interrupt);
    urgent.await.unwrap();
    actor.until(has_mail(0, 3, 0)).await;
    stage.write("go", "");
    actor.until_task_ends().await;
    actor.agents().wait_until_idle().await;
    let session = actor.session_id();
    let mut told = called(&stage, &actor).await;
    told.sort();
    let first = |text: &String| text.lines().next().unwrap_or_default().to_owned();
    let told: Vec<String> = told.iter().map(first).collect();
    expect![[r#"
        [Troupe] Child session /root/a has been interrupted.
        [Troupe] Child session /root/b has been interrupted.
        [Troupe] Child session /root/d has completed."#]]
    .assert_eq(&told.join("\n"));
    end(actor).await;
    let lines = lines(&stage, session).await;
    assert_eq!(
        logs::ends_of(&lines, AgentId(4)).len(),
        2,
        "replaced, then completed"
    );
    assert_eq!(logs::callbacks_for(&lines, AgentId::ROOT).len(), 3);
}

#[tokio::test]
async fn nobody_but_an_agent_itself_writes_its_status() {
    let leaf = spawn("leaf", "leaf");
    let wait = call(&("wait", json!({"ids": ["leaf"]})));
    let children = scene("middle", &[&leaf, &wait, "{ say = 'middle done' }"])
        + &scene("stay", &[&until_there("never")]);
    let cancel = call(&("cancel_agent", json!({"id": "/root/stay"})));
    let close = call(&("close_agent", json!({"id": "/root/middle"})));
    let wait = call(&("wait", json!({"ids": ["/root/middle"]})));
    let (middle, stay) = (spawn("middle", "middle"), spawn("stay", "stay"));
    let root = [&*middle, &stay, &wait, &cancel, &close, "{ say = 'done' }"];
    let stage = stage(&children, &root, &[Family::Agents]).await;
    let actor = open(&stage).await;
    let session = actor.session_id();
    actor.agents().wait_until_idle().await;
    let mut sessions: Vec<_> = agents(&actor)
        .await
        .iter()
        .map(|view| (view.agent, view.session))
        .collect();
    sessions.push((AgentId::ROOT, session));
    end(actor).await;
    let mut statuses = 0;
    for (owner, session) in sessions {
        let lines = stage.store().agent_lines(session).await.unwrap().lines;
        for (_, line) in lines {
            assert_eq!(line.record.log, owner, "{line:?}");
            if let TreeFact::Started { agent, .. }
            | TreeFact::Took { agent, .. }
            | TreeFact::Ended { agent, .. }
            | TreeFact::Halted { agent, .. }
            | TreeFact::Consumed { agent, .. }
            | TreeFact::Shut { agent } = line.record.fact
            {
                statuses += 1;
                assert_eq!(agent, owner, "{line:?}");
            }
        }
    }
    assert!(statuses > 8, "{statuses}");
}

#[tokio::test]
async fn an_end_its_result_and_its_callback_are_one_line() {
    let root = [&*spawn("work", "kid"), "{ say = 'later' }"];
    let stage = stage("", &root, &[Family::Agents]).await;
    let mut actor = open(&stage).await;
    actor.until_task_ends().await;
    let session = actor.session_id();
    end(actor).await;
    let lines = lines(&stage, session).await;
    let ended: Vec<_> = lines.iter().filter(|line| ends(line, AgentId(1))).collect();
    assert_eq!(ended.len(), 1);
    let line = ended[0];
    assert_eq!(line.record.log, AgentId(1));
    let result = line.result.as_ref().unwrap();
    assert_eq!(result.last_message.as_deref(), Some("ok"));
    assert!(line.message.is_some());
    assert!(matches!(
        line.record.fact,
        TreeFact::Ended {
            callback: Some(_),
            ..
        }
    ));
}

/// Between the end of a task and the next prompt there is no moment in which half of it
/// counts.
#[tokio::test]
async fn an_end_and_its_task_complete_are_one_append() {
    let store = Faulty::default();
    let root = [&*spawn("work", "kid"), "{ say = 'later' }"];
    let stage = stage("", &root, &[Family::Agents]).await;
    let stage = stage.keeping_in(Arc::new(store.clone()));
    let mut actor = open(&stage).await;
    actor.until_task_ends().await;
    end(actor).await;
    let appends = store.appends();
    let append = appends.iter().find(|records| {
        let mut records = records.iter();
        records.any(|record| matches!(record, RolloutRecord::Agent(line) if ends(line, AgentId(1))))
    });
    let told = append.expect("the child ended").iter();
    let told: Vec<&str> = told
        .filter_map(|record| match record {
            RolloutRecord::Agent(line) if line.result.is_some() && line.message.is_some() => {
                Some("result, status and callback")
            }
            RolloutRecord::EventMsg(event) => match event.msg {
                EventMsg::TurnComplete(_) => Some("task_complete"),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(told, ["result, status and callback", "task_complete"]);
}

#[tokio::test]
async fn where_a_child_comes_from_is_kept() {
    let leaf = spawn("leaf", "leaf");
    let wait = call(&("wait", json!({"ids": ["leaf"]})));
    let children = scene("middle", &[&leaf, &wait, "{ say = 'middle done' }"]);
    let middle = call(&(
        "spawn_agent",
        json!({"message": "middle", "task_name": "middle", "model": "scripted-2"}),
    ));
    let wait = call(&("wait", json!({"ids": ["middle"]})));
    let stage = stage(
        &children,
        &[&middle, &wait, "{ say = 'done' }"],
        &[Family::Agents],
    )
    .await;
    let actor = open(&stage).await;
    let session = actor.session_id();
    let task = actor.seen().last().unwrap().id.clone();
    let (middle, leaf) = (agent(&actor, "1").await, agent(&actor, "2").await);
    end(actor).await;
    let lines = lines(&stage, session).await;
    let births: Vec<_> = lines
        .iter()
        .filter_map(|line| match &line.record.fact {
            TreeFact::Born(birth) => Some((birth, line.spec.as_ref().unwrap())),
            _ => None,
        })
        .collect();
    let (birth, spec) = births[0];
    assert_eq!(
        (birth.parent, birth.session),
        (AgentId::ROOT, middle.session)
    );
    let point = birth.genealogy.point.as_ref().unwrap();
    assert_eq!(point.task, task);
    assert!(point.message_index > 0);
    assert_eq!(
        (spec.model.as_str(), spec.tool.as_str()),
        ("scripted-2", "spawn_agent")
    );
    let (birth, _) = births[1];
    assert_eq!((birth.parent, birth.session), (AgentId(1), leaf.session));
    let made = lines.iter().find(|line| ends(line, AgentId(1))).unwrap();
    let result = made.result.as_ref().unwrap();
    assert_eq!(result.evidence.children, [leaf.session]);
    assert_eq!(birth.genealogy.point.as_ref().unwrap().task, result.task_id);
}
