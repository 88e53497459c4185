//! What a parent would be told, before it is told so.

use troupe_agents::preview_callback;

use super::describing::callback_of;
use crate::members::user;
use crate::problem::Problem;
use crate::route::{NoMembers, RouteCall, RouteReply};
use crate::wire::callback::{CallbackConfigChange, CallbackPreviewView};

/// Renders for an example child what the session's configuration would say with these changes.
/// Nothing is changed.
pub(crate) async fn preview(
    call: RouteCall<NoMembers, CallbackConfigChange>,
) -> Result<RouteReply<CallbackPreviewView>, Problem> {
    let found = call.daemon.find(call.path.get("session")).await?;
    let RouteCall { daemon, body, .. } = call;
    let thread = daemon.open(found).await?;
    let view = user(&thread).view(&found.address()).await?;
    let now = callback_of(view.spec.as_deref(), thread.agents().callback());
    let preview = preview_callback(&body.apply(now))?;
    Ok(RouteReply::new(preview.into()))
}
