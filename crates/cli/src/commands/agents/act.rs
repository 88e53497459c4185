//! `troupe agents send`, `stop` and `resume`: through the process that runs the tree, or by
//! running it here.

use troupe_protocol::AgentId;

use super::address::{AgentTarget, find, names_root};
use super::open::OpenTree;
use super::{CommandSite, OutputAudience, dry_run, print_answer};
use crate::commands::tell;
use crate::control::{ControlMode, ControlRequest, client};
use crate::failure::{CommandFailure, Outcome};

/// Asks something of the agent that is meant. The request names it by its number, which is
/// the same for whoever runs the tree.
pub async fn run(
    site: CommandSite,
    address: Option<&str>,
    shown: OutputAudience,
    ask: impl FnOnce(String) -> ControlRequest,
) -> Outcome {
    let target = find(&site, address).await?;
    let request = ask(target.agent.to_string());
    perform(site, target, request, shown).await
}

/// `troupe agents resume`. Named alone, a tree means everybody in it who was cut off.
pub async fn resume(site: CommandSite, address: Option<&str>) -> Outcome {
    let target = find(&site, address).await?;
    let is_one = target.agent != AgentId::ROOT || names_root(address);
    let agent = is_one.then(|| target.agent.to_string());
    let request = ControlRequest::Resume { target: agent };
    perform(site, target, request, OutputAudience::People).await
}

/// Settings that a tree takes which is run here, and that bind nobody in another process.
const BINDING_KEYS: [&str; 8] = [
    "approval_policy",
    "collaboration_mode",
    "model",
    "model_reasoning_effort",
    "model_reasoning_summary",
    "personality",
    "sandbox_mode",
    "sandbox_workspace_write",
];

async fn perform(
    site: CommandSite,
    target: AgentTarget,
    request: ControlRequest,
    shown: OutputAudience,
) -> Outcome {
    let binds = |said: &&String| {
        let key = said.split(['=', '.']).next().unwrap_or_default();
        BINDING_KEYS.contains(&key.trim())
    };
    if let Some(said) = site.overrides.config.iter().find(binds)
        && client::is_run(site.home.path(), target.tree.root).await
    {
        return Err(CommandFailure::usage(format!(
            "-c {said}: another process runs this tree, and goes on with its own settings; say it \
             there, or end that process first"
        )));
    }
    let asked = client::ask(site.home.path(), target.tree.root, &request).await;
    if let Some(answer) = asked.map_err(CommandFailure::failed)? {
        return print_answer::print(answer, &request, shown);
    }
    if let ControlRequest::Stop {
        verb,
        mode: ControlMode::DryRun,
        ..
    } = request
    {
        // Opening the tree would have what waits in it go on.
        let answer = dry_run::stop(&target, verb)?;
        return print_answer::print(answer, &request, shown);
    }
    let mut open = OpenTree::open(site, &target.tree).await?;
    let answer = open.act(request.clone()).await;
    let exit = print_answer::print(answer, &request, shown);
    let stays = match request {
        ControlRequest::Send { .. } | ControlRequest::Resume { .. } => exit.is_ok(),
        ControlRequest::Stop { .. } | ControlRequest::Look | ControlRequest::Answer { .. } => false,
    };
    if stays {
        tell("Running these agents in this terminal until they finish. Ctrl-C stops them.");
        let stayed = open.stay().await;
        open.close().await?;
        stayed?;
    } else {
        open.close().await?;
    }
    exit
}
