//! What git is asked about a work tree: which files it does not track, how large contents are,
//! which files are converted, and contents themselves.
//!
//! It runs confined with a directory of our own in the place of the user's `.git`, so that no
//! setting of the repository counts; what files are ignored does.

use std::collections::BTreeSet;

use futures_util::FutureExt as _;
use troupe_process::{GitReader, Process, ProcessEvent, StdinMode};
use troupe_protocol::command::OutputStream;

use super::manifest::ObjectId;
use crate::limits::{UNDO_COMPLAINT_BYTES_MAX, UNDO_FILE_BYTES_MAX, UNDO_LISTING_BYTES_MAX};

/// Bytes of questions that are asked before answers are taken.
const QUESTIONS_BYTES: usize = 64 * 1024;

/// Attributes that make other contents of a file, of perhaps the same length.
const CONVERTING: [&str; 2] = ["filter", "working-tree-encoding"];

/// Attributes that make contents of another length, and settings that do or name further ones.
const RESIZING: [&str; 4] = ["text", "eol", "crlf", "ident"];
const RESIZING_SETTINGS: [&str; 3] = ["eol", "crlf", "include"];

/// Lists the files that git does not track and does not ignore; a repository inside ends with a
/// slash. `all` lists the tracked ones too.
pub(super) async fn list(
    git: &GitReader,
    parts: &[&str],
    all: bool,
) -> Result<Vec<Vec<u8>>, String> {
    let mut arguments = vec!["--literal-pathspecs", "ls-files", "-z", "--others"];
    arguments.push("--exclude-standard");
    if all {
        arguments.push("--cached");
    }
    if !parts.is_empty() {
        arguments.push("--");
        arguments.extend(parts);
    }
    let mut talk = GitProcess::start(git, &arguments, StdinMode::Null).await?;
    let printed = talk.finish(&[0]).await?;
    Ok(zero_ended(&printed).map(<[u8]>::to_vec).collect())
}

/// Returns those of the paths that git ignores.
pub(super) async fn ignored(
    git: &GitReader,
    paths: &[Vec<u8>],
) -> Result<BTreeSet<Vec<u8>>, String> {
    let questions = paths.iter().map(|path| [path, &[0][..]].concat());
    let mut talk = ask(git, &["check-ignore", "-z", "--stdin"], questions).await?;
    // It ends with 1 if there is none.
    let printed = talk.finish(&[0, 1]).await?;
    Ok(zero_ended(&printed).map(<[u8]>::to_vec).collect())
}

/// Returns the length of each object; `None` for those that are not there.
pub(super) async fn sizes(git: &GitReader, ids: &[ObjectId]) -> Result<Vec<Option<u64>>, String> {
    let arguments = ["cat-file", "--batch-check=%(objectsize)", "--buffer"];
    let questions = ids.iter().map(|id| id.to_hex() + "\n");
    let printed = answers(git, &arguments, questions.map(String::into_bytes)).await?;
    let lines = printed.split(|byte| *byte == b'\n');
    let sizes = lines.map(|line| str::from_utf8(line).ok()?.parse().ok());
    let sizes: Vec<_> = sizes.take(ids.len()).collect();
    let is_whole = sizes.len() == ids.len();
    is_whole
        .then_some(sizes)
        .ok_or_else(|| "git did not tell about all contents".to_owned())
}

/// Returns those of the files that a filter or another encoding may convert.
pub(super) async fn converted(
    git: &GitReader,
    paths: &[&[u8]],
) -> Result<BTreeSet<Vec<u8>>, String> {
    let mut arguments = vec!["check-attr", "-z", "--stdin"];
    arguments.extend(CONVERTING);
    let questions = paths.iter().map(|path| [path, &[0][..]].concat());
    let printed = answers(git, &arguments, questions).await?;
    let mut words = zero_ended(&printed);
    let mut found = BTreeSet::new();
    while let (Some(path), Some(_), Some(value)) = (words.next(), words.next(), words.next()) {
        if !matches!(value, b"unspecified" | b"unset") {
            found.insert(path.to_vec());
        }
    }
    Ok(found)
}

/// Tells whether a file of attributes may name a conversion that keeps the length.
pub(super) fn names_conversion(attributes: &[u8]) -> bool {
    let mut names = CONVERTING.iter();
    names.any(|name| memchr::memmem::find(attributes, name.as_bytes()).is_some())
}

/// Tells whether a file of attributes may name a conversion that changes the length.
pub(super) fn names_resizing(attributes: &[u8]) -> bool {
    names_any(attributes, &RESIZING)
}

/// Tells whether a file of settings may.
pub(super) fn sets_resizing(settings: &[u8]) -> bool {
    names_any(settings, &RESIZING_SETTINGS)
}

fn names_any(text: &[u8], names: &[&str]) -> bool {
    let text = text.to_ascii_lowercase();
    let mut names = names.iter();
    names.any(|name| memchr::memmem::find(&text, name.as_bytes()).is_some())
}

fn zero_ended(printed: &[u8]) -> impl Iterator<Item = &[u8]> {
    let parts = printed.split(|byte| *byte == 0);
    parts.filter(|part| !part.is_empty())
}

/// Asks all questions and returns all answers.
async fn answers(
    git: &GitReader,
    arguments: &[&str],
    questions: impl Iterator<Item = Vec<u8>>,
) -> Result<Vec<u8>, String> {
    let mut talk = ask(git, arguments, questions).await?;
    talk.finish(&[0]).await
}

/// Starts a git and asks all questions.
async fn ask(
    git: &GitReader,
    arguments: &[&str],
    questions: impl Iterator<Item = Vec<u8>>,
) -> Result<GitProcess, String> {
    let mut talk = GitProcess::start(git, arguments, StdinMode::Pipe).await?;
    let mut batch = Vec::with_capacity(2 * QUESTIONS_BYTES);
    for question in questions {
        batch.extend(question);
        if batch.len() >= QUESTIONS_BYTES {
            talk.say(&batch).await?;
            batch.clear();
        }
    }
    talk.say(&batch).await?;
    talk.process.close_stdin();
    Ok(talk)
}

/// A git that runs.
#[derive(Debug)]
struct GitProcess {
    process: Process,
    /// What it was told to do.
    name: String,
    printed: Vec<u8>,
    complaint: Vec<u8>,
}

impl GitProcess {
    async fn start(git: &GitReader, arguments: &[&str], stdin: StdinMode) -> Result<Self, String> {
        let process = git.start(arguments, stdin).await;
        let named = arguments.iter().find(|word| !word.starts_with('-'));
        Ok(Self {
            process: process.map_err(|error| error.to_string())?,
            name: named.copied().unwrap_or_default().to_owned(),
            printed: Vec::new(),
            complaint: Vec::new(),
        })
    }

    /// Writes, and takes what has been printed meanwhile.
    async fn say(&mut self, bytes: &[u8]) -> Result<(), String> {
        let said = self.process.write_stdin(bytes).await;
        said.map_err(|error| format!("git {} takes no questions: {error}", self.name))?;
        while let Some(Some(event)) = self.process.next().now_or_never() {
            if let ProcessEvent::Output { stream, bytes } = event {
                self.take(stream, &bytes)?;
            }
        }
        Ok(())
    }

    async fn finish(&mut self, codes: &[i32]) -> Result<Vec<u8>, String> {
        while let Some(event) = self.process.next().await {
            match event {
                ProcessEvent::Output { stream, bytes } => self.take(stream, &bytes)?,
                ProcessEvent::Exited(exit) if exit.code.is_some_and(|it| codes.contains(&it)) => {
                    return Ok(std::mem::take(&mut self.printed));
                }
                ProcessEvent::Exited(_) => break,
            }
        }
        let words = String::from_utf8_lossy(&self.complaint);
        Err(format!("git {} failed: {}", self.name, words.trim_end()))
    }

    /// Waits for something to be printed.
    async fn read(&mut self) -> Result<(), String> {
        match self.process.next().await {
            Some(ProcessEvent::Output { stream, bytes }) => self.take(stream, &bytes),
            Some(ProcessEvent::Exited(_)) | None => {
                Err("git ended before it had given out all contents".to_owned())
            }
        }
    }

    fn take(&mut self, stream: OutputStream, bytes: &[u8]) -> Result<(), String> {
        match stream {
            OutputStream::Stdout => self.printed.extend_from_slice(bytes),
            OutputStream::Stderr => {
                let room = UNDO_COMPLAINT_BYTES_MAX.saturating_sub(self.complaint.len());
                self.complaint
                    .extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
        }
        if self.printed.len() > UNDO_LISTING_BYTES_MAX {
            return Err("there are too many files to be listed".to_owned());
        }
        Ok(())
    }
}

/// A git that gives out one content after the other.
#[derive(Debug)]
pub(super) struct GitContentReader(GitProcess);

impl GitContentReader {
    pub(super) async fn start(git: &GitReader) -> Result<Self, String> {
        let talk = GitProcess::start(git, &["cat-file", "--batch"], StdinMode::Pipe);
        Ok(Self(talk.await?))
    }

    /// Returns the contents of a blob; `None` if there is none, or if it is too large.
    pub(super) async fn get(&mut self, id: &ObjectId) -> Result<Option<Vec<u8>>, String> {
        let question = id.to_hex() + "\n";
        let talk = &mut self.0;
        talk.say(question.as_bytes()).await?;
        let end = loop {
            match memchr::memchr(b'\n', &talk.printed) {
                Some(end) => break end,
                None => talk.read().await?,
            }
        };
        let head: Vec<u8> = talk.printed.drain(..=end).collect();
        let Some(size) = blob_size(&String::from_utf8_lossy(&head)) else {
            return Ok(None);
        };
        if size as u64 > UNDO_FILE_BYTES_MAX {
            self.skip(size + 1).await?;
            return Ok(None);
        }
        while talk.printed.len() <= size {
            talk.read().await?;
        }
        let rest = talk.printed.split_off(size + 1);
        let mut content = std::mem::replace(&mut talk.printed, rest);
        // The line feed that follows each content.
        content.pop();
        Ok(Some(content))
    }

    async fn skip(&mut self, mut count: usize) -> Result<(), String> {
        let talk = &mut self.0;
        while count > 0 {
            if talk.printed.is_empty() {
                talk.read().await?;
            }
            let skipped = count.min(talk.printed.len());
            talk.printed.drain(..skipped);
            count -= skipped;
        }
        Ok(())
    }
}

/// Reads the size out of `ID blob SIZE`.
fn blob_size(head: &str) -> Option<usize> {
    let (_, rest) = head.trim_end().split_once(' ')?;
    rest.strip_prefix("blob ")?.parse().ok()
}
