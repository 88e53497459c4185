//! What a worker can be asked, as it travels.

use serde::{Deserialize, Serialize};

use super::FileWork;
use crate::blocking::WorkDeadline;
use crate::builtin::find_files::FindFilesWork;
use crate::builtin::grep_files::GrepFilesWork;
use crate::builtin::list_dir::ListDirWork;
use crate::builtin::read_file::ReadFileWork;
use crate::builtin::view_image::ViewImageWork;
use crate::edit::{ApplyPatchWork, PlanPatchWork};
use crate::limits::WORK_ANSWER_BYTES_MAX;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileWorkRequest {
    ReadFile(ReadFileWork),
    ListDir(ListDirWork),
    FindFiles(FindFilesWork),
    GrepFiles(GrepFilesWork),
    ViewImage(ViewImageWork),
    PlanPatch(PlanPatchWork),
    ApplyPatch(ApplyPatchWork),
}

impl FileWorkRequest {
    /// Does the work; returns the answer as it travels back.
    pub(super) fn answer(self) -> serde_json::Result<Vec<u8>> {
        match self {
            Self::ReadFile(work) => perform(work),
            Self::ListDir(work) => perform(work),
            Self::FindFiles(work) => perform(work),
            Self::GrepFiles(work) => perform(work),
            Self::ViewImage(work) => perform(work),
            Self::PlanPatch(work) => perform(work),
            Self::ApplyPatch(work) => perform(work),
        }
    }
}

fn perform<W: FileWork>(work: W) -> serde_json::Result<Vec<u8>> {
    let answer = serde_json::to_vec(&work.run(&WorkDeadline::after(W::TIME_MAX)))?;
    if answer.len() <= WORK_ANSWER_BYTES_MAX {
        return Ok(answer);
    }
    let problem = format!(
        "the answer has {} bytes, and the limit is {WORK_ANSWER_BYTES_MAX}: do it in smaller parts",
        answer.len()
    );
    serde_json::to_vec(&Err::<W::Answer, _>(problem))
}

/// Lets a tool hand over its own type.
macro_rules! travels_as {
    ($($work:ident => $variant:ident),* $(,)?) => {
        $(impl From<$work> for FileWorkRequest {
            fn from(work: $work) -> Self {
                Self::$variant(work)
            }
        })*
    };
}

travels_as! {
    ReadFileWork => ReadFile,
    ListDirWork => ListDir,
    FindFilesWork => FindFiles,
    GrepFilesWork => GrepFiles,
    ViewImageWork => ViewImage,
    PlanPatchWork => PlanPatch,
    ApplyPatchWork => ApplyPatch,
}
