//! A disk that fails in the middle of things.

use std::sync::Arc;

use troupe_protocol::error::ErrorInfo;
use troupe_protocol::item::TurnItem;
use troupe_protocol::op::{ConfigureSession, ForkPoint, Op};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::{EventMsg, ResponseItem};
use troupe_store::{SessionStore, StoreError};
use troupe_testkit::Stage;

use super::faulty::Faulty;

const CALL_AND_ANSWER: &str = r#"
[[scene]]
[[scene.turn]]
response_id = "resp_1"
steps = [{ call = "shell_command", call_id = "a", arguments = { command = "echo one" } }]
[[scene.turn]]
steps = [{ say = "two" }]
[[scene.turn]]
steps = [{ say = "three" }]
"#;

async fn stage() -> (Stage, Faulty) {
    let store = Faulty::default();
    let stage = Stage::new(CALL_AND_ANSWER).await;
    (stage.keeping_in(Arc::new(store.clone())), store)
}

fn event(record: &RolloutRecord) -> Option<&EventMsg> {
    match record {
        RolloutRecord::EventMsg(event) => Some(&event.msg),
        _ => None,
    }
}

fn assert_ends_with_storage_failure(msgs: &[EventMsg]) {
    let [.., EventMsg::Error(error), EventMsg::TurnAborted(_)] = msgs else {
        panic!("the task ends with an error: {msgs:?}");
    };
    assert!(error.fatal);
    assert_eq!(error.error_info, Some(ErrorInfo::StorageFailed));
}

#[tokio::test]
async fn a_task_whose_end_is_not_recorded_ends_all_the_same() {
    let (stage, store) = stage().await;
    let mut actor = stage.start().await;
    store.refuse(|record| matches!(event(record), Some(EventMsg::TurnComplete(_))));
    let msgs = actor.turn("hello").await;
    assert_ends_with_storage_failure(&msgs);
}

#[tokio::test]
async fn a_stop_that_is_not_recorded_ends_the_task_all_the_same() {
    let (stage, store) = stage().await;
    let mut actor = stage.start().await;
    store.refuse(|record| {
        matches!(
            event(record),
            Some(EventMsg::TurnAborted(_) | EventMsg::ResponseCompleted { .. })
        )
    });
    let msgs = actor.turn("hello").await;
    assert_ends_with_storage_failure(&msgs);
    let aborted = |msg: &&EventMsg| matches!(msg, EventMsg::TurnAborted(_));
    assert_eq!(msgs.iter().filter(aborted).count(), 1);
}

#[tokio::test]
async fn a_call_whose_answer_is_not_recorded_is_answered_in_the_next_request() {
    let (stage, store) = stage().await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    store.refuse(|record| {
        matches!(
            record,
            RolloutRecord::ResponseItem(ResponseItem::FunctionCallOutput { .. })
        )
    });
    assert_ends_with_storage_failure(&actor.turn("hello").await);
    store.heal();
    actor.turn("again").await;
    let calls = |n: usize| -> Vec<String> {
        let input = stage.input_of(n);
        let items = input.iter().filter(|item| item["call_id"] == "a");
        items.map(|item| item["type"].to_string()).collect()
    };
    let answered = ["\"function_call\"", "\"function_call_output\""];
    assert_eq!(calls(1), answered);
    actor.shut_down().await;

    let mut actor = stage.resume(session).await;
    actor.turn("once more").await;
    assert_eq!(calls(2), answered, "memory and log tell the same");
}

#[tokio::test]
async fn an_item_whose_end_is_not_recorded_is_ended_for_people() {
    let (stage, store) = stage().await;
    let mut actor = stage.start().await;
    store.refuse(|record| {
        matches!(
            event(record),
            Some(EventMsg::ItemCompleted {
                item: TurnItem::CommandExecution(_),
                ..
            })
        )
    });
    let msgs = actor.turn("hello").await;
    assert_ends_with_storage_failure(&msgs);
    let count = |is_it: fn(&EventMsg) -> bool| msgs.iter().filter(|msg| is_it(msg)).count();
    assert_eq!(count(|msg| matches!(msg, EventMsg::ExecCommandBegin(_))), 1);
    assert_eq!(count(|msg| matches!(msg, EventMsg::ExecCommandEnd(_))), 1);
}

#[tokio::test]
async fn a_full_disk_does_not_keep_a_session_from_ending() {
    let (stage, store) = stage().await;
    let actor = stage.start().await;
    store.refuse(|_| true);
    let msgs = actor.shut_down().await;
    assert!(
        msgs.iter().any(|msg| matches!(msg, EventMsg::Error(_))),
        "{msgs:?}"
    );
}

#[tokio::test]
async fn a_full_disk_does_not_keep_an_abandoned_session_alive() {
    let (stage, store) = stage().await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.say("hello").await;
    actor
        .until(|msg| matches!(msg, EventMsg::ExecCommandBegin(_)))
        .await;
    store.refuse(|_| true);
    drop(actor);
    while let Err(error) = store.open(session).await {
        assert!(matches!(error, StoreError::Owned { .. }), "{error}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_fork_that_cannot_be_kept_leaves_the_session_as_it_was() {
    let (stage, store) = stage().await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    store.refuse(|record| matches!(event(record), Some(EventMsg::SessionConfigured(_))));
    actor
        .submit(Op::ConfigureSession(ConfigureSession {
            fork: Some(ForkPoint {
                session_id: session,
                last_response_id: None,
                turns: None,
                turn: None,
            }),
            ..ConfigureSession::default()
        }))
        .await;
    actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    store.heal();
    actor.turn("hello").await;
    let live = store.read_live(session).await.unwrap();
    let said = live
        .records
        .iter()
        .filter(|(_, line)| matches!(event(&line.record), Some(EventMsg::TurnComplete(_))));
    assert_eq!(said.count(), 1, "the task is in the log of its session");
}

#[tokio::test]
async fn an_end_that_was_not_recorded_is_recorded_when_the_disk_is_back() {
    let (stage, store) = stage().await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    store.refuse(|record| matches!(event(record), Some(EventMsg::TurnComplete(_))));
    assert_ends_with_storage_failure(&actor.turn("hello").await);
    let told = actor.seen().last().unwrap().seq;
    store.heal();
    actor.shut_down().await;
    let live = store.read_live(session).await.unwrap();
    let ends: Vec<u64> = live
        .records
        .iter()
        .filter_map(|(_, line)| match &line.record {
            RolloutRecord::EventMsg(event) if matches!(event.msg, EventMsg::TurnAborted(_)) => {
                Some(event.seq)
            }
            _ => None,
        })
        .collect();
    assert_eq!(ends, [told], "once, and under the number that was told");

    let actor = stage.resume(session).await;
    let again = |msg: &EventMsg| matches!(msg, EventMsg::TurnAborted(_));
    assert!(!actor.seen().iter().any(|event| again(&event.msg)));
}
