//! Settings of the daemon.

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_agents::RecoveryPolicy;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ServeSettings {
    /// The daemon, `troupe serve`.
    pub serve: DaemonSettings,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct DaemonSettings {
    /// What becomes of tasks that were cut off when the last daemon ended, by a crash or in order.
    resume: OnDaemonStart,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum OnDaemonStart {
    /// They stay interrupted until somebody resumes them.
    Leave,
    /// Their sessions are asked to go on, and those below them.
    Auto,
}

impl DaemonSettings {
    /// Returns how trees are taken up; none if that is left to `[agents]`.
    pub fn recovery(&self) -> Option<RecoveryPolicy> {
        match self.resume {
            OnDaemonStart::Leave => None,
            OnDaemonStart::Auto => Some(RecoveryPolicy::Continue),
        }
    }
}
