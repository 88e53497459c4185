//! Notes: a line that lists and screens show beside an agent.

use std::sync::Arc;

use expect_test::expect;
use serde_json::{Value, json};
use troupe_protocol::EventMsg;
use troupe_protocol::op::Op;
use troupe_protocol::rollout::RolloutRecord;

use super::play::{
    Cue, agent, answer, answers, answers_of, call, end, play, recorded, records, role, scene, seen,
    stage,
};
use crate::it::faulty::Faulty;

const AIDE: &str = "---
description: helps
agent_names:
  - name: quick
---
You help slowly.
<!-- agent_name: quick -->
You help quickly.
";

/// Plays one spawn and returns the note that its result shows.
async fn note_of(arguments: Value) -> Value {
    let stage = stage("", &[("spawn_agent", arguments)]).await;
    role(&stage, "aide", AIDE);
    let actor = play(&stage).await;
    let spawned = answer(&stage, &actor, 0).await;
    end(actor).await;
    spawned["thread_note"].clone()
}

#[tokio::test]
async fn a_note_given_at_spawn_is_normalised() {
    let note = note_of(json!({"message": "work", "thread_note": " looks \n\t around "})).await;
    assert_eq!(note, "looks around");
}

#[tokio::test]
async fn without_a_note_the_child_is_described() {
    let note = note_of(json!({"message": "work", "agent_type": "aide"})).await;
    assert_eq!(note, "agent_type=aide; agent_description=helps");
    let note = note_of(json!({"message": "w", "agent_type": "aide", "agent_name": "quick"})).await;
    assert_eq!(
        note,
        "agent_type=aide; agent_name=quick; agent_description=helps"
    );
}

#[tokio::test]
async fn an_empty_note_at_spawn_means_none() {
    let note = note_of(json!({"message": "work", "thread_note": "  "})).await;
    assert_eq!(note, Value::Null);
}

fn is_note(record: &RolloutRecord) -> bool {
    matches!(record, RolloutRecord::EventMsg(event)
        if matches!(event.msg, EventMsg::ThreadNoteUpdated { .. }))
}

#[tokio::test]
async fn a_note_that_cannot_be_set_is_a_warning_and_the_child_works() {
    let store = Faulty::default();
    store.refuse(is_note);
    let cues: [Cue; 2] = [
        (
            "spawn_agent",
            json!({"message": "work", "task_name": "kid", "thread_note": "mine"}),
        ),
        ("wait", json!({"ids": ["kid"]})),
    ];
    let stage = stage("", &cues).await.keeping_in(Arc::new(store));
    let actor = play(&stage).await;
    let spawned = answer(&stage, &actor, 0).await;
    assert_eq!(spawned["agent_id"], "/root/kid");
    let waited = answer(&stage, &actor, 1).await;
    assert_eq!(waited["status"], json!({"/root/kid": {"completed": "ok"}}));
    let warnings: Vec<String> = seen(&actor)
        .into_iter()
        .filter_map(|msg| match msg {
            EventMsg::Warning { message } => Some(message),
            _ => None,
        })
        .collect();
    expect!["the note of agent /root/kid was not set: no space left for memory; free some and try again, what was kept so far is safe: no storage space"].assert_eq(&warnings.join("\n"));
    end(actor).await;
}

fn notes(events: &[EventMsg]) -> Vec<Option<&str>> {
    let notes = events.iter().filter_map(|msg| match msg {
        EventMsg::ThreadNoteUpdated { thread_note } => Some(thread_note.as_deref()),
        _ => None,
    });
    notes.collect()
}

#[tokio::test]
async fn a_note_is_set_and_cleared_and_the_child_records_both() {
    let cues: [Cue; 6] = [
        (
            "spawn_agent",
            json!({"message": "work", "task_name": "kid", "thread_note": "first"}),
        ),
        ("wait", json!({"ids": ["/root/kid"]})),
        (
            "set_thread_note",
            json!({"id": "/root/kid", "note": " second\n note"}),
        ),
        ("list_active_agents", json!({})),
        ("set_thread_note", json!({"id": "/root/kid", "note": " \n"})),
        ("list_active_agents", json!({})),
    ];
    let stage = stage("", &cues).await;
    let actor = play(&stage).await;
    let set = answer(&stage, &actor, 2).await;
    assert_eq!(set["thread_note"], "second note");
    assert!(set["submission_id"].is_string(), "{set}");
    let listed = answer(&stage, &actor, 3).await;
    assert_eq!(listed["agents"][0]["thread_note"], "second note");
    let cleared = answer(&stage, &actor, 4).await;
    assert_eq!(cleared["thread_note"], Value::Null);
    let listed = answer(&stage, &actor, 5).await;
    assert_eq!(listed["agents"][0].get("thread_note"), None);
    let kid = agent(&actor, "/root/kid").await;
    end(actor).await;
    let events = recorded(&stage, kid.session).await;
    assert_eq!(notes(&events), [Some("first"), Some("second note"), None]);
    // The answer names the submission under which the child tells it.
    let told = records(&stage, kid.session).await;
    let told = told.into_iter().find_map(|record| match record {
        RolloutRecord::EventMsg(event) => match event.msg {
            EventMsg::ThreadNoteUpdated {
                thread_note: Some(note),
            } if note == "second note" => Some(event.id),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(json!(told), set["submission_id"]);
}

#[tokio::test]
async fn a_conversation_that_was_renamed_is_listed_by_its_name() {
    let cues: [Cue; 1] = [(
        "spawn_agent",
        json!({"message": "work", "task_name": "kid"}),
    )];
    let stage = stage("", &cues).await;
    let actor = play(&stage).await;
    let desk = actor.agents().user();
    desk.set_name("/root/kid", " The \n Scout ").await.unwrap();
    let name = Some("The Scout");
    assert_eq!(agent(&actor, "/root/kid").await.name.as_deref(), name);
    let root = actor.session_id();
    end(actor).await;
    let actor = stage.resume(root).await;
    assert_eq!(agent(&actor, "/root/kid").await.name.as_deref(), name);
    end(actor).await;
}

#[tokio::test]
async fn a_note_survives_a_restart() {
    let cues: [Cue; 2] = [
        (
            "spawn_agent",
            json!({"message": "work", "task_name": "kid"}),
        ),
        (
            "set_thread_note",
            json!({"id": "/root/kid", "note": "keep me"}),
        ),
    ];
    let stage = stage("", &cues).await;
    let actor = play(&stage).await;
    let root = actor.session_id();
    end(actor).await;
    let actor = stage.resume(root).await;
    assert_eq!(
        agent(&actor, "/root/kid").await.note.as_deref(),
        Some("keep me")
    );
    end(actor).await;
}

#[tokio::test]
async fn a_session_is_opened_with_the_note_that_it_had() {
    let stage = stage("", &[]).await;
    let mut actor = stage.start().await;
    let note = " the \n root ".to_owned();
    actor.submit(Op::SetThreadNote { note }).await;
    actor
        .until(|msg| matches!(msg, EventMsg::ThreadNoteUpdated { .. }))
        .await;
    let root = actor.session_id();
    actor.shut_down().await;
    let actor = stage.resume(root).await;
    let opened = seen(&actor).into_iter().find_map(|msg| match msg {
        EventMsg::SessionConfigured(configured) => configured.thread_note,
        _ => None,
    });
    assert_eq!(opened.as_deref(), Some("the root"));
    actor.shut_down().await;
}

#[tokio::test]
async fn a_child_annotates_only_itself_and_those_below_it() {
    let sibling = call(&(
        "set_thread_note",
        json!({"id": "/root/other", "note": "mine"}),
    ));
    let itself = call(&("set_thread_note", json!({"id": "/root/kid", "note": "me"})));
    let children = scene("annotate", &[&sibling, &itself, "{ say = 'annotated' }"]);
    let cues: [Cue; 4] = [
        (
            "spawn_agent",
            json!({"message": "work", "task_name": "other"}),
        ),
        (
            "spawn_agent",
            json!({"message": "annotate", "task_name": "kid"}),
        ),
        ("wait", json!({"ids": ["/root/kid"]})),
        ("set_thread_note", json!({"id": "nobody", "note": "x"})),
    ];
    let stage = stage(&children, &cues).await;
    let actor = play(&stage).await;
    let kid = agent(&actor, "/root/kid").await;
    let told = answers_of(&stage, kid.session);
    assert_eq!(
        told[0],
        "Not permitted to annotate agents outside your subtree."
    );
    assert_eq!(kid.note.as_deref(), Some("me"));
    expect![[r#"no agent "nobody"; give an agent number, a path such as /root/name, a session id, "parent" or "root""#]]
        .assert_eq(&answers(&stage, &actor).await[3]);
    end(actor).await;
}
