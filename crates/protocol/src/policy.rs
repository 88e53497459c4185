//! What commands may do, and when a person is asked.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IntoDeserializer as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// When a tool call needs a person's word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum ApprovalPolicy {
    /// Everything but commands known to be safe is asked for.
    Untrusted,
    /// Runs in the sandbox; asks only when the sandbox stopped it.
    OnFailure,
    /// Runs in the sandbox; the model asks when it needs more.
    #[default]
    OnRequest,
    /// Nobody is asked: what the sandbox allows runs, the rest is refused.
    Never,
}

/// The names by which people choose a [`SandboxPolicy`].
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum SandboxMode {
    ReadOnly,
    #[default]
    WorkspaceWrite,
    DangerFullAccess,
}

/// What the kernel lets a command do.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum SandboxPolicy {
    DangerFullAccess,
    ReadOnly {
        #[serde(default)]
        network_access: bool,
    },
    WorkspaceWrite {
        /// Writable besides the working directory and the temporary directories.
        #[serde(default)]
        writable_roots: Vec<PathBuf>,
        #[serde(default)]
        network_access: bool,
        #[serde(default)]
        exclude_tmpdir_env_var: bool,
        #[serde(default)]
        exclude_slash_tmp: bool,
    },
}

impl Default for SandboxPolicy {
    fn default() -> Self {
        Self::workspace_write()
    }
}

impl SandboxPolicy {
    pub fn read_only() -> Self {
        Self::ReadOnly {
            network_access: false,
        }
    }

    pub fn workspace_write() -> Self {
        Self::WorkspaceWrite {
            writable_roots: Vec::new(),
            network_access: false,
            exclude_tmpdir_env_var: false,
            exclude_slash_tmp: false,
        }
    }

    pub fn mode(&self) -> SandboxMode {
        match self {
            Self::DangerFullAccess => SandboxMode::DangerFullAccess,
            Self::ReadOnly { .. } => SandboxMode::ReadOnly,
            Self::WorkspaceWrite { .. } => SandboxMode::WorkspaceWrite,
        }
    }

    /// Tells whether everything that this policy allows is allowed by another one, in the same
    /// directory. Roots are compared as they are named, so a no may be too strict.
    pub fn is_within(&self, other: &Self) -> bool {
        if matches!(other, Self::DangerFullAccess) {
            return true;
        }
        let has_network = !self.network_access() || other.network_access();
        let may_write = match (self, other) {
            (Self::ReadOnly { .. }, _) => true,
            (
                Self::WorkspaceWrite {
                    writable_roots,
                    exclude_tmpdir_env_var,
                    exclude_slash_tmp,
                    ..
                },
                Self::WorkspaceWrite {
                    writable_roots: other_roots,
                    exclude_tmpdir_env_var: others_tmpdir_excluded,
                    exclude_slash_tmp: others_tmp_excluded,
                    ..
                },
            ) => {
                writable_roots.iter().all(|root| other_roots.contains(root))
                    && (*exclude_tmpdir_env_var || !others_tmpdir_excluded)
                    && (*exclude_slash_tmp || !others_tmp_excluded)
            }
            (Self::DangerFullAccess | Self::WorkspaceWrite { .. }, _) => false,
        };
        has_network && may_write
    }

    pub fn network_access(&self) -> bool {
        match self {
            Self::DangerFullAccess => true,
            Self::ReadOnly { network_access } | Self::WorkspaceWrite { network_access, .. } => {
                *network_access
            }
        }
    }
}

/// The model's way of speaking; fills the personality placeholder of its instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum Personality {
    Friendly,
    Pragmatic,
    /// The placeholder becomes empty.
    None,
}

/// How hard the model thinks. Providers accept different subsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum ReasoningEffort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
    Ultra,
}

impl ReasoningEffort {
    pub const ALL: [Self; 8] = [
        Self::None,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::Xhigh,
        Self::Max,
        Self::Ultra,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
            Self::Ultra => "ultra",
        }
    }
}

/// An effort as a client chooses it: one of them, or `null` for what the model does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<ReasoningEffort>", into = "Option<ReasoningEffort>")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(test, ts(type = "ReasoningEffort | null"))]
pub enum EffortChoice {
    ModelsOwn,
    Level(ReasoningEffort),
}

impl From<Option<ReasoningEffort>> for EffortChoice {
    fn from(effort: Option<ReasoningEffort>) -> Self {
        effort.map_or(Self::ModelsOwn, Self::Level)
    }
}

impl From<EffortChoice> for Option<ReasoningEffort> {
    fn from(choice: EffortChoice) -> Self {
        match choice {
            EffortChoice::ModelsOwn => None,
            EffortChoice::Level(effort) => Some(effort),
        }
    }
}

/// How much of its reasoning the model summarises for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum ReasoningSummary {
    #[default]
    Auto,
    Concise,
    Detailed,
    None,
}

/// Which way of working together a task runs in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum CollaborationMode {
    Plan,
    #[default]
    #[serde(
        alias = "code",
        alias = "pair_programming",
        alias = "execute",
        alias = "custom"
    )]
    Default,
}

/// A mode as a client chooses it: by its name alone, or with settings that go with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ModeChoice {
    Name(CollaborationMode),
    Full(ModeWithSettings),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ModeWithSettings {
    pub mode: CollaborationMode,
    #[serde(default)]
    pub settings: ModeSettings,
}

/// What a client wants of a mode. Model and effort win over those named beside the mode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ModeSettings {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Told to the model instead of the mode's own instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub developer_instructions: Option<String>,
}

impl ModeChoice {
    pub fn into_parts(self) -> (CollaborationMode, ModeSettings) {
        match self {
            Self::Name(mode) => (mode, ModeSettings::default()),
            Self::Full(ModeWithSettings { mode, settings }) => (mode, settings),
        }
    }
}

impl From<CollaborationMode> for ModeChoice {
    fn from(mode: CollaborationMode) -> Self {
        Self::Name(mode)
    }
}

/// Written by hand because a derived one would answer a misspelt name with "no variant
/// matches", and not with the names that there are.
impl<'de> Deserialize<'de> for ModeChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrTable;

        impl<'de> Visitor<'de> for NameOrTable {
            type Value = ModeChoice;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a mode, or an object with `mode` and `settings`")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<ModeChoice, E> {
                CollaborationMode::deserialize(name.into_deserializer()).map(ModeChoice::Name)
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<ModeChoice, M::Error> {
                let table = MapAccessDeserializer::new(map);
                ModeWithSettings::deserialize(table).map(ModeChoice::Full)
            }
        }

        deserializer.deserialize_any(NameOrTable)
    }
}
