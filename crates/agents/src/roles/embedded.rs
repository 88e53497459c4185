//! The roles that are always there.

use std::sync::{Arc, OnceLock};

use super::error::SchemaProblem;
use super::name::Name;
use super::parse::parse;
use super::role::{Origin, Role};

/// A role of the program itself, parsed when it is first used.
struct Embedded {
    name: &'static str,
    text: &'static str,
    role: OnceLock<Arc<Role>>,
}

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        [$(Embedded {
            name: $name,
            text: include_str!(concat!("../../roles/", $name, ".md")),
            role: OnceLock::new(),
        }),*]
    };
}

static EMBEDDED: [Embedded; 9] = embedded![
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
pub(super) fn all() -> impl Iterator<Item = Arc<Role>> {
    EMBEDDED.iter().map(Embedded::role)
}

/// Finds an embedded role.
pub(super) fn find(name: &Name) -> Option<Arc<Role>> {
    let same = |embedded: &&Embedded| Name::parse(embedded.name).is_ok_and(|own| own == *name);
    EMBEDDED.iter().find(same).map(Embedded::role)
}

impl Embedded {
    fn role(&self) -> Arc<Role> {
        let role = self.role.get_or_init(|| {
            let name = Name::parse(self.name).expect("a test reads every embedded role");
            let mut no_files = |_: &str| Err(SchemaProblem::Outside);
            let role = parse(name, Origin::Embedded, self.text.as_bytes(), &mut no_files);
            Arc::new(role.expect("a test reads every embedded role"))
        });
        Arc::clone(role)
    }
}

#[cfg(test)]
mod tests;
