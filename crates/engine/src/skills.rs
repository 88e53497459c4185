//! Skills: instructions for certain kinds of work, each a file `SKILL.md` in a directory of
//! its own.
//!
//! ```text
//! DIR/{.troupe,.agents,.codex}/skills   nearest directory first, up to the project's root
//! the user's places                     │
//! the machine's places                  ▼ of one name the first counts
//!
//! places ─► scan ─► front_matter ─► Catalogue ─► listing    what the model is told there is
//!          (bounded)                     └─────► choice     what the user asked for by name
//! ```
//!
//! The model knows of each skill its name, when to use it, and its file, which it reads by
//! itself. A skill that the user chose is put before the message. Nothing of a broken skill
//! is used; it is told, and the others count.
//!
//! A catalogue is kept with the marks of every directory and file that it was made of, and
//! made again when one of them has changed. Where there is no place for skills, nothing is
//! read.
//!
//! Deliberately absent: the home and the environment (the places come in), running anything
//! that lies beside a skill, and fetching skills from elsewhere.

mod choice;
mod fingerprint;
mod front_matter;
mod listing;
mod places;
mod scan;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use troupe_protocol::event::{SkillError, SkillScope, SkillSummary};

pub(crate) use choice::{ChosenSkill, at, choose, mentioned};
pub use front_matter::{SkillFileProblem, SkillFrontMatter, parse};
pub(crate) use listing::{is_listing, listing};
pub use places::SkillPlaces;

use crate::limits::CATALOGUES_MAX;
use fingerprint::ScanFingerprint;
use places::SkillRoot;
use scan::ScanBounds;

/// All skills that can be found. One per process.
#[derive(Debug, Default)]
pub struct SkillLibrary {
    places: SkillPlaces,
    /// By the places that they are of.
    known: Mutex<HashMap<Vec<SkillRoot>, CachedCatalogue>>,
}

#[derive(Debug, Clone)]
struct CachedCatalogue {
    catalogue: Arc<SkillCatalogue>,
    mark: Arc<ScanFingerprint>,
}

/// What there is for a working directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillCatalogue {
    /// One per name, nearest first.
    pub skills: Vec<Skill>,
    /// Those with the name of a nearer one.
    pub shadowed: Vec<Skill>,
    /// What is there and cannot be used.
    pub errors: Vec<SkillError>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    /// When to use it; one line.
    pub description: String,
    /// For a menu.
    pub short_description: Option<String>,
    /// Its `SKILL.md`, without links in the way to its place.
    pub path: PathBuf,
    pub scope: SkillScope,
}

/// Whether what was read before may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatalogueFreshness {
    /// If nothing has changed since.
    Marks,
    /// Everything is read again.
    Reread,
}

impl CatalogueFreshness {
    pub(crate) fn on_request(force_reload: bool) -> Self {
        if force_reload {
            Self::Reread
        } else {
            Self::Marks
        }
    }
}

impl SkillLibrary {
    pub fn new(places: SkillPlaces) -> Self {
        Self {
            places,
            known: Mutex::default(),
        }
    }

    /// Returns what there is for a directory in a project with these marks of its root.
    /// Where there is no place for skills this costs a look at each; else files are read on
    /// a thread that may block.
    pub async fn catalogue(
        self: &Arc<Self>,
        cwd: &Path,
        root_markers: &[String],
        freshness: CatalogueFreshness,
    ) -> Arc<SkillCatalogue> {
        let roots = places::existing(&self.places, cwd, root_markers);
        if roots.is_empty() {
            return Arc::default();
        }
        let skills = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || skills.read(roots, freshness));
        read.await.unwrap_or_else(|error| {
            let message = format!("skills were not read: {error}");
            let path = cwd.to_owned();
            Arc::new(SkillCatalogue {
                errors: vec![SkillError { path, message }],
                ..SkillCatalogue::default()
            })
        })
    }

    /// Does what [`SkillLibrary::catalogue`] does, here and now.
    pub fn catalogue_blocking(&self, cwd: &Path, root_markers: &[String]) -> Arc<SkillCatalogue> {
        let roots = places::existing(&self.places, cwd, root_markers);
        self.read(roots, CatalogueFreshness::Reread)
    }

    fn read(&self, roots: Vec<SkillRoot>, freshness: CatalogueFreshness) -> Arc<SkillCatalogue> {
        let known = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(&roots).cloned()
        };
        if let Some(known) = &known
            && freshness == CatalogueFreshness::Marks
            && known.mark.is_current()
        {
            return Arc::clone(&known.catalogue);
        }
        let (catalogue, mark) = scan::scan(&roots, ScanBounds::USUAL);
        // The same list is the same value, so that who has told it need not compare.
        let catalogue = match known {
            Some(known) if *known.catalogue == catalogue => known.catalogue,
            _ => Arc::new(catalogue),
        };
        let entry = CachedCatalogue {
            catalogue: Arc::clone(&catalogue),
            mark: Arc::new(mark),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= CATALOGUES_MAX {
            known.clear();
        }
        known.insert(roots, entry);
        catalogue
    }
}

impl SkillCatalogue {
    /// Returns the skill that a name means.
    pub fn find(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }
}

impl Skill {
    pub(crate) fn summary(&self) -> SkillSummary {
        SkillSummary {
            name: self.name.clone(),
            description: self.description.clone(),
            short_description: self.short_description.clone(),
            path: self.path.clone(),
            scope: self.scope,
        }
    }
}

#[cfg(test)]
mod tests;
