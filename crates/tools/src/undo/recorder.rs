//! One session's keeper of files: told before something is changed, asked to take it back.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use troupe_process::{Launcher, holds_repository, writable_roots};
use troupe_protocol::SubmissionId;
use troupe_protocol::policy::SandboxMode;
use troupe_protocol::undo::{ChangedFile, FileFact, FileTree};

use super::blobs::BlobStore;
use super::ledger::{FileRestore, KnownChanges, PastUndo, UndoEntry, ways};
use super::plan::{DirectoryChange, UndoExtent, UndoPlan};
use super::snapshots::{SnapshotMaker, TakenSnapshot};
use super::task::{CommandWatch, EndedTask, RecordedTask, SettledTask, settle};
use crate::blocking;
use crate::call::{CallContext, ToolEvent, ToolInvocation};
use crate::digest::FileDigest;
use crate::environment::Variables;
use crate::policy::SandboxChoice;
use crate::safety::{self, SafetyJudgement};

/// What is said of a turn whose end nobody has recorded.
const CUT_OFF_NOTE: &str = "Troupe was killed during a turn: everything that changed since that \
                            turn began counts as its work";

/// Where snapshots are, for all sessions of a home.
#[derive(Debug)]
pub(crate) struct SnapshotHome {
    blobs: Arc<BlobStore>,
    /// None if commands are not to be watched.
    trees: Option<SnapshotMaker>,
    /// Names the temporary directory, which is writable.
    inherited: Variables,
}

impl SnapshotHome {
    pub(crate) fn new(home: &Path, launcher: Launcher, inherited: Variables) -> Self {
        let directory = home.join("snapshots");
        let blobs = Arc::new(BlobStore::new(directory.join("files")));
        Self {
            blobs: Arc::clone(&blobs),
            trees: Some(SnapshotMaker::new(
                directory.join("trees"),
                home.to_owned(),
                blobs,
                launcher,
                inherited.clone(),
            )),
            inherited,
        }
    }

    /// Keeps what patches touch, and nothing else.
    pub(crate) fn without_commands(self) -> Self {
        Self {
            trees: None,
            ..self
        }
    }

    /// Knows the same, and writes into another directory.
    fn in_scratch(&self, directory: &Path) -> Self {
        let blobs = Arc::new(self.blobs.in_scratch(directory.join("files")));
        let trees = self.trees.as_ref();
        Self {
            trees: trees.map(|it| it.in_scratch(directory.join("trees"), Arc::clone(&blobs))),
            blobs,
            inherited: self.inherited.clone(),
        }
    }

    pub(super) fn blobs(&self) -> Arc<BlobStore> {
        Arc::clone(&self.blobs)
    }

    pub(super) fn trees(&self) -> Option<&SnapshotMaker> {
        self.trees.as_ref()
    }
}

#[derive(Debug)]
pub struct UndoRecorder {
    snapshots: Arc<SnapshotHome>,
    turn: Mutex<Option<Arc<RecordedTask>>>,
    /// Git failed once, and is not asked again in this session.
    has_given_up: AtomicBool,
    /// The user knows that not all files are kept.
    has_told_left_over: AtomicBool,
}

impl UndoRecorder {
    pub(crate) fn new(snapshots: Arc<SnapshotHome>) -> Self {
        Self {
            snapshots,
            turn: Mutex::default(),
            has_given_up: AtomicBool::new(false),
            has_told_left_over: AtomicBool::new(false),
        }
    }

    /// Returns a keeper that plans with what this one knows, and writes into a directory of the
    /// caller's alone.
    pub fn for_planning(&self, scratch: &Path) -> Self {
        Self::new(Arc::new(self.snapshots.in_scratch(scratch)))
    }

    /// To be called before a command runs. The first one of a turn that may write waits for
    /// a look at the work tree.
    pub(crate) async fn before_command(
        &self,
        call: &ToolInvocation,
        argv: &[String],
        sandbox: SandboxChoice,
    ) {
        let turn = self.turn(&call.context);
        if turn.is_watched() || !may_write(&call.context, argv, sandbox) {
            return;
        }
        let writable = match sandbox {
            SandboxChoice::Unconfined => vec![PathBuf::from("/")],
            SandboxChoice::Confined => {
                let context = &call.context;
                writable_roots(
                    &context.sandbox_policy,
                    &context.cwd,
                    &self.snapshots.inherited,
                )
                .writable
            }
        };
        tokio::select! {
            () = turn.watch(self.take_snapshot(call, &turn.id, &writable)) => {}
            // The command that follows sees the cancellation too.
            () = call.cancel.cancelled() => {}
        }
    }

    /// To be called before a patch is applied, with the files that it touches.
    pub(crate) async fn before_patch(&self, call: &ToolInvocation, files: &[FileDigest]) {
        let turn = self.turn(&call.context);
        let files = turn.touch(&self.snapshots, files).await;
        if files.is_empty() {
            return;
        }
        let turn_id = turn.id.clone();
        let fact = FileFact::Touching { turn_id, files };
        call.channel.report(ToolEvent::Files(fact)).await;
    }

    /// Ends a turn.
    pub async fn end_turn(&self, id: &SubmissionId) -> EndedTask {
        let turn = {
            let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            turn.take().filter(|turn| turn.id == *id)
        };
        match turn {
            Some(turn) => turn.finish(&self.snapshots).await,
            None => EndedTask::default(),
        }
    }

    /// Finds out what taking these turns back would do. They come newest first.
    pub async fn plan_undo(
        &self,
        cwd: &Path,
        turns: &[&UndoEntry],
        extent: UndoExtent,
    ) -> (UndoPlan, Vec<String>) {
        let mut notes = Vec::new();
        let mut changes: Vec<Vec<ChangedFile>> = Vec::new();
        let mut made = BTreeSet::new();
        for turn in turns {
            changes.push(match &turn.known {
                KnownChanges::Ended {
                    files,
                    directories,
                    unseen,
                } => {
                    made.extend(directories.iter().cloned());
                    notes.extend(unseen.iter().map(|why| format!("{}: {why}", turn.turn_id)));
                    files.clone()
                }
                KnownChanges::CutOff(cut) => {
                    notes.push(CUT_OFF_NOTE.to_owned());
                    let tree = cut.tree.as_ref();
                    let root = work_root(cwd);
                    let settled = settle(&self.snapshots, &root, tree, &cut.touched, &mut notes);
                    let SettledTask {
                        mut files,
                        directories,
                    } = settled.await;
                    made.extend(directories);
                    // It was compared with what is there now. What later turns changed, they
                    // found as it had left it.
                    for file in &mut files {
                        let later = changes.iter().rev().flatten();
                        let mut later = later.filter(|later| later.path == file.path);
                        if let Some(later) = later.next() {
                            file.after = later.before.clone();
                        }
                    }
                    files
                }
            });
        }
        let ways = ways(changes.iter().map(Vec::as_slice));
        let made = DirectoryChange::Removed(made);
        let plan = self.plan(cwd, ways, made, extent).await;
        (plan, notes)
    }

    /// Finds out what taking an undo back would do.
    pub async fn plan_redo(&self, cwd: &Path, undo: &PastUndo, extent: UndoExtent) -> UndoPlan {
        let ways = ways([undo.files.as_slice()]);
        let removed = undo.directories.iter().cloned().collect();
        self.plan(cwd, ways, DirectoryChange::Made(removed), extent)
            .await
    }

    /// Does what was planned. What could not be done is among the conflicts of what is
    /// returned.
    pub async fn perform(&self, plan: UndoPlan) -> UndoPlan {
        let blobs = self.snapshots.blobs();
        let done = blocking::finish(move || plan.perform(&blobs)).await;
        // It fails only while the engine shuts down, and then nobody hears of it.
        done.unwrap_or_default()
    }

    async fn plan(
        &self,
        cwd: &Path,
        ways: Vec<FileRestore>,
        directories: DirectoryChange,
        extent: UndoExtent,
    ) -> UndoPlan {
        let blobs = self.snapshots.blobs();
        let root = work_root(cwd);
        let made =
            blocking::finish(move || UndoPlan::make(ways, directories, &root, extent, &blobs))
                .await;
        made.unwrap_or_default()
    }

    fn turn(&self, context: &CallContext) -> Arc<RecordedTask> {
        let id = &context.turn_id;
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        match &*turn {
            Some(turn) if turn.id == *id => Arc::clone(turn),
            // An earlier one was not ended, because its end could not be written down.
            Some(_) | None => {
                let new = RecordedTask::new(id.clone(), work_root(&context.cwd));
                Arc::clone(turn.insert(Arc::new(new)))
            }
        }
    }

    async fn take_snapshot(
        &self,
        call: &ToolInvocation,
        turn_id: &SubmissionId,
        writable: &[PathBuf],
    ) -> CommandWatch {
        let Some(trees) = &self.snapshots.trees else {
            return CommandWatch::Unseen("commands are not watched (undo.commands)".to_owned());
        };
        let Some(place) = SnapshotMaker::place(&call.context.cwd, writable) else {
            let why = "commands ran outside of a git repository: what they changed is not known";
            return CommandWatch::Unseen(why.to_owned());
        };
        if self.has_given_up.load(Ordering::Relaxed) {
            return CommandWatch::Unseen("commands were not watched any more".to_owned());
        }
        match trees.take(&place).await {
            Ok((name, taken)) => {
                self.report_snapshot_warnings(call, &taken).await;
                let tree = FileTree {
                    root: place.root.clone(),
                    parts: place.parts.clone(),
                    tree: name,
                };
                let turn_id = turn_id.clone();
                let fact = FileFact::Tree { turn_id, tree };
                call.channel.report(ToolEvent::Files(fact)).await;
                let look = taken.look;
                CommandWatch::Tree { place, look }
            }
            Err(why) => {
                self.has_given_up.store(true, Ordering::Relaxed);
                let text = format!(
                    "what commands change in this session cannot be taken back: {why}; \
                     undo.commands = false stops the attempt"
                );
                call.channel.report(ToolEvent::Warning(text)).await;
                CommandWatch::Unseen(format!("commands were not watched: {why}"))
            }
        }
    }
}

impl UndoRecorder {
    /// Says what a person should know of a look: a command waited for it, or not all was kept.
    async fn report_snapshot_warnings(&self, call: &ToolInvocation, taken: &TakenSnapshot) {
        if let Some(text) = taken.slowness() {
            call.channel.report(ToolEvent::Warning(text)).await;
        }
        let is_new = taken.left_over > 0 && !self.has_told_left_over.swap(true, Ordering::Relaxed);
        if is_new {
            let text = format!(
                "{} files are in no commit, or git has not looked at them since they were written, \
                 and are too many to be kept at once: what commands do to them now cannot be taken \
                 back; `git status` has git look",
                taken.left_over
            );
            call.channel.report(ToolEvent::Warning(text)).await;
        }
    }
}

/// Returns the top of the repository, or the directory itself.
fn work_root(cwd: &Path) -> PathBuf {
    let is_root = |directory: &&Path| holds_repository(directory);
    cwd.ancestors().find(is_root).unwrap_or(cwd).to_owned()
}

fn may_write(context: &CallContext, argv: &[String], sandbox: SandboxChoice) -> bool {
    let is_held = sandbox == SandboxChoice::Confined
        && context.sandbox_policy.mode() == SandboxMode::ReadOnly;
    !is_held && safety::judge(argv) != SafetyJudgement::KnownSafe
}
