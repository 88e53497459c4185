//! Prompts to sessions that are there.

use troupe_protocol::tree::AgentMessage;
use troupe_tree::command::SendUrgency;
use troupe_tree::effect::{DeliveryReceipt, UndeliverableReason};

use super::tasks::begun_task;
use crate::members::user;
use crate::problem::Problem;
use crate::route::{NoMembers, RouteCall, RouteReply};
use crate::wire::task::{PromptDelivery, PromptRequest, TaskStage, TaskView, check_prompt};

pub(crate) async fn prompt(
    call: RouteCall<NoMembers, PromptRequest>,
) -> Result<RouteReply<TaskView>, Problem> {
    check_prompt(&call.body.prompt)?;
    let found = call.daemon.find(call.path.get("session")).await?;
    let RouteCall { daemon, body, .. } = call;
    let thread = daemon.open(found).await?;
    let urgency = match body.delivery {
        PromptDelivery::Steer => SendUrgency::Regular,
        PromptDelivery::Interrupt => SendUrgency::Interrupt,
    };
    let message = AgentMessage::text(body.prompt.clone());
    let sent = user(&thread)
        .send(&found.address(), message, urgency)
        .await?;
    let (status, queue_position) = match sent.receipt {
        DeliveryReceipt::Delivered => (TaskStage::Running, None),
        DeliveryReceipt::Queued { position } => (TaskStage::Queued, Some(position)),
        DeliveryReceipt::Held { .. } => (TaskStage::Queued, None),
        DeliveryReceipt::Dead { why } => return Err(not_taken(why)),
    };
    let id = sent.task.0;
    let log = daemon.read_log(found.session).await?;
    let joined = log
        .tasks
        .iter()
        .find(|task| task.id == id && task.end.is_none());
    let task = match joined {
        // What it said itself is the prompt of the task; ours joins it.
        Some(task) => TaskView {
            queue_position,
            ..task.view(found.session, true)
        },
        None => TaskView {
            status,
            queue_position,
            ..begun_task(found.session, id, body.prompt)
        },
    };
    let location = format!("/v1/tasks/{}", task.id);
    Ok(RouteReply::new(task).location(location))
}

fn not_taken(why: UndeliverableReason) -> Problem {
    let (code, detail) = match why {
        UndeliverableReason::Closed => (
            "closed",
            "the session is closed; POST …/resume brings it back",
        ),
        UndeliverableReason::Pruned => ("pruned", "it was pruned; only its results are left"),
        UndeliverableReason::Lost => ("lost", "its log is gone; give its work to another session"),
        UndeliverableReason::Stopping => (
            "stopping",
            "it is being stopped; try again when it has ended",
        ),
    };
    Problem::conflict(code, detail)
}
