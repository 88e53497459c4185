//! What an `agent` line says, without the long texts.

use troupe_protocol::SessionId;
use troupe_protocol::result::{StopReason, TaskResult};
use troupe_protocol::tree::{AgentLine, TimeMs, TreeFact};

use crate::store::LogPosition;

use super::beginning;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AgentLineDigest {
    /// Where the line begins.
    pub(crate) position: LogPosition,
    pub(crate) tree: SessionId,
    pub(crate) order: u64,
    pub(crate) at: TimeMs,
    pub(crate) fact: TreeFact,
    pub(crate) role: Option<String>,
    pub(crate) label: Option<String>,
    pub(crate) result: Option<ResultDigest>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ResultDigest {
    pub(crate) stop: StopReason,
    pub(crate) last_message: Option<String>,
    pub(crate) tokens: u64,
}

impl AgentLineDigest {
    pub(crate) fn of(line: AgentLine, position: LogPosition) -> Self {
        let (role, label) = match line.spec {
            Some(spec) => (Some(spec.agent_type), spec.label),
            None => (None, None),
        };
        Self {
            position,
            tree: line.tree,
            order: line.record.order,
            at: line.record.at,
            fact: line.record.fact,
            role,
            label,
            result: line.result.map(|result| ResultDigest::of(*result)),
        }
    }
}

impl ResultDigest {
    fn of(result: TaskResult) -> Self {
        Self {
            stop: result.stop,
            last_message: result.last_message.as_deref().and_then(beginning),
            tokens: result.evidence.usage.total_tokens,
        }
    }
}
