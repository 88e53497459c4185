use troupe_protocol::event::{AbortReason, TextDelta, TurnAborted, TurnStarted};
use troupe_protocol::item::{AgentMessageItem, TurnItem};
use troupe_protocol::{Event, EventMsg, ItemId, SessionId, SubmissionId};

use super::{EventPublisher, EventStream};
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
    let (publisher, mut stream) = EventPublisher::new();
    let last = EVENT_RING_MAX as u64 + 10;
    publisher.publish((1..=last).map(delta));
    publisher.close();
    assert_eq!(shown(&mut stream).await, texts(last));
}

#[tokio::test]
async fn a_text_whose_end_is_still_in_the_ring_is_whole_for_a_reader_that_fell_behind() {
    let (publisher, mut stream) = EventPublisher::new();
    let last = EVENT_RING_MAX as u64 + 10;
    publisher.publish((1..=last).map(delta));
    publisher.publish([completed(last + 1)]);
    publisher.close();
    assert_eq!(shown(&mut stream).await, texts(last));
}

#[tokio::test]
async fn a_text_that_ended_before_is_not_told_again() {
    let (publisher, mut stream) = EventPublisher::new();
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
async fn kept_after_reading(publisher: &EventPublisher, stream: &mut EventStream) -> usize {
    let read_all = async { while stream.next().await.is_some() {} };
    tokio::select! {
        biased;
        () = read_all => (),
        () = std::future::ready(()) => (),
    }
    publisher.shared.lock().kept()
}

#[tokio::test]
async fn what_was_read_is_kept_during_a_task_only() {
    let (publisher, mut stream) = EventPublisher::new();
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
    let (publisher, stream) = EventPublisher::new();
    publisher.publish([task_started(1)]);
    drop(stream);
    publisher.publish([delta(2), task_ended(3)]);
    assert_eq!(publisher.shared.lock().kept(), 0);
    assert_eq!(publisher.last_seq(), 3);
}

/// Reads what there is now.
async fn ready(stream: &mut EventStream) -> Vec<(u64, Option<bool>)> {
    let mut seen = Vec::new();
    let read_all = async {
        while let Some(event) = stream.next().await {
            let snapshot = match &event.msg {
                EventMsg::AgentMessageContentDelta(delta) => Some(delta.snapshot),
                _ => None,
            };
            seen.push((event.seq, snapshot));
        }
    };
    tokio::select! {
        biased;
        () = read_all => (),
        () = std::future::ready(()) => (),
    }
    seen
}

#[tokio::test]
async fn readers_join_at_any_place_and_keep_their_own() {
    let (publisher, stream) = EventPublisher::new();
    let source = stream.into_source();
    publisher.publish([task_started(1), delta(2), delta(3)]);
    let (mut first, mut second) = (source.after(0), source.after(2));
    assert_eq!(ready(&mut second).await, [(3, Some(false))]);
    assert_eq!(ready(&mut first).await.len(), 3);
    publisher.publish([delta(4)]);
    assert_eq!(ready(&mut first).await, [(4, Some(false))]);
    assert_eq!(ready(&mut second).await, [(4, Some(false))]);
}

#[tokio::test]
async fn what_one_reader_has_not_seen_stays_for_it() {
    let (publisher, stream) = EventPublisher::new();
    let mut slow = EventStream::new(
        std::sync::Arc::clone(&publisher.shared),
        0,
        super::ReaderArrival::Followed,
    );
    let mut quick = stream;
    publisher.publish([task_started(1), delta(2), task_ended(3)]);
    assert_eq!(kept_after_reading(&publisher, &mut quick).await, 3);
    assert_eq!(ready(&mut slow).await.len(), 3);
    assert_eq!(kept_after_reading(&publisher, &mut quick).await, 0);
}

#[tokio::test]
async fn a_task_that_nobody_follows_is_told_to_who_comes_next() {
    let (publisher, stream) = EventPublisher::new();
    let source = stream.into_source();
    publisher.publish([task_started(1), delta(2)]);
    drop(source.after(0));
    publisher.publish([delta(3)]);
    assert_eq!(
        ready(&mut source.after(1)).await,
        [(2, Some(false)), (3, Some(false))]
    );
}

#[tokio::test]
async fn who_was_cut_off_among_snapshots_gets_them_again() {
    let (publisher, stream) = EventPublisher::new();
    let source = stream.into_source();
    let last = EVENT_RING_MAX as u64 + 10;
    publisher.publish((1..=last).map(delta));
    // The number of a snapshot is that of the last event that fell out.
    let mut cut_off = source.after(0);
    let snapshot = cut_off.next().await.map(|event| event.seq);
    assert_eq!(snapshot, Some(10));
    let again = source.after(10).next().await;
    assert!(again.is_some_and(|event| event.seq == 10));
    let after = source.after(11).next().await;
    assert!(after.is_some_and(|event| event.seq == 12));
}

#[tokio::test]
async fn a_reader_that_fell_behind_is_told_so() {
    let (publisher, mut stream) = EventPublisher::new();
    publisher.publish([task_started(1)]);
    assert_eq!(ready(&mut stream).await.len(), 1);
    let last = EVENT_RING_MAX as u64 + 10;
    publisher.publish((2..=last).map(delta));
    let told = stream.next_or_lag().await;
    assert_eq!(
        told,
        Some(super::EventDelivery::Lagged { after: 1, upto: 10 })
    );
}

#[tokio::test]
async fn a_tap_keeps_nothing_but_the_texts_that_are_open() {
    let (publisher, stream) = EventPublisher::new();
    let tap = stream.into_tap();
    publisher.publish([task_started(1), delta(2), delta(3)]);
    assert_eq!(publisher.shared.lock().kept(), 0);
    let mut late = tap.after(tap.last_seq());
    publisher.publish([delta(4)]);
    publisher.close();
    assert_eq!(shown(&mut late).await, "2 3 4 ");
}

#[tokio::test]
async fn a_text_outlives_the_reader_that_has_seen_its_beginning() {
    let (publisher, stream) = EventPublisher::new();
    let tap = stream.into_tap();
    let reader = tap.after(0);
    publisher.publish([task_started(1), delta(2), delta(3)]);
    drop(reader);
    publisher.close();
    assert_eq!(shown(&mut tap.after(3)).await, "2 3 ");
}
