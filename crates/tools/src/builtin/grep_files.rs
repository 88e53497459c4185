//! `grep_files`: lines by regular expression.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troupe_protocol::tool::ToolSpec;

use crate::arguments;
use crate::blocking::WorkDeadline;
use crate::call::ToolInvocation;
use crate::file::{self, HiddenDirectory};
use crate::item;
use crate::limits::{
    GREP_CONTEXT_MAX, GREP_MATCHES_DEFAULT, GREP_MATCHES_MAX, READ_ANSWER_BYTES_MAX,
    SEARCH_FILE_BYTES_MAX, SEARCH_REGEX_BYTES_MAX, SEARCH_TIME_MAX, SNIFF_BYTES,
};
use crate::lines;
use crate::tool::{Tool, ToolConcurrency, ToolOutput};
use crate::walk::{self, PathGlob, WalkEnd};
use crate::worker::{FileWork, FileWorkers};

mod hits;

use hits::{GrepHits, HitCapacity};

const NAME: &str = "grep_files";

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GrepFilesArguments {
    /// A regular expression in Rust syntax, matched line by line; `(?i)` in front ignores case.
    pattern: String,
    /// The directory or file to search; the working directory if absent.
    path: Option<String>,
    /// A glob that file names must match, such as `*.rs`.
    include: Option<String>,
    /// How many matching lines to return at most. Default 200, at most 2000.
    limit: Option<usize>,
    /// How many lines to show around each match. Default 0, at most 20.
    context: Option<usize>,
}

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<GrepFilesArguments>(
        NAME,
        "Searches the text of files. Returns `path:line:text` for each matching line and \
         `path-line-text` for lines around it; binary files and files that git ignores are \
         left out.",
    )
});

#[derive(Debug)]
pub(crate) struct GrepFiles {
    workers: FileWorkers,
    hidden: HiddenDirectory,
}

impl GrepFiles {
    pub(crate) fn new(workers: FileWorkers, hidden: HiddenDirectory) -> Self {
        Self { workers, hidden }
    }
}

#[async_trait]
impl Tool for GrepFiles {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let arguments: GrepFilesArguments = match arguments::parse(&call, &SPEC).await {
            Ok(arguments) => arguments,
            Err(output) => return output,
        };
        let searching = GrepFilesWork {
            root: call
                .context
                .resolve(arguments.path.as_deref().unwrap_or(".")),
            hidden: self.hidden.during(&call.context),
            arguments,
        };
        let work = async { ToolOutput::of(self.workers.read(&call, searching).await) };
        item::shown(&call, NAME, work).await
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GrepFilesWork {
    root: PathBuf,
    hidden: HiddenDirectory,
    arguments: GrepFilesArguments,
}

impl FileWork for GrepFilesWork {
    type Answer = String;
    const NAME: &str = "grep_files";
    const TIME_MAX: Option<Duration> = Some(SEARCH_TIME_MAX);

    fn run(self, stop: &WorkDeadline) -> Result<String, String> {
        GrepSearch::new(self.root, self.hidden, self.arguments)?.run(stop)
    }
}

#[derive(Debug)]
struct GrepSearch {
    root: PathBuf,
    hidden: HiddenDirectory,
    regex: Regex,
    pattern: String,
    include: Option<PathGlob>,
    matches_max: usize,
    context: usize,
}

impl GrepSearch {
    fn new(
        root: PathBuf,
        hidden: HiddenDirectory,
        arguments: GrepFilesArguments,
    ) -> Result<Self, String> {
        let regex = RegexBuilder::new(&arguments.pattern)
            .multi_line(true)
            .crlf(true)
            .size_limit(SEARCH_REGEX_BYTES_MAX)
            .build()
            .map_err(|error| format!("bad pattern {:?}: {error}", arguments.pattern))?;
        let include = arguments
            .include
            .map(|glob| PathGlob::new(&root, &glob))
            .transpose()?;
        Ok(Self {
            root,
            hidden,
            regex,
            pattern: arguments.pattern,
            include,
            matches_max: arguments
                .limit
                .unwrap_or(GREP_MATCHES_DEFAULT)
                .clamp(1, GREP_MATCHES_MAX),
            context: arguments.context.unwrap_or(0).min(GREP_CONTEXT_MAX),
        })
    }

    fn run(&self, stop: &WorkDeadline) -> Result<String, String> {
        let metadata = std::fs::metadata(&self.root)
            .map_err(|error| file::problem("search", &self.root, &error))?;
        let mut hits = GrepHits::new(self.matches_max, READ_ANSWER_BYTES_MAX, self.context);
        let mut passed_over = 0;
        let ended = if metadata.is_dir() {
            self.search_tree(&mut hits, &mut passed_over, stop)
        } else {
            let text = read_text(&self.root, &self.hidden)?.ok_or_else(|| not_text(&self.root))?;
            match hits.search(&self.regex, &self.root.to_string_lossy(), &text) {
                HitCapacity::Left => WalkEnd::Finished,
                HitCapacity::Full => WalkEnd::Full,
            }
        };
        Ok(self.answer(hits, ended, passed_over))
    }

    fn search_tree(
        &self,
        hits: &mut GrepHits,
        passed_over: &mut usize,
        stop: &WorkDeadline,
    ) -> WalkEnd {
        for entry in walk::project(&self.root).build().flatten() {
            if stop.is_due() {
                return WalkEnd::OutOfTime;
            }
            let path = entry.path();
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            if !is_file
                || self
                    .include
                    .as_ref()
                    .is_some_and(|glob| !glob.matches(path))
            {
                continue;
            }
            match read_text(path, &self.hidden) {
                Ok(Some(text)) => {
                    let name = path.strip_prefix(&self.root).unwrap_or(path);
                    if hits.search(&self.regex, &name.to_string_lossy(), &text) == HitCapacity::Full
                    {
                        return WalkEnd::Full;
                    }
                }
                Ok(None) => {}
                Err(_) => *passed_over += 1,
            }
        }
        WalkEnd::Finished
    }

    fn answer(&self, hits: GrepHits, ended: WalkEnd, passed_over: usize) -> String {
        let mut answer = hits.into_text();
        match ended {
            WalkEnd::Finished if answer.is_empty() => {
                answer = format!(
                    "no line below {} matches {:?}\n",
                    self.root.display(),
                    self.pattern
                );
            }
            WalkEnd::Finished => {}
            WalkEnd::Full => lines::push(
                &mut answer,
                "[there are more matches; narrow pattern, path or include, or raise limit]",
            ),
            WalkEnd::OutOfTime => {
                lines::push(&mut answer, walk::OUT_OF_TIME);
            }
        }
        if passed_over > 0 {
            let mebibytes = SEARCH_FILE_BYTES_MAX / (1024 * 1024);
            lines::push(
                &mut answer,
                format_args!(
                    "[{passed_over} files were not searched: not readable, or larger than \
                     {mebibytes} MiB]"
                ),
            );
        }
        answer
    }
}

/// Reads a text file whole; `None` if it is binary.
fn read_text(path: &Path, hidden: &HiddenDirectory) -> Result<Option<Vec<u8>>, String> {
    use std::io::Read as _;
    let (file, size) = file::open_regular(path, hidden)?;
    if size > SEARCH_FILE_BYTES_MAX {
        return Err(format!(
            "{} has {size} bytes, too many to search",
            path.display()
        ));
    }
    let mut text = Vec::new();
    // The size is only a hint: the file may grow while it is read.
    file.take(SEARCH_FILE_BYTES_MAX)
        .read_to_end(&mut text)
        .map_err(|error| file::problem("read", path, &error))?;
    let head = &text[..text.len().min(SNIFF_BYTES)];
    Ok(file::binary_kind(head).is_none().then_some(text))
}

fn not_text(path: &Path) -> String {
    format!("{} is not text", path.display())
}

#[cfg(test)]
mod tests;
