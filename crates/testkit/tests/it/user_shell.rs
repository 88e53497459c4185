//! Commands of the user's own.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use expect_test::expect;
use troupe_protocol::command::{CommandSource, WorkStatus};
use troupe_protocol::event::{AbortReason, ExecCommandEnd};
use troupe_protocol::input::UserInput;
use troupe_protocol::op::Op;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_protocol::{EventMsg, SubmissionId};
use troupe_testkit::{Actor, Stage};

const TALK: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "one" }]
[[scene.turn]]
steps = [{ say = "two" }]
"#;

/// The model runs a command that waits for somebody to write to a pipe.
const BUSY: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", call_id = "c", arguments = '{"command": "cat pipe"}' }]
[[scene.turn]]
steps = [{ say = "done" }]
[[scene.turn]]
steps = [{ say = "again" }]
"#;

async fn run(actor: &mut Actor, command: &str) -> SubmissionId {
    let command = command.to_owned();
    actor.submit(Op::RunUserShellCommand { command }).await
}

fn pipe(stage: &Stage, name: &str) -> PathBuf {
    let pipe = stage.cwd().join(name);
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    pipe
}

/// Writes to a pipe as soon as somebody reads it.
async fn fill(pipe: PathBuf) {
    let written = tokio::task::spawn_blocking(move || fs::write(pipe, "go\n"));
    written.await.unwrap().unwrap();
}

fn is_users(msg: &EventMsg) -> bool {
    matches!(msg, EventMsg::ExecCommandBegin(begin) if begin.source == CommandSource::UserShell)
}

/// Returns how commands of the user's ended.
fn ends(msgs: &[EventMsg]) -> Vec<ExecCommandEnd> {
    let ends = msgs.iter().filter_map(|msg| match msg {
        EventMsg::ExecCommandEnd(end) if end.begin.source == CommandSource::UserShell => {
            Some((**end).clone())
        }
        _ => None,
    });
    ends.collect()
}

async fn until_end(actor: &mut Actor) -> Vec<EventMsg> {
    let is_end = |msg: &EventMsg| !ends(std::slice::from_ref(msg)).is_empty();
    actor.until(is_end).await
}

/// Returns what the n-th request tells of commands of the user's.
fn told(stage: &Stage, n: usize) -> Vec<String> {
    let input = stage.input_of(n);
    let texts = input
        .iter()
        .filter_map(|item| item["content"][0]["text"].as_str());
    let texts = texts.filter(|text| text.starts_with("<user_shell_command>"));
    texts.map(ToOwned::to_owned).collect()
}

#[tokio::test]
async fn an_idle_session_runs_it_as_a_task() {
    // Not even a policy that lets nothing be written or asked stands in the user's way.
    let stage = Stage::new(TALK)
        .await
        .sandbox(SandboxPolicy::read_only())
        .approval(ApprovalPolicy::Untrusted);
    let mut actor = stage.start().await;
    let session = actor.session_id();
    let id = run(&mut actor, "echo hello > made; cat made; exit 3").await;
    let msgs = actor.until_task_ends().await;
    assert!(matches!(&msgs[0], EventMsg::TurnStarted(started) if started.turn_id == id));
    assert!(
        matches!(msgs.last(), Some(EventMsg::TurnComplete(done)) if done.turn_id == id),
        "{msgs:#?}"
    );
    assert!(
        msgs.iter()
            .any(|msg| matches!(msg, EventMsg::ExecCommandOutputDelta(_)))
    );
    let end = &ends(&msgs)[0];
    assert_eq!(end.outcome.exit_code, Some(3));
    assert_eq!(end.outcome.stdout, "hello\n");
    assert_eq!(end.begin.cwd, stage.cwd());
    assert_eq!(stage.read("made"), "hello\n");
    assert_eq!(stage.requests().len(), 0, "the model is not asked");
    actor.turn("what was that?").await;
    let text = told(&stage, 0)[0].clone();
    let (before, rest) = text.split_once("Wall time: ").unwrap();
    let (_, after) = rest.split_once(" seconds").unwrap();
    expect![[r#"
        <user_shell_command>
        <command>
        echo hello > made; cat made; exit 3
        </command>
        <result>
        Exit code: 3
        Wall time: …
        Output:
        hello
        </result>
        </user_shell_command>"#]]
    .assert_eq(&format!("{before}Wall time: …{after}"));
    actor.shut_down().await;
    let mut actor = stage.resume(session).await;
    actor.turn("and after resume?").await;
    assert_eq!(told(&stage, 1), [text]);
}

#[tokio::test]
async fn beside_a_task_its_output_goes_with_the_next_request() {
    let stage = Stage::new(BUSY).await;
    let pipe = pipe(&stage, "pipe");
    let mut actor = stage.start().await;
    let task = actor.say("begin").await;
    actor
        .until(|msg| matches!(msg, EventMsg::ExecCommandBegin(_)))
        .await;
    let id = run(&mut actor, "echo beside").await;
    let msgs = until_end(&mut actor).await;
    assert!(
        !msgs
            .iter()
            .any(|msg| matches!(msg, EventMsg::TurnStarted(_)))
    );
    assert_eq!(ends(&msgs)[0].begin.turn_id, task);
    let last = actor.seen().last().unwrap();
    assert_eq!(last.id, id, "who asked for it finds it by this");
    fill(pipe).await;
    let msgs = actor.until_task_ends().await;
    assert!(matches!(msgs.last(), Some(EventMsg::TurnComplete(_))));
    let input = stage.input_of(1);
    let kinds: Vec<&str> = input
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    let tail = &kinds[kinds.len() - 3..];
    assert_eq!(tail, ["function_call", "function_call_output", "message"]);
    assert!(told(&stage, 1)[0].contains("\nbeside\n"));
}

#[tokio::test]
async fn what_is_said_meanwhile_is_answered_after_all_of_them() {
    let stage = Stage::new(TALK).await;
    let (first, second) = (pipe(&stage, "first"), pipe(&stage, "second"));
    let mut actor = stage.start().await;
    let session = actor.session_id();
    run(&mut actor, "cat first").await;
    actor.until(is_users).await;
    let items = vec![UserInput::text("and what do you say?")];
    actor
        .submit(Op::Steer {
            items,
            client_id: None,
        })
        .await;
    run(&mut actor, "cat second").await;
    actor.until(is_users).await;
    fill(first).await;
    let msgs = until_end(&mut actor).await;
    assert!(
        !msgs
            .iter()
            .any(|msg| matches!(msg, EventMsg::TurnComplete(_)))
    );
    assert_eq!(stage.requests().len(), 0);
    fill(second).await;
    let msgs = actor.until_task_ends().await;
    assert!(
        matches!(msgs.last(), Some(EventMsg::TurnComplete(_))),
        "{msgs:#?}"
    );
    assert_eq!(told(&stage, 0).len(), 2);
    actor.shut_down().await;
    let mut actor = stage.resume(session).await;
    actor.turn("again").await;
    assert_eq!(told(&stage, 1).len(), 2);
}

#[tokio::test]
async fn an_interrupt_ends_it_and_keeps_what_it_wrote() {
    let stage = Stage::new(TALK).await;
    let mut actor = stage.start().await;
    run(&mut actor, "echo so far; exec sleep 1000").await;
    actor
        .until(|msg| matches!(msg, EventMsg::ExecCommandOutputDelta(_)))
        .await;
    actor.submit(Op::Interrupt).await;
    let msgs = actor.until_task_ends().await;
    let end = &ends(&msgs)[0];
    assert_eq!(end.status, WorkStatus::Failed);
    assert_eq!(end.outcome.stdout, "so far\n");
    let Some(EventMsg::TurnAborted(aborted)) = msgs.last() else {
        panic!("{msgs:#?}");
    };
    assert_eq!(aborted.reason, AbortReason::Interrupted);
    actor.turn("go on").await;
    let text = &told(&stage, 0)[0];
    assert!(
        text.contains("aborted after") && text.contains("so far"),
        "{text}"
    );
}

#[tokio::test]
async fn a_new_turn_leaves_one_beside_a_task_alone() {
    let stage = Stage::new(BUSY).await;
    let _pipe = pipe(&stage, "pipe");
    let mine = pipe(&stage, "mine");
    let mut actor = stage.start().await;
    actor.say("begin").await;
    actor
        .until(|msg| matches!(msg, EventMsg::ExecCommandBegin(_)))
        .await;
    run(&mut actor, "cat mine").await;
    actor.until(is_users).await;
    actor.say("something else").await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::TurnComplete(_)))
        .await;
    assert!(ends(&msgs).is_empty(), "{msgs:#?}");
    fill(mine).await;
    let msgs = until_end(&mut actor).await;
    assert_eq!(ends(&msgs)[0].outcome.exit_code, Some(0));
    actor.turn("and then?").await;
    assert_eq!(told(&stage, 2).len(), 1);
}

#[tokio::test]
async fn the_end_of_the_session_ends_it() {
    let stage = Stage::new(TALK).await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    run(&mut actor, "echo $$; exec sleep 1000").await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::ExecCommandOutputDelta(_)))
        .await;
    let Some(EventMsg::ExecCommandOutputDelta(delta)) = msgs.last() else {
        panic!("until returns what it waited for");
    };
    let written = base64::engine::general_purpose::STANDARD.decode(&delta.chunk);
    let pid = String::from_utf8(written.unwrap()).unwrap();
    let msgs = actor.shut_down().await;
    assert_eq!(ends(&msgs).len(), 1, "{msgs:#?}");
    assert!(!PathBuf::from(format!("/proc/{}", pid.trim())).exists());
    let mut actor = stage.resume(session).await;
    actor.turn("what of it?").await;
    assert_eq!(told(&stage, 0).len(), 1);
}

#[tokio::test]
async fn the_last_word_waits_for_it() {
    let stage = Stage::new(TALK).await;
    let mut actor = stage.start().await;
    run(&mut actor, "sleep 0.2; echo late").await;
    actor.until(is_users).await;
    let msgs = actor.finish().await;
    assert_eq!(ends(&msgs)[0].outcome.stdout, "late\n");
}

#[tokio::test]
async fn what_is_no_command_is_refused() {
    let stage = Stage::new(TALK).await;
    let mut actor = stage.start().await;
    for (command, problem) in [
        (" \n", "the command is empty"),
        ("a\0b", "the command contains a NUL character"),
    ] {
        run(&mut actor, command).await;
        let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
        let Some(EventMsg::Error(error)) = msgs.last() else {
            panic!("until returns what it waited for");
        };
        assert_eq!(error.message, problem);
        assert!(!error.fatal);
    }
}
