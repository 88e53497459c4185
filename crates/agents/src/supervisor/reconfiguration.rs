//! The root was configured anew while agents below it were at work: their tasks began under
//! settings that no longer hold, so they end, as the root's own has.

use tokio::sync::oneshot;
use troupe_protocol::AgentId;
use troupe_protocol::spawn::CallbackConfig;
use troupe_protocol::tree::{AgentMetadata, CallbackMode, Caller};
use troupe_tree::CurrentStatus;
use troupe_tree::command::TreeAction;

use super::Supervisor;
use super::fact_lines::FactContents;
use super::requests::answer;
use super::step_queue::SupervisorStep;
use crate::tree_access::TreeError;

/// Why tasks end, as their models are told.
const RECONFIGURED: &str = "reconfigured";

impl Supervisor {
    /// Takes what the root was configured with: limits, how it is told of its children. Every
    /// task below it ends; whoever writes to an agent has it go on.
    pub(super) fn reconfigured(&mut self) {
        self.tree.limit(self.shared.settings().tree().limits);
        self.keep_settings(None);
        self.interrupt_all();
        self.dismiss_idle();
    }

    /// Commands in the background end with their session, and whoever comes back has the tools
    /// and settings of now.
    fn dismiss_idle(&mut self) {
        for agent in self.tree.dismiss_idle() {
            self.members.unload(agent);
        }
    }

    /// Writes down what the root said of its tree: whether it has tools for it, and how it is
    /// told of its children. Those follow that inherit it. `kept` is what the log has.
    pub(super) fn keep_settings(&mut self, kept: Option<CallbackConfig>) {
        if let Some(enabled) = self.shared.settings().take_unwritten_enabled() {
            let (by, keepsake) = (Caller::User, AgentMetadata::Enabled { enabled });
            self.drive(TreeAction::Keep { by, keepsake });
        }
        let Some(config) = self.shared.settings().settle_callback(kept) else {
            return;
        };
        let by = Caller::User;
        let enabled = config.enabled;
        let keepsake = AgentMetadata::Callback(config);
        self.drive(TreeAction::Keep { by, keepsake });
        self.rebind_inheriting(enabled);
    }

    /// Changes how the root is told of its children, while it and they go on with what they do.
    /// Answers when that is on disk.
    pub(super) fn set_callback(
        &mut self,
        config: CallbackConfig,
        reply: oneshot::Sender<Result<(), TreeError>>,
    ) {
        let enabled = config.enabled;
        let kept = TreeAction::Keep {
            by: Caller::User,
            keepsake: AgentMetadata::Callback(config.clone()),
        };
        match self.command(kept) {
            Err(trouble) => answer(reply, Err(trouble)),
            Ok(effects) => {
                self.perform(effects, FactContents::default());
                self.shared.settings().set_callback(config);
                self.rebind_inheriting(enabled);
                let told = move |_: &mut Self| answer(reply, Ok(()));
                self.steps.push(SupervisorStep::Answer(Box::new(told)));
            }
        }
    }

    /// Has the ends of those children be told, or not be told, that say nothing of it themselves.
    fn rebind_inheriting(&mut self, enabled: bool) {
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
                let node = self.tree.get(agent)?;
                (node.bond.callback != callback).then_some((agent, callback))
            })
            .collect();
        for (agent, callback) in rebound {
            self.drive(TreeAction::Rebind { agent, callback });
        }
    }

    /// Their parents are told when their next tasks begin, as of those that were cut off with
    /// the engine: a callback would begin a task that nobody asked for.
    fn interrupt_all(&mut self) {
        let ends = |agent: &AgentId| {
            let is_queued = matches!(self.tree.status(*agent), CurrentStatus::Queued { .. });
            is_queued || self.tree.task_in_flight(*agent).is_some()
        };
        let ended: Vec<AgentId> = self.members.agents().filter(ends).collect();
        self.news.note_cut_off(ended);
        let contents = FactContents {
            note: Some(RECONFIGURED.to_owned()),
            ..FactContents::default()
        };
        match self.command(TreeAction::Reconfigure) {
            Ok(effects) => self.perform(effects, contents),
            Err(trouble) => {
                let text = format!("agents go on under the earlier configuration: {trouble}");
                self.warn(AgentId::ROOT, text);
            }
        }
    }
}
