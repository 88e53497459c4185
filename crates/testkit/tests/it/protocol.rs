//! Every op as a client writes it, every event as it is told, kept and resumed.
//!
//! `docs/protocol.md` lists which test sends or provokes what; a tidy test holds it to the
//! types. What a feature means is told by the tests of that feature.

mod agents;
mod servers;
mod settings;
mod tasks;
mod tools;

use std::collections::BTreeMap;
use std::sync::Arc;

use troupe_protocol::rollout::{EventRecord, RolloutRecord};
use troupe_protocol::session::TurnContext;
use troupe_protocol::{Event, EventMsg, SessionId, project};
use troupe_store::LogReader;
use troupe_testkit::{Actor, Stage};

const GO: &str = r#"{"type":"user_turn","items":[{"type":"text","text":"go"}]}"#;

/// A model that answers with these steps, turn by turn.
fn play(turns: &[&str]) -> String {
    let turns = turns
        .iter()
        .map(|steps| format!("[[scene.turn]]\nsteps = [{steps}]\n"));
    format!("[[scene]]\n{}", turns.collect::<String>())
}

fn tag(msg: &EventMsg) -> String {
    let value = serde_json::to_value(msg).unwrap();
    value["type"].as_str().unwrap().to_owned()
}

/// Sends an op and waits until the last of the events was told; the others come on the way.
async fn told(actor: &mut Actor, op: &str, tags: &[&str]) -> Vec<EventMsg> {
    actor.submit_json(op).await;
    hear(actor, tags).await
}

async fn hear(actor: &mut Actor, tags: &[&str]) -> Vec<EventMsg> {
    let last = tags.last().expect("something is waited for");
    let msgs = actor.until(|msg| tag(msg) == *last).await;
    let heard: Vec<String> = msgs.iter().map(tag).collect();
    for wanted in tags {
        assert!(heard.iter().any(|tag| tag == wanted), "{wanted}: {heard:?}");
    }
    msgs
}

/// Checks that everything that was told stands in the log, under the same number, and that
/// the session comes back with the settings, name and note that were told last.
async fn kept(stage: &Stage, actor: Actor) {
    let session = actor.session_id();
    let seen: Vec<Arc<Event>> = actor.seen().to_vec();
    actor.shut_down().await;
    let recorded = recorded(stage, session).await;
    for event in seen.iter().filter(|event| !is_live(&event.msg)) {
        assert_eq!(
            recorded.get(&event.seq),
            Some(&event.msg),
            "seq {}",
            event.seq
        );
    }
    let before = State::after(&seen);
    let actor = stage.resume(session).await;
    assert_eq!(State::after(actor.seen()), before);
    let next = actor.seen().last().map(|event| event.seq);
    let last = seen.last().map(|event| event.seq);
    assert!(next > last, "a number is never used again");
}

/// Tells whether an event is only for who listens at the moment: a piece of what comes whole
/// later, how full an inbox is, which the log says in other words, or what servers offer,
/// which they are asked for again.
fn is_live(msg: &EventMsg) -> bool {
    let is_state = matches!(
        msg,
        EventMsg::AgentInbox(_) | EventMsg::McpListToolsResponse(_)
    );
    msg.is_delta() || is_state
}

/// Returns the events of a log, with the older names that follow from them.
async fn recorded(stage: &Stage, session: SessionId) -> BTreeMap<u64, EventMsg> {
    let mut events = BTreeMap::new();
    let mut log = LogReader::new(session);
    while let Some(lines) = log.next(&*stage.store()).await.unwrap() {
        for line in &lines {
            if let RolloutRecord::EventMsg(EventRecord { seq, msg, .. }) =
                line.record().unwrap().record
            {
                let older = match &msg {
                    EventMsg::ItemStarted { item, turn_id, .. } => {
                        project::on_started(item, turn_id)
                    }
                    EventMsg::ItemCompleted { item, turn_id, .. } => {
                        project::on_completed(item, turn_id)
                    }
                    _ => Vec::new(),
                };
                events.extend((seq..).zip(std::iter::once(msg).chain(older)));
            }
        }
    }
    events
}

/// What a client knows of a session's settings.
#[derive(Debug, Default, PartialEq)]
struct State {
    context: Option<TurnContext>,
    name: Option<String>,
    note: Option<String>,
}

impl State {
    fn after(events: &[Arc<Event>]) -> Self {
        let mut state = Self::default();
        for event in events {
            match &event.msg {
                EventMsg::SessionConfigured(configured) => {
                    state.context = Some(configured.context.clone());
                    state.name.clone_from(&configured.thread_name);
                    state.note.clone_from(&configured.thread_note);
                }
                EventMsg::TurnContextUpdated(context) => state.context = Some(context.clone()),
                EventMsg::ThreadNameUpdated { thread_name } => state.name.clone_from(thread_name),
                EventMsg::ThreadNoteUpdated { thread_note } => state.note.clone_from(thread_note),
                _ => {}
            }
        }
        state
    }
}
