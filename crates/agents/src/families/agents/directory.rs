//! Another working directory for a child: it must be there, and a person must grant it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use troupe_process::writable_roots;
use troupe_protocol::AgentId;
use troupe_protocol::approval::{ExecApprovalRequest, ReviewDecision};
use troupe_protocol::policy::{ApprovalPolicy, SandboxMode};
use troupe_protocol::tree::Caller;
use troupe_tools::{ApprovalQuestion, CallContext, ToolEvent, ToolInvocation, safety};

use crate::tree_access::{TreeAccess, TreeError};

/// Returns the directory that the child gets instead of the caller's own; `None` if that is
/// the one meant.
pub(super) async fn granted(
    desk: &TreeAccess,
    call: &ToolInvocation,
    asked: &str,
) -> Result<Option<PathBuf>, TreeError> {
    let own = existing(&call.context.cwd).await?;
    let directory = existing(&call.context.resolve(asked)).await?;
    if directory == own {
        return Ok(None);
    }
    let home = desk.agents().options().roles.home();
    if opens_home(&call.context, &directory, home) {
        return Err(TreeError::Invalid(format!(
            "working_directory {} lies in the engine's own directory {}, which is kept from \
             agents and which no approval opens; no agent was spawned: give a directory \
             elsewhere",
            directory.display(),
            home.display()
        )));
    }
    let decision = if call.context.approval_policy == ApprovalPolicy::Never {
        unasked(&call.context, &directory, home)
    } else {
        ask(desk, call, &directory).await
    };
    match decision {
        ReviewDecision::Approved
        | ReviewDecision::ApprovedForSession
        | ReviewDecision::ApprovedAlways => Ok(Some(directory)),
        ReviewDecision::Denied | ReviewDecision::Abort => Err(TreeError::Invalid(format!(
            "working_directory {} was not approved, so no agent was spawned; leave \
             working_directory out, or do without the agent",
            directory.display()
        ))),
    }
}

async fn existing(path: &Path) -> Result<PathBuf, TreeError> {
    let problem = match tokio::fs::canonicalize(path).await {
        Ok(path) if path.is_dir() => return Ok(path),
        Ok(_) => "it is not a directory".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(TreeError::Invalid(format!(
        "working_directory {}: {problem}; give an existing directory",
        path.display()
    )))
}

/// Tells whether a child that works there would get at what the sandbox hides: its directory
/// is a root of its own, and a root in the home is taken as asked for by the user. Who was
/// given a part of the home by the user may hand it down.
fn opens_home(context: &CallContext, directory: &Path, home: &Path) -> bool {
    let policy = &context.sandbox_policy;
    if policy.mode() == SandboxMode::DangerFullAccess {
        return false;
    }
    let real = home.canonicalize();
    let home = real.as_deref().unwrap_or(home);
    directory.starts_with(home) && !may_write(context, directory, home)
}

fn may_write(context: &CallContext, directory: &Path, home: &Path) -> bool {
    let roots = writable_roots(&context.sandbox_policy, &context.cwd, &BTreeMap::new());
    roots.protecting_home(home).permits(directory)
}

/// Where nobody is asked, the child may work wherever that gives it no right that the caller
/// has not.
fn unasked(context: &CallContext, directory: &Path, home: &Path) -> ReviewDecision {
    let gives_nothing = match context.sandbox_policy.mode() {
        SandboxMode::ReadOnly | SandboxMode::DangerFullAccess => true,
        SandboxMode::WorkspaceWrite => may_write(context, directory, home),
    };
    if gives_nothing {
        ReviewDecision::Approved
    } else {
        ReviewDecision::Denied
    }
}

/// A child's question goes to the turn of its parent, who sent it where it is.
async fn ask(desk: &TreeAccess, call: &ToolInvocation, directory: &Path) -> ReviewDecision {
    let request = request(call, directory);
    let is_child = desk.caller() != Caller::Agent(AgentId::ROOT);
    if is_child {
        let answer = desk.ask_parent(request.clone(), &call.cancel).await;
        if let Some(decision) = answer {
            return decision;
        }
        let warning = format!(
            "no parent could be asked whether the new agent may work in {}; asking here",
            directory.display()
        );
        call.channel.report(ToolEvent::Warning(warning)).await;
    }
    tokio::select! {
        decision = call.channel.ask(ApprovalQuestion::Exec(request)) => decision,
        () = call.cancel.cancelled() => ReviewDecision::Abort,
    }
}

fn request(call: &ToolInvocation, directory: &Path) -> ExecApprovalRequest {
    let command = vec![
        "spawn_agent".to_owned(),
        "--working-directory".to_owned(),
        directory.display().to_string(),
    ];
    let reason = format!(
        "the new agent is to work in {}; this agent works in {}",
        directory.display(),
        call.context.cwd.display()
    );
    ExecApprovalRequest {
        call_id: call.id.clone(),
        turn_id: call.context.turn_id.clone(),
        parsed_cmd: safety::describe(&command),
        command,
        cwd: call.context.cwd.clone(),
        reason: Some(reason),
        available_decisions: vec![
            ReviewDecision::Approved,
            ReviewDecision::Denied,
            ReviewDecision::Abort,
        ],
        outside_sandbox: false,
        proposed_rules: Vec::new(),
        agent: None,
    }
}

#[cfg(test)]
mod tests;
