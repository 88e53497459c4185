//! `find_files`: paths by glob.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troupe_protocol::tool::ToolSpec;

use crate::arguments;
use crate::blocking::WorkDeadline;
use crate::call::ToolInvocation;
use crate::item;
use crate::limits::{FIND_FILES_DEFAULT, FIND_FILES_MAX, SEARCH_TIME_MAX};
use crate::lines;
use crate::tool::{Tool, ToolConcurrency, ToolOutput};
use crate::walk::{self, PathGlob, WalkEnd};
use crate::worker::{FileWork, FileWorkers};

const NAME: &str = "find_files";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FindFilesArguments {
    /// A glob: `*.rs` finds names at any depth, `src/**/*.rs` starts at `path`.
    pattern: String,
    /// The directory to search; the working directory if absent.
    path: Option<String>,
    /// How many files to return at most. Default 200, at most 2000.
    limit: Option<usize>,
}

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<FindFilesArguments>(
        NAME,
        "Finds files by name. Returns one path per line, relative to the searched \
         directory and sorted; files that git ignores are left out.",
    )
});

#[derive(Debug)]
pub(crate) struct FindFiles {
    workers: FileWorkers,
}

impl FindFiles {
    pub(crate) fn new(workers: FileWorkers) -> Self {
        Self { workers }
    }
}

#[async_trait]
impl Tool for FindFiles {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let arguments: FindFilesArguments = match arguments::parse(&call, &SPEC).await {
            Ok(arguments) => arguments,
            Err(output) => return output,
        };
        let finding = FindFilesWork {
            root: call
                .context
                .resolve(arguments.path.as_deref().unwrap_or(".")),
            pattern: arguments.pattern,
            files_max: arguments
                .limit
                .unwrap_or(FIND_FILES_DEFAULT)
                .clamp(1, FIND_FILES_MAX),
        };
        let work = async { ToolOutput::of(self.workers.read(&call, finding).await) };
        item::shown(&call, NAME, work).await
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FindFilesWork {
    root: PathBuf,
    pattern: String,
    files_max: usize,
}

impl FileWork for FindFilesWork {
    type Answer = String;
    const NAME: &str = "find_files";
    const TIME_MAX: Option<Duration> = Some(SEARCH_TIME_MAX);

    fn run(self, stop: &WorkDeadline) -> Result<String, String> {
        self.find(stop)
    }
}

impl FindFilesWork {
    fn find(&self, stop: &WorkDeadline) -> Result<String, String> {
        walk::check_directory(&self.root)?;
        let glob = PathGlob::new(&self.root, &self.pattern)?;
        let mut answer = String::new();
        let ended = self.collect(&glob, stop, &mut answer);
        match ended {
            WalkEnd::Finished if answer.is_empty() => {
                answer = format!(
                    "no file below {} matches {:?}",
                    self.root.display(),
                    self.pattern
                );
            }
            WalkEnd::Finished => {}
            WalkEnd::Full => lines::push(
                &mut answer,
                format_args!(
                    "[more than {} files match; narrow the pattern or raise limit]",
                    self.files_max
                ),
            ),
            WalkEnd::OutOfTime => {
                lines::push(&mut answer, walk::OUT_OF_TIME);
            }
        }
        Ok(answer)
    }

    fn collect(&self, glob: &PathGlob, stop: &WorkDeadline, answer: &mut String) -> WalkEnd {
        let mut count = 0;
        // What cannot be read cannot be found: such entries are passed over.
        for entry in walk::project(&self.root).build().flatten() {
            if stop.is_due() {
                return WalkEnd::OutOfTime;
            }
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            if is_dir || !glob.matches(entry.path()) {
                continue;
            }
            if count == self.files_max {
                return WalkEnd::Full;
            }
            count += 1;
            let path = entry
                .path()
                .strip_prefix(&self.root)
                .unwrap_or(entry.path());
            lines::push(answer, path.display());
        }
        WalkEnd::Finished
    }
}
