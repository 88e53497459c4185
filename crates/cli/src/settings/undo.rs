//! What is kept of files, so that turns can be taken back.

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_tools::UndoCoverage;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct UndoSettings {
    /// What is kept of files, so that `undo` can bring them back.
    pub undo: Undo,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Undo {
    /// See what commands change in git repositories. Else only what patches change comes back.
    pub commands: bool,
}

impl UndoSettings {
    pub fn keeping(&self) -> UndoCoverage {
        if self.undo.commands {
            UndoCoverage::PatchesAndCommands
        } else {
            UndoCoverage::Patches
        }
    }
}
