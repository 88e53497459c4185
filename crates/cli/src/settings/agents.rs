//! The agent tree: which tools it has, how large it may grow, how parents are told.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_agents::roles::{ModelPreference, TypeChoices};
use troupe_agents::{Family, RecoveryPolicy, TreeSettings};
use troupe_protocol::policy::ReasoningEffort;
use troupe_protocol::spawn::CallbackConfig;
use troupe_tree::limits::{OnLimit, TreeLimits};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct AgentSettings {
    /// Agents that run other agents.
    pub agents: AgentTree,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct AgentTree {
    /// Offer tools for making children. Trees of older sessions are there all the same, and
    /// so are reviews.
    enabled: bool,
    /// Which sets of tools are offered.
    tools: Vec<Family>,
    /// Children that run at the same time.
    max_threads: NonZeroUsize,
    /// What a child meets when so many run.
    on_limit: WhenFull,
    /// How deep children may have children; 0 allows none.
    max_depth: u32,
    /// Agents of one tree, the first one included.
    max_agents: NonZeroUsize,
    /// Children that one tree makes in a minute; more are refused.
    max_spawns_per_minute: NonZeroUsize,
    /// Agents kept in memory while they are idle. The others are read again when they are
    /// needed.
    max_resident: NonZeroUsize,
    /// How an agent is told that a child of its is done.
    pub callback: CallbackConfig,
    /// What becomes of children that were at work when a session ended, once it is resumed.
    on_resume: OnResume,
    /// Models and efforts of agent types, by the name of the type: `[agents.types.tester]`. They
    /// count before what the file of the type says.
    types: BTreeMap<String, AgentType>,
}

/// What one type of agents thinks with.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct AgentType {
    /// The model of agents of this type.
    model: Option<String>,
    /// How hard they think.
    reasoning_effort: Option<ReasoningEffort>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum WhenFull {
    /// It waits for its turn.
    Queue,
    /// It is not made.
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum OnResume {
    /// They stay interrupted until somebody writes to them.
    Leave,
    /// They are asked to go on.
    Continue,
}

impl AgentTree {
    /// Returns the same, with or without tools.
    #[must_use]
    pub fn enabled(self, enabled: bool) -> Self {
        Self { enabled, ..self }
    }

    /// Returns the sets of tools that are offered.
    pub fn families(&self) -> &[Family] {
        if self.enabled { &self.tools } else { &[] }
    }

    pub fn limits(&self) -> TreeLimits {
        TreeLimits {
            max_threads: self.max_threads.get(),
            on_limit: match self.on_limit {
                WhenFull::Queue => OnLimit::Queue,
                WhenFull::Error => OnLimit::Error,
            },
            max_depth: self.max_depth,
            max_agents: self.max_agents.get(),
            max_spawns_per_minute: self.max_spawns_per_minute.get(),
            max_resident: self.max_resident.get(),
        }
    }

    /// Returns everything that holds for the tree of one session. `recovery` is what was asked
    /// for beside the configuration.
    pub fn tree(&self, recovery: Option<RecoveryPolicy>) -> TreeSettings {
        TreeSettings {
            limits: self.limits(),
            families: self.families().to_vec(),
            types: self.types(),
            recovery: recovery.unwrap_or_else(|| self.recovery()),
        }
    }

    pub fn types(&self) -> TypeChoices {
        let choices = self.types.iter().map(|(name, chosen)| {
            let choice = ModelPreference {
                model: chosen.model.clone(),
                reasoning_effort: chosen.reasoning_effort,
            };
            (name.clone(), choice)
        });
        choices.collect()
    }

    pub fn recovery(&self) -> RecoveryPolicy {
        match self.on_resume {
            OnResume::Leave => RecoveryPolicy::Leave,
            OnResume::Continue => RecoveryPolicy::ContinueChildren,
        }
    }
}
