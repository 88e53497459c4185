//! An agent as the answers of this family show it.

use serde_json::{Map, Value, json};
use troupe_protocol::spawn::SpawnSpec;
use troupe_protocol::text::one_line;
use troupe_tree::status::CurrentStatus;

use crate::families::shape;
use crate::tree_access::{AgentView, SpawnedAgent};

use super::limits::LABEL_CHARS_MAX;

/// Returns the fields that every answer about an agent has.
pub(super) fn metadata(view: &AgentView) -> Map<String, Value> {
    let spec = view.spec.as_deref();
    let queue_position = match view.status {
        CurrentStatus::Queued { position } => Some(position),
        _ => None,
    };
    shape::present([
        ("session_id", json!(view.session)),
        ("agent_id", json!(view.agent)),
        ("parent_agent_id", json!(view.parent)),
        ("parent_session_id", json!(view.parent_session)),
        ("path", json!(view.path)),
        ("origin", json!(view.origin)),
        ("status", json!(view.status.row().subagents)),
        ("queue_position", json!(queue_position)),
        ("model", json!(spec.map(|spec| &spec.model))),
        ("label", json!(spec.and_then(|spec| spec.label.as_ref()))),
        ("summary", json!(spec.and_then(SpawnSpec::summary))),
        ("started_at_ms", json!(view.born_at_ms)),
        ("initial_message_count", json!(view.initial_message_count)),
        ("pending_messages", json!(view.pending.messages)),
        ("pending_interrupts", json!(view.pending.interrupts)),
    ])
}

/// Returns also what the agent does now.
pub(super) fn standing(view: &AgentView) -> Map<String, Value> {
    let mut object = shape::standing(view);
    object.extend(metadata(view));
    object
}

/// Returns a newborn with what was asked, what it got, and why.
pub(super) fn newborn(spawned: &SpawnedAgent) -> Map<String, Value> {
    let mut object = metadata(&spawned.view);
    object.extend(shape::present([
        ("requested", spawned.requested.clone()),
        ("effective", spawned.effective.clone()),
        ("why", json!(spawned.why)),
    ]));
    object
}

/// Makes a label one line; one that says nothing is none.
pub(super) fn label(text: Option<String>) -> Option<String> {
    text.map(|text| one_line(&text, LABEL_CHARS_MAX))
        .filter(|label| !label.is_empty())
}

#[cfg(test)]
mod tests;
