//! The screen.

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_tui::TuiSettings;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ScreenSettings {
    /// The screen that `troupe` opens at a terminal.
    #[serde(default)]
    pub tui: TuiSettings,
}
