//! Answers of a tree as wire types of the app-server.

use troupe_agents::tree_access::{AgentView, FinishedTarget, StopEntry};
use troupe_protocol::StopVerb;
use troupe_protocol::result::{self as core, StopReason, StructuredOutput, TaskResult};
use troupe_tree::effect::{self, StopSkipReason};

use crate::wire::tree::{
    Agent, AgentResult, AgentStanding, CommandEvidence, Evidence, FileEvidence, FinishedAgent,
    InboxDepth, Receipt, SkipReason, SkippedAgent, TouchedAgent,
};

pub(super) fn agent(view: &AgentView) -> Agent {
    let spec = view.spec.as_ref();
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Agent {
        agent_id: view.agent.to_string(),
        thread_id: view.session.to_string(),
        parent_thread_id: view.parent_session.map(|id| id.to_string()),
        path: view.path.clone(),
        depth: view.depth,
        role: spec.map(|spec| spec.agent_type.clone()),
        model: spec.map(|spec| spec.model.clone()),
        note: view.note.clone(),
        status: AgentStanding::from(&view.wire_status()),
        preview: view.preview.clone(),
        current_tools: view.current_tools().to_vec(),
        inbox: InboxDepth {
            messages: count(view.pending.messages),
            interrupts: count(view.pending.interrupts),
        },
        last_task_id: view.last_task.as_ref().map(|task| task.0.clone()),
        born_at_ms: view.born_at_ms,
        since_ms: view.since_ms,
        total_tokens: view.usage.total_tokens,
        subtree_tokens: view.subtree_usage.total_tokens,
        pruned: view.pruned,
    }
}

pub(super) fn receipt(receipt: effect::DeliveryReceipt) -> Receipt {
    match receipt {
        effect::DeliveryReceipt::Delivered => Receipt::Delivered,
        effect::DeliveryReceipt::Queued { position } => Receipt::Queued { position },
        effect::DeliveryReceipt::Held { .. } => Receipt::Held,
        effect::DeliveryReceipt::Dead { .. } => Receipt::Dead,
    }
}

pub(super) fn finished(finished: &FinishedTarget) -> FinishedAgent {
    FinishedAgent {
        asked: finished.asked.clone(),
        agent: finished.view.as_ref().map(agent),
        result: finished.result.as_deref().map(result),
    }
}

pub(super) fn result(result: &TaskResult) -> AgentResult {
    AgentResult {
        thread_id: result.session_id.to_string(),
        task_id: result.task_id.0.clone(),
        completed: result.stop == StopReason::Completed,
        text: result.text(),
        output: match &result.output {
            Some(StructuredOutput::Valid { value }) => Some(value.clone()),
            Some(StructuredOutput::Invalid { .. }) | None => None,
        },
        evidence: evidence(&result.evidence),
    }
}

fn evidence(seen: &core::Evidence) -> Evidence {
    let command = |seen: &core::CommandEvidence| CommandEvidence {
        command: seen.command.clone(),
        exit_code: seen.exit_code,
        refused: seen.refused,
    };
    let file = |seen: &core::FileEvidence| FileEvidence {
        path: seen.path.clone(),
        before: seen.before.clone(),
        after: seen.after.clone(),
    };
    Evidence {
        started_at_ms: seen.started_at_ms,
        ended_at_ms: seen.ended_at_ms,
        total_tokens: seen.usage.total_tokens,
        tool_calls: seen.tool_calls.clone(),
        commands: seen.commands.iter().map(command).collect(),
        files: seen.files.iter().map(file).collect(),
        omitted: seen.omitted,
        children: seen.children.iter().map(ToString::to_string).collect(),
    }
}

pub(super) fn touched(planned: &StopEntry<StopVerb>) -> TouchedAgent {
    TouchedAgent {
        agent: agent(&planned.view),
        action: planned.what,
    }
}

pub(super) fn skipped(planned: &StopEntry<StopSkipReason>) -> SkippedAgent {
    SkippedAgent {
        agent: agent(&planned.view),
        why: match planned.what {
            StopSkipReason::Idle => SkipReason::Idle,
            StopSkipReason::Active => SkipReason::Active,
            StopSkipReason::AlreadyDone => SkipReason::AlreadyDone,
            StopSkipReason::Unknown => SkipReason::Unknown,
        },
    }
}
