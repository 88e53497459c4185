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
    let card = view.card();
    let (role, model) = card.made.map(|made| (made.role, made.model)).unzip();
    Agent {
        agent_id: card.agent_id.to_string(),
        thread_id: card.session_id.to_string(),
        parent_thread_id: card.parent_session_id.map(|id| id.to_string()),
        path: card.path,
        depth: card.depth,
        role,
        model,
        note: card.note,
        status: AgentStanding::from(&card.status),
        preview: card.preview,
        current_tools: card.current_tools,
        inbox: InboxDepth {
            messages: card.pending.messages,
            interrupts: card.pending.interrupts,
        },
        last_task_id: card.last_task.map(|task| task.0),
        born_at_ms: card.born_ms,
        since_ms: card.since_ms,
        total_tokens: card.tokens.own,
        subtree_tokens: card.tokens.subtree,
        pruned: card.pruned,
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
