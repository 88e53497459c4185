//! Commands of the user's that run around what agents do.

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_tools::hooks::HookSettings;

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct HooksSettings {
    /// Commands of yours that run around what agents do.
    #[serde(default)]
    pub hooks: HookSettings,
}
