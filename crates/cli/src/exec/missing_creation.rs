//! Agents of an older tree were made before there was anybody here to tell. Whoever first
//! hears of one is told who it is.

use troupe_agents::AgentsConfigurator;
use troupe_protocol::agent::SubagentLifecycle;
use troupe_protocol::{Event, EventMsg};

use crate::exec::roster::AgentRoster;

/// Returns the event that makes an agent known, if `event` is about one that is not.
pub async fn missing_creation_event(
    configurator: &AgentsConfigurator,
    roster: &AgentRoster,
    event: &Event,
) -> Option<Event> {
    let EventMsg::SubagentLifecycle(SubagentLifecycle::Status { agent_id, .. }) = &event.msg else {
        return None;
    };
    if roster.knows(*agent_id) {
        return None;
    }
    let desk = configurator.agents()?.user();
    // A tree that is ending cannot be asked; its agents have their numbers.
    let view = desk.view(&agent_id.to_string()).await.ok()?;
    let subagent = view.summary();
    Some(Event {
        msg: EventMsg::SubagentLifecycle(SubagentLifecycle::Created { subagent }),
        ..event.clone()
    })
}
