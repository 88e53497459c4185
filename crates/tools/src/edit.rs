//! Patches under the policy, whichever tool they came through.
//!
//! ```text
//! body ─► parse ─► plan inside the writable roots ─► policy ─► (ask) ─► apply ─► answer
//!                        └ outside: plan anywhere, to show what is asked for
//! ```
//!
//! Both looks at the files are a worker's. The second one makes the plan again and goes on only
//! if it finds what the first one found.

mod work;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use troupe_patch::PatchRoots;
use troupe_process::writable_roots;
use troupe_protocol::EventMsg;
use troupe_protocol::approval::PatchApprovalRequest;
use troupe_protocol::command::{FileChanges, WorkStatus};
use troupe_protocol::item::{FileChangeItem, TurnItem};
use troupe_protocol::policy::{SandboxMode, SandboxPolicy};

use crate::approval::{ApprovalAnswer, ApprovedAction, SessionApprovals};
use crate::blocking;
use crate::call::{ApprovalQuestion, CallContext, ToolEvent, ToolInvocation};
use crate::digest;
use crate::environment::Variables;
use crate::item;
use crate::policy::{self, EditReach, PolicyVerdict, SandboxChoice};
use crate::rules::{CommandRuling, RuleBook};
use crate::shell_patch::ShellPatch;
use crate::tool::ToolOutput;
use crate::turn_diff::TurnDiff;
use crate::undo::UndoRecorder;
use crate::worker::{FileWorkers, WriteRights};

pub(crate) use work::{ApplyPatchWork, PlanPatchWork, PlannedPatch};

/// Applies patches for the session's tools.
#[derive(Debug)]
pub(crate) struct PatchEditor {
    agreements: Arc<SessionApprovals>,
    workers: FileWorkers,
    /// Names the temporary directory, which is writable.
    variables: Arc<Variables>,
    /// No patch gets there unless a person lets it.
    troupe_home: Option<PathBuf>,
    keeper: Option<Arc<UndoRecorder>>,
    turn_diff: Arc<TurnDiff>,
    rules: RuleBook,
}

impl PatchEditor {
    pub(crate) fn new(
        agreements: Arc<SessionApprovals>,
        workers: FileWorkers,
        variables: Arc<Variables>,
        troupe_home: Option<PathBuf>,
        keeper: Option<Arc<UndoRecorder>>,
        turn_diff: Arc<TurnDiff>,
        rules: RuleBook,
    ) -> Self {
        Self {
            agreements,
            workers,
            variables,
            troupe_home,
            keeper,
            turn_diff,
            rules,
        }
    }

    /// Applies the patch as one call of `tool`. Relative paths start at `cwd`.
    pub(crate) async fn apply(
        &self,
        call: &ToolInvocation,
        tool: &str,
        body: String,
        cwd: PathBuf,
    ) -> ToolOutput {
        let began = Instant::now();
        let body: Arc<str> = body.into();
        let planning = PlanPatchWork {
            body: Arc::clone(&body),
            cwd: cwd.clone(),
            roots: self.roots(&call.context),
        };
        let mut planned = match self.workers.read(call, planning).await {
            Ok(planned) => planned,
            Err(problem) => {
                let text = format!("the patch does not apply, nothing was changed: {problem}");
                return item::failed(call, tool, text).await;
            }
        };
        let context = &call.context;
        let verdict = policy::edit(
            &planned.reach,
            context.approval_policy,
            &context.sandbox_policy,
        );
        let ruling = self.ruling(call, &planned).await;
        let verdict = policy::ruled_edit(verdict, &ruling, &planned.reach, context.approval_policy);
        let verdict = policy::keep_in_sandbox(verdict, context.sandbox_held.as_deref());
        let mut item = FileChangeItem {
            id: call.item_id(),
            changes: planned.changes.clone(),
            status: WorkStatus::InProgress,
            auto_approved: matches!(verdict, PolicyVerdict::Allow(_)),
            stdout: String::new(),
            stderr: String::new(),
        };
        let refusal = match verdict {
            PolicyVerdict::Allow(_) => None,
            PolicyVerdict::Refuse(text) => Some(text),
            PolicyVerdict::Ask { reason, then } => {
                let ask = request(call, &item.changes, reason, &planned.reach);
                let matter = matter(&planned, then, context.sandbox_policy.mode());
                match self.agreements.obtain(call, matter, ask).await {
                    ApprovalAnswer::Yes => None,
                    ApprovalAnswer::No => Some(DENIED_TEXT.to_owned()),
                    // Nobody said no to it and it never began: there is nothing to show.
                    ApprovalAnswer::Cancelled => {
                        return ToolOutput::failure(blocking::NEVER_RUN_TEXT.to_owned());
                    }
                }
            }
        };
        let started = TurnItem::FileChange(item.clone());
        call.channel.report(ToolEvent::Started(started)).await;
        let output = if let Some(text) = refusal {
            item.status = WorkStatus::Declined;
            item.stderr.clone_from(&text);
            ToolOutput::failure(text)
        } else {
            let touched = std::mem::take(&mut planned.touched);
            if let Some(keeper) = &self.keeper {
                keeper.before_patch(call, &touched).await;
            }
            self.turn_diff.remember(&context.turn_id, &touched).await;
            call.channel.report(ToolEvent::Editing(touched)).await;
            let made = self.make(context, body, cwd, planned).await;
            written(made, &mut item, began)
        };
        let is_changed = item.status == WorkStatus::Completed;
        let completed = TurnItem::FileChange(item);
        call.channel.report(ToolEvent::Completed(completed)).await;
        if is_changed {
            self.tell_diff(call).await;
        }
        output
    }

    /// Returns what the user's rules say about the files of a patch.
    async fn ruling(&self, call: &ToolInvocation, planned: &PlannedPatch) -> CommandRuling {
        let rules = self.rules.current();
        for warning in self.rules.warnings() {
            call.channel.report(ToolEvent::Warning(warning)).await;
        }
        let cwd = &call.context.cwd;
        let touched = planned.touched.iter().map(|file| file.path.clone());
        let spelled = planned.changes.keys().map(|path| cwd.join(path));
        let files: Vec<PathBuf> = touched.chain(spelled).collect();
        let looking = move || {
            let names: Vec<[PathBuf; 2]> = files.into_iter().map(both_names).collect();
            let names: Vec<[&Path; 2]> = names
                .iter()
                .map(|[spelled, real]| [spelled.as_path(), real.as_path()])
                .collect();
            rules.edit_ruling(names.iter().map(|names| &names[..]))
        };
        let looked = blocking::finish(looking).await;
        // It fails only while the engine shuts down, and then nothing is changed any more.
        looked.unwrap_or(CommandRuling::Silent)
    }

    /// Tells what the turn's patches come to by now.
    async fn tell_diff(&self, call: &ToolInvocation) {
        let context = &call.context;
        let diff = self.turn_diff.now(&context.turn_id, &context.cwd).await;
        if let Some(unified_diff) = diff {
            let event = Box::new(EventMsg::TurnDiff { unified_diff });
            call.channel.report(ToolEvent::Other(event)).await;
        }
    }

    /// Applies a patch that came as a shell command run in `cwd`.
    pub(crate) async fn apply_shell(
        &self,
        call: &ToolInvocation,
        tool: &str,
        patch: ShellPatch,
        cwd: &Path,
    ) -> ToolOutput {
        let cwd = patch.workdir.map_or(cwd.to_path_buf(), |dir| cwd.join(dir));
        self.apply(call, tool, patch.body, cwd).await
    }

    /// Makes the changes of a patch that was allowed.
    async fn make(
        &self,
        context: &CallContext,
        body: Arc<str>,
        cwd: PathBuf,
        planned: PlannedPatch,
    ) -> Result<String, String> {
        // What the kernel lets it write, and what we do.
        let (rights, roots) = match planned.reach {
            EditReach::Inside => (WriteRights::Turn, self.roots(context)),
            EditReach::Outside { .. } => (
                WriteRights::Granted(planned.directories),
                PatchRoots::Unrestricted,
            ),
        };
        let applying = ApplyPatchWork {
            body,
            cwd,
            roots,
            found: planned.found,
        };
        self.workers.write(context, rights, applying).await
    }

    fn roots(&self, context: &CallContext) -> PatchRoots {
        match &context.sandbox_policy {
            SandboxPolicy::DangerFullAccess => PatchRoots::Unrestricted,
            policy => {
                let mut table = writable_roots(policy, &context.cwd, &self.variables);
                if let Some(home) = &self.troupe_home {
                    table = table.protecting_home(home);
                }
                PatchRoots::Within {
                    writable: table.writable,
                    protected: table.protected,
                    protected_names: table.protected_names.iter().map(|&it| it.into()).collect(),
                }
            }
        }
    }
}

/// Returns the path of a file, and the one without links in its directories.
fn both_names(path: PathBuf) -> [PathBuf; 2] {
    let real = path.ancestors().skip(1).find_map(|directory| {
        let below = path.strip_prefix(directory).ok()?;
        Some(directory.canonicalize().ok()?.join(below))
    });
    let real = real.unwrap_or_else(|| path.clone());
    [path, real]
}

/// Returns what a yes to a patch is bound to: the files, and beyond the writable roots, where
/// the user's own programs read and run them, the change that was shown.
fn matter(
    planned: &PlannedPatch,
    sandbox: SandboxChoice,
    mode: SandboxMode,
) -> Vec<ApprovedAction> {
    let is_beyond = match planned.reach {
        EditReach::Inside => false,
        EditReach::Outside { .. } => mode != SandboxMode::DangerFullAccess,
    };
    let shown = is_beyond.then(|| {
        let shown = json!(planned.changes).to_string();
        digest::of_bytes(shown.as_bytes())
    });
    let paths = planned.touched.iter().map(|file| file.path.clone());
    let edit = |path| ApprovedAction::Edit {
        path,
        sandbox,
        shown: shown.clone(),
    };
    paths.map(edit).collect()
}

fn request(
    call: &ToolInvocation,
    changes: &FileChanges,
    reason: String,
    reach: &EditReach,
) -> ApprovalQuestion {
    let grant_root = match reach {
        EditReach::Inside => None,
        EditReach::Outside { path, .. } => path.parent().map(Path::to_path_buf),
    };
    ApprovalQuestion::Patch(PatchApprovalRequest {
        call_id: call.id.clone(),
        turn_id: call.context.turn_id.clone(),
        changes: changes.clone(),
        reason: Some(reason),
        grant_root,
        agent: None,
    })
}

/// What a model reads whose change a person refused.
const DENIED_TEXT: &str = "not approved (the user said no, or nobody was there to ask): nothing \
    was changed; do not try it again by other means, go on without it or say what you need it for";

fn written(
    applied: Result<String, String>,
    item: &mut FileChangeItem,
    began: Instant,
) -> ToolOutput {
    let seconds = began.elapsed().as_secs_f64();
    match applied {
        Ok(summary) => {
            item.status = WorkStatus::Completed;
            item.stdout = summary;
            ToolOutput::success(format!(
                "Exit code: 0\nWall time: {seconds:.1} seconds\nOutput:\n{}",
                item.stdout
            ))
        }
        Err(problem) => {
            item.status = WorkStatus::Failed;
            item.stderr = problem;
            ToolOutput::failure(format!(
                "Exit code: 1\nWall time: {seconds:.1} seconds\nOutput:\n{}",
                item.stderr
            ))
        }
    }
}
