//! `update_plan`: the model's list of steps, for people to follow.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::LazyLock;
use troupe_protocol::ResponseItem;
use troupe_protocol::command::{PlanStep, StepStatus};
use troupe_protocol::history::ToolOutputBody;
use troupe_protocol::policy::CollaborationMode;
use troupe_protocol::tool::ToolSpec;

use crate::arguments;
use crate::call::{ToolEvent, ToolInvocation};
use crate::item;
use crate::limits::PLAN_STEPS_MAX;
use crate::tool::{Tool, ToolConcurrency, ToolOutput};

const NAME: &str = "update_plan";
const DONE: &str = "Plan updated";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UpdatePlanArguments {
    /// Why the plan changes, in a sentence.
    explanation: Option<String>,
    /// All steps, in order. At most one is `in_progress`.
    plan: Vec<PlanStepArgument>,
}

// The protocol's `PlanStep`, strict: a field that nobody reads is a misunderstanding. (No doc
// comment: the model would be sent it.)
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlanStepArgument {
    step: String,
    status: StepStatus,
}

impl From<PlanStepArgument> for PlanStep {
    fn from(PlanStepArgument { step, status }: PlanStepArgument) -> Self {
        Self { step, status }
    }
}

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<UpdatePlanArguments>(
        NAME,
        "Shows your plan to the user. Send the whole list of steps each time one of them \
         changes its status; at most one step is in_progress at a time.",
    )
});

#[derive(Debug)]
pub(crate) struct UpdatePlan;

#[async_trait]
impl Tool for UpdatePlan {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Exclusive
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let UpdatePlanArguments { explanation, plan } = match arguments::parse(&call, &SPEC).await {
            Ok(arguments) => arguments,
            Err(output) => return output,
        };
        let plan: Vec<PlanStep> = plan.into_iter().map(PlanStep::from).collect();
        if let Err(problem) = check(&plan, call.context.collaboration_mode) {
            return item::failed(&call, NAME, problem).await;
        }
        call.channel
            .report(ToolEvent::Plan { explanation, plan })
            .await;
        ToolOutput::success(DONE)
    }
}

/// Returns the plan that a call set; none for a call of another tool, or one that was refused.
pub fn plan_set_by(call: &ResponseItem, answer: &ResponseItem) -> Option<Vec<PlanStep>> {
    let (
        ResponseItem::FunctionCall {
            name, arguments, ..
        },
        ResponseItem::FunctionCallOutput {
            output: ToolOutputBody::Text(text),
            ..
        },
    ) = (call, answer)
    else {
        return None;
    };
    if name != NAME || text != DONE {
        return None;
    }
    let arguments: UpdatePlanArguments = serde_json::from_str(arguments).ok()?;
    Some(arguments.plan.into_iter().map(PlanStep::from).collect())
}

fn check(plan: &[PlanStep], mode: CollaborationMode) -> Result<(), String> {
    if mode == CollaborationMode::Plan {
        return Err(
            "update_plan tracks work that is under way and is not available in plan mode; \
             write the proposed plan in your answer instead"
                .to_owned(),
        );
    }
    if plan.len() > PLAN_STEPS_MAX {
        return Err(format!(
            "the plan has {} steps; send at most {PLAN_STEPS_MAX}",
            plan.len()
        ));
    }
    let running = plan
        .iter()
        .filter(|step| step.status == StepStatus::InProgress)
        .count();
    if running > 1 {
        return Err(format!(
            "{running} steps are in_progress; mark at most one and send the plan again"
        ));
    }
    Ok(())
}
