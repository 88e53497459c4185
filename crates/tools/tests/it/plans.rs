use expect_test::expect;
use serde_json::json;
use troupe_protocol::command::{PlanStep, StepStatus};
use troupe_protocol::policy::CollaborationMode;
use troupe_tools::ToolEvent;

use crate::support::Bench;

#[tokio::test]
async fn a_plan_is_passed_on() {
    let bench = Bench::new();
    let plan = json!({"explanation": "why", "plan": [{"step": "look", "status": "in_progress"}]});
    assert_eq!(bench.text("update_plan", plan).await, "Plan updated");
    let told = ToolEvent::Plan {
        explanation: Some("why".to_owned()),
        plan: vec![PlanStep {
            step: "look".to_owned(),
            status: StepStatus::InProgress,
        }],
    };
    assert_eq!(bench.channel.events(), [told]);
}

#[tokio::test]
async fn two_steps_at_once_and_plan_mode_are_refused() {
    let mut bench = Bench::new();
    let step = |status: &str| json!({"step": "look", "status": status});
    let plan = json!({"plan": [step("in_progress"), step("pending"), step("in_progress")]});
    expect!["2 steps are in_progress; mark at most one and send the plan again"]
        .assert_eq(&bench.text("update_plan", plan).await);
    bench.context.collaboration_mode = CollaborationMode::Plan;
    let text = bench
        .text("update_plan", json!({"plan": [step("pending")]}))
        .await;
    expect!["update_plan tracks work that is under way and is not available in plan mode; write the proposed plan in your answer instead"]
        .assert_eq(&text);
    let events = bench.channel.events();
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, ToolEvent::Plan { .. }))
    );
}
