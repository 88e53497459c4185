use troupe_protocol::event::{AbortReason, TextDelta, TurnAborted, TurnStarted};
use troupe_protocol::item::{AgentMessageItem, TurnItem};
use troupe_protocol::{Event, EventMsg, ItemId, SessionId, SubmissionId};

use super::{EventStream, Publisher};
use crate::limits::EVENT_RING_MAX;

fn delta(seq: u64) -> Event {
    event(
        seq,
        EventMsg::AgentMessageContentDelta(TextDelta {
            thread_id: SessionId(uuid::Uuid::nil()),
            turn_id: SubmissionId::default(),
            item_id: ItemId::from("msg_1"),
            delta: format!("{seq} "),
            snapshot: false,
        }),
    )
}

fn completed(seq: u64) -> Event {
    event(
        seq,
        EventMsg::ItemCompleted {
            thread_id: SessionId(uuid::Uuid::nil()),
            turn_id: SubmissionId::default(),
            item: TurnItem::AgentMessage(AgentMessageItem {
                id: ItemId::from("msg_1"),
                text: String::new(),
            }),
            completed_at_ms: 0,
        },
    )
}

fn event(seq: u64, msg: EventMsg) -> Event {
    Event {
        id: SubmissionId::default(),
        seq,
        msg,
    }
}

/// Puts together what a client shows that follows deltas and snapshots.
async fn shown(stream: &mut EventStream) -> String {
    let mut text = String::new();
    let mut last_seq = 0;
    while let Some(event) = stream.next().await {
        assert!(event.seq >= last_seq, "the numbers grow");
        last_seq = event.seq;
        if let EventMsg::AgentMessageContentDelta(delta) = &event.msg {
            if delta.snapshot {
                text.clear();
            }
            text.push_str(&delta.delta);
        }
    }
    text
}

fn texts(upto: u64) -> String {
    let texts: Vec<String> = (1..=upto).map(|seq| format!("{seq} ")).collect();
    texts.concat()
}

#[tokio::test]
async fn a_reader_that_fell_behind_sees_each_piece_of_text_once() {
    let (publisher, mut stream) = Publisher::new();
    let last = EVENT_RING_MAX as u64 + 10;
    publisher.publish((1..=last).map(delta));
    publisher.close();
    assert_eq!(shown(&mut stream).await, texts(last));
}

#[tokio::test]
async fn a_text_whose_end_is_still_in_the_ring_is_whole_for_a_reader_that_fell_behind() {
    let (publisher, mut stream) = Publisher::new();
    let last = EVENT_RING_MAX as u64 + 10;
    publisher.publish((1..=last).map(delta));
    publisher.publish([completed(last + 1)]);
    publisher.close();
    assert_eq!(shown(&mut stream).await, texts(last));
}

#[tokio::test]
async fn a_text_that_ended_before_is_not_told_again() {
    let (publisher, mut stream) = Publisher::new();
    publisher.publish([delta(1), completed(2)]);
    let last = EVENT_RING_MAX as u64 + 10;
    let warning = |seq| {
        let message = String::new();
        event(seq, EventMsg::Warning { message })
    };
    publisher.publish((3..=last).map(warning));
    publisher.close();
    assert_eq!(shown(&mut stream).await, "");
}

fn task_started(seq: u64) -> Event {
    let started = TurnStarted {
        turn_id: SubmissionId::default(),
        started_at_ms: 0,
        model_context_window: None,
        collaboration_mode_kind: troupe_protocol::policy::CollaborationMode::Default,
    };
    event(seq, EventMsg::TurnStarted(started))
}

fn task_ended(seq: u64) -> Event {
    let aborted = TurnAborted {
        turn_id: SubmissionId::default(),
        reason: AbortReason::Interrupted,
        last_agent_message: None,
        response_id: None,
    };
    event(seq, EventMsg::TurnAborted(aborted))
}

/// Reads until there is nothing to read; returns how many events are kept then.
async fn kept_after_reading(publisher: &Publisher, stream: &mut EventStream) -> usize {
    let read_all = async { while stream.next().await.is_some() {} };
    tokio::select! {
        biased;
        () = read_all => (),
        () = std::future::ready(()) => (),
    }
    publisher.shared.lock().events.len()
}

#[tokio::test]
async fn what_was_read_is_kept_during_a_task_only() {
    let (publisher, mut stream) = Publisher::new();
    publisher.publish([task_started(1), delta(2)]);
    assert_eq!(kept_after_reading(&publisher, &mut stream).await, 2);
    publisher.publish([task_ended(3)]);
    assert_eq!(kept_after_reading(&publisher, &mut stream).await, 0);
    publisher.publish([task_started(4)]);
    let next = stream.next().await;
    assert_eq!(next.map(|event| event.seq), Some(4));
}

#[tokio::test]
async fn what_nobody_reads_is_not_kept() {
    let (publisher, stream) = Publisher::new();
    publisher.publish([task_started(1)]);
    drop(stream);
    publisher.publish([delta(2), task_ended(3)]);
    assert_eq!(publisher.shared.lock().events.len(), 0);
    assert_eq!(publisher.last_seq(), 3);
}
