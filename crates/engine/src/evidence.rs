//! What a task was seen to do, whatever its model says of it.

use std::collections::HashMap;

use troupe_protocol::ResponseItem;
use troupe_protocol::command::{CommandSource, WorkStatus};
use troupe_protocol::item::{CommandExecutionItem, TurnItem};
use troupe_protocol::result::{CommandEvidence, Evidence, FileEvidence};
use troupe_protocol::tool::BACKEND_TOOL;
use troupe_protocol::undo::{ChangedFile, FileFact, FileState};
use troupe_protocol::usage::TokenUsage;
use troupe_tools::digest::{self, FileDigest};

use crate::limits::{EVIDENCE_COMMAND_BYTES_MAX, EVIDENCE_ENTRIES_MAX};

/// Grows while the task runs.
#[derive(Debug, Default)]
pub(crate) struct EvidenceCollector {
    evidence: Evidence,
    /// Files as they were when the task first touched them.
    files: Vec<FileDigest>,
    /// Files that are not in the list because it is full.
    files_over: u32,
    /// Files of a patch that is being applied; it may still fail.
    patching: Vec<FileDigest>,
    /// What was found out by comparing files with what they were before the task, patched ones
    /// among them: commands do not say what they change.
    compared: Option<Vec<FileEvidence>>,
    /// Where the commands stand in the list that go on in the background.
    background: HashMap<String, usize>,
}

impl EvidenceCollector {
    pub(crate) fn since(started_at_ms: i64) -> Self {
        let mut seen = Self::default();
        seen.evidence.started_at_ms = started_at_ms;
        seen
    }

    pub(crate) fn used(&mut self, usage: TokenUsage) {
        self.evidence.usage += usage;
    }

    /// Takes the items of a whole response.
    pub(crate) fn responded(&mut self, items: &[ResponseItem]) {
        for item in items {
            match item {
                ResponseItem::FunctionCall { name, .. } if name == BACKEND_TOOL => {}
                ResponseItem::FunctionCall { name, .. }
                | ResponseItem::CustomToolCall { name, .. } => self.called(name),
                item if item.assistant_message().is_some() => self.evidence.messages += 1,
                _ => (),
            }
        }
    }

    /// Takes an item that a call has completed.
    pub(crate) fn completed(&mut self, item: &TurnItem) {
        match item {
            TurnItem::CommandExecution(item) => self.command(item),
            TurnItem::FileChange(item) => self.patched(item.status),
            // A program that is a child makes its calls within one of ours.
            TurnItem::ToolCall(item) if item.id.0.contains('/') => self.called(&item.tool),
            _ => (),
        }
    }

    fn called(&mut self, tool: &str) {
        *self.evidence.tool_calls.entry(tool.to_owned()).or_default() += 1;
    }

    /// A patch that failed has touched nothing.
    fn patched(&mut self, status: WorkStatus) {
        let files = std::mem::take(&mut self.patching);
        if status == WorkStatus::Completed {
            self.touched(files);
        }
    }

    /// Takes files as they are before a patch is applied to them.
    pub(crate) fn editing(&mut self, files: Vec<FileDigest>) {
        self.patching.extend(files);
    }

    /// Takes what the log says of files.
    pub(crate) fn filed(&mut self, fact: &FileFact) {
        match fact {
            FileFact::Changed { files, .. } => {
                let changed = files.iter().map(|file| FileEvidence {
                    path: file.path.clone(),
                    before: self.before(file),
                    after: sha256(&file.after),
                });
                self.compared = Some(changed.collect());
            }
            FileFact::Touching { files, .. } => self.editing(
                files
                    .iter()
                    .map(|file| FileDigest {
                        path: file.path.clone(),
                        sha256: sha256(&file.before),
                    })
                    .collect(),
            ),
            // A snapshot alone says nothing of what was changed; an undo is no part of a task.
            FileFact::Tree { .. } | FileFact::Undone { .. } | FileFact::Redone => {}
        }
    }

    fn command(&mut self, item: &CommandExecutionItem) {
        let exit_code = item.outcome.as_ref().and_then(|outcome| outcome.exit_code);
        let process = item.process_id.as_ref();
        let earlier = process.and_then(|process| self.background.get(process));
        if let Some(&index) = earlier {
            self.evidence.commands[index].exit_code = exit_code;
            return;
        }
        // A look at a command of an earlier task says something new only when it has ended.
        if item.source == CommandSource::UnifiedExecInteraction && exit_code.is_none() {
            return;
        }
        if self.evidence.commands.len() >= EVIDENCE_ENTRIES_MAX {
            self.evidence.omitted += 1;
            return;
        }
        if let (Some(process), None) = (process, exit_code) {
            let index = self.evidence.commands.len();
            self.background.insert(process.clone(), index);
        }
        self.evidence.commands.push(CommandEvidence {
            command: shown(&item.command),
            exit_code,
            refused: item.status == WorkStatus::Declined,
        });
    }

    /// The first look at a file counts.
    fn touched(&mut self, files: Vec<FileDigest>) {
        for file in files {
            if self.files.iter().any(|known| known.path == file.path) {
                continue;
            }
            if self.files.len() < EVIDENCE_ENTRIES_MAX {
                self.files.push(file);
            } else {
                self.files_over += 1;
            }
        }
    }

    /// Returns what a file was before the task. One that could not be kept for an undo was
    /// looked at all the same if a patch touched it.
    fn before(&self, file: &ChangedFile) -> Option<String> {
        let looks = self.files.iter().chain(&self.patching);
        match &file.before {
            FileState::Other { .. } => {
                let mut looks = looks.filter(|look| look.path == file.path);
                looks.next()?.sha256.clone()
            }
            state => sha256(state),
        }
    }

    /// Looks at the files again and returns what is to be told of the task.
    pub(crate) async fn finish(mut self, ended_at_ms: i64) -> Evidence {
        // Of a patch that was cut off, the files themselves tell how far it came.
        self.patched(WorkStatus::Completed);
        let mut evidence = self.evidence;
        evidence.ended_at_ms = ended_at_ms;
        let mut files = match self.compared {
            Some(files) => files,
            None if self.files.is_empty() => Vec::new(),
            None => {
                evidence.omitted += self.files_over;
                let looked = tokio::task::spawn_blocking(move || compare(self.files)).await;
                // It fails only when the runtime is shutting down, and the task with it.
                looked.unwrap_or_default()
            }
        };
        let over = files.len().saturating_sub(EVIDENCE_ENTRIES_MAX);
        files.truncate(EVIDENCE_ENTRIES_MAX);
        evidence.omitted += u32::try_from(over).unwrap_or(u32::MAX);
        evidence.files = files;
        evidence
    }
}

/// Leaves out what is as it was before: a patch that failed, or one that was taken back.
fn compare(files: Vec<FileDigest>) -> Vec<FileEvidence> {
    let look = |file: FileDigest| FileEvidence {
        after: digest::of_path(&file.path),
        path: file.path,
        before: file.sha256,
    };
    files
        .into_iter()
        .map(look)
        .filter(|file| file.before != file.after)
        .collect()
}

/// Returns the hash of a regular file that was kept or could have been.
fn sha256(state: &FileState) -> Option<String> {
    match state {
        FileState::File { sha256, .. } => Some(sha256.clone()),
        FileState::Absent | FileState::Link { .. } | FileState::Other { .. } => None,
    }
}

/// Returns a command as one would type it; of a shell's, what the shell was given.
fn shown(argv: &[String]) -> String {
    let text = match argv {
        [_, flag, script] if flag == "-c" || flag == "-lc" => script.clone(),
        words => words.join(" "),
    };
    if text.len() <= EVIDENCE_COMMAND_BYTES_MAX {
        return text;
    }
    let end = text.floor_char_boundary(EVIDENCE_COMMAND_BYTES_MAX);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests;
