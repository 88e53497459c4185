//! The diagnostic log.

use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct LogSettings {
    /// The diagnostic log of the program, in `log/` of the home.
    pub log: DiagnosticLog,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct DiagnosticLog {
    /// What is logged: a level (`error`, `warn`, `info`, `debug`, `trace`), or levels of crates such
    /// as `info,troupe_engine=debug`. Absent: nothing. `TROUPE_LOG` counts before it.
    #[serde(default)]
    pub filter: Option<String>,
}
