//! What the tree is told, and what it makes of a session.

use expect_test::expect;
use troupe_engine::{ActivityKind, SessionHost};
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::op::{ConfigureSession, ForkPoint, Op, ReviewRequest, ReviewTarget};
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_protocol::spawn::AnsweredCall;
use troupe_protocol::{CallId, EventMsg};
use troupe_testkit::Stage;

use super::{HELLO, approve, asking, lines, tree};

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
        decide childs ExecDecision(Denied)
        decide nobodys ExecDecision(Denied)
        answered a Decision(Approved)"#]]
    .assert_eq(&told[2..6].join("\n"));
}

#[tokio::test]
async fn a_question_of_a_stopped_task_is_withdrawn() {
    let (tree, mut actor) = asking().await;
    actor.submit(Op::Interrupt).await;
    actor.until_task_ends().await;
    assert!(
        tree.host
            .told()
            .contains(&"answered a Decision(Abort)".to_owned())
    );
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
    let pulse = SessionHost::activity_handle(&*tree.host).read();
    assert_eq!(pulse.doing, ActivityKind::Idle);
    assert_eq!(pulse.usage.total_tokens, 6);
    assert!(pulse.progress_at_ms > 0);

    let (tree, _actor) = asking().await;
    let pulse = SessionHost::activity_handle(&*tree.host).read();
    assert_eq!(
        pulse.doing,
        ActivityKind::Tools(vec!["shell_command".to_owned()])
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
    .adjusting(|setup| {
        setup.forking_call = Some(AnsweredCall {
            call_id: CallId("a".to_owned()),
            answer: "you are the fork".to_owned(),
        });
    });
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
                turn: None,
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
