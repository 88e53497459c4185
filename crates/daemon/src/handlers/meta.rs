//! What the daemon says of itself.

use serde_json::Value;

use crate::openapi::openapi;
use crate::problem::Problem;
use crate::route::{NoMembers, RouteCall, RouteReply};
use crate::wire::meta::{HealthView, VersionView};

pub(crate) async fn health(
    _call: RouteCall<NoMembers, NoMembers>,
) -> Result<RouteReply<HealthView>, Problem> {
    Ok(RouteReply::new(HealthView { status: "ok" }))
}

pub(crate) async fn version(
    call: RouteCall<NoMembers, NoMembers>,
) -> Result<RouteReply<VersionView>, Problem> {
    Ok(RouteReply::new(VersionView {
        version: call.daemon.info().version.clone(),
        api: "v1",
    }))
}

pub(crate) async fn document(
    _call: RouteCall<NoMembers, NoMembers>,
) -> Result<RouteReply<Value>, Problem> {
    Ok(RouteReply::new(openapi()))
}
