//! The rules of tasks and turns.

use expect_test::expect;
use troupe_protocol::EventMsg;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::AbortReason;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::{ConfigureSession, Op};
use troupe_protocol::session::TurnOverrides;
use troupe_testkit::{Stage, line};

fn lines(msgs: &[EventMsg]) -> String {
    let lines: Vec<String> = msgs.iter().map(line).collect();
    lines.join("\n")
}

const HELLO: &str = r#"
[[scene]]
[[scene.turn]]
response_id = "resp_1"
steps = [{ say = "hello there" }]
[[scene.turn]]
response_id = "resp_2"
steps = [{ say = "hello again" }]
"#;

#[tokio::test]
async fn an_answer_without_calls_is_one_turn() {
    let stage = Stage::new(HELLO).await;
    let mut actor = stage.start().await;
    let msgs = actor.turn("hi").await;
    expect![[r#"
        task_started
        item_started UserMessage
        item_completed UserMessage
        user_message "hi"
        item_started AgentMessage ""
        agent_message_content_delta "hello "
        agent_message_content_delta "there"
        item_completed AgentMessage "hello there"
        agent_message "hello there"
        token_count
        response_completed resp_1
        task_complete Some("resp_1") Some("hello there")"#]]
    .assert_eq(&lines(&msgs));
}

#[tokio::test]
async fn sequence_numbers_grow_by_one() {
    let stage = Stage::new(HELLO).await;
    let mut actor = stage.start().await;
    actor.turn("hi").await;
    actor.turn("hi").await;
    let seqs: Vec<u64> = actor.seen().iter().map(|event| event.seq).collect();
    let expected: Vec<u64> = (1..=seqs.len() as u64).collect();
    assert_eq!(seqs, expected);
}

#[tokio::test]
async fn nothing_is_done_before_configure_session() {
    let stage = Stage::new(HELLO).await;
    let mut actor = stage.enter();
    let id = actor.say("hi").await;
    actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    let event = actor.seen().last().unwrap();
    assert_eq!(event.id, id);
    let EventMsg::Error(error) = &event.msg else {
        panic!("until returns the event it waited for");
    };
    assert!(!error.fatal);
    assert_eq!(error.error_info, Some(ErrorInfo::InvalidSubmission));
    assert!(
        error.message.contains("configure_session"),
        "{}",
        error.message
    );
}

const SLOW: &str = r#"
[[scene]]
[[scene.turn]]
response_id = "resp_1"
steps = [{ say = "one two three" }, { end = "stall" }]
[[scene.turn]]
response_id = "resp_2"
steps = [{ say = "second answer" }]
"#;

#[tokio::test]
async fn new_input_aborts_the_running_task_and_takes_its_place() {
    let stage = Stage::new(SLOW).await;
    let mut actor = stage.start().await;
    let first = actor.say("first").await;
    actor
        .until(|msg| matches!(msg, EventMsg::AgentMessageContentDelta(_)))
        .await;
    let second = actor.say("second").await;
    let msgs = actor.until_task_ends().await;
    let Some(EventMsg::TurnAborted(aborted)) = msgs.last() else {
        panic!("the first task ends first: {}", lines(&msgs));
    };
    assert_eq!(
        (&aborted.turn_id, aborted.reason),
        (&first, AbortReason::Replaced)
    );
    let msgs = actor.until_task_ends().await;
    let Some(EventMsg::TurnComplete(done)) = msgs.last() else {
        panic!("the second task completes: {}", lines(&msgs));
    };
    assert_eq!(done.turn_id, second);
    assert_eq!(done.last_agent_message.as_deref(), Some("second answer"));
    // What the user had read of the first answer is part of the second request.
    let input = serde_json::to_string(&stage.input_of(1)).unwrap();
    assert!(input.contains("one"), "{input}");
}

#[tokio::test]
async fn bad_input_aborts_nothing() {
    let stage = Stage::new(SLOW).await;
    let mut actor = stage.start().await;
    actor.say("first").await;
    actor
        .until(|msg| matches!(msg, EventMsg::AgentMessageContentDelta(_)))
        .await;
    for bad in [
        vec![],
        vec![UserInput::LocalImage {
            path: "/no/such/image.png".into(),
            detail: None,
        }],
        vec![UserInput::text("x".repeat(1_048_577))],
    ] {
        actor
            .submit(Op::UserInput {
                items: bad,
                final_output_json_schema: None,
                last_response_id: None,
            })
            .await;
        let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
        assert!(
            !msgs
                .iter()
                .any(|msg| matches!(msg, EventMsg::TurnAborted(_))),
            "{}",
            lines(&msgs)
        );
    }
    actor.submit(Op::Interrupt).await;
    actor.until_task_ends().await;
}

#[tokio::test]
async fn an_interrupt_says_so_and_answers_every_open_call() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [
    { call = "shell_command", arguments = { command = "echo up; sleep 600" } },
    { call = "shell_command", arguments = { command = "sleep 601" } },
]
[[scene.turn]]
steps = [{ say = "what now?" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    actor
        .until(|msg| matches!(msg, EventMsg::ExecCommandOutputDelta(_)))
        .await;
    actor.submit(Op::Interrupt).await;
    let msgs = actor.until_task_ends().await;
    let [.., EventMsg::Error(error), EventMsg::TurnAborted(aborted)] = &msgs[..] else {
        panic!(
            "a fatal error comes directly before the end: {}",
            lines(&msgs)
        );
    };
    assert_eq!(error.message, "interrupted");
    assert!(error.fatal);
    assert_eq!(aborted.reason, AbortReason::Interrupted);
    let begun = |msgs: &[EventMsg]| {
        msgs.iter()
            .filter(|msg| matches!(msg, EventMsg::ExecCommandBegin(_)))
            .count()
    };
    let seen: Vec<EventMsg> = actor.seen().iter().map(|event| event.msg.clone()).collect();
    let ended = seen
        .iter()
        .filter(|msg| matches!(msg, EventMsg::ExecCommandEnd(_)))
        .count();
    assert_eq!(begun(&seen), ended, "every begin has its end");

    actor.turn("and now?").await;
    let input = stage.input_of(1);
    let kinds = |kind: &str| input.iter().filter(|item| item["type"] == kind).count();
    assert_eq!(kinds("function_call"), 2);
    assert_eq!(kinds("function_call_output"), 2);
}

#[tokio::test]
async fn reconfiguring_aborts_what_runs_and_keeps_the_conversation() {
    let stage = Stage::new(SLOW).await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.say("first").await;
    actor
        .until(|msg| matches!(msg, EventMsg::AgentMessageContentDelta(_)))
        .await;
    let overrides = TurnOverrides {
        model: Some("scripted-2".to_owned()),
        ..TurnOverrides::default()
    };
    actor
        .submit(Op::ConfigureSession(ConfigureSession {
            overrides,
            ..ConfigureSession::default()
        }))
        .await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::SessionConfigured(_)))
        .await;
    assert!(
        lines(&msgs).contains("turn_aborted Replaced"),
        "{}",
        lines(&msgs)
    );
    assert_eq!(actor.session_id(), session);
    actor.turn("second").await;
    let body = String::from_utf8(stage.requests()[1].body.to_vec()).unwrap();
    assert!(body.contains("scripted-2"), "{body}");
    assert!(body.contains("first"), "{body}");
}

#[tokio::test]
async fn a_steered_message_joins_the_running_task() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "cat gate" } }]
[[scene.turn]]
steps = [{ say = "understood" }]
"#,
    )
    .await;
    // The command blocks on the pipe until the message is in.
    let gate = stage.cwd().join("gate");
    let made = std::process::Command::new("mkfifo").arg(&gate).status();
    assert!(made.unwrap().success());
    let mut actor = stage.start().await;
    let task = actor.say("go").await;
    actor
        .until(|msg| matches!(msg, EventMsg::ExecCommandBegin(_)))
        .await;
    let steer = actor
        .submit(Op::Steer {
            items: vec![UserInput::text("mind the gap")],
            client_id: None,
        })
        .await;
    actor
        .until(|msg| matches!(msg, EventMsg::SteerReceipt(_)))
        .await;
    assert_eq!(actor.seen().last().unwrap().id, steer);
    tokio::task::spawn_blocking(move || std::fs::write(gate, "open").unwrap())
        .await
        .unwrap();
    let msgs = actor.until_task_ends().await;
    assert!(lines(&msgs).contains("Delivered"), "{}", lines(&msgs));
    let Some(EventMsg::TurnComplete(done)) = msgs.last() else {
        panic!("the task completes: {}", lines(&msgs));
    };
    assert_eq!(done.turn_id, task);
    let input = serde_json::to_string(&stage.input_of(1)).unwrap();
    assert!(input.contains("mind the gap"), "{input}");
}

#[tokio::test]
async fn a_message_steered_into_the_last_answer_is_not_lost() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "thinking" }, { pause_ms = 300 }, { say = "finished" }]
[[scene.turn]]
steps = [{ say = "and the rest" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    actor
        .until(|msg| matches!(msg, EventMsg::AgentMessageContentDelta(_)))
        .await;
    actor
        .submit(Op::Steer {
            items: vec![UserInput::text("also this")],
            client_id: None,
        })
        .await;
    let msgs = actor.until_task_ends().await;
    let Some(EventMsg::TurnComplete(done)) = msgs.last() else {
        panic!("the task completes: {}", lines(&msgs));
    };
    assert_eq!(done.last_agent_message.as_deref(), Some("and the rest"));
}

#[tokio::test]
async fn steering_without_a_task_is_refused() {
    let stage = Stage::new(HELLO).await;
    let mut actor = stage.start().await;
    actor
        .submit(Op::Steer {
            items: vec![UserInput::text("hello?")],
            client_id: None,
        })
        .await;
    let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    assert!(lines(&msgs).contains("send user_turn"), "{}", lines(&msgs));
}

#[tokio::test]
async fn calls_of_one_answer_run_side_by_side_and_are_answered_in_order() {
    // Each command waits for the other one: run one after the other, neither would end.
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [
    { call = "shell_command", call_id = "a", arguments = { command = "touch a; while ! test -e b; do sleep 0.01; done; echo done a" } },
    { call = "shell_command", call_id = "b", arguments = { command = "touch b; while ! test -e a; do sleep 0.01; done; echo done b" } },
]
[[scene.turn]]
steps = [{ say = "both" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    actor.turn("go").await;
    let input = stage.input_of(1);
    let outputs: Vec<&serde_json::Value> = input
        .iter()
        .filter(|item| item["type"] == "function_call_output")
        .collect();
    assert_eq!(outputs[0]["call_id"], "a");
    assert!(outputs[0]["output"].as_str().unwrap().contains("done a"));
    assert_eq!(outputs[1]["call_id"], "b");
    assert!(outputs[1]["output"].as_str().unwrap().contains("done b"));
}

#[tokio::test]
async fn the_first_request_tells_the_surroundings_once() {
    let stage = Stage::new(HELLO).await;
    stage.write("AGENTS.md", "always be kind");
    let mut actor = stage.start().await;
    actor.turn("one").await;
    actor.turn("two").await;
    let input = serde_json::to_string(&stage.input_of(1)).unwrap();
    assert_eq!(input.matches("always be kind").count(), 1, "{input}");
    assert_eq!(input.matches("<environment_context>").count(), 1, "{input}");
    assert!(
        input.contains(&stage.cwd().display().to_string()),
        "{input}"
    );
}

#[tokio::test]
async fn another_directory_brings_its_own_instructions() {
    let stage = Stage::new(HELLO).await;
    stage.write("AGENTS.md", "always be kind");
    let inner = stage.cwd().join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("AGENTS.md"), "be brief in here").unwrap();
    let mut actor = stage.start().await;
    actor.turn("one").await;
    actor
        .submit(Op::UserTurn {
            items: vec![UserInput::text("two")],
            overrides: TurnOverrides {
                cwd: Some(inner),
                ..TurnOverrides::default()
            },
            final_output_json_schema: None,
            last_response_id: None,
            client_id: None,
        })
        .await;
    actor.until_task_ends().await;
    let first = serde_json::to_string(&stage.input_of(0)).unwrap();
    assert!(!first.contains("be brief in here"), "{first}");
    let second = serde_json::to_string(&stage.input_of(1)).unwrap();
    assert!(second.contains("be brief in here"), "{second}");
}

#[tokio::test]
async fn a_dropped_handle_ends_the_session() {
    let stage = Stage::new(SLOW).await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.say("first").await;
    actor
        .until(|msg| matches!(msg, EventMsg::AgentMessageContentDelta(_)))
        .await;
    drop(actor);
    // The lease is free once the session is gone.
    let store = stage.store();
    loop {
        match store.open(session).await {
            Ok(_) => break,
            Err(troupe_store::StoreError::Owned { .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}
