//! Where skills lie, nearest first.

use std::path::{Path, PathBuf};

use troupe_protocol::event::SkillScope;

/// Where skills are looked for in each directory of a project, in this order.
const IN_PROJECT: [&str; 4] = [
    ".troupe/skills",
    ".agents/skills",
    ".codex/skills",
    ".claude/skills",
];

/// The places that belong to no project, nearest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillPlaces {
    pub user: Vec<PathBuf>,
    pub system: Vec<PathBuf>,
}

/// A directory with skills in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SkillRoot {
    /// Without links: a link in a home that is hidden from commands would lead them nowhere.
    pub path: PathBuf,
    pub scope: SkillScope,
}

/// Returns the places that exist. In a project these are the directories from `cwd` up to
/// the one with a marker; without one `cwd` alone counts, because what lies further up may be
/// anybody's.
pub(super) fn existing(
    places: &SkillPlaces,
    cwd: &Path,
    root_markers: &[String],
) -> Vec<SkillRoot> {
    let is_root = |dir: &Path| root_markers.iter().any(|marker| dir.join(marker).exists());
    let depth = cwd.ancestors().position(is_root).unwrap_or(0);
    let project = cwd
        .ancestors()
        .take(depth + 1)
        .flat_map(|dir| IN_PROJECT.map(|place| dir.join(place)))
        .map(|path| (path, SkillScope::Repo));
    let user = places.user.iter().cloned();
    let user = user.map(|path| (path, SkillScope::User));
    let system = places.system.iter().cloned();
    let system = system.map(|path| (path, SkillScope::System));
    let others: Vec<SkillRoot> = user
        .chain(system)
        .filter_map(|(path, scope)| root(&path, scope))
        .collect();
    // A home that is also the working directory is still the user's.
    let project = project
        .filter_map(|(path, scope)| root(&path, scope))
        .filter(|found| !is_among(found, &others));
    let mut roots: Vec<SkillRoot> = Vec::new();
    for found in project.chain(others.iter().cloned()) {
        if !is_among(&found, &roots) {
            roots.push(found);
        }
    }
    roots
}

fn root(path: &Path, scope: SkillScope) -> Option<SkillRoot> {
    // Hardly any place is there, and one look tells that; finding out where a path leads takes
    // a look at each of its parts.
    if !path.is_dir() {
        return None;
    }
    let path = path.canonicalize().ok()?;
    Some(SkillRoot { path, scope })
}

fn is_among(root: &SkillRoot, others: &[SkillRoot]) -> bool {
    others.iter().any(|other| other.path == root.path)
}
