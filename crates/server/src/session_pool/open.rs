//! How a thread is opened.

use std::path::PathBuf;
use std::sync::Arc;

use troupe_agents::RootDeps;
use troupe_engine::dynamic::{ClientCallQueue, ClientToolConfigurator, DynamicTools};
use troupe_engine::{SessionClosed, SessionDeps, spawn};
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::{EventMsg, Op};
use troupe_store::{LiveHistory, SessionStore, StoreError};

use super::root_session::RootSessionInner;
use super::{OpenError, OpeningTools, ResumedTools, RootSession, SessionFactory, SessionOpening};
use troupe_protocol::error::ErrorInfo;

/// Opens a session and waits until it is configured.
pub(super) async fn open(
    ground: &dyn SessionFactory,
    opening: SessionOpening,
) -> Result<RootSession, OpenError> {
    let (request, tools) = as_stored(ground, opening).await?;
    let RootDeps { deps, configurator } = ground.grove();
    let companion = ground.companion(&configurator);
    let desk = Arc::new(ClientCallQueue::default());
    let deps = SessionDeps {
        configurator: Arc::new(ClientToolConfigurator {
            inner: deps.configurator,
            tools,
            desk: Arc::clone(&desk),
        }),
        ..deps
    };
    let (handle, mut events) = spawn(deps);
    handle
        .operate(Op::ConfigureSession(request))
        .await
        .map_err(|SessionClosed| OpenError::Ended)?;
    loop {
        let event = events.next().await.ok_or(OpenError::Ended)?;
        match &event.msg {
            EventMsg::SessionConfigured(configured) => {
                let agents = configurator.agents().ok_or(OpenError::Ended)?;
                return Ok(RootSession::new(RootSessionInner {
                    handle,
                    agents,
                    configured: (**configured).clone(),
                    opened_at: event.seq,
                    events: events.into_tap(),
                    desk,
                    _companion: companion,
                }));
            }
            EventMsg::Error(error) => {
                return Err(OpenError::Refused {
                    message: error.message.clone(),
                    info: error.error_info.clone(),
                });
            }
            _ => {}
        }
    }
}

/// Completes what is asked for a stored session by what must be known before its log is opened:
/// whom it asks, whose directory decides its configuration, and which tools its clients run.
async fn as_stored(
    ground: &dyn SessionFactory,
    opening: SessionOpening,
) -> Result<(ConfigureSession, DynamicTools), OpenError> {
    let SessionOpening { mut request, tools } = opening;
    let kept = match tools {
        OpeningTools::Brought(tools) => return Ok((request, DynamicTools::Brought(tools))),
        OpeningTools::OfLog(kept) => kept,
    };
    let fork = request.fork.as_ref().map(|point| point.session_id);
    let Some(session) = request.resume.or(fork) else {
        return Ok((request, DynamicTools::Kept(Vec::new())));
    };
    let is_told = request.model_provider.is_some() && request.overrides.cwd.is_some();
    if is_told && kept == ResumedTools::Left {
        return Ok((request, DynamicTools::Kept(Vec::new())));
    }
    let store = ground.store().map_err(|message| OpenError::Refused {
        message,
        info: Some(ErrorInfo::StorageFailed),
    })?;
    let live = read(&*store, session).await?;
    if request.overrides.cwd.is_none() {
        // A directory that is gone decides nothing; the session says so when it works there.
        request.overrides.cwd = last_cwd(&live).filter(|cwd| cwd.is_dir());
    }
    let provider = &mut request.model_provider;
    provider.get_or_insert(live.meta.model_provider);
    let tools = match kept {
        ResumedTools::Left => Vec::new(),
        ResumedTools::Offered => live.meta.dynamic_tools,
    };
    Ok((request, DynamicTools::Kept(tools)))
}

async fn read(
    store: &dyn SessionStore,
    session: troupe_protocol::SessionId,
) -> Result<LiveHistory, OpenError> {
    store
        .read_live(session)
        .await
        .map_err(|error| OpenError::Refused {
            info: Some(match error {
                StoreError::NotFound { .. } => ErrorInfo::NotFound,
                _ => ErrorInfo::StorageFailed,
            }),
            message: error.to_string(),
        })
}

/// Returns where the session worked last.
fn last_cwd(live: &LiveHistory) -> Option<PathBuf> {
    let mut told = live.records.iter().rev();
    let told = told.find_map(|(_, line)| match &line.record {
        RolloutRecord::TurnContext(context) => Some(context.cwd.clone()),
        RolloutRecord::Compacted(compacted) => Some(compacted.carried.turn_context.cwd.clone()),
        RolloutRecord::Rewind(rewind) => Some(rewind.carried.turn_context.cwd.clone()),
        _ => None,
    });
    told.or_else(|| Some(live.meta.cwd.clone()))
}
