//! Agents, receipts and stops as tools answer with them.

use serde_json::{Map, Value, json};
use troupe_protocol::agent::AgentStatus;
use troupe_protocol::agent::WaitingOn;
use troupe_protocol::result::StopReason;
use troupe_protocol::tree::Interruption;
use troupe_store::UnixMillis;
use troupe_tree::effect::{DeliveryReceipt, HoldReason, StopSkipReason, UndeliverableReason};

use crate::tree_access::{AgentView, StopEntry, StopOutcome};

/// Returns an object of the given fields without those that are null.
pub(super) fn present<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Returns a moment as RFC 3339.
pub(super) fn timestamp(unix_ms: i64) -> String {
    UnixMillis(unix_ms).to_string()
}

/// Returns the wire form of a status.
pub(super) fn status(status: &AgentStatus) -> Value {
    serde_json::to_value(status).expect("a status has no keys that are not text")
}

/// Returns the names by which the caller can mean an agent from now on.
pub(super) fn names(view: &AgentView) -> Map<String, Value> {
    present([
        ("agent_id", json!(view.session)),
        ("agent_number", json!(view.agent)),
        ("path", json!(view.path)),
    ])
}

/// Returns what an agent does now and how it gets on, so that patience is informed.
pub(super) fn standing(view: &AgentView) -> Map<String, Value> {
    let is_active = !view.status.is_final();
    let pulse = view.pulse.as_ref().filter(|_| is_active);
    let tools = view.current_tools();
    let current_tool = (is_active && !tools.is_empty()).then(|| tools.join(", "));
    let progress = pulse.filter(|pulse| pulse.progress_at_ms > 0);
    let last_progress_sec = progress.map(|pulse| seconds(view.now_ms - pulse.progress_at_ms));
    let interrupts = Some(view.pending.interrupts).filter(|interrupts| *interrupts > 0);
    present([
        ("status", status(&view.wire_status())),
        ("reason", json!(view.status.interruption())),
        ("status_duration_sec", json!(view.status_duration_s())),
        ("waiting_on", json!(view.waiting_on())),
        ("current_tool", json!(current_tool)),
        ("last_progress_sec", json!(last_progress_sec)),
        ("reasoning_header", json!(view.reasoning_header)),
        ("pending_messages", json!(view.pending.messages)),
        ("pending_interrupts", json!(interrupts)),
    ])
}

/// Says why a task was interrupted.
pub(super) fn interruption(why: Interruption) -> &'static str {
    match why {
        Interruption::User => "interrupted by the user",
        Interruption::Parent => "interrupted by an agent above it",
        Interruption::Crash => "the engine died while it ran",
        Interruption::Shutdown => "the engine was shut down while it ran",
        Interruption::Reconfigured => "the session was configured anew while it ran",
    }
}

/// Says why a task was interrupted, if it was, as far as its result tells.
pub(super) fn interrupted(stop: &StopReason) -> Option<&'static str> {
    match stop {
        StopReason::Interrupted => Some("interrupted"),
        StopReason::Crash => Some(interruption(Interruption::Crash)),
        StopReason::Shutdown => Some(interruption(Interruption::Shutdown)),
        // Every other end has words of its own.
        _ => None,
    }
}

fn seconds(ms: i64) -> u64 {
    u64::try_from(ms / 1000).unwrap_or(0)
}

/// Returns what became of a message.
pub(super) fn receipt(receipt: DeliveryReceipt) -> Value {
    match receipt {
        DeliveryReceipt::Delivered => json!({"status": "delivered"}),
        DeliveryReceipt::Queued { position } => json!({"status": "queued", "position": position}),
        DeliveryReceipt::Held { why } => json!({"status": "held", "why": held(why)}),
        DeliveryReceipt::Dead { why } => json!({"status": "dead", "why": dead(why)}),
    }
}

fn held(why: HoldReason) -> String {
    match why {
        HoldReason::Waiting(on) => {
            format!(
                "the agent waits on {}; it reads the message after that",
                waited(on)
            )
        }
        HoldReason::Stopping => {
            "the agent's task is being interrupted; the message is next".to_owned()
        }
    }
}

fn waited(on: WaitingOn) -> &'static str {
    match on {
        WaitingOn::Model => "the model",
        WaitingOn::Tool => "a tool",
        WaitingOn::RateLimit => "a rate limit",
        WaitingOn::Approval => "an approval",
        WaitingOn::User => "the user",
        WaitingOn::Child => "a child",
        WaitingOn::Slot => "a free slot",
    }
}

fn dead(why: UndeliverableReason) -> &'static str {
    match why {
        UndeliverableReason::Closed => "the agent is closed; resume it and send again",
        UndeliverableReason::Pruned => "the agent was pruned; only its result is left",
        UndeliverableReason::Lost => "the log of the agent is gone; give its work to a new agent",
        UndeliverableReason::Stopping => "the agent is being stopped; send again when it has ended",
    }
}

/// Returns whom a stop touches and whom it leaves alone.
pub(super) fn stopped(stopped: &StopOutcome) -> Map<String, Value> {
    let touched: Vec<Value> = stopped
        .touched
        .iter()
        .map(|planned| plan_line(planned, "action", planned.what.as_str()))
        .collect();
    let skipped: Vec<Value> = stopped
        .skipped
        .iter()
        .map(|planned| plan_line(planned, "why", skip(planned.what)))
        .collect();
    let mut object = present([("touched", json!(touched))]);
    if !skipped.is_empty() {
        object.insert("skipped".to_owned(), json!(skipped));
    }
    object
}

/// Says that nothing was done, where that is so.
pub(super) fn mark_dry_run(object: &mut Map<String, Value>, is_rehearsal: bool) {
    if is_rehearsal {
        object.insert("dry_run".to_owned(), json!(true));
    }
}

fn plan_line<T>(planned: &StopEntry<T>, key: &str, what: &str) -> Value {
    let mut line = names(&planned.view);
    line.insert(key.to_owned(), json!(what));
    line.insert("status".to_owned(), status(&planned.view.wire_status()));
    Value::Object(line)
}

fn skip(why: StopSkipReason) -> &'static str {
    match why {
        StopSkipReason::Idle => "idle",
        StopSkipReason::Active => "active",
        StopSkipReason::AlreadyDone => "already_done",
        StopSkipReason::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests;
