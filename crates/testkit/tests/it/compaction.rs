//! Histories that no longer fit.

use troupe_engine::{SessionSetup, WindowSettings};
use troupe_model::WireApi;
use troupe_protocol::EventMsg;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::op::{ConfigureSession, Op};
use troupe_protocol::policy::CollaborationMode;
use troupe_protocol::session::TurnOverrides;
use troupe_testkit::Stage;

fn small_window() -> WindowSettings {
    WindowSettings {
        context_window: Some(10_000),
        auto_compact_token_limit: None,
    }
}

const WIRES: [WireApi; 3] = [WireApi::Responses, WireApi::Chat, WireApi::Messages];

/// Returns the text of the last request.
fn last_request(stage: &Stage) -> String {
    let requests = stage.requests();
    let last = requests.last().expect("the model was asked");
    String::from_utf8_lossy(&last.body).into_owned()
}

fn compactions(msgs: &[EventMsg]) -> usize {
    msgs.iter()
        .filter(|msg| matches!(msg, EventMsg::ContextCompacted))
        .count()
}

#[tokio::test]
async fn a_full_context_is_compacted_before_the_next_request() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
usage = { input = 9500, output = 100 }
steps = [{ say = "a very long answer" }]
[[scene.turn]]
expect = "hand-over"
steps = [{ say = "SUMMARY: the user likes cats" }]
[[scene.turn]]
steps = [{ say = "second" }]
[[scene.turn]]
steps = [{ say = "third" }]
"#,
    )
    .await
    .window(small_window());
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("I like cats").await;
    let msgs = actor.turn("what do I like?").await;
    assert_eq!(compactions(&msgs), 1, "{msgs:?}");
    let input = serde_json::to_string(&stage.input_of(2)).unwrap();
    assert!(input.contains("SUMMARY: the user likes cats"), "{input}");
    assert!(input.contains("what do I like?"), "{input}");
    assert!(!input.contains("a very long answer"), "{input}");
    actor.shut_down().await;

    let mut actor = stage.resume(session).await;
    actor.turn("and now?").await;
    let input = serde_json::to_string(&stage.input_of(3)).unwrap();
    assert!(
        input.contains("SUMMARY") && input.contains("second"),
        "{input}"
    );
    assert!(!input.contains("a very long answer"), "{input}");
}

#[tokio::test]
async fn a_request_that_the_server_finds_too_long_is_compacted_and_sent_again() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "well" }]
[[scene.turn]]
steps = [{ status = 400, code = "context_length_exceeded", message = "too long" }]
[[scene.turn]]
steps = [{ say = "SUMMARY" }]
[[scene.turn]]
steps = [{ say = "fits now" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    actor.turn("how are you?").await;
    let msgs = actor.turn("hello").await;
    assert_eq!(compactions(&msgs), 1, "{msgs:?}");
    let Some(EventMsg::TurnComplete(done)) = msgs.last() else {
        panic!("the task completes: {msgs:?}");
    };
    assert_eq!(done.last_agent_message.as_deref(), Some("fits now"));
}

#[tokio::test]
async fn a_context_that_never_fits_is_a_clear_error() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "well" }]
[[scene.turn]]
steps = [{ status = 400, code = "context_length_exceeded", message = "too long" }]
[[scene.turn]]
steps = [{ say = "SUMMARY" }]
[[scene.turn]]
steps = [{ status = 400, code = "context_length_exceeded", message = "too long" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    actor.turn("how are you?").await;
    let msgs = actor.turn("hello").await;
    let [.., EventMsg::Error(error), EventMsg::TurnAborted(_)] = &msgs[..] else {
        panic!("the task ends with an error: {msgs:?}");
    };
    assert_eq!(error.error_info, Some(ErrorInfo::ContextWindowExceeded));
}

fn unknown_window(setup: &mut SessionSetup) {
    "my-own".clone_into(&mut setup.context.model);
    setup.window = WindowSettings::default();
}

/// Returns a message of so many bytes that has a beginning and an end.
fn long_message(bytes: usize) -> String {
    format!("BEGIN {} END", "word ".repeat(bytes / 5))
}

#[tokio::test]
async fn a_window_that_is_only_assumed_is_not_enforced() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "read" }]
"#,
    )
    .await
    .adjusting(unknown_window);
    let message = long_message(900_000);
    let msgs = stage.start().await.turn(&message).await;
    assert_eq!(compactions(&msgs), 0, "{msgs:?}");
    assert!(matches!(msgs.last(), Some(EventMsg::TurnComplete(_))));
    assert_eq!(stage.requests().len(), 1);
    assert!(last_request(&stage).contains(&message));
}

#[tokio::test]
async fn a_first_message_that_does_not_fit_is_told_with_both_numbers_and_left_out() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ status = 400, code = "context_length_exceeded", message = "This model's maximum context length is 4096 tokens. However, your messages resulted in 9001 tokens." }]
[[scene.turn]]
steps = [{ say = "short" }]
[[scene.turn]]
steps = [{ say = "again" }]
"#,
    )
    .await
    .adjusting(unknown_window);
    let mut actor = stage.start().await;
    let session = actor.session_id();
    let msgs = actor.turn(&long_message(12_000)).await;
    let [.., EventMsg::Error(error), EventMsg::TurnAborted(_)] = &msgs[..] else {
        panic!("the task ends with an error: {msgs:?}");
    };
    assert_eq!(error.error_info, Some(ErrorInfo::ContextWindowExceeded));
    let told = &error.message;
    assert!(told.contains("it has 9001 tokens"), "{told}");
    assert!(told.contains("of my-own has 4096 tokens"), "{told}");
    assert_eq!(stage.requests().len(), 1, "nothing was summarised");

    actor.turn("in short").await;
    let request = last_request(&stage);
    assert!(!request.contains("BEGIN") && request.contains("in short"));
    actor.shut_down().await;
    stage.resume(session).await.turn("and on").await;
    let request = last_request(&stage);
    assert!(!request.contains("BEGIN") && request.contains("in short"));
}

#[tokio::test]
async fn a_message_larger_than_a_known_window_is_refused_before_anything_is_sent() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "short" }]
"#,
    )
    .await
    .window(small_window());
    let mut actor = stage.start().await;
    actor.say(&long_message(50_000)).await;
    let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    let Some(EventMsg::Error(error)) = msgs.last() else {
        panic!("until returns what it waited for: {msgs:?}");
    };
    let told = &error.message;
    assert!(told.contains("about 12503 tokens"), "{told}");
    assert!(told.contains("which has 10000"), "{told}");
    assert_eq!(error.error_info, Some(ErrorInfo::ContextWindowExceeded));
    assert_eq!(stage.requests().len(), 0);
    actor.turn("in short").await;
    assert!(!last_request(&stage).contains("BEGIN"));
}

/// The window is the server's own, under a name that the catalogue knows too, or whatever name.
#[tokio::test]
async fn a_first_message_larger_than_the_servers_own_window_is_not_sent() {
    for (listed, asked) in [
        ("my-own", "my-own"),
        ("gpt-6.1-sol", "gpt-6.1-sol"),
        ("/models/one.gguf", "any-name"),
    ] {
        let screenplay = format!(
            r#"
[[model]]
id = "{listed}"
context_window = 4096
[[scene]]
[[scene.turn]]
steps = [{{ say = "short" }}]
"#
        );
        let stage = Stage::new(&screenplay).await.adjusting(|setup| {
            asked.clone_into(&mut setup.context.model);
            setup.window = WindowSettings::default();
        });
        let mut actor = stage.start().await;
        let msgs = actor.turn(&long_message(900_000)).await;
        let [.., EventMsg::Error(error), EventMsg::TurnAborted(_)] = &msgs[..] else {
            panic!("the task ends with an error: {msgs:?}");
        };
        assert_eq!(error.error_info, Some(ErrorInfo::ContextWindowExceeded));
        let told = &error.message;
        assert!(told.contains("has 4096 tokens"), "{told}");
        assert_eq!(stage.requests().len(), 0, "{asked}");

        actor.turn("in short").await;
        let request = last_request(&stage);
        assert!(!request.contains("BEGIN") && request.contains("in short"));
    }
}

/// Once at the start of a task, and once in its middle.
#[tokio::test]
async fn what_the_user_just_said_is_neither_summarised_nor_cut() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
usage = { input = 9500, output = 100 }
steps = [{ say = "well" }]
[[scene.turn]]
expect = "hand-over"
steps = [{ say = "SUMMARY one" }]
[[scene.turn]]
usage = { input = 9500, output = 100 }
steps = [{ call = "update_plan", arguments = { plan = [{ step = "a", status = "pending" }] } }]
[[scene.turn]]
steps = [{ say = "done" }]
[[scene.turn]]
usage = { input = 9500, output = 100 }
steps = [{ call = "update_plan", arguments = { plan = [{ step = "b", status = "pending" }] } }]
[[scene.turn]]
expect = "hand-over"
steps = [{ say = "SUMMARY two" }]
[[scene.turn]]
steps = [{ say = "done" }]
"#,
    )
    .await
    .window(small_window());
    let mut actor = stage.start().await;
    actor.turn("how are you?").await;
    let first = long_message(30_000);
    assert_eq!(compactions(&actor.turn(&first).await), 1);
    let sent = |n: usize| serde_json::to_string(&stage.input_of(n)).unwrap();
    assert!(
        !sent(1).contains("BEGIN"),
        "only what was said before is summarised"
    );
    assert!(sent(2).contains(&first) && sent(2).contains("SUMMARY one"));
    assert!(sent(2).find("SUMMARY one") < sent(2).find("BEGIN"));

    let second = first.replace("BEGIN", "AGAIN");
    assert_eq!(compactions(&actor.turn(&second).await), 1);
    let last = last_request(&stage);
    assert!(
        last.contains("SUMMARY two") && last.contains(&second),
        "{last}"
    );
    assert!(!last.contains(&first), "what was answered may be cut");
}

#[tokio::test]
async fn the_user_can_ask_for_a_compaction() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "one" }]
[[scene.turn]]
steps = [{ say = "SUMMARY of one" }]
[[scene.turn]]
steps = [{ say = "two" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    actor.turn("first").await;
    actor.submit(Op::Compact).await;
    let msgs = actor.until_task_ends().await;
    assert_eq!(compactions(&msgs), 1, "{msgs:?}");
    actor.turn("second").await;
    let input = serde_json::to_string(&stage.input_of(2)).unwrap();
    assert!(input.contains("SUMMARY of one"), "{input}");
}

/// Wires count what came from a cache within the input or beside it.
#[tokio::test]
async fn a_context_is_as_full_on_every_wire() {
    for wire in WIRES {
        let stage = Stage::new(
            r#"
[[scene]]
[[scene.turn]]
usage = { input = 8800, cached = 8000, output = 190 }
steps = [{ say = "nearly full" }]
[[scene.turn]]
usage = { input = 8900, cached = 8000, output = 100 }
steps = [{ say = "full" }]
[[scene.turn]]
expect = "hand-over"
steps = [{ say = "SUMMARY" }]
[[scene.turn]]
steps = [{ say = "room again" }]
[[scene.turn]]
steps = [{ say = "and still" }]
"#,
        )
        .await
        .wire(wire)
        .window(small_window());
        let mut actor = stage.start().await;
        let msgs = actor.turn("one").await;
        let counted = msgs.iter().find_map(|msg| match msg {
            EventMsg::TokenCount {
                info: Some(info), ..
            } => Some(info.last_token_usage),
            _ => None,
        });
        let counted = counted.expect("tokens are counted");
        assert_eq!(counted.input_tokens, 8_800, "{wire:?}");
        assert_eq!(counted.cached_input_tokens, 8_000, "{wire:?}");
        assert_eq!(counted.total_tokens, 8_990, "{wire:?}");
        assert_eq!(compactions(&actor.turn("2").await), 0, "{wire:?}");
        assert_eq!(compactions(&actor.turn("3").await), 1, "{wire:?}");
        assert_eq!(compactions(&actor.turn("4").await), 0, "{wire:?}");
    }
}

#[tokio::test]
async fn the_plan_and_the_users_words_outlive_compactions_on_every_wire() {
    for wire in WIRES {
        let stage = Stage::new(
            r#"
[[scene]]
[[scene.turn]]
steps = [
    { think = "A plan first." },
    { call = "update_plan", arguments = { plan = [
        { step = "Buy paint", status = "completed" },
        { step = "Paint the door", status = "in_progress" },
    ] } },
    { call = "update_plan", arguments = { plan = "none" } },
]
[[scene.turn]]
usage = { input = 9500, output = 100 }
steps = [{ say = "planned" }]
[[scene.turn]]
steps = [{ say = "SUMMARY one" }]
[[scene.turn]]
usage = { input = 9500, output = 100 }
steps = [{ say = "second" }]
[[scene.turn]]
steps = [{ say = "SUMMARY two" }]
[[scene.turn]]
steps = [{ say = "third" }]
[[scene.turn]]
steps = [{ say = "fourth" }]
"#,
        )
        .await
        .wire(wire)
        .window(small_window());
        let mut actor = stage.start().await;
        let session = actor.session_id();
        actor.turn("The door must be blue.").await;
        assert_eq!(compactions(&actor.turn("Go on.").await), 1, "{wire:?}");
        assert_eq!(compactions(&actor.turn("And on.").await), 1, "{wire:?}");
        let check = |request: &str| {
            for kept in [
                "The door must be blue.",
                "Go on.",
                "And on.",
                "SUMMARY two",
                "[completed] Buy paint",
                "[in progress] Paint the door",
            ] {
                assert_eq!(
                    request.matches(kept).count(),
                    1,
                    "{wire:?} {kept} {request}"
                );
            }
            assert!(!request.contains("SUMMARY one"), "{wire:?} {request}");
        };
        check(&last_request(&stage));
        actor.shut_down().await;

        let mut actor = stage.resume(session).await;
        actor.turn("Still there?").await;
        check(&last_request(&stage));
    }
}

/// So the provider reads it from its cache, and finds the tools that the history speaks of.
#[tokio::test]
async fn the_request_for_a_summary_begins_like_the_one_before_on_every_wire() {
    for wire in WIRES {
        let stage = Stage::new(
            r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", arguments = { command = "echo hi" } }]
[[scene.turn]]
steps = [{ say = "one" }]
[[scene.turn]]
steps = [{ say = "SUMMARY" }]
"#,
        )
        .await
        .wire(wire);
        let mut actor = stage.start().await;
        actor.turn("first").await;
        actor.submit(Op::Compact).await;
        actor.until_task_ends().await;
        let bodies: Vec<serde_json::Value> = stage
            .requests()
            .iter()
            .map(|request| serde_json::from_slice(&request.body).unwrap())
            .collect();
        for field in ["tools", "instructions", "system"] {
            assert_eq!(bodies[1][field], bodies[2][field], "{wire:?} {field}");
        }
        assert!(bodies[2]["tools"].is_array(), "{wire:?}");
        let choice = match wire {
            WireApi::Responses | WireApi::Chat => serde_json::json!("none"),
            WireApi::Messages => serde_json::json!({ "type": "none" }),
        };
        assert_eq!(bodies[2]["tool_choice"], choice);
    }
}

#[tokio::test]
async fn a_proposed_plan_outlives_compactions() {
    let proposal = "Look:\\n<proposed_plan>\\n1. Sand the door\\n</proposed_plan>\\nShall I?";
    let says = [
        "<proposed_plan>\\n1. Buy a door\\n</proposed_plan>",
        proposal,
        "SUMMARY one",
        "SUMMARY two",
        "painted",
    ];
    let turns = says.map(|text| format!("[[scene.turn]]\nsteps = [{{ say = \"{text}\" }}]\n"));
    let stage = Stage::new(&format!("[[scene]]\n{}", turns.concat())).await;
    let overrides = TurnOverrides {
        collaboration_mode: Some(CollaborationMode::Plan.into()),
        ..TurnOverrides::default()
    };
    let mut actor = stage
        .start_with(ConfigureSession {
            overrides,
            ..ConfigureSession::default()
        })
        .await;
    actor.turn("A plan for the door, please.").await;
    actor.turn("Cheaper.").await;
    for _ in 0..2 {
        actor.submit(Op::Compact).await;
        actor.until_task_ends().await;
    }
    actor.turn("Do it.").await;
    let request = last_request(&stage);
    assert_eq!(request.matches("1. Sand the door").count(), 1, "{request}");
    assert!(!request.contains("1. Buy a door"), "{request}");
}

/// What cannot be summarised is too much already: the task goes on as it is.
#[tokio::test]
async fn a_window_that_a_compaction_cannot_make_room_in_is_compacted_once() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
usage = { input = 9500, output = 100 }
steps = [{ call = "update_plan", arguments = { plan = [{ step = "a", status = "pending" }] } }]
[[scene.turn]]
expect = "hand-over"
steps = [{ say = "SUMMARY" }]
[[scene.turn]]
usage = { input = 9400, output = 100 }
steps = [{ call = "update_plan", arguments = { plan = [{ step = "b", status = "pending" }] } }]
[[scene.turn]]
usage = { input = 9600, output = 100 }
steps = [{ call = "update_plan", arguments = { plan = [{ step = "c", status = "pending" }] } }]
[[scene.turn]]
steps = [{ status = 400, code = "context_length_exceeded", message = "too long" }]
"#,
    )
    .await
    .window(small_window());
    let mut actor = stage.start().await;
    let msgs = actor.turn("hello").await;
    assert_eq!(compactions(&msgs), 1, "{msgs:?}");
    let warnings = msgs.iter().filter(|msg| {
        matches!(msg, EventMsg::Warning { message } if message.contains("not summarised again"))
    });
    assert_eq!(warnings.count(), 1, "{msgs:?}");
    let [.., EventMsg::Error(error), EventMsg::TurnAborted(_)] = &msgs[..] else {
        panic!("the task ends with the server's error: {msgs:?}");
    };
    assert_eq!(error.error_info, Some(ErrorInfo::ContextWindowExceeded));
}

#[tokio::test]
async fn a_compaction_that_came_to_nothing_is_not_told_as_one() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "one" }]
[[scene.turn]]
steps = [{ say = " " }]
[[scene.turn]]
steps = [{ end = "stall" }]
"#,
    )
    .await;
    let mut actor = stage.start().await;
    actor.turn("first").await;
    actor.submit(Op::Compact).await;
    let msgs = actor.until_task_ends().await;
    assert!(matches!(msgs.last(), Some(EventMsg::TurnAborted(_))));
    assert_eq!(compactions(&msgs), 0, "nothing was said: {msgs:?}");

    actor.submit(Op::Compact).await;
    actor
        .until(|msg| matches!(msg, EventMsg::ItemStarted { .. }))
        .await;
    actor.submit(Op::Interrupt).await;
    let msgs = actor.until_task_ends().await;
    assert_eq!(compactions(&msgs), 0, "it was interrupted: {msgs:?}");
    let ended = msgs
        .iter()
        .any(|msg| matches!(msg, EventMsg::ItemCompleted { .. }));
    assert!(ended, "what began has an end: {msgs:?}");
}
