//! Settings of undo.

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_tools::Keeping;

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
    pub fn keeping(&self) -> Keeping {
        if self.undo.commands {
            Keeping::PatchesAndCommands
        } else {
            Keeping::Patches
        }
    }
}
