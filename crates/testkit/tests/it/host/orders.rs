//! What the tree asks of a session.

use std::sync::atomic::{AtomicU32, Ordering};

use expect_test::expect;
use troupe_engine::limits::MAILBOX_MAX;
use troupe_engine::{PendingWrite, SessionOrder, StopRequester, WriteBatch};
use troupe_protocol::event::{AbortReason, BackgroundEvent};
use troupe_protocol::input::UserInput;
use troupe_protocol::op::{ConfigureSession, Op, Submission};
use troupe_protocol::result::StopReason;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tree::TreeFact;
use troupe_protocol::{AgentId, EventMsg, SubmissionId};
use troupe_testkit::Actor;

use super::super::fake_host::agent_line;
use super::{HELLO, Tree, approve, asking, lines, message, message_id, start, tree};

#[tokio::test]
async fn what_the_tree_does_not_want_does_not_begin() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    tree.host.refuse();
    tree.host.give(start(1, "gone by now"));
    actor.say("hi").await;
    let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    expect!["error fatal=false the agent takes no input now: it was closed, or is being stopped"]
        .assert_eq(&lines(&msgs));
    tree.host.welcome();
    let msgs = actor.turn("hi").await;
    assert!(lines(&msgs).ends_with("Some(\"one\")"), "{}", lines(&msgs));
}

#[tokio::test]
async fn mail_that_was_taken_back_does_not_prolong_the_task() {
    let (tree, mut actor) = asking().await;
    approve(&mut actor).await;
    // It comes while the model gives the answer that would have been the last.
    actor
        .until(|msg| matches!(msg, EventMsg::AgentMessageContentDelta(_)))
        .await;
    tree.host.refuse();
    tree.host
        .give(SessionOrder::Mail(vec![(message_id(2), message("late"))]));
    actor.until_task_ends().await;
    assert_eq!(tree.stage.requests().len(), 2);
    assert_eq!(tree.host.results()[0].last_message.as_deref(), Some("done"));
}

#[tokio::test]
async fn mail_without_a_task_is_left_in_the_inbox() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    tree.host
        .give(SessionOrder::Mail(vec![(message_id(2), message("early"))]));
    actor.turn("hi").await;
    let sent = serde_json::to_string(&tree.stage.input_of(0)).unwrap();
    assert!(!sent.contains("early"), "{sent}");
}

/// A picture that takes a moment to decode, in a message of another agent's.
fn with_picture(tree: &Tree, order: SessionOrder) -> SessionOrder {
    let large = image::GrayImage::new(4_000, 4_000);
    large.save(tree.stage.cwd().join("large.png")).unwrap();
    let picture = UserInput::LocalImage {
        path: "large.png".into(),
        detail: None,
    };
    match order {
        SessionOrder::Start {
            task,
            message,
            mut mail,
            ahead,
            output_schema,
        } => {
            mail.items.push(picture);
            SessionOrder::Start {
                task,
                message,
                mail,
                ahead,
                output_schema,
            }
        }
        other => panic!("{other:?} brings no message to begin with"),
    }
}

/// The agent hears what comes meanwhile, and mail that comes after the picture is kept in order.
#[tokio::test]
async fn a_picture_of_another_agent_is_decoded_beside_the_session() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    tree.host.give(with_picture(&tree, start(1, "look")));
    tree.host.give(SessionOrder::Mail(vec![(
        message_id(2),
        message("and this"),
    )]));
    let name = "painter".to_owned();
    actor.submit(Op::SetThreadName { name }).await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::ThreadNameUpdated { .. }))
        .await;
    let is_start = |msg: &EventMsg| matches!(msg, EventMsg::TurnStarted(_));
    assert!(!msgs.iter().any(is_start), "{msgs:?}");
    actor.until_task_ends().await;
    let sent = serde_json::to_string(tree.stage.input_of(0).last().unwrap()).unwrap();
    assert!(
        sent.contains("look") && sent.contains("input_image"),
        "{sent}"
    );
    let sent = serde_json::to_string(&tree.stage.input_of(1)).unwrap();
    assert!(sent.contains("and this"), "{sent}");
}

/// A task that is stopped before its picture is decoded is over, and never begins.
#[tokio::test]
async fn a_stop_meets_a_task_whose_picture_is_being_decoded() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    tree.host.give(with_picture(&tree, start(1, "look")));
    tree.host.give(SessionOrder::Abort {
        task: message_id(1).task(),
        reason: AbortReason::Interrupted,
        by: StopRequester::default(),
    });
    tree.host.give(start(2, "next"));
    let msgs = actor.until_task_ends().await;
    assert!(lines(&msgs).ends_with("Some(\"one\")"), "{}", lines(&msgs));
    let sent = serde_json::to_string(&tree.stage.input_of(0)).unwrap();
    assert!(!sent.contains("look") && sent.contains("next"), "{sent}");
    let ends: Vec<StopReason> = tree.host.results().into_iter().map(|it| it.stop).collect();
    assert_eq!(ends, [StopReason::Interrupted, StopReason::Completed]);
}

const STALLING: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "half an answer", unfinished = true }, { end = "stall" }]
[[scene.turn]]
steps = [{ say = "next" }]
"#;

async fn stalled(tree: &Tree) -> Actor {
    let mut actor = tree.stage.start().await;
    tree.host.give(start(1, "go"));
    actor
        .until(|msg| matches!(msg, EventMsg::AgentMessageContentDelta(_)))
        .await;
    actor
}

#[tokio::test]
async fn a_stop_meets_the_task_it_is_for_and_no_other() {
    let tree = tree(STALLING).await;
    let mut actor = stalled(&tree).await;
    let abort = |task: SubmissionId| SessionOrder::Abort {
        task,
        reason: AbortReason::Interrupted,
        by: StopRequester::default(),
    };
    tree.host.give(abort("another".into()));
    // A start while a task runs is nothing either.
    tree.host.give(start(2, "too early"));
    tree.host.give(SessionOrder::Tell(EventMsg::BackgroundEvent(
        BackgroundEvent::default(),
    )));
    actor
        .until(|msg| matches!(msg, EventMsg::BackgroundEvent(_)))
        .await;
    tree.host.give(abort(message_id(1).task()));
    let msgs = actor.until_task_ends().await;
    assert!(
        lines(&msgs).ends_with("error fatal=true interrupted\nturn_aborted Interrupted"),
        "{}",
        lines(&msgs)
    );
    let result = &tree.host.results()[0];
    assert_eq!(result.stop, StopReason::Interrupted);
    assert!(
        result
            .last_message
            .as_deref()
            .is_some_and(|text| text.starts_with("half"))
    );
    tree.check_append(
        "agent ended",
        expect![[r#"
            message "<turn_aborted>"
            agent ended
            error fatal=true interrupted
            turn_aborted Interrupted"#]],
    );
    tree.host.give(start(2, "now"));
    let msgs = actor.until_task_ends().await;
    assert!(lines(&msgs).ends_with("Some(\"next\")"), "{}", lines(&msgs));
}

#[tokio::test]
async fn a_shutdown_ends_the_task_with_a_result() {
    let tree = tree(STALLING).await;
    let actor = stalled(&tree).await;
    actor.shut_down().await;
    assert_eq!(tree.host.results()[0].stop, StopReason::Shutdown);
    assert_eq!(tree.host.fates(), ["start written", "end written"]);
}

#[tokio::test]
async fn the_tree_writes_and_tells_through_the_session() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    let told = |message: &str| {
        EventMsg::BackgroundEvent(BackgroundEvent {
            message: message.to_owned(),
            ..BackgroundEvent::default()
        })
    };
    let shut = TreeFact::Shut {
        agent: AgentId::ROOT,
    };
    let lines = |name: &str| WriteBatch {
        records: vec![agent_line(shut.clone(), None)],
        receipt: Some(tree.host.receipt(name)),
    };
    let parcel = PendingWrite::new(lines("record"));
    let sent = parcel.tracking();
    sent.add(lines("later record")).expect("nobody opened it");
    tree.host.give(SessionOrder::Write(parcel));
    tree.host.give(SessionOrder::Record {
        submission: None,
        events: vec![told("kept")],
    });
    tree.host.give(SessionOrder::Tell(told("only told")));
    tree.host.give(SessionOrder::Operate {
        submission: SubmissionId::from("by-tree"),
        op: Op::SetThreadNote {
            note: " a   note ".to_owned(),
        },
    });
    actor
        .until(|msg| {
            matches!(msg, EventMsg::ThreadNoteUpdated { thread_note: Some(note) } if note == "a note")
        })
        .await;
    let kept = tree.store.appends().concat();
    let is_kept = |message: &str| {
        let event = told(message);
        kept.iter()
            .any(|record| matches!(record, RolloutRecord::EventMsg(kept) if kept.msg == event))
    };
    assert!(is_kept("kept") && !is_kept("only told"));
    let fates = ["record written", "later record written"];
    assert_eq!(tree.host.fates(), fates);
    let is_agent = |record: &RolloutRecord| matches!(record, RolloutRecord::Agent(_));
    let appends = tree.store.appends();
    let together = appends.iter().filter(|append| append.iter().all(is_agent));
    assert_eq!(together.map(Vec::len).collect::<Vec<_>>(), [2]);
    assert!(!sent.is_closed() && sent.take_back().is_none());
    // Who resumes it knows that there are lines of a tree, and the note.
    let session = actor.session_id();
    actor.shut_down().await;
    assert!(!tree.host.give(SessionOrder::Tell(told("too late"))));
    // Lines that a session drops are known to be lost, also to who could take them back.
    let parcel = PendingWrite::new(lines("too late"));
    let sent = parcel.tracking();
    assert!(!tree.host.give(SessionOrder::Write(parcel)));
    assert_eq!(tree.host.fates()[2..], ["too late lost"]);
    assert!(sent.add(WriteBatch::default()).is_err());
    let actor = tree.stage.resume(session).await;
    assert!(
        tree.host
            .told()
            .contains(&"opened has_agents=true".to_owned())
    );
    drop(actor);
}

/// At the session's own end of the wire, because a pipe would take more than the mailbox.
#[tokio::test]
async fn a_full_mailbox_keeps_clients_waiting_and_the_tree_not() {
    let tree = tree(HELLO).await;
    let (handle, mut events) = tree.stage.queue_pair();
    let ids = AtomicU32::new(0);
    let submit = async |op: Op| {
        let id = SubmissionId(ids.fetch_add(1, Ordering::Relaxed).to_string());
        handle.submit(Submission { id, op }).await.unwrap();
    };
    submit(Op::ConfigureSession(ConfigureSession::default())).await;
    let configured = events.next().await.unwrap();
    assert!(matches!(configured.msg, EventMsg::SessionConfigured(_)));
    tree.host.close_doors();
    submit(Op::UserInput {
        items: vec![UserInput::text("hi")],
        final_output_json_schema: None,
        last_response_id: None,
    })
    .await;
    while tree.host.told().len() < 2 {
        tokio::task::yield_now().await;
    }
    let named = |name: usize| Op::SetThreadName {
        name: name.to_string(),
    };
    for name in 0..MAILBOX_MAX {
        submit(named(name)).await;
    }
    tokio::select! {
        biased;
        () = submit(named(MAILBOX_MAX)) => panic!("the mailbox is full"),
        () = std::future::ready(()) => (),
    }
    let told = EventMsg::BackgroundEvent(BackgroundEvent::default());
    assert!(tree.host.give(SessionOrder::Tell(told)));
    tree.host.open_doors();
    let mut names = 0;
    while let Some(event) = events.next().await {
        match &event.msg {
            EventMsg::ThreadNameUpdated { .. } => names += 1,
            EventMsg::BackgroundEvent(_) => break,
            _ => {}
        }
    }
    assert_eq!(names, MAILBOX_MAX, "in the order in which they came");
}

#[tokio::test]
async fn an_abort_of_a_task_that_the_session_does_not_have_is_answered_with_its_end() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    let (task, reason) = (SubmissionId::from("gone"), AbortReason::Interrupted);
    let by = StopRequester::default();
    tree.host.give(SessionOrder::Abort { task, reason, by });
    actor.turn("hi").await;
    let results = tree.host.results();
    assert_eq!(results[0].task_id.as_str(), "gone");
    assert_eq!(results[0].stop, StopReason::Interrupted);
    assert_eq!(tree.host.fates()[0], "end written");
}

fn begins(record: &RolloutRecord) -> bool {
    matches!(record, RolloutRecord::EventMsg(event)
        if matches!(event.msg, EventMsg::TurnStarted(_)))
}

#[tokio::test]
async fn the_tree_hears_of_the_end_of_a_task_whose_beginning_cannot_be_kept() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    tree.store.refuse(begins);
    tree.host.give(start(1, "go"));
    actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    tree.store.heal();
    actor.turn("hi").await;
    let results = tree.host.results();
    assert_eq!(results[0].task_id, message_id(1).task());
    assert!(matches!(results[0].stop, StopReason::Errored { .. }));
    assert_eq!(results[1].stop, StopReason::Completed);
}
