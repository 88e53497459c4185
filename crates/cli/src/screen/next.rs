//! What comes after a session: another one, or what is to become of the one that was left.

use troupe_protocol::SessionId;
use troupe_store::{EmbeddedStore, SessionStore};
use troupe_tui::NextSession;

use super::start::{ScreenStart, plan as plan_start};
use super::{ScreenPlan, choose_session};
use crate::attach::EngineOrder;
use crate::commands::{block_on, tell};
use crate::exec::request::SessionChoice;
use crate::failure::CommandFailure;

/// Returns the next screen; `None` if there is none.
pub(super) fn plan(
    order: EngineOrder,
    left: SessionId,
    next: NextSession,
) -> Result<Option<ScreenPlan>, CommandFailure> {
    let continues = match next {
        NextSession::New => SessionChoice::New,
        NextSession::Fork => SessionChoice::Fork {
            session: left.to_string(),
            at: None,
        },
        NextSession::Pick => match choose_session(&order.source(), &order.cwd)? {
            Some(choice) => choice,
            None => return Ok(None),
        },
        NextSession::Archive => {
            let store = store(&order)?;
            block_on(async { store.archive(left).await.map_err(CommandFailure::failed) })?;
            tell(&format!("archived {}", left.short()));
            return Ok(None);
        }
        NextSession::Delete => {
            let store = store(&order)?;
            let deleted =
                block_on(async { store.delete(left).await.map_err(CommandFailure::failed) })?;
            for id in deleted {
                tell(&format!("deleted {}", id.short()));
            }
            return Ok(None);
        }
    };
    let order = EngineOrder {
        continues,
        go_on: false,
        ..order
    };
    let prompt = None;
    plan_start(ScreenStart { order, prompt }).map(Some)
}

fn store(order: &EngineOrder) -> Result<EmbeddedStore, CommandFailure> {
    EmbeddedStore::open(&order.home).map_err(CommandFailure::not_started)
}
