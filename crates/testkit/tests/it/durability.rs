//! What is on disk, and what is made of it.

use std::io::Write as _;

use troupe_protocol::EventMsg;
use troupe_protocol::event::AbortReason;
use troupe_protocol::op::{ConfigureSession, Op};
use troupe_testkit::{Actor, Stage};

const THREE: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo output of the command" } }]
[[scene.turn]]
steps = [{ say = "answer one" }]
[[scene.turn]]
steps = [{ say = "answer two" }]
"#;

const TWO_CALLS: &str = r#"
[[scene]]
[[scene.turn]]
steps = [
  { call = "shell_command", arguments = { command = "echo first" } },
  { call = "update_plan", arguments = { plan = [{ step = "look", status = "pending" }] } },
]
[[scene.turn]]
steps = [{ call = "update_plan", arguments = { plan = [{ step = "look", status = "completed" }] } }]
[[scene.turn]]
steps = [{ say = "answer one" }]
[[scene.turn]]
steps = [{ say = "answer two" }]
"#;

fn rollout_path(actor: &Actor) -> std::path::PathBuf {
    let configured = actor
        .seen()
        .iter()
        .rev()
        .find_map(|event| match &event.msg {
            EventMsg::SessionConfigured(configured) => configured.rollout_path.clone(),
            _ => None,
        });
    configured.expect("the session is on disk")
}

#[tokio::test]
async fn a_resumed_session_knows_what_was_said_and_done() {
    let stage = Stage::new(THREE).await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("one").await;
    let last_seq = actor.seen().last().unwrap().seq;
    actor
        .submit(Op::SetThreadName {
            name: "my  work".to_owned(),
        })
        .await;
    actor
        .until(|msg| matches!(msg, EventMsg::ThreadNameUpdated { .. }))
        .await;
    actor.shut_down().await;

    let mut actor = stage.resume(session).await;
    let configured = actor.seen().last().unwrap();
    assert!(configured.seq > last_seq, "a number is never used again");
    let EventMsg::SessionConfigured(configured) = &configured.msg else {
        panic!("the last event is session_configured");
    };
    assert_eq!(configured.thread_name.as_deref(), Some("my work"));
    actor.turn("two").await;
    let input = serde_json::to_string(&stage.input_of(2)).unwrap();
    for part in ["one", "output of the command", "answer one", "two"] {
        assert!(input.contains(part), "{part} is missing: {input}");
    }
    assert_eq!(input.matches("<environment_context>").count(), 1, "{input}");
}

#[tokio::test]
async fn a_session_belongs_to_one_at_a_time() {
    let stage = Stage::new(THREE).await;
    let mut owner = stage.start().await;
    owner.turn("one").await;
    let mut other = stage.enter();
    other
        .submit(Op::ConfigureSession(ConfigureSession {
            resume: Some(owner.session_id()),
            ..ConfigureSession::default()
        }))
        .await;
    let msgs = other.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    let Some(EventMsg::Error(error)) = msgs.last() else {
        panic!("until returns the event it waited for");
    };
    assert!(error.message.contains("in use"), "{}", error.message);
    let msgs = owner.turn("two").await;
    assert!(matches!(msgs.last(), Some(EventMsg::TurnComplete(_))));
}

/// Cuts the log at every line of a task and resumes: the history is valid each time.
#[tokio::test]
async fn a_log_that_ends_anywhere_gives_a_valid_request() {
    let stage = Stage::new(THREE).await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("one").await;
    let path = rollout_path(&actor);
    actor.shut_down().await;
    let whole = std::fs::read(&path).unwrap();
    let ends: Vec<usize> = whole
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(index, _)| index + 1)
        .collect();
    for (nth, &end) in ends.iter().enumerate() {
        // Every second time the next line is torn in the middle.
        let torn = if nth % 2 == 0 { 0 } else { 9 };
        let cut = (end + torn).min(whole.len());
        std::fs::write(&path, &whole[..cut]).unwrap();
        let before = stage.requests().len();
        let mut actor = stage.resume(session).await;
        actor.say("and now?").await;
        actor
            .until(|msg| matches!(msg, EventMsg::TurnComplete(_) | EventMsg::Error(_)))
            .await;
        let input = stage.input_of(before);
        let ids = |kind: &str| -> Vec<String> {
            let items = input.iter().filter(|item| item["type"] == kind);
            items.map(|item| item["call_id"].to_string()).collect()
        };
        assert_eq!(
            ids("function_call"),
            ids("function_call_output"),
            "cut at {cut}"
        );
        actor.shut_down().await;
    }
}

/// Destroys each line of a log by itself and resumes: every call has its answer, directly behind
/// the calls of its response, and no answer is without a call.
#[tokio::test]
async fn a_log_without_any_one_line_gives_a_valid_request() {
    let stage = Stage::new(TWO_CALLS).await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("one").await;
    actor.turn("two").await;
    let path = rollout_path(&actor);
    actor.shut_down().await;
    let whole = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    for lost in 1..lines.len() {
        let mut damaged = lines.clone();
        damaged[lost] = "{not json";
        std::fs::write(&path, damaged.join("\n") + "\n").unwrap();
        // Twice, because what the first time wrote must not disturb the second.
        for _ in 0..2 {
            let before = stage.requests().len();
            let mut actor = stage.resume(session).await;
            actor.say("and now?").await;
            actor
                .until(|msg| matches!(msg, EventMsg::TurnComplete(_) | EventMsg::Error(_)))
                .await;
            actor.shut_down().await;
            let input = stage.input_of(before);
            assert_valid(&input, lines[lost]);
            let text = serde_json::to_string(&input).unwrap();
            assert!(!text.contains("the engine stopped"), "{}", lines[lost]);
        }
    }
}

/// Repeats lines of a log, one, a few and all that follow, and resumes: nothing is sent twice.
#[tokio::test]
async fn a_log_that_has_lines_twice_gives_the_same_request() {
    let stage = Stage::new(TWO_CALLS).await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("one").await;
    actor.turn("one").await;
    let path = rollout_path(&actor);
    actor.shut_down().await;
    let whole = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let mut undamaged = Vec::new();
    let resumed = async |log: String| {
        std::fs::write(&path, log).unwrap();
        let before = stage.requests().len();
        let mut actor = stage.resume(session).await;
        actor.say("and now?").await;
        actor
            .until(|msg| matches!(msg, EventMsg::TurnComplete(_) | EventMsg::Error(_)))
            .await;
        let is_told = actor.seen().iter().any(|event| {
            matches!(&event.msg, EventMsg::Warning { message } if message.contains("lines twice"))
        });
        actor.shut_down().await;
        (stage.input_of(before), is_told)
    };
    let (input, is_told) = resumed(whole.clone()).await;
    assert!(!is_told, "people may say the same thing twice");
    assert_eq!(
        input
            .iter()
            .filter(|item| item.to_string().contains("\"one\""))
            .count(),
        2
    );
    undamaged.extend(input);
    for start in 1..lines.len() {
        for count in [1, 3, lines.len()] {
            let end = (start + count).min(lines.len());
            let (before, after) = (&lines[..end], &lines[end..]);
            let twice = [before, &lines[start..end], after].concat();
            let (input, is_told) = resumed(twice.join("\n") + "\n").await;
            assert_eq!(input, undamaged, "{start}..{end}: {}", lines[start]);
            assert!(is_told || count == 1, "{start}..{end}: {}", lines[start]);
        }
    }
}

/// Whoever writes the lines anew may give them another time.
#[tokio::test]
async fn lines_that_stand_twice_with_another_time_are_sent_once() {
    let stage = Stage::new(TWO_CALLS).await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("one").await;
    actor.turn("one").await;
    let path = rollout_path(&actor);
    actor.shut_down().await;
    let whole = std::fs::read_to_string(&path).unwrap();
    let mut requests = Vec::new();
    let twice = whole.lines().flat_map(|line| {
        let mut copy: serde_json::Value = serde_json::from_str(line).unwrap();
        let is_item = copy["type"] == "response_item";
        copy["timestamp"] = "2036-11-19T23:59:59.000Z".into();
        let copy = is_item.then(|| copy.to_string());
        std::iter::once(line.to_owned()).chain(copy)
    });
    let twice = twice.collect::<Vec<_>>().join("\n") + "\n";
    for log in [whole.clone(), twice] {
        std::fs::write(&path, log).unwrap();
        let before = stage.requests().len();
        let mut actor = stage.resume(session).await;
        actor.say("and now?").await;
        actor
            .until(|msg| matches!(msg, EventMsg::TurnComplete(_) | EventMsg::Error(_)))
            .await;
        actor.shut_down().await;
        requests.push(stage.input_of(before));
    }
    assert_eq!(requests[0], requests[1]);
}

/// A request in which only answers follow calls until each has its own.
fn assert_valid(input: &[serde_json::Value], lost: &str) {
    let mut open: Vec<String> = Vec::new();
    let mut answering = false;
    for item in input {
        let call = item["call_id"].to_string();
        match item["type"].as_str() {
            Some("function_call") => {
                assert!(!answering || open.is_empty(), "without {lost}: {input:?}");
                answering = false;
                open.push(call);
            }
            Some("function_call_output") => {
                let known = open.iter().position(|open| *open == call);
                open.remove(known.unwrap_or_else(|| panic!("without {lost}: {input:?}")));
                answering = true;
            }
            _ if item["role"] == "assistant" && !answering => {}
            _ => assert!(open.is_empty(), "without {lost}: {input:?}"),
        }
    }
    assert!(open.is_empty(), "without {lost}: {input:?}");
}

#[tokio::test]
async fn a_task_that_the_engine_did_not_survive_is_marked() {
    let stage = Stage::new(THREE).await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("one").await;
    let path = rollout_path(&actor);
    actor.shut_down().await;
    let text = std::fs::read_to_string(&path).unwrap();
    let cut = text.find("\"type\":\"function_call_output\"").unwrap();
    let start_of_line = text[..cut].rfind('\n').unwrap() + 1;
    std::fs::write(&path, &text[..start_of_line]).unwrap();

    let mut actor = stage.enter();
    actor
        .submit(Op::ConfigureSession(ConfigureSession {
            resume: Some(session),
            ..ConfigureSession::default()
        }))
        .await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::SessionConfigured(_)))
        .await;
    let crashed = msgs.iter().any(
        |msg| matches!(msg, EventMsg::TurnAborted(aborted) if aborted.reason == AbortReason::Crash),
    );
    assert!(crashed, "{msgs:?}");

    // The command had ended and its item was recorded: the model is told what it printed.
    actor.turn("and?").await;
    let input = serde_json::to_string(&stage.input_of(2)).unwrap();
    assert!(input.contains("Exit code: 0"), "{input}");
}

#[tokio::test]
async fn an_unreadable_line_is_told_and_skipped() {
    let stage = Stage::new(THREE).await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("one").await;
    let path = rollout_path(&actor);
    actor.shut_down().await;
    let mut text = std::fs::read_to_string(&path).unwrap();
    let middle = text[..text.len() / 2].rfind('\n').unwrap() + 1;
    text.insert_str(middle, "this is not a line of ours\n");
    std::fs::File::create(&path)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let mut actor = stage.resume(session).await;
    let msgs = actor.turn("two").await;
    assert!(
        matches!(msgs.last(), Some(EventMsg::TurnComplete(_))),
        "{msgs:?}"
    );
    let warned = actor
        .seen()
        .iter()
        .any(|event| matches!(&event.msg, EventMsg::Warning { message } if message.contains("byte") || message.contains("line")));
    assert!(warned, "{:?}", actor.seen());
}
