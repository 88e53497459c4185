//! The roles that are always there.

use std::sync::{Arc, OnceLock};

use super::error::SchemaProblem;
use super::name::RoleName;
use super::parse::parse;
use super::role::{AgentRole, RoleOrigin};

/// A role of the program itself, parsed when it is first used.
struct EmbeddedRole {
    name: &'static str,
    text: &'static str,
    role: OnceLock<Arc<AgentRole>>,
}

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        [$(EmbeddedRole {
            name: $name,
            text: include_str!(concat!("../../roles/", $name, ".md")),
            role: OnceLock::new(),
        }),*]
    };
}

static EMBEDDED: [EmbeddedRole; 9] = embedded![
    "architect",
    "default",
    "explorer",
    "linter_fixer",
    "mathematician",
    "orchestrator",
    "reviewer",
    "tester",
    "worker",
];

/// Returns all embedded roles, by name.
pub(super) fn all() -> impl Iterator<Item = Arc<AgentRole>> {
    EMBEDDED.iter().map(EmbeddedRole::role)
}

/// Finds an embedded role.
pub(super) fn find(name: &RoleName) -> Option<Arc<AgentRole>> {
    let same =
        |embedded: &&EmbeddedRole| RoleName::parse(embedded.name).is_ok_and(|own| own == *name);
    EMBEDDED.iter().find(same).map(EmbeddedRole::role)
}

impl EmbeddedRole {
    fn role(&self) -> Arc<AgentRole> {
        let role = self.role.get_or_init(|| {
            let name = RoleName::parse(self.name).expect("a test reads every embedded role");
            let mut no_files = |_: &str| Err(SchemaProblem::Outside);
            let role = parse(
                name,
                RoleOrigin::Embedded,
                self.text.as_bytes(),
                &mut no_files,
            );
            Arc::new(role.expect("a test reads every embedded role"))
        });
        Arc::clone(role)
    }
}

#[cfg(test)]
mod tests;
