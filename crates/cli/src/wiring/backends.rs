//! Sessions whose model is another agent's program.

use troupe_acp::backend::AcpBackend;
use troupe_engine::{InstructionSettings, ProjectDocSettings, SessionSetup, WindowSettings};

use super::Wiring;
use crate::settings::Settings;

/// A program keeps its own window. It is never full here.
const WINDOW_TOKENS: u64 = 1 << 40;

impl Wiring {
    /// Returns the program that a provider's name stands for, if it does.
    pub(super) fn backend(&self, settings: &Settings, name: &str) -> Option<AcpBackend> {
        let config = settings.integrations.backends.get(name)?;
        Some(AcpBackend {
            name: name.to_owned(),
            config: config.clone(),
            launcher: self.launcher.clone(),
            version: env!("CARGO_PKG_VERSION"),
            environment: self.surroundings().variables.clone(),
        })
    }
}

/// A program has instructions of its own and reads those of the project by itself. What is
/// left to be said is the role.
pub(super) fn role_instructions_only(setup: SessionSetup) -> SessionSetup {
    SessionSetup {
        instructions: InstructionSettings {
            base: Some("".into()),
            user: None,
            user_file: None,
            project: ProjectDocSettings {
                bytes_max: 0,
                ..setup.instructions.project
            },
            ..setup.instructions
        },
        window: WindowSettings {
            context_window: Some(WINDOW_TOKENS),
            auto_compact_token_limit: Some(WINDOW_TOKENS),
        },
        ..setup
    }
}
