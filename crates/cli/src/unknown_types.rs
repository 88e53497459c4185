//! Names in `agents.types` that fit no role.
//!
//! A file serves many directories, and the role may be one of another project, so there such a
//! name is a warning, as an unknown key is. What is said now, on the command line or by a
//! client, is about this directory, and is refused.

use std::collections::BTreeSet;
use std::path::Path;

use troupe_agents::roles::{RoleCatalogue, RoleLibrary, RoleName};
use troupe_config::{Config, ValueLayer, nearest};

use crate::home::user_home;

/// The names that fit no role here, by what they are worth.
#[derive(Debug, Default)]
pub struct UnknownTypes {
    /// Of the command line, or of a client.
    pub said_now: Vec<String>,
    /// Of files.
    pub written: Vec<String>,
}

impl UnknownTypes {
    /// Finds them in the configuration of a directory.
    pub fn find(config: &Config, home: &Path, cwd: &Path) -> Self {
        let mut found = Self::default();
        let mut known = None;
        let mut seen = BTreeSet::new();
        for (key, entry) in &config.settings() {
            let [agents, types, name, ..] = key.parts() else {
                continue;
            };
            if agents != "agents" || types != "types" || !seen.insert(name.clone()) {
                continue;
            }
            // Roles are looked for only where somebody names one.
            let known = known.get_or_insert_with(|| role_names(home, cwd));
            let is_known = RoleName::parse(name).is_ok_and(|name| known.contains(name.as_str()));
            if is_known {
                continue;
            }
            let hint = match nearest(name, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean {near}?"),
                None => "`troupe roles list` shows those that there are".to_owned(),
            };
            let origin = &entry.origin;
            let text = format!("{origin}: agents.types.{name}: there is no such role ({hint})");
            if origin.layer >= ValueLayer::Argument {
                found.said_now.push(text);
            } else {
                found.written.push(text);
            }
        }
        found
    }
}

/// One that cannot be used has its name all the same.
fn role_names(home: &Path, cwd: &Path) -> BTreeSet<String> {
    let RoleCatalogue { roles, broken } = RoleLibrary::new(home)
        .with_user_home(user_home())
        .catalogue(cwd);
    let usable = roles.iter().map(|role| role.name.as_str().to_owned());
    let broken = broken.iter().filter_map(|broken| {
        let stem = broken.path.file_stem()?.to_str()?;
        Some(RoleName::parse(stem).ok()?.as_str().to_owned())
    });
    usable.chain(broken).collect()
}
