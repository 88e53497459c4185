//! Which events a headless run leaves out on purpose.
//!
//! Both projections ask here. The match names every event, so the compiler asks where one that is
//! new to the protocol belongs: it must not vanish.

use troupe_protocol::EventMsg;

/// Tells whether a headless run shows nothing for an event.
pub fn is_left_out(msg: &EventMsg) -> bool {
    match msg {
        EventMsg::SessionConfigured(_)
        | EventMsg::TurnStarted(_)
        | EventMsg::TurnComplete(_)
        | EventMsg::TurnAborted(_)
        | EventMsg::TokenCount { .. }
        | EventMsg::Error(_)
        | EventMsg::StreamError(_)
        | EventMsg::Warning { .. }
        | EventMsg::DeprecationNotice { .. }
        | EventMsg::ItemStarted { .. }
        | EventMsg::ItemCompleted { .. }
        | EventMsg::PlanUpdate { .. }
        | EventMsg::SubagentLifecycle(_)
        | EventMsg::CollabAgentSpawnBegin(_)
        | EventMsg::CollabAgentSpawnEnd(_)
        | EventMsg::CollabAgentInteractionBegin(_)
        | EventMsg::CollabAgentInteractionEnd(_)
        | EventMsg::CollabWaitingBegin(_)
        | EventMsg::CollabWaitingEnd(_)
        | EventMsg::CollabCloseBegin(_)
        | EventMsg::CollabCloseEnd(_)
        | EventMsg::CollabResumeBegin(_)
        | EventMsg::CollabResumeEnd(_) => false,
        // Pieces of what comes whole later.
        EventMsg::AgentMessageContentDelta(_)
        | EventMsg::PlanDelta(_)
        | EventMsg::ReasoningContentDelta(_)
        | EventMsg::ReasoningRawContentDelta(_)
        | EventMsg::AgentReasoningSectionBreak { .. }
        | EventMsg::ExecCommandOutputDelta(_)
        | EventMsg::TurnDiff { .. }
        // What an item event told, under its older name.
        | EventMsg::UserMessage { .. }
        | EventMsg::AgentMessage { .. }
        | EventMsg::AgentReasoning { .. }
        | EventMsg::AgentReasoningRawContent { .. }
        | EventMsg::ExecCommandBegin(_)
        | EventMsg::ExecCommandEnd(_)
        | EventMsg::PatchApplyBegin { .. }
        | EventMsg::PatchApplyEnd { .. }
        | EventMsg::ViewImageToolCall { .. }
        | EventMsg::McpToolCallBegin { .. }
        | EventMsg::McpToolCallEnd { .. }
        | EventMsg::ContextCompacted
        // The bookkeeping of the session, and questions, which are answered elsewhere.
        | EventMsg::ThreadNameUpdated { .. }
        | EventMsg::ThreadNoteUpdated { .. }
        | EventMsg::TurnContextUpdated(_)
        | EventMsg::ShutdownComplete
        | EventMsg::ResponseCompleted { .. }
        | EventMsg::SteerReceipt(_)
        | EventMsg::ThreadRolledBack { .. }
        | EventMsg::ItemsInjected { .. }
        | EventMsg::UndoStarted { .. }
        | EventMsg::UndoCompleted(_)
        | EventMsg::BackgroundEvent(_)
        | EventMsg::TerminalInteraction { .. }
        | EventMsg::McpStartupUpdate { .. }
        | EventMsg::McpStartupComplete { .. }
        | EventMsg::ExecApprovalRequest(_)
        | EventMsg::ApplyPatchApprovalRequest(_)
        | EventMsg::ApprovalResolved { .. }
        | EventMsg::RequestUserInput(_)
        | EventMsg::UserInputResolved { .. }
        | EventMsg::ElicitationRequest(_)
        | EventMsg::ElicitationResolved { .. }
        | EventMsg::McpListToolsResponse(_)
        | EventMsg::McpToolCallProgress { .. }
        | EventMsg::EnteredReviewMode { .. }
        | EventMsg::ExitedReviewMode { .. }
        | EventMsg::ListSkillsResponse { .. }
        | EventMsg::ListModelsResponse(_)
        | EventMsg::AgentInbox(_) => true,
    }
}

/// Tells whether calls of this tool are told by events of their own. One that was refused
/// before it began is not.
pub fn is_collaboration(tool: &str) -> bool {
    matches!(
        tool,
        "spawn_agent" | "send_input" | "wait" | "close_agent" | "resume_agent"
    )
}
