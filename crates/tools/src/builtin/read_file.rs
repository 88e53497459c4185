//! `read_file`: a slice of a text file with line numbers.

use std::io::{BufRead, BufReader, Seek};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troupe_protocol::tool::ToolSpec;

use crate::arguments;
use crate::blocking::{StoppableFile, WorkDeadline};
use crate::call::ToolInvocation;
use crate::file::{self, HiddenDirectory};
use crate::item;
use crate::limits::{
    READ_ANSWER_BYTES_MAX, READ_BUFFER_BYTES, READ_LINE_BYTES_MAX, READ_LINES_DEFAULT,
    SEARCH_TIME_MAX, SNIFF_BYTES,
};
use crate::lines;
use crate::tool::{Tool, ToolConcurrency, ToolOutput};
use crate::worker::{FileWork, FileWorkers};

const NAME: &str = "read_file";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadFileArguments {
    /// The file; relative paths start at the working directory.
    path: String,
    /// The first line to return, from 1.
    offset: Option<usize>,
    /// How many lines to return at most. Default 2000.
    limit: Option<usize>,
}

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<ReadFileArguments>(
        NAME,
        "Reads a text file and returns its lines with their numbers. Long files come in \
         slices: the answer says where to go on.",
    )
});

#[derive(Debug)]
pub(crate) struct ReadFile {
    workers: FileWorkers,
    hidden: HiddenDirectory,
}

impl ReadFile {
    pub(crate) fn new(workers: FileWorkers, hidden: HiddenDirectory) -> Self {
        Self { workers, hidden }
    }
}

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let arguments: ReadFileArguments = match arguments::parse(&call, &SPEC).await {
            Ok(arguments) => arguments,
            Err(output) => return output,
        };
        let reading = ReadFileWork {
            path: call.context.resolve(&arguments.path),
            slice: LineSlice {
                first: arguments.offset.unwrap_or(1).max(1),
                count: arguments.limit.unwrap_or(READ_LINES_DEFAULT).max(1),
            },
            hidden: self.hidden.during(&call.context),
        };
        let work = async { ToolOutput::of(self.workers.read(&call, reading).await) };
        item::shown(&call, NAME, work).await
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReadFileWork {
    path: PathBuf,
    slice: LineSlice,
    hidden: HiddenDirectory,
}

impl FileWork for ReadFileWork {
    type Answer = String;
    const NAME: &str = "read_file";
    const TIME_MAX: Option<Duration> = Some(SEARCH_TIME_MAX);

    fn run(self, stop: &WorkDeadline) -> Result<String, String> {
        read(&self.path, self.slice, &self.hidden, stop)
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct LineSlice {
    first: usize,
    count: usize,
}

fn read(
    path: &Path,
    slice: LineSlice,
    hidden: &HiddenDirectory,
    stop: &WorkDeadline,
) -> Result<String, String> {
    let mut reader = open_text(path, hidden, stop)?;
    let mut line = TruncatedLine::default();
    let mut number = 0;
    let mut answer = String::new();
    loop {
        let more = line
            .read(&mut reader)
            .map_err(|error| file::problem("read", path, &error))?;
        if !more {
            break;
        }
        number += 1;
        if number < slice.first {
            continue;
        }
        if number - slice.first >= slice.count || answer.len() >= READ_ANSWER_BYTES_MAX {
            lines::push(
                &mut answer,
                format_args!("[more lines follow; go on with offset {number}]"),
            );
            return Ok(answer);
        }
        line.write_numbered(number, &mut answer);
    }
    if answer.is_empty() {
        return Ok(match number {
            0 => format!("[{} is empty]", path.display()),
            _ => format!("[{} ends at line {number}]", path.display()),
        });
    }
    Ok(answer)
}

fn open_text<'a>(
    path: &Path,
    hidden: &HiddenDirectory,
    stop: &'a WorkDeadline,
) -> Result<BufReader<StoppableFile<'a>>, String> {
    let (mut file, size) = file::open_regular(path, hidden)?;
    let head =
        file::head(&mut file, SNIFF_BYTES).map_err(|error| file::problem("read", path, &error))?;
    if let Some(kind) = file::binary_kind(&head) {
        return Err(format!(
            "{} is not text: {kind}, {size} bytes; look at it with a command that knows the format{}",
            path.display(),
            if kind.is_image() {
                ", or with view_image"
            } else {
                ""
            },
        ));
    }
    file.rewind()
        .map_err(|error| file::problem("read", path, &error))?;
    let file = StoppableFile { file, stop };
    Ok(BufReader::with_capacity(READ_BUFFER_BYTES, file))
}

/// One line, kept only as far as it is shown: a file may be one line of gigabytes.
#[derive(Debug, Default)]
struct TruncatedLine {
    shown: Vec<u8>,
    bytes: usize,
}

impl TruncatedLine {
    /// Reads the next line; false at the end of the file.
    fn read(&mut self, reader: &mut impl BufRead) -> std::io::Result<bool> {
        self.shown.clear();
        self.bytes = 0;
        let mut any = false;
        loop {
            let buffer = reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(any);
            }
            any = true;
            let end = memchr::memchr(b'\n', buffer);
            let piece = &buffer[..end.unwrap_or(buffer.len())];
            let room = READ_LINE_BYTES_MAX.saturating_sub(self.shown.len());
            self.shown
                .extend_from_slice(&piece[..piece.len().min(room)]);
            self.bytes += piece.len();
            let used = piece.len() + usize::from(end.is_some());
            reader.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn write_numbered(&self, number: usize, answer: &mut String) {
        let shown = self.shown.strip_suffix(b"\r").unwrap_or(&self.shown);
        let text = String::from_utf8_lossy(shown);
        let cut = self.bytes - self.shown.len();
        if cut == 0 {
            lines::push(answer, format_args!("{number:>6}\t{text}"));
        } else {
            let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
            lines::push(
                answer,
                format_args!("{number:>6}\t{text} [… {cut} more bytes in this line]"),
            );
        }
    }
}

#[cfg(test)]
mod tests;
