//! Events that clients are told as they are, whatever came before.

use troupe_protocol::command::{PlanStep, StepStatus};
use troupe_protocol::{Event, EventMsg};

use crate::wire::notification::{
    DeprecationNotification, ProgressNotification, ServerNotification, TerminalNotification,
    ThreadNameUpdatedNotification, ThreadNoteUpdatedNotification, TurnDiffUpdatedNotification,
    TurnPlanStep, TurnPlanStepStatus, TurnPlanUpdatedNotification,
};

/// Returns nothing for an event of another kind.
pub(super) fn notice(thread: &str, event: &Event) -> Option<ServerNotification> {
    use ServerNotification as N;
    let thread_id = thread.to_owned();
    let turn_id = event.id.0.clone();
    Some(match &event.msg {
        EventMsg::TerminalInteraction {
            call_id,
            process_id,
            stdin,
        } => N::TerminalInteraction(TerminalNotification {
            thread_id,
            turn_id,
            item_id: call_id.0.clone(),
            process_id: process_id.clone(),
            stdin: stdin.clone(),
        }),
        EventMsg::McpToolCallProgress {
            call_id, message, ..
        } => N::McpToolCallProgress(ProgressNotification {
            thread_id,
            turn_id,
            item_id: call_id.0.clone(),
            message: message.clone().unwrap_or_default(),
        }),
        EventMsg::PlanUpdate { explanation, plan } => {
            N::TurnPlanUpdated(TurnPlanUpdatedNotification {
                thread_id,
                turn_id,
                explanation: explanation.clone(),
                plan: plan.iter().map(plan_step).collect(),
            })
        }
        EventMsg::TurnDiff { unified_diff } => N::TurnDiffUpdated(TurnDiffUpdatedNotification {
            thread_id,
            turn_id,
            diff: unified_diff.clone(),
        }),
        EventMsg::ThreadNameUpdated { thread_name } => {
            N::ThreadNameUpdated(ThreadNameUpdatedNotification {
                thread_id,
                thread_name: thread_name.clone(),
            })
        }
        EventMsg::ThreadNoteUpdated { thread_note } => {
            N::ThreadNoteUpdated(ThreadNoteUpdatedNotification {
                thread_id,
                thread_note: thread_note.clone(),
            })
        }
        EventMsg::DeprecationNotice { summary, details } => {
            N::DeprecationNotice(DeprecationNotification {
                summary: summary.clone(),
                details: details.clone(),
            })
        }
        _ => return None,
    })
}

fn plan_step(step: &PlanStep) -> TurnPlanStep {
    TurnPlanStep {
        step: step.step.clone(),
        status: match step.status {
            StepStatus::Pending => TurnPlanStepStatus::Pending,
            StepStatus::InProgress => TurnPlanStepStatus::InProgress,
            StepStatus::Completed => TurnPlanStepStatus::Completed,
        },
    }
}
