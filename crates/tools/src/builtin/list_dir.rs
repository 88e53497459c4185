//! `list_dir`: the entries of a directory, to a given depth.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use ignore::{DirEntry, WalkBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troupe_protocol::tool::ToolSpec;

use crate::arguments;
use crate::blocking::WorkDeadline;
use crate::call::ToolInvocation;
use crate::item;
use crate::limits::{
    LIST_DEPTH_DEFAULT, LIST_DEPTH_MAX, LIST_ENTRIES_DEFAULT, LIST_ENTRIES_MAX, SEARCH_TIME_MAX,
};
use crate::lines;
use crate::tool::{Tool, ToolConcurrency, ToolOutput};
use crate::walk;
use crate::worker::{FileWork, FileWorkers};

const NAME: &str = "list_dir";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListDirArguments {
    /// The directory; the working directory if absent.
    path: Option<String>,
    /// How many levels to list. Default 1, at most 16.
    depth: Option<usize>,
    /// How many entries to list at most. Default 500, at most 2000.
    limit: Option<usize>,
}

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<ListDirArguments>(
        NAME,
        "Lists a directory: one path per line, relative to it; directories end in `/`, \
         links show their target. Beyond depth 1, entries that git ignores are left out.",
    )
});

#[derive(Debug)]
pub(crate) struct ListDir {
    workers: FileWorkers,
}

impl ListDir {
    pub(crate) fn new(workers: FileWorkers) -> Self {
        Self { workers }
    }
}

#[async_trait]
impl Tool for ListDir {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let arguments: ListDirArguments = match arguments::parse(&call, &SPEC).await {
            Ok(arguments) => arguments,
            Err(output) => return output,
        };
        let listing = ListDirWork {
            root: call
                .context
                .resolve(arguments.path.as_deref().unwrap_or(".")),
            depth: arguments
                .depth
                .unwrap_or(LIST_DEPTH_DEFAULT)
                .clamp(1, LIST_DEPTH_MAX),
            entries_max: arguments
                .limit
                .unwrap_or(LIST_ENTRIES_DEFAULT)
                .clamp(1, LIST_ENTRIES_MAX),
        };
        let work = async { ToolOutput::of(self.workers.read(&call, listing).await) };
        item::shown(&call, NAME, work).await
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ListDirWork {
    root: PathBuf,
    depth: usize,
    entries_max: usize,
}

impl FileWork for ListDirWork {
    type Answer = String;
    const NAME: &str = "list_dir";
    const TIME_MAX: Option<Duration> = Some(SEARCH_TIME_MAX);

    fn run(self, stop: &WorkDeadline) -> Result<String, String> {
        self.list(stop)
    }
}

impl ListDirWork {
    fn list(&self, stop: &WorkDeadline) -> Result<String, String> {
        walk::check_directory(&self.root)?;
        let mut answer = String::new();
        let mut count = 0;
        for entry in self.walk().build() {
            if stop.is_due() {
                lines::push(&mut answer, walk::OUT_OF_TIME);
                return Ok(answer);
            }
            match entry {
                Ok(entry) if entry.depth() == 0 => {}
                Ok(_) if count == self.entries_max => {
                    lines::push(
                        &mut answer,
                        format_args!(
                            "[more than {count} entries; list a subdirectory or raise limit]"
                        ),
                    );
                    return Ok(answer);
                }
                Ok(entry) => {
                    count += 1;
                    self.write(&entry, &mut answer);
                }
                Err(error) => lines::push(&mut answer, format_args!("[{error}]")),
            }
        }
        if answer.is_empty() {
            answer = format!("[{} is empty]", self.root.display());
        }
        Ok(answer)
    }

    fn walk(&self) -> WalkBuilder {
        let mut walk = WalkBuilder::new(&self.root);
        walk.max_depth(Some(self.depth))
            .hidden(false)
            .require_git(false)
            .sort_by_file_name(Ord::cmp);
        if self.depth == 1 {
            walk.standard_filters(false);
        } else {
            walk.filter_entry(walk::is_not_git_dir);
        }
        walk
    }

    fn write(&self, entry: &DirEntry, answer: &mut String) {
        let path = entry.path();
        let name = path.strip_prefix(&self.root).unwrap_or(path);
        let suffix = suffix(entry, path);
        lines::push(answer, format_args!("{}{suffix}", name.display()));
    }
}

fn suffix(entry: &DirEntry, path: &Path) -> String {
    match entry.file_type() {
        Some(kind) if kind.is_dir() => "/".to_owned(),
        Some(kind) if kind.is_symlink() => match std::fs::read_link(path) {
            Ok(target) => format!(" -> {}", target.display()),
            Err(_) => " -> ?".to_owned(),
        },
        _ => String::new(),
    }
}
