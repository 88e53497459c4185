//! `Op::Review`: a reviewer looks at a change and answers in a shape.

use serde_json::json;
use troupe_agents::Family;
use troupe_protocol::EventMsg;
use troupe_protocol::event::ReviewOutput;
use troupe_protocol::op::{Op, ReviewRequest, ReviewTarget};
use troupe_protocol::policy::SandboxPolicy;
use troupe_testkit::{Actor, Stage};
use troupe_tree::command::SendUrgency;

use super::cast::{is_completed, is_running, message};
use super::play::{agent, call, end, requests_of, scene, until_there};

fn output() -> serde_json::Value {
    json!({
        "findings": [{
            "title": "off by one",
            "body": "the last line is left out",
            "confidence_score": 0.5,
            "priority": 1,
            "code_location": {
                "absolute_file_path": "/src/lines.rs",
                "line_range": {"start": 3, "end": 4},
            },
        }],
        "overall_correctness": "patch is incorrect",
        "overall_explanation": "one defect",
        "overall_confidence_score": 0.75,
    })
}

/// Asks for a review by a model that does this, and returns what was told until its end.
async fn review(turns: &[&str]) -> (Stage, Actor, Vec<EventMsg>) {
    let stage = Stage::new(&scene("", turns))
        .await
        .sandbox(SandboxPolicy::workspace_write())
        .with_agents(&[Family::Agents]);
    let mut actor = stage.start().await;
    let review_request = ReviewRequest {
        target: ReviewTarget::Custom {
            instructions: "look at lines.rs".to_owned(),
        },
        user_facing_hint: Some("lines".to_owned()),
    };
    actor.submit(Op::Review { review_request }).await;
    let told = actor
        .until(|msg| matches!(msg, EventMsg::ExitedReviewMode { .. }))
        .await;
    (stage, actor, told)
}

fn findings(told: &[EventMsg]) -> Option<&ReviewOutput> {
    match told.last() {
        Some(EventMsg::ExitedReviewMode { review_output }) => review_output.as_ref(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_review_is_entered_and_left_with_its_findings() {
    let say = format!("{{ say = '{}' }}", output());
    let (stage, actor, told) = review(&[&say]).await;
    let entered = told.iter().any(|msg| {
        matches!(msg, EventMsg::EnteredReviewMode { user_facing_hint: Some(hint), .. } if hint == "lines")
    });
    assert!(entered, "{told:#?}");
    let expected: ReviewOutput = serde_json::from_value(output()).unwrap();
    assert_eq!(findings(&told), Some(&expected));
    let reviewer = agent(&actor, "/root/review").await;
    let request = &requests_of(&stage, reviewer.session)[0];
    assert!(request["input"].to_string().contains("look at lines.rs"));
    assert!(request["text"]["format"]["schema"].is_object());
    end(actor).await;
}

#[tokio::test]
async fn a_review_that_never_fits_its_shape_has_no_findings() {
    let (_stage, actor, told) = review(&["{ say = 'looks fine' }", "{ say = 'really' }"]).await;
    assert_eq!(findings(&told), None);
    end(actor).await;
}

#[tokio::test]
async fn a_reviewer_changes_nothing() {
    let touch = call(&("shell_command", json!({"command": "touch made"})));
    let say = format!("{{ say = '{}' }}", output());
    let (stage, actor, told) = review(&[&touch, &say]).await;
    assert!(findings(&told).is_some());
    assert!(!stage.cwd().join("made").exists());
    end(actor).await;
}

fn exits(actor: &Actor) -> usize {
    let events = actor.seen().iter();
    let is_exit = |msg: &EventMsg| matches!(msg, EventMsg::ExitedReviewMode { .. });
    events.filter(|event| is_exit(&event.msg)).count()
}

#[tokio::test]
async fn a_review_that_is_cancelled_before_it_begins_is_left_once() {
    let spawn = call(&(
        "spawn_agent",
        json!({"message": "sleep", "task_name": "sleeper"}),
    ));
    let children = scene("sleep", &[&until_there("never")]);
    let root = scene("begin", &[&spawn, "{ say = 'spawned' }"]);
    let stage = Stage::new(&(children + &root)).await;
    let mut options = stage.tree_options(&[Family::Agents]);
    options.limits.max_threads = 1;
    let stage = stage.with_tree(options);
    let mut actor = stage.start().await;
    actor.turn("begin").await;
    let review_request = ReviewRequest {
        target: ReviewTarget::UncommittedChanges,
        user_facing_hint: None,
    };
    actor.submit(Op::Review { review_request }).await;
    actor
        .until(|msg| matches!(msg, EventMsg::EnteredReviewMode { .. }))
        .await;
    actor.agents().cancel_reviews().await.unwrap();
    let told = actor
        .until(|msg| matches!(msg, EventMsg::ExitedReviewMode { .. }))
        .await;
    assert_eq!(findings(&told), None);
    assert_eq!(exits(&actor), 1);
    actor.shut_down().await;
}

#[tokio::test]
async fn what_a_reviewer_does_later_is_no_part_of_its_review() {
    let say = format!("{{ say = '{}' }}", output());
    let (_stage, mut actor, told) = review(&[&say, &say]).await;
    assert!(findings(&told).is_some());
    actor.agents().wait_until_idle().await;
    let desk = actor.agents().user();
    let sent = desk.send("/root/review", message("look again"), SendUrgency::Regular);
    sent.await.unwrap();
    actor.until(is_running(1)).await;
    actor.until(is_completed(1)).await;
    assert_eq!(exits(&actor), 1);
    end(actor).await;
}
