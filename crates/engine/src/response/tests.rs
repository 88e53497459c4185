use expect_test::{Expect, expect};
use troupe_protocol::{ItemId, SessionId};

use super::*;

mod plan_mode;

fn response_in(mode: CollaborationMode, ids: IdSource) -> IncomingResponse {
    IncomingResponse::new(SessionId(uuid::Uuid::nil()), "t1".into(), mode, ids)
}

fn check(events: Vec<ModelEvent>, expected: &Expect) {
    check_in(CollaborationMode::Default, events, expected);
}

/// Plays events into a response and shows what is said, then what remains of it.
fn check_in(mode: CollaborationMode, events: Vec<ModelEvent>, expected: &Expect) {
    let counter = std::sync::atomic::AtomicU64::new(1);
    let ids = IdSource::new(move || {
        let n = counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        uuid::Uuid::from_u64_pair(0, n)
    });
    let mut response = response_in(mode, ids);
    let mut said = Vec::new();
    for event in events {
        match event {
            ModelEvent::Retrying { .. } => response.restart(&mut said),
            event => response.apply(event, &mut said),
        }
    }
    let mut lines = Vec::new();
    for said in said {
        lines.push(match said {
            ResponseUpdate::Started(item) => format!("started {}", short(item.id())),
            ResponseUpdate::Delta(
                EventMsg::AgentMessageContentDelta(delta) | EventMsg::PlanDelta(delta),
            ) => {
                format!(
                    "{} {}{:?}",
                    short(&delta.item_id),
                    if delta.snapshot { "= " } else { "+ " },
                    delta.delta
                )
            }
            ResponseUpdate::Delta(EventMsg::ReasoningContentDelta(delta)) => {
                format!("{} ~ {:?}", short(&delta.item_id), delta.delta)
            }
            ResponseUpdate::Delta(other) => format!("{other:?}"),
        });
    }
    let finished = response.finish();
    for item in &finished.items {
        match item {
            TurnItem::AgentMessage(item) => {
                lines.push(format!("completed {} {:?}", short(&item.id), item.text));
            }
            TurnItem::Plan(item) => {
                lines.push(format!("completed {} {:?}", short(&item.id), item.text));
            }
            TurnItem::Reasoning(item) => lines.push(format!(
                "completed {} {:?}",
                short(&item.id),
                item.summary_text
            )),
            other => lines.push(format!("{other:?}")),
        }
    }
    lines.push(format!("{} items of history", finished.history.len()));
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

fn short(id: &ItemId) -> String {
    let (prefix, number) = id.as_str().split_once('_').expect("ids have a prefix");
    format!("{prefix}_{}", number.trim_start_matches('0'))
}

fn start(id: &str) -> ModelEvent {
    ModelEvent::ItemStarted {
        item_id: id.to_owned(),
        kind: ItemKind::Message,
    }
}

fn text(id: &str, delta: &str) -> ModelEvent {
    ModelEvent::TextDelta {
        item_id: id.to_owned(),
        delta: delta.to_owned(),
    }
}

fn done(id: &str, text: &str) -> ModelEvent {
    ModelEvent::ItemDone {
        item_id: id.to_owned(),
        item: ResponseItem::assistant_text(text),
    }
}

fn retry() -> ModelEvent {
    ModelEvent::Retrying {
        attempt: 1,
        attempts_max: 5,
        delay_ms: 1,
        error: troupe_model::ModelError::new(
            troupe_model::ModelErrorKind::StreamDisconnected,
            "dropped",
        ),
    }
}

#[test]
fn a_message_is_streamed_and_completed() {
    check(
        vec![
            start("a"),
            text("a", "Hel"),
            text("a", "lo"),
            done("a", "Hello"),
        ],
        &expect![[r#"
            started msg_1
            msg_1 + "Hel"
            msg_1 + "lo"
            completed msg_1 "Hello"
            1 items of history
        "#]],
    );
}

#[test]
fn the_completed_text_wins_over_the_deltas() {
    check(
        vec![start("a"), text("a", "Hxllo"), done("a", "Hello")],
        &expect![[r#"
            started msg_1
            msg_1 + "Hxllo"
            completed msg_1 "Hello"
            1 items of history
        "#]],
    );
}

#[test]
fn a_retry_resets_what_was_shown_and_fills_the_same_item() {
    check(
        vec![
            start("a"),
            text("a", "Half a sen"),
            retry(),
            start("b"),
            text("b", "A whole sentence."),
            done("b", "A whole sentence."),
        ],
        &expect![[r#"
            started msg_1
            msg_1 + "Half a sen"
            msg_1 = ""
            msg_1 + "A whole sentence."
            completed msg_1 "A whole sentence."
            1 items of history
        "#]],
    );
}

#[test]
fn an_item_that_a_retry_does_not_bring_back_is_completed_empty() {
    check(
        vec![
            start("a"),
            text("a", "one"),
            done("a", "one"),
            start("b"),
            text("b", "two"),
            retry(),
            start("c"),
            done("c", "one"),
        ],
        &expect![[r#"
            started msg_1
            msg_1 + "one"
            started msg_2
            msg_2 + "two"
            msg_1 = ""
            msg_2 = ""
            completed msg_1 "one"
            completed msg_2 ""
            1 items of history
        "#]],
    );
}

#[test]
fn a_delta_without_a_start_opens_its_item() {
    check(
        vec![text("a", "hi"), done("a", "hi")],
        &expect![[r#"
            started msg_1
            msg_1 + "hi"
            completed msg_1 "hi"
            1 items of history
        "#]],
    );
}

#[test]
fn a_delta_after_the_end_of_its_item_is_dropped() {
    check(
        vec![start("a"), done("a", "hi"), text("a", " there")],
        &expect![[r#"
            started msg_1
            completed msg_1 "hi"
            1 items of history
        "#]],
    );
}

#[test]
fn reasoning_parts_are_kept_apart() {
    let part = |index, delta: &str| ModelEvent::ReasoningSummaryDelta {
        item_id: "r".to_owned(),
        summary_index: index,
        delta: delta.to_owned(),
    };
    check(
        vec![part(0, "first"), part(1, "second"), part(7, "third")],
        &expect![[r#"
            started rs_1
            rs_1 ~ "first"
            rs_1 ~ "second"
            rs_1 ~ "third"
            completed rs_1 ["first", "second", "third"]
            0 items of history
        "#]],
    );
}

#[test]
fn a_call_is_history_but_not_shown() {
    check(
        vec![ModelEvent::ItemDone {
            item_id: "c".to_owned(),
            item: ResponseItem::FunctionCall {
                id: None,
                name: "read_file".to_owned(),
                arguments: "{}".to_owned(),
                call_id: "call_1".into(),
            },
        }],
        &expect![[r#"
            1 items of history
        "#]],
    );
}

#[test]
fn an_abandoned_response_keeps_what_was_read_and_drops_calls() {
    let mut response = response_in(CollaborationMode::Default, IdSource::random());
    let mut said = Vec::new();
    response.apply(text("a", "I will"), &mut said);
    response.apply(
        ModelEvent::ItemDone {
            item_id: "c".to_owned(),
            item: ResponseItem::FunctionCall {
                id: None,
                name: "shell_command".to_owned(),
                arguments: "{}".to_owned(),
                call_id: "call_1".into(),
            },
        },
        &mut said,
    );
    assert_eq!(
        response.abandon().history,
        vec![ResponseItem::assistant_text("I will")]
    );
}
