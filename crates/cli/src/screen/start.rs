//! Which session a screen is for, and who runs it.

use troupe_store::EmbeddedStore;

use super::{ScreenOrigin, ScreenPlan, Survival, require_terminal, run, settings};
use crate::attach::{AttachPlace, EngineOrder, start_engine};
use crate::commands::block_on;
use crate::exec::request::SessionChoice;
use crate::exec::target::{last, resolve};
use crate::failure::{CommandFailure, Outcome};

/// What the command line asks a screen for.
#[derive(Debug)]
pub struct ScreenStart {
    pub order: EngineOrder,
    pub prompt: Option<String>,
}

/// Opens a screen: before the session that somebody runs already, or before a new engine.
pub fn open(start: ScreenStart) -> Outcome {
    require_terminal("troupe")?;
    run(plan(start)?)
}

/// Finds or starts the engine of a screen.
pub(super) fn plan(start: ScreenStart) -> Result<ScreenPlan, CommandFailure> {
    let ScreenStart { order, prompt } = start;
    // Wrong settings are told before anything is started.
    let settings = settings(&order.source(), &order.cwd)?;
    let (origin, place) = if let Some((id, place)) = running(&order)? {
        (ScreenOrigin::Attached(Some(id)), place)
    } else {
        let id = start_engine(&order)?;
        let place = AttachPlace::of(&order.home, id).map_err(CommandFailure::not_started)?;
        (ScreenOrigin::Started(id), place)
    };
    Ok(ScreenPlan {
        origin,
        address: place.address(),
        token: None,
        settings,
        prompt,
        survival: Survival::GoesOn,
        next: Some(order),
    })
}

/// Finds the session that is to be resumed, if some process runs it.
fn running(
    order: &EngineOrder,
) -> Result<Option<(troupe_protocol::SessionId, AttachPlace)>, CommandFailure> {
    let named = match &order.continues {
        SessionChoice::New | SessionChoice::Fork { .. } => return Ok(None),
        // A conversation of another program is nobody's session yet.
        SessionChoice::Resume(text) if crate::commands::import::is_path(text) => return Ok(None),
        SessionChoice::Resume(text) => Some(text),
        SessionChoice::Last { .. } => None,
    };
    let store = EmbeddedStore::open(&order.home).map_err(CommandFailure::not_started)?;
    let id = block_on(async {
        match (named, &order.continues) {
            (Some(text), _) => resolve(&store, text).await,
            (
                None,
                SessionChoice::Last {
                    any_directory: true,
                },
            ) => last(&store, None).await,
            (None, _) => last(&store, Some(&order.cwd)).await,
        }
    })?;
    let place = AttachPlace::of(&order.home, id).map_err(CommandFailure::not_started)?;
    Ok(place.is_live().then_some((id, place)))
}
