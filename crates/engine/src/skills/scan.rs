//! A look through the places, bounded in every direction. Directories are taken level by
//! level, so that a bound cuts what lies deepest.

use std::collections::{HashSet, VecDeque};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use troupe_protocol::event::{SkillError, SkillScope};

use super::fingerprint::ScanFingerprint;
use super::front_matter::{self, SkillFileProblem, SkillFrontMatter};
use super::places::SkillRoot;
use super::{Skill, SkillCatalogue};
use crate::limits::{
    SKILL_DEPTH_MAX, SKILL_DIRECTORIES_MAX, SKILL_ENTRIES_MAX, SKILL_FILE_BYTES_MAX,
    SKILL_HEAD_BYTES_MAX,
};

pub(super) const FILE_NAME: &str = "SKILL.md";

/// How much is looked at in one place.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScanBounds {
    pub directories: usize,
    pub entries: usize,
}

impl ScanBounds {
    pub const USUAL: Self = Self {
        directories: SKILL_DIRECTORIES_MAX,
        entries: SKILL_ENTRIES_MAX,
    };
}

pub(super) fn scan(roots: &[SkillRoot], bounds: ScanBounds) -> (SkillCatalogue, ScanFingerprint) {
    let mut scan = SkillScan {
        bounds,
        catalogue: SkillCatalogue::default(),
        mark: ScanFingerprint::new(),
        names: HashSet::new(),
        files: HashSet::new(),
    };
    for root in roots {
        scan.root(root);
    }
    (scan.catalogue, scan.mark)
}

#[derive(Debug)]
struct SkillScan {
    bounds: ScanBounds,
    catalogue: SkillCatalogue,
    mark: ScanFingerprint,
    names: HashSet<String>,
    /// A file that two links lead to is one skill.
    files: HashSet<PathBuf>,
}

/// What is left to look at in one place.
#[derive(Debug)]
struct ScanWalk {
    open: VecDeque<(PathBuf, usize)>,
    /// By device and inode: links may lead in circles.
    visited: HashSet<(u64, u64)>,
    entries_left: usize,
    directories_left: usize,
}

impl SkillScan {
    fn root(&mut self, root: &SkillRoot) {
        let ScanBounds {
            directories,
            entries,
        } = self.bounds;
        let mut walk = ScanWalk {
            open: VecDeque::from([(root.path.clone(), 0)]),
            visited: HashSet::new(),
            entries_left: self.bounds.entries,
            directories_left: self.bounds.directories,
        };
        while let Some((directory, depth)) = walk.open.pop_front() {
            if walk.directories_left == 0 {
                let message = format!(
                    "only the first {directories} directories were looked at; move out what is no \
                     skill"
                );
                return self.error(&root.path, message);
            }
            walk.directories_left -= 1;
            self.mark.note(&directory);
            match walk.enter(&directory, depth) {
                Ok(DirectoryFinding::Nothing) => {}
                Ok(DirectoryFinding::Skill(path)) => self.file(&path, root.scope),
                Err(ScanStop::Crowded) => {
                    let message = format!(
                        "only the first {entries} files and directories were looked at; move out \
                         what is no skill"
                    );
                    return self.error(&root.path, message);
                }
                Err(ScanStop::Unreadable(error)) => {
                    self.error(&directory, format!("cannot be listed: {error}"));
                }
            }
        }
    }

    fn file(&mut self, path: &Path, scope: SkillScope) {
        self.mark.note(path);
        let real = path.canonicalize();
        if real.is_ok_and(|real| !self.files.insert(real)) {
            return;
        }
        let read =
            head(path).and_then(|text| Ok(front_matter::parse(&text, default_name(path))?.0));
        let front_matter = match read {
            Ok(read) => read,
            Err(problem) => return self.error(path, problem.to_string()),
        };
        let SkillFrontMatter {
            name,
            description,
            short_description,
        } = front_matter;
        let skill = Skill {
            name,
            description,
            short_description,
            path: path.to_owned(),
            scope,
        };
        if self.names.insert(skill.name.clone()) {
            self.catalogue.skills.push(skill);
        } else {
            self.catalogue.shadowed.push(skill);
        }
    }

    fn error(&mut self, path: &Path, message: String) {
        let path = path.to_owned();
        self.catalogue.errors.push(SkillError { path, message });
    }
}

enum DirectoryFinding {
    Nothing,
    Skill(PathBuf),
}

enum ScanStop {
    Crowded,
    Unreadable(io::Error),
}

impl ScanWalk {
    /// Looks into one directory and remembers those in it.
    fn enter(&mut self, directory: &Path, depth: usize) -> Result<DirectoryFinding, ScanStop> {
        let metadata = directory.metadata().map_err(ScanStop::Unreadable)?;
        if !self.visited.insert((metadata.dev(), metadata.ino())) {
            return Ok(DirectoryFinding::Nothing);
        }
        let mut found = DirectoryFinding::Nothing;
        let mut below = Vec::new();
        for entry in fs::read_dir(directory).map_err(ScanStop::Unreadable)? {
            let entry = entry.map_err(ScanStop::Unreadable)?;
            self.entries_left = self.entries_left.checked_sub(1).ok_or(ScanStop::Crowded)?;
            let name = entry.file_name();
            if name == FILE_NAME {
                found = DirectoryFinding::Skill(entry.path());
            } else if !name.as_encoded_bytes().starts_with(b".")
                && depth < SKILL_DEPTH_MAX
                && entry.path().is_dir()
            {
                below.push(entry.path());
            }
        }
        below.sort();
        self.open
            .extend(below.into_iter().map(|path| (path, depth + 1)));
        Ok(found)
    }
}

/// Returns the name of a skill that does not say its own.
fn default_name(path: &Path) -> &str {
    let directory = path.parent().and_then(Path::file_name);
    directory.and_then(|name| name.to_str()).unwrap_or_default()
}

/// Reads the beginning of a file, in which the front matter must end.
fn head(path: &Path) -> Result<String, SkillFileProblem> {
    let unreadable = |error: io::Error| SkillFileProblem::Unreadable(error.to_string());
    let (file, _) = open(path)?;
    let mut bytes = Vec::new();
    file.take(SKILL_HEAD_BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    // What is cut may be cut inside a character; the front matter has ended before, or is
    // too long.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads a skill that was chosen, as its file is now. Blocks.
pub(super) fn read(path: &Path) -> Result<(SkillFrontMatter, String), SkillFileProblem> {
    let unreadable = |error: io::Error| SkillFileProblem::Unreadable(error.to_string());
    let (file, size) = open(path)?;
    if size > SKILL_FILE_BYTES_MAX {
        return Err(SkillFileProblem::TooLarge { bytes: size });
    }
    let mut bytes = Vec::new();
    file.take(SKILL_FILE_BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|_| SkillFileProblem::NotText)?;
    let (front_matter, body) = front_matter::parse(&text, default_name(path))?;
    Ok((front_matter, body.to_owned()))
}

fn open(path: &Path) -> Result<(File, u64), SkillFileProblem> {
    let unreadable = |error: io::Error| SkillFileProblem::Unreadable(error.to_string());
    let metadata = path.metadata().map_err(unreadable)?;
    // Asked before it is opened: opening a pipe waits for its other end.
    if !metadata.is_file() {
        return Err(SkillFileProblem::NoFile);
    }
    let file = File::open(path).map_err(unreadable)?;
    Ok((file, metadata.len()))
}
