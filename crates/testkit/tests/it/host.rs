//! A session as a member of a tree: what it tells its host, and what it writes together.

use std::sync::Arc;

use async_trait::async_trait;
use expect_test::{Expect, expect};
use serde_json::json;
use troupe_engine::limits::MAILBOX_MAX;
use troupe_engine::{Doing, Host, Order};
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::event::{AbortReason, BackgroundEvent};
use troupe_protocol::input::UserInput;
use troupe_protocol::item::TurnItem;
use troupe_protocol::op::{ConfigureSession, ForkPoint, Op, ReviewRequest, ReviewTarget};
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_protocol::result::{StopReason, StructuredOutput};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tool::ToolSpec;
use troupe_protocol::tree::{AgentMessage, Fact, MessageId, MessageMetadata};
use troupe_protocol::{AgentId, EventMsg, ResponseItem, SessionId, SubmissionId};
use troupe_testkit::{Actor, Stage, line};
use troupe_tools::{Call, Claim, Concurrency, Tool, ToolOutput};

use super::fake_host::{FakeHost, agent_line};
use super::faulty::Faulty;

/// A stage whose sessions are members of a tree.
struct Tree {
    stage: Stage,
    host: Arc<FakeHost>,
    store: Faulty,
}

async fn tree(screenplay: &str) -> Tree {
    tree_on(Stage::new(screenplay).await)
}

fn tree_on(stage: Stage) -> Tree {
    let (host, store) = (FakeHost::new(), Faulty::default());
    let member = Arc::clone(&host);
    let stage = stage
        .keeping_in(Arc::new(store.clone()))
        .adjusting(move |setup| setup.host = Some(member.clone()));
    Tree { stage, host, store }
}

impl Tree {
    /// Checks which lines came in one append with the line of a fact.
    fn check_append(&self, kind: &str, expected: Expect) {
        let appends = self.store.appends();
        let mut found = appends
            .iter()
            .map(|append| append.iter().map(record).collect::<Vec<_>>())
            .filter(|append| append.iter().any(|line| line == kind));
        let append = found.next().expect("the fact was written");
        expected.assert_eq(&append.join("\n"));
        assert_eq!(found.next(), None, "the fact was written once");
    }
}

/// Returns a line of the log in few words.
fn record(record: &RolloutRecord) -> String {
    match record {
        RolloutRecord::Agent(line) => match &line.record.fact {
            Fact::Started { .. } => "agent started".to_owned(),
            Fact::Took { .. } => "agent took".to_owned(),
            Fact::Consumed { .. } => "agent consumed".to_owned(),
            Fact::Ended { .. } => "agent ended".to_owned(),
            other => format!("agent {other:?}"),
        },
        RolloutRecord::EventMsg(event) => line(&event.msg),
        RolloutRecord::ResponseItem(item) => match item {
            ResponseItem::Message { content, .. } => {
                let text = content.iter().find_map(|part| part.text());
                let first = text.unwrap_or_default().lines().next().unwrap_or_default();
                format!("message {first:?}")
            }
            ResponseItem::FunctionCallOutput { call_id, .. } => format!("answer of {call_id}"),
            _ => "item".to_owned(),
        },
        other => other.kind().to_owned(),
    }
}

fn message(text: &str) -> AgentMessage {
    AgentMessage {
        items: vec![UserInput::text(text)],
        metadata: None,
    }
}

fn message_id(number: u128) -> MessageId {
    MessageId(uuid::Uuid::from_u128(number))
}

fn start(number: u128, text: &str) -> Order {
    Order::Start {
        task: message_id(number).task(),
        message: message_id(number),
        mail: message(text),
        output_schema: None,
    }
}

fn lines(msgs: &[EventMsg]) -> String {
    let lines: Vec<String> = msgs.iter().map(line).collect();
    lines.join("\n")
}

const HELLO: &str = r#"
[[scene]]
[[scene.turn]]
response_id = "resp_1"
steps = [{ say = "one" }]
[[scene.turn]]
steps = [{ say = "two" }]
"#;

#[tokio::test]
async fn a_task_begins_in_one_append_with_its_message() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    assert!(tree.host.give(start(1, "from the inbox")));
    actor.until_task_ends().await;
    tree.check_append(
        "agent started",
        expect![[r#"
            turn_context
            task_started
            message "<environment_context>"
            agent started
            message "from the inbox"
            item_started UserMessage
            item_completed UserMessage"#]],
    );
    tree.check_append(
        "agent ended",
        expect![[r#"
            agent ended
            task_complete Some("resp_1") Some("one")"#]],
    );
    assert_eq!(tree.host.fates(), ["start written", "end written"]);
    assert_eq!(
        tree.host.results()[0].task_id,
        message_id(1).task(),
        "the task has the id that the order gave it"
    );
}

#[tokio::test]
async fn the_host_hears_of_direct_input_too() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    let task = actor.say("hi").await;
    actor.until_task_ends().await;
    expect![[r#"
        opened has_agents=false
        starting s2 with mail=false
        ending s2"#]]
    .assert_eq(&tree.host.told().join("\n"));
    assert_eq!(tree.host.results()[0].task_id, task);
}

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
async fn a_task_that_cannot_begin_has_a_result() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    std::fs::remove_dir_all(tree.stage.cwd()).unwrap();
    tree.host.give(start(1, "go"));
    let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    assert!(
        lines(&msgs).contains("is not a directory"),
        "{}",
        lines(&msgs)
    );
    let result = &tree.host.results()[0];
    assert!(
        matches!(&result.stop, StopReason::FailedToStart { message } if message.contains("cwd")),
        "{:?}",
        result.stop
    );
    assert_eq!(tree.host.fates(), ["end written"]);
}

const ASKING: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", call_id = "a", arguments = { command = "touch made" } }]
[[scene.turn]]
steps = [{ say = "done" }, { pause_ms = 200 }]
[[scene.turn]]
steps = [{ say = "more" }]
"#;

/// A tree whose agent waits for a person's word.
async fn asking() -> (Tree, Actor) {
    let stage = Stage::new(ASKING).await;
    let stage = stage
        .approval(ApprovalPolicy::Untrusted)
        .sandbox(SandboxPolicy::workspace_write());
    let tree = tree_on(stage);
    let mut actor = tree.stage.start().await;
    tree.host.give(start(1, "go"));
    actor
        .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
        .await;
    (tree, actor)
}

async fn approve(actor: &mut Actor) {
    let (id, decision) = ("a".to_owned(), ReviewDecision::Approved);
    actor.submit(Op::ExecApproval { id, decision }).await;
}

#[tokio::test]
async fn mail_joins_the_running_task_at_its_next_request() {
    let (tree, mut actor) = asking().await;
    let metadata = MessageMetadata::callback(SessionId::random(), "t".into());
    let callback = AgentMessage {
        metadata: Some(metadata.clone()),
        ..message("by the way")
    };
    let mail = vec![(message_id(2), callback), (message_id(3), message("and"))];
    tree.host.give(Order::Mail(mail.clone()));
    // Heard of already, and the one that it began with.
    tree.host.give(Order::Mail(mail));
    tree.host
        .give(Order::Mail(vec![(message_id(1), message("go"))]));
    approve(&mut actor).await;
    let msgs = actor.until_task_ends().await;
    tree.check_append(
        "agent took",
        expect![[r#"
            agent took
            message "by the way"
            item_started UserMessage
            item_completed UserMessage
            message "and"
            item_started UserMessage
            item_completed UserMessage"#]],
    );
    let sent = serde_json::to_string(&tree.stage.input_of(1)).unwrap();
    assert_eq!(sent.matches("by the way").count(), 1, "{sent}");
    assert_eq!(
        tree.host.fates(),
        ["start written", "take written", "end written"]
    );
    let kept = msgs.iter().find_map(|msg| match msg {
        EventMsg::ItemCompleted {
            item: TurnItem::UserMessage(item),
            ..
        } => item.metadata.clone(),
        _ => None,
    });
    assert_eq!(kept, Some(metadata));
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
        .give(Order::Mail(vec![(message_id(2), message("late"))]));
    actor.until_task_ends().await;
    assert_eq!(tree.stage.requests().len(), 2);
    assert_eq!(tree.host.results()[0].last_message.as_deref(), Some("done"));
}

#[tokio::test]
async fn mail_without_a_task_is_left_in_the_inbox() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    tree.host
        .give(Order::Mail(vec![(message_id(2), message("early"))]));
    actor.turn("hi").await;
    let sent = serde_json::to_string(&tree.stage.input_of(0)).unwrap();
    assert!(!sent.contains("early"), "{sent}");
}

/// Hands over something that counts once its answer is written.
#[derive(Debug)]
struct Delivering(ToolSpec);

#[async_trait]
impl Tool for Delivering {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn concurrency(&self) -> Concurrency {
        Concurrency::Shared
    }

    async fn call(&self, call: Call) -> ToolOutput {
        let context = &call.context;
        let text = format!("{} {}", context.model, context.message_index);
        ToolOutput::success(text).with_claim(Claim(7))
    }
}

fn delivering() -> Arc<dyn Tool> {
    Arc::new(Delivering(ToolSpec::Function {
        name: "deliver".to_owned(),
        description: String::new(),
        parameters: json!({ "type": "object" }),
    }))
}

/// A tree whose agents can also deliver.
async fn delivering_tree(screenplay: &str) -> Tree {
    let stage = Stage::new(screenplay).await;
    let stage = stage
        .approval(ApprovalPolicy::Untrusted)
        .sandbox(SandboxPolicy::workspace_write());
    let Tree { stage, host, store } = tree_on(stage);
    let member = Arc::clone(&host);
    let stage = stage.adjusting(move |setup| {
        setup.host = Some(member.clone());
        setup.tools.add(delivering());
    });
    Tree { stage, host, store }
}

#[tokio::test]
async fn what_an_answer_delivers_is_written_with_it() {
    let tree = delivering_tree(
        r#"
        [[scene]]
        [[scene.turn]]
        response_id = "resp_1"
        steps = [{ call = "deliver", call_id = "a", arguments = {} }]
        [[scene.turn]]
        steps = [{ say = "{{last_output}}" }]
        "#,
    )
    .await;
    let mut actor = tree.stage.start().await;
    let msgs = actor.turn("go").await;
    tree.check_append(
        "agent consumed",
        expect![[r#"
            agent consumed
            answer of a
            response_completed resp_1"#]],
    );
    assert_eq!(
        tree.host.fates(),
        ["start written", "claim written", "end written"]
    );
    // The surroundings, the message, the call.
    assert!(
        lines(&msgs).ends_with("Some(\"scripted-1 3\")"),
        "{}",
        lines(&msgs)
    );
}

#[tokio::test]
async fn what_an_answer_delivers_counts_also_if_the_task_is_stopped() {
    let tree = delivering_tree(
        r#"
        [[scene]]
        [[scene.turn]]
        steps = [
            { call = "shell_command", call_id = "asks", arguments = { command = "touch made" } },
            { call = "deliver", call_id = "a", arguments = {} },
        ]
        "#,
    )
    .await;
    let mut actor = tree.stage.start().await;
    tree.host.give(start(1, "go"));
    actor
        .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
        .await;
    // The answer waits for that of the call before it.
    while tools(&tree) != ["shell_command"] {
        tokio::task::yield_now().await;
    }
    actor.submit(Op::Interrupt).await;
    actor.until_task_ends().await;
    tree.check_append(
        "agent consumed",
        expect![[r#"
            agent consumed
            answer of asks
            answer of a
            message "<turn_aborted>"
            agent ended
            error fatal=true interrupted
            turn_aborted Interrupted"#]],
    );
    assert_eq!(
        tree.host.fates(),
        ["start written", "claim written", "end written"]
    );
}

/// Returns the tools that run.
fn tools(tree: &Tree) -> Vec<String> {
    match Host::vitals(&*tree.host).read().doing {
        Doing::Tools(tools) => tools,
        Doing::Idle | Doing::Model | Doing::Compacting => Vec::new(),
    }
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
    let abort = |task: SubmissionId| Order::Abort {
        task,
        reason: AbortReason::Interrupted,
    };
    tree.host.give(abort("another".into()));
    // A start while a task runs is nothing either.
    tree.host.give(start(2, "too early"));
    tree.host.give(Order::Tell(EventMsg::BackgroundEvent(
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
async fn lines_that_the_disk_refused_are_told_as_lost() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    tree.store.refuse(|record| {
        matches!(record, RolloutRecord::EventMsg(event)
            if matches!(event.msg, EventMsg::TurnComplete(_)))
    });
    tree.host.give(start(1, "go"));
    let msgs = actor.until_task_ends().await;
    assert!(
        lines(&msgs).ends_with("turn_aborted Error"),
        "{}",
        lines(&msgs)
    );
    assert_eq!(tree.host.fates(), ["start written", "end lost"]);
}

#[tokio::test]
async fn questions_are_told_and_those_of_others_passed_on() {
    let (tree, mut actor) = asking().await;
    for id in ["childs", "nobodys"] {
        let (id, decision) = (id.to_owned(), ReviewDecision::Denied);
        actor.submit(Op::ExecApproval { id, decision }).await;
    }
    let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    assert!(lines(&msgs).contains("under nobodys"), "{}", lines(&msgs));
    approve(&mut actor).await;
    actor.until_task_ends().await;
    let told = tree.host.told();
    expect![[r#"
        asking a
        decide childs Denied
        decide nobodys Denied
        answered a Approved"#]]
    .assert_eq(&told[2..6].join("\n"));
}

#[tokio::test]
async fn a_question_of_a_stopped_task_is_withdrawn() {
    let (tree, mut actor) = asking().await;
    actor.submit(Op::Interrupt).await;
    actor.until_task_ends().await;
    assert!(tree.host.told().contains(&"answered a Abort".to_owned()));
}

const COUNT: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "about three" }]
[[scene.turn]]
expect = "is not JSON"
steps = [{ say = "ANSWER" }]
"#;

async fn structured(answer: &str) -> (Tree, Vec<EventMsg>) {
    let tree = tree(&COUNT.replace("ANSWER", answer)).await;
    let mut actor = tree.stage.start().await;
    tree.host.give(Order::Start {
        task: "t".into(),
        message: message_id(1),
        mail: message("how many?"),
        output_schema: Some(json!({
            "type": "object",
            "required": ["count"],
            "properties": { "count": { "type": "integer" } },
        })),
    });
    let msgs = actor.until_task_ends().await;
    (tree, msgs)
}

#[tokio::test]
async fn an_answer_of_the_wrong_shape_may_be_given_again() {
    let (tree, msgs) = structured(r#"{\"count\": 3}"#).await;
    assert!(
        lines(&msgs).contains("warning the answer does not fit its output schema"),
        "{}",
        lines(&msgs)
    );
    let result = &tree.host.results()[0];
    assert_eq!(result.stop, StopReason::Completed);
    let value = json!({ "count": 3 });
    assert_eq!(result.output, Some(StructuredOutput::Valid { value }));
}

#[tokio::test]
async fn but_once_only() {
    let (tree, msgs) = structured("three, really").await;
    assert!(
        lines(&msgs).ends_with("turn_aborted Error"),
        "{}",
        lines(&msgs)
    );
    assert_eq!(tree.stage.requests().len(), 2);
    let result = &tree.host.results()[0];
    assert!(
        matches!(&result.stop, StopReason::OutputInvalid { message } if message.contains("JSON")),
        "{:?}",
        result.stop
    );
    assert!(matches!(
        result.output,
        Some(StructuredOutput::Invalid { .. })
    ));
}

#[tokio::test]
async fn the_result_tells_what_the_engine_saw() {
    let tree = tree(
        r#"
        [[scene]]
        [[scene.turn]]
        usage = { input = 100, output = 20 }
        steps = [
            { say = "let me see" },
            { call = "shell_command", arguments = { command = "exit 3" } },
            { custom = "apply_patch", input = """
*** Begin Patch
*** Update File: old
@@
-a
+b
*** Add File: new
+n
*** End Patch""" },
        ]
        [[scene.turn]]
        usage = { input = 200, output = 30 }
        steps = [{ say = "done" }]
        "#,
    )
    .await;
    tree.stage.write("old", "a\n");
    let mut actor = tree.stage.start().await;
    tree.host.give(start(1, "go"));
    actor.until_task_ends().await;
    let results = tree.host.results();
    let evidence = &results[0].evidence;
    assert_eq!(evidence.usage.total_tokens, 350);
    assert_eq!(evidence.messages, 2);
    assert_eq!(evidence.tool_use_count(), 2);
    assert_eq!(evidence.tool_calls["apply_patch"], 1);
    assert_eq!(evidence.commands.len(), 1);
    assert_eq!(evidence.commands[0].command, "exit 3");
    assert_eq!(evidence.commands[0].exit_code, Some(3));
    let files: Vec<String> = evidence
        .files
        .iter()
        .map(|file| {
            let name = file.path.file_name().unwrap().display();
            let short = |hash: &Option<String>| hash.as_ref().map(|hash| hash[..8].to_owned());
            format!("{name} {:?} {:?}", short(&file.before), short(&file.after))
        })
        .collect();
    expect![[r#"
        old Some("87428fc5") Some("02638299")
        new None Some("a4fb6214")"#]]
    .assert_eq(&files.join("\n"));
    assert!(evidence.started_at_ms > 0 && evidence.ended_at_ms >= evidence.started_at_ms);
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
    tree.host.give(Order::Record {
        records: vec![agent_line(
            Fact::Shut {
                agent: AgentId::ROOT,
            },
            None,
        )],
        events: vec![told("kept")],
        receipt: Some(tree.host.receipt("record")),
    });
    tree.host.give(Order::Tell(told("only told")));
    tree.host.give(Order::Operate(Op::SetThreadNote {
        note: " a   note ".to_owned(),
    }));
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
    assert_eq!(tree.host.fates(), ["record written"]);
    // Who resumes it knows that there are lines of a tree, and the note.
    let session = actor.session_id();
    actor.shut_down().await;
    assert!(!tree.host.give(Order::Tell(told("too late"))));
    let actor = tree.stage.resume(session).await;
    assert!(
        tree.host
            .told()
            .contains(&"opened has_agents=true".to_owned())
    );
    drop(actor);
}

#[tokio::test]
async fn a_review_is_the_trees_business() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    actor
        .submit(Op::Review {
            review_request: ReviewRequest {
                target: ReviewTarget::UncommittedChanges,
                user_facing_hint: None,
            },
        })
        .await;
    let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    expect!["error fatal=false there is nobody to review it"].assert_eq(&lines(&msgs));
}

#[tokio::test]
async fn who_looks_sees_what_the_agent_is_doing() {
    let tree = tree(
        r#"
        [[scene]]
        [[scene.turn]]
        usage = { input = 5, output = 1 }
        steps = [{ think = "**Reading the code**\n\nIt is long." }, { say = "so" }]
        "#,
    )
    .await;
    let mut actor = tree.stage.start().await;
    actor.turn("hi").await;
    let told = tree.host.told();
    let headlines = told.iter().filter(|told| told.starts_with("reasoning"));
    assert_eq!(
        headlines.collect::<Vec<_>>(),
        ["reasoning Reading the code"]
    );
    let pulse = Host::vitals(&*tree.host).read();
    assert_eq!(pulse.doing, Doing::Idle);
    assert_eq!(pulse.usage.total_tokens, 6);
    assert!(pulse.progress_at_ms > 0);

    let (tree, _actor) = asking().await;
    let pulse = Host::vitals(&*tree.host).read();
    assert_eq!(pulse.doing, Doing::Tools(vec!["shell_command".to_owned()]));
}

#[tokio::test]
async fn a_full_mailbox_keeps_clients_waiting_and_the_tree_not() {
    let tree = tree(HELLO).await;
    let mut actor = tree.stage.start().await;
    tree.host.close_doors();
    actor.say("hi").await;
    while tree.host.told().len() < 2 {
        tokio::task::yield_now().await;
    }
    let named = |name: usize| Op::SetThreadName {
        name: name.to_string(),
    };
    for name in 0..MAILBOX_MAX {
        actor.submit(named(name)).await;
    }
    tokio::select! {
        biased;
        _ = actor.submit(named(MAILBOX_MAX)) => panic!("the mailbox is full"),
        () = std::future::ready(()) => (),
    }
    let told = EventMsg::BackgroundEvent(BackgroundEvent::default());
    assert!(tree.host.give(Order::Tell(told)));
    tree.host.open_doors();
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::BackgroundEvent(_)))
        .await;
    let names = msgs
        .iter()
        .filter(|msg| matches!(msg, EventMsg::ThreadNameUpdated { .. }));
    assert_eq!(
        names.count(),
        MAILBOX_MAX,
        "in the order in which they came"
    );
}

#[tokio::test]
async fn a_fork_has_the_last_turns_and_an_answer_to_what_ran() {
    let stage = Stage::new(
        r#"
        [[scene]]
        when = "forked"
        [[scene.turn]]
        steps = [{ say = "so it is" }]
        [[scene]]
        [[scene.turn]]
        steps = [{ say = "answer one" }]
        [[scene.turn]]
        steps = [{ call = "shell_command", call_id = "a", arguments = { command = "touch made" } }]
        "#,
    )
    .await
    .approval(ApprovalPolicy::Untrusted)
    .sandbox(SandboxPolicy::workspace_write())
    .adjusting(|setup| setup.open_call_answer = Some("you are the fork".to_owned()));
    let mut source = stage.start().await;
    source.turn("question one").await;
    source.say("question two").await;
    source
        .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
        .await;
    let mut fork = stage
        .start_with(ConfigureSession {
            fork: Some(ForkPoint {
                session_id: source.session_id(),
                last_response_id: None,
                turns: Some(1),
            }),
            ..ConfigureSession::default()
        })
        .await;
    fork.turn("forked").await;
    let sent = serde_json::to_string(&stage.input_of(2)).unwrap();
    assert!(!sent.contains("question one"), "{sent}");
    assert!(sent.contains("question two"), "{sent}");
    assert!(sent.contains("you are the fork"), "{sent}");
    assert_eq!(sent.matches("<environment_context>").count(), 1, "{sent}");
}
