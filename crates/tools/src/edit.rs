//! Patches under the policy, whichever tool they came through.
//!
//! ```text
//! body ─► parse ─► plan inside the writable roots ─► policy ─► (ask) ─► apply ─► answer
//!                        └ outside: plan anywhere, to show what is asked for
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use troupe_process::writable_roots;
use troupe_protocol::approval::PatchApprovalRequest;
use troupe_protocol::command::{FileChanges, WorkStatus};
use troupe_protocol::item::{FileChangeItem, TurnItem};
use troupe_protocol::policy::SandboxPolicy;

use crate::approval::{Agreed, Agreements, Answer};
use crate::blocking;
use crate::call::{Ask, Call, CallContext, ToolEvent};
use crate::environment::Variables;
use crate::item;
use crate::patch::shell::ShellPatch;
use crate::patch::{Patch, Plan, PlanError, Roots, plan};
use crate::policy::{self, Reach, Verdict};
use crate::tool::ToolOutput;

/// Applies patches for the session's tools.
#[derive(Debug)]
pub(crate) struct Editor {
    agreements: Arc<Agreements>,
    /// Names the temporary directory, which is writable.
    variables: Variables,
}

/// A patch that fits its files, and whether it stays where it may write.
#[derive(Debug)]
struct Prepared {
    plan: Plan,
    reach: Reach,
}

impl Editor {
    pub(crate) fn new(agreements: Arc<Agreements>, variables: Variables) -> Self {
        Self {
            agreements,
            variables,
        }
    }

    /// Applies the patch as one call of `tool`. Relative paths start at `cwd`.
    pub(crate) async fn apply(
        &self,
        call: &Call,
        tool: &str,
        body: String,
        cwd: PathBuf,
    ) -> ToolOutput {
        let began = Instant::now();
        let roots = self.roots(&call.context);
        let prepared = blocking::finish(move || prepare(&body, &cwd, &roots)).await;
        let Prepared { plan, reach } = match prepared.and_then(|result| result) {
            Ok(prepared) => prepared,
            Err(problem) => {
                let text = format!("the patch does not apply, nothing was changed: {problem}");
                return item::failed(call, tool, text).await;
            }
        };
        let context = &call.context;
        let verdict = policy::edit(&reach, context.approval_policy, &context.sandbox_policy);
        let mut item = FileChangeItem {
            id: call.item_id(),
            changes: plan.changes().clone(),
            status: WorkStatus::InProgress,
            auto_approved: matches!(verdict, Verdict::Allow(_)),
            stdout: String::new(),
            stderr: String::new(),
        };
        let refusal = match verdict {
            Verdict::Allow(_) => None,
            Verdict::Refuse(text) => Some(text),
            Verdict::Ask { reason, .. } => {
                let ask = request(call, &item.changes, reason, &reach);
                let answer = self.agreements.obtain(call, matter(&plan), ask).await;
                refusal(answer, began)
            }
        };
        let started = TurnItem::FileChange(item.clone());
        call.channel.report(ToolEvent::Started(started)).await;
        let output = match refusal {
            Some(text) => {
                item.status = WorkStatus::Declined;
                item.stderr.clone_from(&text);
                ToolOutput::failure(text)
            }
            None => write(plan, &mut item, began).await,
        };
        let completed = TurnItem::FileChange(item);
        call.channel.report(ToolEvent::Completed(completed)).await;
        output
    }

    /// Applies a patch that came as a shell command run in `cwd`.
    pub(crate) async fn apply_shell(
        &self,
        call: &Call,
        tool: &str,
        patch: ShellPatch,
        cwd: &Path,
    ) -> ToolOutput {
        let cwd = patch.workdir.map_or(cwd.to_path_buf(), |dir| cwd.join(dir));
        self.apply(call, tool, patch.body, cwd).await
    }

    fn roots(&self, context: &CallContext) -> Roots {
        match &context.sandbox_policy {
            SandboxPolicy::DangerFullAccess => Roots::Unrestricted,
            policy => {
                let table = writable_roots(policy, &context.cwd, &self.variables);
                Roots::Within {
                    writable: table.writable,
                    protected: table.protected,
                }
            }
        }
    }
}

fn prepare(body: &str, cwd: &Path, roots: &Roots) -> Result<Prepared, String> {
    let patch = Patch::parse(body).map_err(|error| error.to_string())?;
    let (plan, reach) = match plan(&patch, cwd, roots) {
        Ok(plan) => (plan, Reach::Inside),
        Err(error) => {
            let path = forbidden(&error, cwd).ok_or_else(|| error.to_string())?;
            let plan = plan(&patch, cwd, &Roots::Unrestricted).map_err(|e| e.to_string())?;
            let why = error.to_string();
            (plan, Reach::Outside { path, why })
        }
    };
    Ok(Prepared { plan, reach })
}

/// Returns the path that the roots, and nothing else, keep from being written: a person may
/// allow it.
fn forbidden(error: &PlanError, cwd: &Path) -> Option<PathBuf> {
    match error {
        PlanError::Outside { path } | PlanError::Protected { path } => Some(path.clone()),
        PlanError::LeadsOutside { path } => Some(cwd.join(path)),
        _ => None,
    }
}

fn matter(plan: &Plan) -> Vec<Agreed> {
    plan.touched().into_iter().map(Agreed::Edit).collect()
}

fn request(call: &Call, changes: &FileChanges, reason: String, reach: &Reach) -> Ask {
    let grant_root = match reach {
        Reach::Inside => None,
        Reach::Outside { path, .. } => path.parent().map(Path::to_path_buf),
    };
    Ask::Patch(PatchApprovalRequest {
        call_id: call.id.clone(),
        turn_id: call.context.turn_id.clone(),
        changes: changes.clone(),
        reason: Some(reason),
        grant_root,
    })
}

fn refusal(answer: Answer, began: Instant) -> Option<String> {
    match answer {
        Answer::Yes => None,
        Answer::No => Some(
            "the user denied this patch, nothing was changed; do not try it again by other \
             means: ask the user, or go on without it"
                .to_owned(),
        ),
        Answer::Cancelled => Some(blocking::aborted_text(began.elapsed())),
    }
}

async fn write(plan: Plan, item: &mut FileChangeItem, began: Instant) -> ToolOutput {
    // Not cancellable: it is short, and half a patch is what nobody wants.
    let applied = blocking::finish(move || plan.apply().map_err(|error| error.to_string())).await;
    let seconds = began.elapsed().as_secs_f64();
    match applied.and_then(|result| result) {
        Ok(applied) => {
            item.status = WorkStatus::Completed;
            item.stdout = applied.summary();
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
