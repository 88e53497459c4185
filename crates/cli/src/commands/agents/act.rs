//! `troupe agents send`, `stop` and `resume`: through the process that runs the tree, or by
//! running it here.

use troupe_protocol::AgentId;

use super::address::{Target, find, names_root};
use super::open::OpenTree;
use super::{Shown, Site, rehearsal, told};
use crate::commands::tell;
use crate::control::{Mode, Request, client};
use crate::failure::{Failure, Outcome};

/// Asks something of the agent that is meant. The request names it by its number, which is
/// the same for whoever runs the tree.
pub async fn run(
    site: Site,
    address: Option<&str>,
    shown: Shown,
    ask: impl FnOnce(String) -> Request,
) -> Outcome {
    let target = find(&site, address).await?;
    let request = ask(target.agent.to_string());
    perform(site, target, request, shown).await
}

/// `troupe agents resume`. Named alone, a tree means everybody in it who was cut off.
pub async fn resume(site: Site, address: Option<&str>) -> Outcome {
    let target = find(&site, address).await?;
    let is_one = target.agent != AgentId::ROOT || names_root(address);
    let agent = is_one.then(|| target.agent.to_string());
    let request = Request::Resume { target: agent };
    perform(site, target, request, Shown::People).await
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

async fn perform(site: Site, target: Target, request: Request, shown: Shown) -> Outcome {
    let binds = |said: &&String| {
        let key = said.split(['=', '.']).next().unwrap_or_default();
        BINDING_KEYS.contains(&key.trim())
    };
    if let Some(said) = site.overrides.config.iter().find(binds)
        && client::is_run(site.home.path(), target.tree.root).await
    {
        return Err(Failure::usage(format!(
            "-c {said}: another process runs this tree, and goes on with its own settings; say it \
             there, or end that process first"
        )));
    }
    let asked = client::ask(site.home.path(), target.tree.root, &request).await;
    if let Some(answer) = asked.map_err(Failure::failed)? {
        return told::print(answer, &request, shown);
    }
    if let Request::Stop {
        verb,
        mode: Mode::DryRun,
        ..
    } = request
    {
        // Opening the tree would have what waits in it go on.
        let answer = rehearsal::stop(&target, verb)?;
        return told::print(answer, &request, shown);
    }
    let mut open = OpenTree::open(site, &target.tree).await?;
    let answer = open.act(request.clone()).await;
    let exit = told::print(answer, &request, shown);
    let stays = match request {
        Request::Send { .. } | Request::Resume { .. } => exit.is_ok(),
        Request::Stop { .. } | Request::Look | Request::Answer { .. } => false,
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
