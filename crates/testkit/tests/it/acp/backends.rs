//! Another program as a child: what it may do, what it costs, and how it ends. The program is
//! `acp-agent`, a process like any other.

use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use troupe_agents::Family;
use troupe_agents::tree_access::TreeStopRequest;
use troupe_protocol::agent::AgentStatus;
use troupe_protocol::approval::{ExecApprovalRequest, ReviewDecision};
use troupe_protocol::op::Op;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_protocol::result::{StopReason, TaskResult};
use troupe_protocol::{EventMsg, StopVerb};
use troupe_testkit::{Actor, Stage};
use troupe_tree::command::StopMode;

use super::program;
use crate::it::agents::cast::is_now;
use crate::it::agents::play::{self, Cue, agent, begin, end, play};

const CHILD: &str = "/root/other";

/// A stage with the backend `other`, to which `keys` are added.
async fn stage(cues: &[Cue], keys: Value) -> Stage {
    let stage = play::empty_stage("", cues).await;
    let mut config = program(keys);
    let starts = starts(&stage).display().to_string();
    config.env.insert("STARTS".to_owned(), starts);
    stage
        .backend("other", config)
        .with_agents(&[Family::Agents])
}

/// Gets the process id of each start of the program.
fn starts(stage: &Stage) -> PathBuf {
    stage.cwd().join("starts")
}

fn spawn(message: &str) -> Cue {
    let arguments = json!({"message": message, "task_name": "other", "backend": "other"});
    ("spawn_agent", arguments)
}

fn send(message: &str) -> Cue {
    ("send_input", json!({"id": "other", "message": message}))
}

fn wait() -> Cue {
    ("wait", json!({"ids": ["other"]}))
}

async fn result(actor: &Actor) -> TaskResult {
    let desk = actor.agents().user();
    desk.result(CHILD, None).await.expect("its task has ended")
}

/// What it said in a task that is complete.
async fn said(actor: &Actor) -> String {
    let result = result(actor).await;
    assert_eq!(result.stop, StopReason::Completed, "{result:?}");
    result.last_message.unwrap_or_default()
}

/// Why its task failed.
async fn failure(actor: &Actor) -> String {
    match result(actor).await.stop {
        StopReason::Errored { message, .. } => message,
        other => panic!("it did not fail: {other:?}"),
    }
}

/// The processes that were ever started.
fn processes(stage: &Stage) -> Vec<String> {
    let pids = std::fs::read_to_string(starts(stage)).unwrap_or_default();
    pids.lines().map(str::to_owned).collect()
}

fn is_alive(pid: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid).join("status"));
    // One that is only waited for still has an entry.
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

async fn until_gone(pid: &str) {
    while is_alive(pid) {
        tokio::task::yield_now().await;
    }
}

/// Waits for what the program works with, and returns its process id.
async fn worker(stage: &Stage) -> String {
    let path = stage.cwd().join("worker");
    while !path.exists() {
        tokio::task::yield_now().await;
    }
    stage.read("worker")
}

async fn stop(actor: &Actor, verb: StopVerb) {
    let request = TreeStopRequest {
        verb,
        targets: vec![CHILD.to_owned()],
        mode: StopMode::Act,
        note: None,
    };
    let stopped = actor.agents().user().stop(request).await.unwrap();
    assert_eq!(stopped.touched.len(), 1);
}

async fn cancel(actor: &mut Actor) {
    stop(actor, StopVerb::Cancel).await;
    actor
        .until(is_now(1, |status| *status == AgentStatus::Cancelled))
        .await;
    let stop = result(actor).await.stop;
    assert!(matches!(stop, StopReason::Cancelled { .. }), "{stop:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_process_answers_one_message_after_the_other() {
    let cues = [spawn("hello"), wait(), send("again"), wait()];
    let stage = stage(&cues, json!({})).await;
    let actor = play(&stage).await;
    assert_eq!(said(&actor).await, "you said: again");
    assert_eq!(processes(&stage).len(), 1);
    end(actor).await;
    until_gone(&processes(&stage)[0]).await;
}

/// Plays a prompt, and shows how it stopped, its last words and its calls. The next prompt is
/// answered as any other.
async fn check_end(prompt: &str, expected: Expect) {
    let stage = stage(&[spawn(prompt), wait()], json!({})).await;
    let mut actor = play(&stage).await;
    let result = result(&actor).await;
    let stop = match result.stop {
        StopReason::Errored { message, .. } => message,
        other => format!("{other:?}"),
    };
    let calls = result.evidence.tool_use_count();
    let words = result.last_message;
    expected.assert_eq(&format!("{stop}; said {words:?}; {calls} calls"));
    tell(&mut actor, "back again").await;
    assert_eq!(said(&actor).await, "you said: back again");
    assert_eq!(processes(&stage).len(), 1);
    end(actor).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_without_closing_words_is_the_end_and_keeps_its_reason() {
    check_end("nothing", expect!["Completed; said None; 0 calls"]).await;
    check_end("toil", expect!["Completed; said None; 1 calls"]).await;
    check_end(
        "refuse",
        expect!["backend other: it refused to go on; said None; 1 calls"],
    )
    .await;
    check_end(
        "object the quota is used up",
        expect!["backend other: the quota is used up; said None; 1 calls"],
    )
    .await;
    check_end(
        "quit",
        expect!["backend other: it stopped as if it was cancelled, which nobody here did (cancelled); said None; 0 calls"],
    )
    .await;
    check_end("exhaust", expect![[r#"backend other: it stopped at its limit of tokens (max_tokens); said Some("so far"); 1 calls"#]]).await;
}

/// The program tells sums over its session: 110 tokens after the first prompt, 220 after the
/// second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_that_it_tells_of_are_counted_once() {
    let cues = [spawn("hello"), wait(), send("again"), wait()];
    let stage = stage(&cues, json!({})).await;
    let actor = play(&stage).await;
    let usage = agent(&actor, CHILD).await.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (200, 20));
    assert_eq!(usage.total_tokens, 220);
    end(actor).await;
}

/// The stage of a child that must ask before it works.
async fn asking() -> (Stage, Actor, ExecApprovalRequest) {
    let stage = stage(&[spawn("ask granted"), wait()], json!({}))
        .await
        .approval(ApprovalPolicy::Untrusted)
        .sandbox(SandboxPolicy::workspace_write());
    let mut actor = begin(&stage).await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
        .await;
    match msgs.into_iter().next_back() {
        Some(EventMsg::ExecApprovalRequest(request)) => (stage, actor, request),
        other => panic!("until returns what it waited for: {other:?}"),
    }
}

async fn answer(actor: &mut Actor, asked: &ExecApprovalRequest, decision: ReviewDecision) {
    let id = asked.call_id.to_string();
    actor.submit(Op::ExecApproval { id, decision }).await;
    actor.until_task_ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_it_asks_is_asked_at_the_root_and_granted() {
    let (stage, mut actor, asked) = asking().await;
    let label = asked.agent.as_ref().map(|agent| agent.path.as_str());
    assert_eq!(label, Some(CHILD));
    assert_eq!(asked.command, ["touch", "granted"]);
    assert_eq!(asked.reason.as_deref(), Some("other asks: make granted"));
    answer(&mut actor, &asked, ReviewDecision::Approved).await;
    assert_eq!(said(&actor).await, "allow_once");
    assert!(stage.cwd().join("granted").exists());
    end(actor).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn for_the_session_is_its_always() {
    let (_stage, mut actor, asked) = asking().await;
    answer(&mut actor, &asked, ReviewDecision::ApprovedForSession).await;
    assert_eq!(said(&actor).await, "allow_always");
    end(actor).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_denied_is_not_done() {
    let (stage, mut actor, asked) = asking().await;
    answer(&mut actor, &asked, ReviewDecision::Denied).await;
    assert_eq!(said(&actor).await, "reject_once");
    assert!(!stage.cwd().join("granted").exists());
    end(actor).await;
}

/// It never asks; the kernel answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_kernel_holds_it_to_the_childs_sandbox() {
    let cues = [
        spawn("write inside"),
        wait(),
        send("write ../outside"),
        wait(),
    ];
    let stage = stage(&cues, json!({})).await;
    let stage = stage.sandbox(SandboxPolicy::WorkspaceWrite {
        writable_roots: Vec::new(),
        network_access: false,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    });
    let actor = play(&stage).await;
    assert_eq!(stage.read("inside"), "written");
    let answer = said(&actor).await;
    assert!(answer.starts_with("not written: "), "{answer}");
    assert!(!stage.cwd().with_file_name("outside").exists());
    end(actor).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_is_told_and_the_next_message_starts_it_anew() {
    let cues = [spawn("crash"), wait()];
    let stage = stage(&cues, json!({})).await;
    let mut actor = play(&stage).await;
    let why = failure(&actor).await;
    assert_eq!(
        why,
        "backend other: it exited with code 3; it wrote: out of luck"
    );
    tell(&mut actor, "back again").await;
    assert_eq!(said(&actor).await, "you said: back again");
    assert_eq!(processes(&stage).len(), 2);
    end(actor).await;
}

/// Says something to the child as the user, and waits until it has answered.
async fn tell(actor: &mut Actor, text: &str) {
    use troupe_protocol::input::UserInput;
    use troupe_protocol::tree::AgentMessage;
    use troupe_tree::command::SendUrgency;

    let message = AgentMessage {
        items: vec![UserInput::text(text)],
        metadata: None,
        client_id: None,
    };
    let desk = actor.agents().user();
    desk.send(CHILD, message, SendUrgency::Regular)
        .await
        .unwrap();
    let is_over = |status: &AgentStatus| {
        matches!(status, AgentStatus::Completed(_) | AgentStatus::Errored(_))
    };
    actor.until(is_now(1, is_over)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_never_greets_is_given_up_and_ended() {
    let keys = json!({"args": ["--silent"], "startup_timeout_sec": 1});
    let stage = stage(&[spawn("hello"), wait()], keys).await;
    let actor = play(&stage).await;
    assert_eq!(
        failure(&actor).await,
        "backend other: it did not greet within 1 s; see by hand whether it starts and speaks the \
         protocol, or raise its `startup_timeout_sec`"
    );
    until_gone(&processes(&stage)[0]).await;
    end(actor).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_version_of_the_protocol_is_refused() {
    let stage = stage(&[spawn("hello"), wait()], json!({"args": ["--ancient"]})).await;
    let actor = play(&stage).await;
    assert_eq!(
        failure(&actor).await,
        "backend other: it speaks version 0 of the protocol, and we speak 1"
    );
    end(actor).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_message_is_passed_over() {
    let stage = stage(&[spawn("garble"), wait()], json!({})).await;
    let actor = play(&stage).await;
    assert_eq!(said(&actor).await, "still here");
    end(actor).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_words_arrives_whole() {
    let stage = stage(&[spawn("flood"), wait()], json!({})).await;
    let actor = play(&stage).await;
    assert_eq!(said(&actor).await.len(), 20_000 * "drop ".len());
    end(actor).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_without_end_is_the_end() {
    let stage = stage(&[spawn("line"), wait()], json!({})).await;
    let actor = play(&stage).await;
    let why = failure(&actor).await;
    assert!(
        why.contains("a message of more than 33554432 bytes"),
        "{why}"
    );
    until_gone(&processes(&stage)[0]).await;
    end(actor).await;
}

/// It stays for the next message, and goes with its session, as does what it started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_one_stops_and_is_there_for_more() {
    let stage = stage(&[spawn("wait")], json!({})).await;
    let mut actor = begin(&stage).await;
    let worker = worker(&stage).await;
    cancel(&mut actor).await;
    tell(&mut actor, "hello").await;
    assert_eq!(said(&actor).await, "you said: hello");
    let processes = processes(&stage);
    assert_eq!(processes.len(), 1);
    stop(&actor, StopVerb::Close).await;
    until_gone(&processes[0]).await;
    until_gone(&worker).await;
    end(actor).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_is_heard_through_a_flood() {
    let stage = stage(&[spawn("gush")], json!({})).await;
    let mut actor = begin(&stage).await;
    worker(&stage).await;
    cancel(&mut actor).await;
    tell(&mut actor, "hello").await;
    assert_eq!(said(&actor).await, "you said: hello");
    assert_eq!(processes(&stage).len(), 1);
    end(actor).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_does_not_stop_is_ended_with_what_it_started() {
    let stage = stage(&[spawn("hold")], json!({})).await;
    let mut actor = begin(&stage).await;
    let worker = worker(&stage).await;
    cancel(&mut actor).await;
    until_gone(&processes(&stage)[0]).await;
    until_gone(&worker).await;
    tell(&mut actor, "hello").await;
    assert_eq!(said(&actor).await, "you said: hello");
    assert_eq!(processes(&stage).len(), 2);
    end(actor).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_to_one_that_is_being_ended_is_for_the_next() {
    let stage = stage(&[spawn("hold")], json!({})).await;
    let mut actor = begin(&stage).await;
    worker(&stage).await;
    cancel(&mut actor).await;
    tell(&mut actor, "hello").await;
    assert_eq!(said(&actor).await, "you said: hello");
    assert_eq!(processes(&stage).len(), 2);
    end(actor).await;
}
