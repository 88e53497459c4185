//! Stops.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troupe_agents::tree_access::{StopEntry, StopOutcome};
use troupe_protocol::{AgentId, SessionId, StopVerb};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StopRequest {
    /// What is done; `cancel` if absent.
    #[serde(default = "cancel")]
    pub verb: StopVerb,
    /// Only tell what would be touched.
    #[serde(default)]
    pub dry_run: bool,
    /// Why, for the record.
    pub note: Option<String>,
}

fn cancel() -> StopVerb {
    StopVerb::Cancel
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StopView {
    pub touched: Vec<StoppedSession>,
    pub skipped: Vec<SkippedSession>,
    pub dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StoppedSession {
    pub session_id: SessionId,
    pub agent_id: AgentId,
    pub path: String,
    /// Its status before.
    pub was: String,
    pub verb: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkippedSession {
    pub session_id: SessionId,
    pub agent_id: AgentId,
    pub path: String,
    pub why: &'static str,
}

impl StopView {
    pub(crate) fn new(outcome: StopOutcome, dry_run: bool) -> Self {
        let touched = outcome.touched.into_iter().map(|entry| {
            let StopEntry { view, what } = entry;
            StoppedSession {
                session_id: view.session,
                agent_id: view.agent,
                was: view.status.row().agents.to_owned(),
                path: view.path,
                verb: what.as_str(),
            }
        });
        let skipped = outcome.skipped.into_iter().map(|entry| {
            let StopEntry { view, what } = entry;
            SkippedSession {
                session_id: view.session,
                agent_id: view.agent,
                path: view.path,
                why: what.told(),
            }
        });
        Self {
            touched: touched.collect(),
            skipped: skipped.collect(),
            dry_run,
        }
    }
}
