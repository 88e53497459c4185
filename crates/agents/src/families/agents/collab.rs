//! The events that tell who does what with whom. Every begin has its end, also on failure.

use troupe_protocol::agent::{AgentStatus, CollabInteraction};
use troupe_protocol::{EventMsg, SessionId};
use troupe_tools::{ToolEvent, ToolInvocation};

/// What one agent does with another.
#[derive(Debug, Clone, Copy)]
pub(super) enum CollabAction {
    Message,
    Close,
    Resume,
}

impl CollabAction {
    fn begin(self, event: CollabInteraction) -> EventMsg {
        match self {
            Self::Message => EventMsg::CollabAgentInteractionBegin(event),
            Self::Close => EventMsg::CollabCloseBegin(event),
            Self::Resume => EventMsg::CollabResumeBegin(event),
        }
    }

    fn end(self, event: CollabInteraction) -> EventMsg {
        match self {
            Self::Message => EventMsg::CollabAgentInteractionEnd(event),
            Self::Close => EventMsg::CollabCloseEnd(event),
            Self::Resume => EventMsg::CollabResumeEnd(event),
        }
    }
}

/// A deed whose begin was told.
#[must_use = "an event that began must end"]
#[derive(Debug)]
pub(super) struct PendingCollab {
    deed: CollabAction,
    event: CollabInteraction,
}

impl PendingCollab {
    pub(super) async fn tell(
        call: &ToolInvocation,
        deed: CollabAction,
        receiver: SessionId,
        prompt: Option<String>,
    ) -> Self {
        let event = CollabInteraction {
            call_id: call.id.clone(),
            sender_thread_id: call.context.session_id,
            receiver_thread_id: receiver,
            prompt,
            status: None,
        };
        tell(call, deed.begin(event.clone())).await;
        Self { deed, event }
    }

    pub(super) async fn end(self, call: &ToolInvocation, status: AgentStatus) {
        let event = CollabInteraction {
            status: Some(status),
            ..self.event
        };
        tell(call, self.deed.end(event)).await;
    }
}

/// Passes an event on to whoever follows the caller.
pub(super) async fn tell(call: &ToolInvocation, event: EventMsg) {
    call.channel.report(ToolEvent::Other(Box::new(event))).await;
}
