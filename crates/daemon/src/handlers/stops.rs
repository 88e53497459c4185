//! Stopping, and going on.

use troupe_agents::tree_access::TreeStopRequest;
use troupe_tree::command::StopMode;

use super::sessions::tagged;
use crate::members::user;
use crate::problem::Problem;
use crate::route::{NoMembers, RouteCall, RouteReply};
use crate::wire::session::SessionView;
use crate::wire::stop::{StopRequest, StopView};

pub(crate) async fn stop(
    call: RouteCall<NoMembers, StopRequest>,
) -> Result<RouteReply<StopView>, Problem> {
    let found = call.daemon.find(call.path.get("session")).await?;
    let RouteCall { daemon, body, .. } = call;
    let thread = daemon.open(found).await?;
    let request = TreeStopRequest {
        verb: body.verb,
        targets: vec![found.address()],
        mode: if body.dry_run {
            StopMode::DryRun
        } else {
            StopMode::Act
        },
        note: body.note,
    };
    let stopped = user(&thread).stop(request).await?;
    Ok(RouteReply::new(StopView::new(stopped, body.dry_run)))
}

/// Brings a closed session back, and has a stopped one go on.
pub(crate) async fn resume(
    call: RouteCall<NoMembers, NoMembers>,
) -> Result<RouteReply<SessionView>, Problem> {
    let found = call.daemon.find(call.path.get("session")).await?;
    let thread = call.daemon.open(found).await?;
    user(&thread).go_on(&found.address()).await?;
    Ok(tagged(call.daemon.describe_live(found, &thread).await?))
}
