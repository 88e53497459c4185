//! The root was configured anew while agents below it were at work: their tasks began under
//! settings that no longer hold, so they end, as the root's own has.

use troupe_protocol::AgentId;
use troupe_protocol::spawn::CallbackConfig;
use troupe_protocol::tree::{CallbackMode, Caller, Keepsake};

use super::Supervisor;
use super::lines::Contents;
use crate::tree::Status;
use crate::tree::command::{Stop, StopMode, Verb, What};

/// Why tasks end, as their models are told.
const RECONFIGURED: &str = "reconfigured";

impl Supervisor {
    /// Takes what the root was configured with: limits, how it is told of its children. Every
    /// task below it ends; whoever writes to an agent has it go on.
    pub(super) fn reconfigured(&mut self) {
        self.tree.limit(self.shared.settings().tree().limits);
        self.keep_callback(None);
        self.interrupt_all();
        self.dismiss_idle();
    }

    /// Commands in the background end with their session, and whoever comes back has the tools
    /// and settings of now.
    fn dismiss_idle(&mut self) {
        for agent in self.tree.dismiss_idle() {
            self.leave(agent);
        }
    }

    /// Writes down how the root is told of its children, if something was said of it, and has
    /// those follow that inherit it. `kept` is what the log has.
    pub(super) fn keep_callback(&mut self, kept: Option<CallbackConfig>) {
        let Some(config) = self.shared.settings().settle_callback(kept) else {
            return;
        };
        let by = Caller::User;
        let enabled = config.enabled;
        let keepsake = Keepsake::Callback(config);
        self.drive(What::Keep { by, keepsake });
        let rebound: Vec<(AgentId, CallbackMode)> = self
            .members
            .iter()
            .filter_map(|(agent, member)| {
                let wish = member.spec.callback_wish.filter(|wish| wish.inherits)?;
                let callback = match (enabled, wish.mode) {
                    (false, _) => CallbackMode::Off,
                    // The one time has been.
                    (true, CallbackMode::Once) if member.has_answered => CallbackMode::Off,
                    (true, mode) => mode,
                };
                let node = self.tree.get(*agent)?;
                (node.bond.callback != callback).then_some((*agent, callback))
            })
            .collect();
        for (agent, callback) in rebound {
            self.drive(What::Rebind { agent, callback });
        }
    }

    /// Tasks that run are interrupted; those that wait for a slot have nothing to interrupt, so
    /// they are cancelled. The waiting ones come first, or they would take the slots.
    fn interrupt_all(&mut self) {
        let (running, idle): (Vec<AgentId>, Vec<AgentId>) = self
            .members
            .keys()
            .partition(|agent| self.tree.task_in_flight(**agent).is_some());
        let waiting = idle
            .into_iter()
            .filter(|agent| matches!(self.tree.status(*agent), Status::Queued { .. }));
        let waiting: Vec<AgentId> = waiting.collect();
        self.stop_all(Verb::Cancel, waiting);
        self.stop_all(Verb::Interrupt, running);
    }

    fn stop_all(&mut self, verb: Verb, targets: Vec<AgentId>) {
        if targets.is_empty() {
            return;
        }
        let stop = Stop {
            by: Caller::User,
            verb,
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
