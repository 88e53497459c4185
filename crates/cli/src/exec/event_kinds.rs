//! Which events a headless run leaves out on purpose.
//!
//! Both projections ask here, and show what neither they nor this list know: an event
//! that is new to the protocol must not vanish.

use troupe_protocol::EventMsg;

/// Tells whether an event repeats under an older name what an item event told.
pub fn is_older_name(msg: &EventMsg) -> bool {
    matches!(
        msg,
        EventMsg::UserMessage { .. }
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
    )
}

/// Tells whether an event is about something that a headless run does not show: the
/// bookkeeping of the session, and questions, which are answered elsewhere.
pub fn is_beside_the_task(msg: &EventMsg) -> bool {
    matches!(
        msg,
        EventMsg::ThreadNameUpdated { .. }
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
            | EventMsg::AgentInbox(_)
    )
}

/// Tells whether calls of this tool are told by events of their own. One that was refused
/// before it began is not.
pub fn is_collaboration(tool: &str) -> bool {
    matches!(
        tool,
        "spawn_agent" | "send_input" | "wait" | "close_agent" | "resume_agent"
    )
}
