//! What describes a session: where it came from, and the settings of its turns.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::id::SessionId;
use crate::policy::{
    ApprovalPolicy, CollaborationMode, EffortChoice, ModeChoice, ModeSettings, ModeWithSettings,
    Personality, ReasoningEffort, ReasoningSummary, SandboxPolicy,
};

/// Who opened a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum SessionSource {
    #[default]
    Cli,
    Tui,
    Exec,
    AppServer,
    Mcp,
    Acp,
    SubSession {
        parent: SessionId,
        depth: u32,
        origin: String,
    },
    /// A source that this version does not know.
    #[serde(untagged)]
    Unknown(Value),
}

/// The state of the repository when the session began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct GitInfo {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// Everything that may differ from one task to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnContext {
    pub cwd: PathBuf,
    pub approval_policy: ApprovalPolicy,
    pub sandbox_policy: SandboxPolicy,
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
    #[serde(default)]
    pub summary: ReasoningSummary,
    #[serde(default)]
    pub collaboration_mode: CollaborationMode,
    /// What the model is told of the mode; the mode's own instructions if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_instructions: Option<String>,
    /// Whether a turn that plans may write what the sandbox lets be written. Else it can only
    /// read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plan_writes: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personality: Option<Personality>,
    /// What the model is told as a developer, in the place of what the session was opened with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub developer_instructions: Option<String>,
}

/// Changes to the [`TurnContext`]; what is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnOverrides {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_policy: Option<SandboxPolicy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `null` takes an effort back: the model does as it does by itself.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub effort: Option<EffortChoice>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ReasoningSummary>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collaboration_mode: Option<ModeChoice>,
    /// Holds until another mode is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_writes: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personality: Option<Personality>,
    /// Told to the model as a developer's message when the next task begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub developer_instructions: Option<String>,
}

/// Reads a value that is there, `null` included.
fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

impl TurnContext {
    /// Returns this context with the overrides applied. Model and effort of a mode become
    /// the session's like any other; its instructions last as long as the mode.
    pub fn with(&self, overrides: TurnOverrides) -> Self {
        let base = self.clone();
        let plan_writes = match overrides.collaboration_mode {
            None => base.plan_writes,
            Some(_) => false,
        };
        let (mode, instructions, chosen) = match overrides.collaboration_mode {
            None => (
                base.collaboration_mode,
                base.mode_instructions,
                ModeSettings::default(),
            ),
            Some(choice) => {
                let (mode, mut settings) = choice.into_parts();
                (mode, settings.developer_instructions.take(), settings)
            }
        };
        Self {
            cwd: overrides.cwd.unwrap_or(base.cwd),
            approval_policy: overrides.approval_policy.unwrap_or(base.approval_policy),
            sandbox_policy: overrides.sandbox_policy.unwrap_or(base.sandbox_policy),
            model: chosen.model.or(overrides.model).unwrap_or(base.model),
            effort: match (chosen.reasoning_effort, overrides.effort) {
                (Some(effort), _) => Some(effort),
                (None, Some(choice)) => choice.into(),
                (None, None) => base.effort,
            },
            summary: overrides.summary.unwrap_or(base.summary),
            collaboration_mode: mode,
            mode_instructions: instructions,
            plan_writes: overrides.plan_writes.unwrap_or(plan_writes),
            personality: overrides.personality.or(base.personality),
            developer_instructions: overrides
                .developer_instructions
                .or(base.developer_instructions),
        }
    }

    /// Returns the policy that commands are held to: who plans can only read, unless it was said
    /// otherwise.
    pub fn sandbox_in_force(&self) -> SandboxPolicy {
        match self.collaboration_mode {
            CollaborationMode::Plan if !self.plan_writes => SandboxPolicy::read_only(),
            CollaborationMode::Plan | CollaborationMode::Default => self.sandbox_policy.clone(),
        }
    }

    /// Returns the choice that leads to this context's mode.
    pub fn mode_choice(&self) -> ModeChoice {
        match &self.mode_instructions {
            None => ModeChoice::Name(self.collaboration_mode),
            Some(instructions) => ModeChoice::Full(ModeWithSettings {
                mode: self.collaboration_mode,
                settings: ModeSettings {
                    developer_instructions: Some(instructions.clone()),
                    ..ModeSettings::default()
                },
            }),
        }
    }
}
