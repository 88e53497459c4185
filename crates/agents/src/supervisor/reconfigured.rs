//! The root was configured anew while agents below it were at work: their tasks began under
//! settings that no longer hold, so they end, as the root's own has.

use troupe_protocol::AgentId;
use troupe_protocol::tree::Caller;

use super::Supervisor;
use super::lines::Contents;
use crate::tree::command::{Stop, StopMode, Verb, What};

/// Why tasks end, as their models are told.
const RECONFIGURED: &str = "reconfigured";

impl Supervisor {
    /// Interrupts every task below the root. Whoever writes to an agent has it go on.
    pub(super) fn reconfigured(&mut self) {
        let children = self.members.keys().copied();
        let targets: Vec<AgentId> = children
            .filter(|agent| self.tree.task_in_flight(*agent).is_some())
            .collect();
        let stop = Stop {
            by: Caller::User,
            verb: Verb::Interrupt,
            targets,
            mode: StopMode::Act,
        };
        let contents = Contents {
            note: Some(RECONFIGURED.to_owned()),
            ..Contents::default()
        };
        match self.command(What::Stop(stop)) {
            Ok(effects) => self.perform(effects, contents),
            Err(trouble) => {
                let text = format!("agents go on under the earlier configuration: {trouble}");
                self.warn(AgentId::ROOT, text);
            }
        }
    }
}
