//! Git on a store of our own, with somebody else's work tree.
//!
//! It runs confined like a command that may write nothing but the store, so it cannot touch
//! the user's repository, whatever is in it. Configuration of user and system does not count,
//! because it names programs; what files are ignored does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use troupe_process::{CommandSpec, Confinement, Launcher, Process, ProcessEvent, StdinMode};
use troupe_protocol::command::OutputStream;
use troupe_protocol::policy::SandboxPolicy;

use crate::environment::Variables;
use crate::limits::{UNDO_COMPLAINT_BYTES_MAX, UNDO_FILE_BYTES_MAX, UNDO_LISTING_BYTES_MAX};

/// Variables that git needs to be found, and to find the files that say what is ignored.
const PASSED_ON: [&str; 3] = ["PATH", "HOME", "XDG_CONFIG_HOME"];

#[derive(Debug, Clone)]
pub(super) struct Git {
    launcher: Launcher,
    /// The store: git's directory.
    directory: PathBuf,
    /// The top of the work tree.
    root: PathBuf,
    environment: Variables,
}

impl Git {
    pub(super) fn new(
        launcher: Launcher,
        directory: PathBuf,
        root: PathBuf,
        inherited: &Variables,
    ) -> Self {
        let passed_on = PASSED_ON.iter().filter_map(|name| {
            let value = inherited.get(*name)?;
            Some(((*name).to_owned(), value.clone()))
        });
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let own = [
            ("GIT_DIR", text(&directory)),
            ("GIT_WORK_TREE", text(&root)),
            ("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("LC_ALL", "C".to_owned()),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        let environment: BTreeMap<String, String> = passed_on.chain(own).collect();
        Self {
            launcher,
            directory,
            root,
            environment,
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Runs git to its end and returns what it printed.
    pub(super) async fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let mut process = self.start(arguments, StdinMode::Null).await?;
        let (mut printed, mut complaint) = (Vec::new(), Vec::new());
        while let Some(event) = process.next().await {
            match event {
                ProcessEvent::Output { stream, bytes } => match stream {
                    OutputStream::Stdout => printed.extend_from_slice(&bytes),
                    OutputStream::Stderr => {
                        let room = UNDO_COMPLAINT_BYTES_MAX.saturating_sub(complaint.len());
                        complaint.extend_from_slice(&bytes[..bytes.len().min(room)]);
                    }
                },
                ProcessEvent::Exited(exit) if exit.is_success() => return Ok(printed),
                ProcessEvent::Exited(_) => break,
            }
            if printed.len() > UNDO_LISTING_BYTES_MAX {
                return Err("too many files have changed to be listed".to_owned());
            }
        }
        let words = String::from_utf8_lossy(&complaint);
        Err(format!(
            "git {} failed: {}",
            arguments.first().unwrap_or(&""),
            words.trim_end()
        ))
    }

    /// Starts a git that gives out the contents it is asked for.
    pub(super) async fn contents(&self) -> Result<Contents, String> {
        let process = self
            .start(&["cat-file", "--batch"], StdinMode::Pipe)
            .await?;
        Ok(Contents {
            process,
            printed: Vec::new(),
        })
    }

    async fn start(&self, arguments: &[&str], stdin: StdinMode) -> Result<Process, String> {
        let argv = std::iter::once("git").chain(arguments.iter().copied());
        let spec = CommandSpec {
            argv: argv.map(str::to_owned).collect(),
            cwd: self.root.clone(),
            env: self.environment.clone(),
            confinement: Confinement::Policy {
                policy: SandboxPolicy::WorkspaceWrite {
                    writable_roots: Vec::new(),
                    network_access: false,
                    exclude_tmpdir_env_var: true,
                    exclude_slash_tmp: true,
                },
                // All that it may write.
                cwd: self.directory.clone(),
            },
            terminal: None,
            stdin,
        };
        let spawned = self.launcher.spawn(spec).await;
        spawned.map_err(|error| format!("git cannot be run: {error}"))
    }
}

/// A git that answers one question after the other.
#[derive(Debug)]
pub(super) struct Contents {
    process: Process,
    /// Read and not yet used.
    printed: Vec<u8>,
}

impl Contents {
    /// Returns the contents of a blob; `None` if there is none, or if it is too large.
    pub(super) async fn get(&mut self, id: &str) -> Result<Option<Vec<u8>>, String> {
        let question = format!("{id}\n");
        let asked = self.process.write_stdin(question.as_bytes()).await;
        asked.map_err(|error| format!("git takes no questions: {error}"))?;
        let end = loop {
            match memchr::memchr(b'\n', &self.printed) {
                Some(end) => break end,
                None => self.read().await?,
            }
        };
        let head: Vec<u8> = self.printed.drain(..=end).collect();
        let head = String::from_utf8_lossy(&head);
        let Some(size) = blob_size(&head) else {
            return Ok(None);
        };
        if size as u64 > UNDO_FILE_BYTES_MAX {
            self.skip(size + 1).await?;
            return Ok(None);
        }
        while self.printed.len() <= size {
            self.read().await?;
        }
        let rest = self.printed.split_off(size + 1);
        let mut content = std::mem::replace(&mut self.printed, rest);
        // The line feed that follows each content.
        content.pop();
        Ok(Some(content))
    }

    async fn read(&mut self) -> Result<(), String> {
        match self.process.next().await {
            Some(ProcessEvent::Output { stream, bytes }) => {
                if stream == OutputStream::Stdout {
                    self.printed.extend_from_slice(&bytes);
                }
                Ok(())
            }
            Some(ProcessEvent::Exited(_)) | None => {
                Err("git ended before it had given out all contents".to_owned())
            }
        }
    }

    async fn skip(&mut self, mut count: usize) -> Result<(), String> {
        while count > 0 {
            if self.printed.is_empty() {
                self.read().await?;
            }
            let skipped = count.min(self.printed.len());
            self.printed.drain(..skipped);
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
