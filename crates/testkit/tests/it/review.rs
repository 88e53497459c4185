//! Corners where two rules meet: what one of them takes for granted, the other changes.

use std::collections::HashSet;

use troupe_engine::{SetupNotice, WindowSettings};
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{AbortReason, SteerReceipt};
use troupe_protocol::input::UserInput;
use troupe_protocol::op::{ConfigureSession, ForkPoint, Op};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::session::TurnOverrides;
use troupe_protocol::{EventMsg, ItemId, ResponseId, SessionId};
use troupe_testkit::{Actor, Stage};

async fn turn_from(actor: &mut Actor, text: &str, bookmark: &str) -> Vec<EventMsg> {
    actor
        .submit(Op::UserInput {
            items: vec![UserInput::text(text)],
            final_output_json_schema: None,
            last_response_id: Some(ResponseId::from(bookmark)),
        })
        .await;
    actor.until_task_ends().await
}

fn fork_of(session_id: SessionId) -> ConfigureSession {
    ConfigureSession {
        fork: Some(ForkPoint {
            session_id,
            last_response_id: None,
            turns: None,
            turn: None,
        }),
        ..ConfigureSession::default()
    }
}

fn rollout_path(actor: &Actor) -> std::path::PathBuf {
    let path = actor
        .seen()
        .iter()
        .rev()
        .find_map(|event| match &event.msg {
            EventMsg::SessionConfigured(configured) => configured.rollout_path.clone(),
            _ => None,
        });
    path.expect("the session is on disk")
}

/// Returns the items that were started and not completed.
fn left_open(msgs: &[EventMsg]) -> HashSet<ItemId> {
    let mut open = HashSet::new();
    for msg in msgs {
        match msg {
            EventMsg::ItemStarted { item, .. } => {
                open.insert(item.id().clone());
            }
            EventMsg::ItemCompleted { item, .. } => {
                open.remove(item.id());
            }
            _ => (),
        }
    }
    open
}

fn total_tokens(msgs: &[EventMsg]) -> u64 {
    let last = msgs.iter().rev().find_map(|msg| match msg {
        EventMsg::TokenCount {
            info: Some(info), ..
        } => Some(info.total_token_usage.total_tokens),
        _ => None,
    });
    last.expect("tokens were counted")
}

#[tokio::test]
async fn a_resumed_bookmark_ends_where_the_live_one_did() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
response_id = "resp_1"
steps = [{ say = "answer one" }, { think = "is there more to say?" }]
[[scene.turn]]
steps = [{ say = "answer two" }]
[[scene.turn]]
steps = [{ say = "answer three" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("question one").await;
    actor.turn("question two").await;
    actor.shut_down().await;

    let mut actor = stage.resume(session).await;
    turn_from(&mut actor, "question three", "resp_1").await;
    let input = serde_json::to_string(&stage.input_of(2)).unwrap();
    assert!(input.contains("answer one"), "{input}");
    assert!(!input.contains("question two"), "{input}");
}

#[tokio::test]
async fn what_was_rolled_back_cannot_be_rolled_back_again() {
    let stage = Stage::new("[[scene]]\n[[scene.turn]]\nsteps = [{ say = \"hi\" }]").await;
    let mut actor = stage.start().await;
    actor.turn("one").await;
    actor.submit(Op::ThreadRollback { num_turns: 1 }).await;
    actor
        .until(|msg| matches!(msg, EventMsg::ThreadRolledBack { .. }))
        .await;
    actor.submit(Op::ThreadRollback { num_turns: 1 }).await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::ThreadRolledBack { .. } | EventMsg::Error(_)))
        .await;
    let Some(EventMsg::Error(error)) = msgs.last() else {
        panic!("there is no turn left: {msgs:?}");
    };
    assert_eq!(error.error_info, Some(ErrorInfo::ThreadRollbackFailed));
}

const COMPACTED_IN_MID_TASK: &str = r#"
[[scene]]
[[scene.turn]]
usage = { input = 9500, output = 100 }
steps = [{ call = "shell_command", arguments = { command = "echo one" } }]
[[scene.turn]]
steps = [{ say = "SUMMARY" }]
[[scene.turn]]
steps = [{ say = "all went well" }]
"#;

fn small_window() -> WindowSettings {
    WindowSettings {
        context_window: Some(10_000),
        auto_compact_token_limit: None,
    }
}

#[tokio::test]
async fn a_crash_after_a_compaction_in_mid_task_is_marked() {
    let stage = Stage::new(COMPACTED_IN_MID_TASK)
        .await
        .window(small_window());
    let mut actor = stage.start().await;
    let session = actor.session_id();
    let task = actor.say("go").await;
    actor.until_task_ends().await;
    let path = rollout_path(&actor);
    actor.shut_down().await;
    let text = std::fs::read_to_string(&path).unwrap();
    let answer = text.find("all went well").unwrap();
    let start_of_line = text[..answer].rfind('\n').unwrap() + 1;
    std::fs::write(&path, &text[..start_of_line]).unwrap();

    let actor = stage.resume(session).await;
    let crashed = actor.seen().iter().any(|event| {
        event.id == task
            && matches!(&event.msg, EventMsg::TurnAborted(aborted) if aborted.reason == AbortReason::Crash)
    });
    assert!(crashed, "{:?}", actor.seen());
}

#[tokio::test]
async fn a_fork_of_a_compacted_session_counts_its_own_tokens_only() {
    let stage = Stage::new(COMPACTED_IN_MID_TASK)
        .await
        .window(small_window());
    let mut actor = stage.start().await;
    actor.turn("go").await;
    let source = actor.session_id();
    let mut fork = stage.start_with(fork_of(source)).await;
    // The fork is a conversation of its own, so it meets the first turn of the screenplay.
    let msgs = fork.turn("and you?").await;
    let first = msgs
        .iter()
        .position(|msg| matches!(msg, EventMsg::TokenCount { .. }));
    assert_eq!(total_tokens(&msgs[..=first.unwrap()]), 9_600);
}

#[tokio::test]
async fn a_message_steered_into_a_compaction_is_delivered() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "one" }]
[[scene.turn]]
steps = [{ pause_ms = 300 }, { say = "SUMMARY" }]
[[scene.turn]]
steps = [{ say = "two" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    actor.turn("first").await;
    actor.submit(Op::Compact).await;
    actor
        .submit(Op::Steer {
            items: vec![UserInput::text("do not forget this")],
            client_id: None,
        })
        .await;
    let msgs = actor.until_task_ends().await;
    let delivered = msgs
        .iter()
        .any(|msg| matches!(msg, EventMsg::SteerReceipt(SteerReceipt::Delivered { .. })));
    assert!(delivered, "{msgs:?}");
    let input = serde_json::to_string(&stage.input_of(2)).unwrap();
    assert!(input.contains("do not forget this"), "{input}");
}

#[tokio::test]
async fn a_steered_message_that_a_stop_leaves_behind_is_told() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "one two" }, { end = "stall" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    actor.say("first").await;
    let steer = actor
        .submit(Op::Steer {
            items: vec![UserInput::text("and this")],
            client_id: None,
        })
        .await;
    actor
        .until(|msg| matches!(msg, EventMsg::SteerReceipt(_)))
        .await;
    actor.submit(Op::Interrupt).await;
    let msgs = actor.until_task_ends().await;
    let [.., EventMsg::Error(error), EventMsg::TurnAborted(_)] = &msgs[..] else {
        panic!("the error comes directly before the end: {msgs:?}");
    };
    assert_eq!(error.message, "interrupted");
    let told = actor.seen().iter().any(|event| {
        event.id == steer && matches!(&event.msg, EventMsg::Error(error) if !error.fatal)
    });
    assert!(told, "{msgs:?}");
}

#[tokio::test]
async fn a_response_that_grows_too_long_leaves_no_item_open() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "well" }]
[[scene.turn]]
steps = [
    { say = "half an", unfinished = true },
    { end = "failed", code = "context_length_exceeded", message = "too long" },
]
[[scene.turn]]
steps = [{ say = "SUMMARY" }]
[[scene.turn]]
steps = [{ say = "whole" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    actor.turn("how are you?").await;
    let msgs = actor.turn("hello").await;
    assert!(
        matches!(msgs.last(), Some(EventMsg::TurnComplete(_))),
        "{msgs:?}"
    );
    assert_eq!(left_open(&msgs), HashSet::new(), "{msgs:?}");
}

const TOO_LONG: &str =
    r#"[{ status = 400, code = "context_length_exceeded", message = "too long" }]"#;

#[tokio::test]
async fn half_a_history_answers_no_call_that_was_left_out() {
    let stage = Stage::new(&format!(
        r#"
[[scene]]
[[scene.turn]]
steps = [
    {{ call = "shell_command", call_id = "a", arguments = {{ command = "echo one" }} }},
    {{ call = "shell_command", call_id = "b", arguments = {{ command = "echo two" }} }},
]
[[scene.turn]]
steps = {TOO_LONG}
[[scene.turn]]
steps = {TOO_LONG}
[[scene.turn]]
steps = [{{ say = "SUMMARY" }}]
[[scene.turn]]
steps = [{{ say = "done" }}]
"#
    ))
    .await;
    let mut actor = stage.start().await;
    let msgs = actor.turn("hello").await;
    let warned = |msg: &EventMsg| matches!(msg, EventMsg::Warning { message } if message.contains("left out"));
    assert!(msgs.iter().any(warned), "{msgs:?}");
    let input = stage.input_of(3);
    let ids = |kind: &str| -> Vec<String> {
        let items = input.iter().filter(|item| item["type"] == kind);
        items.map(|item| item["call_id"].to_string()).collect()
    };
    assert_eq!(
        ids("function_call"),
        ids("function_call_output"),
        "{input:?}"
    );
}

#[tokio::test]
async fn a_history_of_which_nothing_fits_is_kept() {
    let stage = Stage::new(&format!(
        "[[scene]]\n{}",
        format!("[[scene.turn]]\nsteps = {TOO_LONG}\n").repeat(8)
    ))
    .await;
    let mut actor = stage.start().await;
    let msgs = actor.turn("hello").await;
    let [.., EventMsg::Error(error), EventMsg::TurnAborted(_)] = &msgs[..] else {
        panic!("the task ends with an error: {msgs:?}");
    };
    assert_eq!(error.error_info, Some(ErrorInfo::ContextWindowExceeded));
    let requests = stage.requests().len();
    for n in 0..requests {
        let input = serde_json::to_string(&stage.input_of(n)).unwrap();
        assert!(input.contains("hello"), "nothing is summed up: {input}");
    }
}

#[tokio::test]
async fn what_a_compaction_keeps_leaves_room_in_a_small_window() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
usage = { input = 9500, output = 100 }
steps = [{ say = "read" }]
[[scene.turn]]
steps = [{ say = "SUMMARY" }]
[[scene.turn]]
steps = [{ say = "fits" }]
"#,
    )
    .await
    .window(small_window());
    let mut actor = stage.start().await;
    actor.turn(&"word ".repeat(7_000)).await;
    let msgs = actor.turn("go on").await;
    assert!(
        matches!(msgs.last(), Some(EventMsg::TurnComplete(_))),
        "{msgs:?}"
    );
    let sent = serde_json::to_string(&stage.input_of(2)).unwrap();
    assert!(sent.len() / 4 < 9_000, "{} bytes", sent.len());
}

#[tokio::test]
async fn an_interrupt_ends_what_goes_on_in_the_background() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "exec_command", arguments = { cmd = "echo $$ > pid; exec sleep 600", yield_time_ms = 250 } }]
[[scene.turn]]
steps = [{ say = "it runs" }, { end = "stall" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    actor.say("start the server").await;
    actor
        .until(|msg| matches!(msg, EventMsg::AgentMessageContentDelta(_)))
        .await;
    let pid = stage.read("pid");
    let proc = std::path::Path::new("/proc").join(pid.trim());
    assert!(proc.exists(), "it goes on after its call");
    actor.submit(Op::Interrupt).await;
    actor.until_task_ends().await;
    let state = std::fs::read_to_string(proc.join("stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
}

#[tokio::test]
async fn a_call_id_that_a_later_answer_uses_again_is_told_apart() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", call_id = "same", arguments = { command = "echo one" } }]
[[scene.turn]]
steps = [{ call = "shell_command", call_id = "same", arguments = { command = "echo two" } }]
[[scene.turn]]
steps = [{ say = "done" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    actor.turn("go").await;
    let input = stage.input_of(2);
    let ids: Vec<&str> = input
        .iter()
        .filter_map(|item| item["call_id"].as_str())
        .collect();
    assert_eq!(ids, ["same", "same", "same_2", "same_2"]);
}

#[tokio::test]
async fn an_image_that_never_ends_is_refused() {
    let stage = Stage::new("[[scene]]\n[[scene.turn]]\nsteps = [{ say = \"hi\" }]").await;
    let mut actor = stage.start().await;
    actor
        .submit(Op::UserInput {
            items: vec![UserInput::LocalImage {
                path: "/dev/zero".into(),
                detail: None,
            }],
            final_output_json_schema: None,
            last_response_id: None,
        })
        .await;
    let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    let Some(EventMsg::Error(error)) = msgs.last() else {
        panic!("until returns the event it waited for");
    };
    assert_eq!(error.error_info, Some(ErrorInfo::InvalidSubmission));
}

#[tokio::test]
async fn warnings_of_the_configuration_are_told_however_a_session_is_opened() {
    let stage = Stage::new("[[scene]]\n[[scene.turn]]\nsteps = [{ say = \"hi\" }]")
        .await
        .notice(SetupNotice::Warning("the key is old".to_owned()));
    let mut actor = stage.start().await;
    let session = actor.session_id();
    let is_it = |msg: &EventMsg| matches!(msg, EventMsg::Warning { message } if message == "the key is old");
    actor.until(is_it).await;
    actor
        .submit(Op::ConfigureSession(ConfigureSession::default()))
        .await;
    actor
        .until(|msg| matches!(msg, EventMsg::SessionConfigured(_)))
        .await;
    actor.until(is_it).await;
    let mut fork = stage.start_with(fork_of(session)).await;
    fork.until(is_it).await;
    actor.shut_down().await;
    let mut resumed = stage.resume(session).await;
    resumed.until(is_it).await;
}

#[tokio::test]
async fn settings_that_change_in_mid_task_hold_from_the_next_one() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "while ! test -e go; do sleep 0.01; done" } }]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch here" } }]
[[scene.turn]]
steps = [{ say = "done" }]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "touch there" } }]
[[scene.turn]]
steps = [{ say = "done" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    let elsewhere = stage.cwd().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    actor.say("one").await;
    actor
        .until(|msg| matches!(msg, EventMsg::ExecCommandBegin(_)))
        .await;
    actor
        .submit(Op::OverrideTurnContext {
            overrides: TurnOverrides {
                cwd: Some(elsewhere.clone()),
                model: Some("scripted-2".to_owned()),
                ..TurnOverrides::default()
            },
        })
        .await;
    actor
        .until(|msg| matches!(msg, EventMsg::TurnContextUpdated(_)))
        .await;
    stage.write("go", "");
    actor.until_task_ends().await;
    assert!(
        stage.cwd().join("here").exists(),
        "where the model was told"
    );
    actor.turn("two").await;
    assert!(elsewhere.join("there").exists());
    let model = |n: usize| {
        let body: serde_json::Value = serde_json::from_slice(&stage.requests()[n].body).unwrap();
        body["model"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        (model(2).as_str(), model(3).as_str()),
        ("scripted-1", "scripted-2")
    );
}

#[tokio::test]
async fn a_reader_that_fell_behind_is_told_of_its_own_queue_only() {
    let words: Vec<String> = (0..9_000).map(|number| format!("x{number} ")).collect();
    let words = words.concat();
    let stage = Stage::new(&format!(
        r#"
[[scene]]
[[scene.turn]]
steps = [{{ say = "old" }}]
[[scene.turn]]
steps = [{{ say = "{words}" }}]
"#
    ))
    .await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("one").await;
    let last = actor.seen().last().unwrap().seq;
    actor.shut_down().await;

    let mut actor = stage.enter();
    actor
        .submit(Op::ConfigureSession(ConfigureSession {
            resume: Some(session),
            ..ConfigureSession::default()
        }))
        .await;
    actor.say("two").await;
    let store = stage.store();
    let ends = async || {
        let live = store.read_live(session).await.unwrap();
        let is_end = |record: &RolloutRecord| matches!(record, RolloutRecord::EventMsg(event) if matches!(event.msg, EventMsg::TurnComplete(_)));
        live.records
            .iter()
            .filter(|(_, line)| is_end(&line.record))
            .count()
    };
    while ends().await < 2 {
        tokio::task::yield_now().await;
    }
    let msgs = actor.until_task_ends().await;
    assert!(
        actor.seen().iter().all(|event| event.seq > last),
        "told before"
    );
    assert!(actor.seen().is_sorted_by_key(|event| event.seq));
    assert!(
        matches!(msgs[0], EventMsg::SessionConfigured(_)),
        "{:?}",
        msgs[0]
    );
    let mut text = String::new();
    for msg in &msgs {
        if let EventMsg::AgentMessageContentDelta(delta) = msg {
            if delta.snapshot {
                text.clear();
            }
            text.push_str(&delta.delta);
        }
    }
    assert_eq!(text.len(), words.len());
}

#[tokio::test]
async fn a_provider_that_keeps_state_is_sent_what_it_does_not_have() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
response_id = "resp_1"
steps = [{ call = "shell_command", call_id = "a", arguments = { command = "echo one" } }]
[[scene.turn]]
response_id = "resp_2"
steps = []
[[scene.turn]]
steps = [{ say = "done" }]
"#,
    )
    .await
    .stateful();
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("go").await;
    actor.shut_down().await;
    let mut actor = stage.resume(session).await;
    actor.turn("and on").await;
    let sent = |n: usize| {
        let body: serde_json::Value = serde_json::from_slice(&stage.requests()[n].body).unwrap();
        let kinds: Vec<String> = stage
            .input_of(n)
            .iter()
            .map(|item| item["type"].as_str().unwrap().to_owned())
            .collect();
        (
            body["previous_response_id"].as_str().map(str::to_owned),
            kinds,
        )
    };
    let (previous, kinds) = sent(1);
    assert_eq!(previous.as_deref(), Some("resp_1"));
    assert_eq!(kinds, ["function_call_output"]);
    let (previous, kinds) = sent(2);
    assert_eq!(previous.as_deref(), Some("resp_2"));
    assert_eq!(kinds, ["message"]);
}
