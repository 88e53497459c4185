//! The two looks at a patch that touch files: what it would do, and doing it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use troupe_patch::{FileSighting, Patch, PatchPlan, PatchRoots, PlanError, plan};
use troupe_protocol::command::FileChanges;

use crate::blocking::WorkDeadline;
use crate::digest::FileDigest;
use crate::policy::EditReach;
use crate::worker::FileWork;

/// A patch to be tried against its files. Writes nothing.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PlanPatchWork {
    pub body: Arc<str>,
    pub cwd: PathBuf,
    pub roots: PatchRoots,
}

/// A patch that fits its files, and whether it stays where it may write.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PlannedPatch {
    pub changes: FileChanges,
    /// Every file that is written or removed, as it is before.
    pub touched: Vec<FileDigest>,
    pub reach: EditReach,
    /// The directories that it has to write in.
    pub directories: Vec<PathBuf>,
    pub found: Vec<FileSighting>,
}

/// A patch to be applied, if its files are still as they were when it was planned.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ApplyPatchWork {
    pub body: Arc<str>,
    pub cwd: PathBuf,
    pub roots: PatchRoots,
    pub found: Vec<FileSighting>,
}

impl FileWork for PlanPatchWork {
    type Answer = PlannedPatch;
    const NAME: &str = "plan_patch";
    const TIME_MAX: Option<Duration> = None;

    fn run(self, _: &WorkDeadline) -> Result<PlannedPatch, String> {
        let patch = Patch::parse(&self.body).map_err(|error| error.to_string())?;
        let (plan, reach) = match plan(&patch, &self.cwd, &self.roots) {
            Ok(plan) => (plan, EditReach::Inside),
            Err(error) => {
                let path = forbidden(&error, &self.cwd).ok_or_else(|| error.to_string())?;
                let plan = plan(&patch, &self.cwd, &PatchRoots::Unrestricted);
                let why = error.to_string();
                (
                    plan.map_err(|error| error.to_string())?,
                    EditReach::Outside { path, why },
                )
            }
        };
        PlannedPatch::new(&plan, reach)
            .map_err(|error| format!("its files cannot be found: {error}"))
    }
}

impl PlannedPatch {
    fn new(plan: &PatchPlan, reach: EditReach) -> std::io::Result<Self> {
        Ok(Self {
            changes: plan.changes().clone(),
            touched: plan.touched().into_iter().map(FileDigest::look).collect(),
            reach,
            directories: plan.directories()?.into_iter().collect(),
            found: plan.found()?,
        })
    }
}

/// Returns the path that the roots, and nothing else, keep from being written: a person may
/// allow it.
fn forbidden(error: &PlanError, cwd: &Path) -> Option<PathBuf> {
    match error {
        PlanError::Outside { path } | PlanError::Protected { path } => Some(path.clone()),
        PlanError::LeadsOutside { path } => Some(cwd.join(path)),
        _ => None,
    }
}

impl FileWork for ApplyPatchWork {
    /// The summary for the model.
    type Answer = String;
    const NAME: &str = "apply_patch";
    const TIME_MAX: Option<Duration> = None;

    fn run(self, _: &WorkDeadline) -> Result<String, String> {
        let patch = Patch::parse(&self.body).map_err(|error| error.to_string())?;
        let plan = plan(&patch, &self.cwd, &self.roots)
            .map_err(|error| format!("{error}; nothing was changed"))?;
        plan.expect(&self.found)
            .and_then(|()| plan.apply())
            .map(|applied| applied.summary())
            .map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests;
